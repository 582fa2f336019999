"""The acts of Ana, who asks: a preview and a count, a stream, a funnel, SQL and other statistics."""

from fractions import Fraction
from functools import partial
from itertools import takewhile
from typing import Final

from lapwing.answers.answer import Row
from lapwing.answers.releases import BoundedValue
from lapwing.app.cli.demo.cast import SURE, Cast, shortened
from lapwing.app.cli.demo.stage import good
from lapwing.app.cli.pictures import draw_answer, draw_prices, draw_stream
from lapwing.app.clinic.concepts import CONDITIONS, SITES
from lapwing.mechanisms.geometric import GeometricMechanism
from lapwing.queries.builders import correlation, count, quantiles, top
from lapwing.vocabulary.decimals import brief

COHORT: Final = ("sex = 'M'", "age between 20 and 30", "cancer_survivor", "admitted_for_surgery")
"""The question of the lecture, step by step."""
LARGE: Final = "sex = 'M' and cancer_survivor and admitted_for_surgery"
LECTURE: Final = (" and ".join(COHORT), " and ".join(COHORT[:3]), LARGE)
"""The three questions of the lecture, in its order."""
SMALL_SITES: Final = SITES[len(SITES) // 2 :]
_OFF: Final = (-40, -20, -10, 0, 10, 20, 40)


def look_first(cast: Cast) -> None:
    """Preview a count, then ask it."""
    stage, ana = cast.stage, cast.ana
    stage.act("Look first: a preview is free, and reads no data")
    stage.typed(
        'large = lw.count("patient", "sex = \'M\' and cancer_survivor "',
        '                            "and admitted_for_surgery")',
    )
    stage.typed('clinic.preview(large, epsilon="0.1")')
    question = count("patient", LARGE)
    previews = [ana.preview(question, epsilon=epsilon) for epsilon in ("0.01", "0.1", "1")]
    stage.table(
        ["price", "error, 95 % sure", "could be asked"],
        [[str(one.price), f"+-{brief(one.margin['answer'] or 0)}", f"{one.times} times"] for one in previews],
    )
    within = ana.preview(question, within=20, confidence=SURE)
    stage.say(f"Or the other way round: to be within 20 people costs {within.price}.")
    stage.typed('clinic.ask(large, epsilon="0.1")')
    answer = ana.ask(question, epsilon="0.1")
    stage.result(f"{brief(answer.value)} people, +-{brief(answer.margin() or 0)}, for {answer.price}")
    stage.remark(f"receipt {shortened(answer.receipt)}")
    cast.draw("error", lambda file: draw_prices(file, partial(ana.preview, question), previews[1], {"epsilon": "0.1"}))


def stream(cast: Cast) -> None:
    """Ask the three questions of the lecture, and dozens of others, in one stream."""
    stage, wanted = cast.stage, cast.at_least
    stage.act(f'"Are there at least {wanted}?", as often as you like: only a yes is paid')
    stage.typed(f'stream = clinic.stream(at_least={wanted}, yeses=5, epsilon="1")')
    with cast.ana.stream(at_least=wanted, yeses=5, epsilon="1") as opened:
        terms, sizes = opened.terms.mechanism, [wanted + off for off in _OFF if wanted + off >= 0]
        stage.say(
            "Is there a cohort that is large enough for a study? Nobody needs the number itself for that. Opening the "
            f"stream costs epsilon {brief(terms.threshold_epsilon)}, a yes {brief(terms.yes_price)}, a no nothing; and "
            "how far its word can be trusted is known before:"
        )
        stage.table(
            ["people really there", *map(str, sizes)],
            [["chance of a yes", *(f"{opened.chance_of_yes(size):.0%}" for size in sizes)]],
        )
        stage.say("A lecture on the technique asks a clinic three questions. Here are the answers:")
        asked = [opened.ask(where) for where in LECTURE]
        stage.table(
            ["men", f"at least {wanted}?", "epsilon"],
            [
                [_spoken(where), "yes" if one else "no", brief(one.price) if one else good("free")]
                for where, one in zip(LECTURE, asked, strict=True)
            ],
        )
        with stage.progress("Ana goes on asking", len(_exploring())) as answered:
            more = []
            for where in takewhile(lambda _: opened.yeses_left, _exploring()):
                more.append(opened.ask(where))
                answered(len(more))
        number, yeses, spent = len(asked) + len(more), opened.record.used, opened.spent
    stage.say(
        f"Ana goes on: the second cohort with each of {len(CONDITIONS)} diagnoses at each of {len(SMALL_SITES)} sites. "
        f"{len(more)} more questions, {sum(not one for one in more)} times no."
    )
    each = GeometricMechanism(l1_sensitivity=1, epsilon=spent / number).margin(SURE)
    given = "one yes" if yeses == 1 else f"{yeses} yeses"
    stage.result(f"{number} questions and {given}, for epsilon {brief(spent)} in all. The rest is given back.")
    stage.remark(f"As {number} plain counts for the same price, each would have been +-{brief(each)}.")
    cast.draw("stream", lambda file: draw_stream(file, terms.chance_of_yes, wanted))


def _spoken(where: str) -> str:
    words = {"sex = 'M'": "", "age between 20 and 30": "20 to 30", "cancer_survivor": "cancer survivor"}
    words["admitted_for_surgery"] = "admitted for surgery"
    return ", ".join(words[step] for step in COHORT if step in where and words[step])


def _exploring() -> list[str]:
    return [
        f"{LECTURE[1]} and site = '{site}' and has(condition, concept = '{one.name}')"
        for site in SMALL_SITES
        for one in CONDITIONS
    ]


def funnel(cast: Cast) -> None:
    """Ask who drops out at which step."""
    stage, epsilon = cast.stage, Fraction(1, 2)
    stage.act("A funnel: all steps for the price of one count")
    stage.typed(
        'clinic.funnel("patient", epsilon="0.5", steps=[',
        f'    "{COHORT[0]}", "{COHORT[1]}",',
        f'    "{COHORT[2]}", "{COHORT[3]}"])',
    )
    answer = cast.ana.funnel("patient", COHORT, epsilon=epsilon)
    stage.table(
        ["step", "people", "95 % sure"],
        [[str(row.key[0]), brief(_number(row.cells["people"])), _margin(row.cells["people"])] for row in answer.rows],
    )
    each = GeometricMechanism(l1_sensitivity=1, epsilon=epsilon / len(COHORT)).margin(SURE)
    stage.remark(f"As {len(COHORT)} counts for the same {answer.price}, each would have been +-{each}.")
    stage.remark(
        "Noise goes both ways: a small count may come out below zero. Cut off, small counts would be too high."
    )
    cast.draw("funnel", lambda file: draw_answer(file, answer, SURE))


def statistics(cast: Cast) -> None:
    """Ask a SELECT with groups, then quantiles, the most frequent, and a correlation."""
    stage, ana = cast.stage, cast.ana
    stage.act("SQL, and more than counts")
    stage.typed(
        'clinic.sql("select site, count(*) as people, avg(bmi) as bmi "',
        '           "from patient where diabetes group by site", epsilon="0.5")',
    )
    answer = ana.sql(
        "select site, count(*) as people, avg(bmi) as bmi from patient where diabetes group by site", epsilon="0.5"
    )
    stage.table(["site", "people", "95 % sure", "mean bmi", "95 % sure"], [_site(row) for row in answer.rows])
    stage.say("Every group is answered, also an empty one; no group can appear or vanish with a person. At 0.1 each:")
    stays = ana.ask(quantiles("visit", "nights", ["0.5", "0.9"], "kind = 'inpatient'"), epsilon="0.1")
    frequent = ana.ask(top("condition", "concept", 3), epsilon="0.1")
    related = ana.ask(correlation("patient", "age", "bmi"), epsilon="0.1")
    median, long = (row["answer"] for row in stays.rows)
    stage.table(
        ["statistic", "answer"],
        [
            ["most frequent diagnoses", ", ".join(str(row["answer"]) for row in frequent.rows)],
            ["nights of a stay", f"half up to {median}, nine in ten up to {long}"],
            ["age and body mass", f"correlated by {float(related.value):.2f}"],
        ],
        left=2,
    )


def _site(row: Row) -> list[str]:
    people, bmi = row.cells["people"], row.cells["bmi"]
    low, value, high = (f"{float(number or 0):.1f}" for number in (bmi.low, _number(bmi), bmi.high))
    return [str(row.key[0]), brief(_number(people)), _margin(people), value, f"{low} to {high}"]


def _number(cell: BoundedValue) -> int | float | Fraction:
    if isinstance(cell.value, str):
        raise TypeError(f"{cell.value!r} is no number")
    return cell.value


def _margin(cell: BoundedValue) -> str:
    return "" if cell.high is None else f"+-{brief(cell.high - _number(cell))}"

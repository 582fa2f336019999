"""`lapwing demo`: a story on a made-up clinic, with the real session, ledger and engine.

Every number is computed during the story, and the few exact ones are marked as such.
"""

import time
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click

from lapwing.accounting.interpretation import INFORMED, belief_range
from lapwing.answers.budget import budget_words, read_budget
from lapwing.answers.cells import Row
from lapwing.auditor.liars import DOCUMENT_002
from lapwing.auditor.noise_laws import AuditedGeometric as GeometricNoise
from lapwing.auditor.sparse_vector_oracle import Reveals, SparseVectorVariant
from lapwing.auditor.worst_pairs import AuditedMovement as Moves
from lapwing.auditor.worst_pairs import worst_loss
from lapwing.doors.cli.commands import progress
from lapwing.doors.cli.demo_stage import ALLOWANCES, BUDGET, POPULATION, SURE, Cast, Stage, bad, good, shortened
from lapwing.doors.cli.options import demo_budget_option
from lapwing.doors.plots.answers import draw_account, draw_answer, draw_prices, draw_stream
from lapwing.doors.plots.meaning import draw_meaning
from lapwing.ledger.replay import verify
from lapwing.made_up import BUDGETS, make_clinic
from lapwing.made_up.made_up_people import CONDITIONS, SITES
from lapwing.made_up.mallory import EVERYONE, TIMES, NeighbourStory
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.sparse_vector.pure import SparseVector
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise.laws import Geometric, Law
from lapwing.queries.planning.plan import BoundedValue
from lapwing.queries.statistics.counts import count
from lapwing.queries.statistics.moments import correlation
from lapwing.queries.statistics.quantiles import quantiles
from lapwing.queries.statistics.top import top
from lapwing.vocabulary.errors import BudgetExceededError, ParameterError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.guarantee import Adjacency
from lapwing.vocabulary.wording import format_short
from lapwing.workspace.creating import create


@click.command()
@click.option("--people", type=int, default=100_000, show_default=True, metavar="N", help="How many people to make up.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keep the clinic in a folder, to go on with it.")
@click.option("--plots", type=click.Path(path_type=Path), metavar="FOLDER", help="Draw pictures, too, into a folder.")
@click.option(
    "--make", is_flag=True, help="Only make the clinic in --folder, with an account of its own: to play with."
)
@demo_budget_option
def demo(people: int, folder: Path | None, plots: Path | None, *, make: bool, kind: str) -> None:
    """Show what lapwing does, on a clinic that it makes up.

    A story of half a minute: Ana asks, Mallory attacks, the sceptic checks. All of it is done for real, by the code
    that answers your questions, and every number is computed while it is told.

    \b
    lapwing demo
    lapwing demo --people 1000000 --plots pictures
    lapwing demo --make --folder clinic
    lapwing demo --make --folder other --budget rho
    """
    if make:
        make_workspace(people, folder, kind)
    elif kind != "epsilon":
        remedy = f"make a clinic to play with: lapwing demo --make --folder clinic --budget {kind}"
        raise ParameterError("budget", kind, reason="is not the one that the story is about", remedy=remedy)
    else:
        run(people, folder=folder, plots=plots)


_PRIOR: Final = "0.01"
_FEWEST, _MOST = 2000, 10**8
"""In a smaller clinic Mallory does not know enough people."""


def run(people: int, *, folder: Path | None = None, plots: Path | None = None) -> None:
    """Tell the story.

    Parameters
    ----------
    people : how large the clinic is, 2,000 at least
    folder : where to keep it; by default it is thrown away
    plots : where to draw pictures, if they are wanted
    """
    as_int("people", people, least=_FEWEST, most=_MOST)
    started, stage = time.perf_counter(), Stage()
    if plots is not None:
        plots.mkdir(parents=True, exist_ok=True)
    stage.title("lapwing: the door in front of a table of people")
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="lapwing-"))) if folder is None else Path(folder)
        workspace = stack.enter_context(create(_clinic(stage, place, people)))
        ana, mallory = (workspace.session(analyst=name) for name in ALLOWANCES)
        cast = Cast(stage=stage, workspace=workspace, ana=ana, mallory=mallory, people=people, plots=plots)
        cast.show_account()
        for act in (look_first, stream, funnel, statistics, attack, _account, sceptic):
            act(cast)
    _next(stage, time.perf_counter() - started)


def make_workspace(people: int, folder: Path | None, kind: str = "epsilon") -> None:
    """Make a clinic with an account of its own, to play with."""
    if folder is None:
        raise ParameterError("folder", None, reason="is not said", remedy="write lapwing demo --make --folder clinic")
    with progress("Making up a clinic", people) as tick:
        create(make_clinic(folder, people, **BUDGETS[kind], progress=tick)).close()
    print(f"{folder}: {people:,} made-up people, and an account of {budget_words(read_budget(**BUDGETS[kind]))}.")


def _clinic(stage: Stage, folder: Path, people: int) -> Path:
    started = time.perf_counter()
    with progress("Making up a clinic", people) as tick:
        place = make_clinic(folder, people, epsilon=BUDGET, allowances=ALLOWANCES, progress=tick)
    stage.say(
        f"A clinic of {people:,} people, made up in {time.perf_counter() - started:.1f} s and the same on every "
        "machine: who they are, what they have, when they came. Its custodian has opened an account. Every answer "
        "gives a little away about everybody; epsilon says how much, and all that is ever given away adds up here."
    )
    return place


def _account(cast: Cast) -> None:
    stage, ledger = cast.stage, cast.workspace.ledger
    stage.act("The account: what was given away, and who can prove it")
    cast.show_account()
    spent = BUDGET - (cast.workspace.session(analyst="custodian").budget().left or 0)
    checked = verify(ledger)
    stage.say(
        f"{checked.entries} entries, each chained to the one before; chain and sums were just checked from the first "
        f"one on. What it means: {INFORMED}, and believed at {float(_PRIOR):.0%} that you are in this clinic "
        f"at all, is now at most {belief_range(_PRIOR, spent)[1]:.0%} sure, whatever was asked."
    )
    stage.remark(f"receipt of the whole ledger: {shortened(checked.head)}")
    cast.draw("account", lambda file: draw_account(file, ledger.history(POPULATION)))
    cast.draw("meaning", lambda file: draw_meaning(file, spent, _PRIOR))


def _next(stage: Stage, took: float) -> None:
    stage.title(f"Where to go from here (that was {took:.0f} s)")
    stage.table(
        ["", ""],
        [
            ["lapwing demo --make --folder clinic", "a clinic of your own to play with"],
            ["source .venv/bin/activate", "so that the shell finds lapwing"],
            ["lapwing --help", "what there is to play with"],
            ["lapwing attack", "more of Mallory, in five scenes"],
            ["README.md", "five minutes in Python and the shell"],
            ["docs/using.md", "workspaces, questions and streams"],
            ["docs/questions.md", "everything that can be asked"],
            ["docs/sparse_vector.md", "why a no is free"],
            ["docs/guarantee.md", "what is promised, and what is not"],
        ],
        left=2,
    )


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
        [[str(one.price), f"+-{format_short(one.margin['answer'] or 0)}", f"{one.times} times"] for one in previews],
    )
    within = ana.preview(question, within=20, confidence=SURE)
    stage.say(f"Or the other way round: to be within 20 people costs {within.price}.")
    stage.typed('clinic.ask(large, epsilon="0.1")')
    answer = ana.ask(question, epsilon="0.1")
    stage.result(f"{format_short(answer.value)} people, +-{format_short(answer.margin() or 0)}, for {answer.price}")
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
            f"stream costs epsilon {format_short(terms.threshold_epsilon)}, a yes {format_short(terms.yes_price)}, a "
            "no nothing; and how far its word can be trusted is known before:"
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
                [_describe(where), "yes" if one else "no", format_short(one.price) if one else good("free")]
                for where, one in zip(LECTURE, asked, strict=True)
            ],
        )
        with progress("Ana goes on asking", len(_exploring())) as answered:
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
    stage.result(f"{number} questions and {given}, for epsilon {format_short(spent)} in all. The rest is given back.")
    stage.remark(f"As {number} plain counts for the same price, each would have been +-{format_short(each)}.")
    cast.draw("stream", lambda file: draw_stream(file, terms.chance_of_yes, wanted))


def _describe(where: str) -> str:
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
        [
            [str(row.key[0]), format_short(_number(row.cells["people"])), _margin(row.cells["people"])]
            for row in answer.rows
        ],
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
    return [str(row.key[0]), format_short(_number(people)), _margin(people), value, f"{low} to {high}"]


def _number(cell: BoundedValue) -> int | float | Fraction:
    if cell.value is None or isinstance(cell.value, str):
        raise TypeError(f"{cell.value!r} is not a number")
    return cell.value


def _margin(cell: BoundedValue) -> str:
    return "" if cell.high is None else f"+-{format_short(cell.high - _number(cell))}"


def attack(cast: Cast) -> None:
    """Let Mallory try a door with exact answers, one that blurs them, and lapwing's."""
    stage, story, epsilon = cast.stage, NeighbourStory(cast.people), ALLOWANCES["mallory"]
    stage.act("Mallory: what an exact answer would have given away")
    first, number = story.victims[0], len(story.victims)
    stage.say(
        f"She knows that her neighbour was born on {first.born}, is treated at the {first.site} site, and is "
        f"{'a man' if first.sex == 'M' else 'a woman'}. Two questions about thousands of people, no small number in "
        "sight. Exact answers, which lapwing never shows, would be:"
    )
    everyone, others = (format_short(int(size)) for size in story.sizes[:2])
    stage.table(
        ["exact, for the sake of the story", "people"],
        [["cancer survivors", everyone], ["cancer survivors other than her neighbour", others]],
    )
    stage.say(
        f"One less: so the neighbour had cancer. She does it to {number} people, half of them survivors. Where "
        f"answers are blurred by fresh noise, as cohort tools of hospitals do, she asks {TIMES} times and takes the "
        f"mean. At lapwing's door she spends all of her epsilon {format_short(epsilon)}:"
    )
    with progress("Mallory asks lapwing", len(story.sizes)) as answered:
        outcomes = story.try_doors(cast.mallory, epsilon, answered)
    read, tossed = bad("reading the table"), good("tossing a coin")
    stage.table(
        ["answers", "asked", "right about", "as good as"],
        [
            [one.against, f"{one.asked:,}", f"{round(one.recovered * number)} of {number}", meaning]
            for one, meaning in zip(outcomes, (read, read, tossed), strict=True)
        ],
    )
    _ask_again(cast, epsilon / len(story.sizes))


def _ask_again(cast: Cast, price: Fraction) -> None:
    stage, question = cast.stage, count("patient", EVERYONE)
    answers = {cast.mallory.ask(question, epsilon=price).value for _ in range(20)}
    stage.say(
        f"Can she not average lapwing's noise away, too? Twenty times the same question: {len(answers)} answer, the "
        "one from before, for nothing. Another question, then?"
    )
    try:
        cast.mallory.ask(count("patient"), epsilon=price)
    except BudgetExceededError as refusal:
        stage.result(f"Refused: {str(refusal).partition(':')[0]}.")


NOES: Final = (3, 10, 30)


def sceptic(cast: Cast) -> None:
    """Audit the sparse vector as a lecture prints it, and lapwing's."""
    stage = cast.stage
    stage.act("The sceptic: is it true?")
    stage.say(
        "Two sparse vectors claim epsilon 1. An auditor that shares no code with them searches for the two "
        "neighbouring tables they tell apart best, and computes what they give away after a number of noes:"
    )
    variants = {"as that lecture prints it": DOCUMENT_002.variant, "lapwing's": _ours()}
    stage.table(
        ["epsilon, really", *(f"{noes} noes" for noes in NOES), "claim"],
        [[name, *(f"{_loss(one, noes):.2f}" for noes in NOES), "1.00"] for name, one in variants.items()],
    )
    stage.result("The lecture's is not private: it shows the number it compared. lapwing's keeps its word.")


def _loss(variant: SparseVectorVariant, noes: int) -> float:
    return worst_loss(variant, movement=Moves.TOGETHER, noes=noes).loss


def _ours() -> SparseVectorVariant:
    """Describe lapwing's sparse vector to the auditor, from the noise it really uses."""
    rule = SparseVector(
        epsilon=1, yeses=1, threshold=0, sensitivity=ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
    ).rule
    return SparseVectorVariant(
        threshold=GeometricNoise(_scale(rule.threshold_noise)),
        query=GeometricNoise(_scale(rule.comparisons[0].noise)),
        yeses=1,
        reveals=Reveals.GAP,
    )


def _scale(noise: Law) -> float:
    if not isinstance(noise, Geometric):
        raise TypeError(f"{noise} is not the default noise of a stream")
    return float(noise.scale)

"""`lapwing stream`: open, ask, list, show, close; and the question "at least N people?" that is asked once."""

import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TextIO, cast

import click

from lapwing.accounting.filters.account import Account
from lapwing.answers.budget import BudgetStatus
from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.stream_preview import GAUSSIAN_SIDE, spent_rho, spent_words, terms_facts, terms_record
from lapwing.answers.stream_terms import StreamAnswer, StreamOffer, StreamTerms, paid_by_yes
from lapwing.answers.target import TargetWords
from lapwing.doors.cli.commands import facts, progress, refusal_record, say, say_record, table, waiting
from lapwing.doors.cli.options import (
    Door,
    at_the_door,
    complete_streams,
    complete_tables,
    plot_option,
    with_concept_sets,
)
from lapwing.doors.cli.questions import lines_of, whole_or_none
from lapwing.doors.plots.answers import draw_stream
from lapwing.ledger.reservation_states import ReservationRecord, ReservationStatus
from lapwing.noise.randomness import fresh_name
from lapwing.session import Session
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_int
from lapwing.vocabulary.guarantee import PureDP, currency_of
from lapwing.vocabulary.wording import format_exact, format_short, several

PAID_WHOLE: Final = "nothing more: all of the stream was charged when it was opened"


@click.group(no_args_is_help=True)
def stream() -> None:
    """Ask "at least N people?" often, and pay for the yeses only.

    A stream hides its threshold behind noise once, and each question behind noise of its own. As long as the answer is
    no, nobody can learn anything worth paying for: so a no is free, and a search through thousands of cohorts costs
    what its few yeses cost. A stream lives in the ledger: go on with it by its name, tomorrow or from another machine.

    \b
    lapwing stream open --at-least 200 --yeses 5 --epsilon 1 --name cohorts
    lapwing stream ask cohorts "sex = 'M' and age < 30 and cancer_survivor"
    lapwing stream close cohorts

    Opening costs a part of the epsilon, each yes another; closing gives back what no yes has used. A budget of rho is
    charged for all of it at the opening, and so is the Gaussian account of an (epsilon, delta) budget.
    """


@stream.command("open")
@click.option("--at-least", required=True, metavar="N", help="How many people, or which number, is asked for.")
@click.option("--yeses", required=True, metavar="N", help="It halts after N yeses.")
@click.option("--epsilon", metavar="NUMBER", help="What it costs when all of its yeses are given.")
@click.option("--within", metavar="N", help="Instead: as little as it takes to be right so far from --at-least.")
@click.option("--confidence", metavar="NUMBER", default="0.95", show_default=True, help="How sure of that.")
@click.option("--questions", metavar="N", help="How many questions it is meant for; there is no limit.")
@click.option("--table", shell_complete=complete_tables, help="The table it asks about, where there are several.")
@click.option("--number", is_flag=True, help="Give a number with each yes; it is part of the price of a yes.")
@click.option("--total", metavar="VALUE", help="Ask for a total of a value instead of people.")
@click.option("--proportion", metavar="CONDITION", help="Ask for the share of a condition instead of people.")
@click.option("--correlation", metavar="VALUE", help="Ask which values correlate with this one, instead of people.")
@click.option("--max-rows", metavar="N", help="How many rows of a person are added up.")
@click.option("--name", help="What to call it; a made-up name if it is not said.")
@click.option("--key", help="An idempotency key: the same key opens nothing twice.")
@click.option("--dry-run", is_flag=True, help="Say price and error, and open nothing: free.")
@plot_option
@at_the_door
def open_stream(
    door: Door,
    *,
    name: str | None,
    key: str | None,
    dry_run: bool,
    plot: Path | None,
    epsilon: str | None,
    within: str | None,
    confidence: str,
    **terms: Any,
) -> None:
    """Open a stream.

    Decide three things: how many people you need, how many yeses you can use, and what all of it may cost. More epsilon
    means less doubt about cohorts near the number you asked for; --plot draws how likely a yes is by how many there
    really are.

    \b
    lapwing stream open --at-least 200 --yeses 5 --epsilon 1 --plot yes.svg
    lapwing stream open --at-least 200 --yeses 5 --within 40 --dry-run
    lapwing stream open --at-least 200 --yeses 5 --epsilon 2 --number
    lapwing stream open --proportion cancer_survivor --at-least 0.3 --yeses 3 \\
        --epsilon 1

    With --number a yes comes with the number, which has noise of its own and half of the epsilon to itself. With
    --total, --proportion or --correlation it is not people that are compared; the conditions say over whom, and a
    stream of correlations is asked about values: lapwing stream ask screen "bmi".

    Opening reserves the whole epsilon and spends a part of it; the rest is spent yes by yes. A budget of rho is charged
    for all of it at the opening.
    """
    given = {"epsilon": epsilon, "within": within, "confidence": confidence}
    offer = cast("TargetWords", {word: value for word, value in given.items() if value is not None})
    wanted = stream_offer(offer, **terms)
    if dry_run:
        show_stream_preview(door, wanted, plot)
        return
    made_up = fresh_name()[:8] if name is None and key is None else name  # with a key, the key decides the name
    with door.session() as session:
        opened = session.stream(name=made_up, key=key, **wanted)
        chosen, status, agreed, left = opened.name, opened.record.status, opened.terms, session.budget()
    if plot is not None:
        draw_agreed(plot, agreed)
    door.tell(
        {"stream": chosen, "status": status.value, **terms_record(agreed, left.account), "left": left.to_dict()},
        facts(
            ("stream", chosen),
            *terms_facts(agreed, confidence, left.account),
            ("left", f"{left}; the whole stream is {'set aside' if paid_by_yes(left.account) else 'paid'}"),
            ("picture", plot),
            ("next", f'lapwing stream ask {shlex.quote(chosen)} "CONDITION"'),
        ),
    )


@stream.command("ask")
@click.argument("name", shell_complete=complete_streams)
@click.argument("where", metavar="[CONDITION]", required=False)
@click.option("--file", "file", type=click.File(encoding="utf-8"), help="Ask every line of a file; - is the input.")
@click.option("--at-least", metavar="N", help="How many, where it is another number than the stream's.")
@click.option("--key", help="An idempotency key: the same key brings back the same answer.")
@at_the_door
@with_concept_sets
def ask_stream(
    door: Door, name: str, *, where: str | None, file: TextIO | None, at_least: str | None, key: str | None
) -> None:
    """Ask a stream a question, or thousands.

    The answer is yes or no, after noise. With a yes comes an interval for the number of people, at no extra cost. It
    is wide, because a yes was given for a large number, and all intervals of a stream hold at once.

    \b
    lapwing stream ask cohorts "sex = 'M' and age between 20 and 30"
    lapwing stream ask cohorts "age >= 65" --at-least 500

    With --file, each line is a condition; empty lines and lines that begin with -- are left out. All are read before
    the first is asked. The answers come as JSON, one line for each condition in their order; the word `verdict` is null
    after the last yes of the stream.

    \b
    lapwing stream ask cohorts --file conditions.txt > answers.jsonl

    A no costs nothing, a yes what the stream said when it was opened. A question asked before is answered as before.
    """
    if (where is None) == (file is None):
        raise click.UsageError("give one condition, or --file with a condition on each line")
    if file is not None:
        _ask_lines(door, name, file, at_least, key)
        return
    with door.session() as session, waiting("asking"):
        resumed = session.resume(name)
        answer = resumed.ask(str(where), at_least=_asked_for(resumed.terms, at_least), key=key)
        left = session.budget()
    more = f"; it can give {several(answer.yeses_left, 'more yes')}" if answer.yeses_left else "; it was the last yes"
    cost = f"epsilon {format_short(answer.price)}{more}" if answer else "nothing"
    if answer.free:
        cost = f"nothing: it was asked before, as question {answer.question}"
    door.tell({**answer.to_dict(), "left": left.to_dict()}, *stream_answer_blocks(answer, left, cost=cost))


def _asked_for(terms: StreamTerms, at_least: str | None) -> Exact | None:
    return whole_or_none("at_least", at_least) if terms.streamed is None else at_least


def draw_agreed(path: Path, terms: StreamTerms) -> None:
    """Draw how likely a yes is, by how many people there are."""
    if terms.streamed is not None:
        remedy = "leave it out; the terms say how sure an answer is"
        raise ParameterError("plot", path, reason="is for streams of people", remedy=remedy)
    draw_stream(path, terms.chance_of_yes, terms.at_least)


def _ask_lines(door: Door, name: str, file: TextIO, at_least: str | None, key: str | None) -> None:
    """Ask every line of a file, and print a line of JSON for each."""
    conditions = lines_of(file)
    with door.session() as session, progress("asking", len(conditions)) as tick:
        resumed = session.resume(name)
        number = _asked_for(resumed.terms, at_least)
        answers = resumed.ask_many(conditions, at_least=number, key=key, progress=tick)
        left = session.budget()
    unanswered = dict.fromkeys(("verdict", "at_least", "gap", "interval", "price", "free", "question", "receipt"))
    for condition, answer in zip(conditions, answers, strict=True):
        told = unanswered if answer is None else answer.to_dict()
        say_record({"condition": condition, **told})
    told = dict(answers.facts())
    if not paid_by_yes(left.account):
        told["price"] = PAID_WHOLE
    say(facts(*told.items(), ("left", left)), err=True)


@stream.command("close")
@click.argument("name", shell_complete=complete_streams)
@at_the_door
def close_stream(door: Door, name: str) -> None:
    """Close a stream, and get back what no yes has used.

    Its secret threshold is destroyed, so that nothing can be asked of it any more. What opening it cost is spent: under
    a budget of rho that was all of it, and nothing comes back.

    \b
    lapwing stream close cohorts

    It costs nothing.
    """
    with door.session() as session:
        ended = next(
            (one for one in _mine(session) if one.name == name and one.status is not ReservationStatus.OPEN), None
        )
        if ended is not None:
            remedy = f"there is nothing left to close; see lapwing stream show {name}"
            raise ParameterError("stream", name, reason=f"has ended already ({ended.status.value})", remedy=remedy)
        resumed = session.resume(name)
        resumed.close()
        spent, given, left = resumed.spent, resumed.record.used, session.budget()
        by_yes = paid_by_yes(left.account)
        beside = "" if isinstance(left.account.budget, PureDP) else f" ({GAUSSIAN_SIDE})"
        back = f"epsilon {format_short(resumed.terms.epsilon - spent)} that no yes has used{beside}"
    how = "in all" if by_yes else "in all, charged when it was opened"
    door.tell(
        {
            "stream": name,
            "status": "closed",
            "spent": format_exact(spent),
            "spent_rho": spent_rho(resumed.terms, left.account),
            "left": left.to_dict(),
        },
        facts(
            ("closed", name),
            ("spent", f"{spent_words(resumed.terms, given, left.account)} {how}"),
            ("back", back if by_yes else None),
            ("left", left),
        ),
    )


@stream.command("show")
@click.argument("name", shell_complete=complete_streams)
@plot_option
@at_the_door
def show_stream(door: Door, name: str, plot: Path | None) -> None:
    """Show how a stream stands, and what it has cost.

    \b
    lapwing stream show cohorts --plot yes.svg

    It costs nothing.
    """
    with door.session() as session:
        shown = next((one for one in _mine(session) if one.name == name), None)
        account = session.budget().account
    if shown is None:
        raise ParameterError("stream", name, reason="is not in this ledger", remedy="see lapwing stream list --all")
    terms = StreamTerms.read(shown.terms)
    if plot is not None:
        draw_agreed(plot, terms)
    asked, given = several(shown.asked, "question"), several(shown.used, "yes")
    door.tell(
        _record(shown, account),
        facts(
            ("stream", f"{name}, {shown.status.value}"),
            *terms_facts(terms, "0.95", account),
            ("so far", f"{asked}, {given}, {spent_words(terms, shown.used, account)}"),
            ("picture", plot),
        ),
    )


@stream.command("list")
@click.option("--all", "ended_too", is_flag=True, help="The ended ones, too.")
@click.option("--everybody", is_flag=True, help="Those of all analysts, for the custodian.")
@at_the_door
def list_streams(door: Door, *, ended_too: bool, everybody: bool) -> None:
    """List your streams, to go on with them by their names.

    \b
    lapwing stream list --all
    lapwing stream list --everybody

    It costs nothing.
    """
    with door.session() as session:
        found = session.ledger.reservations.all(session.population.name)
        known = [one for one in found if not isinstance(StreamTerms.read(one.terms), CorridorTerms)]  # of explorers
        every = [one for one in known if ended_too or one.status is ReservationStatus.OPEN]
        shown = [one for one in every if everybody or one.analyst == session.analyst]
        account, analyst = session.budget().account, session.analyst
    records = [_record(one, account) for one in shown]
    rows = [
        [
            *([one["analyst"]] if everybody else []),
            *(one[name] for name in ("stream", "status", "table")),
            one["of"]["asks"] if one["of"] else f"{one['at_least']:,}",
            f"{one['asked']:,}",
            f"{one['given']:,} of {one['yeses']:,}",
            format_short(Fraction(one["price"]["rho"] or one["spent"])),
        ]
        for one in records
    ]
    header = ["stream", "status", "table", "at least", "asked", "yeses", currency_of(account.budget)]
    header, left = (["whose", *header], 4) if everybody else (header, 3)
    others = len(every) - len(shown)
    whose = "" if everybody else f" of {analyst}"
    empty = f"No stream{whose} is open. Open one: lapwing stream open --at-least 200 --yeses 5 --epsilon 1"
    door.tell(
        {"streams": records},
        table(header, rows, left=left) if rows else empty,
        f"Others have {several(others, 'stream')}: lapwing stream list --everybody" if others else "",
    )


def _mine(session: Session) -> list[ReservationRecord]:
    """Return the streams of the analyst as the ledger has them: this settles nothing and reads no data."""
    known = session.ledger.reservations.all(session.population.name)
    return [one for one in known if one.analyst == session.analyst]


def _record(one: ReservationRecord, account: Account) -> dict[str, Any]:
    terms = StreamTerms.read(one.terms)
    return {
        "stream": one.name,
        "analyst": one.analyst,
        "status": one.status.value,
        **terms_record(terms, account),
        "asked": one.asked,
        "given": one.used,
        "spent": format_exact(terms.spent(one.used, account)),
    }


def stream_offer(
    offer: TargetWords,
    *,
    at_least: str,
    yeses: str,
    table: str | None = None,
    questions: str | None = None,
    number: bool = False,
    max_rows: str | None = None,
    **of: str | None,
) -> StreamOffer:
    """Return the terms that were offered for a stream, which is bought by epsilon or by accuracy."""
    for word, value in offer.items():
        if word in {"delta", "rho", "rows"}:
            raise ParameterError(word, value, reason="cannot pay for a stream", remedy="offer --epsilon or --within")
    said = {word: value for word, value in of.items() if value is not None}
    terms: StreamOffer = {
        "at_least": at_least if said else as_int("at_least", at_least, most=2**62),
        "yeses": as_int("yeses", yeses),
        "table": table,
        "confidence": offer.get("confidence", "0.95"),
    }
    if "epsilon" in offer:
        terms["epsilon"] = offer["epsilon"]
    if "within" in offer:
        terms["within"] = offer["within"]
    if questions is not None:
        terms["questions"] = as_int("questions", questions)
    if number:
        terms["number"] = True
    if max_rows is not None:
        terms["max_rows"] = as_int("max_rows", max_rows)
    return cast("StreamOffer", {**terms, **said})


def show_stream_preview(door: Door, terms: StreamOffer, plot: Path | None) -> None:
    """Tell what a stream would cost, and how sure its verdicts would be."""
    with door.session() as session:
        preview = session.preview_stream(**terms)
    if plot is not None:
        draw_agreed(plot, preview.terms)
    paid = "nothing: this is a preview, and no data was read"
    record = {**preview.to_dict(), "refusal": refusal_record(preview.refusal)}
    door.tell(record, facts(*preview.facts(), ("picture", plot), ("paid", paid)))


def ask_once(
    door: Door,
    table: str,
    offer: TargetWords,
    *,
    at_least: str,
    where: str | None,
    key: str | None,
    rehearse: bool,
    dry_run: bool,
    plot: Path | None,
) -> None:
    """Ask in a stream of one yes, and close it."""
    if rehearse:
        raise ParameterError("rehearse", rehearse, reason="does not go with --at-least", remedy="use --dry-run")
    terms = stream_offer(offer, table=table, at_least=at_least, yeses="1")
    if dry_run:
        show_stream_preview(door, terms, plot)
        return
    name = f"once-{fresh_name()[:12] if key is None else key}"
    with door.session() as session, waiting("asking"):
        with session.stream(name=name, key=f"{name} opening", **terms) as stream:
            answer = stream.ask(where, key=f"{name} question")
        agreed, spent, given, left = stream.terms, stream.spent, stream.record.used, session.budget()
    if plot is not None:
        draw_agreed(plot, agreed)
    in_rho = spent_rho(agreed, left.account)
    record = {**answer.to_dict(), "spent": format_exact(spent), "spent_rho": in_rho, "left": left.to_dict()}
    cost = spent_words(agreed, given, left.account)
    cost = cost if paid_by_yes(left.account) else f"{cost}, whatever the answer"
    cost = f"nothing: it was asked before, for {cost}" if answer.free else cost
    door.tell(record, *stream_answer_blocks(answer, left, cost=cost, once=True))


def stream_answer_blocks(answer: StreamAnswer, left: BudgetStatus, *, cost: str, once: bool = False) -> tuple[str, str]:
    """Return the answer of a stream in words, or of a question that is asked once."""
    if not once and not paid_by_yes(left.account):
        cost = PAID_WHOLE
    (_, told), (label, lies), number = answer.facts()
    return str(told), facts((label, lies), number, ("cost", cost), ("left", left), ("receipt", answer.receipt))

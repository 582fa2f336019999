"""Whether there are at least so many: streams before they are opened, and the question that is asked once."""

from pathlib import Path
from typing import Any, Final

from lapwing.accounting.filters.account import Account
from lapwing.accounting.filters.refusal import Refusal
from lapwing.answers.preview import BudgetStatus
from lapwing.answers.stream_preview import StreamPreview, cost_in_words
from lapwing.answers.stream_terms import StreamOffer, StreamTerms, paid_by_yes
from lapwing.answers.target import TargetWords
from lapwing.answers.verdicts import StreamAnswer
from lapwing.app.cli.failures import failure_record
from lapwing.app.cli.options import Door
from lapwing.app.cli.pictures import draw_stream
from lapwing.app.cli.showing import facts, several, waiting
from lapwing.app.cli.telling import left_record, percent
from lapwing.app.plots.canvas import checked_path
from lapwing.mechanisms.sparse_vector.estimates import Interval
from lapwing.streams import fresh_name
from lapwing.vocabulary.decimals import brief, exactly
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import whole

_SEARCHES: Final = (10, 100, 1000)
"""How many questions one may want all to be answered right."""


def stream_offer(
    offer: TargetWords, *, at_least: str, yeses: str, table: str | None = None, questions: str | None = None
) -> StreamOffer:
    """Return the terms that were offered for a stream, which is bought by epsilon or by accuracy."""
    for word in ("delta", "rho"):
        if word in offer:
            raise ParameterError(word, offer[word], reason="buys no stream", remedy="offer --epsilon or --within")
    terms: StreamOffer = {
        "at_least": whole("at_least", at_least, most=2**62),
        "yeses": whole("yeses", yeses),
        "table": table,
        "confidence": offer.get("confidence", "0.95"),
    }
    if "epsilon" in offer:
        terms["epsilon"] = offer["epsilon"]
    if "within" in offer:
        terms["within"] = offer["within"]
    if questions is not None:
        terms["questions"] = whole("questions", questions)
    return terms


def show_stream_preview(door: Door, terms: StreamOffer, plot: Path | None) -> None:
    """Tell what a stream would cost, and how sure its verdicts would be."""
    with door.session() as session:
        preview = session.preview_stream(**terms)
    if plot is not None:
        draw_stream(plot, preview.chance_of_yes, preview.terms.at_least)
    door.tell(
        preview_record(preview),
        facts(
            *terms_facts(preview.terms, preview.confidence, preview.before.account),
            ("left then", _left(preview)),
            ("picture", None if plot is None else str(plot)),
            ("paid", "nothing: this is a preview, and no data was read"),
        ),
    )


def preview_record(preview: StreamPreview) -> dict[str, Any]:
    """Return the preview of a stream as JSON values."""
    after, best = preview.after, preview.at_best
    return {
        **terms_record(preview.terms, preview.before.account),
        "confidence": exactly(preview.confidence),
        "questions": preview.questions,
        "margin": preview.margin,
        "chance_of_yes": {str(people): chance for people, chance in preview.chances.items()},
        "affordable": preview.affordable,
        "left": left_record(preview.before),
        "left_afterwards": None if isinstance(after, Refusal) else left_record(after),
        "left_at_best": None if isinstance(best, Refusal) else left_record(best),
        "refusal": failure_record(after.error())["error"] if isinstance(after, Refusal) else None,
    }


def _left(preview: StreamPreview) -> str:
    if isinstance(preview.after, Refusal):
        return f"it would be refused now: {preview.after}"
    best = (
        f", or {preview.at_best} if it is closed after noes only" if preview.pays_per_yes else ", whatever it answers"
    )
    return f"{preview.after}{best}"


def terms_record(terms: StreamTerms, account: Account) -> dict[str, Any]:
    """Return the terms of a stream as JSON values, and whether an account pays for it yes by yes."""
    mechanism = terms.mechanism
    return {
        "table": terms.table,
        "at_least": terms.at_least,
        "yeses": terms.yeses,
        "price": {
            "opening": exactly(mechanism.threshold_epsilon),
            "each_yes": exactly(mechanism.yes_price),
            "no": "0",
            "all": exactly(terms.epsilon),
            "paid_by_yes": paid_by_yes(account),
        },
    }


def terms_facts(terms: StreamTerms, confidence: Any, account: Account) -> list[tuple[str, str | None]]:
    """Return the terms of a stream in words, and what they cost an account."""
    many = ", ".join(f"{n:,} if {terms.margin(confidence, questions=n):,} away" for n in _SEARCHES)
    return [
        ("asked", f'"at least {terms.at_least:,} people?", in {terms.table}, up to {several(terms.yeses, "yes")}'),
        ("cost", cost_in_words(terms, account)),
        (
            "error",
            (
                f"with {percent(confidence)} confidence an answer is right if the true count is "
                f"{terms.margin(confidence):,} or more away from {terms.at_least:,}; all of {many}"
            ),
        ),
    ]


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
    if plot is not None:
        checked_path(plot)
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
        where_it_lies = stream.interval(answer)
        agreed, spent, left = stream.terms, stream.spent, session.standing()
    if plot is not None:
        draw_stream(plot, agreed.chance_of_yes, agreed.at_least)
    record = {**stream_answer_record(name, answer, where_it_lies), "spent": exactly(spent), "left": left_record(left)}
    by_yes = paid_by_yes(left.account)
    cost = f"epsilon {brief(spent)}" if by_yes else f"epsilon {brief(agreed.epsilon)}, whatever the answer"
    if answer.free:
        cost = f"nothing: it was asked before, for {cost}"
    door.tell(record, *stream_answer_blocks(answer, where_it_lies, left, cost=cost, once=True))


def stream_answer_record(name: str, answer: StreamAnswer, interval: Interval | None) -> dict[str, Any]:
    """Return the answer of a stream as JSON values."""
    return {
        "stream": name,
        "verdict": answer.verdict.value,
        "at_least": answer.threshold,
        "gap": answer.gap,
        "interval": None if interval is None else {"low": exactly(interval.low), "high": exactly(interval.high)},
        "price": exactly(answer.price),
        "free": answer.free,
        "question": answer.question,
        "yeses_left": answer.yeses_left,
        "receipt": str(answer.receipt),
    }


def stream_answer_blocks(
    answer: StreamAnswer, interval: Interval | None, left: BudgetStatus, *, cost: str, once: bool = False
) -> tuple[str, str]:
    """Return the answer of a stream in words, or of a question that is asked once."""
    if not once and not paid_by_yes(left.account):
        cost = "nothing more: all of the stream was charged when it was opened"
    told = f"YES, at least {answer.threshold:,}" if answer else f"NO, fewer than {answer.threshold:,}"
    lies = None
    if interval is not None:
        bounds = f"from {brief(interval.low)} to {brief(interval.high)}"
        lies = f"{bounds}{'' if once else ': all yeses of the stream at once'}, with 95 % confidence"
    about = facts(("people", lies), ("cost", cost), ("left", str(left)), ("receipt", str(answer.receipt)))
    return f"{told} (after noise)", about

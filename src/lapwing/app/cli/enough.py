"""Whether there are at least so many: streams before they are opened, and the question that is asked once."""

from pathlib import Path
from typing import Any

from lapwing.answers.answer import brief, exactly
from lapwing.answers.preview import Standing
from lapwing.answers.wishes import Offer
from lapwing.app.cli.options import Door
from lapwing.app.cli.pictures import draw_stream
from lapwing.app.cli.showing import facts, waiting
from lapwing.app.cli.telling import left_record, percent
from lapwing.app.plots.canvas import checked_path
from lapwing.session import Session
from lapwing.streams import StreamAnswer, StreamTerms, fresh_name
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import whole


def epsilon_of(offer: Offer) -> Any:
    """Return the epsilon that is offered for a stream, which takes no other price."""
    for word in ("delta", "rho", "within"):
        if word in offer:
            raise ParameterError(word, offer[word], reason="buys no stream", remedy="offer an --epsilon")
    if "epsilon" not in offer:
        raise ParameterError("epsilon", None, reason="is not said", remedy="offer one, such as --epsilon 1")
    return offer["epsilon"]


def terms_of(session: Session, offer: Offer, *, table: str | None, at_least: object, yeses: object) -> StreamTerms:
    """Return the terms of a stream, or refuse them."""
    return StreamTerms.of(session.population, table=table, at_least=at_least, yeses=yeses, epsilon=epsilon_of(offer))


def show_stream_preview(
    door: Door, offer: Offer, *, table: str | None, at_least: object, yeses: object, plot: Path | None
) -> None:
    """Tell what a stream would cost, and how wrong it would be."""
    confidence = offer.get("confidence", "0.95")
    with door.session() as session:
        terms = terms_of(session, offer, table=table, at_least=at_least, yeses=yeses)
        left = session.standing()
    if plot is not None:
        draw_stream(plot, terms.mechanism.chance_of_yes, terms.at_least)
    record = {**terms_record(terms), "confidence": str(confidence), "margin": _margins(terms, confidence)}
    door.tell(
        {**record, "left": left_record(left)},
        facts(
            *terms_facts(terms, confidence),
            ("left", str(left)),
            ("picture", None if plot is None else str(plot)),
            ("paid", "nothing: this is a preview, and no data was read"),
        ),
    )


def terms_record(terms: StreamTerms) -> dict[str, Any]:
    """Return the terms of a stream as JSON values."""
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
        },
    }


def terms_facts(terms: StreamTerms, confidence: Any) -> list[tuple[str, str | None]]:
    """Return the terms of a stream in words."""
    mechanism, plural = terms.mechanism, "yes" if terms.yeses == 1 else "yeses"
    margins = _margins(terms, confidence)
    errors = ", ".join(f"{int(questions):,} by {margin}" for questions, margin in margins.items())
    return [
        ("asked", f'"at least {terms.at_least:,} people?", in {terms.table}, until {terms.yeses:,} {plural}'),
        (
            "cost",
            (
                f"epsilon {brief(mechanism.threshold_epsilon)} to open, {brief(mechanism.yes_price)} for each yes, "
                f"nothing for a no; {brief(terms.epsilon)} at most"
            ),
        ),
        (
            "error",
            (
                f"with {percent(confidence)} confidence all answers are right where cohorts are far enough from "
                f"{terms.at_least:,}: of {errors}"
            ),
        ),
    ]


def _margins(terms: StreamTerms, confidence: Any) -> dict[str, str]:
    counts = (1, 10, 100, 1000)
    return {str(n): brief(int(terms.mechanism.margin(confidence, questions=n))) for n in counts}


def ask_once(
    door: Door,
    table: str,
    at_least: str,
    offer: Offer,
    *,
    where: str | None,
    key: str | None,
    rehearse: bool,
    dry_run: bool,
    plot: Path | None,
) -> None:
    """Ask "at least so many?" in a stream of one yes, and close it."""
    if plot is not None:
        checked_path(plot)
    if rehearse:
        raise ParameterError("rehearse", rehearse, reason="does not go with --at-least", remedy="use --dry-run")
    if dry_run:
        show_stream_preview(door, offer, table=table, at_least=at_least, yeses=1, plot=plot)
        return
    name = fresh_name() if key is None else f"once {key}"
    with door.session() as session, waiting("asking"):
        terms = terms_of(session, offer, table=table, at_least=at_least, yeses=1)
        opened = session.stream(
            at_least=terms.at_least, yeses=1, epsilon=terms.epsilon, table=table, name=name, key=f"{name} opening"
        )
        with opened as stream:
            answer = stream.ask(where, key=f"{name} question")
        spent, left = opened.spent, session.standing()
    if plot is not None:
        draw_stream(plot, terms.mechanism.chance_of_yes, terms.at_least)
    record = {**stream_answer_record(name, answer), "spent": exactly(spent), "left": left_record(left)}
    door.tell(record, *stream_answer_blocks(answer, left, cost=f"epsilon {brief(spent)}"))


def stream_answer_record(name: str, answer: StreamAnswer) -> dict[str, Any]:
    """Return the answer of a stream as JSON values."""
    return {
        "stream": name,
        "verdict": answer.verdict.value,
        "at_least": answer.threshold,
        "gap": answer.gap,
        "price": exactly(answer.price),
        "question": answer.question,
        "yeses_left": answer.yeses_left,
        "receipt": str(answer.receipt),
    }


def stream_answer_blocks(answer: StreamAnswer, left: Standing, *, cost: str) -> tuple[str, str]:
    """Return the answer of a stream in words."""
    told = f"YES, at least {answer.threshold:,}" if answer else f"NO, fewer than {answer.threshold:,}"
    gap = None if answer.gap is None else f"about {answer.gap:,}, by a noisy guess that errs upwards"
    return f"{told} (after noise)", facts(
        ("above by", gap), ("cost", cost), ("left", str(left)), ("receipt", str(answer.receipt))
    )


def people(given: str | None) -> int | None:
    """Return how many people are asked for, if that was said."""
    return None if given is None else whole("at_least", given, most=2**62)

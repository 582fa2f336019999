"""The command that explores: counts of cohorts, free as long as a model is right about them."""

from typing import TYPE_CHECKING, Any, TextIO

import click

from lapwing.doors.cli.commands import facts, progress, refusal_record, table, waiting
from lapwing.doors.cli.options import Door, at_the_door, complete_tables, with_concept_sets
from lapwing.doors.cli.publishing import columns_of, of_columns
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import ParameterError

if TYPE_CHECKING:
    from lapwing.publishing.explorer import ExplorerCount
    from lapwing.publishing.explorer_opening import ExplorerPreview
    from lapwing.publishing.synthesis_preview import SynthesisPreview
    from lapwing.queries.catalogue.population import Population


@click.command()
@click.argument("table_name", metavar="TABLE", shell_complete=complete_tables)
@of_columns
@click.option("--count", "wheres", multiple=True, metavar="CONDITION", help="A cohort to count. Repeatable.")
@click.option("--file", "file", type=click.File(encoding="utf-8"), help="Count every line of a file; - is the input.")
@click.option("--epsilon", metavar="NUMBER", help="What to pay for the model and its checks together.")
@click.option("--delta", metavar="NUMBER", help="With --epsilon, under a budget that has a delta, such as 1e-6.")
@click.option("--rho", metavar="NUMBER", help="Pay in rho, under a budget that has rho or delta.")
@click.option("--checks", metavar="NUMBER", help="The part for checks, in epsilon.  [default: a sixth]")
@click.option("--yeses", metavar="N", help="How many answers far from their guess it can give.  [default: 2]")
@click.option("--questions", metavar="N", help="How many questions it is placed for.  [default: 10000]")
@click.option("--half-width", metavar="N", help="How far from its guess a count is near.  [default: as noise allows]")
@click.option("--confidence", metavar="NUMBER", default="0.95", show_default=True, help="How sure of intervals.")
@click.option("--guess", "guess_only", is_flag=True, help="Let the model guess, and check nothing new.")
@click.option("--close", is_flag=True, help="Close it afterwards.")
@click.option("--key", help="The explorer to go on with.  [default: the one with these words]")
@click.option("--dry-run", is_flag=True, help="Say how the price would be divided, and open nothing: free.")
@at_the_door
@with_concept_sets
def explore(
    door: Door,
    *,
    table_name: str,
    given: tuple[str, ...],
    conditions: tuple[str, ...],
    wheres: tuple[str, ...],
    file: TextIO | None,
    confidence: str,
    guess_only: bool,
    close: bool,
    key: str | None,
    dry_run: bool,
    **words: str | None,
) -> None:
    """Count cohorts, free as long as a model is right about them.

    A model of the people is made first, and paid. Every count is then guessed by it and checked: where the guess is
    near enough it is the answer, with an interval that holds for all of them at once, and it is free. Where it is not,
    the count comes with fresh noise, for one of the answers that were paid at the opening, and the model learns it.
    Which of the two it is, only the data knows: --guess checks nothing, and uses none.

    \b
    lapwing explore patients --column sex \\
        --column "bins(age, 0, 20, 65, 120)" --epsilon 3 --dry-run
    lapwing explore patients --column sex \\
        --column "bins(age, 0, 20, 65, 120)" --epsilon 3 \\
        --count "sex = 'F' and age >= 65" --count "age < 20"

    The same words go on with the same explorer, tomorrow or from another machine; it lives in the ledger.

    It costs what you offer, once, at the opening: counts cost nothing more.
    """
    from lapwing.doors.cli.questions import lines_of
    from lapwing.publishing.explorer_meaning import preview_model

    columns: Any = columns_of(given, conditions) or None
    asked, offer = [*wheres, *([] if file is None else lines_of(file))], _offer(words)
    if not asked and not dry_run and not close:
        remedy = 'write --count "age >= 65", --file conditions.txt, --close, or --dry-run'
        raise ParameterError("--count", None, reason="is missing: nothing is asked", remedy=remedy)
    with door.session() as session:
        preview = session.preview_explorer(table_name, columns, confidence=confidence, **offer)
        if dry_run:
            _tell_preview(door, preview, preview_model(session, table_name, columns, preview))
            return
        _require_boxes(session.population, table_name, columns, asked)
        chosen = key or f"explorer {digest([table_name, list((columns or {}).items()), offer])[:32]}"
        with waiting("making the model"):
            opened = session.explorer(table_name, columns, key=chosen, **offer)
        with progress("counting", len(asked)) as tick:
            pay = not guess_only
            answers = opened.count_many(asked, pay=pay, confidence=confidence, progress=lambda done, _: tick(done))
        if close:
            opened.close()
        record, left = opened.to_dict(), session.budget()
    told = facts(
        *opened.facts()[:2],
        ("closed", "yes" if close else None),
        ("left", left),
    )
    told_each = (None if one is None else one.to_dict() for one in answers)
    listed = [{"where": where, "answer": one} for where, one in zip(asked, told_each, strict=True)]
    door.tell({**record, "answers": listed, "left": left.to_dict()}, _rows(asked, answers), told)


def _require_boxes(population: "Population", table_name: str, columns: Any, asked: list[str]) -> None:
    """Refuse cohorts that the model would not know before anything is paid for it."""
    from lapwing.publishing.boxes import box_of
    from lapwing.publishing.codes import read_columns
    from lapwing.publishing.synthesize import declared_columns

    known = declared_columns(table_name, population) if columns is None else columns
    coded = read_columns(table_name, known, population)
    for where in asked:
        box_of(where, table_name, coded, population)


def _offer(words: dict[str, str | None]) -> dict[str, Any]:
    from lapwing.vocabulary.exact import as_int

    whole = {"yeses", "questions", "half_width"}
    return {name: as_int(name, value) if name in whole else value for name, value in words.items() if value is not None}


def _rows(asked: list[str], answers: "list[ExplorerCount | None]") -> str:
    rows = [[where, *_cells(one)] for where, one in zip(asked, answers, strict=True)]
    return table(["cohort", "people", "from", "to", "cost"], rows) if rows else ""


def _cells(one: "ExplorerCount | None") -> list[str]:
    if one is None:
        return ["", "", "", "no answer: all that were paid for are used"]
    low, high = ("", "") if one.interval is None else (f"{round(end):,}" for end in one.interval)
    cost = "free" if one.checked else "free, and not checked"
    return [f"{one.people:,}", low, high, cost if one.free else "one paid answer"]


def _tell_preview(door: Door, preview: "ExplorerPreview", model: "SynthesisPreview") -> None:
    record = {**preview.to_dict(), "model_price": model.price.to_dict(), "refusal": refusal_record(preview.refusal)}
    first, *rest = preview.facts()
    door.tell(record, facts(first, ("model costs", model.price), *rest))

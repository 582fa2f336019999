"""The command that makes a table of made-up people."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lapwing.doors.cli.commands import facts, progress, refusal_record
from lapwing.doors.cli.options import Door, at_the_door, complete_tables, priced, with_concept_sets
from lapwing.doors.cli.publishing import columns_of, of_columns, out_option

if TYPE_CHECKING:
    from lapwing.answers.target import TargetWords
    from lapwing.publishing.synthesize import SynthesisStep
    from lapwing.publishing.synthetic_table import SyntheticTable


@click.command()
@click.argument("table", shell_complete=complete_tables)
@of_columns
@click.option("--up-to", metavar="N", help="Measure tables of 2 or 3 columns at most.  [default: 3, or 2 if very many]")
@click.option(
    "--planned-for",
    type=click.Choice(["tables", "cohorts"]),
    default="tables",
    show_default=True,
    help="Whether cells of tables or ranges of bins are to be exact.",
)
@click.option("--rows", metavar="N", help="How many rows to write.  [default: as many as people were measured]")
@click.option("--weights", is_flag=True, help="Write the rows of the model, each with how many people it stands for.")
@out_option(".csv", ".parquet", ".json", ".html")
@click.option("--key", help="An idempotency key: the same key brings back the same table, free, for ever.")
@click.option("--dry-run", is_flag=True, help="Say what it would cost and look at, and make nothing: free.")
@priced
@at_the_door
@with_concept_sets
def synthesize(
    door: Door,
    offer: "TargetWords",
    *,
    table: str,
    given: tuple[str, ...],
    conditions: tuple[str, ...],
    up_to: str | None,
    planned_for: str,
    rows: str | None,
    weights: bool,
    out: Path | None,
    key: str | None,
    dry_run: bool,
) -> None:
    """Make a table of made-up people from noisy tables.

    Tables of one, two and three columns are measured with noise, those first about which least is known; a model is
    fitted to them, and rows are drawn from the model. A synthetic row is nobody: whatever is computed from the rows is
    free. What is known about their errors comes with them, and tells which tables not to ask them about.

    \b
    lapwing synthesize patients --column sex --column "bins(age, 0, 18, 65)" \\
        --column cancer_survivor --epsilon 2 --dry-run
    lapwing synthesize patients --column sex --column "bins(age, 0, 18, 65)" \\
        --epsilon 2 --out people.csv

    Without --column, all columns with declared values are taken. --out writes rows (.csv, .parquet), a file that
    lw.load_synthetic reads again (.json), or the page about its quality (.html).

    It costs the epsilon you offer, once; rows, more rows and every count of them are free.
    """
    from lapwing.doors.cli.questions import whole_or_none
    from lapwing.publishing.synthesis_again import steps_done

    columns: Any = columns_of(given, conditions) or None
    words: Any = {"up_to": whole_or_none("--up-to", up_to), "planned_for": planned_for, **offer}
    wanted = None if weights else whole_or_none("--rows", rows)
    with door.session() as session:
        preview = session.preview_synthesize(table, columns, **words)
        if dry_run:
            record = {**preview.to_dict(), "refusal": refusal_record(preview.refusal)}
            door.tell(record, facts(*preview.facts()))
            return
        with progress("counted, measured, fitted") as tick:

            def moved(step: "SynthesisStep") -> None:
                tick(*steps_done(step))

            made = session.synthesize(table, columns, key=key, progress=moved, **words)
        left = session.budget()
    if out is not None:
        write(made, out, rows=wanted, weights=weights)
    quality = made.quality
    told = facts(*made.facts(), ("left", left), ("written", out))
    known = facts(*((label, text) for label, text in quality.facts() if label != "mind"))
    door.tell({**made.to_dict(), "quality": quality.to_dict(), "left": left.to_dict()}, told, known)


def write(made: "SyntheticTable", out: Path, *, rows: int | None, weights: bool) -> None:
    """Write rows, the file that can be read again, or the page about its quality, as the name ends."""
    match out.suffix.casefold():
        case ".json":
            made.save(out)
        case ".html":
            made.quality.write_page(out)
        case ".parquet":
            made.to_parquet(out, rows, weights=weights)
        case _:
            write_csv(made, out, rows=rows, weights=weights)


def write_csv(made: "SyntheticTable", out: Path, *, rows: int | None, weights: bool) -> None:
    """Write rows as CSV; a text that a spreadsheet would compute is marked as text."""
    import csv

    from lapwing.publishing.written_out import safe_cell

    columns = made.rows(rows, weights=weights, labels=True).frame_columns("0.95")
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([safe_cell(one.name) for one in columns])
        writer.writerows(zip(*([safe_cell(value) for value in one.values] for one in columns), strict=True))

"""Rows and values that do not fit the declaration of their tables, in sentences for the custodian who owns them.

The numbers are exact, so none of this is private: it is never offered to analysts, and written into no log.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from lapwing.engines.survey import ColumnSurvey, TableSurvey
from lapwing.queries.catalogue.column import Category
from lapwing.queries.catalogue.population import RowsPerPerson
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Result


@frozen(repr=False)
class Misfit(Result):
    """One thing that does not fit: in which table and column, of what kind, how many, and a sentence with a remedy."""

    table: str
    column: str | None
    kind: str
    number: int
    said: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    def facts(self) -> list[tuple[str, str | None]]:
        """Return where it is, and the sentence."""
        return [(self.table if self.column is None else f"{self.table}.{self.column}", self.said)]

    def __repr__(self) -> str:
        return f"<misfit: {self}>"

    def __str__(self) -> str:
        return f"{self.facts()[0][0]}: {self.said}"


def misfits_of(surveys: Sequence[TableSurvey]) -> list[Misfit]:
    """Return all that does not fit, table by table."""
    return [found for survey in surveys for found in _of_table(survey)]


def _of_table(survey: TableSurvey) -> Iterator[Misfit]:
    table = survey.table.name

    def found(kind: str, number: int, said: str, column: str | None = None) -> Misfit:
        return Misfit(table=table, column=column, kind=kind, number=number, said=said)

    if not survey.rows:
        yield found("empty", 0, "it has no rows; is this the right file?")
        return
    if survey.without_key:
        rows = f"{survey.without_key:,} of {survey.rows:,} rows"
        yield found("missing_keys", survey.without_key, f"{rows} have no person key, and never count")
    if survey.table.rows is RowsPerPerson.ONE_A_PERSON and survey.above:
        said = (
            f"{_people(survey.above)} several rows (up to {survey.most:,}), and it is declared to have one a person: "
        )
        yield found(
            "several_rows",
            survey.above,
            f"{said}what they add is bounded to what one row could add. If these are events, write "
            'rows = "many" in lapwing.toml (lapwing add: --rows many), then lapwing update',
        )
    if survey.table.rows is RowsPerPerson.MANY_A_PERSON and survey.most == 1:
        said = (
            "everybody has one row, and it is declared to have many: questions about it are noisier than they need be. "
        )
        yield found("one_row", survey.people, f'{said}If that stays so, write rows = "one" in lapwing.toml')
    if survey.table.rows is RowsPerPerson.MANY_A_PERSON and survey.above:
        said = f"{_people(survey.above)} more than max_rows = {survey.table.max_rows} rows (up to {survey.most:,}); "
        yield found("more_rows", survey.above, f"{said}of theirs that many count where a question does not say another")
    if survey.strangers:
        one = "is" if survey.strangers == 1 else "are"
        people = "person" if survey.strangers == 1 else "people"
        yield found("strangers", survey.strangers, f"{survey.strangers:,} {people} {one} not in the table of people")
    for column in survey.columns:
        for kind, number, said in _of_column(column, survey):
            yield found(kind, number, said, column.column.name)


def _of_column(survey: ColumnSurvey, table: TableSurvey) -> Iterator[tuple[str, int, str]]:
    column, rows = survey.column, table.rows
    if survey.missing == rows:
        yield "all_missing", rows, "it holds nothing in any row"
        return
    if survey.missing and not column.nullable:
        rest = "they are in no group; write nullable = true to have a group of them"
        yield "missing", survey.missing, f"it is missing in {survey.missing:,} of {rows:,} rows; {rest}"
    if isinstance(column.type, Category):
        yield from _of_category(survey, column.type, rows - survey.missing)
    elif survey.misfits:
        what = f"in {survey.misfits:,} of {rows:,} rows it is outside of the bounds {column.values}"
        rest = "it is clipped to them where it is added up"
        yield "out_of_bounds", survey.misfits, f"{what}; {rest}. Declare wider bounds if that is not meant"


def _of_category(survey: ColumnSurvey, category: Category, present: int) -> Iterator[tuple[str, int, str]]:
    examples = ", ".join(f"{value!r} ({number:,})" for value, number in survey.examples)
    if survey.occurring == 0:
        kind = "texts" if isinstance(category.values[0], str) else "numbers"
        held = f"; it holds {examples}" if examples else ""
        yield "no_value_occurs", present, f"none of the {len(category.values):,} declared {kind} occurs{held}"
    elif survey.misfits:
        yield (
            "not_declared",
            survey.misfits,
            f"in {survey.misfits:,} rows it is a value that is not declared, and they are in no group: {examples}",
        )
    if survey.occurring and survey.occurring < len(category.values):
        never = len(category.values) - survey.occurring
        yield "never_occurs", never, f"{never:,} of the {len(category.values):,} declared values never occur"


def _people(number: int) -> str:
    return "1 person has" if number == 1 else f"{number:,} people have"

"""What does not fit is told with its number, its kind and a remedy, and what fits is not mentioned."""

from dataclasses import replace

import pytest

from lapwing.engines.survey import ColumnSurvey, TableSurvey
from lapwing.queries.catalogue.column import Category, Column, Integer
from lapwing.queries.catalogue.population import RowsPerPerson, Table
from lapwing.workspace.misfits import misfits_of

AGE = Column(name="age", type=Integer(low=0, high=120))
SEX = Column(name="sex", type=Category(values=("F", "M")))
TABLE = Table(name="patients", columns=(AGE, SEX))
MANY = replace(TABLE, rows=RowsPerPerson.MANY_A_PERSON, max_rows=3)
FITS = TableSurvey(
    table=TABLE,
    rows=100,
    people=100,
    without_key=0,
    most=1,
    above=0,
    strangers=0,
    columns=(
        ColumnSurvey(column=AGE, missing=0, misfits=0),
        ColumnSurvey(column=SEX, missing=0, misfits=0, occurring=2),
    ),
)


def of_column(column: Column, **more: object) -> TableSurvey:
    return replace(FITS, columns=(ColumnSurvey(**{"column": column, "missing": 0, "misfits": 0} | more),))


def test_what_fits_is_not_mentioned() -> None:
    assert misfits_of([FITS, FITS]) == []


@pytest.mark.parametrize(
    ("survey", "kind", "number", "said"),
    [
        (replace(FITS, rows=0), "empty", 0, "is this the right file"),
        (replace(FITS, without_key=7), "missing_keys", 7, "7 of 100 rows have no person key"),
        (replace(FITS, above=1, most=4), "several_rows", 1, "1 person has several rows (up to 4)"),
        (replace(FITS, table=MANY), "one_row", 100, "everybody has one row"),
        (replace(FITS, table=MANY, most=9, above=2), "more_rows", 2, "2 people have more than max_rows = 3"),
        (replace(FITS, strangers=1), "strangers", 1, "1 person is not in the table of people"),
        (of_column(AGE, missing=100), "all_missing", 100, "holds nothing in any row"),
        (of_column(AGE, missing=3), "missing", 3, "write nullable = true"),
        (of_column(AGE, misfits=2), "out_of_bounds", 2, "outside of the bounds 0 to 120"),
        (of_column(SEX, occurring=0, examples=(("f", 9),)), "no_value_occurs", 100, "it holds 'f' (9)"),
        (of_column(SEX, occurring=2, misfits=4, examples=(("x", 4),)), "not_declared", 4, "'x' (4)"),
        (of_column(SEX, occurring=1), "never_occurs", 1, "1 of the 2 declared values never occur"),
    ],
)
def test_each_kind_has_its_number_and_its_sentence(survey, kind, number, said) -> None:
    (found,) = misfits_of([survey])
    assert (found.kind, found.number) == (kind, number)
    assert said in found.said
    assert found.to_dict() == {
        "table": "patients",
        "column": found.column,
        "kind": kind,
        "number": number,
        "said": found.said,
    }


def test_a_column_that_may_be_missing_may_be() -> None:
    assert misfits_of([of_column(replace(AGE, nullable=True), missing=3)]) == []

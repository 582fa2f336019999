"""A catalogue is checked when it is written, with the numbers and the remedy."""

from datetime import date

import pytest

from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real
from lapwing.queries.catalogue.population import ELSEWHERE, KeyType, Population, Table
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.guarantee import PrivacyUnit

UNIT = PrivacyUnit(person_key="pid")


REFUSED = [
    (lambda: Integer(low=3, high=1), "the wrong way round"),
    (lambda: Integer(low=3), "are incomplete"),
    (lambda: Integer(low=0, high=2**63), "out of range"),
    (lambda: Integer(low=0.5, high=1), "not a whole number"),
    (lambda: Real(low=0, high=float("inf")), "is infinite"),
    (lambda: Real(low=float("nan"), high=1), "is not a number"),
    (lambda: Real(low=0, high=1, step=0), "not a power of two"),
    (lambda: Real(low=0, high=1, step="-1/2"), "not a power of two"),
    (lambda: Real(low=0, high=1, step="1/3"), "not a power of two; write 1/4"),
    (lambda: Real(low=0, high=2**40, step="1/65536"), "more than 2\\^52 grid points"),
    (lambda: Category(values=()), "not categories"),
    (lambda: Category(values=("a", 1)), "not categories"),
    (lambda: Category(values=("a", "a")), "twice"),
    (lambda: Category(values=(True, False)), "not categories"),
    (lambda: Category(values=("a\x00",)), "not text"),
    (lambda: Category(values=(2**63,)), "out of range"),
    (lambda: Date(first=date(2020, 1, 2), last=date(2020, 1, 1)), "the wrong way round"),
    (lambda: Table(name="", columns=()), "is not a name"),
    (lambda: Table(name="t" * 64, columns=()), "at most 63 bytes"),
    (lambda: Table(name="t\x00", columns=()), "is not a name"),
    (
        lambda: Table(name="t", columns=(Column(name="Age", type=Integer()), Column(name="age", type=Integer()))),
        "twice",
    ),
    (
        lambda: Table(name="t", columns=(Column(name="b", type=Boolean()),), row_key="b"),
        "neither integers nor text",
    ),
    (lambda: Table(name="t", columns=(), max_rows=0), "out of range"),
    (lambda: Population(name="p", unit=UNIT, tables=(Table(name="t", columns=()),) * 2), "twice"),
    (
        lambda: Population(
            name="p", unit=UNIT, tables=(Table(name="t", columns=(Column(name="PID", type=Integer()),)),)
        ),
        "twice",
    ),
    (lambda: Population(name="p", unit=UNIT, tables=(), salt=-1), "out of range"),
    (
        lambda: Population(
            name="p",
            unit=UNIT,
            tables=(Table(name="t", columns=()), Table(name="v", columns=(), key_type=KeyType.TEXT)),
        ),
        "key_type of v = 'text' is not that of t, which is integer; declare, and store",
    ),
]


@pytest.mark.parametrize(("build", "reason"), REFUSED, ids=[f"{i} {reason}" for i, (_, reason) in enumerate(REFUSED)])
def test_what_makes_no_sense_is_refused(build, reason) -> None:
    with pytest.raises(ParameterError, match=reason):
        build()


def test_bounds_move_outwards_to_the_grid() -> None:
    column = Real(low="0.1", high="0.9", step="1/4")
    assert (column.low, column.high, column.bits) == (0, 1, 2)


def test_a_step_is_chosen_where_none_is_given() -> None:
    assert 2**19 <= (60 - 10) / Real(low=10, high=60).step <= 2**20
    assert Real(low=0, high=0).step > 0


def test_a_population_without_segments_has_nobody_elsewhere() -> None:
    clinic = Population(name="clinic", unit=PrivacyUnit(person_key="id"), tables=(Table(name="patients", columns=()),))
    for segment in ("north", ELSEWHERE):
        with pytest.raises(BadQuestionError, match=f"has no segment '{segment}'; it has none"):
            clinic.within(segment)

"""What a value means: a whole-number term whose value is the analyst's, and its bounds; what has none is refused."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.queries.algebra.term import ConstantTerm, OnGrid, Plus, SteppedDown, Times, bounds
from lapwing.queries.language.sql.reader import read_value
from lapwing.queries.planning.deriving import derive
from lapwing.queries.planning.measure import measure, step_width
from lapwing.queries.planning.scope import Scope
from lapwing.vocabulary.errors import BadQuestionError
from queries.asked import POPULATION, VISITS


def of(text):
    return measure(read_value(text), Scope(POPULATION, VISITS, "visits", derive=derive))


def value(term, row):
    """Return the exact value of a term in a row of whole numbers."""
    match term:
        case OnGrid(column=name, bits=grid, low=low, high=high):
            return min(max(row[name] * Fraction(2) ** grid, low), high)
        case ConstantTerm(number):
            return Fraction(number)
        case Plus(left, right):
            return value(left, row) + value(right, row)
        case Times(left, right):
            return value(left, row) * value(right, row)
        case SteppedDown(inner, width):
            return value(inner, row) // width * width


@given(st.integers(0, 30), st.integers(-50, 1000))
@pytest.mark.parametrize(
    ("text", "exactly"),
    [
        ("nights", lambda nights, **_: nights),
        ("2 * nights - cost", lambda nights, cost: 2 * nights - cost),
        ("nights / 4 + 0.5", lambda nights, **_: Fraction(nights, 4) + Fraction(1, 2)),
        ("nights * cost", lambda nights, cost: nights * cost),
        ("clip(cost, 0, 10)", lambda cost, **_: min(max(cost, 0), 10)),
        ("floor(nights / 7) * 7", lambda nights, **_: nights // 7 * 7),
        ("-nights", lambda nights, **_: -nights),
    ],
)
def test_a_term_times_its_step_is_the_value(text, exactly, nights, cost) -> None:
    found = of(text)
    assert value(found.term, {"nights": nights, "cost": cost}) * found.step == exactly(nights=nights, cost=cost)


def test_bounds_are_those_of_the_declaration_or_of_the_clip() -> None:
    assert bounds(of("nights").term) == (0, 30)
    assert bounds(of("clip(nights, 3, 99)").term) == (3, 99)
    assert [end * of("nights / 4").step for end in bounds(of("nights / 4").term)] == [0, Fraction(30, 4)]


@pytest.mark.parametrize(
    "text",
    [
        "kind",
        "note",
        "day",
        "nights / 3",
        "clip(nights, 9, 3)",
        "clip(nights, note, 3)",
        "clip(cost, 0, 1e300)",
        "floor(nights / 0.3) * 0.3",
        "'x'",
        "left - day",
    ],
)
def test_what_cannot_be_added_up_is_refused(text) -> None:
    with pytest.raises(BadQuestionError):
        of(text)


def test_steps_lead_somewhere() -> None:
    assert step_width(read_value("0.25")) == Fraction(1, 4)
    for text in ("0", "-1", "nights"):
        with pytest.raises(BadQuestionError):
            step_width(read_value(text))


def test_a_coarser_grid_is_rounded_and_wider() -> None:
    found = of("nights")
    assert found.coarser(0) is found
    assert found.coarser(2).step == 4 * found.step
    assert bounds(found.coarser(2).term) == (0, 8)

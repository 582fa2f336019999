"""What a value means: a whole-number term whose value is the analyst's, and its bounds; what has none is refused."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.rows_in_memory import function_of
from lapwing.queries.algebra.term import ConstantTerm, FunctionOf, OnGrid, Plus, SteppedDown, Times, bounds
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
        case FunctionOf(function, terms, width):
            return function_of(function, [int(value(each, row)) for each in terms], width)


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
        ("abs(nights - 10)", lambda nights, **_: abs(nights - 10)),
        ("sign(cost)", lambda cost, **_: (cost > 0) - (cost < 0)),
        ("(nights - 9) // 4", lambda nights, **_: math.trunc(Fraction(nights - 9, 4))),
        ("(nights - 9) % 4", lambda nights, **_: math.fmod(nights - 9, 4)),
        ("floor(cost / 8)", lambda cost, **_: cost // 8),
        ("ceil(cost / 3)", lambda cost, **_: -(-cost // 3)),
        ("round(cost, -1)", lambda cost, **_: 10 * int(math.copysign((abs(cost) + 5) // 10, cost))),
        ("round(nights / 4 - 0.5)", lambda nights, **_: nights // 4 if nights >= 2 else -(nights == 0)),
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
        "greatest(nights, cost)",
        "cost // 2",
        "floor(nights / 2) // 3",
        "round(cost, 1)",
        "round(cost, -1000000000000)",
        "floor(nights * 4611686018427387904)",
    ],
)
def test_what_cannot_be_added_up_is_refused(text) -> None:
    with pytest.raises(BadQuestionError):
        of(text)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("abs(nights - 10)", (0, 20)),
        ("sign(nights - 10)", (-1, 1)),
        ("sign(nights + 1)", (1, 1)),
        ("nights // 7", (0, 4)),
        ("nights % 7", (0, 6)),
        ("(nights - 30) % 7", (-6, 0)),
        ("nights % 100", (0, 30)),
        ("floor(cost / 100)", (-1, 10)),
        ("ceil(cost / 100)", (0, 10)),
        ("round(cost / 100)", (-1, 10)),
        ("floor(nights)", (0, 30)),
    ],
)
def test_the_bounds_of_a_sum_are_those_of_the_function(text, limits) -> None:
    found = of(text)
    assert tuple(end * found.step for end in bounds(found.term)) == limits


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


@given(st.integers(0, 30), st.integers(-50, 1000))
@pytest.mark.parametrize("low", [-20, 0])
def test_a_quotient_is_cut_to_its_grid_and_an_infinity_moved_to_its_bounds(low, nights, cost) -> None:
    row = {"nights": nights, "cost": cost}
    exactly = Fraction(cost, nights) if nights else math.inf if cost >= 0 else -math.inf
    for text, share in (
        (f"clip(cost / nights, {low}, 20)", exactly),
        (f"clip(cost / (nights - 9), {low}, 20)", _over(cost, nights - 9)),
        (f"clip(cost / (0 - nights), {low}, 20)", _over(cost, -nights)),
        ("cost / (nights + 1)", Fraction(cost, nights + 1)),
        ("(3 * cost) / (nights + 1) / 7", Fraction(3 * cost, 7 * (nights + 1))),
    ):
        if " / 7" in text:
            with pytest.raises(BadQuestionError, match="not a multiple of a power of two"):
                of(text)
            continue
        found = of(text)
        least, most = bounds(found.term)
        ours = value(found.term, row)
        assert least <= ours <= most
        wanted = min(max(share, low), 20) if "clip" in text else share
        assert abs(ours * found.step - wanted) < Fraction(1, 2**20), text


def _over(above: int, below: int) -> float | Fraction:
    return Fraction(above, below) if below else math.inf if above >= 0 else -math.inf


def test_nothing_is_divided_by_what_may_be_zero() -> None:
    for text in ("cost / nights", "cost / (nights - 9)", "nights / cost"):
        with pytest.raises(BadQuestionError, match="may be 0 by its declared bounds"):
            of(text)
    with pytest.raises(BadQuestionError, match="divides nothing"):
        of("cost / (2 - 2)")
    with pytest.raises(BadQuestionError, match="what divides has to be above 0"):
        FunctionOf("/", (ConstantTerm(3), OnGrid(column="nights", bits=0, low=0, high=5)), 4)

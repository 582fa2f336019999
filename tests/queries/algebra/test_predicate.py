"""The algebra of predicates by itself: what `every`, `some` and `atom` make is true where their parts say so."""

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.queries.algebra.pattern import fits
from lapwing.queries.algebra.predicate import (
    ALWAYS,
    NEVER,
    AllOf,
    AnyOf,
    Compared,
    Gap,
    HasRows,
    InIntervals,
    InTexts,
    IsMissing,
    IsPresent,
    LacksRows,
    Like,
    NotInTexts,
    NotLike,
    Ref,
    Unit,
    atom,
    every,
    in_intervals,
    some,
)
from lapwing.queries.catalogue.domains import INTEGERS, Domain
from lapwing.vocabulary.codec import to_text

FEW = Domain(0, 5)
NUMBERS, TEXTS = [None, *range(6)], [None, "", "a", "ab", "b", "A"]
ROWS = [{"x": x, "y": y, "t": t} for x, y, t in product(NUMBERS, NUMBERS, TEXTS)]
INTERVALS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=3).map(
    lambda pieces: FEW.union((low, low + width) for low, width in pieces)
)
SOME_TEXTS = st.lists(st.sampled_from(TEXTS[1:]), max_size=3).map(tuple)
PATTERNS = st.lists(st.sampled_from(["a%", "%b", "%", "ab", "_"]), max_size=2).map(tuple)
ATOMS = st.one_of(
    st.builds(lambda c, i: InIntervals(column=c, domain=FEW, intervals=i), st.sampled_from("xy"), INTERVALS),
    st.builds(lambda t: InTexts(column="t", texts=t), SOME_TEXTS),
    st.builds(lambda t: NotInTexts(column="t", texts=t), SOME_TEXTS),
    st.builds(lambda p: Like(column="t", patterns=p), PATTERNS),
    st.builds(lambda p: NotLike(column="t", patterns=p), PATTERNS),
    st.sampled_from([IsMissing(column="x"), IsPresent(column="x"), IsMissing(column="t"), IsPresent(column="t")]),
    st.builds(
        lambda a, b, s: Compared(left=Ref(column=a), right=Ref(column=b), signs=tuple(sorted(s))),
        st.sampled_from("xy"),
        st.sampled_from("xy"),
        st.sets(st.sampled_from([-1, 0, 1])),
    ),
)


def true(predicate, row) -> bool:
    """Say whether a predicate is true of a row, as the docstrings of the atoms say."""
    match predicate:
        case AllOf(parts):
            return all(true(part, row) for part in parts)
        case AnyOf(parts):
            return any(true(part, row) for part in parts)
        case Compared(left=left, right=right, signs=signs):
            one, other = row[left.column], row[right.column]
            return None not in {one, other} and (one > other) - (one < other) in signs
        case IsMissing(column=column):
            return row[column] is None
    value = row[predicate.column]
    return value is not None and _holds(predicate, value)


def _holds(predicate, value) -> bool:
    """Say the same of an atom about one column, which holds something."""
    match predicate:
        case InIntervals(intervals=intervals):
            return any(low <= value <= high for low, high in intervals)
        case InTexts(texts=texts) | NotInTexts(texts=texts):
            return (value in texts) is isinstance(predicate, InTexts)
        case Like(patterns=patterns) | NotLike(patterns=patterns):
            return any(fits(pattern, value) for pattern in patterns) is isinstance(predicate, Like)
        case IsPresent():
            return True
    raise TypeError(predicate)


@given(ATOMS)
def test_the_canonical_atom_is_true_where_the_atom_is(given_atom) -> None:
    made = atom(given_atom)
    assert [true(made, row) for row in ROWS] == [true(given_atom, row) for row in ROWS]
    assert atom(made) == made if not isinstance(made, AllOf | AnyOf) else made in (ALWAYS, NEVER)


@given(st.lists(ATOMS.map(atom), max_size=4))
def test_every_and_some_are_true_where_their_parts_say_so(parts) -> None:
    for made, joined in ((every(parts), all), (some(parts), any)):
        assert [true(made, row) for row in ROWS] == [joined(true(part, row) for part in parts) for row in ROWS]


@given(st.lists(ATOMS.map(atom), max_size=3))
def test_two_orders_have_one_text(parts) -> None:
    for join in (every, some):
        assert len({to_text(join(order)) for order in permutations(parts)}) == 1
        assert join([join(parts)]) == join(parts)


def test_nothing_said_is_always_and_nothing_to_choose_is_never() -> None:
    assert every([]) == ALWAYS
    assert some([]) == NEVER
    x = IsPresent(column="x")
    assert every([x, NEVER]) == NEVER
    assert some([x, ALWAYS]) == ALWAYS
    assert every([x, ALWAYS]) == some([x, NEVER]) == x


@given(INTERVALS)
def test_what_is_wanted_and_what_is_not_share_no_row(intervals) -> None:
    wanted, other = (in_intervals("x", FEW, intervals, wanted=truth) for truth in (True, False))
    assert every([wanted, other]) == NEVER
    assert some([wanted, other]) == IsPresent(column="x")


@pytest.mark.parametrize(("unit", "turned"), [(Unit.DAYS, True), (Unit.YEARS, False)])
def test_days_count_the_same_both_ways_and_years_do_not(unit, turned) -> None:
    one = Gap(until=Ref(column="b"), since=Ref(column="a"), unit=unit, intervals=((1, 3), (7, 9)))
    made = atom(one)
    assert (made == one) is not turned
    if turned:
        assert (made.until.column, made.since.column, made.intervals) == ("a", "b", ((-9, -7), (-3, -1)))


def test_rows_of_another_table_that_never_are_there() -> None:
    assert atom(HasRows(table="visits", where=NEVER)) == NEVER
    assert atom(LacksRows(table="visits", where=NEVER)) == ALWAYS
    assert atom(HasRows(table="visits", where=ALWAYS)) != ALWAYS


def test_a_number_that_every_integer_is_only_has_to_be_there() -> None:
    everything = InIntervals(column="x", domain=INTEGERS, intervals=((INTEGERS.lowest, INTEGERS.highest),))
    assert atom(everything) == IsPresent(column="x")

"""Which facts about a person's rows elsewhere are counted on bitmaps, and what they are by the number of those rows."""

import numpy as np
import pytest

from lapwing.engines.emitter import Fact
from lapwing.engines.rows_of_person import look_of
from lapwing.queries.algebra.derived import NumberOfPerson, PersonRows
from lapwing.queries.algebra.predicate import ALWAYS, AllOf, Compared, HasRows, InIntervals, LacksRows, Ref
from lapwing.queries.catalogue.domains import INTEGERS

ROWS = np.arange(6)


def same_ward(other: Ref) -> Compared:
    return Compared(left=Ref(column="ward"), right=other, signs=(0,))


def holds(fact: Fact) -> list[int]:
    """Return for which numbers of rows a fact holds."""
    look = look_of(fact)
    assert look is not None
    return [int(number) for number in ROWS[look.holds(ROWS)]]


@pytest.mark.parametrize("least", [1, 3])
def test_rows_are_there_or_lacking_from_a_number_on(least) -> None:
    has, lacks = (kind(table="visits", where=ALWAYS, at_least=least) for kind in (HasRows, LacksRows))
    assert holds(Fact(has)) == [*range(least, 6)]
    assert holds(Fact(lacks)) == [*range(least)]
    look = look_of(Fact(has))
    assert (look.table, look.inside, look.turn) == ("visits", Fact(ALWAYS), least)


@pytest.mark.parametrize(
    ("most", "intervals", "numbers", "turn"),
    [
        (10, ((2, 3),), [2, 3], None),
        (10, ((0, 0), (4, 9)), [0, 4, 5], None),
        (3, ((3, 3),), [3, 4, 5], None),
        (1, ((1, 1),), [1, 2, 3, 4, 5], 1),
    ],
    ids=["between", "several", "counted up to three", "there at all"],
)
def test_a_number_of_rows_is_counted_up_to_its_bound(most, intervals, numbers, turn) -> None:
    rows = PersonRows(table="visits", where=ALWAYS, derived=())
    number = NumberOfPerson(name="n", rows=rows, column=None, most=most)
    fact = Fact(InIntervals(column="n", domain=INTEGERS, intervals=intervals), (number,))
    assert holds(fact) == numbers
    assert look_of(fact).turn == turn


def test_what_compares_with_the_row_around_is_left_to_the_database() -> None:
    inside = same_ward(Ref(column="city"))
    outside = same_ward(Ref(column="ward", up=1))
    assert look_of(Fact(HasRows(table="visits", where=inside))) is not None
    assert look_of(Fact(HasRows(table="visits", where=AllOf((inside, outside))))) is None
    deeper = HasRows(table="drugs", where=outside)  # which compares with the visit, and not with the row around it
    assert look_of(Fact(HasRows(table="visits", where=deeper))) is not None
    further = HasRows(table="drugs", where=same_ward(Ref(column="ward", up=2)))
    assert look_of(Fact(HasRows(table="visits", where=further))) is None


def test_different_values_of_a_column_are_not_a_number_of_rows() -> None:
    rows = PersonRows(table="visits", where=ALWAYS, derived=())
    number = NumberOfPerson(name="n", rows=rows, column="kind", most=5)
    assert look_of(Fact(InIntervals(column="n", domain=INTEGERS, intervals=((1, 2),)), (number,))) is None
    assert look_of(Fact(ALWAYS)) is None

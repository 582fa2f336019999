"""Whoever is written in two ways is two people, wherever keys may stand: some spellings, always the same.

`make fuzz` looks at others, for as long as one likes.
"""

import pytest

from fuzz.key_places import KEY_PLACES
from fuzz.keys import cases, examined, searched
from fuzz.test_neighbours import Given

MANY, FEW = 3, 1
ZERO = ["7", "007", "+7", "-0", "0", "7.0", " 7", "7 ", "1E+12", "9223372036854775807", "9223372036854775808"]
"""Spellings of which an engine once made one person, and some that are as near."""


def how_many(place):
    return FEW if place.startswith("spark") else MANY


@pytest.mark.parametrize("place", KEY_PLACES)
def test_people_are_as_many_as_are_written_or_the_tables_are_refused(place, request) -> None:
    tally = searched(cases(place, [place] * how_many(place)), Given(request))
    assert tally["refused"] + tally["counts"] >= how_many(place)


@pytest.mark.parametrize("other", ZERO)
def test_a_key_that_is_nearly_a_number_is_nobody_else_in_a_csv_file(other) -> None:
    assert examined(KEY_PLACES["csv-integer"], ["7", "8", other], None) is None
    assert examined(KEY_PLACES["csv-text"], ["7", "8", other], None) is None

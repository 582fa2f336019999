"""One person moves no answer further than its price, on any engine and file format: some random cases, always the same.

`make fuzz` looks at others, for as long as one likes.
"""

import itertools
import json
from pathlib import Path

import pytest

from fuzz.neighbours import searched, seeds_from
from fuzz.places import PLACES

CORPUS = json.loads((Path(__file__).parent / "corpus" / "neighbours.json").read_text(encoding="utf-8"))
SEED = 11
MANY, SOME, FEW = 6, 5, 2


def how_many(place):
    """Spark takes seconds for what others do in milliseconds; `make fuzz` asks it more."""
    return FEW if place.startswith("spark") else SOME if place == "postgres" else MANY


class Given:
    """The servers of the test run."""

    def __init__(self, request):
        self._request = request

    @property
    def postgres(self):
        return self._request.getfixturevalue("database")

    @property
    def spark(self):
        return self._request.getfixturevalue("spark")


@pytest.mark.parametrize("place", PLACES)
def test_no_price_is_exceeded_and_nothing_fails_in_random_cases(place, request) -> None:
    tried, pairs = PLACES[place], how_many(place)
    seeds = itertools.islice(seeds_from(f"{SEED} {place}"), pairs)
    tally = searched(((seed, place) for seed in seeds), Given(request))
    assert tally["tables refused"] == pairs if tried.is_refused else 3 * tally["asked"] >= pairs * tried.questions


@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: f"{entry['place']}-{entry['case']}")
def test_what_once_showed_a_mistake_shows_none_now(entry, request) -> None:
    assert searched([(entry["case"], entry["place"])], Given(request))

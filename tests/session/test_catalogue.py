"""No item of the catalogue of bad inputs goes without a test."""

import pytest

from session.catalogue import ELSEWHERE, EXCLUDED, ITEMS, items_tested_here, names_of_tests


@pytest.mark.parametrize("item", ITEMS, ids=str)
def test_every_item_has_a_test_or_a_reason(item) -> None:
    assert item in items_tested_here() | ELSEWHERE.keys() | EXCLUDED.keys(), ITEMS[item]


@pytest.mark.parametrize("item", ELSEWHERE, ids=str)
def test_what_is_tested_elsewhere_is_there(item) -> None:
    file, name = ELSEWHERE[item]
    assert name in names_of_tests(file)


def test_the_catalogue_knows_all_that_is_tested_and_excludes_nothing_that_is() -> None:
    assert items_tested_here() <= ITEMS.keys()
    assert not items_tested_here() & EXCLUDED.keys()

"""No item of the catalogue of bad inputs goes without a test."""

from session.catalogue import ELSEWHERE, EXCLUDED, ITEMS, items_tested_here, names_of_tests


def test_every_item_has_a_test_or_a_reason() -> None:
    known = items_tested_here() | ELSEWHERE.keys() | EXCLUDED.keys()
    assert {item: what for item, what in ITEMS.items() if item not in known} == {}


def test_what_is_tested_elsewhere_is_there() -> None:
    gone = {item: (file, name) for item, (file, name) in ELSEWHERE.items() if name not in names_of_tests(file)}
    assert gone == {}


def test_the_catalogue_knows_all_that_is_tested_and_excludes_nothing_that_is() -> None:
    assert items_tested_here() <= ITEMS.keys()
    assert not items_tested_here() & EXCLUDED.keys()

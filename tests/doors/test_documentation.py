"""The page for users runs as it is printed."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "using.md"


def test_the_page_about_using_lapwing_is_true() -> None:
    failures, attempted = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert failures == 0
    assert attempted > 20

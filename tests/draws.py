"""What a test draws that is written within another: the same each time, and something else for each of its cases."""

from collections.abc import Callable
from typing import TypeVar

from hypothesis import seed, settings

Test = TypeVar("Test", bound=Callable[..., object])


def drawn_for(*names: object) -> Callable[[Test], Test]:
    """Let a test that draws the same each time draw others for each of these names; where chance is wanted, leave it.

    Draws follow from the source of a test, and what is written within another has one source for all cases.
    """
    return seed(" ".join(map(str, names))) if settings().derandomize else _as_it_is


def _as_it_is(test: Test) -> Test:
    return test

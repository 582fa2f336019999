"""Where a yes-or-no question turns from no to yes: searches by doubling and halving, written once.

The question is answered no up to some number and yes from there on. Where it is not so well behaved (the last digits of
a computation), `below` is still a number that got a no, or the start, and `above` one that got a yes: callers use the
end that errs towards more noise and more cost, and need no more than that.

There are two ways to use a search. A function that has the question at hand hands it over (`first_integer`,
`bisect_integer`, `bisect_float`). Code that stands above this layer and must not be called back from
it judges the guesses of a `Search` one by one. Either way a search that finds no yes raises OverflowError.
"""

from collections.abc import Callable, Generator
from fractions import Fraction
from typing import Generic, NoReturn, TypeVar

Number = TypeVar("Number")

_MOST_TENS = 40  # decimals are looked for between 10^-40 and 10^41
_FARTHEST = 2.0**1000


class Search(Generic[Number]):
    """A search whose guesses the caller judges; made by `integers`, `decimals` or `floats`.

    >>> search = decimals(digits=3)
    >>> while search.open:
    ...     search.tell(search.guess**2 > 2)
    >>> search.below, search.above
    (Fraction(141, 100), Fraction(71, 50))
    """

    below: Number  # the last number that got a no (or the start, which is not asked), once the search has ended
    above: Number  # the first number that got a yes

    def __init__(self, guesses: Generator[Number, bool, tuple[Number, Number]]) -> None:
        self._guesses, self.guess = guesses, next(guesses)
        self.open = True  # whether the guess still waits for an answer

    def tell(self, yes: bool) -> None:  # noqa: FBT001 - the answer to a yes-or-no question
        """Answer the question for the guess; the next guess follows from it."""
        try:
            self.guess = self._guesses.send(yes)
        except StopIteration as end:
            self.open, (self.below, self.above) = False, end.value


def integers(*, after: int = -1, most: int | None = None) -> Search[int]:
    """Return a search among the integers after `after`, up to `most` if that is given."""
    return Search(_integers(after, most))


def integers_near(near: int) -> Search[int]:
    """Return a search among the integers from 0 on, which asks few of them where the first yes is not far from `near`.

    >>> search, asked = integers_near(1000), 0
    >>> while search.open:
    ...     asked += 1
    ...     search.tell(search.guess**2 > 10**6)
    >>> search.above, asked
    (1001, 2)
    """
    return Search(_around(max(0, near)))


def decimals(*, digits: int) -> Search[Fraction]:
    """Return a search among the positive decimals of `digits` digits."""
    return Search(_decimals(digits))


def floats(*, low: float = 0.0, high: float = 1.0, relative: float = 0.0, most: float = _FARTHEST) -> Search[float]:
    """Return a search among the doubles above `low`; see `bisect_float`."""
    return Search(_floats(low, high, relative, most))


def first_integer(is_true: Callable[[int], bool], *, after: int = -1, most: int | None = None) -> int:
    """Return the first integer after `after`, and up to `most`, for which `is_true`.

    Few are asked where the first is near: `after` + 1, + 2, + 4 and so on, and then half of what is between.

    >>> first_integer(lambda n: n * n >= 50)
    8
    >>> first_integer(lambda n: n > 10, most=10)
    Traceback (most recent call last):
    ...
    OverflowError: none up to 10
    """
    return _run(integers(after=after, most=most), is_true)[1]


def bisect_integer(is_true: Callable[[int], bool], *, below: int, above: int) -> int:
    """Return the first integer after `below` for which `is_true`; it is true of `above`, which is not asked.

    >>> bisect_integer(lambda n: n**3 > 1000, below=0, above=100)
    11
    """
    return above if above - below <= 1 else _run(Search(_between(below, above)), is_true)[1]


def bisect_float(
    is_true: Callable[[float], bool],
    *,
    low: float = 0.0,
    high: float = 1.0,
    relative: float = 0.0,
    most: float = _FARTHEST,
) -> tuple[float, float]:
    """Return two doubles between which `is_true` turns true, above `low`, which is not asked.

    The first to be asked is `high`; while it is not true, twice as far from `low`, but no farther than `most`. The two
    come as close as `relative`, a share of the larger; 0 for neighbours.

    >>> bisect_float(lambda x: x * x >= 2)
    (1.414213562373095, 1.4142135623730951)
    """
    return _run(floats(low=low, high=high, relative=relative, most=most), is_true)


def _run(search: Search[Number], is_true: Callable[[Number], bool]) -> tuple[Number, Number]:
    while search.open:
        search.tell(is_true(search.guess))
    return search.below, search.above


def _integers(start: int, most: int | None) -> Generator[int, bool, tuple[int, int]]:
    if most is not None and most <= start:
        _give_up(most)
    below, above = start, start + 1
    while not (yield above):
        if above == most:
            _give_up(most)
        below, above = above, start + 2 * (above - start)
        above = above if most is None else min(above, most)
    return (yield from _between(below, above))


def _around(near: int) -> Generator[int, bool, tuple[int, int]]:
    step = 1
    if not (yield near):
        while not (yield near + step):
            step *= 2
        return (yield from _between(near + step // 2, near + step))
    while near >= step and (yield near - step):
        step *= 2
    return (yield from _between(max(-1, near - step), near - step // 2))


def _between(below: int, above: int) -> Generator[int, bool, tuple[int, int]]:
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if (yield middle) else (middle, above)
    return below, above


def _decimals(digits: int) -> Generator[Fraction, bool, tuple[Fraction, Fraction]]:
    exponent = 0
    while (yield Fraction(10) ** exponent):
        exponent -= 1
        if exponent < -_MOST_TENS:
            raise OverflowError(f"true down to 10^-{_MOST_TENS}")
    while not (yield Fraction(10) ** (exponent + 1)):
        exponent += 1
        if exponent > _MOST_TENS:
            _give_up(f"10^{exponent}")
    unit = Fraction(10) ** (exponent - digits + 1)
    below, above = 10 ** (digits - 1), 10**digits
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if (yield middle * unit) else (middle, above)
    return below * unit, above * unit


def _floats(low: float, high: float, relative: float, most: float) -> Generator[float, bool, tuple[float, float]]:
    start, high = low, min(high, most)
    while not (yield high):
        if high >= most:
            _give_up(most)
        low, high = high, min(start + 2 * (high - start), most)
    while high - low > relative * abs(high):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if (yield middle) else (middle, high)
    return low, high


def _give_up(most: object) -> NoReturn:
    raise OverflowError(f"none up to {most}")

"""Which of many intervals a value is in, as SQL: exactly, and without comparing it with every edge.

Each comparison halves the intervals that are left. A thousand intervals are more code than Java compiles; on Spark the
interval is guessed from where the value is between the first and the last edge, and the edges of the guess decide.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from lapwing.engines.dialect import Value, Writer
from lapwing.queries.catalogue.domains import DAYS, DOUBLES, TRUTHS, Domain, Interval, day, double_at

MOST_HALVED: Final = 32
"""So many bins are found by comparisons alone, where a dialect has another way."""


def point(domain: Domain, number: int) -> Value:
    """Return the value that a number of a domain stands for."""
    if domain == DAYS:
        return day(number)
    if domain == DOUBLES:
        return double_at(number)
    return bool(number) if domain == TRUTHS else number


def bin_sql(writer: Writer, column: str, domain: Domain, bins: Sequence[Interval]) -> str:
    """Return which of `bins`, disjoint intervals, a value is in, as a number from 0; NULL if it is in none or missing.

    Proof: proofs/totality.md
    """
    ordered = sorted((low, high, place) for place, (low, high) in enumerate(bins))
    low, high = (writer.value(point(domain, end)) for end in (ordered[0][0], ordered[-1][1]))
    among = _guessed(writer, column, domain, bins) or _halved(writer, column, domain, ordered)
    return f"CASE WHEN {column} BETWEEN {low} AND {high} THEN {among} END"


def _halved(writer: Writer, column: str, domain: Domain, ordered: Sequence[tuple[int, int, int]]) -> str:
    """Return the bin of a value that is not below the first and not above the last: ten comparisons for a thousand."""

    def among(first: int, last: int, known: int) -> str:
        """Write the choice among some bins for a value from `known` up to the end of the last of them."""
        if first == last:
            low, _, place = ordered[first]
            return f"{place}" if low == known else f"CASE WHEN {column} >= {edge(low)} THEN {place} END"
        middle = (first + last) // 2
        end = ordered[middle][1]
        below, above = among(first, middle, known), among(middle + 1, last, end + 1)
        return f"CASE WHEN {column} <= {edge(end)} THEN {below} ELSE {above} END"

    def edge(place: int) -> str:
        return writer.value(point(domain, place))

    return among(0, len(ordered) - 1, ordered[0][0])


def _guessed(writer: Writer, column: str, domain: Domain, bins: Sequence[Interval]) -> str | None:
    """Return the bin of such a value where a guess is wrong by one at most; None where it may be, or there are few."""
    item, scale = writer.dialect.item, guess_scale(domain, bins)
    if item is None or scale is None or len(bins) <= MOST_HALVED:
        return None
    real, first = writer.dialect.real, _number(domain, bins[0][0])
    exact = writer.dialect.day_number.format(column) if domain == DAYS else column
    place = f"(CAST({exact} AS {real}) - {writer.value(first)}) * {writer.value(scale)}"
    near = writer.dialect.greatest.format(place, writer.value(0.0))
    nearest = writer.dialect.least.format(near, writer.value(len(bins) - 1.0))
    guess = f"CAST(FLOOR({nearest}) AS {writer.dialect.narrow})"
    of_reals = domain == DOUBLES
    edges = writer.listed([double_at(low) if of_reals else low for low, _ in bins])
    kind = real if of_reals else writer.dialect.integer
    here, after = (item.format(edges, kind, at) for at in (guess, f"{guess} + 1"))
    return f"CASE WHEN {exact} < {here} THEN {guess} - 1 WHEN {exact} >= {after} THEN {guess} + 1 ELSE {guess} END"


def guess_scale(domain: Domain, bins: Sequence[Interval]) -> float | None:
    """Return by what the distance from the first edge is multiplied to guess a bin of some that follow each other.

    None where any value of a bin would be guessed to be further away than in the bin beside it. The guess never falls
    where a value rises, so the two ends of each bin speak for all that is between them.
    """
    if len(bins) == 1 or any(high + 1 != low for (_, high), (low, _) in pairwise(bins)):
        return None
    first, last = _number(domain, bins[0][0]), _number(domain, bins[-1][0])
    if not (math.isfinite(first) and math.isfinite(last - first) and math.isfinite(_number(domain, bins[-1][1]))):
        return None
    scale = (len(bins) - 1) / (last - first)
    if not 0 < scale < math.inf:
        return None

    def guess(place: int) -> int:
        return math.floor(min(max((_number(domain, place) - first) * scale, 0.0), len(bins) - 1.0))

    near = all(guess(low) >= at - 1 and guess(high) <= at + 1 for at, (low, high) in enumerate(bins))
    return scale if near else None


def _number(domain: Domain, place: int) -> float:
    return double_at(place) if domain == DOUBLES else float(place)

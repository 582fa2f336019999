"""What a plan bounds away, in words: how many rows and groups of a person count, and to what values are clipped.

An answer is about what is left then, and its error says how far noise takes it from that, so both belong together.
"""

from fractions import Fraction

from lapwing.queries.aggregate import BoundedRowsPerPerson, ClippedSumPerPerson, CountPerPerson, DistinctKeys, GridKey
from lapwing.queries.plan import Moments, Plan, Quantiles, RowCount, Total
from lapwing.queries.term import bounds


def bounded(plan: Plan) -> tuple[str, ...]:
    """Return what is bounded away, phrase by phrase: none where a person counts once and whole."""
    return tuple(part for part in (_rows(plan), _groups(plan), _values(plan)) if part)


def _rows(plan: Plan) -> str:
    match plan.aggregate.bounding, plan.meaning:
        case BoundedRowsPerPerson(max_rows=rows), _:
            return _at_most(rows, "row")
        case ClippedSumPerPerson(high=rows), RowCount():
            return _at_most(rows, "row")
        case _:
            return ""


def _groups(plan: Plan) -> str:
    match plan.aggregate.bounding:
        case DistinctKeys(max_cells=int() as groups):
            return _at_most(groups, "value")
        case CountPerPerson(max_cells=int() as groups) | ClippedSumPerPerson(max_cells=groups) if plan.aggregate.keys:
            return _at_most(groups, "group")
        case BoundedRowsPerPerson(max_cells=int() as groups) if plan.aggregate.keys:
            return _at_most(groups, "group")
        case _:
            return ""


def _values(plan: Plan) -> str:
    match plan.aggregate.bounding, plan.meaning:
        case ClippedSumPerPerson(term=term, low=low, high=high), Total(step=step):
            least, most = bounds(term)
            values = f"values clipped to {_span(least * step, most * step)}"
            whole = (low, high) != (min(0, least), max(0, most))
            return f"{values}, a person's total to {_span(low * step, high * step)}" if whole else values
        case _, Moments(scales=scales):
            spans = [_span(scale.low, scale.low + scale.extent * scale.step) for scale in scales]
            return f"values clipped to {' and '.join(spans)}"
        case _, Quantiles(scale=scale):
            (key,) = (key for key in plan.aggregate.keys if isinstance(key, GridKey))
            least, most = bounds(key.term)
            return f"values clipped to {_span(scale.low, scale.low + (most - least) * scale.step / key.width)}"
        case _:
            return ""


def _at_most(number: int, what: str) -> str:
    return f"one {what} a person" if number == 1 else f"at most {number} {what}s a person"


def _span(low: Fraction, high: Fraction) -> str:
    return f"{plain(low)}..{plain(high)}"


def plain(number: Fraction) -> str:
    """Return a number as it is declared: on a grid of powers of two every one is a decimal."""
    return str(number.numerator) if number.denominator == 1 else f"{float(number):.12g}"

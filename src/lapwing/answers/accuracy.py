"""How far off an answer is, in words: of a number by how much, of a choice by how many rows or people."""

from typing import assert_never

from lapwing.answers.releases import Number
from lapwing.queries.plan import AtLeast, Distinct, Moments, People, Plan, Quantiles, RowCount, Steps, Top, Total
from lapwing.vocabulary.decimals import format_short


def accuracy(plan: Plan, margin: Number) -> str:
    """Say what a margin means. The margin of a quantile is no distance in years or francs, but in rows."""
    match plan.meaning:
        case Quantiles():
            return f"its place in the order within {format_short(margin)} rows"
        case Top():
            return f"no category that is left out has over {format_short(margin)} people more"
        case _:
            return f"within {format_short(margin)}"


def unit_of(plan: Plan) -> str:
    """Return what a margin counts: people, rows, values, the unit of the value itself, or places in the order."""
    match plan.meaning:
        case People() | Steps() | AtLeast() | Top():
            return "people"
        case RowCount():
            return "rows"
        case Distinct():
            return "values"
        case Total() | Moments():
            return "value"
        case Quantiles():
            return "rows in the order"
        case _:  # pragma: no cover - there is nothing else to ask
            assert_never(plan.meaning)

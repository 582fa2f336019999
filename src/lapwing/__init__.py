"""lapwing answers questions about tables of people with differential privacy.

What is public is listed here and loaded on first use, so that `import lapwing` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.queries.asking import (
        at_least,
        bins,
        by_year,
        correlation,
        count,
        count_distinct,
        count_rows,
        covariance,
        funnel,
        has,
        mean,
        median,
        quantiles,
        top,
        total,
        variance,
    )
    from lapwing.queries.catalogue import KeyType, Population, Rows, Table
    from lapwing.queries.column import Boolean, Category, Column, Date, Integer, Real, Text
    from lapwing.queries.written import age, col
    from lapwing.vocabulary.adjacency import Adjacency
    from lapwing.vocabulary.errors import LapwingError
    from lapwing.vocabulary.privacy_unit import PrivacyUnit
    from lapwing.vocabulary.sensitive import Sensitive

_HOME = {
    "Adjacency": "lapwing.vocabulary.adjacency",
    "Boolean": "lapwing.queries.column",
    "Category": "lapwing.queries.column",
    "Column": "lapwing.queries.column",
    "Date": "lapwing.queries.column",
    "Integer": "lapwing.queries.column",
    "KeyType": "lapwing.queries.catalogue",
    "LapwingError": "lapwing.vocabulary.errors",
    "Population": "lapwing.queries.catalogue",
    "PrivacyUnit": "lapwing.vocabulary.privacy_unit",
    "Real": "lapwing.queries.column",
    "Rows": "lapwing.queries.catalogue",
    "Sensitive": "lapwing.vocabulary.sensitive",
    "Table": "lapwing.queries.catalogue",
    "Text": "lapwing.queries.column",
    "age": "lapwing.queries.written",
    "at_least": "lapwing.queries.asking",
    "bins": "lapwing.queries.asking",
    "by_year": "lapwing.queries.asking",
    "col": "lapwing.queries.written",
    "correlation": "lapwing.queries.asking",
    "count": "lapwing.queries.asking",
    "count_distinct": "lapwing.queries.asking",
    "count_rows": "lapwing.queries.asking",
    "covariance": "lapwing.queries.asking",
    "funnel": "lapwing.queries.asking",
    "has": "lapwing.queries.asking",
    "mean": "lapwing.queries.asking",
    "median": "lapwing.queries.asking",
    "quantiles": "lapwing.queries.asking",
    "top": "lapwing.queries.asking",
    "total": "lapwing.queries.asking",
    "variance": "lapwing.queries.asking",
}

__all__ = [
    "Adjacency",
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Integer",
    "KeyType",
    "LapwingError",
    "Population",
    "PrivacyUnit",
    "Real",
    "Rows",
    "Sensitive",
    "Table",
    "Text",
    "age",
    "at_least",
    "bins",
    "by_year",
    "col",
    "correlation",
    "count",
    "count_distinct",
    "count_rows",
    "covariance",
    "funnel",
    "has",
    "mean",
    "median",
    "quantiles",
    "top",
    "total",
    "variance",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lapwing' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

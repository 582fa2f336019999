"""lapwing answers questions about tables of people with differential privacy.

What is public is listed here and loaded on first use, so that `import lapwing` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
    from lapwing.mechanisms.exponential import ExponentialMechanism
    from lapwing.mechanisms.gaussian import GaussianMechanism
    from lapwing.mechanisms.geometric import GeometricMechanism
    from lapwing.mechanisms.histogram import gaussian_histogram, geometric_histogram
    from lapwing.mechanisms.laplace import LaplaceMechanism
    from lapwing.mechanisms.noisy_max import NoisyMaxWithGap
    from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
    from lapwing.mechanisms.randomized_response import RandomizedResponse
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
    "DiscreteGaussianMechanism": "lapwing.mechanisms.discrete_gaussian",
    "ExponentialMechanism": "lapwing.mechanisms.exponential",
    "GaussianMechanism": "lapwing.mechanisms.gaussian",
    "GeometricMechanism": "lapwing.mechanisms.geometric",
    "Integer": "lapwing.queries.column",
    "KeyType": "lapwing.queries.catalogue",
    "LaplaceMechanism": "lapwing.mechanisms.laplace",
    "LapwingError": "lapwing.vocabulary.errors",
    "NoisyMaxWithGap": "lapwing.mechanisms.noisy_max",
    "PermuteAndFlip": "lapwing.mechanisms.permute_and_flip",
    "Population": "lapwing.queries.catalogue",
    "PrivacyUnit": "lapwing.vocabulary.privacy_unit",
    "RandomizedResponse": "lapwing.mechanisms.randomized_response",
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
    "gaussian_histogram": "lapwing.mechanisms.histogram",
    "geometric_histogram": "lapwing.mechanisms.histogram",
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
    "DiscreteGaussianMechanism",
    "ExponentialMechanism",
    "GaussianMechanism",
    "GeometricMechanism",
    "Integer",
    "KeyType",
    "LaplaceMechanism",
    "LapwingError",
    "NoisyMaxWithGap",
    "PermuteAndFlip",
    "Population",
    "PrivacyUnit",
    "RandomizedResponse",
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
    "gaussian_histogram",
    "geometric_histogram",
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

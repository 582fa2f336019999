"""lapwing answers questions about tables of people with differential privacy.

What is public is listed here and loaded on first use, so that `import lapwing` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.accounting.composition import compose
    from lapwing.accounting.filters.charge import Reservation, SingleRelease
    from lapwing.accounting.filters.opening import open_account
    from lapwing.accounting.pricing import price
    from lapwing.answers.answer import Answer
    from lapwing.answers.preview import Preview
    from lapwing.answers.stream_preview import StreamPreview
    from lapwing.answers.verdicts import StreamAnswer, Verdict
    from lapwing.app.clinic.files import make_clinic
    from lapwing.auditor.black_box import audit
    from lapwing.auditor.finding import Finding
    from lapwing.mechanisms.above_threshold import AboveThreshold
    from lapwing.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
    from lapwing.mechanisms.exponential import ExponentialMechanism
    from lapwing.mechanisms.gaussian import GaussianMechanism
    from lapwing.mechanisms.geometric import GeometricMechanism
    from lapwing.mechanisms.histogram import gaussian_histogram, geometric_histogram
    from lapwing.mechanisms.histogram_selection import PrivateQuantiles, TopK
    from lapwing.mechanisms.laplace import LaplaceMechanism
    from lapwing.mechanisms.noisy_max import NoisyMaxWithGap
    from lapwing.mechanisms.partition_selection import PartitionSelection
    from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
    from lapwing.mechanisms.randomized_response import RandomizedResponse
    from lapwing.mechanisms.sparse_vector.adaptive import AdaptiveSparseVector
    from lapwing.mechanisms.sparse_vector.advice import advise
    from lapwing.mechanisms.sparse_vector.correlation import CorrelationScreen
    from lapwing.mechanisms.sparse_vector.gaussian import GaussianSparseVector
    from lapwing.mechanisms.sparse_vector.pure import SparseVector, SparseVectorNoise, YesReveals
    from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
    from lapwing.queries.catalogue import KeyType, Population, RowsPerPerson, Table
    from lapwing.queries.column import Boolean, Category, Column, Date, Integer, Real, Text
    from lapwing.queries.expressions import age, col
    from lapwing.queries.questions import bins, by_year, has
    from lapwing.queries.statistics.at_least import at_least
    from lapwing.queries.statistics.distinct import count_distinct
    from lapwing.queries.statistics.funnel import funnel
    from lapwing.queries.statistics.moments import correlation, covariance, mean, variance
    from lapwing.queries.statistics.people import count
    from lapwing.queries.statistics.quantiles import median, quantiles
    from lapwing.queries.statistics.rows import count_rows
    from lapwing.queries.statistics.top import top
    from lapwing.queries.statistics.total import total
    from lapwing.session import Session
    from lapwing.streams import QuestionStream
    from lapwing.vocabulary.adjacency import Adjacency
    from lapwing.vocabulary.errors import LapwingError
    from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, PureDP
    from lapwing.vocabulary.privacy_unit import PrivacyUnit
    from lapwing.vocabulary.sensitive import Sensitive
    from lapwing.workspace.front import create, open, workspace  # noqa: A004 - it is written lapwing.open

_HOME = {
    "AboveThreshold": "lapwing.mechanisms.above_threshold",
    "AdaptiveSparseVector": "lapwing.mechanisms.sparse_vector.adaptive",
    "Adjacency": "lapwing.vocabulary.adjacency",
    "Answer": "lapwing.answers.answer",
    "ApproximateDP": "lapwing.vocabulary.guarantee",
    "Boolean": "lapwing.queries.column",
    "Category": "lapwing.queries.column",
    "Column": "lapwing.queries.column",
    "ConcentratedDP": "lapwing.vocabulary.guarantee",
    "CorrelationScreen": "lapwing.mechanisms.sparse_vector.correlation",
    "Date": "lapwing.queries.column",
    "DiscreteGaussianMechanism": "lapwing.mechanisms.discrete_gaussian",
    "ExponentialMechanism": "lapwing.mechanisms.exponential",
    "Finding": "lapwing.auditor.finding",
    "GaussianDP": "lapwing.vocabulary.guarantee",
    "GaussianMechanism": "lapwing.mechanisms.gaussian",
    "GaussianSparseVector": "lapwing.mechanisms.sparse_vector.gaussian",
    "GeometricMechanism": "lapwing.mechanisms.geometric",
    "Integer": "lapwing.queries.column",
    "KeyType": "lapwing.queries.catalogue",
    "LaplaceMechanism": "lapwing.mechanisms.laplace",
    "LapwingError": "lapwing.vocabulary.errors",
    "ValueSensitivity": "lapwing.mechanisms.sparse_vector.value_sensitivity",
    "NoisyMaxWithGap": "lapwing.mechanisms.noisy_max",
    "SingleRelease": "lapwing.accounting.filters.charge",
    "PermuteAndFlip": "lapwing.mechanisms.permute_and_flip",
    "Population": "lapwing.queries.catalogue",
    "Preview": "lapwing.answers.preview",
    "PrivacyUnit": "lapwing.vocabulary.privacy_unit",
    "PureDP": "lapwing.vocabulary.guarantee",
    "PrivateQuantiles": "lapwing.mechanisms.histogram_selection",
    "QuestionStream": "lapwing.streams",
    "RandomizedResponse": "lapwing.mechanisms.randomized_response",
    "Real": "lapwing.queries.column",
    "Reservation": "lapwing.accounting.filters.charge",
    "RowsPerPerson": "lapwing.queries.catalogue",
    "Sensitive": "lapwing.vocabulary.sensitive",
    "Session": "lapwing.session",
    "SparseVector": "lapwing.mechanisms.sparse_vector.pure",
    "PartitionSelection": "lapwing.mechanisms.partition_selection",
    "StreamAnswer": "lapwing.answers.verdicts",
    "SparseVectorNoise": "lapwing.mechanisms.sparse_vector.pure",
    "StreamPreview": "lapwing.answers.stream_preview",
    "Table": "lapwing.queries.catalogue",
    "Text": "lapwing.queries.column",
    "TopK": "lapwing.mechanisms.histogram_selection",
    "Verdict": "lapwing.answers.verdicts",
    "YesReveals": "lapwing.mechanisms.sparse_vector.pure",
    "advise": "lapwing.mechanisms.sparse_vector.advice",
    "age": "lapwing.queries.expressions",
    "at_least": "lapwing.queries.statistics.at_least",
    "audit": "lapwing.auditor.black_box",
    "bins": "lapwing.queries.questions",
    "by_year": "lapwing.queries.questions",
    "col": "lapwing.queries.expressions",
    "compose": "lapwing.accounting.composition",
    "correlation": "lapwing.queries.statistics.moments",
    "count": "lapwing.queries.statistics.people",
    "count_distinct": "lapwing.queries.statistics.distinct",
    "count_rows": "lapwing.queries.statistics.rows",
    "covariance": "lapwing.queries.statistics.moments",
    "create": "lapwing.workspace.front",
    "funnel": "lapwing.queries.statistics.funnel",
    "gaussian_histogram": "lapwing.mechanisms.histogram",
    "geometric_histogram": "lapwing.mechanisms.histogram",
    "has": "lapwing.queries.questions",
    "make_clinic": "lapwing.app.clinic.files",
    "mean": "lapwing.queries.statistics.moments",
    "median": "lapwing.queries.statistics.quantiles",
    "open": "lapwing.workspace.front",
    "open_account": "lapwing.accounting.filters.opening",
    "price": "lapwing.accounting.pricing",
    "quantiles": "lapwing.queries.statistics.quantiles",
    "top": "lapwing.queries.statistics.top",
    "total": "lapwing.queries.statistics.total",
    "variance": "lapwing.queries.statistics.moments",
    "workspace": "lapwing.workspace.front",
}

__all__ = [
    "AboveThreshold",
    "AdaptiveSparseVector",
    "Adjacency",
    "Answer",
    "ApproximateDP",
    "Boolean",
    "Category",
    "Column",
    "ConcentratedDP",
    "CorrelationScreen",
    "Date",
    "DiscreteGaussianMechanism",
    "ExponentialMechanism",
    "Finding",
    "GaussianDP",
    "GaussianMechanism",
    "GaussianSparseVector",
    "GeometricMechanism",
    "Integer",
    "KeyType",
    "LaplaceMechanism",
    "LapwingError",
    "NoisyMaxWithGap",
    "PartitionSelection",
    "PermuteAndFlip",
    "Population",
    "Preview",
    "PrivacyUnit",
    "PrivateQuantiles",
    "PureDP",
    "QuestionStream",
    "RandomizedResponse",
    "Real",
    "Reservation",
    "RowsPerPerson",
    "Sensitive",
    "Session",
    "SingleRelease",
    "SparseVector",
    "SparseVectorNoise",
    "StreamAnswer",
    "StreamPreview",
    "Table",
    "Text",
    "TopK",
    "ValueSensitivity",
    "Verdict",
    "YesReveals",
    "advise",
    "age",
    "at_least",
    "audit",
    "bins",
    "by_year",
    "col",
    "compose",
    "correlation",
    "count",
    "count_distinct",
    "count_rows",
    "covariance",
    "create",
    "funnel",
    "gaussian_histogram",
    "geometric_histogram",
    "has",
    "make_clinic",
    "mean",
    "median",
    "open",
    "open_account",
    "price",
    "quantiles",
    "top",
    "total",
    "variance",
    "workspace",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("lapwing")
    if name not in _HOME:
        raise AttributeError(f"module 'lapwing' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

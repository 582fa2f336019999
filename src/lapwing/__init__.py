"""lapwing answers questions about tables of people with differential privacy.

What is public is listed here and loaded on first use, so that `import lapwing` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.mechanisms.above_threshold import AboveThreshold
    from lapwing.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
    from lapwing.mechanisms.exponential import ExponentialMechanism
    from lapwing.mechanisms.gaussian import GaussianMechanism
    from lapwing.mechanisms.geometric import GeometricMechanism
    from lapwing.mechanisms.histogram import gaussian_histogram, geometric_histogram
    from lapwing.mechanisms.laplace import LaplaceMechanism
    from lapwing.mechanisms.noisy_max import NoisyMaxWithGap
    from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
    from lapwing.mechanisms.randomized_response import RandomizedResponse
    from lapwing.mechanisms.sparse_vector.adaptive import AdaptiveSparse
    from lapwing.mechanisms.sparse_vector.advice import advise
    from lapwing.mechanisms.sparse_vector.correlation import CorrelationScreen
    from lapwing.mechanisms.sparse_vector.gaussian import GaussianSparse
    from lapwing.mechanisms.sparse_vector.movement import Movement
    from lapwing.mechanisms.sparse_vector.pure import SparseVector, StreamNoise, YesTells
    from lapwing.vocabulary.adjacency import Adjacency
    from lapwing.vocabulary.errors import LapwingError
    from lapwing.vocabulary.privacy_unit import PrivacyUnit
    from lapwing.vocabulary.sensitive import Sensitive

_HOME = {
    "AboveThreshold": "lapwing.mechanisms.above_threshold",
    "AdaptiveSparse": "lapwing.mechanisms.sparse_vector.adaptive",
    "Adjacency": "lapwing.vocabulary.adjacency",
    "CorrelationScreen": "lapwing.mechanisms.sparse_vector.correlation",
    "DiscreteGaussianMechanism": "lapwing.mechanisms.discrete_gaussian",
    "ExponentialMechanism": "lapwing.mechanisms.exponential",
    "GaussianMechanism": "lapwing.mechanisms.gaussian",
    "GaussianSparse": "lapwing.mechanisms.sparse_vector.gaussian",
    "GeometricMechanism": "lapwing.mechanisms.geometric",
    "LaplaceMechanism": "lapwing.mechanisms.laplace",
    "LapwingError": "lapwing.vocabulary.errors",
    "Movement": "lapwing.mechanisms.sparse_vector.movement",
    "NoisyMaxWithGap": "lapwing.mechanisms.noisy_max",
    "PermuteAndFlip": "lapwing.mechanisms.permute_and_flip",
    "PrivacyUnit": "lapwing.vocabulary.privacy_unit",
    "RandomizedResponse": "lapwing.mechanisms.randomized_response",
    "Sensitive": "lapwing.vocabulary.sensitive",
    "SparseVector": "lapwing.mechanisms.sparse_vector.pure",
    "StreamNoise": "lapwing.mechanisms.sparse_vector.pure",
    "YesTells": "lapwing.mechanisms.sparse_vector.pure",
    "advise": "lapwing.mechanisms.sparse_vector.advice",
    "gaussian_histogram": "lapwing.mechanisms.histogram",
    "geometric_histogram": "lapwing.mechanisms.histogram",
}

__all__ = [
    "AboveThreshold",
    "AdaptiveSparse",
    "Adjacency",
    "CorrelationScreen",
    "DiscreteGaussianMechanism",
    "ExponentialMechanism",
    "GaussianMechanism",
    "GaussianSparse",
    "GeometricMechanism",
    "LaplaceMechanism",
    "LapwingError",
    "Movement",
    "NoisyMaxWithGap",
    "PermuteAndFlip",
    "PrivacyUnit",
    "RandomizedResponse",
    "Sensitive",
    "SparseVector",
    "StreamNoise",
    "YesTells",
    "advise",
    "gaussian_histogram",
    "geometric_histogram",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lapwing' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

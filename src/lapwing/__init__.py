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
    from lapwing.vocabulary.adjacency import Adjacency
    from lapwing.vocabulary.errors import LapwingError
    from lapwing.vocabulary.privacy_unit import PrivacyUnit
    from lapwing.vocabulary.sensitive import Sensitive

_HOME = {
    "Adjacency": "lapwing.vocabulary.adjacency",
    "DiscreteGaussianMechanism": "lapwing.mechanisms.discrete_gaussian",
    "ExponentialMechanism": "lapwing.mechanisms.exponential",
    "GaussianMechanism": "lapwing.mechanisms.gaussian",
    "GeometricMechanism": "lapwing.mechanisms.geometric",
    "LaplaceMechanism": "lapwing.mechanisms.laplace",
    "LapwingError": "lapwing.vocabulary.errors",
    "NoisyMaxWithGap": "lapwing.mechanisms.noisy_max",
    "PermuteAndFlip": "lapwing.mechanisms.permute_and_flip",
    "PrivacyUnit": "lapwing.vocabulary.privacy_unit",
    "RandomizedResponse": "lapwing.mechanisms.randomized_response",
    "Sensitive": "lapwing.vocabulary.sensitive",
    "gaussian_histogram": "lapwing.mechanisms.histogram",
    "geometric_histogram": "lapwing.mechanisms.histogram",
}

__all__ = [
    "Adjacency",
    "DiscreteGaussianMechanism",
    "ExponentialMechanism",
    "GaussianMechanism",
    "GeometricMechanism",
    "LaplaceMechanism",
    "LapwingError",
    "NoisyMaxWithGap",
    "PermuteAndFlip",
    "PrivacyUnit",
    "RandomizedResponse",
    "Sensitive",
    "gaussian_histogram",
    "geometric_histogram",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lapwing' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

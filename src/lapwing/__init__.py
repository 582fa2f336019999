"""lapwing answers questions about tables of people with differential privacy.

What is public is listed here and loaded on first use, so that `import lapwing` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.vocabulary.adjacency import Adjacency
    from lapwing.vocabulary.errors import LapwingError
    from lapwing.vocabulary.privacy_unit import PrivacyUnit
    from lapwing.vocabulary.sensitive import Sensitive

_HOME = {
    "Adjacency": "lapwing.vocabulary.adjacency",
    "LapwingError": "lapwing.vocabulary.errors",
    "PrivacyUnit": "lapwing.vocabulary.privacy_unit",
    "Sensitive": "lapwing.vocabulary.sensitive",
}

__all__ = ["Adjacency", "LapwingError", "PrivacyUnit", "Sensitive"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lapwing' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

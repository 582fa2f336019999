"""What is computed from an answer: free, as private as the answer was, and honest about what is left of its bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lapwing.answers.releases import BoundedValue
from lapwing.vocabulary.errors import BadQuestionError


@dataclass(frozen=True, slots=True)
class Change:
    """A function that was applied to every value; a rising one may be applied to bounds as well."""

    function: Callable[[Any], Any]
    rising: bool

    def of(self, cell: BoundedValue) -> BoundedValue:
        """Return the cell after the change."""
        value = self.function(cell.value)
        if not self.rising or cell.low is None or cell.high is None:
            return BoundedValue(key=cell.key, value=value, low=None, high=None)
        low, high = self.function(cell.low), self.function(cell.high)
        if not low <= value <= high:
            raise BadQuestionError(f"this function falls between {cell.low} and {cell.high}; use map, without bounds")
        return BoundedValue(key=cell.key, value=value, low=low, high=high)

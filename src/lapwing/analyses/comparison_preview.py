"""A comparison before it is paid for: its price, and how likely an assumed difference would be seen."""

from collections.abc import Mapping, Sequence
from typing import Any

from lapwing.answers.preview import Preview
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Result
from lapwing.vocabulary.wording import format_short

_MEANT = 0.8


@frozen(repr=False)
class ComparisonPreview(Result):
    """What a comparison would cost, and its power: how likely it would find a difference that is `assumed`."""

    preview: Preview
    method: str
    power: float | None
    assumed: Mapping[str, Sequence[float]]

    @property
    def price(self) -> Any:
        """What it would cost."""
        return self.preview.price

    @property
    def affordable(self) -> bool:
        """Whether it would be admitted now."""
        return self.preview.affordable

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        assumed = {name: list(two) for name, two in self.assumed.items()}
        return {"method": self.method, "power": self.power, "assumed": assumed, "preview": self.preview.to_dict()}

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        told = None
        if self.power is not None:
            words = ", ".join(
                f"{name} {' and '.join(format_short(one) for one in two)}" for name, two in self.assumed.items()
            )
            few = "; most people want 80 %: offer more, or ask about more people" if self.power < _MEANT else ""
            told = f"{self.power:.0%} to see it at 5 %, if {words}{few}"
        return [("power", told), *self.preview.facts()]

    def __str__(self) -> str:
        return "; ".join(f"{label}: {text}" for label, text in self.facts() if text is not None)

    def __repr__(self) -> str:
        return f"<preview of a comparison: {self.price}{'' if self.power is None else f', power {self.power:.0%}'}>"

"""What a custodian's own function is estimated to be, and what an estimate would cost: as they are shown."""

from typing import Any

from lapwing.answers.preview import Forecast
from lapwing.answers.releases import Price
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Result
from lapwing.vocabulary.wording import format_exact, format_short, percent


def told_reach(aggregate: str, chunks: int, reach: float, width: float, confidence: Any) -> str | None:
    """Return in words how far the noise reaches; None where only the data know."""
    sure = f"with {percent(confidence)} confidence"
    match aggregate:
        case "mean":
            return f"off by at most {format_short(float(f'{reach * width:.3g}'))} from the mean of the chunks, {sure}"
        case "median":
            least = max(0, int((chunks - reach) / 2))
            if least == 0:
                return "nothing: at this price any number could come out; offer more, or take more chunks"
            return f"at least {least} of the numbers of {chunks} chunks lie on each side of it, {sure}"
        case _:
            return None


@frozen(repr=False)
class EstimatePreview(Forecast):
    """An estimate before it is paid for: its price, and what its noise does. Its function was tried on made-up rows."""

    function: str
    chunks: int
    aggregate: str
    price: Price
    width: float
    reach: float

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        refusal = self.refusal
        return {
            "function": self.function,
            "chunks": self.chunks,
            "aggregate": self.aggregate,
            "noise": told_reach(self.aggregate, self.chunks, self.reach, self.width, self.confidence),
            "price": self.price.to_dict(),
            "confidence": format_exact(self.confidence),
            "affordable": self.affordable,
            "left": self.before.to_dict(),
            "refusal": None if refusal is None else refusal.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        refusal = self.refusal
        return [
            ("estimate", f"{self.aggregate} of {self.function} on {self.chunks:,} chunks of people"),
            ("noise", told_reach(self.aggregate, self.chunks, self.reach, self.width, self.confidence)),
            ("mind", "a chunk has a small part of the people: what the function is of few, the estimate is of all"),
            ("cost", str(self.price)),
            ("left then", str(self.after) if refusal is None else f"it would be refused now: {refusal}"),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]

    def __repr__(self) -> str:
        can = "affordable" if self.affordable else "refused now"
        return f"<preview of {self.aggregate} of {self.function}: {self.price}, {can}>"


@frozen(repr=False)
class EstimatedValue(Result):
    """The median or the mean of what a function gives on chunks of the people, with noise.

    What is said of its noise is about the numbers of these chunks. How far those are from what the function would be on
    all the people is a matter of the function, of which nothing is known here.
    """

    function: str
    value: float
    chunks: int
    aggregate: str
    width: float
    reach: float
    confidence: Any
    price: Price
    name: str

    @property
    def noise(self) -> str | None:
        """How far the noise reaches, in words; None where only the data know."""
        return told_reach(self.aggregate, self.chunks, self.reach, self.width, self.confidence)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "function": self.function,
            "value": self.value,
            "chunks": self.chunks,
            "aggregate": self.aggregate,
            "noise": self.noise,
            "confidence": format_exact(self.confidence),
            "price": self.price.to_dict(),
            "name": self.name,
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        return [
            (self.function, format_short(float(f"{self.value:.6g}"))),
            ("of", f"{self.chunks:,} chunks of people, the {self.aggregate}"),
            ("noise", self.noise),
            ("cost", str(self.price)),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{label}: {told}" for label, told in self.facts() if told is not None)

    def __repr__(self) -> str:
        return f"<{self.function} is about {self.value:.4g}, by {self.chunks:,} chunks: {self.price}>"

"""A synthetic table before it is paid for: its price, and what is known of it without looking at data."""

import math
from fractions import Fraction
from typing import Any, Final

from lapwing.answers.preview import Forecast
from lapwing.answers.releases import Price
from lapwing.publishing.stages import MOST_STAGES, PurePlan
from lapwing.publishing.synthesis import SynthesisOffer
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import format_exact, format_short, percent, several

_TRIPLE: Final = 3
PURE: Final = (
    "epsilon alone pays for geometric noise on pairs at most: about twice the error of an epsilon with a delta"
)


@frozen(repr=False)
class SynthesisPreview(Forecast):
    """A synthetic table before it is paid for: its price, its columns, and how exact the pairs that it measures are."""

    offer: SynthesisOffer
    price: Price

    @property
    def margin(self) -> float:
        """How far off all cells of pairs are at most that the stage of pairs measures, with the confidence.

        It is of what is measured, before the model. Which pairs these are is chosen on the way.
        """
        return self.offer.plan.margin(self.confidence)

    @property
    def is_pure(self) -> bool:
        """Whether it is paid in epsilon alone."""
        return isinstance(self.offer.plan, PurePlan)

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        plan, refusal = self.offer.plan, self.refusal
        return {
            "table": self.offer.table,
            "columns": [{"name": one.name, "codes": len(one.coded)} for one in self.offer.columns],
            "price": self.price.to_dict(),
            "up_to": plan.degree,
            "tables": len(plan.workload),
            "pairs": len(plan.pairs),
            "stages": MOST_STAGES,
            "pure": self.is_pure,
            "confidence": format_exact(self.confidence),
            "margin": self.margin,
            "affordable": self.affordable,
            "left": self.before.to_dict(),
            "refusal": None if refusal is None else refusal.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        plan, refusal = self.offer.plan, self.refusal
        looked_at = [several(len(plan.pairs), "pair")] if plan.pairs else []
        if plan.degree >= _TRIPLE:
            looked_at.append(several(sum(len(axes) == _TRIPLE for axes in plan.workload), "triple"))
        margin = format_short(math.ceil(self.margin))
        what = "pairs" if plan.pairs else "columns"
        return [
            ("synthesized", f"{several(len(self.offer.columns), 'column')} of {self.offer.table}"),
            ("looked at", " and ".join(looked_at) or None),
            ("cost", str(self.price)),
            (
                "error",
                f"all cells of measured {what} within {margin} with {percent(Fraction(self.confidence))} confidence",
            ),
            ("pure", PURE if self.is_pure else None),
            ("left then", str(self.after) if refusal is None else f"it would be refused now: {refusal}"),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]

    def __repr__(self) -> str:
        can = "affordable" if self.affordable else "refused now"
        return f"<preview of a synthetic table of {self.offer.table}: {self.price}, {can}>"

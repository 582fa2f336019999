"""A publication before it is paid for: its price, and how exact every table would be."""

import math
from math import sqrt
from typing import Any

from lapwing.answers.preview import Forecast
from lapwing.answers.releases import Price
from lapwing.publishing.noise_for_target import margin_of_all
from lapwing.publishing.publication import PublicationOffer
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import format_exact, format_short, percent, several


@frozen(repr=False)
class PublicationPreview(Forecast):
    """A publication before it is paid for: its price, how exact each table would be, and what would be left."""

    offer: PublicationOffer
    price: Price

    @property
    def sd(self) -> dict[tuple[str, ...], float]:
        """The standard deviation of a cell of every wanted table, by the names of its columns."""
        measured = self.offer.measurement
        return {self.offer.names(axes): sqrt(measured.variance(axes, (1,) * len(axes))) for axes in self.offer.wanted}

    @property
    def margin(self) -> float:
        """How far off all cells of all wanted tables are at most, together, with the confidence."""
        return margin_of_all(self.offer.measurement, self.offer.wanted, self.confidence)

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        refusal = self.refusal
        return {
            "table": self.offer.table,
            "price": self.price.to_dict(),
            "sets": [{"columns": list(names), "sd": sd} for names, sd in self.sd.items()],
            "cells": self.offer.cells,
            "numbers": self.offer.measurement.numbers,
            "tables_counted": len(self.offer.measurement.counted),
            "confidence": format_exact(self.confidence),
            "margin": self.margin,
            "affordable": self.affordable,
            "left": self.before.to_dict(),
            "refusal": None if refusal is None else refusal.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        deviations, refusal = sorted(self.sd.values()), self.refusal
        middle, worst = (format_short(round(deviations[place], 1)) for place in (len(deviations) // 2, -1))
        together = f"all {self.offer.cells:,} cells within {format_short(math.ceil(self.margin))}"
        return [
            ("published", f"{several(len(deviations), 'table')} of {self.offer.table}"),
            ("cost", str(self.price)),
            ("error", f"standard deviation of a cell {middle} in the middle table, {worst} in the worst"),
            ("together", f"{together} with {percent(self.confidence)} confidence"),
            ("left then", str(self.after) if refusal is None else f"it would be refused now: {refusal}"),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]

    def __repr__(self) -> str:
        can = "affordable" if self.affordable else "refused now"
        return f"<preview of {several(len(self.offer.wanted), 'table')} of {self.offer.table}: {self.price}, {can}>"

"""What is read from Bernstein sums by whether a value is there: its moments, and the number of all rows.

Rows without the value are put at its lowest, in a part of their own. There the first sum is a constant times their
number and the others are 0, so that one number counts them.

Proof: proofs/shared_releases.md
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lapwing.queries.aggregate import BoundedRowsPerPerson
from lapwing.queries.plan import BoundedValue, CellKey, Estimate, Noise, Number, Plan
from lapwing.queries.readings import Form, Reading, RowsOfSums
from lapwing.vocabulary.exact import Exact


@dataclass(frozen=True, slots=True)
class RowsOfAll(RowsOfSums):
    """The number of rows of two parts, of which the second has the lowest value in all rows: the first sum counts them.

    The part is the last key of the release.
    """

    @property
    def counts_rows(self) -> bool:
        """Whether it tells over how many rows others are computed: those are the rows of the first part."""
        return False

    def forms(self, plan: Plan) -> Mapping[CellKey, Form]:
        """Return the sum of all numbers of the first part and of the first number of the second, in rows."""
        weight, terms = Fraction(1, plan.bounded_by(BoundedRowsPerPerson).most), plan.aggregate.terms
        found: dict[CellKey, dict[int, Fraction]] = {}
        for place, (*group, part) in enumerate(plan.aggregate.cells or ()):
            known = found.setdefault(tuple(group), {})
            known |= {place * terms + i: weight for i in range(terms if part == 1 else 1)}
        return found


@dataclass(frozen=True, slots=True)
class PartOfSums(Reading):
    """What `reading` reads from the sums of one `part`; `own` is the plan of these sums alone."""

    part: int
    own: Plan
    reading: Reading

    @property
    def counts_rows(self) -> bool:
        """Whether it tells over how many rows others are computed."""
        return self.reading.counts_rows

    @property
    def part_of_rows(self) -> int:
        """Its part."""
        return self.part

    def refusal_of_margin(self, plan: Plan) -> str:
        """Say why no margin can be promised beforehand, where none can."""
        del plan
        return self.reading.refusal_of_margin(self.own)

    def _places(self, plan: Plan) -> list[int]:
        terms, cells = plan.aggregate.terms, plan.aggregate.cells or ()
        return [i * terms + j for i, cell in enumerate(cells) if cell[-1] == self.part for j in range(terms)]

    def estimates(self, plan: Plan, released: Sequence[int]) -> dict[CellKey, Estimate]:
        """Return what is told of the part."""
        return self.reading.estimates(self.own, [released[place] for place in self._places(plan)])

    def values(self, plan: Plan, released: Sequence[int], noise: Noise, confidence: Exact) -> list[BoundedValue]:
        """Return what is told of the part, with its bounds."""
        return self.reading.values(self.own, [released[place] for place in self._places(plan)], noise, confidence)

    def margin(self, plan: Plan, noise: Noise, confidence: Exact) -> Number | None:
        """Return how far off it is at most."""
        del plan
        return self.reading.margin(self.own, noise, confidence)

    def error_if(self, plan: Plan, noise: Noise, confidence: Exact, rows: int) -> Number | None:
        """Return about how far off it is if this number of rows counts."""
        del plan
        return self.reading.error_if(self.own, noise, confidence, rows)

    def forms(self, plan: Plan) -> Mapping[CellKey, Form] | None:
        """Return the weighted sum that it is in each group, where it is one."""
        forms, places = self.reading.forms(self.own), self._places(plan)
        if forms is None:
            return None
        return {key: {places[place]: weight for place, weight in form.items()} for key, form in forms.items()}

"""Columns of an answer that are read from a release which others are read from too."""

from collections.abc import Mapping
from dataclasses import dataclass

from lapwing.answers.releases import NoisyNumbers, Numbers, Release
from lapwing.answers.target import Target, release_of
from lapwing.queries.catalogue import Population
from lapwing.queries.plan import BoundedValue, Noise, Number, Plan
from lapwing.queries.planning import Question
from lapwing.queries.readings import AllReadings, PartAlone, Reading, RowsOfSums
from lapwing.queries.sharing import share
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.guarantee import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadColumn(Release):
    """A column that is read from a `shared` release; `plan` is what it would ask by itself."""

    mechanism: Noise
    shared: NoisyNumbers
    reading: Reading

    @property
    def source(self) -> Release:
        """What is released."""
        return self.shared

    @property
    def over(self) -> object:
        """What tells the rows that it is computed over from those of others: parts have rows of their own."""
        return id(self.shared), self.reading.part if isinstance(self.reading, PartAlone) else None

    @property
    def counts_rows(self) -> bool:
        """Whether it tells over how many rows the others are computed."""
        return isinstance(self.reading, RowsOfSums)

    @property
    def event(self) -> Event:
        """What will happen, once for all columns that are read from it."""
        return self.shared.event

    def release(self, exact: object) -> Numbers:
        """Refuse: it is the source that is released."""
        raise TypeError(exact)

    def margin(self, confidence: Exact) -> Number | None:
        """Return how far off all numbers are at most, all at once."""
        return self.reading.margin(self.shared.plan, self.mechanism, confidence)

    def error_if(self, rows: int, confidence: Exact) -> Number | None:
        """Return about how far off it would be if this number of rows counted, where that decides; otherwise None."""
        return self.reading.error_if(self.shared.plan, self.mechanism, confidence, rows)

    def values(self, numbers: Numbers, confidence: Exact) -> list[BoundedValue]:
        """Return what is read in each group."""
        return self.reading.values(self.shared.plan, numbers, self.mechanism, confidence)


def release_together(
    questions: Mapping[str, Question],
    plans: Mapping[str, Plan],
    population: Population,
    target: Target,
    budget: Guarantee,
) -> dict[str, Release]:
    """Return how what is asked together is released: each release gets an equal share of the price.

    Proof: proofs/shared_releases.md
    """
    shared = share(questions, plans, population)
    owner = {name: one for one in shared for name in one.readings}
    part = target.shared(len(shared) + len(plans) - len(owner))
    sources = [release_of(one.plan, part, budget, AllReadings(list(one.readings.values()))) for one in shared]
    releases = dict[str, Release]()
    for name, planned in plans.items():
        if name not in owner:
            releases[name] = release_of(planned, part, budget)
            continue
        source = next(source for source, one in zip(sources, shared, strict=True) if one is owner[name])
        if not isinstance(source, NoisyNumbers):
            raise TypeError(source)
        reading = owner[name].readings[name]
        releases[name] = ReadColumn(plan=planned, mechanism=source.mechanism, shared=source, reading=reading)
    return releases

"""K-means from noisy sums: in each round, the number of people nearest to each centre, and the sums of their columns.

Centres are public: the first ones are fixed, and each round computes the next ones from what was released. A person is
nearest to one centre, so that all sums of a round are one release (Blum, Dwork, McSherry, Nissim, *Practical privacy:
the SuLQ framework*, 2005).

Proof: proofs/procedures.md
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Unpack

from lapwing.answers.frames import FrameColumn, TableResult
from lapwing.answers.releases import Price
from lapwing.answers.target import TargetWords
from lapwing.procedures.noisy_rounds import (
    NoisyRounds,
    ProcedurePreview,
    ProcedureReceipt,
    noise_of_rounds,
    preview_rounds,
    run_rounds,
)
from lapwing.procedures.scaled_columns import STEPS, ScaledColumn, plan_sums, read_scaled
from lapwing.queries.algebra.aggregate import tables_of
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import ConditionLike, as_condition
from lapwing.queries.language.expressions import EVERYONE, Condition, Value, col
from lapwing.queries.planning.plan import Plan
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import html_table, shows_words

if TYPE_CHECKING:
    from lapwing.session import Session

Centres: TypeAlias = tuple[tuple[int, ...], ...]

MOST_CLUSTERS: Final = 12
_PRIMES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)
_FEW: Final = 4
"""A centre stays where it is unless so many noise scales of people are near it."""


@frozen(repr=False)
class Clusters(TableResult):
    """Centres of clusters, and about how many people were nearest to each in the last round."""

    columns: tuple[ScaledColumn, ...]
    centres: tuple[tuple[float, ...], ...]
    people: tuple[float, ...]
    receipt: ProcedureReceipt

    @property
    def price(self) -> Price:
        """What all rounds together cost."""
        return self.receipt.price

    def nearest(self, *values: float) -> int:
        """Return which centre is nearest to the values of one person, each in units of its declared range."""
        widths = [float(one.width) for one in self.columns]
        far = [
            sum(((value - end) / width) ** 2 for value, end, width in zip(values, centre, widths, strict=True))
            for centre in self.centres
        ]
        return far.index(min(far))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        names = [one.name for one in self.columns]
        return {
            "centres": [dict(zip(names, centre, strict=True)) for centre in self.centres],
            "people": list(self.people),
            **self.receipt.to_dict(),
        }

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:  # noqa: ARG002 - centres have no bounds
        """Return a row for each centre: about how many people are nearest to it, and where it is."""
        ends = zip(self.columns, zip(*self.centres, strict=True), strict=True)
        return [
            FrameColumn.of("people", self.people, float),
            *(FrameColumn.of(one.name, values, float) for one, values in ends),
        ]

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        named = [
            ", ".join(f"{one.name} {end:.4g}" for one, end in zip(self.columns, centre, strict=True))
            for centre in self.centres
        ]
        lines = [(f"about {max(0, round(many)):,} people", near) for many, near in zip(self.people, named, strict=True)]
        return [*lines, *self.receipt.facts()[:2]]

    def _repr_html_(self) -> str:
        names = [one.name for one in self.columns]
        rows = [
            [f"{max(0, round(many)):,}", *(f"{end:.4g}" for end in centre)]
            for many, centre in zip(self.people, self.centres, strict=True)
        ]
        return html_table(["people", *names], rows, str(self.receipt.price))

    def __repr__(self) -> str:
        return f"<{len(self.centres)} clusters by {', '.join(one.name for one in self.columns)}: {self.receipt.price}>"


@shows_words(TargetWords, confidence="0.95")
def preview_k_means(
    session: "Session",
    table: str,
    columns: Sequence[str],
    clusters: int,
    *,
    rounds: int = 5,
    where: ConditionLike = None,
    **target: Unpack[TargetWords],
) -> ProcedurePreview:
    """Say what k-means would cost, how exact its numbers would be, and what would be left. It is free."""
    offer, _ = _offered(session, table, columns, clusters=clusters, rounds=rounds, where=where, target=target)
    return preview_rounds(session, offer, **target)


@shows_words(TargetWords, confidence="0.95")
def k_means(
    session: "Session",
    table: str,
    columns: Sequence[str],
    clusters: int,
    *,
    rounds: int = 5,
    where: ConditionLike = None,
    key: str | None = None,
    **target: Unpack[TargetWords],
) -> Clusters:
    """Find clusters of people by columns of numbers, and pay for all rounds at once.

    Distances are in units of the declared ranges. People who have no value in one of the columns are left out.

    Parameters
    ----------
    table : one with one row a person
    columns : columns of numbers with declared bounds
    clusters : how many
    rounds : how often the centres are moved; each has an equal share of the price
    where : which people, as SQL text or built with `col`
    key : the idempotency key
    target : `epsilon=`
    """
    offer, scaled = _offered(session, table, columns, clusters=clusters, rounds=rounds, where=where, target=target)
    scale = float(offer.noise[0].event.scale)

    def begin(released: list[Any]) -> tuple[object, Sequence[Plan]]:
        centres = first_centres(scaled, as_int("clusters", clusters))
        for numbers in released:
            centres = moved(centres, numbers, scaled, scale)
        with deadline():
            cells = cells_of(centres, scaled, as_condition(where))
            plans = [plan_sums(offer.table, scaled, session.population, cell) for cell in cells]
        return {"centres": [list(one) for one in centres]}, plans

    receipt = run_rounds(session, offer, begin, key)
    centres = first_centres(scaled, as_int("clusters", clusters))
    for numbers in receipt.rounds:
        centres = moved(centres, numbers, scaled, scale)
    return Clusters(
        columns=scaled,
        centres=tuple(
            tuple(float(one.value(Fraction(place))) for one, place in zip(scaled, centre, strict=True))
            for centre in centres
        ),
        people=tuple(numbers[0] / STEPS for numbers in receipt.rounds[-1]),
        receipt=receipt,
    )


def _offered(
    session: "Session",
    table: str,
    columns: Sequence[str],
    *,
    clusters: int,
    rounds: int,
    where: ConditionLike,
    target: TargetWords,
) -> tuple[NoisyRounds, tuple[ScaledColumn, ...]]:
    """Read what is asked for, and choose the noise; refuse before anything is charged."""
    number, times = as_int("clusters", clusters, least=2, most=MOST_CLUSTERS), as_int("rounds", rounds, most=50)
    with deadline():
        scaled = read_scaled(table, columns, session.population)
        known = session.population.table(table).name
        everybody = plan_sums(known, scaled, session.population, where)
        _check_cells(known, scaled, session.population, number, as_condition(where))
    noise = noise_of_rounds([everybody.sensitivity.l1] * times, target)
    terms = {
        "procedure": "k-means",
        "columns": [one.name for one in scaled],
        "clusters": number,
        "plan": digest(everybody.canonical),
    }
    offer = NoisyRounds(
        asks=f"{number} clusters",
        table=known,
        reads=tuple(sorted(tables_of(everybody.aggregate))),
        terms=terms,
        noise=noise,
        unit=STEPS,
    )
    return offer, scaled


def _check_cells(
    table: str, columns: Sequence[ScaledColumn], population: Population, clusters: int, where: Condition
) -> None:
    """Refuse what some round could not compute: of centres in opposite corners, no two alike in any column.

    The furthest apart make the largest forms, and where all differ in every column there are the most parts.
    """
    ends = [(place // 2, place % 2) for place in range(clusters)]
    far = tuple(tuple(one.extent - step if high else step for one in columns) for step, high in ends)
    try:
        for centres in (far, first_centres(columns, clusters)):
            for cell in cells_of(centres, columns, where):
                plan_sums(table, columns, population, cell)
    except BadQuestionError as refused:
        raise BadQuestionError(
            f"{clusters} clusters by {len(columns)} columns are too much for one round; take fewer of either: {refused}"
        ) from None


def first_centres(columns: Sequence[ScaledColumn], clusters: int) -> Centres:
    """Return the centres with which every k-means begins: spread evenly, by what is declared alone."""

    def spread(number: int, base: int) -> Fraction:
        place, unit = Fraction(0), Fraction(1)
        while number:
            number, digit = divmod(number, base)
            unit /= base
            place += digit * unit
        return place

    return tuple(
        tuple(int(one.extent * spread(number, base)) for one, base in zip(columns, _PRIMES, strict=False))
        for number in range(1, clusters + 1)
    )


def moved(centres: Centres, numbers: Sequence[Sequence[int]], columns: Sequence[ScaledColumn], scale: float) -> Centres:
    """Return the centres of what was released: noisy sums over noisy counts, or where they were where few are near."""
    after = []
    for centre, (people, *sums) in zip(centres, numbers, strict=True):
        if people < _FEW * scale:
            after.append(centre)
            continue
        means = [Fraction(total * STEPS, people) for total in sums]
        after.append(tuple(min(max(round(mean), 0), one.extent) for mean, one in zip(means, columns, strict=True)))
    return tuple(after)


def cells_of(centres: Centres, columns: Sequence[ScaledColumn], where: Condition) -> list[Condition]:
    """Return which people are nearest to each centre; of two that are as near, to the first.

    For two centres one linear form says which is nearer. The one has the people for whom it is at most a number, the
    other those for whom it is above: nobody is in two cells.
    """
    cells = []
    for place, _ in enumerate(centres):
        condition = where
        for other, _ in enumerate(centres):
            if other == place:
                continue
            first, second = min(place, other), max(place, other)
            form, most = _nearer(centres[first], centres[second], columns)
            if form is None:  # the same place twice: the first has everybody
                if place == second:
                    condition = _both(condition, (col(columns[0].name) <= 0) & (col(columns[0].name) > 0))
            else:
                condition = _both(condition, form <= most if place == first else form > most)
        cells.append(condition)
    return cells


def _both(one: Condition, other: Condition) -> Condition:
    return other if one is EVERYONE else one & other


def _nearer(one: Sequence[int], other: Sequence[int], columns: Sequence[ScaledColumn]) -> tuple[Value | None, int]:
    """Return a form of the columns that is at most a number for those who are at least as near to the one centre.

    |u - a|² <= |u - b|² says that 2 (b - a)·u <= |b|² - |a|², where u = (x - low)/width for each column.
    """
    weights = [2 * (b - a) / column.width for a, b, column in zip(one, other, columns, strict=True)]
    bound = sum(b * b - a * a for a, b in zip(one, other, strict=True)) + sum(
        weight * column.low for weight, column in zip(weights, columns, strict=True)
    )
    whole = lcm(*(weight.denominator for weight in weights), Fraction(bound).denominator)
    form: Value | None = None
    for weight, column in zip(weights, columns, strict=True):
        if weight:
            part = int(weight * whole) * col(column.name)
            form = part if form is None else form + part
    return form, int(bound * whole)

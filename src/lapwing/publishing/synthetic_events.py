"""Rows of made-up people, where a person has several: so many for each as a column of theirs says, drawn by stratum.

The rows of a table with many a person were published by strata of how many a person has, and the made-up people have
that number as a column. Each then gets so many rows, drawn from the model of their stratum, given the columns that both
have. It reads released numbers and public draws only, and costs nothing.

Nobody has more rows than the last stratum allows. Two rows of one person have nothing in common but what follows from
the columns that both tables have: how rows repeat or follow each other was not measured.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.answers.frames import FrameColumn, TableResult
from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.codes import CodedColumn
from lapwing.publishing.measurements import Table
from lapwing.publishing.model_fitting import fit_model
from lapwing.publishing.public_draws import PublicDraws
from lapwing.publishing.publication import Publication
from lapwing.publishing.residual_pool import ResidualPool
from lapwing.publishing.row_strata import RowStrata
from lapwing.publishing.synthesis import SynthesisOffer, SyntheticColumn, shown_columns
from lapwing.publishing.weighted_rows import Codes, picked_by_line, places_in
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, check_most
from lapwing.vocabulary.frozen import frozen

INDEPENDENT: Final = (
    "two rows of one made-up person have nothing in common but the columns of the person: how rows repeat or follow "
    "each other was not measured"
)
_MOST_CELLS: Final = 1 << 22


@frozen(repr=False, eq=False)
class SyntheticEvents(TableResult):
    """Rows of made-up people: `person` is the place of theirs among these, from 0, and `codes` the rest."""

    table: str
    columns: tuple[SyntheticColumn, ...]
    person: NDArray[np.int64]
    codes: Codes

    def __len__(self) -> int:
        return len(self.person)

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:
        """Return the columns of the rows: whose each is, and declared values, or the ends of each bin."""
        del confidence
        found = [FrameColumn("person", self.person.tolist(), int)]
        for one, codes in zip(self.columns, self.codes, strict=True):
            found += [FrameColumn(part.name, [part.values[code] for code in codes], part.kind) for part in one.shown]
        return found

    def notes(self) -> dict[str, Any]:
        """Return what travels with the rows."""
        return {"synthetic": INDEPENDENT, "table": self.table}

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values: whose each row is, and the codes of each column."""
        codes = dict(zip((one.name for one in self.columns), self.codes.tolist(), strict=True))
        return {"person": self.person.tolist(), **codes}

    def facts(self) -> list[tuple[str, str | None]]:
        """Return what it is, in words."""
        return [("rows", f"{len(self):,} synthetic rows of {self.table}"), ("mind", INDEPENDENT)]

    def __repr__(self) -> str:
        return f"<{len(self):,} synthetic rows of {self.table}>"


def events_of(
    people: SynthesisOffer, rows: Codes, published: Publication, number: str, seed: object = 0
) -> SyntheticEvents:
    """Return rows of made-up people: for each of `rows` as many as its column `number` says."""
    strata, offer = published.offer.measurement, published.offer
    if not isinstance(strata, RowStrata):
        raise BadQuestionError(
            f"this publication is of people, who have one row each; publish the rows of a table: "
            f"publish({offer.table!r}, ..., rows=[1, 2, 5, 10])"
        )
    (place,) = people.places((number,))
    wanted = _numbers(people.columns[place].coded)[rows[place]]
    each: NDArray[np.int64] = np.minimum(wanted, strata.caps[-1])
    shared = _shared(people, offer.columns)
    person = np.repeat(np.arange(rows.shape[1]), each)
    drawn = np.zeros((len(offer.columns), len(person)), np.uint8)
    stratum_of = np.searchsorted(strata.caps, each)[person]
    draws = PublicDraws(f"{seed} {published.name}")
    for stratum in range(len(strata.caps)):
        here = stratum_of == stratum
        given = np.stack([rows[own][person[here]] for own in shared.values()]) if shared else rows[:0, person[here]]
        drawn[:, here] = _drawn(_law(published.stratum(stratum)), tuple(shared), given, draws)
    columns = tuple(shown_columns(offer.table, one, offer.population) for one in offer.columns)
    return SyntheticEvents(table=offer.table, columns=columns, person=person, codes=drawn)


def _numbers(column: CodedColumn) -> NDArray[np.int64]:
    """Return how many rows each code of the column says that a person has; nothing is known of other and missing."""
    if any(not isinstance(code, int) or isinstance(code, bool) or code < 0 for code in column.codes):
        raise BadQuestionError(
            f"{column.name!r} is no number of rows; synthesize people with a column that is, such as "
            "lw.number_of('visit', most=6), and name it"
        )
    found = [code for code in column.codes if isinstance(code, int)]
    return np.array([*found, *[0] * (len(column) - len(found))])


def _shared(people: SynthesisOffer, columns: Sequence[CodedColumn]) -> dict[int, int]:
    """Return the columns that rows have from their person, and which columns of the people these are."""
    own = {one.name.casefold(): place for place, one in enumerate(people.columns)}
    found = {place: own[one.name.casefold()] for place, one in enumerate(columns) if one.name.casefold() in own}
    for place, of_people in found.items():
        if columns[place].called != people.columns[of_people].coded.called:
            raise BadQuestionError(
                f"{columns[place].name!r} has other codes in rows than in people; give it the same bins in both, or "
                "another name in one of them"
            )
    return found


def _law(stratum: Publication) -> Table:
    """Return the share of the rows of a stratum in each cell of all its columns, by a model of what was published."""
    measured = stratum.offer.measurement
    check_most("cells of the columns of rows", math.prod(measured.codes), _MOST_CELLS, "publish fewer columns of rows")
    for place, one in enumerate(stratum.offer.columns):
        if (place,) not in stratum.residuals:
            raise BadQuestionError(f"{one.name!r} is in no table of the publication; publish one that has it")
    pool = ResidualPool(measured.codes)
    pool.add_estimates(stratum.residuals, measured.variances)
    everything = tuple(range(len(measured.codes)))
    return fit_model(pool).marginal(everything)


def _drawn(law: Table, shared: Axes, given: Codes, draws: PublicDraws) -> Codes:
    """Draw a row for each column of `given`, which has the codes of the shared columns: the others follow the law."""
    rest = tuple(a for a in range(law.ndim) if a not in shared)
    sizes = [law.shape[a] for a in shared]
    lines = law.transpose([*shared, *rest]).reshape(math.prod(sizes), -1)
    lines = np.where(lines.sum(axis=1, keepdims=True) > 0, lines, lines.sum(axis=0))  # nobody like that was modelled
    picked = picked_by_line(lines, places_in(given, sizes, tuple(range(len(shared)))), draws)
    drawn = np.zeros((law.ndim, given.shape[1]), np.uint8)
    drawn[list(shared)] = given
    for a in reversed(rest):
        picked, drawn[a] = np.divmod(picked, law.shape[a])
    return drawn

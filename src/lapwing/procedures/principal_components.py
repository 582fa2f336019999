"""Principal components from noisy sums: one release of the sums of columns and of their products.

Proof: proofs/procedures.md
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

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
from lapwing.queries.language.builders import ConditionLike
from lapwing.queries.planning.plan import Plan
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import html_table, shows_words

if TYPE_CHECKING:
    from lapwing.session import Session


@frozen(repr=False, eq=False)
class Components(TableResult):
    """The directions in which people differ most, the first first, with columns in units of their declared ranges.

    Attributes
    ----------
    means : of the columns, in their own units
    directions : a line for each component, with a weight for each column; lines are of length 1
    variances : along each, never negative
    """

    columns: tuple[ScaledColumn, ...]
    means: tuple[float, ...]
    directions: NDArray[np.float64]
    variances: NDArray[np.float64]
    receipt: ProcedureReceipt

    @property
    def shares(self) -> list[float]:
        """Which part of all variance lies along each component."""
        whole = float(self.variances.sum())
        return [float(one) / whole if whole else 0.0 for one in self.variances]

    @property
    def price(self) -> Price:
        """What all rounds together cost."""
        return self.receipt.price

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:  # noqa: ARG002 - directions have no bounds
        """Return a row for each component: its share of the variance, and how much of each column is in it."""
        return [
            FrameColumn.of("share", self.shares, float),
            *(
                FrameColumn.of(one.name, map(float, weights), float)
                for one, weights in zip(self.columns, self.directions.T, strict=True)
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "columns": [one.name for one in self.columns],
            "means": list(self.means),
            "directions": self.directions.tolist(),
            "variances": self.variances.tolist(),
            "shares": self.shares,
            **self.receipt.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        names = [one.name for one in self.columns]
        lines = [
            (f"{share:.0%} of the variance", ", ".join(f"{w:+.2f} {name}" for w, name in zip(line, names, strict=True)))
            for share, line in zip(self.shares, self.directions, strict=True)
        ]
        return [*lines, *self.receipt.facts()[:1]]

    def _repr_html_(self) -> str:
        names = [one.name for one in self.columns]
        rows = [
            [f"{share:.1%}", *(f"{weight:+.3f}" for weight in line)]
            for share, line in zip(self.shares, self.directions, strict=True)
        ]
        return html_table(["of the variance", *names], rows, str(self.receipt.price))

    def __repr__(self) -> str:
        return f"<components of {', '.join(one.name for one in self.columns)}: {self.receipt.price}>"


@shows_words(TargetWords, confidence="0.95")
def preview_principal_components(
    session: "Session",
    table: str,
    columns: Sequence[str],
    *,
    where: ConditionLike = None,
    **target: Unpack[TargetWords],
) -> ProcedurePreview:
    """Say what principal components would cost, how exact the sums would be, and what would be left. It is free."""
    return preview_rounds(session, _offered(session, table, columns, where, target)[0], **target)


@shows_words(TargetWords, confidence="0.95")
def principal_components(
    session: "Session",
    table: str,
    columns: Sequence[str],
    *,
    where: ConditionLike = None,
    key: str | None = None,
    **target: Unpack[TargetWords],
) -> Components:
    """Find the directions in which people differ most, and pay for the sums that it takes.

    Columns are in units of their declared ranges. People who have no value in one of them are left out.

    Parameters
    ----------
    table : one with one row a person
    columns : at least two columns of numbers with declared bounds
    where : which people, as SQL text or built with `col`
    key : the idempotency key
    target : `epsilon=`
    """
    offer, scaled, plan = _offered(session, table, columns, where, target)
    receipt = run_rounds(session, offer, lambda _: ({"sums": len(scaled)}, [plan]), key)
    return read_components(scaled, receipt.rounds[0][0], receipt)


def _offered(
    session: "Session", table: str, columns: Sequence[str], where: ConditionLike, target: TargetWords
) -> tuple[NoisyRounds, tuple[ScaledColumn, ...], Plan]:
    """Read what is asked for, and choose the noise; refuse before anything is charged."""
    with deadline():
        scaled = read_scaled(table, columns, session.population)
        if len(scaled) == 1:
            raise BadQuestionError("one column has one direction; name two columns or more")
        known = session.population.table(table).name
        planned = plan_sums(known, scaled, session.population, where, squared=True)
    noise = noise_of_rounds([planned.sensitivity.l1], target)
    terms = {
        "procedure": "principal components",
        "columns": [one.name for one in scaled],
        "plan": digest(planned.canonical),
    }
    asks = f"principal components by {', '.join(one.name for one in scaled)}"
    reads = tuple(sorted(tables_of(planned.aggregate)))
    return NoisyRounds(asks=asks, table=known, reads=reads, terms=terms, noise=noise, unit=STEPS), scaled, planned


def read_components(columns: tuple[ScaledColumn, ...], numbers: Sequence[int], receipt: ProcedureReceipt) -> Components:
    """Return the components of what was released; where noise says that there is nobody, as if there were one."""
    size = len(columns)
    people = max(numbers[0] / STEPS, 1.0)
    extents = np.array([one.extent for one in columns], float)
    means = np.clip(np.array(numbers[1 : 1 + size], float) / people / extents, 0, 1)
    squares = np.zeros((size, size))
    pairs = combinations_with_replacement(range(size), 2)
    for (one, other), number in zip(pairs, numbers[1 + size :], strict=True):
        squares[one, other] = squares[other, one] = number * STEPS / people / extents[one] / extents[other]
    values, vectors = np.linalg.eigh(squares - np.outer(means, means))
    order = np.argsort(values)[::-1]
    directions = vectors[:, order].T
    signs = np.sign(directions[np.arange(size), np.abs(directions).argmax(axis=1)])
    return Components(
        columns=columns,
        means=tuple(
            float(one.low + one.width * one.extent * float(mean)) for one, mean in zip(columns, means, strict=True)
        ),
        directions=directions * signs[:, None],
        variances=np.maximum(values[order], 0),
        receipt=receipt,
    )

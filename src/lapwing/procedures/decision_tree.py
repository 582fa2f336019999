"""A small decision tree from noisy counts: in each round, every leaf is split by the column that tells most.

Columns have codes: declared values or bins, and one for all else. For each leaf, and each column that its path has not
used, it is counted how many people have each code and each outcome. A person is in one leaf, and in one cell of each
column: so a round is as many counts as there are columns left (Blum, Dwork, McSherry, Nissim 2005, *ID3*).

Proof: proofs/procedures.md
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Unpack

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
from lapwing.publishing.codes import CodedColumn, Columns, coded_key, read_columns
from lapwing.queries.algebra.aggregate import BinnedKey, CountPerPerson, tables_of
from lapwing.queries.algebra.predicate import InIntervals, atom, every
from lapwing.queries.catalogue.domains import INTEGERS
from lapwing.queries.language.builders import ConditionLike, Grouping, as_condition
from lapwing.queries.planning.plan import Plan
from lapwing.queries.planning.planner import Planner, Question, plan
from lapwing.queries.statistics.counts import People
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import shows_words

if TYPE_CHECKING:
    from lapwing.session import Session

Path: TypeAlias = tuple[tuple[int, int], ...]
"""The columns and codes by which a leaf is reached."""
Counts: TypeAlias = NDArray[np.float64]

_MOST_LEAVES: Final = 200
_MOST_DEPTH: Final = 6
_FEW: Final = 4
"""A leaf is not split further where fewer people than so many noise scales are in it."""


@frozen(repr=False, eq=False)
class CountInLeaf(Question):
    """How many people of a leaf have each code of one column and each outcome.

    Grouped by are the columns of the path, whose `codes` say which leaf it is, then the column and the outcome.
    """

    codes: tuple[int, ...]

    def plan(self, planner: Planner) -> Plan:
        """Let a person count once, in the one cell where their row is, if it is in the leaf."""
        keys = [coded_key(key, planner.scope) for key in planner.keys]
        reached = [
            atom(InIntervals(column=key.column, domain=INTEGERS, intervals=((code, code),)))
            for key, code in zip(keys, self.codes, strict=False)
        ]
        planner.where = every([planner.where, *reached])
        planner.keys = tuple(keys[len(self.codes) :])
        return planner.build(CountPerPerson(max_cells=1), People())


@frozen(eq=False)
class TreeNode:
    """A leaf: how it is reached, about how many people of each outcome are in it, and whether it was split."""

    path: Path
    people: tuple[float, ...]
    split: int | None = None


@frozen(repr=False, eq=False)
class DecisionTree(TableResult):
    """A tree that says the likelier outcome of a person by some columns, and about how many people say so."""

    columns: tuple[CodedColumn, ...]
    outcome: CodedColumn
    nodes: tuple[TreeNode, ...]
    receipt: ProcedureReceipt

    @property
    def leaves(self) -> list[TreeNode]:
        """The leaves that were not split."""
        return [one for one in self.nodes if one.split is None]

    @property
    def price(self) -> Price:
        """What all rounds together cost."""
        return self.receipt.price

    def leaf_of(self, person: Mapping[str, object]) -> TreeNode:
        """Return the leaf of somebody with these codes, or values, by the names of the columns."""
        known = {name.casefold(): code for name, code in person.items()}
        by_path = {one.path: one for one in self.nodes}
        here = by_path[()]
        while here.split is not None:
            column = self.columns[here.split]
            if column.name.casefold() not in known:
                raise BadQuestionError(f"the tree asks for {column.name!r}, which is not given")
            here = by_path[(*here.path, (here.split, _place_of(column, known[column.name.casefold()])))]
        return here

    def predict(self, person: Mapping[str, object]) -> str:
        """Return the outcome that most people of the same leaf have."""
        return self.outcome.called[self._likeliest(self.leaf_of(person))]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "outcome": self.outcome.name,
            "outcomes": list(self.outcome.called),
            "leaves": [
                {"path": [list(self._said(step)) for step in one.path], "people": list(one.people)}
                for one in self.leaves
            ],
            **self.receipt.to_dict(),
        }

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:  # noqa: ARG002 - leaves have no bounds
        """Return a row for each leaf: its code of each column, None where it was not asked, and people by outcome."""
        paths = [dict(map(self._said, one.path)) for one in self.leaves]
        asked = [one.name for one in self.columns if any(one.name in path for path in paths)]
        people = zip(*(one.people for one in self.leaves), strict=True)
        outcomes = [f"{self.outcome.name} {code}" for code in self.outcome.called]
        return [
            *(FrameColumn.of(name, [path.get(name) for path in paths]) for name in asked),
            *(FrameColumn.of(name, numbers, float) for name, numbers in zip(outcomes, people, strict=True)),
        ]

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words: a line for each leaf."""
        lines = []
        for one in self.leaves:
            words = ", ".join(f"{name} {code}" for name, code in map(self._said, one.path)) or "everybody"
            best, people = self._likeliest(one), sum(max(0.0, part) for part in one.people)
            share = max(0.0, one.people[best]) / people if people else 0.0
            said = f"{self.outcome.name} {self.outcome.called[best]}: {share:.0%} of about {round(people):,} people"
            lines.append((words, said))
        return [*lines, *self.receipt.facts()[:2]]

    def _likeliest(self, leaf: TreeNode) -> int:
        """Return the declared outcome that most people of a leaf have; to have none, or another, is never told."""
        return max(range(len(self.outcome.codes)), key=lambda place: leaf.people[place])

    def _said(self, step: tuple[int, int]) -> tuple[str, str]:
        column = self.columns[step[0]]
        return column.name, column.called[step[1]]

    def __repr__(self) -> str:
        return f"<tree of {self.outcome.name}: {len(self.leaves)} leaves, {self.receipt.price}>"


@shows_words(TargetWords, confidence="0.95")
def preview_decision_tree(
    session: "Session",
    table: str,
    outcome: Grouping,
    columns: Columns,
    *,
    depth: int = 2,
    where: ConditionLike = None,
    **target: Unpack[TargetWords],
) -> ProcedurePreview:
    """Say what a decision tree would cost, how exact its counts would be, and what would be left. It is free."""
    growing = _Growing(session, table, outcome, columns, depth=depth, where=where, target=target)
    return preview_rounds(session, growing.offer, **target)


@shows_words(TargetWords, confidence="0.95")
def decision_tree(
    session: "Session",
    table: str,
    outcome: Grouping,
    columns: Columns,
    *,
    depth: int = 2,
    where: ConditionLike = None,
    key: str | None = None,
    **target: Unpack[TargetWords],
) -> DecisionTree:
    """Grow a tree that tells an outcome from columns, and pay for all its levels at once.

    Parameters
    ----------
    table : one with one row a person
    outcome : what is told: a column with declared values, a condition, or bins
    columns : what it is told from: names of columns with declared values, `bins(...)` of others, or conditions
    depth : how many columns are asked for one after the other; each level has an equal share of the price
    where : which people, as SQL text or built with `col`
    key : the idempotency key
    target : `epsilon=`
    """
    growing = _Growing(session, table, outcome, columns, depth=depth, where=where, target=target)
    receipt = run_rounds(session, growing.offer, growing.next_round, key)
    nodes = growing.grown(receipt.rounds)
    return DecisionTree(columns=growing.columns, outcome=growing.outcome, nodes=tuple(nodes), receipt=receipt)


class _Growing:
    """A tree while it grows: what is public about it, and what its next level counts."""

    def __init__(
        self,
        session: "Session",
        table: str,
        outcome: Grouping,
        columns: Columns,
        *,
        depth: int,
        where: ConditionLike,
        target: TargetWords,
    ) -> None:
        self._population, self._where = session.population, as_condition(where)
        levels = as_int("depth", depth, most=_MOST_DEPTH)
        with deadline():
            self.columns = tuple(read_columns(table, columns, self._population))
            (self.outcome,) = read_columns(table, [outcome], self._population)
            self._table = self._population.table(table).name
            self._check(levels)
            tables = [self._count((), place) for place in range(len(self.columns))]
        moved = [tables[0].sensitivity.l1 * (len(self.columns) - level) for level in range(levels)]
        terms = {
            "procedure": "decision tree",
            "columns": [one.name for one in self.columns],
            "codes": [list(one.called) for one in (*self.columns, self.outcome)],
            "plans": digest([one.canonical for one in tables]),
        }
        self.offer = NoisyRounds(
            asks=f"a decision tree of {self.outcome.name}",
            table=self._table,
            reads=tuple(sorted(set[str]().union(*(tables_of(one.aggregate) for one in tables)))),
            terms=terms,
            noise=noise_of_rounds(moved, target),
            unit=1,
        )

    def _check(self, levels: int) -> None:
        if self.outcome.name in {one.name for one in self.columns}:
            raise BadQuestionError(f"{self.outcome.name!r} is the outcome; tell it from other columns")
        if levels > len(self.columns):
            raise BadQuestionError(
                f"depth={levels} asks for more columns than there are, {len(self.columns)}; name more of them, or say "
                f"depth={len(self.columns)}"
            )
        widest = sorted((len(one) for one in self.columns), reverse=True)
        leaves = int(np.prod(widest[: levels - 1], dtype=object)) if levels > 1 else 1
        if leaves > _MOST_LEAVES:
            raise BadQuestionError(
                f"the last level could split {leaves} leaves, more than {_MOST_LEAVES}; take a smaller depth, or wider "
                "bins"
            )

    def next_round(self, released: list[Any]) -> tuple[object, Sequence[Plan]]:
        """Return the leaves that the next level splits, and what is counted for each of them."""
        leaves = [one for one in self.grown(released) if one.split is None and len(one.path) == len(released)]
        with deadline():
            plans = [self._count(one.path, place) for one in leaves for place in self._left(one.path)]
        return {"leaves": [[list(step) for step in one.path] for one in leaves]}, plans

    def grown(self, released: Sequence[Any]) -> list[TreeNode]:
        """Return all nodes after these levels: each leaf that has people is split by the column that tells most."""
        nodes = [TreeNode(path=(), people=())]
        for level, numbers in enumerate(released):
            vectors, few = iter(numbers), _FEW * float(self.offer.noise[level].event.scale)
            nodes = [after for one in nodes for after in self._split(one, level, vectors, few)]
        return nodes

    def _split(self, leaf: TreeNode, level: int, vectors: Iterator[Sequence[int]], few: float) -> list[TreeNode]:
        """Return a leaf with its children; or as it is, where it is not of this level or has too few people."""
        if leaf.split is not None or len(leaf.path) != level:
            return [leaf]
        tables = {place: self._table_of(place, next(vectors)) for place in self._left(leaf.path)}
        totals = np.mean([counts.sum(axis=0) for counts in tables.values()], axis=0)
        whole = TreeNode(path=leaf.path, people=leaf.people or tuple(totals.tolist()))
        if totals.sum() < few:
            return [whole]
        best = max(tables, key=lambda place: _told_by(tables[place]))
        children = [
            TreeNode(path=(*leaf.path, (best, code)), people=tuple(tables[best][code].tolist()))
            for code in range(len(self.columns[best]))
        ]
        return [TreeNode(path=whole.path, people=whole.people, split=best), *children]

    def _left(self, path: Path) -> list[int]:
        used = {column for column, _ in path}
        return [place for place in range(len(self.columns)) if place not in used]

    def _table_of(self, place: int, numbers: Sequence[int]) -> Counts:
        return np.array(numbers, float).reshape(len(self.columns[place]), len(self.outcome))

    def _count(self, path: Path, place: int) -> Plan:
        by = tuple(self.columns[column].by for column, _ in path)
        codes = tuple(code for _, code in path)
        asked = CountInLeaf(
            table=self._table, where=self._where, by=(*by, self.columns[place].by, self.outcome.by), codes=codes
        )
        return plan(asked, self._population)


def _place_of(column: CodedColumn, value: object) -> int:
    """Return the code of a value: one that is declared, what a code is called, or a whole number in a bin."""
    if isinstance(column.key, BinnedKey) and column.key.domain == INTEGERS and isinstance(value, int):
        inside = [place for place, (low, high) in enumerate(column.key.bins) if low <= value <= high]
        return inside[0] if inside else len(column) - 1
    return column.place_of(value)


def _told_by(counts: Counts) -> float:
    """Return how many people of a leaf would be told right on average, by a guess as often as each outcome is there."""
    there = np.maximum(counts, 0)
    people = there.sum(axis=1)
    squares = (there**2).sum(axis=1)
    return float((squares[people > 0] / people[people > 0]).sum())

"""Many cohorts of a table in one statement, however many rows it has.

What conditions ask of one column cuts its values into pieces: ages into those between two limits, kinds into those that
are named alike. A row is in one piece of each column, which is its *cell*, and whether a condition holds follows from
the cell. So the database says how many people are in each cell, or have a row in one of some cells, and nothing else.

How many cells there are follows from the conditions alone, and decides how they are counted; the rows have no say.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.bins import bin_sql
from lapwing.engines.dialect import RowOf, Writer
from lapwing.engines.emitter import Fact, Statement, row_of_facts
from lapwing.engines.expression_sql import clipped, predicate_sql
from lapwing.engines.text_hash import murmur, size_without_meeting
from lapwing.queries.algebra.predicate import InIntervals, InTexts, NotInTexts
from lapwing.queries.algebra.ranges import FEW
from lapwing.queries.catalogue.column import DerivedColumn
from lapwing.queries.catalogue.domains import DAYS, INTEGERS, Domain, Interval

Truths: TypeAlias = NDArray[np.bool_]

MOST_CELLS: Final = 2**16
"""So many rows may come back, where a person has one row."""
BITS: Final = 62
MOST_IN_SETS: Final = 32 * BITS
"""So many cells has a set of them, which is kept for each person who may have several rows."""
_MOST_EDGES: Final = 2_000
"""So many constants are in a statement, at most; of a list of texts only that there is one."""
_FEW_TEXTS: Final = 3
_FEW_PIECES: Final = 3
_MOST_LISTED: Final = 2_000
"""So many whole numbers or days are listed with the pieces they are in; further ones are compared."""
_MOST_HALVED: Final = 100
"""Of so many texts one is found by halving; more are few long lists."""


class _OfIntervals(NamedTuple):
    """The pieces of a column between the limits of conditions; the first is that of missing values."""

    column: str
    derived: tuple[DerivedColumn, ...]
    domain: Domain

    def edges(self, atom: Fact) -> set[object]:
        lowest, highest = self.domain.lowest, self.domain.highest
        return {end for low, high in _intervals(atom) for end in (low, high + 1) if lowest < end <= highest}

    def pieces(self, atoms: Sequence[Fact]) -> list[Interval]:
        lowest, highest = self.domain.lowest, self.domain.highest
        ends = {end for atom in atoms for low, high in _intervals(atom) for end in (low, high + 1)}
        return list(pairwise([*sorted({lowest, *(end for end in ends if lowest < end <= highest)}), highest + 1]))

    def truths(self, atom: Fact, pieces: Sequence[Interval]) -> list[bool]:
        return [False, *(any(a <= low <= b for a, b in _intervals(atom)) for low, _ in pieces)]

    def sql(self, writer: Writer, row: RowOf, pieces: Sequence[Interval]) -> str:
        looked_up = self._looked_up(writer, writer.column(row, self.column), pieces)
        if looked_up is not None:
            return looked_up
        bins = [(low, end - 1) for low, end in pieces]
        return f"COALESCE({bin_sql(writer, writer.column(row, self.column), self.domain, bins)} + 1, 0)"

    def _looked_up(self, writer: Writer, column: str, pieces: Sequence[Interval]) -> str | None:
        """Return the piece of a whole number or a day from a list, where all limits are near to each other."""
        item, of_days = writer.dialect.item, self.domain == DAYS
        if item is None or len(pieces) <= _FEW_PIECES or not (of_days or self.domain == INTEGERS):
            return None
        below, last = pieces[1][0] - 1, pieces[-1][0]  # all below are in the first piece, all from the last in that
        if last - below > _MOST_LISTED:
            return None
        places = [0] + [
            place for place, (low, end) in enumerate(pieces) if place for _ in range(low, min(end, last + 1))
        ]
        number = writer.dialect.day_number.format(column) if of_days else column
        near = f"{clipped(writer, number, below, last)} - {writer.value(below)}"
        place = item.format(writer.listed(places), writer.dialect.integer, f"CAST({near} AS {writer.dialect.narrow})")
        there = writer.on_calendar(column) if of_days else f"{column} IS NOT NULL"
        return f"CASE WHEN {there} THEN {place} + 1 ELSE 0 END"


class _OfTexts(NamedTuple):
    """The texts of a column that conditions name alike; the first is of missing values, the second of all others."""

    column: str
    derived: tuple[DerivedColumn, ...]

    def edges(self, atom: Fact) -> set[object]:
        return set(_texts(atom))

    def pieces(self, atoms: Sequence[Fact]) -> list[list[str]]:
        named: dict[str, list[int]] = {}
        for number, atom in enumerate(atoms):
            for text in _texts(atom):
                named.setdefault(text, []).append(number)
        found: dict[tuple[int, ...], list[str]] = {}
        for text, numbers in named.items():
            found.setdefault(tuple(numbers), []).append(text)
        return list(found.values())

    def truths(self, atom: Fact, pieces: Sequence[list[str]]) -> list[bool]:
        texts, wanted = set(_texts(atom)), isinstance(atom.where, InTexts)
        return [False, not wanted, *((some[0] in texts) == wanted for some in pieces)]

    def sql(self, writer: Writer, row: RowOf, pieces: Sequence[list[str]]) -> str:
        column = writer.column(row, self.column)
        looked_up = self._looked_up(writer, row, pieces)
        if looked_up is not None:
            return f"COALESCE({looked_up}, CASE WHEN {column} IS NULL THEN 0 ELSE 1 END)"
        if not _FEW_TEXTS < sum(map(len, pieces)) <= _MOST_HALVED:
            named = " ".join(f"WHEN {writer.one_of(column, some)} THEN {place}" for place, some in enumerate(pieces, 2))
            return f"CASE WHEN {column} IS NULL THEN 0 {named} ELSE 1 END"
        ordered = writer.dialect.text_order.format(column)
        placed = sorted((text.encode(), text, place) for text, place in _numbered(pieces))

        def among(first: int, last: int) -> str:
            """Write the choice among some texts, in the order of their bytes: each comparison halves them."""
            if last - first <= _FEW_TEXTS:
                few = " ".join(f"WHEN {column} = {writer.value(text)} THEN {at}" for _, text, at in placed[first:last])
                return f"CASE {few} ELSE 1 END"
            middle = (first + last) // 2
            edge = writer.value(placed[middle][1])
            return f"CASE WHEN {ordered} < {edge} THEN {among(first, middle)} ELSE {among(middle, last)} END"

        return f"CASE WHEN {column} IS NULL THEN 0 ELSE {among(0, len(placed))} END"

    def _looked_up(self, writer: Writer, row: RowOf, pieces: Sequence[list[str]]) -> str | None:
        """Return the place of a text that is named, else NULL, by its hash: one comparison is left to be made.

        No two that are named share a place of the list, so that any other text that is there is unequal.
        """
        item, hashed, column = writer.dialect.item, writer.dialect.text_hash, writer.compared(row, self.column)
        named = _numbered(pieces)
        if not named or len(named) > _MOST_HALVED:
            return None
        if len(named) <= _FEW_TEXTS:
            whens = " ".join(f"WHEN {column} = {writer.value(text)} THEN {place}" for text, place in named)
            return f"CASE {whens} END"
        size = None if item is None or hashed is None else size_without_meeting([text for text, _ in named])
        if item is None or hashed is None or size is None:
            return None
        texts, places = [""] * size, [1] * size  # where none is named, the empty text is one of the others
        for text, place in named:
            texts[murmur(text) % size], places[murmur(text) % size] = text, place
        at = f"pmod({hashed.format(column)}, {size})"
        there = item.format(writer.listed(texts), writer.dialect.text, at)
        number = item.format(writer.listed(places), writer.dialect.integer, at)
        return f"CASE WHEN {column} = {there} THEN {number} END"


def _numbered(pieces: Sequence[list[str]]) -> list[tuple[str, int]]:
    """Return the texts with the number of their piece."""
    return [(text, place) for place, some in enumerate(pieces, 2) for text in some]


class _OfFact(NamedTuple):
    """Where a condition that is not about one column holds, and where it does not."""

    fact: Fact

    def edges(self, atom: Fact) -> set[object]:
        return {atom}

    def pieces(self, atoms: Sequence[Fact]) -> list[Any]:
        del atoms
        return []

    def truths(self, atom: Fact, pieces: Sequence[Any]) -> list[bool]:
        del atom, pieces
        return [False, True]

    def sql(self, writer: Writer, row: RowOf, pieces: Sequence[Any]) -> str:
        del pieces
        return f"CASE WHEN {predicate_sql(writer, row, self.fact.where)} THEN 1 ELSE 0 END"


_Line: TypeAlias = _OfIntervals | _OfTexts | _OfFact


def _intervals(atom: Fact) -> tuple[Interval, ...]:
    return atom.where.intervals if isinstance(atom.where, InIntervals) else ()


def _texts(atom: Fact) -> tuple[str, ...]:
    return atom.where.texts if isinstance(atom.where, InTexts | NotInTexts) else ()


def _line(atom: Fact) -> _Line:
    match atom.where:
        case InIntervals(column=column, domain=domain, intervals=intervals) if len(intervals) <= FEW:
            return _OfIntervals(column, atom.derived, domain)
        case InTexts(column=column) | NotInTexts(column=column):
            return _OfTexts(column, atom.derived)
        case _:
            return _OfFact(atom)


class Cells:
    """The cells that some atoms cut a table into.

    Proof: proofs/cohort_bitmaps.md
    """

    def __init__(self, atoms: Iterable[Fact]) -> None:
        self.atoms = list(dict.fromkeys(atoms))
        lines: dict[_Line, list[Fact]] = {}
        for atom in self.atoms:
            lines.setdefault(_line(atom), []).append(atom)
        self._lines: list[tuple[_Line, list[Any]]] = [(line, line.pieces(some)) for line, some in lines.items()]
        held = [[(atom, line.truths(atom, pieces)) for atom in lines[line]] for line, pieces in self._lines]
        self._sizes = [len(of_line[0][1]) for of_line in held]
        self.count = prod(self._sizes)
        axes = [[size if axis == place else 1 for place, size in enumerate(self._sizes)] for axis in range(len(held))]
        self._truths = {
            atom: np.array(truths, np.bool_).reshape(shape)
            for of_line, shape in zip(held, axes, strict=True)
            for atom, truths in of_line
        }

    def truths(self, atom: Fact) -> Truths:
        """Return where an atom holds, with an axis for each line: those of others have one place."""
        return self._truths[atom]

    def everywhere(self, truths: Truths) -> Truths:
        """Return a truth for each cell, in the order of their numbers."""
        return np.broadcast_to(truths, self._sizes or (1,)).ravel()

    def sql(self, writer: Writer, row: RowOf) -> str:
        """Return the number of the cell of a row: in mixed radix, the last line fastest."""
        number = "0"
        for (line, pieces), size in zip(self._lines, self._sizes, strict=True):
            piece = line.sql(writer, row, pieces)
            number = piece if number == "0" else f"({number}) * {size} + {piece}"
        return number


def batches(
    asked: Sequence[Mapping[int, Fact]], most: int, looks: Callable[[Fact], bool], most_looks: int
) -> Iterator[list[int]]:
    """Yield which questions, by their atoms, are counted in one statement; one that fits none is in no batch."""
    batch, lines, seen, looking = list[int](), dict[_Line, set[object]](), dict[str, DerivedColumn](), set[Fact]()
    known: dict[_Line, int] = {}
    about = [sorted({known.setdefault(_line(atom), len(known)) for atom in atoms.values()}) for atoms in asked]
    for number in sorted(range(len(asked)), key=about.__getitem__):  # those about the same columns together
        atoms = asked[number].values()
        if not _fits(mine := _edges({}, atoms), most) or sum(map(looks, atoms)) > most_looks:
            continue
        names = {one.name.casefold(): one for atom in atoms for one in atom.derived}
        together, look = _edges(lines, atoms), looking | {atom for atom in atoms if looks(atom)}
        alike = all(seen.get(name, one) == one for name, one in names.items())
        if batch and not (_fits(together, most) and alike and len(look) <= most_looks):
            yield batch
            batch, together, seen, look = [], mine, {}, {atom for atom in atoms if looks(atom)}
        batch.append(number)
        lines, looking = together, look
        seen |= names
    if batch:
        yield batch


def _edges(before: Mapping[_Line, set[object]], atoms: Iterable[Fact]) -> dict[_Line, set[object]]:
    found = dict(before)
    for atom in atoms:
        line = _line(atom)
        found[line] = found.get(line, set()) | line.edges(atom)
    return found


def _fits(lines: Mapping[_Line, set[object]], most: int) -> bool:
    """Return whether there are few enough cells: a column has at most two pieces more than it has edges."""
    few = sum(map(len, lines.values())) <= _MOST_EDGES
    return few and prod(2 if isinstance(line, _OfFact) else len(edges) + 2 for line, edges in lines.items()) <= most


def emit_cells(writer: Writer, table: str, cells: Cells) -> Statement:
    """Return the SQL of the number of rows in each cell that has one, for a table with one row for each person."""
    row = row_of_facts(writer, table, cells.atoms)
    counted = f"SELECT {cells.sql(writer, row)} AS c FROM {writer.relation(row)}"
    return Statement(f"SELECT c, COUNT(*) FROM ({counted}) AS counted GROUP BY c", tuple(writer.parameters))


def emit_sets(writer: Writer, table: str, cells: Cells, wanted: Truths) -> Statement:
    """Return the SQL of the number of people who have a row in one of some cells, those of each row of `wanted`."""
    dialect, row = writer.dialect, row_of_facts(writer, table, cells.atoms)
    person, words = writer.person(row), range(-(-cells.count // BITS))
    found = (
        f"SELECT {person} AS p, {cells.sql(writer, row)} AS c FROM {writer.relation(row)} WHERE {person} IS NOT NULL"
    )
    word, bit = dialect.quotient.format("c", BITS), dialect.bit.format(dialect.modulo.format("c", BITS))
    placed = f"SELECT p, {word} AS w, {bit} AS b FROM ({found}) AS found"
    sets = ", ".join(f"BIT_OR(CASE WHEN w = {i} THEN b ELSE {writer.value(0)} END) AS s{i}" for i in words)
    columns = ", ".join(f"s{i}" for i in words)
    people = f"SELECT {sets} FROM ({placed}) AS placed GROUP BY p"
    kinds = f"SELECT {columns}, COUNT(*) AS n FROM ({people}) AS people GROUP BY {columns}"
    padded = np.zeros((len(wanted), len(words) * BITS), np.bool_)
    padded[:, : cells.count] = wanted
    masks = padded.reshape(len(wanted), len(words), BITS) @ (np.int64(1) << np.arange(BITS, dtype=np.int64))
    lists = {"q": list(range(len(wanted))), **{f"m{i}": masks[:, i].tolist() for i in words}}
    listed = dialect.side_by_side(list(lists), [writer.listed(numbers) for numbers in lists.values()])
    either = " OR ".join(f"(s{i} & m{i}) <> 0" for i in words)
    total = dialect.total.format("n")
    return Statement(
        f"SELECT q, {total} FROM ({kinds}) AS kinds JOIN ({listed}) AS asked ON {either} GROUP BY q",
        tuple(writer.parameters),
    )

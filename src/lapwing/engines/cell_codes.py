"""Public cells as numbers: which cell of a person has the lowest rank is then the least of one number for each cell.

A cell's number is in mixed radix of the places of its keys, and a place is one among the values in the order of
`CellColumn.order`, that of missing values first. So rank * cells + number has the order of a rank and, where two cells
have one rank, of their keys; and it says which cell it is of.
"""

from collections.abc import Sequence
from math import prod
from typing import Final

from lapwing.engines.dialect import Writer
from lapwing.engines.expression_sql import CellColumn
from lapwing.queries.algebra.aggregate import BinnedKey, DeclaredKey, GridKey, Key, PrivateKey, cell_count, text_number
from lapwing.queries.algebra.ranges import FEW
from lapwing.vocabulary.frozen import frozen

MOST_CODED: Final = 2**31
"""A rank is below 2^31, and so is the number of a cell: together they are below 2^62."""


@frozen()
class CellCodes:
    """How the numbers of cells are written, and read again, for the keys of an aggregate.

    Proof: proofs/contribution_bounds.md
    """

    writer: Writer
    keys: tuple[Key, ...]
    names: tuple[str, ...]

    @property
    def cells(self) -> int:
        """How many numbers there are."""
        return prod(map(_size, self.keys))

    def places(self) -> list[str]:
        """Return the place of each key, from the columns of the keys."""
        return [_place(self.writer, key, name) for key, name in zip(self.keys, self.names, strict=True)]

    def numbers(self, places: Sequence[str]) -> list[str]:
        """Return what a rank is told for each key, as `CellColumn.number` does, from its place."""
        return [_number(self.writer, key, place) for key, place in zip(self.keys, places, strict=True)]

    def code(self, places: Sequence[str]) -> str:
        """Return the number of a cell, from the places of its keys."""
        number = places[0]
        for key, place in zip(self.keys[1:], places[1:], strict=True):
            number = f"({number}) * {_size(key)} + {place}"
        return number

    def values(self, code: str) -> list[str]:
        """Return the values of the keys, under their names, from the number of a cell."""
        values, dialect = list[str](), self.writer.dialect
        below = self.cells
        for key, name in zip(self.keys, self.names, strict=True):
            size, whole = _size(key), below
            below //= size
            place = code if whole == self.cells else dialect.modulo.format(code, whole)
            place = place if below == 1 else dialect.quotient.format(place, below)
            values.append(f"{_value(self.writer, key, place)} AS {name}")
        return values


def cell_codes(writer: Writer, keys: Sequence[Key], cells: Sequence[CellColumn]) -> CellCodes | None:
    """Return the numbers of the cells of `keys`; None where only the data knows them, or they are too many to write."""
    count = cell_count(keys)
    few = all(not isinstance(key, DeclaredKey) or len(key.values) <= FEW or _in_a_row(key) for key in keys)
    if count is None or count > MOST_CODED or not few:
        return None
    return CellCodes(writer=writer, keys=tuple(keys), names=tuple(cell.name for cell in cells))


def declared_number(writer: Writer, key: Key, cell: CellColumn) -> str:
    """Return `cell.number`; of few declared texts, which are public, as constants."""
    if isinstance(key, DeclaredKey) and isinstance(key.values[0], str) and len(key.values) <= FEW:
        told = " ".join(f"WHEN {writer.value(text)} THEN {text_number(str(text))}" for text in key.values)
        number = f"CASE {cell.name} {told} END"
        return f"COALESCE({number}, -1)" if key.missing else number
    return cell.number


def _size(key: Key) -> int:
    return cell_count([key]) or 0


def _ordered(key: DeclaredKey) -> Sequence[str | int]:
    """Return the values in the order of a database: texts byte by byte."""
    texts = [value for value in key.values if isinstance(value, str)]
    in_bytes: Sequence[str] = sorted(texts, key=lambda text: text.encode())
    return in_bytes or sorted(int(value) for value in key.values)


def _in_a_row(key: DeclaredKey) -> bool:
    """Return whether the values are whole numbers without a gap between them."""
    if type(key.values[0]) is not int:
        return False
    whole = sorted(int(value) for value in key.values)
    return whole == list(range(whole[0], whole[0] + len(whole)))


def _place(writer: Writer, key: Key, name: str) -> str:
    dialect = writer.dialect
    match key:
        case GridKey(width=width):
            return dialect.quotient.format(name, writer.value(width))
        case BinnedKey(missing=missing):
            return f"COALESCE({name} + 1, 0)" if missing else name
        case DeclaredKey(missing=missing):
            first, ordered = int(missing), _ordered(key)
            if _in_a_row(key):
                low, high = (_constant(writer, key, end) for end in (ordered[0], ordered[-1]))
                # Clipped, for a database may compute it for a row that does not count.
                place = f"{dialect.least.format(dialect.greatest.format(name, low), high)} - {low} + {first}"
            else:
                told = (f"WHEN {_constant(writer, key, value)} THEN {at}" for at, value in enumerate(ordered, first))
                place = f"CASE {name} {' '.join(told)} END"
            return f"CASE WHEN {name} IS NULL THEN 0 ELSE {place} END" if missing else place
        case PrivateKey():
            raise TypeError(key)


def _number(writer: Writer, key: Key, place: str) -> str:
    match key:
        case GridKey(width=width):
            return f"{place} * {writer.value(width)}"
        case BinnedKey(missing=missing):
            return f"{place} - {int(missing)}"
        case DeclaredKey(missing=missing):
            ordered = _ordered(key)
            if _in_a_row(key):
                number = f"{place} - {int(missing)} + {_constant(writer, key, ordered[0])}"
                return f"CASE WHEN {place} = 0 THEN -1 ELSE {number} END" if missing else number
            numbers = [
                str(text_number(value)) if isinstance(value, str) else _whole(writer, value) for value in ordered
            ]
            told = [f"WHEN {at} THEN {number}" for at, number in enumerate(["-1", *numbers] if missing else numbers)]
            return f"CASE {place} {' '.join(told)} END"
        case PrivateKey():
            raise TypeError(key)


def _value(writer: Writer, key: Key, place: str) -> str:
    match key:
        case GridKey(width=width):
            return f"{place} * {writer.value(width)}"
        case BinnedKey(missing=missing):
            return f"NULLIF({place}, 0) - 1" if missing else place
        case DeclaredKey(missing=missing):
            ordered = _ordered(key)
            if _in_a_row(key):
                low = _constant(writer, key, ordered[0])
                return f"NULLIF({place}, 0) - 1 + {low}" if missing else f"{place} + {low}"
            told = (f"WHEN {at} THEN {_constant(writer, key, value)}" for at, value in enumerate(ordered, int(missing)))
            return f"CASE {place} {' '.join(told)} END"
        case PrivateKey():
            raise TypeError(key)


def _constant(writer: Writer, key: DeclaredKey, value: str | int) -> str:
    """Return a declared value; it is public, but no text stands in a statement."""
    if isinstance(value, str):
        return writer.value(value)
    return str(bool(value)).upper() if isinstance(key.values[0], bool) else _whole(writer, value)


def _whole(writer: Writer, value: int) -> str:
    return f"({value})" if abs(value) < _PLAIN else writer.value(value)


_PLAIN: Final = 2**31  # what every database takes for a whole number, also behind a minus

"""CSV files: how a line is read depends on the first line of the file and on nothing else.

Everything that a reader may guess from the rows (separator, quotes, comments, the order of day and month) is pinned. A
guess is made from everybody's rows, so one more row would change what the others hold, by more than any sensitivity.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from lapwing.engines.csv_cells import described, is_misfit, read_cell
from lapwing.engines.dialect import DUCKDB, literal
from lapwing.engines.files import literal_path
from lapwing.vocabulary.errors import RegistrationError

_SEPARATORS: Final = ",;\t|"
_PINNED: Final = {
    "auto_detect": "false",
    "header": "true",
    "skip": "0",
    "quote": "'\"'",
    "escape": "'\"'",
    "comment": "''",
    "nullstr": "''",
    "decimal_separator": "'.'",
    "encoding": "'utf-8'",
    "compression": "'none'",
    "strict_mode": "true",
    "null_padding": "false",
    "ignore_errors": "false",
    "hive_partitioning": "false",
    "union_by_name": "false",
    "filename": "false",
}
_BLOCK: Final = 1 << 20
_UTF8: Final = "save it as UTF-8, or as .parquet"
_LINE_ENDS: Final = "end lines with LF or with CR LF, and take line breaks out of the texts"
_QUOTES: Final = "close every quote, and take line breaks out of the texts: one line is one row"


class CSVFile:
    """A CSV file, of which the first line is known.

    Parameters
    ----------
    table : what to call it in a refusal
    path : where it is
    """

    def __init__(self, table: str, path: Path) -> None:
        self._table, self._path = table, path
        try:
            with path.open("rb") as file:
                line = file.readline().decode("utf-8-sig")
        except FileNotFoundError:
            raise _without_columns(table, f"{path} is not there", "mend its place") from None
        except OSError as failure:
            raise _without_columns(table, f"{path} cannot be opened ({failure.strerror})", "mend its place") from None
        except UnicodeDecodeError:
            raise _without_columns(table, f"{path} is no text in UTF-8", _UTF8) from None
        if "\r" in _without_end(line):
            raise _without_columns(table, f"its lines in {path} end with CR alone", _LINE_ENDS)
        self._separator = max(_SEPARATORS, key=line.count)
        self.header = [name.strip() for name in next(csv.reader([line], delimiter=self._separator), [])]

    def relation(self, types: Mapping[str, str], key: str) -> str:
        """Return the SQL that reads these columns of the header, each as a type of DuckDB; a misfit makes it fail."""
        cells = ", ".join(
            f"{read_cell(DUCKDB.name(name), kind, is_key=name == key)} AS {DUCKDB.name(name)}"
            for name, kind in types.items()
        )
        return f"(SELECT {cells} FROM {self._texts(types)})"

    def misfit(self, types: Mapping[str, str], key: str, name: str) -> str:
        """Return the SQL of the first row whose cell in a column is none of its type, with the cell."""
        numbered = f"SELECT row_number() OVER () AS place, {DUCKDB.name(name)} AS cell FROM {self._texts(types)}"
        wrong = is_misfit("cell", types[name], is_key=name == key)
        return f"SELECT place, cell FROM ({numbered}) WHERE {wrong} ORDER BY place LIMIT 1"

    def refusal(self, row: int, name: str, kind: str, cell: str, *, is_key: bool) -> RegistrationError:
        """Return what to tell the custodian about a misfit: its line and column, what it is not, and what to do."""
        with self._path.open("rb") as file:
            next(file, None)
            line, _ = next(islice(self._rows(file, 2), row - 1, None))
        what, remedy = described(kind, cell, is_key=is_key)
        cell_of = f"a person key, in column {name}," if is_key else f"a cell in column {name}"
        return self._refusal(line, f"has {cell_of} that {what}", remedy)

    def check_lines(self) -> int:
        """Return how many rows there are; refuse a line that is no text, is no whole row or has other cells."""
        with self._path.open("rb") as file:
            next(file, None)
            rows, first = 0, 2
            while lines := file.readlines(_BLOCK):
                plain = self._are_plain(lines)
                rows += len(lines) if plain else sum(1 for line in self._rows(lines, first) if self._is_row(*line))
                first += len(lines)
        return rows

    def _are_plain(self, lines: list[bytes]) -> bool:
        """Say whether all lines have their cells and nothing that needs a second look."""
        block, commas = b"".join(lines), len(self.header) - 1
        if b'"' in block or b"\r" in block or not block.isascii() or commas == 0:
            return False
        separator = self._separator.encode()
        return {line.count(separator) for line in lines} == {commas}

    def _is_row(self, number: int, line: bytes) -> bool:
        """Return True, or refuse the line."""
        cells, separator = len(self.header), self._separator.encode()
        if b"\r" in line:
            raise self._refusal(number, "has a CR inside", _LINE_ENDS)
        if not line.isascii():
            self._require_text(number, line)
        found = self._cells(number, line.decode()) if b'"' in line else line.count(separator) + 1
        if found != cells:
            raise self._refusal(
                number,
                f"has {found:,} cells, and the header has {cells:,}",
                f'write a text or a number that holds "{self._separator}" in double quotes',
            )
        return True

    def check_rows(self, lines: int, rows: int) -> None:
        """Refuse a file of which not every line was read as one row: an open quote swallows the rows of others."""
        if lines != rows:
            raise RegistrationError(
                self._table,
                reason=f"has {lines:,} lines below its header, which hold {rows:,} rows",
                remedy=_QUOTES,
            )

    def _rows(self, lines: Iterable[bytes], first: int) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the content of each line that is a row."""
        for number, line in enumerate(lines, start=first):
            content = line.removesuffix(b"\n").removesuffix(b"\r")
            if content or len(self.header) == 1:
                yield number, content

    def _cells(self, number: int, line: str) -> int:
        try:
            return len(next(csv.reader([line], delimiter=self._separator, strict=True), []))
        except csv.Error:
            raise self._refusal(number, "has a quote that is not closed, or text after one", _QUOTES) from None

    def _require_text(self, number: int, line: bytes) -> None:
        try:
            line.decode()
        except UnicodeDecodeError:
            raise self._refusal(number, "is no text in UTF-8", _UTF8) from None

    def _refusal(self, line: int, what: str, remedy: str) -> RegistrationError:
        return RegistrationError(self._table, reason=f"cannot be read: line {line:,} {what}", remedy=remedy)

    def _texts(self, types: Mapping[str, str]) -> str:
        columns = [
            name if name in types else f"column {position} of the file"
            for position, name in enumerate(self.header, start=1)
        ]
        named = ", ".join(f"{literal(name)}: {literal(DUCKDB.text)}" for name in columns)
        pinned = ", ".join(f"{option} = {value}" for option, value in _PINNED.items())
        place = literal_path(self._table, self._path)
        return f"read_csv({place}, delim = {literal(self._separator)}, columns = {{{named}}}, {pinned})"


def _without_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _without_columns(table: str, reason: str, remedy: str) -> RegistrationError:
    return RegistrationError(table, reason=f"has no columns to be found: {reason}", remedy=remedy)

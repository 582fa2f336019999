"""CSV files: how a line is read depends on the first line of the file and on nothing else.

Everything that a reader may guess from the rows (separator, quotes, comments, the order of day and month) is pinned. A
guess is made from everybody's rows, so one more row would change what the others hold, by more than any sensitivity.
"""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lapwing.engines.dialect import literal
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
}


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
            raise _without_columns(table, f"{path} is no text in UTF-8", "save it as UTF-8, or as .parquet") from None
        self._separator = max(_SEPARATORS, key=line.count)
        self.header = [name.strip() for name in next(csv.reader([line], delimiter=self._separator), [])]

    def relation(self, types: Mapping[str, str]) -> str:
        """Return the SQL that reads these columns of the header, each as a type of DuckDB."""
        columns = {
            name if name in types else f"column {position} of the file": types.get(name, "VARCHAR")
            for position, name in enumerate(self.header, start=1)
        }
        named = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in columns.items())
        pinned = ", ".join(f"{option} = {value}" for option, value in _PINNED.items())
        place = literal_path(self._table, self._path)
        return f"read_csv({place}, delim = {literal(self._separator)}, columns = {{{named}}}, {pinned})"

    def check(self, rows: int) -> None:
        """Refuse a file of which not every line was read as one row: an open quote swallows the rows of others."""
        with self._path.open("rb") as file:
            next(file, None)
            lines = sum(1 for line in file if len(self.header) == 1 or line.strip(b"\r\n"))
        if lines != rows:
            raise RegistrationError(
                self._table,
                reason=f"has {lines:,} lines below its header, which hold {rows:,} rows",
                remedy="close every quote, and take line breaks out of the texts: one line is one row",
            )


def _without_columns(table: str, reason: str, remedy: str) -> RegistrationError:
    return RegistrationError(table, reason=f"has no columns to be found: {reason}", remedy=remedy)

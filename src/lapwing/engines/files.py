"""A file of the custodian as DuckDB reads it: that file under its own name, and no other.

DuckDB takes some names for patterns, for a home folder or for an address, and columns out of the names of folders.
What is fingerprinted must be what is read.
"""

from pathlib import Path
from typing import Final

from lapwing.engines.dialect import literal
from lapwing.vocabulary.errors import RegistrationError

_PATTERN: Final = "*?["
_AS_IT_IS: Final = {
    "hive_partitioning": "false",
    "union_by_name": "false",
    "filename": "false",
    "file_row_number": "false",
    "binary_as_string": "false",
    "can_have_nan": "true",  # writers leave NaN out of the least and the greatest that they note
}


def literal_path(table: str, path: str | Path) -> str:
    """Return the SQL of where a file is, from the root on: so it is no address and in nobody's home folder."""
    place = str(Path(path).absolute())
    found = next((mark for mark in _PATTERN if mark in place), None)
    if found is not None:
        raise RegistrationError(
            table,
            reason=f"is in {place}, and DuckDB takes {found} in a name for a pattern of many names",
            remedy=f"take {found} out of the name of the file or folder",
        )
    return literal(place)


def parquet_relation(table: str, path: str | Path) -> str:
    """Return the SQL that reads a Parquet file: its own columns, whatever its folders are called."""
    pinned = ", ".join(f"{option} = {value}" for option, value in _AS_IT_IS.items())
    return f"read_parquet([{literal_path(table, path)}], {pinned})"

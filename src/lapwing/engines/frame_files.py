"""A data frame as a file: written once, whole or not at all, and readable by its owner only."""

import os
from pathlib import Path
from typing import Any

import duckdb

from lapwing.engines.files import literal_path
from lapwing.vocabulary.errors import RegistrationError

_INCOMING = "incoming"


def write_frame(table: str, frame: Any, place: Path) -> None:
    """Write a data frame of pandas, Polars or Arrow as a Parquet file that is not there yet."""
    fresh = place.with_name(f"{place.name}.new")
    fresh.unlink(missing_ok=True)
    os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # readable by nobody else from the start
    try:
        _copy(table, frame, fresh)
        with fresh.open("rb") as written:
            os.fsync(written.fileno())
        os.link(fresh, place)  # fails where a file of this name has come meanwhile: it is somebody's data
    except FileExistsError:
        raise _refusal(
            table, f"has its file {place.name} already", "leave the frame out, or name another file"
        ) from None
    finally:
        fresh.unlink(missing_ok=True)


def _copy(table: str, frame: Any, place: Path) -> None:
    connection = duckdb.connect()
    try:
        connection.register(_INCOMING, frame)
        target = literal_path(table, place)
        connection.execute(f"COPY (FROM {_INCOMING}) TO {target} (FORMAT parquet, USE_TMP_FILE false)")
    except (duckdb.Error, TypeError, ValueError, ImportError):
        remedy = "hand in a frame of pandas, Polars or Arrow with plain columns; Polars and Arrow need pyarrow"
        raise _refusal(table, f"cannot be written from a {type(frame).__name__}", remedy) from None
    finally:
        connection.close()


def _refusal(table: str, reason: str, remedy: str) -> RegistrationError:
    return RegistrationError(table, reason=reason, remedy=remedy)

"""Files of the custodian as DuckDB reads them: each under its own literal name, and each line of CSV by itself.

DuckDB takes some names for patterns, for a home folder or for an address, and columns out of the names of folders.
What is fingerprinted must be what is read. It also gives columns other names, where two are the same but for their case
or one has none: names are asked of the file or the data frame itself.

How a line of CSV is read depends on the first line of the file and on nothing else. Everything that a reader may guess
from the rows (separator, quotes, comments, the order of day and month) is pinned. A guess is made from everybody's
rows, so one more row would change what the others hold, by more than any sensitivity.

A cell of CSV has one form for each type, and nothing that a reader would round, guess or merge. DuckDB reads 7.2 as the
whole number 7, 1_0 as 10 and 2020-02-03 25:00:00 as a day. Two people whose keys become one number are one person to
everything that bounds what a person adds, so a cell of another form is refused.

A data frame becomes a file: written once, whole or not at all, and readable by its owner only.
"""

import csv
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import duckdb

from lapwing.engines.dialect import Dialect, literal
from lapwing.vocabulary.errors import RegistrationError

DUCKDB = Dialect(
    text="VARCHAR",
    integers=frozenset({"tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger"}),
    reals=frozenset({"float", "double"}),
    texts=frozenset({"varchar", "uuid", "enum"}),
    days=frozenset({"date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone"}),
    ymd="(year({0}) * 10000 + month({0}) * 100 + day({0}))",
    beginning="CAST(date_trunc('{0}', {1}) AS DATE)",
    quotient="({} // {})",
    of_least="arg_min({}, {})",
    text_number="CAST('0x' || substr(md5({}), 1, 15) AS BIGINT)",
)

MOMENT: Final = "TIMESTAMP"
"""The type of cells of CSV of which both the day and the time of day are read."""
_PATTERN: Final = "*?["
INCOMING: Final = "incoming"
_AS_IT_IS: Final = {
    "hive_partitioning": "false",
    "union_by_name": "false",
    "filename": "false",
    "file_row_number": "false",
    "binary_as_string": "false",
    "can_have_nan": "true",  # writers leave NaN out of the least and the greatest that they note
}


def literal_path(table: str, path: str | Path) -> str:
    """Return the SQL of the absolute path of a file: so DuckDB reads neither an address nor a home folder in it."""
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
    """Return the SQL that reads a Parquet file: its own columns, none from the names of its folders."""
    pinned = ", ".join(f"{option} = {value}" for option, value in _AS_IT_IS.items())
    return f"read_parquet([{literal_path(table, path)}], {pinned})"


def parquet_tree(table: str, path: str | Path) -> str:
    """Return the SQL of the columns of a Parquet file and their nested fields, under their names in the file."""
    return f"SELECT name, num_children FROM parquet_schema({literal_path(table, path)})"


def outermost(tree: Iterable[tuple[str, int | None]]) -> list[str]:
    """Return the names of the columns alone.

    >>> outermost([("schema", 3), ("pid", None), ("place", 2), ("city", None), ("street", None), ("age", None)])
    ['pid', 'place', 'age']
    """
    names, inside = list[str](), 0
    for name, children in islice(tree, 1, None):
        if inside:
            inside -= 1
        else:
            names.append(name)
        inside += children or 0
    return names


_DAY: Final = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_TIME: Final = r"([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]*)?)?"
_WHOLE: Final = "[+-]?[0-9]+"
_KEY: Final = "0|-?[1-9][0-9]*"
_FORMS: Final = {
    DUCKDB.integer: rf"{_WHOLE}(\.0+)?",  # pandas writes 7 as 7.0 where another row has nothing
    DUCKDB.real: r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:[+-]?inf(inity)?|nan)",
    DUCKDB.day: rf"{_DAY}([ T]{_TIME} ?(Z|[+-]00(:?00)?)?)?",
    MOMENT: rf"{_DAY}([ T]{_TIME} ?(Z|[+-]00(:?00)?)?)?",
    DUCKDB.truth: "(?i:true|false|t|f|yes|no|y|n|1|0)",
}
_SHORTEST: Final = {DUCKDB.integer: "{0}", DUCKDB.day: "{0} AND length({0}) = 10"}
_WORDS: Final = {
    DUCKDB.integer: "whole number of 64 bits",
    DUCKDB.real: "number",
    DUCKDB.day: "day",
    MOMENT: "day with a time",
    DUCKDB.truth: "truth value",
}
_MISSING: Final = {"na", "n/a", "nan", "null", "none", "nil", "missing", "unknown", "-", ".", "?", ""}
_ROUNDED: Final = r"[+-]?[0-9]+([.,][0-9]+[eE][+][0-9]+|[eE][+]1[1-9])"
"""How a spreadsheet writes a long number: 1.23457E+12, or 1E+12, which many numbers become."""
_WITH_COMMA: Final = re.compile(r"[+-]?[0-9.]*,[0-9]+")
_REMEDIES: Final = {
    DUCKDB.integer: "write it with digits alone, such as 1200, or declare the column as real or text",
    DUCKDB.real: "write it as 72.5 or 7.25e1, or declare the column as text",
    DUCKDB.day: "write days as 2025-12-31, or say their order: day_order = 'dmy'",
    MOMENT: "write moments as 2025-12-31 08:30:00, or say the order of days: day_order = 'dmy'",
    DUCKDB.truth: "write true or false",
}


def read_cell(column: str, kind: str, *, is_key: bool) -> str:
    """Return the SQL that reads a cell as a type of DuckDB, and fails where the cell does not have its form."""
    if is_key:
        return (
            f"CASE WHEN {is_misfit(column, kind, is_key=True)} THEN error('misfit') ELSE CAST({column} AS {kind}) END"
        )
    if kind == DUCKDB.text:
        return column
    read = f"CAST({_formed(column, kind)} AS {kind})"
    if kind not in _SHORTEST:
        return read
    # Most cells are written as DuckDB itself would write them, and to see that is quicker than to match a form.
    tried = f"TRY_CAST({column} AS {kind})"
    return f"CASE WHEN CAST({tried} AS {DUCKDB.text}) = {_SHORTEST[kind].format(column)} THEN {tried} ELSE {read} END"


def is_misfit(column: str, kind: str, *, is_key: bool) -> str:
    """Return the SQL of whether `read_cell` would fail.

    A key that is a number is written in one way, that of the database: 7, 007 and +7 may be three people.
    """
    if kind == DUCKDB.text:
        return f"coalesce({_rounded(column)}, false)" if is_key else "false"
    if is_key:
        return f"coalesce(CAST(TRY_CAST({column} AS {kind}) AS {DUCKDB.text}) <> {column}, {column} IS NOT NULL)"
    return f"({column} IS NOT NULL AND TRY_CAST({_formed(column, kind)} AS {kind}) IS NULL)"


def described(kind: str, cell: str, *, is_key: bool) -> tuple[str, str]:
    """Return what is wrong with a cell, and what to do about it, without showing the cell itself.

    >>> described(DUCKDB.real, "72,5", is_key=False)
    ('is not a number', 'write a point in place of the comma, such as 72.5, or say so of the table: decimal = ","')
    >>> described(DUCKDB.day, "NA", is_key=False)
    ('is not a day', 'leave the cell empty where nothing is known, or list such cells under missing in lapwing.toml')
    """
    said = cell.strip().lower()
    if is_key and re.fullmatch(_ROUNDED, said.upper()):
        return (
            "was rounded, as a spreadsheet does it, so that several people have one key",
            "write the keys again from where they come from, with all their digits",
        )
    remedy = _REMEDIES[kind]
    if is_key and re.fullmatch(_WHOLE, said) and not re.fullmatch(_KEY, cell):
        return (
            "is a number with more than its digits, such as 007, +7 or one beside a blank: it may be another person's",
            'if keys are texts, say so: --key-type text, or key_type = "text"; else write the number alone, such as 7',
        )
    if is_key:
        remedy = 'if keys are texts, say so: --key-type text, or key_type = "text"; else write them with digits alone'
    elif said in _MISSING:
        remedy = "leave the cell empty where nothing is known, or list such cells under missing in lapwing.toml"
    elif kind == DUCKDB.real and _WITH_COMMA.fullmatch(said):
        remedy = 'write a point in place of the comma, such as 72.5, or say so of the table: decimal = ","'
    return f"is not a {_WORDS[kind]}", remedy


def _rounded(column: str) -> str:
    """Return the SQL of whether a key that is a text is a number that a spreadsheet has rounded."""
    # To look for the sign first is quicker than to match every key.
    return f"(contains({column}, '+') AND regexp_full_match(trim({column}), {literal(_ROUNDED)}))"


def _formed(column: str, kind: str) -> str:
    """Return the SQL of a cell if it has the form of its type, and of a text that no type accepts if it has not."""
    cell, part = f"trim({column})", {DUCKDB.day: _DAY, DUCKDB.integer: _WHOLE}.get(kind)
    said = cell if part is None else f"regexp_extract({cell}, {literal(part)})"
    right = f"regexp_full_match({cell}, {literal(_FORMS[kind])})"
    return f"CASE WHEN {right} THEN {said} WHEN {column} IS NOT NULL THEN 'misfit' END"


_SEPARATORS: Final = ",;\t|"
_PINNED: Final = (
    "auto_detect = false, header = true, skip = 0, quote = '\"', escape = '\"', comment = '', nullstr = '', "
    "decimal_separator = '.', encoding = 'utf-8', compression = 'none', strict_mode = true, null_padding = false, "
    "ignore_errors = false, hive_partitioning = false, union_by_name = false, filename = false"
)
_BLOCK: Final = 1 << 20
_UTF8: Final = "save it as UTF-8, or as .parquet"
_PLAIN: Final = r"""(?:^|{0})(?:"(?:[^"]|"")*"|([^{0}]*))"""
"""A cell with what separates it from the one before; the group is a cell without quotes around it."""
_BLANK_THEN_QUOTE: Final = re.compile(r'\s+"').match
_LINE_ENDS: Final = "end lines with LF or with CR LF, and take line breaks out of the texts"
_QUOTES: Final = "close every quote, and take line breaks out of the texts: one line is one row"


class CSVFile:
    """A CSV file, of which the first line is known; `table` is what a refusal calls it."""

    def __init__(self, table: str, path: Path) -> None:
        self._table, self._path = table, path
        self._spell: Callable[[str, str], str] | None = None
        try:
            with path.open("rb") as file:
                line = file.readline().decode("utf-8-sig")
        except FileNotFoundError:
            remedy = "bring the file back, or write its new place under source in lapwing.toml"
            raise without_columns(table, f"{path} is not there", remedy) from None
        except OSError as failure:
            raise without_columns(table, f"{path} cannot be opened ({failure.strerror})", "mend its place") from None
        except UnicodeDecodeError:
            raise without_columns(table, f"{path} is not text in UTF-8", _UTF8) from None
        if "\r" in line.removesuffix("\n").removesuffix("\r"):
            raise without_columns(table, f"its lines in {path} end with CR alone", _LINE_ENDS)
        self.separator = max(_SEPARATORS, key=line.count)
        self.header = [name.strip() for name in next(csv.reader([line], delimiter=self.separator), [])]

    def spelled(self, spell: Callable[[str, str], str]) -> None:
        """Read cells as `spell` says, which is given the SQL of a cell and its type; not those of the person key."""
        self._spell = spell

    def relation(self, types: Mapping[str, str], key: str) -> str:
        """Return the SQL that reads these columns of the header, each as a type of DuckDB; a misfit makes it fail."""
        cells = ", ".join(
            f"{read_cell(DUCKDB.name(name), kind, is_key=name == key)} AS {DUCKDB.name(name)}"
            for name, kind in types.items()
        )
        return f"(SELECT {cells} FROM {self._cells(types, key)})"

    def misfit(self, types: Mapping[str, str], key: str, name: str) -> str:
        """Return the SQL of the first row whose cell in a column is none of its type, with the cell."""
        numbered = f"SELECT row_number() OVER () AS place, {DUCKDB.name(name)} AS cell FROM {self._cells(types, key)}"
        wrong = is_misfit("cell", types[name], is_key=name == key)
        return f"SELECT place, cell FROM ({numbered}) WHERE {wrong} ORDER BY place LIMIT 1"

    def refusal(self, row: int, name: str, kind: str, cell: str, *, is_key: bool) -> RegistrationError:
        """Return the refusal of a cell for the custodian: its line and column, what is wrong, and what to do."""
        with self._path.open("rb") as file:
            next(file, None)
            line, _ = next(islice(self._rows(file, 2), row - 1, None))
        what, remedy = described(kind, cell, is_key=is_key)
        cell_of = f"a person key, in column {name}," if is_key else f"a cell in column {name}"
        return self._refusal(line, f"has {cell_of} that {what}", remedy)

    def refusal_of_line(self, failure: str) -> RegistrationError:
        """Return the refusal of a line on which the database fails; its own message would quote the whole line."""
        found = re.search(r"\bLine: ([0-9]+)", failure)
        what, remedy = (
            "cannot be taken apart",
            "write it anew: texts in quotes, and no cell of more than a million signs",
        )
        if found is None:
            return RegistrationError(self._table, reason=f"has a line that {what}", remedy=remedy)
        return self._refusal(int(found[1]), what, remedy)

    def check_lines(self) -> int:
        """Return how many rows there are; refuse a line that is not text, is not a whole row or has other cells."""
        with self._path.open("rb") as file:
            next(file, None)
            rows, first = 0, 2
            while lines := file.readlines(_BLOCK):
                plain = self._are_plain(lines)
                rows += len(lines) if plain else sum(1 for line in self._rows(lines, first) if self._is_row(*line))
                first += len(lines)
        return rows

    def _are_plain(self, lines: list[bytes]) -> bool:
        """Return whether all lines have their cells and nothing that needs a second look."""
        block, commas = b"".join(lines), len(self.header) - 1
        if b'"' in block or b"\r" in block or not block.isascii() or commas == 0:
            return False
        separator = self.separator.encode()
        return {line.count(separator) for line in lines} == {commas}

    def _is_row(self, number: int, line: bytes) -> bool:
        """Return True, or refuse the line."""
        if b"\r" in line:
            raise self._refusal(number, "has a CR inside", _LINE_ENDS)
        try:
            text, mark = line.decode(), self.separator
            plain = text.count(mark) + 1
            found = len(next(csv.reader([text], delimiter=mark, strict=True), [])) if '"' in text else plain
            beside = '"' in text and any(map(_BLANK_THEN_QUOTE, re.findall(_PLAIN.format(re.escape(mark)), text)))
        except UnicodeDecodeError:
            raise self._refusal(number, "is not text in UTF-8", _UTF8) from None
        except csv.Error:
            raise self._refusal(number, "has a quote that is not closed, or text after one", _QUOTES) from None
        if beside:
            raise self._refusal(number, "has a blank before a quote", "begin the cell with its quote, or take both out")
        if found != len(self.header):
            what = f"has {found:,} cells, and the header has {len(self.header):,}"
            remedy = f'write a text or a number that holds "{mark}" in double quotes'
            raise self._refusal(number, what, remedy)
        return True

    def check_rows(self, lines: int, rows: int) -> None:
        """Refuse a file of which not every line was read as one row: an open quote swallows the rows of others."""
        if lines != rows:
            reason = f"has {lines:,} lines below its header, which hold {rows:,} rows"
            raise RegistrationError(self._table, reason=reason, remedy=_QUOTES)

    def _rows(self, lines: Iterable[bytes], first: int) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the content of each line that is a row."""
        for number, line in enumerate(lines, start=first):
            content = line.removesuffix(b"\n").removesuffix(b"\r")
            if content or len(self.header) == 1:
                yield number, content

    def _refusal(self, line: int, what: str, remedy: str) -> RegistrationError:
        return RegistrationError(self._table, reason=f"cannot be read: line {line:,} {what}", remedy=remedy)

    def _cells(self, types: Mapping[str, str], key: str) -> str:
        """Return the SQL of the declared columns as texts, each cell spelt as its type is read."""
        if self._spell is None:
            return self._texts(types)
        cells = [
            f"{name if one == key else self._spell(name, kind)} AS {name}"
            for one, kind in types.items()
            for name in [DUCKDB.name(one)]
        ]
        return f"(SELECT {', '.join(cells)} FROM {self._texts(types)})"

    def _texts(self, types: Mapping[str, str]) -> str:
        columns = [name if name in types else f"column {i} of the file" for i, name in enumerate(self.header, start=1)]
        named = ", ".join(f"{literal(name)}: {literal(DUCKDB.text)}" for name in columns)
        place = literal_path(self._table, self._path)
        return f"read_csv({place}, delim = {literal(self.separator)}, columns = {{{named}}}, {_PINNED})"


def without_columns(table: str, reason: str, remedy: str = "name the right place") -> RegistrationError:
    """Return the refusal of a table whose columns cannot be found."""
    return RegistrationError(table, reason=f"has no columns to be found: {reason}", remedy=remedy)


def register_frame(connection: duckdb.DuckDBPyConnection, table: str, key: str, frame: Any) -> str:
    """Make a data frame of pandas, Polars or Arrow known to a connection, and return under which name.

    Objects of several types in one column of pandas become texts, and so 7 and "7", or a UUID and any way to write it,
    one person: as keys they are refused.
    """
    if _is_of_pandas(frame):
        named = [column for name, column in frame.items() if str(name).casefold() == key.casefold()]
        types = sorted({type(each).__name__ for column in named if column.dtype == object for each in column.dropna()})
        if len(types) > 1:
            reason = f"has person keys of several types in one column, {', '.join(types)}"
            raise _refusal(table, reason, f'make them of one type, such as frame["{key}"].astype("string")')
    try:
        connection.register(INCOMING, frame)
    except (duckdb.Error, TypeError, ValueError, ImportError):
        raise _no_frame(table, frame) from None
    return INCOMING


def names_of_frame(table: str, frame: Any) -> list[str]:
    """Return the column names of a data frame, by its own schema."""
    if _is_of_pandas(frame):
        return [str(name) for name in frame.columns]
    if isinstance(frame, Mapping):  # arrays by the names of their columns, as made-up rows are
        return [str(name) for name in frame]
    if hasattr(frame, "collect_schema"):  # of Polars, lazy or not
        return list(frame.collect_schema().names())
    try:
        return list(frame.schema.names)  # of Arrow
    except AttributeError:
        raise _no_frame(table, frame) from None


def refusal_of_name(table: str, name: str, read_as: str) -> RegistrationError:
    """Return the refusal of a column that DuckDB gives another name, since it has none or there is one more of it."""
    reason = f"has a column {name!r} that is read as {read_as!r}"
    return _refusal(table, reason, "rename it, or what is called the same but for its case")


def _is_of_pandas(frame: Any) -> bool:
    return any(kind.__module__.partition(".")[0] == "pandas" for kind in type(frame).__mro__)


def write_frame(table: str, frame: Any, place: Path, key: str) -> None:
    """Write a data frame of pandas, Polars or Arrow as a Parquet file that is not there yet; `key` is the person's."""
    fresh = place.with_name(f"{place.name}.new")
    fresh.unlink(missing_ok=True)
    os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # readable by its owner only, from the start
    try:
        _copy(table, frame, fresh, key)
        with fresh.open("rb") as written:
            os.fsync(written.fileno())
        os.link(fresh, place)  # fails if a file of this name was made meanwhile: it may be data
    except FileExistsError:
        raise _refusal(
            table, f"has its file {place.name} already", "leave the frame out, or name another file"
        ) from None
    finally:
        fresh.unlink(missing_ok=True)


def _copy(table: str, frame: Any, place: Path, key: str) -> None:
    with duckdb.connect() as connection:
        incoming, target = register_frame(connection, table, key, frame), literal_path(table, place)
        try:
            described = connection.execute(f"DESCRIBE FROM {incoming}").fetchall()
            for name, (read_as, *_) in zip(names_of_frame(table, frame), described, strict=True):
                if name != read_as:
                    raise refusal_of_name(table, name, read_as)
            connection.execute(f"COPY (FROM {incoming}) TO {target} (FORMAT parquet, USE_TMP_FILE false)")
        except (duckdb.Error, TypeError, ValueError, ImportError):
            raise _no_frame(table, frame) from None


def _no_frame(table: str, frame: Any) -> RegistrationError:
    remedy = "hand in a frame of pandas, Polars or Arrow with plain columns; Polars and Arrow need pyarrow"
    return _refusal(table, f"cannot be taken from a {type(frame).__name__}", remedy)


def _refusal(table: str, reason: str, remedy: str) -> RegistrationError:
    return RegistrationError(table, reason=reason, remedy=remedy)

"""What differs between the databases, and nothing else: names of types, quotes, parameter marks, a few functions.

A dialect is data. The SQL that `emitter` writes is otherwise the same everywhere and uses only functions that cannot
fail, whatever value they meet.
"""

from collections.abc import Callable
from dataclasses import dataclass

SMALL = 2**20
"""Of so small terms 64 bits hold the sum of 2^43 rows, more than a table of PostgreSQL can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one database spells what all of them can do.

    Parameters
    ----------
    quote : the character around names, doubled inside them
    mark : the mark of parameter n = 0, 1, ...; it may stand in more than one place
    integer, real, text, day, truth : the types of 64-bit integers, doubles, text, days and truth values
    total : the exact sum of a 64-bit integer expression, too wide to overflow
    small_total : the same for terms of at most `SMALL`, if that can be had quicker
    day_number : the days since 1970-01-01 of a day expression
    ymd : year * 10000 + month * 100 + day of a day expression, as a 64-bit integer
    text_number : the first 60 bits of the MD5 of a text expression, as a 64-bit integer (`picking.text_number`)
    text_order : a text expression, to be ordered byte by byte
    starts_with : whether a text expression starts with another
    compares_rows : whether a subquery may compare its rows with columns of the queries around it by other signs than
        equality; if not, each row is joined by its person with the values that it is compared with
    in_order : a SELECT that is best planned on its own, with its rows in an order that the next step can use
    """

    quote: str
    mark: Callable[[int], str]
    integer: str
    real: str
    text: str
    day: str
    truth: str
    total: str
    day_number: str
    ymd: str
    text_number: str
    text_order: str
    starts_with: str
    small_total: str | None = None
    in_order: str = "{0}"
    compares_rows: bool = True

    def name(self, name: str) -> str:
        """Return a name as an identifier.

        >>> DUCKDB.name('we"ird')
        '"we""ird"'
        """
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote


DUCKDB = Dialect(
    quote='"',
    mark=lambda n: f"${n + 1}",
    integer="BIGINT",
    real="DOUBLE",
    text="VARCHAR",
    day="DATE",
    truth="BOOLEAN",
    total="SUM({})",
    day_number="({} - DATE '1970-01-01')",
    ymd="(year({0}) * 10000 + month({0}) * 100 + day({0}))",
    text_number="CAST('0x' || substr(md5({}), 1, 15) AS BIGINT)",
    text_order="{}",
    starts_with="starts_with({}, {})",
)

POSTGRES = Dialect(
    quote='"',
    mark=lambda n: f"${n + 1}",
    integer="BIGINT",
    real="DOUBLE PRECISION",
    text="TEXT",
    day="DATE",
    truth="BOOLEAN",
    total="SUM({})",
    small_total="SUM(CAST({} AS INTEGER))",  # 64 bits wide, where a sum of 64-bit integers is a decimal
    day_number="({} - DATE '1970-01-01')",
    ymd="CAST(date_part('year', {0}) * 10000 + date_part('month', {0}) * 100 + date_part('day', {0}) AS BIGINT)",
    text_number="CAST(CAST('x' || substr(md5({}), 1, 15) AS BIT(60)) AS BIGINT)",
    text_order='{} COLLATE "C"',
    starts_with="starts_with({}, {})",
    # OFFSET keeps an expression from being copied to every place that names it, four times for a rank; and people in
    # order are grouped and ranked without a hash table that outgrows its memory.
    in_order="{0} ORDER BY {1} OFFSET 0",
)

SPARK = Dialect(
    quote="`",
    mark=lambda n: f":p{n}",
    integer="BIGINT",
    real="DOUBLE",
    text="STRING",
    day="DATE",
    truth="BOOLEAN",
    total="SUM(CAST({} AS DECIMAL(38, 0)))",
    day_number="datediff({}, DATE '1970-01-01')",
    ymd="CAST(year({0}) * 10000 + month({0}) * 100 + day({0}) AS BIGINT)",
    text_number="CAST(conv(substr(md5(CAST({} AS BINARY)), 1, 15), 16, 10) AS BIGINT)",
    text_order="{}",
    starts_with="startswith({}, {})",
    # It sees no further than the query around, and pairs every row with everybody's values where those are not equated.
    compares_rows=False,
)


def literal(text: str) -> str:
    """Return the SQL of a text that the custodian gave, where no parameter may stand."""
    return "'" + text.replace("'", "''") + "'"

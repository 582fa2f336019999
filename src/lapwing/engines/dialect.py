"""What differs between the databases, and nothing else: names of types, quotes, parameter marks, a few functions.

A dialect is data. The SQL that `emitter` writes is otherwise the same everywhere and uses only functions that cannot
fail, whatever value they meet.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one database spells what all of them can do.

    Parameters
    ----------
    quote : the character around names, doubled inside them
    mark : the mark of parameter n = 0, 1, ...; it may stand in more than one place
    integer, real, text, day, truth : the types of 64-bit integers, doubles, text, days and truth values
    total : the exact sum of a 64-bit integer expression, too wide to overflow
    day_number : the days since 1970-01-01 of a day expression
    ymd : year * 10000 + month * 100 + day of a day expression, as a 64-bit integer
    text_number : the first 60 bits of the MD5 of a text expression, as a 64-bit integer (`picking.text_number`)
    text_order : a text expression, to be ordered byte by byte
    starts_with : whether a text expression starts with another
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

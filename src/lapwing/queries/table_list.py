"""What may be asked: the tables of a population, with their columns, types and bounds. All of it is public."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, overload

from lapwing.queries.catalogue import Table, named_among
from lapwing.vocabulary.results import Result, html_table


@dataclass(frozen=True, slots=True, repr=False)
class TableList(Result, Sequence[Table]):
    """The tables of a population: `tables["patients"]` is one of them, and so is `tables[0]`."""

    population: str
    tables: tuple[Table, ...]

    def __len__(self) -> int:
        return len(self.tables)

    @overload
    def __getitem__(self, which: int | str) -> Table: ...
    @overload
    def __getitem__(self, which: slice) -> Self: ...
    def __getitem__(self, which: int | str | slice) -> Table | Self:
        if isinstance(which, slice):
            return type(self)(self.population, self.tables[which])
        return (
            named_among("table", which, self.tables, self.population) if isinstance(which, str) else self.tables[which]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return them as JSON values."""
        return {"population": self.population, "tables": [table.to_dict() for table in self.tables]}

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the tables and their columns, in words."""
        return [fact for table in self.tables for fact in table.facts()]

    def _repr_html_(self) -> str:
        lines = [[f"{table.name}: {table.rows_in_words}", *line] for table in self.tables for line in table.lines()]
        return html_table(("table", "column", "type", "values", "may be missing"), lines, self.population)

    def __repr__(self) -> str:
        return "\n\n".join(map(str, self.tables)) or f"<population {self.population} has no tables>"

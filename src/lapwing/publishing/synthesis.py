"""What a synthesis is of, and what came of it: the nouns that tables, reports and files are made from."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from lapwing.answers.frames import FrameColumn, key_columns
from lapwing.answers.releases import Price
from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.boxes import box_of
from lapwing.publishing.codes import MOST_COLUMNS, CodedColumn
from lapwing.publishing.stages import Measured, Released, SynthesisPlan
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import ConditionLike
from lapwing.queries.limits import MOST_NUMBERS
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.counts import CountPeople
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most
from lapwing.vocabulary.frozen import frozen

_MOST_CELLS: Final = 2_000_000
"""Cells of all tables that a synthesis looks at: they are in memory while it compares them with its model."""
NOBODY: Final = "a synthetic row is nobody: it is made up from noisy tables, and no row of the data is in it"


@frozen()
class SyntheticColumn:
    """A column of a synthetic table: its codes, and the columns of a frame that show them, a value for each code."""

    coded: CodedColumn
    shown: tuple[FrameColumn, ...]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.coded.name


@frozen()
class SynthesisOffer:
    """What a synthesis is of: a table, columns of it, and the plan that follows from them and from what is paid."""

    population: Population
    table: str
    columns: tuple[SyntheticColumn, ...]
    plan: SynthesisPlan

    @property
    def names(self) -> list[str]:
        """The columns by their names."""
        return [one.name for one in self.columns]

    def places(self, names: Sequence[str]) -> Axes:
        """Return the places of columns in the order of their names; refuse those that it does not have."""
        known = {one.name.casefold(): place for place, one in enumerate(self.columns)}
        unknown = [name for name in names if not isinstance(name, str) or name.casefold() not in known]
        if unknown:
            there = ", ".join(self.names)
            raise BadQuestionError(f"{unknown[0]!r} is no column of this synthetic table; it has {there}")
        return tuple(dict.fromkeys(known[name.casefold()] for name in names))

    def box(self, where: ConditionLike, codes: Mapping[str, object]) -> dict[int, list[bool]]:
        """Return the box that a condition and codes mean; see `SyntheticTable.count`."""
        coded = [one.coded for one in self.columns]
        box = {} if where is None else box_of(where, self.table, coded, self.population)
        for name, meant in codes.items():
            (place,) = self.places((name,))
            listed = {coded[place].place_of(one) for one in (meant if isinstance(meant, list) else [meant])}
            before = box.get(place, [True] * len(coded[place]))
            box[place] = [old and code in listed for code, old in enumerate(before)]
        return box


@frozen(eq=False)
class Synthesis:
    """What came of a synthesis: what its stages have `released`, and what was `measured` and fitted from that."""

    offer: SynthesisOffer
    measured: Measured
    released: Sequence[Released]
    price: Price
    versions: Mapping[str, int]
    name: str
    remark: str | None = None


def check_size(plan: SynthesisPlan, columns: Sequence[CodedColumn]) -> None:
    """Refuse what would not fit memory, or the ledger, whatever is chosen on the way."""
    check_most("columns", len(columns), MOST_COLUMNS, "synthesize fewer")
    widest = max(columns, key=len)
    wider = f"name wider bins, for instance of {widest.name!r}, which has {len(widest)} codes"
    numbers = 1 + sum(plan.cells(axes) for axes in (*plan.ones, *plan.pairs))
    check_most("numbers in its pairs of columns", numbers, MOST_NUMBERS, f"{wider}, or synthesize fewer columns")
    cells = sum(plan.cells(axes) for axes in plan.workload)
    instead = "take up_to=2, " if plan.degree > 2 else ""  # noqa: PLR2004 - more than pairs
    check_most("cells in the tables that are looked at", cells, _MOST_CELLS, f"{instead}{wider}")


def shown_columns(table: str, column: CodedColumn, population: Population) -> SyntheticColumn:
    """Return a column with what a frame shows for each of its codes: nothing for other and missing values."""
    planned = plan(CountPeople(table=table, by=(column.by,), max_groups=1), population)
    cells = [(code,) for code in (*column.codes, None)]
    shown = key_columns(planned, planned.titled((column.name,)), cells, {})
    return SyntheticColumn(coded=column, shown=tuple(FrameColumn(one.name, _plain(one), one.kind) for one in shown))


def _plain(column: FrameColumn) -> list[Any]:
    return [value if isinstance(value, date | None) else column.kind(value) for value in column.values]

"""The form that says what is published: columns of people, their bins, conditions, and what is offered for it.

*Publish* and *Synthetic table* share it. Nothing here reads data or spends.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from lapwing.doors.server.pages.cohort_document import UnclearError
from lapwing.doors.server.pages.dictionary import Dictionary, Field
from lapwing.doors.server.pages.drafts import whole
from lapwing.doors.server.pages.page_visit import PageVisit
from lapwing.vocabulary.frozen import frozen

Values: TypeAlias = Callable[[str], Sequence[str]]
"""All values of a field of a form, or of a word of the address."""

CONDITIONS: Final = 3
"""How many conditions a form has room for."""
PAYS: Final = ("within", "epsilon", "rho")
_FIRST: Final = 3
_AMOUNT: Final = re.compile(r"\d{1,3}(\.\d{1,9})?")
_EDGES: Final = re.compile(r"\s*-?\d{1,12}(\.\d{1,6})?(\s*[,;]\s*-?\d{1,12}(\.\d{1,6})?)+\s*")
_DELTA: Final = re.compile(r"\d(\.\d{1,12})?([eE]-\d{1,3})?")


@frozen()
class ChosenColumns:
    """The columns that were chosen, the edges of those that have bins, and conditions with their names, as typed.

    They are of people, or of the rows of the `table` with many rows a person that is named.
    """

    names: tuple[str, ...]
    edges: dict[str, str]
    conditions: tuple[tuple[str, str], ...]
    table: str = ""

    @property
    def spoken(self) -> tuple[tuple[str, str], ...]:
        """The conditions that say something."""
        return tuple(one for one in self.conditions if any(one))

    def words(self) -> dict[str, Any]:
        """Return the words of an address that choose the same."""
        binned = {f"edges.{name}": self.edges[name] for name in self.names if name in self.edges}
        said = {
            f"{word}.{n}": text for n, one in enumerate(self.spoken) for word, text in zip(_WORDS, one, strict=True)
        }
        about = {"table": self.table} if self.table else {}
        return {"chosen": "1", **about, "col": list(self.names), **binned, **said}

    def body(self, dictionary: Dictionary) -> dict[str, Any]:
        """Return the table and the columns of a request to the API."""
        if dictionary.person is None:
            raise UnclearError("cohort.unclear.no_person")
        known = {one.name: one for one in _groupings(dictionary, self.table)}
        columns = [{"name": name, "by": self._by(known[name])} for name in self.names if name in known]
        for name, where in self.spoken:
            if not name or not where:
                raise UnclearError("publish.unclear.condition", given=(name or where)[:40])
            columns.append({"name": name, "by": where})
        if not columns:
            raise UnclearError("publish.unclear.none")
        return {"table": self.table or dictionary.person.name, "columns": columns}

    def _by(self, field: Field) -> str:
        if not field.edges:
            return field.written
        given = self.edges.get(field.name) or edges_text(field)
        if not _EDGES.fullmatch(given):
            raise UnclearError("publish.unclear.edges", given=given[:40], column=field.title)
        return f"bins({field.written}, {', '.join(part.strip() for part in re.split('[,;]', given))})"


_WORDS: Final = ("name", "where")


@frozen()
class PublishOffer:
    """What is offered, as it was typed: a margin or a price."""

    pay: str
    within: str
    epsilon: str
    delta: str
    rho: str

    def words(self) -> dict[str, str]:
        """Return the words of an address that offer the same."""
        beside = {"delta": self.delta} if self.pay == "epsilon" and self.delta else {}
        return {"pay": self.pay, self.pay: str(getattr(self, self.pay)), **beside}

    def body(self) -> dict[str, str]:
        """Return the price of a request to the API."""
        if self.pay == "within":
            whole("within", self.within)
            return {"within": self.within}
        offered = {name: given for name, given in self.words().items() if name != "pay"}
        for name, given in offered.items():
            if not (_DELTA if name == "delta" else _AMOUNT).fullmatch(given):
                raise UnclearError(f"sql.unclear.{name}", given=given[:40])
        return offered


def edges_text(field: Field) -> str:
    """Return the edges that are proposed for the bins of a column."""
    return ", ".join(map(str, field.edges))


def values_of(visit: PageVisit) -> Values:
    """Return the values of the form that was sent, or else of the address."""
    if visit.request.method == "POST":
        return lambda name: [one.strip() for one in visit.fields.get(name, [])]
    return visit.request.query_params.getlist


def _groupings(dictionary: Dictionary, table: str) -> list[Field]:
    return dictionary.groupings_of(table) if table else dictionary.groupings


def chosen_columns(values: Values, dictionary: Dictionary, table: str = "") -> ChosenColumns:
    """Return the columns that were chosen; before anything was, the first few."""
    groupings = _groupings(dictionary, table)
    known = [one.name for one in groupings]
    names = [name for name in known if name in values("col")] if values("chosen") else known[:_FIRST]
    binned = {one.name: last_of(values, f"edges.{one.name}") for one in groupings if one.edges}
    conditions = tuple(
        (last_of(values, f"name.{n}")[:60], last_of(values, f"where.{n}")[:4000]) for n in range(CONDITIONS)
    )
    return ChosenColumns(
        names=tuple(names),
        edges={name: one for name, one in binned.items() if one},
        conditions=conditions,
        table=table,
    )


def offer_of(values: Values, within: str = "50") -> PublishOffer:
    """Return what is offered, with defaults."""
    pay = last_of(values, "pay", "within")
    return PublishOffer(
        pay=pay if pay in PAYS else "within",
        within=last_of(values, "within", within),
        epsilon=last_of(values, "epsilon", "0.5"),
        delta=last_of(values, "delta"),
        rho=last_of(values, "rho", "0.02"),
    )


def last_of(values: Values, name: str, default: str = "") -> str:
    """Return the last value under a name, without blanks around it."""
    return ([*values(name)] or [default])[-1].strip() or default

"""How many rows people have, from one cheap count: how much a `max_rows` leaves out, and which one to choose.

A person is in one group of those who have as many rows, so that the whole release costs what a count of people costs,
however many rows people have. Everything after it is computed from the released numbers.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Unpack

from lapwing.answers.answer import Answer
from lapwing.answers.preview import Preview
from lapwing.answers.releases import CONFIDENCE
from lapwing.answers.target import TargetWords
from lapwing.queries.catalogue.population import RowsPerPerson
from lapwing.queries.language.builders import ConditionLike, bins, number_of
from lapwing.queries.planning.planner import Question
from lapwing.queries.statistics.counts import count
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_int, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import shows_words

if TYPE_CHECKING:
    from lapwing.session import AskingSession

_TIMES: Final = 4
_USUAL: Final = 32
_LARGEST: Final = 1 << 14
_SHARES: Final = ("0.2", "0.1", "0.05", "0.01")


@frozen()
class CutShare:
    """How much of all rows is left out where `max_rows` of a person count: about `share`, between `low` and `high`."""

    max_rows: int
    share: float
    low: float
    high: float

    def __str__(self) -> str:
        """Say it in per cent."""
        about, low, high = (f"{100 * one:.0f}" for one in (self.share, self.low, self.high))
        return f"max_rows={self.max_rows} leaves out about {about} % ({low} to {high})"


@frozen()
class RowsAPerson:
    """How many people have how many rows in a table, of which up to `most` of each were counted.

    `answer` has the released numbers, one for each span of rows; `spans` are their ends.
    """

    table: str
    answer: Answer
    spans: tuple[tuple[int, int], ...]

    @property
    def most(self) -> int:
        """How many rows of a person were counted at most: what follows is about these."""
        return self.spans[-1][1]

    def cut(self, max_rows: int, *, confidence: Exact = "0.95") -> CutShare:
        """Estimate which share of the rows is left out, with bounds for every number of rows within the spans.

        The bounds hold for all `max_rows` at once, because those of the released numbers do.
        """
        limit = as_int("max_rows", max_rows)
        cut, kept = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
        for (first, last), row in zip(self.spans, self.answer.bounded(confidence), strict=True):
            (cell,) = row.cells.values()
            low, value, high = (float(one or 0) for one in (cell.low, cell.value, cell.high))
            people = (max(0.0, low), value, max(0.0, high))
            rows = (first, math.sqrt(first * last), last)  # fewer people have many rows than few
            for place, (many, each) in enumerate(zip(people, rows, strict=True)):
                cut[place] += many * max(0.0, each - limit)
                kept[place] += many * min(each, limit)
        least, most = _share(cut[0], kept[2]), _share(cut[2], kept[0], nothing=1.0)
        share = min(max(_share(cut[1], kept[1]), least), most)
        return CutShare(max_rows=limit, share=share, low=least, high=most)

    def enough(self, share: Exact = "0.1") -> int:
        """Return the least `max_rows` that leaves out about this share of the rows, or less."""
        limit = probability("share", share)
        return next((m for m in range(1, self.most) if Fraction(self.cut(m).share) <= limit), self.most)

    @property
    def told(self) -> tuple[int, ...]:
        """The numbers of rows that are worth telling: the ends of the spans, up to one that leaves out a tenth."""
        chosen = self.enough()
        return tuple(sorted({1, *(last for _, last in self.spans[:-1] if last <= chosen), chosen}))

    def __str__(self) -> str:
        """Say what some numbers of rows leave out, and which to choose."""
        words = "; ".join(str(self.cut(limit)) for limit in self.told)
        return f"of the rows in {self.table}, up to {self.most} of each person: {words}"

    def to_dict(self, confidence: Exact = CONFIDENCE, also: Iterable[int] = ()) -> dict[str, Any]:
        """Return it as JSON values: people by rows, what each of some `max_rows` leaves out, and which is enough."""
        cells = [next(iter(row.cells.values())) for row in self.answer.bounded(confidence)]
        people = [[float(one or 0) for one in (cell.value, cell.low, cell.high)] for cell in cells]
        told = self.answer.to_dict(confidence)
        kept = ("asked", "confidence", "margin", "price", "receipt", "versions", "free")
        return {
            "table": self.table,
            "up_to": self.most,
            "spans": [
                {"first": first, "last": last, "people": about, "low": low, "high": high}
                for (first, last), (about, low, high) in zip(self.spans, people, strict=True)
            ],
            "cuts": [vars_of(self.cut(limit, confidence=confidence)) for limit in sorted({*self.told, *also})],
            "enough": [{"share": share, "max_rows": self.enough(share)} for share in _SHARES],
            **{name: told[name] for name in kept},
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return facts about it, by name: which `max_rows` is enough, and those of its answer."""
        enough = ", ".join(f"{self.enough(share)} for {format_share(share)}" for share in _SHARES)
        return [("enough", f"max_rows that leave out no more than about so much: {enough}"), *self.answer.facts()]


def vars_of(one: CutShare) -> dict[str, Any]:
    """Return what a bound of rows cuts as JSON values."""
    return {"max_rows": one.max_rows, "share": one.share, "low": one.low, "high": one.high}


def format_share(share: str) -> str:
    """Return a share in per cent.

    >>> format_share("0.05")
    '5 %'
    """
    return f"{100 * Fraction(share)} %"


class AskedRows(NamedTuple):
    """The count of people by how many rows they have, and the ends of its spans."""

    question: Question
    spans: tuple[tuple[int, int], ...]


def _share(cut: float, kept: float, nothing: float = 0.0) -> float:
    return cut / (cut + kept) if cut + kept > 0 else nothing


@shows_words(TargetWords, confidence="0.95")
def rows_a_person(
    session: "AskingSession",
    table: str,
    where: ConditionLike = None,
    *,
    up_to: int | None = None,
    key: str | None = None,
    **target: Unpack[TargetWords],
) -> RowsAPerson:
    """Ask how many rows people have in a table, at the price of one count: it says how much `max_rows` leaves out.

    Parameters
    ----------
    table : one with many rows a person
    where : which rows
    up_to : how many rows of a person are counted; four times the table's own `max_rows`, if it is not said
    key : the idempotency key
    target : `epsilon=`, `epsilon=` with `delta=`, `rho=`, or `within=`; a small part of a price will do

    >>> import tempfile, lapwing as lw
    >>> with lw.create(lw.make_clinic(tempfile.mkdtemp() + "/clinic", people=2000)) as workspace:
    ...     found = workspace.session().rows_a_person("visit", epsilon="0.2")
    >>> found.cut(1).low < found.cut(1).share < found.cut(1).high
    True
    """
    asked = asked_rows(session, table, where, up_to=up_to)
    return RowsAPerson(table=table, answer=session.ask(asked.question, key=key, **target), spans=asked.spans)


@shows_words(TargetWords, confidence="0.95")
def preview_rows_a_person(
    session: "AskingSession",
    table: str,
    where: ConditionLike = None,
    *,
    up_to: int | None = None,
    **target: Unpack[TargetWords],
) -> Preview:
    """Say what `rows_a_person` would cost, and how far off the number of people of each span would be. It is free.

    >>> import tempfile, lapwing as lw
    >>> with lw.create(lw.make_clinic(tempfile.mkdtemp() + "/clinic", people=200)) as workspace:
    ...     print(workspace.session().preview_rows_a_person("visit", epsilon="0.2").price)
    epsilon 0.2
    """
    return session.preview(asked_rows(session, table, where, up_to=up_to).question, **target)


def asked_rows(
    session: "AskingSession", table: str, where: ConditionLike = None, *, up_to: int | None = None
) -> AskedRows:
    """Return what is asked, and the ends of its spans; what cannot be is refused, before anything is charged."""
    there = session.population.table(table)
    if there.rows is RowsPerPerson.ONE_A_PERSON:
        raise BadQuestionError(f"a person has one row in {table}, so no bound of rows cuts anything there")
    declared = there.max_rows
    most = as_int("up_to", _TIMES * declared if up_to is None and declared else up_to or _USUAL, least=2, most=_LARGEST)
    firsts = [1, 2, *((1 << power) + 1 for power in range(1, (most - 1).bit_length()))]
    firsts = [first for first in firsts if first < most]
    spans = tuple(zip(firsts, [*(first - 1 for first in firsts[1:]), most], strict=True))
    return AskedRows(count(table, where, by=bins(number_of(table, where, most=most), [*firsts, most])), spans)

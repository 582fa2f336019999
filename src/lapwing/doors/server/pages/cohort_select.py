"""The SELECT that asks for a statistic of a cohort: the mean, median or sum of a value, or a time line of counts.

Of a table with many rows a person, the rows of the people in the cohort are meant, as a semijoin says it.
"""

from typing import Final

from lapwing.doors.server.pages.cohort_document import CohortDraft, UnclearError
from lapwing.doors.server.pages.cohort_text import text_of
from lapwing.doors.server.pages.dictionary import Dictionary, Field, Source
from lapwing.vocabulary.frozen import frozen

STATISTICS: Final = {"mean": "avg", "median": "median", "sum": "sum"}
"""What can be asked of a value, with its function."""
STEPS: Final = ("month", "quarter", "year")
VALUE, TIME = "value", "time"
BUILT: Final = frozenset({VALUE, TIME})
"""The kinds of question that are asked as a SELECT; they may be about everybody."""


@frozen()
class SelectTerms:
    """What a SELECT is made of, as it was chosen: a statistic of a column, by groups or not; or a day, in steps."""

    stat: str
    of: str
    split: str
    day: str
    step: str

    def checked(self, dictionary: Dictionary) -> "SelectTerms":
        """Return the choices with what is not there replaced: by the first column, and by no groups."""
        values, days = dictionary.values, dictionary.days
        of = self.of if self.of in {one.path for one in values} else values[0].path if values else ""
        day = self.day if self.day in {one.path for one in days} else days[0].path if days else ""
        splits = {one.name for one in groups_beside(dictionary, of)}
        return SelectTerms(
            stat=self.stat if self.stat in STATISTICS else "mean",
            of=of,
            split=self.split if self.split in splits else "",
            day=day,
            step=self.step if self.step in STEPS else "quarter",
        )

    def words(self, kind: str) -> dict[str, str]:
        """Return the words of the address of a kind of question."""
        if kind == TIME:
            return {"day": self.day, "step": self.step}
        return {"stat": self.stat, "of": self.of, **({"split": self.split} if self.split else {})}


def groups_beside(dictionary: Dictionary, of: str) -> list[Field]:
    """Return the columns of the same table that make declared groups of a value."""
    field = dictionary.field(of)
    source = None if field is None else dictionary.source(field.table)
    return [] if source is None else [one for one in source.fields if one.kind in {"category", "boolean"}]


def select_of(kind: str, terms: SelectTerms, cohort: CohortDraft, dictionary: Dictionary) -> str:
    """Return the statement that is asked."""
    field = dictionary.field(terms.day if kind == TIME else terms.of)
    source = None if field is None else dictionary.source(field.table)
    if field is None or source is None:
        raise UnclearError("cohort.unclear.no_days" if kind == TIME else "cohort.unclear.no_values")
    rows = _rows(source, cohort, dictionary)
    if kind == TIME:
        what = f"date_trunc('{terms.step}', {field.written}) as {terms.step}, count(*) as {_counted(source)}"
        return f"select {what}\n{rows}\ngroup by 1\norder by 1"
    split = source.field(terms.split)
    what = f"{STATISTICS[terms.stat]}({field.written}) as {terms.stat}"
    return f"select {what}\n{rows}" if split is None else f"select {split.written}, {what}\n{rows}\ngroup by 1"


def _counted(source: Source) -> str:
    return "people" if source.is_person else "entries"


def _rows(source: Source, cohort: CohortDraft, dictionary: Dictionary) -> str:
    """Return all that follows the columns: the table, and whose rows are meant."""
    text, person = text_of(cohort, dictionary), dictionary.person
    if not text:
        return f"from {source.written}"
    if source.is_person:
        return f"from {source.written}\nwhere {text}"
    if person is None:
        raise UnclearError("cohort.unclear.no_person")
    key = dictionary.person_key
    return f"from {source.written}\nwhere {key} in (select {key} from {person.written} where {text})"  # noqa: S608 - declared names

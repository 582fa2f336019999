"""The page of studies: clusters, components, trees, models and graphs, each in rounds under one price.

Which study is a link, so that its form has its own fields without a script. What is shown of a result follows from what
its rounds have released.
"""

import csv
import io
import json
import re
from typing import Any, Final

from starlette.responses import Response

from lapwing.doors.server.pages.analysis_form import analysis_offer, said, text_of_field
from lapwing.doors.server.pages.answer_code import opening_lines
from lapwing.doors.server.pages.cohort_document import UnclearError
from lapwing.doors.server.pages.dictionary import Dictionary, Field
from lapwing.doors.server.pages.drafts import dictionary_for, has_delta
from lapwing.doors.server.pages.page_visit import Page, PageVisit
from lapwing.doors.server.pages.paid_form import PaidForm
from lapwing.doors.server.pages.proof_pages import proofs_of
from lapwing.doors.server.pages.publication_page import file_of, is_running, settled
from lapwing.doors.server.pages.published_columns import PublishOffer, edges_text, values_of
from lapwing.doors.server.pages.showing import address_of
from lapwing.doors.server.pages.study_result import result_of
from lapwing.doors.studies import OF_GRAPHS
from lapwing.graphs.pair_tables import read_pair_table
from lapwing.publishing.written_out import safe_cell
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.frozen import frozen

P: Final = "/populations/{population}/study"
_ONE: Final = "/populations/{population}/studies/{key}"
OF_PEOPLE: Final = ("k_means", "principal_components", "decision_tree", "train")
OF_A_SAMPLE: Final = "sample_count"
_TRAINED: Final = "train"
MODELS: Final = ("linear", "logistic", "softmax", "dense(16)")
_WHOLE: Final = {
    "k_means": ("clusters",),
    "decision_tree": ("depth",),
    "train": ("people",),
    "stars": ("points",),
    "degrees": ("up_to",),
    "sample_count": ("rate",),
}
"""The numbers that each study takes."""
_PROPOSED: Final = {"clusters": "3", "depth": "2", "people": "", "points": "2", "up_to": "10", "rate": "1/10"}
_FIRST: Final = 2
_MOST: Final = 10**12
_RATE: Final = re.compile(r"0?\.\d{1,9}|1/[1-9]\d{0,6}|[1-9]\d{0,6}/[1-9]\d{0,6}")


@frozen()
class StudyDraft:
    """All that the form says: what is studied, of which columns, its whole numbers as typed, and the offer."""

    of: str
    table: str
    columns: tuple[str, ...]
    outcome: str
    model: str
    numbers: dict[str, str]
    where: str
    offer: PublishOffer

    def words(self) -> dict[str, Any]:
        """Return the words of an address that show this draft."""
        own = said(of=self.of, table=self.table, outcome=self.outcome, model=self.model, where=self.where)
        return {"chosen": "1", **own, "col": list(self.columns), **said(**self.numbers), **self.offer.words()}

    def body(self, visit: PageVisit) -> dict[str, Any]:
        """Return the body of the request to the API."""
        numbers = {name: _whole(name, self.numbers[name]) for name in _WHOLE.get(self.of, ())}
        asked: dict[str, Any] = {"of": self.of, "table": self.table, **numbers, **said(where=self.where)}
        if self.of in OF_PEOPLE:
            asked |= self._columns(dictionary_for(visit))
        return {"study": asked, "price": self.offer.body()}

    def _columns(self, dictionary: Dictionary) -> dict[str, Any]:
        """Return the columns of a study of people, and what a tree or a model is to tell."""
        chosen = [one for one in columns_for(self.of, dictionary) if one.name in self.columns]
        if self.of in {"k_means", "principal_components"}:
            if not chosen:
                raise UnclearError("publish.unclear.none")
            return {"columns": [one.name for one in chosen]}
        others = [one for one in chosen if one.name != self.outcome]
        if not others or not self.outcome:
            raise UnclearError("study.unclear.columns")
        if self.of == _TRAINED:
            return {"target": self.outcome, "features": [{"by": one.written} for one in others], "model": self.model}
        return {"outcome": self.outcome, "columns": [{"by": _grouped(one)} for one in others]}


def _whole(name: str, given: str) -> int | str:
    if name == "rate":
        if not _RATE.fullmatch(given):
            raise UnclearError("study.unclear.rate", given=given)
        return given
    if not given.isascii() or not given.isdecimal() or not 0 < int(given) <= _MOST:
        raise UnclearError(f"study.unclear.{name}", given=given)
    return int(given)


def _grouped(field: Field) -> str:
    """Return a column as a tree takes it: in bins, where it holds numbers."""
    return f"bins({field.written}, {edges_text(field)})" if field.edges else field.written


def columns_for(of: str, dictionary: Dictionary) -> list[Field]:
    """Return the columns that a study of people can take."""
    own = () if dictionary.person is None else dictionary.person.fields
    numbers = [one for one in own if one.kind in {"integer", "real"} and one.low and not one.computed]
    if of in {"k_means", "principal_components"}:
        return numbers
    few = [one for one in own if one.kind == "boolean" or (one.values and not one.is_long)]
    return [one for one in own if one in few or one in numbers]


def outcomes_for(of: str, dictionary: Dictionary) -> list[Field]:
    """Return the columns that a tree, or a model, can be made to tell."""
    found = columns_for(of, dictionary)
    first = [one for one in found if one.kind == "boolean"]
    numbers = [one for one in found if one.kind in {"integer", "real"}] if of == _TRAINED else []
    return [*first, *(one for one in found if one not in first and one.values), *numbers]


async def show_study(visit: PageVisit) -> Response:
    """Show what a study found; it never charges."""
    key = visit.part("key")
    if is_running(visit, key):
        return visit.show_running(key)
    record = await settled(visit, "study_again")
    known = visit.server.memory.recall(visit.population, visit.person.id, key)
    body = {} if known is None else known["body"]
    return visit.show(
        "studied.html",
        record=record,
        found=result_of(record, visit.say),
        key=key,
        at=None if known is None else known["at"],
        where=body.get("study", {}).get("where", ""),
        python=f"{opening_lines(address_of(visit), visit.population)}{studying_call(body)}",
        proofs=proofs_of("", record["of"]),
    )


async def save_study(visit: PageVisit) -> Response:
    """Save a study as JSON, with all that its rounds have released."""
    told = json.dumps(await settled(visit, "study_again"), indent=1, ensure_ascii=False)
    return file_of(told, "application/json", f"study-{visit.part('key')[:8]}.json")


async def save_study_csv(visit: PageVisit) -> Response:
    """Save the table of a study for a spreadsheet."""
    found = result_of(await settled(visit, "study_again"), visit.say)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([safe_cell(one) for one in found.headers])
    writer.writerows([safe_cell(one) for one in row] for row in found.rows)
    return file_of(out.getvalue(), "text/csv; charset=utf-8", f"study-{visit.part('key')[:8]}.csv")


def studying_call(body: dict[str, Any]) -> str:
    """Return the call that a body stands for.

    >>> study = {"of": "k_means", "table": "patient", "columns": ["age", "bmi"], "clusters": 3}
    >>> print(studying_call({"study": study, "price": {"epsilon": "1"}}))
    found = session.k_means("patient", columns=["age", "bmi"], clusters=3, epsilon="1")
    >>> print(studying_call({"study": {"of": "stars", "table": "friends", "points": 2}, "price": {"epsilon": "1"}}))
    found = session.graph("friends").stars(points=2, epsilon="1")
    """
    asked = dict(body["study"])
    of, table = asked.pop("of"), json.dumps(asked.pop("table"), ensure_ascii=False)
    for name in {"columns", "features"} & asked.keys():
        asked[name] = [one if isinstance(one, str) else one["by"] for one in asked[name]]
    words = [f"{name}={json.dumps(given, ensure_ascii=False)}" for name, given in asked.items()]
    paid = [f'{name}="{given}"' for name, given in body["price"].items()]
    if of in OF_GRAPHS:
        about = [one for one in words if one.startswith(("where=", "between="))]
        rest = [one for one in words if one not in about]
        return f"found = session.graph({', '.join([table, *about])}).{of}({', '.join([*rest, *paid])})"
    return f"found = session.{of}({', '.join([table, *words, *paid])})"


def _graphs(visit: PageVisit) -> list[str]:
    """Return the tables of pairs."""
    found, population = [], visit.session().population
    for one in population.tables:
        try:
            read_pair_table(population, one.name, None)
        except LapwingError:
            continue
        found.append(one.name)
    return found


def _kinds(visit: PageVisit) -> list[str]:
    """Return what can be studied here: people by their columns, and tables of pairs as graphs."""
    dictionary = dictionary_for(visit)
    people = [one for one in OF_PEOPLE if columns_for(one, dictionary)]
    samples = [OF_A_SAMPLE] if dictionary.person is not None else []
    return [*people, *samples, *(OF_GRAPHS if _graphs(visit) else ())]


def _draft(visit: PageVisit) -> StudyDraft:
    values, dictionary = values_of(visit), dictionary_for(visit)
    kinds, graphs = _kinds(visit), _graphs(visit)
    of = text_of_field(values, "of", "")
    of = of if of in kinds else next(iter(kinds), OF_PEOPLE[0])
    known, outcomes = columns_for(of, dictionary), [one.name for one in outcomes_for(of, dictionary)]
    outcome = text_of_field(values, "outcome", outcomes[0] if outcomes else "")
    first = [one.name for one in known if one.name != outcome][: _FIRST if of in _WHOLE else None]
    names = [one.name for one in known if one.name in values("col")] if values("chosen") else first
    person = "" if dictionary.person is None else dictionary.person.name
    table = text_of_field(values, "table", graphs[0] if graphs else "")
    model = text_of_field(values, "model", "logistic")
    offer = analysis_offer(visit, values, epsilon="1", rho="0.05", delta="1e-8" if has_delta(visit) else "")
    if of != _TRAINED:  # the noise of a procedure is geometric: it is priced by an epsilon, whatever the account
        epsilon = offer.epsilon if values("epsilon") else "1"
        offer = PublishOffer(pay="epsilon", within="", epsilon=epsilon, delta="", rho="")
    takes_outcome = of in {"decision_tree", _TRAINED}
    return StudyDraft(
        of=of,
        table=person if of in {*OF_PEOPLE, OF_A_SAMPLE} else table,
        columns=tuple(names) if of in OF_PEOPLE else (),
        outcome=outcome if takes_outcome and outcome in outcomes else "",
        model=(model if model in MODELS else "logistic") if of == _TRAINED else "",
        numbers={name: text_of_field(values, name, _PROPOSED[name])[:20] for name in _WHOLE.get(of, ())},
        where=text_of_field(values, "where"),
        offer=offer,
    )


def _beside(visit: PageVisit) -> dict[str, Any]:
    draft, dictionary = _draft(visit), dictionary_for(visit)
    return {
        "kinds": _kinds(visit),
        "usable": columns_for(draft.of, dictionary) if draft.of in OF_PEOPLE else [],
        "outcomes": outcomes_for(draft.of, dictionary),
        "graphs": _graphs(visit) if draft.of in OF_GRAPHS else [],
        "models": MODELS,
        "is_trained": draft.of == _TRAINED,
        "is_pure": draft.of == _TRAINED and visit.currency == "epsilon" and not has_delta(visit),
    }


PAGES: Final[tuple[Page, ...]] = (
    *PaidForm(
        place="study",
        page="study",
        read=_draft,
        preview="preview_study",
        pay="study",
        listed="studies",
        result="studies",
        beside=_beside,
    ).pages(P),
    Page(path=_ONE, show=show_study, operation="study_again"),
    Page(path=f"{_ONE}/csv", show=save_study_csv, operation="study_again"),
    Page(path=f"{_ONE}/json", show=save_study, operation="study_again"),
)

"""The page of an answer: its number never without its error, what it means, what it cost, and how to take it along."""

import csv
import io
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from markupsafe import Markup
from starlette.responses import Response

from lapwing.accounting.interpretation import belief_range
from lapwing.app.server.pages.charts import BarRow, bars, noise_picture
from lapwing.app.server.pages.cohort_document import CohortDraft, to_link
from lapwing.app.server.pages.cohort_words import sentence_of, step_of
from lapwing.app.server.pages.drafts import dictionary_for
from lapwing.app.server.pages.visits import PageRefusedError, Visit
from lapwing.vocabulary.wording import named

_LAPLACE: Final = frozenset({"laplace-noise", "discrete-laplace-noise"})
_SURE: Final = 1.96
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A row of an answer: what it is about, its number, and its bounds, as text that is exact."""

    label: str
    value: Any
    low: Any
    high: Any


def rows_of(answer: dict[str, Any]) -> list[TableRow]:
    """Return the rows of the first column of an answer."""
    column = answer["columns"][0]
    found = []
    for row in answer["rows"]:
        cell = row["values"][column]
        label = ", ".join(named(part) for part in row["key"])
        found.append(TableRow(label=label, value=cell["value"], low=cell["low"], high=cell["high"]))
    return found


async def show_answer_page(
    visit: Visit, told: dict[str, Any], body: dict[str, Any], cohort: CohortDraft | None, *, at: int | None
) -> Response:
    """Show an answer; `at` is when it was asked, and None of a rehearsal."""
    answer, question = told["answer"], body["question"]
    rows, margin = rows_of(answer), next(iter(answer["margin"].values()))
    kind = kind_of(question)
    if cohort is not None and kind == "funnel" and len(cohort.spoken) == len(rows):
        dictionary = dictionary_for(visit)
        labels = [step_of(panel, dictionary, visit.say) for panel in cohort.spoken]
        rows = [
            TableRow(label=label, value=one.value, low=one.low, high=one.high)
            for label, one in zip(labels, rows, strict=True)
        ]
    is_single = len(rows) == 1 and not answer["keys"]
    return visit.show(
        "answer.html",
        kind=kind,
        answer=answer,
        rows=rows,
        margin=margin,
        is_single=is_single,
        is_near_zero=is_single and margin is not None and Fraction(rows[0].value) - Fraction(margin) < 0,
        picture=_picture(visit, told, rows, margin, is_single=is_single),
        sentence=words_of_cohort(visit, cohort, answer["asked"]),
        link=None if cohort is None else f"{visit.base}/ask?c={to_link(cohort)}&kind={kind}",
        at=at,
        key=told["key"],
        belief=_belief(answer["price"]),
        finer=await _finer(visit, question, margin, is_rehearsal=answer["rehearsal"]),
        python=python_of(visit.population, body),
        sql=sql_text(question),
        json=json.dumps(told["answer"], indent=1, ensure_ascii=False),
    )


def words_of_cohort(visit: Visit, cohort: CohortDraft | None, asked: str) -> Markup:
    """Say who was meant: as it was built, or, where that is not known, as it was asked."""
    if cohort is None:
        return visit.say("answer.asked_for", asked=asked)
    return sentence_of(cohort, dictionary_for(visit), visit.say)


def kind_of(question: dict[str, Any]) -> str:
    """Return which kind of question it was, as the builder calls it; other kinds by their own name."""
    if question["ask"] != "count":
        return "funnel" if question["ask"] == "funnel" else "other"
    return "groups" if question.get("by") else "count"


def _picture(visit: Visit, told: dict[str, Any], rows: list[TableRow], margin: Any, *, is_single: bool) -> Markup:
    if margin is None or any(isinstance(row.value, str) and "/" in row.value for row in rows) or not rows:
        return Markup()
    try:
        numbers = [BarRow(row.label, float(row.value), float(row.low), float(row.high)) for row in rows]
    except (TypeError, ValueError):
        return Markup()
    if not is_single:
        return bars(numbers[:40], told["answer"]["asked"])
    event = json.loads(told["question"])[0]["event"]
    off = float(margin)
    if event["kind"] in _LAPLACE:
        return noise_picture(numbers[0].value, off, float(Fraction(event["scale"])), visit.say)
    return noise_picture(numbers[0].value, off, max(off, 1.0) / _SURE, visit.say, is_gaussian=True)


def _belief(price: dict[str, Any]) -> str | None:
    """Return what a belief of one in a hundred may become, of an answer with a pure price."""
    if price["epsilon"] is None or Fraction(price["delta"] or 0):
        return None
    return f"{belief_range('0.01', price['epsilon'])[1]:.2%}"


async def _finer(visit: Visit, question: dict[str, Any], margin: Any, *, is_rehearsal: bool) -> dict[str, Any] | None:
    """Return price and error of the same question, twice as exact."""
    half = int(margin or 0) // 2
    if is_rehearsal or half < 1:
        return None
    try:
        preview = await visit.do("preview", {"question": question, "price": {"within": str(half)}})
    except PageRefusedError:
        return None
    return {"within": half, "preview": preview} if preview["affordable"] else None


def python_of(population: str, body: dict[str, Any]) -> str:
    """Return the same question in Python."""
    question, price = body["question"], body["price"]
    paid = ", ".join(f"{name}={json.dumps(value)}" for name, value in price.items())
    opened = f"import lapwing as lw\n\nsession = lw.open({json.dumps(population)})\n"
    if question["ask"] == "funnel":
        steps = ",\n    ".join(json.dumps(step, ensure_ascii=False) for step in question["steps"])
        return f"{opened}answer = session.funnel({json.dumps(question['table'])}, [\n    {steps},\n], {paid})"
    if question["ask"] != "count":
        return f"{opened}# {json.dumps(question, ensure_ascii=False)}, {paid}"
    where = json.dumps(question.get("where", ""), ensure_ascii=False)
    by = ", ".join(_by_text(one) for one in question.get("by", []))
    grouped = f",\n    by=[{by}]" if by else ""
    asked = f"lw.count({json.dumps(question['table'])},\n    {where}{grouped})"
    return f"{opened}question = {asked}\nanswer = session.ask(question, {paid})"


def _by_text(one: Any) -> str:
    return json.dumps(one) if isinstance(one, str) else f"lw.bins({json.dumps(one['column'])}, {one['edges']})"


def sql_text(question: dict[str, Any]) -> str:
    """Return the same question as SQL; of what no SELECT says, its conditions."""
    if question["ask"] == "funnel":
        return "\n".join(f"{number}. {step}" for number, step in enumerate(question["steps"], start=1))
    if question["ask"] == "sql":
        return str(question["text"])
    by = [one for one in question.get("by", []) if isinstance(one, str)]
    columns = "".join(f"{one}, " for one in by)
    where = f"\nwhere {question['where']}" if question.get("where") else ""
    grouped = f"\ngroup by {', '.join(by)}" if by else ""
    return f"select {columns}count(*)\nfrom {question['table']}{where}{grouped}"


def csv_of(answer: dict[str, Any]) -> str:
    """Return an answer as CSV; a cell that a spreadsheet would compute is written as text.

    >>> cell = {"value": 3, "low": 1, "high": 5}
    >>> print(csv_of({"keys": ["site"], "columns": ["n"], "rows": [{"key": ["=1+1"], "values": {"n": cell}}]}))
    site,n,n_low,n_high
    '=1+1,3,1,5
    <BLANKLINE>
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*answer["keys"], *(f"{name}{end}" for name in answer["columns"] for end in ("", "_low", "_high"))])
    for row in answer["rows"]:
        cells = [row["values"][name] for name in answer["columns"] if name in row["values"]]
        numbers = [cell[end] for cell in cells for end in ("value", "low", "high")]
        writer.writerow([*map(_safe, row["key"]), *numbers])
    return out.getvalue()


def _safe(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value

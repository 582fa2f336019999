"""From words at the command line to a question, and from a question to what is shown.

Every command that asks goes through `put`, so that all have the same previews, rehearsals, pictures and fields.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from lapwing.answers.answer import MOST_SHOWN, Answer
from lapwing.answers.budget import BudgetStatus
from lapwing.answers.cells import Row, cell_text, rows_names
from lapwing.answers.target import TargetWords
from lapwing.doors.cli.commands import as_typed, facts, refusal_record, say, say_record, table, waiting
from lapwing.doors.cli.options import Door
from lapwing.doors.plots.answers import draw_answer, draw_prices
from lapwing.queries.language.builders import Grouping, bins, by_year
from lapwing.queries.planning.planner import Question
from lapwing.queries.statements.catalogue_statements import read_catalogue, speaks_of_catalogue
from lapwing.queries.statements.select import read_sql
from lapwing.queries.statistics import STATISTICS
from lapwing.queries.statistics.best import BestOf
from lapwing.queries.statistics.top import TopCategories
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import Exact, as_confidence, as_int
from lapwing.vocabulary.wording import Setting, format_value, named, percent

Questions: TypeAlias = Mapping[str, Question]
"""Questions by the names of their columns, which are charged as one."""


def question_of(words: Sequence[str], **options: Any) -> Questions:
    """Return the question of a command line: a SELECT in one word, or a statistic, its table and its columns.

    Parameters
    ----------
    words : the arguments
    options : the options; those that were not given are None or empty

    >>> question_of(["mean", "visits", "cost"], max_rows="3")["mean"].max_rows
    3
    >>> list(question_of(["select sex, count(*) as n from patients group by sex"]))
    ['n']
    >>> question_of(["mode", "visits", "kind"])
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: statistic = 'mode' is unknown; write one of count, rows, ...
    """
    given = {name: value for name, value in options.items() if value not in (None, (), [])}
    if len(words) == 2 and words[0] == "sql":  # noqa: PLR2004 - as after `lapwing`: sql "select ..."
        words = words[1:]
    if len(words) == 1 and len(words[0].split()) > 1:
        _only(given, {"max_rows", "max_groups"}, "a SELECT", "say it in the SELECT")
        return read_sql(words[0], **{name: as_int(name, value) for name, value in given.items()})
    name = words[0]
    if name not in STATISTICS:
        remedy = f"write one of {', '.join(STATISTICS)}, or a SELECT in quotes"
        raise ParameterError("statistic", name, reason="is unknown", remedy=remedy)
    statistic = STATISTICS[name]
    takes = statistic.options.keys() & options.keys()
    _only(
        given,
        takes,
        name,
        f"it takes {', '.join(as_typed(Setting(one)) for one in sorted(takes))}",
    )
    if len(words) != 2 + statistic.columns:
        quotes = ', and put the condition in quotes: --where "age > 3"' if {"where", "steps"} & set(given) else ""
        raise ParameterError(
            "question", " ".join(words), reason="has another shape", remedy=f"write: {statistic.shape}{quotes}"
        )
    for number in filter(statistic.is_whole, given):
        given[number] = as_int(number, given[number])
    if "at" in given:
        given["at"] = [part.strip() for part in given["at"].split(",")]
    if "by" in given:
        given["by"] = [_grouping(text) for text in given["by"]]
    for needed, example in statistic.needs.items():
        if needed not in given:
            raise BadQuestionError(f"{name} needs {example}")
    question = statistic.ask(*words[1:], **given)
    return {statistic.result_of(question): question}


def told_catalogue(door: Door, text: str) -> bool:
    """Print what a text asks about tables and columns, which is public and free; say whether it did."""
    if not speaks_of_catalogue(text):
        return False
    with door.session() as session:
        found = read_catalogue(text, session.population)
    if found is not None:
        door.tell(found.to_dict(), repr(found))
    return found is not None


def put(
    door: Door,
    question: Questions,
    offer: TargetWords,
    *,
    key: str | None = None,
    rehearse: bool = False,
    dry_run: bool = False,
    plot: Path | None = None,
) -> None:
    """Preview, rehearse or ask a question, and print the result; bad input is refused before the charge."""
    confidence = as_confidence(offer.get("confidence", "0.95"))
    if plot is not None and any(isinstance(one, TopCategories | BestOf) for one in question.values()):
        raise ParameterError("plot", str(plot), reason="draws numbers, and these are names", remedy="leave it out")
    if dry_run and rehearse:
        raise ParameterError("rehearse", True, reason="and --dry-run are two things", remedy="choose one of them")  # noqa: FBT003
    if dry_run:
        show_preview(door, question, offer, plot)
        return
    with door.session() as session, waiting("asking"):
        answer = session.rehearse(question, **offer) if rehearse else session.ask(question, key=key, **offer)
        left = session.budget()
    if plot is not None:
        draw_answer(plot, answer, confidence)
    record = {**answer.to_dict(confidence), "left": left.to_dict()}
    door.tell(record, *answer_blocks(answer, left, confidence), facts(("picture", plot)))


def put_lines(
    door: Door,
    file: TextIO,
    offer: TargetWords,
    most: Mapping[str, int | None],
    *,
    key: str | None,
    rehearse: bool,
    dry_run: bool,
    plot: Path | None,
) -> None:
    """Ask every line of a file at once, and print a line of JSON for each."""
    other = {"rehearse": rehearse, "dry_run": dry_run, "plot": plot is not None}
    for name in (name for name, given in other.items() if given):
        raise ParameterError(name, True, reason="is for one SELECT", remedy="give one instead of a file")  # noqa: FBT003
    selects = lines_of(file)
    confidence = as_confidence(offer.get("confidence", "0.95"))
    with door.session() as session, waiting("asking"):
        answers = session.ask_many(selects, key=key, **offer, **most)
        left = session.budget()
    for select, answer in zip(selects, answers, strict=True):
        say_record({"select": select, **answer.to_dict(confidence)})
    say(facts(("asked", f"{len(answers):,} questions"), ("left", left)), err=True)


def lines_of(file: TextIO) -> list[str]:
    """Return the lines without empty ones and comments."""
    lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith("--")]


def show_preview(door: Door, question: Questions, offer: TargetWords, plot: Path | None) -> None:
    """Tell what a question would cost, and how far off its answer would be."""
    with door.session() as session:
        preview = session.preview(question, **offer)
        if plot is not None:
            with waiting("drawing"):
                draw_prices(plot, lambda **other: session.preview(question, **other), preview, offer)
    record = {**preview.to_dict(), "refusal": refusal_record(preview.refusal)}
    door.tell(record, facts(*preview.facts(), ("picture", plot)))


def whole_or_none(name: str, given: str | None) -> int | None:
    """Return a whole number, if one was given."""
    return None if given is None else as_int(name, given)


def _only(given: Mapping[str, Any], allowed: set[str], what: str, remedy: str) -> None:
    for name in given:
        if name not in allowed:
            value = ", ".join(given[name]) if isinstance(given[name], tuple | list) else given[name]
            raise ParameterError(as_typed(Setting(name)), value, reason=f"does not go with {what}", remedy=remedy)


_BINS = re.compile(r"bins\(\s*(?P<column>[^,()]+?)\s*,(?P<edges>[^()]*)\)", re.IGNORECASE)
_YEAR = re.compile(r"year\(\s*(?P<column>[^,()]+?)\s*\)", re.IGNORECASE)


def _grouping(text: str) -> Grouping:
    """Return the grouping that a text spells as SQL does: a column, bins(age, 0, 18, 65, 120) or year(born)."""
    if found := _BINS.fullmatch(text.strip()):
        return bins(found["column"], [edge.strip().strip("'") for edge in found["edges"].split(",")])
    if found := _YEAR.fullmatch(text.strip()):
        return by_year(found["column"])
    return text


def answer_blocks(answer: Answer, left: BudgetStatus, confidence: Exact) -> tuple[str, str]:
    """Return an answer in words: its numbers, then the facts about them."""
    rows, sure = answer.bounded(confidence), percent(as_confidence(confidence))
    single = len(rows) == 1 and len(answer.columns) == 1 and _is_one_value(answer)
    told = _single(rows[0], answer.columns[0], sure) if single else _table(answer, rows, sure)
    return told, facts(*answer.facts(confidence), ("left", left), ("receipt", answer.receipt))


def _is_one_value(answer: Answer) -> bool:
    """Say whether an answer is one value and nothing else: a median is, a category with its name is a row."""
    return not answer.keys or (len(answer.keys) == 1 and next(answer.asked.several()).plan.has_one_value)


def _single(row: Row, column: str, sure: str) -> str:
    cell = row.cells[column]
    if cell.low is None or cell.high is None:
        return format_value(cell.value)
    bounds = f"from {format_value(cell.low)} to {format_value(cell.high)}"
    return f"{format_value(cell.value)}   (with {sure} confidence {bounds})"


def _table(answer: Answer, rows: tuple[Row, ...], sure: str) -> str:
    header, bounded = list(answer.keys), {}
    for column in answer.columns:
        bounded[column] = any(column in row.cells and row.cells[column].low is not None for row in rows)
        header += [column, f"from ({sure})", "to"] if bounded[column] else [column]
    header += rows_names(answer.counted)
    lines = []
    for row in rows[:MOST_SHOWN]:
        line = [named(part) for part in row.key]
        for column in answer.columns:
            cell = row.cells.get(column)
            mark = ", cut" if column in answer.asked.cut else ""
            line.append("" if cell is None else f"{format_value(cell.value)}{mark}")
            if bounded[column]:
                line += [
                    "" if cell is None or bound is None else format_value(bound)
                    for bound in (cell and cell.low, cell and cell.high)
                ]
        told = (row.cells.get(column) for column in answer.counted)
        line += ["" if cell is None or cell.rows is None else cell_text(cell.rows) for cell in told]
        lines.append(line)
    return "\n".join([table(header, lines, left=len(answer.keys)), *answer.beyond])

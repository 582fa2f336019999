"""The same question to take along: as Python that runs, and as SQL."""

import inspect
import json
from typing import Any, Final

from lapwing.queries.statistics import STATISTICS

TOKEN: Final = "YOUR_TOKEN"  # noqa: S105 - the word that stands where a token goes


def kind_of(question: dict[str, Any]) -> str:
    """Return which kind of question it was, as the builder calls it; other kinds by their own name."""
    if question["ask"] == "best_of":
        return "choice"
    if question["ask"] != "count":
        return question["ask"] if question["ask"] in {"funnel", "sql"} else "other"
    return {0: "count", 1: "groups"}.get(len(question.get("by", [])), "grid")


def opening_lines(address: str, population: str) -> str:
    """Return the Python that opens a session at the server, with a placeholder for the token.

    >>> print(opening_lines("https://clinic.example.org", "clinic"), end="")
    import lapwing as lw
    <BLANKLINE>
    session = lw.connect("https://clinic.example.org", "YOUR_TOKEN", "clinic")
    """
    given = ", ".join(json.dumps(one) for one in (address, TOKEN, population))
    return f"import lapwing as lw\n\nsession = lw.connect({given})\n"


def python_of(address: str, population: str, body: dict[str, Any]) -> str:
    """Return the same question in Python, for a person with a token of the server.

    >>> mean = {"ask": "mean", "table": "patient", "of": "bmi"}
    >>> print(python_of("https://clinic.example.org", "clinic", {"question": mean, "price": {"epsilon": "1"}}))
    import lapwing as lw
    <BLANKLINE>
    session = lw.connect("https://clinic.example.org", "YOUR_TOKEN", "clinic")
    answer = session.ask(lw.mean("patient", "bmi"), epsilon="1")
    """
    question = body["question"]
    paid = _words(body["price"])
    opened = opening_lines(address, population)
    if question["ask"] == "sql":
        beside = _words({name: question[name] for name in ("max_rows", "max_groups") if name in question})
        words = ", ".join(filter(None, [beside, paid]))
        text = _literal(question["text"])
        lines = text.removeprefix("(").removesuffix("\n)")
        return f"{opened}answer = session.ask(" + (
            f"{text}, {words})" if lines == text else f"{lines},\n    {words},\n)"
        )
    if "questions" in question:
        verb = "choose" if question["ask"] == "best_of" else "ask"
        asked = ",\n    ".join(f"{json.dumps(name)}: {_call(one)}" for name, one in question["questions"].items())
        return f"{opened}answer = session.{verb}({{\n    {asked},\n}}, {paid})"
    return f"{opened}answer = session.ask({_call(question)}, {paid})"


def _call(question: dict[str, Any]) -> str:
    if question["ask"] == "sql":
        return _literal(question["text"])
    statistic = STATISTICS[question["ask"]]
    places = ("table", *statistic.names)
    given = [_literal(question[name]) for name in places]
    more = {name: value for name, value in question.items() if name not in {"ask", *places} and value not in ("", [])}
    given += [f"{name}={_value(name, value)}" for name, value in more.items() if _is_taken(statistic.ask, name)]
    return f"lw.{statistic.ask.__name__}({', '.join(given)})"


def _is_taken(ask: Any, name: str) -> bool:
    words = inspect.signature(ask).parameters
    return name in words or any(one.kind is inspect.Parameter.VAR_KEYWORD for one in words.values())


def _value(name: str, value: Any) -> str:
    if name == "by":
        return f"[{', '.join(_by_text(one) for one in value)}]"
    if name == "steps":
        return "[\n    " + ",\n    ".join(_literal(step) for step in value) + ",\n]"
    return _literal(value)


def _by_text(one: Any) -> str:
    return _literal(one) if isinstance(one, str) else f"lw.bins({_literal(one['column'])}, {one['edges']})"


def _words(given: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_literal(value)}" for name, value in given.items())


def _literal(value: Any) -> str:
    r"""Return a value as Python writes it; a text of several lines stays one that can be read.

    >>> _literal(True), _literal("a")
    ('True', '"a"')
    >>> print(_literal("select 1\nfrom t"))
    (
        "select 1\n"
        "from t"
    )
    """
    if not isinstance(value, str):
        return repr(value)
    lines = value.splitlines(keepends=True)
    if len(lines) < 2:  # noqa: PLR2004 - one line is one text
        return json.dumps(value, ensure_ascii=False)
    return "(\n" + "\n".join(f"    {json.dumps(line, ensure_ascii=False)}" for line in lines) + "\n)"


def sql_text(question: dict[str, Any]) -> str:
    """Return the same question as SQL; its conditions, where no SELECT can express it."""
    if question["ask"] == "sql":
        return str(question["text"])
    if question["ask"] == "funnel":
        return "\n".join(f"{number}. {step}" for number, step in enumerate(question["steps"], start=1))
    if question["ask"] != "count":
        return str(question.get("where", ""))
    by = [_by_sql(one) for one in question.get("by", [])]
    columns = "".join(f"{one}, " for one in by)
    where = f"\nwhere {question['where']}" if question.get("where") else ""
    grouped = f"\ngroup by {', '.join(str(place) for place in range(1, len(by) + 1))}" if by else ""
    return f"select {columns}count(*)\nfrom {question['table']}{where}{grouped}"


def words_of_question(question: dict[str, Any]) -> str:
    """Return a question as it is told in a list: its SQL, or what is asked of which columns.

    >>> words_of_question({"ask": "mean", "table": "patient", "of": "bmi", "where": "smoker", "by": ["sex"]})
    'mean of bmi, in patient where smoker, by sex'
    >>> words_of_question({"ask": "best_of", "questions": {"asthma": {}, "stroke": {}}})
    'best of: asthma, stroke'
    """
    if question["ask"] in {"sql", "funnel", "count"}:
        return sql_text(question)
    if "questions" in question:
        return f"{question['ask'].replace('_', ' ')}: {', '.join(question['questions'])}"
    of = ", ".join(str(question[name]) for name in STATISTICS[question["ask"]].names)
    where = f" where {question['where']}" if question.get("where") else ""
    by = ", by " + ", ".join(map(_by_sql, question["by"])) if question.get("by") else ""
    return f"{question['ask'].replace('_', ' ')}{' of ' if of else ''}{of}, in {question['table']}{where}{by}"


def _by_sql(one: Any) -> str:
    return one if isinstance(one, str) else f"bins({one['column']}, {', '.join(map(str, one['edges']))})"

"""The questions of `lapwing init`, at a terminal or in a file of answers: over names and what is declared, never data.

Nothing that is asked or proposed here may come from a value in a table: a bound that was looked up is a fact about the
people in it, and lapwing.toml is public. So the names and types of columns are read, and no row, until there is a yes.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from lapwing.accounting.interpretation import budget_concerns
from lapwing.doors.cli.commands import message_of, paragraph, say
from lapwing.sources import DATABASES, FileSource, Source, named_source, require_file
from lapwing.vocabulary.errors import BadQuestionError, LapwingError, SettingsError
from lapwing.vocabulary.guarantee import Adjacency
from lapwing.vocabulary.wording import escaped, escaped_lines
from lapwing.workspace.declaration import COLUMN_OPTIONS, KINDS, TABLE_OPTIONS, Declaration, Option, kinds_for
from lapwing.workspace.declaring import ColumnInput, declare, entries_of, read_list, read_option
from lapwing.workspace.draft import Draft, require_new
from lapwing.workspace.settings import Settings, read_settings
from lapwing.workspace.toml import Document, Section

Answer = TypeVar("Answer")

_OUT: Final = "leave out"
_KEYS: Final = ["integer", "text"]
_WELCOME: Final = (
    "Some questions about your tables and the people in them. Enter takes what stands in [brackets]. Nothing is "
    "written before you have seen it and said yes; Ctrl-C stops.\n"
    "Names and types of columns are read, and no row. What you declare is public, so decide it without looking into "
    "the data: the highest age that is there would tell about somebody."
)
_PLACE: Final = (
    "\nWhere is a table? A .csv, .parquet or .duckdb file, or a database: postgresql://user@host/name, without a "
    "password."
)
_COLUMNS: Final = (
    "\nWhat may be asked about? Analysts see the columns that you declare, and no others. Choose bounds and categories "
    "as for people you have never seen; a number outside counts as the nearest bound. Say what a column holds:\n"
    "    integer 0..120    real 10..60    category F,M    boolean    text\n"
    "    date 1900-01-01..2025-12-31"
)
_ADJACENCY: Final = (
    "\nWho is hidden? add-remove hides also whether somebody is in the tables at all. replace hides what the data says "
    "of them, and everybody may know how many people there are."
)
_BUDGET: Final = (
    "\nThe budget caps what all answers together, to everybody and for ever, give away about one person: they are "
    "at most 2.7 times as likely with a person's data as without it at epsilon 1, 20 times at 3, 22,000 times at 10. "
    "It can be raised later, and never lowered. Others than a plain epsilon: 3 delta 1e-6, or rho 1/2."
)


def complete(draft: Draft) -> Draft:
    """Ask for all that a draft lacks, and return it complete."""
    say(paragraph(_WELCOME))
    if draft.folder is None:
        draft = replace(draft, folder=_ask("\nFolder of the workspace", _new_folder, "clinic"))
    if draft.population is None:
        draft = _ask("\nWhat are the people called", lambda text: _valid(replace(draft, population=text)), draft.name)
    draft = _ask_for_tables(draft)
    if draft.person_key is None:
        draft = _ask("\nWhich column tells people apart, in every table", lambda text: _keyed(draft, text))
    if draft.adjacency is None:
        say(paragraph(_ADJACENCY))
        words = [one.value for one in Adjacency]
        draft = replace(draft, adjacency=_ask("Adjacency", lambda text: _word(text, words), words[0]))
    return draft if draft.budget else _ask_for_budget(draft)


def answered(path: Path, said: Draft) -> Draft:
    """Return the draft of the options, completed by a file of answers, which must not repeat an option.

    The file is TOML or, if its name says so, JSON. Its words are those of the options and of `lapwing add`, and a
    column is written as at the terminal: "integer 0..120".
    """
    top = _opened(path)
    texts = {name: top.take(name, str, None) for name in ("folder", "population", "person_key", "adjacency", "ledger")}
    sizes = {name: top.take(name, int, None) for name in ("groups_of", "people")}
    allowances = top.section("allow", {})
    file: dict[str, Any] = {
        **texts,
        **sizes,
        "folder": None if texts["folder"] is None else Path(texts["folder"]).expanduser(),
        "budget": {} if (said_budget := top.take("budget", (str, int), None)) is None else _budget(str(said_budget)),
        "analysts": {name: {"epsilon": str(allowances.take(name, (str, int)))} for name in allowances.entries},
    }
    tables = dict(top.section("tables", {}).sections())
    top.done()
    for name, given in file.items():
        if given and getattr(said, name):
            raise top.error((name,), f"{name} is said here and by an option", "say it once")
    draft = replace(said, **{name: given for name, given in file.items() if given})
    with _blamed(top, "budget"):
        _valid(draft)
    if draft.folder is not None:
        require_new(draft.folder)
    for name, section in tables.items():
        draft = _with_table(draft, name, section)
    return draft


def _opened(path: Path) -> Section:
    document = Document.read(path)
    if path.suffix != ".json":
        return document.section()
    try:
        told = json.loads(document.text)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise SettingsError(document.file, 0, reason="is no JSON object", remedy="mend the file")
    return Section(document, (), told)


@contextmanager
def _blamed(section: Section, *inner: str) -> Iterator[None]:
    """Name a line of the file of answers, and not one of a lapwing.toml that does not exist yet."""
    try:
        with section.blamed(*inner):
            yield
    except SettingsError as refused:
        raise section.error(inner, refused.reason, str(refused.remedy)) from None


def _with_table(draft: Draft, name: str, section: Section) -> Draft:
    """Return the draft with a table of the file of answers; what is wrong with it names its line."""
    file, kinds = section.take("source", str, None), section.section("columns")
    there = {word: section.take(word, str, None) for word in ("postgres", "name", "schema")}
    options = {option.word: section.take(option.word, option.kind, None) for option in TABLE_OPTIONS}
    nullable = section.take("may_be_missing", list, [])
    section.done()
    key = options["person_key"] or draft.person_key
    if key is None:
        raise section.error((), "no column tells people apart", 'write person_key = "patient_id" above all tables')
    with _blamed(section):
        source = named_source(name, source=None if file is None else Path(file).expanduser(), **there)
        stored = source.columns(name)
        key = _stored(key, stored)
    columns = {str(one): ColumnInput(options={"nullable": True}) for one in nullable}
    for column in kinds.entries:
        with _blamed(kinds, column):
            said = _said(draft, column, stored.get(column), kinds.take(column, str))
            columns[column] = replace(said, options=columns.get(column, said).options)
    with _blamed(section):
        said_type = options["key_type"]
        options["key_type"] = _word(said_type, _KEYS) if said_type else _known_key(draft, stored[key])
        table = declare(name, source, stored, options=options, columns=columns, usual=key)
        return _valid(replace(draft, tables=(*draft.tables, table)))


def confirm(draft: Draft) -> bool:
    """Show the lapwing.toml, and return whether it may be written."""
    say(f"\nThis will be {draft.place / 'lapwing.toml'}:\n\n{draft.text()}")
    return click.confirm("Write it, and make the account", default=False)


def _ask(question: str, read: Callable[[str], Answer], default: str = "") -> Answer:
    """Ask until the answer can be read; a refusal is printed as a sentence."""
    while True:
        text = click.prompt(escaped_lines(question), default=escaped(default), show_default=bool(default)).strip()
        try:
            return read(text)
        except LapwingError as refused:
            _say(refused)


def _say(refused: LapwingError) -> None:
    """Print a refusal, without the line of a lapwing.toml that does not exist yet."""
    said = f"{refused.reason}; {refused.remedy}" if isinstance(refused, SettingsError) else message_of(refused)
    say(paragraph(f"  {said}"))


def _word(text: str, words: list[str]) -> str:
    """Return the one of a few words that is meant; its first letters are enough."""
    found = [word for word in words if text and word.startswith(text.lower())]
    if len(found) != 1:
        raise BadQuestionError(f"{text!r} is not known here; write {', '.join(words[:-1])} or {words[-1]}")
    return found[0]


def _new_folder(text: str) -> Path:
    folder = Path(text).expanduser()
    require_new(folder)
    return folder


def _read(draft: Draft) -> Settings:
    """Return the settings of the draft, with harmless values where nothing is decided yet."""
    whole = replace(draft, person_key=draft.person_key or "person", budget=draft.budget or {"epsilon": "1"})
    return read_settings(draft.place, whole.text())


def _valid(draft: Draft) -> Draft:
    _read(draft)
    return draft


def _keyed(draft: Draft, text: str) -> Draft:
    if not text:
        raise BadQuestionError("without it nobody can be protected; write the name of a column, such as patient_id")
    return _valid(replace(draft, person_key=text))


def _budget(text: str) -> dict[str, str]:
    match text.lower().replace("=", " ").split():
        case [epsilon] | ["epsilon", epsilon]:
            return {"epsilon": epsilon}
        case [epsilon, "delta", delta] | ["epsilon", epsilon, "delta", delta]:
            return {"epsilon": epsilon, "delta": delta}
        case ["rho", rho]:
            return {"rho": rho}
        case _:
            raise BadQuestionError(f"{text!r} is no budget; write an epsilon such as 1, or 3 delta 1e-6, or rho 1/2")


def _ask_for_budget(draft: Draft) -> Draft:
    """Ask for a budget; concerns are printed, and the custodian may choose again."""
    say(paragraph(_BUDGET))
    while True:
        whole = _ask("Budget, such as 1", lambda text: _valid(replace(draft, budget=_budget(text))))
        concerns = budget_concerns(_read(whole).declared(draft.name).budget, draft.people)
        for concern in concerns:
            say(paragraph(f"  {concern}"))
        if not concerns or click.confirm("Keep it", default=False):
            return whole


def _ask_for_tables(draft: Draft) -> Draft:
    """Ask for one table after the other; one that does not go with the others is asked for again."""
    while True:
        try:
            more = _ask_for_table(draft)
        except LapwingError as refused:
            _say(refused)
            continue
        if more is None:
            return draft
        draft = more


def _ask_for_table(draft: Draft) -> Draft | None:
    """Return the draft with one more table, or None if there is none."""
    say(paragraph(_PLACE))
    found = _ask("Table, or Enter for no more" if draft.tables else "Table, or Enter for none yet", _place_of)
    if found is None:
        return None
    name, source, stored = found
    name = _ask("What it is called", lambda text: _new_name(draft, text), name)
    kinds = ", ".join(f"{column} ({kind})" if kind else column for column, kind in stored.items())
    say(paragraph(f"  It has {kinds}."))
    if draft.person_key is None:
        draft = _ask("Which column tells people apart", lambda text: _keyed(draft, _stored(text, stored)))
    key, options = str(draft.person_key), dict[str, Any]()
    if key not in stored:
        key = _ask(f"It has no {key}. Whose row is it, by which column", lambda text: _stored(text, stored))
        options["person_key"] = key
    options["key_type"] = _known_key(draft, stored[key])
    if options["key_type"] is None:  # a CSV file has no types, so it is asked once
        options["key_type"] = _ask("What does it hold, integer or text", lambda text: _word(text, _KEYS), "integer")
    rows = _ask("How many rows can a person have here, one or many", lambda text: _word(text, ["one", "many"]), "one")
    options["rows"] = rows
    if rows == "many":
        question = "How many rows of a person count, or Enter: each question says it"
        options["max_rows"] = _ask(question, lambda text: _whole(text) if text else None)
    say(paragraph(_COLUMNS))
    columns = _ask_for_columns(draft, stored, key)
    table = declare(name, source, stored, options=options, columns=columns, usual=key)
    return _valid(replace(draft, tables=(*draft.tables, table)))


def _place_of(text: str) -> tuple[str, Source, dict[str, str | None]] | None:
    """Return the name of a table at its source, the source, and the kinds of its columns; None for no answer."""
    if not text:
        return None
    if text.startswith(("postgresql://", "postgres://")):
        schema, _, inner = _ask("  The table there", _some).rpartition(".")
        schema = schema or _ask("  In the schema", _some, "public")
        source = named_source(inner, postgres=text, schema=schema)
        return inner, source, source.columns(inner)
    file = Path(text).expanduser()
    require_file(file)
    inner = _ask("  The table in it", _some) if file.suffix in DATABASES else file.stem
    source = named_source(inner, source=file)
    return inner, source, source.columns(inner)


def _some(text: str) -> str:
    if not text:
        raise BadQuestionError("nothing was written; write a name")
    return text


def _stored(text: str, stored: Mapping[str, str | None]) -> str:
    if text not in stored:
        raise BadQuestionError(f"{text!r} is not a column of it; write one of {', '.join(stored)}")
    if stored[text] not in {None, "integer", "text"}:
        raise BadQuestionError(f"{text} holds {stored[text]}, which cannot tell people apart; name another column")
    return text


def _new_name(draft: Draft, text: str) -> str:
    if any(table.name == text for table in draft.tables):
        raise BadQuestionError(f"{text!r} is declared already; give it another name")
    _read_with(draft, text, {})
    return text


def _read_with(draft: Draft, table: str, columns: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a name or a column that lapwing.toml could not have; no file is opened."""
    probe = Declaration(name=table, source=FileSource(path=Path("not opened.csv")), columns=columns)
    _read(replace(draft, tables=(probe,)))


def _known_key(draft: Draft, stored: str | None) -> str | None:
    """Return the type of the person key, as far as it is known: as it is stored, else as in the other tables."""
    return draft.tables[0].options.get("key_type", "integer") if stored is None and draft.tables else stored


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise BadQuestionError(f"{text!r} is not a whole number of rows; write 1 or more")
    return int(text)


def _ask_for_columns(draft: Draft, stored: Mapping[str, str | None], key: str) -> dict[str, ColumnInput]:
    columns: dict[str, ColumnInput] = {}
    for name, kind in stored.items():
        question = f"{name} ({kind})" if kind else name
        said = None if name == key else _ask(question, partial(_column, draft, name, kind), _OUT)
        if said is not None:
            asked = [option for option in COLUMN_OPTIONS if option.question]
            columns[name] = replace(said, options={option.word: _ask_for(option) for option in asked})
    return columns


def _ask_for(option: Option) -> Any:
    if option.is_flag:
        return click.confirm(f"  {option.question}", default=False)
    return _ask(f"  {option.question}, or Enter", lambda text: read_option(option, text) if text else None)


def _column(draft: Draft, name: str, stored: str | None, text: str) -> ColumnInput | None:
    """Return the declaration of a column, or None where it is left out."""
    if text in {_OUT, ""}:
        return None
    word, _, values = text.partition(" ")
    if not values.strip() and (question := KINDS[kind := _kind(name, stored, word)].question):
        text = f"{word} {_ask(f'  {question}', _some if KINDS[kind].needed else str)}"
    return _said(draft, name, stored, text)


def _kind(name: str, stored: str | None, word: str) -> str:
    if meant := "category" if "," in word else (stored or "integer") if ".." in word else None:
        raise BadQuestionError(f"what {name} holds comes first; write {meant} {word}")
    kind, fitting = _word(word, list(KINDS)), kinds_for(stored)
    if kind not in fitting:
        allowed = " or ".join(fitting)
        raise BadQuestionError(f"{name} is stored as {stored}, and cannot be read as {kind}; write {allowed}")
    return kind


def _said(draft: Draft, name: str, stored: str | None, text: str) -> ColumnInput:
    """Return the declaration of a column from a text: "integer 0..120"."""
    word, _, values = text.partition(" ")
    kind, values = _kind(name, stored, word), values.strip()
    _read_with(draft, "x", {name: {"type": kind, **entries_of(name, kind, values, stored)}})
    if stored is None and kind == "category" and "" in read_list(values):
        raise BadQuestionError("an empty cell of a CSV file is a missing one; leave the empty value out")
    return ColumnInput(type=kind, values=values)

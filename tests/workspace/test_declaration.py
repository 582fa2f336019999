"""One declaration of a table: each option and each type is a row, and every door has it by that alone."""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lapwing.doors.cli import main
from lapwing.doors.server.for_tables import _new
from lapwing.doors.server.pages.page_words import LANGUAGES, words_of
from lapwing.doors.server.pages.registering import options_record
from lapwing.doors.server.wire import ColumnBody, NewTableBody, read_body
from lapwing.queries.catalogue.column import Column
from lapwing.queries.catalogue.population import Table
from lapwing.sources import FileSource
from lapwing.vocabulary.errors import ParameterError, SettingsError
from lapwing.workspace.declaration import (
    COLUMN_OPTIONS,
    KINDS,
    OF_CELLS,
    TABLE_OPTIONS,
    Declaration,
    Option,
    without_defaults,
)
from lapwing.workspace.declaring import (
    ColumnInput,
    declare,
    declared_columns,
    entries_of,
    read_options,
    write_list,
    written_values,
)
from lapwing.workspace.settings import read_settings
from lapwing.workspace.toml import Document

HEAD = '[populations.p]\nperson_key = "id"\nbudget = { epsilon = "1" }\n'
SAMPLES: dict[type, Any] = {bool: True, int: 3, str: "age", list: ["NA", "-, or so"]}
VALUES = {"integer": "0..120", "real": "10..60", "category": "F,M", "date": "1900-01-01..2025-12-31"}


def sample(option: Option) -> Any:
    """Return something that may be declared."""
    return [*option.choices][-1] if option.choices else SAMPLES[option.kind]


def on_a_line(option: Option) -> str:
    """Return the same for the column age, as it is written at a command line."""
    said = sample(option)
    return "age" if option.is_flag else f"age={write_list(said) if option.kind is list else said}"


def read(folder: Path, made: Declaration) -> Table:
    """Return the table of the catalogue that a declaration becomes."""
    (table,) = read_settings(folder, HEAD + made.text(folder, "p")).declared().population.tables
    return table


def test_each_field_of_the_catalogue_is_an_option_and_each_option_a_field() -> None:
    assert {one.name for one in fields(Column)} - {"name", "type"} == {one.word for one in COLUMN_OPTIONS}
    assert {one.name for one in fields(Table)} - {"name", "columns"} == {one.word for one in TABLE_OPTIONS}


@pytest.mark.parametrize("option", COLUMN_OPTIONS, ids=lambda one: one.word)
def test_an_option_of_a_column_is_said_at_every_door(tmp_path, option) -> None:
    entries = {option.word: sample(option)}
    stored = {"id": "integer", "age": "integer"}
    line = read_options({"integer": ["age=0..120"], option.word: [on_a_line(option)]})
    sent = {option.word: write_list(sample(option)) if option.kind is list else "on" if option.is_flag else "age"}
    body = ColumnBody(type="integer", values="0..120", **options_record([option], sent))
    for said in (line["age"], ColumnInput(type=body.type, values=body.values, options=entries)):
        made = declare("t", FileSource(path=tmp_path / "t.csv"), stored, options={}, columns={"age": said}, usual="id")
        assert made.columns == {"age": {"type": "integer", "low": 0, "high": 120, **entries}}
        expected = tuple(sample(option)) if option.kind is list else sample(option)
        if option.word != "time_of":  # which names a column of days
            assert getattr(read(tmp_path, made).column("age"), option.word) == expected


@pytest.mark.parametrize("option", TABLE_OPTIONS, ids=lambda one: one.word)
def test_an_option_of_a_table_is_said_at_every_door(tmp_path, option) -> None:
    given = sample(option)
    body = NewTableBody(name="t", file="t.csv", columns={"age": ColumnBody(type="integer")}, **{option.word: given})
    new = _new(body)
    assert new.options == {option.word: given}
    stored = {"id": None, "age": None}
    made = declare("t", FileSource(path=tmp_path / "t.csv"), stored, options=new.options, columns={}, usual="id")
    assert made.options == {option.word: given}
    if option.word != "row_key":  # which names a column that is declared
        expected = tuple(given) if option.kind is list else option.choices.get(given, given)
        assert getattr(read(tmp_path, made), option.word) == expected


def test_every_option_has_its_flag_its_field_and_its_words() -> None:
    told = CliRunner().invoke(main, ["add", "--help"]).output
    for option in (*COLUMN_OPTIONS, *TABLE_OPTIONS):
        assert f"{option.on_the_line} " in told
    assert {one.word for one in COLUMN_OPTIONS} <= set(ColumnBody.__struct_fields__)
    typed = [*COLUMN_OPTIONS, *(one for one in TABLE_OPTIONS if one.word in {"row_key", "title", *OF_CELLS})]
    for language in LANGUAGES:
        assert all(words_of(language).has(f"tables.option.{option.word}") for option in typed)


def test_a_column_of_a_command_is_written_with_its_title(quick_path) -> None:
    (quick_path / "t.csv").write_text("id,age\n1,5\n")
    folder, run = str(quick_path / "clinic"), CliRunner().invoke
    assert run(main, ["init", folder, "--person-key", "id", "--epsilon", "1"]).exit_code == 0
    words = ["add", "t", "--source", str(quick_path / "t.csv"), "--integer", "age=0..120", "--nullable", "age"]
    words += ["--column-title", "age=years = full ones", "--title", "People", "-w", folder]
    assert run(main, words).exit_code == 0
    written = tomllib.loads((quick_path / "clinic" / "lapwing.toml").read_text())["populations"]["clinic"]
    assert written["tables"]["t"]["title"] == "People"
    assert written["tables"]["t"]["columns"]["age"] == {
        "type": "integer",
        "low": 0,
        "high": 120,
        "nullable": True,
        "title": "years = full ones",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_read_again_from_what_is_written_of_them(kind) -> None:
    entries = entries_of("x", kind, VALUES.get(kind, ""), None)
    assert written_values({"type": kind, **entries}) == VALUES.get(kind, "")


def test_what_needs_values_is_refused_without_them_and_what_takes_none_with_them() -> None:
    for kind, row in KINDS.items():
        if row.needed:
            with pytest.raises(ParameterError, match=r"has no (bounds|values)"):
                entries_of("x", kind, "", None)
        elif not row.ends:
            with pytest.raises(ParameterError, match="takes no values"):
                entries_of("x", kind, "1..2", None)


def test_options_of_a_column_that_is_not_declared_are_refused() -> None:
    stored = {"id": "integer", "age": "integer", "bmi": "real"}
    for name in ("age", "bmi"):
        with pytest.raises(ParameterError, match="is not declared; declare it, too"):
            declared_columns("t", read_options({"nullable": [name]}), stored, key="id")
    columns, left_out = declared_columns("t", read_options({"nullable": ["age"]}), stored, key="id", take_all=True)
    assert (columns, left_out) == ({"age": {"type": "integer", "nullable": True}}, {"bmi": "real"})


def test_an_option_with_a_text_names_its_column() -> None:
    with pytest.raises(ParameterError, match="does not say of which column; write --column-title COLUMN=TEXT"):
        read_options({"title": ["age"]})


def test_a_list_of_texts_is_an_option_like_any_other() -> None:
    option = Option(word="missing", kind=list, default=(), help="")
    assert option.read(Document("f.toml", 'missing = ["NA", "-"]').section()) == ("NA", "-")
    assert option.read(Document("f.toml", "").section()) == ()
    with pytest.raises(SettingsError, match=r"line 1: missing are texts; write missing = \["):
        option.read(Document("f.toml", "missing = [7]").section())


def test_what_has_its_default_is_not_written() -> None:
    given = {"rows": "one", "key_type": "integer", "max_rows": None, "title": "", "person_key": "pid"}
    assert without_defaults(TABLE_OPTIONS, given) == {"person_key": "pid"}


def test_a_body_says_no_option_that_is_no_row() -> None:
    body = b'{"name": "t", "file": "t.csv", "columns": {"age": {"type": "integer", "colour": "red"}}}'
    with pytest.raises(ValueError, match="unknown field `colour`"):
        read_body(body, NewTableBody)


def test_cells_of_a_file_are_declared_at_the_prompt_and_only_of_a_file_of_cells(quick_path) -> None:
    (quick_path / "t.csv").write_text('id;born;fee\n1;31.12.1999;1\'250,50\n2;NA;"-, or so"\n', encoding="utf-8")
    folder, run = str(quick_path / "clinic"), CliRunner().invoke
    assert run(main, ["init", folder, "--person-key", "id", "--epsilon", "1"]).exit_code == 0
    words = ["add", "t", "--source", str(quick_path / "t.csv"), "--date", "born=1900-01-01..2020-01-01", "-w", folder]
    words += ["--real", "fee=0..5000", "--nullable", "born,fee", "--missing", 'NA,"-, or so"']
    words += ["--day-order", "dmy", "--decimal", ",", "--thousands", "'"]
    done = run(main, words)
    assert done.exit_code == 0, done.output
    place = quick_path / "clinic" / "lapwing.toml"
    written = tomllib.loads(place.read_text())["populations"]["clinic"]["tables"]["t"]
    assert (written["missing"], written["day_order"], written["decimal"]) == (["NA", "-, or so"], "dmy", ",")
    asked = run(main, ["sql", "select avg(fee) from t", "--epsilon", "1", "-w", folder])
    assert asked.exit_code == 0, asked.output
    place.write_text(place.read_text().replace('"dmy"', '"mdy"'))  # the same file, read otherwise, is other data
    refused = run(main, ["sql", "select count(*) from t", "--epsilon", "1", "-w", folder])
    assert refused.exit_code != 0
    settings = HEAD + '[populations.p.tables.t]\nsource = "t.parquet"\nmissing = ["NA"]\n'
    with pytest.raises(SettingsError, match="says how cells of a CSV file are written"):
        read_settings(quick_path, settings).declared()

"""The form of a table: what was typed becomes what the operations take, and what is missing is said by its message."""

import msgspec
import pytest

from lapwing.doors.server.pages import registering
from lapwing.doors.server.pages.registering import ColumnRow, TableForm, options_record, place_of
from lapwing.doors.server.wire import NewTableBody
from lapwing.workspace.declaration import COLUMN_OPTIONS, TABLE_OPTIONS, Option

PLACE = {"name": "t", "source": "file:t.csv", "inner": "", "schema": ""}
STORED = {"id": "integer", "age": "integer", "bmi": "real", "seen": "date", "name": None}


def row(kind: str, **more: object) -> ColumnRow:
    return ColumnRow(name="x", stored=None, kind=kind, **more)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (row("integer", low="0", high="120"), "0..120"),
        (row("integer"), ""),
        (row("boolean", low="0", high="1"), ""),
        (row("category", values='F, M\n"a, b"'), 'F,M,"a, b"'),
        (row("text", values="F"), ""),
        (row("", low="0", high="1"), ""),
    ],
    ids=["bounds", "none", "boolean", "values", "text", "left out"],
)
def test_values_are_told_as_they_are_written_at_the_command_line(given, told) -> None:
    assert given.told == told
    assert not given.missing()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (row("integer", low="0"), "tables.both_bounds"),
        (row("real"), "tables.needs_bounds"),
        (row("date", low="2025-01-02", high="2025-01-01"), "tables.bounds_order"),
        (row("real", low="1/2", high="1/3"), "tables.bounds_order"),
        (row("category", values=" , "), "tables.needs_values"),
    ],
    ids=["one bound", "no bounds", "days", "numbers", "values"],
)
def test_what_is_missing_is_said_before_anything_is_sent(given, message) -> None:
    assert given.missing() == message


def test_a_new_form_declares_what_follows_from_a_type_alone() -> None:
    form = TableForm.new(PLACE, STORED, "id")
    assert {one.name: one.kind for one in form.rows} == {
        "id": "",
        "age": "integer",
        "bmi": "",
        "seen": "date",
        "name": "",
    }
    assert not form.is_untyped
    assert TableForm.new(PLACE, dict.fromkeys(STORED), "id").is_untyped


def test_a_form_becomes_a_body_that_the_operations_take() -> None:
    whose = dict.fromkeys([one.word for one in TABLE_OPTIONS], "")
    whose |= {"person_key": "id", "rows": "many", "max_rows": "3", "key_type": "", "title": "Visits"}
    rows = (
        ColumnRow(name="id", stored=None, kind="integer"),
        ColumnRow(name="age", stored=None, kind="integer", low="0", high="9", options={"nullable": "on", "title": "a"}),
        ColumnRow(name="bmi", stored=None, kind=""),
    )
    form = TableForm(given=PLACE, whose=whose, rows=rows)
    body = form.body(usual="id")
    assert body == {
        "name": "t",
        "file": "t.csv",
        "rows": "many",
        "max_rows": 3,
        "title": "Visits",
        "columns": {"age": {"type": "integer", "values": "0..9", "nullable": True, "title": "a"}},
    }
    assert form.body(usual="pid")["person_key"] == "id"
    msgspec.convert(body, NewTableBody, strict=True)


def test_how_many_rows_count_is_not_sent_where_a_person_has_one() -> None:
    whose = {"person_key": "id", "rows": "one", "max_rows": "3", "key_type": "float"}
    body = TableForm(given=PLACE, whose=whose, rows=()).body(usual="id")
    assert body == {"name": "t", "file": "t.csv", "rows": "one", "columns": {}}


def test_options_that_were_left_empty_are_not_sent() -> None:
    assert options_record(COLUMN_OPTIONS, {one.word: "" for one in COLUMN_OPTIONS}) == {}


def test_an_option_that_cannot_be_read_is_said_above_the_form(monkeypatch) -> None:
    option = Option(word="missing", kind=list, default=(), help="")
    monkeypatch.setattr(registering, "COLUMN_OPTIONS", (option,))
    whose = {"person_key": "id", "rows": "one", "max_rows": "", "key_type": ""}
    for typed, said in (('"NA', 'write "A, or B",C'), ("NA,-", "")):
        rows = (ColumnRow(name="x", stored=None, kind="text", options={"missing": typed}),)
        form = TableForm(given=PLACE, whose=whose, rows=rows)
        assert said in form.missing(None)
        assert bool(form.missing(None)) == bool(said)
    assert form.body(usual="id")["columns"]["x"]["missing"] == ["NA", "-"]


def test_a_table_beside_another_is_named_with_its_own_name_there() -> None:
    given = {"name": "t", "source": "beside:patients", "inner": "visits", "schema": ""}
    assert place_of(given) == {"name": "t", "beside": "patients", "inner": "visits"}

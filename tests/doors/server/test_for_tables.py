"""What a body declares is handed on as it was sent: names are names, whatever characters they have."""

import msgspec
import pytest

from lapwing.doors.server.for_tables import _new, _readable
from lapwing.doors.server.problems import ProblemError
from lapwing.doors.server.wire import NewTableBody, TablePlace
from lapwing.vocabulary.errors import RegistrationError
from lapwing.workspace.declaring import ColumnInput, declared_columns


def read(**body):
    return _new(msgspec.convert({"name": "t", **body}, NewTableBody, strict=True))


def test_a_place_alone_declares_nothing() -> None:
    new = _new(msgspec.convert({"name": "t", "beside": "p", "inner": "i", "schema": "s"}, TablePlace, strict=True))
    assert (new.beside, new.inner, new.schema, new.options, new.columns) == ("p", "i", "s", {}, {})


def test_options_and_columns_are_handed_on() -> None:
    new = read(file="t.csv", rows="many", max_rows=3, columns={"age": {"type": "integer", "nullable": True}})
    assert (new.file, new.options) == ("t.csv", {"rows": "many", "max_rows": 3})
    assert new.columns == {"age": ColumnInput(type="integer", options={"nullable": True, "fixed": False})}


def test_a_name_with_the_signs_of_a_command_line_is_a_name() -> None:
    columns = read(columns={"a=b, c": {"type": "integer", "values": "0..9", "nullable": True}}).columns
    declared, _ = declared_columns("t", columns, {"id": "integer", "a=b, c": "integer"}, key="id")
    assert declared == {"a=b, c": {"type": "integer", "low": 0, "high": 9, "nullable": True}}


@pytest.mark.parametrize("wrong", [{"rows": "lots"}, {"max_rows": 0}, {"key_type": "uuid"}, {"columns": {"": {}}}])
def test_what_is_no_declaration_is_refused_by_its_type(wrong) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(**wrong)


def test_a_table_that_cannot_be_read_is_said_to_the_custodian() -> None:
    def fails() -> None:
        raise RegistrationError("t", reason="is odd", remedy="mend it")

    with pytest.raises(ProblemError, match="table t is odd; mend it") as refused:
        _readable(fails)
    assert refused.value.status == 422

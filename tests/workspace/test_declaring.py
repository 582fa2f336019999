"""What a custodian writes about a column, as a line: bounds, and lists of values."""

import tomllib

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from lapwing.doors.cli import main
from lapwing.doors.server.pages.registering import ColumnRow
from lapwing.vocabulary.errors import ParameterError
from lapwing.workspace.declaring import ColumnInput, declared_columns, read_list, write_list


@given(st.lists(st.text(alphabet="a\", b'", max_size=5), min_size=1, max_size=4))
def test_a_list_is_read_as_it_was_written(values) -> None:
    assert read_list(write_list(values)) == values


@pytest.mark.parametrize("text", ['"A, or B', '"A" or B', 'C,"A'])
def test_a_quote_without_its_end_is_refused(text) -> None:
    with pytest.raises(ParameterError, match='write "A, or B",C'):
        read_list(text)
    row = ColumnRow(name="job", stored=None, kind="category", values=text)
    assert not row.missing()  # what is wrong with it is said where it is declared
    with pytest.raises(ParameterError, match='write "A, or B",C'):
        declared_columns(
            "t", {"job": ColumnInput(type="category", values=row.told)}, {"id": None, "job": None}, key="id"
        )


def test_a_category_with_a_comma_is_one_value_at_every_door(quick_path) -> None:
    (quick_path / "p.csv").write_text('id,job\n1,"nurse, ward"\n2,doctor\n')
    folder = str(quick_path / "clinic")
    run = CliRunner().invoke
    assert run(main, ["init", folder, "--person-key", "id", "--epsilon", "1"]).exit_code == 0
    added = ["add", "p", "--source", str(quick_path / "p.csv"), "--category", 'job="nurse, ward",doctor', "-w", folder]
    assert run(main, added).exit_code == 0
    written = tomllib.loads((quick_path / "clinic" / "lapwing.toml").read_text())
    (population,) = written["populations"].values()
    assert population["tables"]["p"]["columns"]["job"]["values"] == ["nurse, ward", "doctor"]
    assert "every value" not in run(main, ["check", "-w", folder]).output
    row = ColumnRow(name="job", stored=None, kind="category", values='"nurse, ward"\ndoctor')
    assert row.told == '"nurse, ward",doctor'

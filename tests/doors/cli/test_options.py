"""What commands share: words of a question, and completions that load nothing and never fail."""

import click
import pytest

from lapwing.doors.cli.options import (
    Door,
    Words,
    any_question,
    complete_populations,
    complete_segments,
    complete_streams,
    complete_tables,
)
from lapwing.vocabulary.errors import ParameterError

SETTINGS = """
[populations.clinic.tables.patients]
[populations.clinic.tables.visits]
[populations.clinic.segments.north]
[populations.guests]
tables = 7
"""


def completed(find, folder, incomplete=""):
    context = click.Context(click.Command("x"))
    context.params["folder"] = folder
    return find(context, None, incomplete)


def test_names_of_the_workspace_are_completed(tmp_path) -> None:
    (tmp_path / "lapwing.toml").write_text(SETTINGS)
    assert completed(complete_populations, tmp_path) == ["clinic", "guests"]
    assert completed(complete_tables, tmp_path, "v") == ["visits"]
    assert completed(complete_segments, tmp_path) == ["north", "elsewhere"]
    assert completed(complete_streams, tmp_path) == []


@pytest.mark.parametrize("text", [None, "= nothing", "populations = 3"])
def test_a_workspace_that_cannot_be_read_completes_nothing(tmp_path, text) -> None:
    if text is not None:
        (tmp_path / "lapwing.toml").write_text(text)
    for find in (complete_populations, complete_tables, complete_segments, complete_streams):
        assert completed(find, tmp_path) == []


def test_a_stream_is_asked_about_a_table_and_a_condition_alone() -> None:
    assert Words(words=("patients",), options={"where": "age > 3", "by": ()}).table() == "patients"
    for words, options in ((("mean", "patients"), {}), (("patients",), {"by": ("sex",)})):
        with pytest.raises(ParameterError, match="is more than a table and a condition"):
            Words(words=words, options=options).table()


def test_a_question_has_its_words_and_all_options_by_their_names() -> None:
    asked = []

    @click.command()
    @any_question
    def ask(**given):
        asked.append(given["asked"])

    ask.main(["top", "patients", "city", "-k", "3", "--by", "sex", "--counts"], standalone_mode=False)
    (found,) = asked
    assert found.given() == ("top", "patients", "city")
    given = {name: one for name, one in found.options.items() if one not in (None, ())}
    assert given == {"k": "3", "by": ("sex",), "counts": True}


def test_one_population_is_told_as_itself_and_several_in_a_list(capsys) -> None:
    door = Door(folder=None, population=None, analyst=None, as_json=True)
    door.tell_each([{"a": 1}])
    door.tell_each([{"a": 1}, {"a": 2}])
    one, several = capsys.readouterr().out.splitlines()
    assert '"populations"' not in one
    assert several.count('"a"') == 2
    assert '"populations"' in several

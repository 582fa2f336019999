"""TOML as text: entries are taken with their types, refused with their line, and changed without touching the rest."""

import tomllib
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.vocabulary.errors import BadQuestionError, ParameterError, SettingsError
from lapwing.workspace.toml import Document, key, value, with_entry, without_section

TEXT = """\
# a comment = 7
name = "x"

[people.ward]
rows = 3
"odd key" = true

[people.ward.columns]
age = { low = 0 }
"""
NAMES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=8)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | NAMES | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def section(text=TEXT):
    return Document("lapwing.toml", text).section()


@given(name=NAMES, given_value=VALUES)
def test_what_is_written_is_read_again(name, given_value) -> None:
    assert tomllib.loads(f"{key(name)} = {value(given_value)}") == {name: given_value}


def test_an_exact_number_is_written_as_text() -> None:
    assert value(Fraction(1, 3)) == '"1/3"'


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 2),
        (("people", "ward"), 4),
        (("people", "ward", "rows"), 5),
        (("people", "ward", "odd key"), 6),
        (("people", "ward", "columns", "age", "low"), 9),
        (("people", "ward", "nowhere"), 4),
        (("absent",), 0),
    ],
)
def test_the_line_of_an_entry_is_that_of_the_innermost_that_is_written(path, line) -> None:
    assert Document("f", TEXT).line(path) == line


def test_an_entry_has_one_of_its_types() -> None:
    ward = section().section("people").section("ward")
    assert (ward.take("rows", int), ward.take("none", str, "default")) == (3, "default")
    with pytest.raises(SettingsError, match="line 5: rows is a whole number; write text") as refused:
        ward.take("rows", str)
    assert refused.value.line == 5
    with pytest.raises(SettingsError, match="odd key is true or false; write a whole number"):
        ward.take("odd key", int)
    with pytest.raises(SettingsError, match="holds a NUL"):
        section('a = "\\u0000"').take("a", str)


def test_what_is_missing_is_named_and_what_is_nearly_right_is_proposed() -> None:
    with pytest.raises(SettingsError, match=r"the file has no ledger; write ledger = \.\.\."):
        section().take("ledger", str)
    with pytest.raises(SettingsError, match=r"line 2: unknown key name in the file; did you mean names\?"):
        section().take("names", str)


def test_entries_that_nobody_took_are_refused() -> None:
    top = section("low = 1\nlwo = 2\n")
    top.take("low", int)
    with pytest.raises(SettingsError, match=r"line 2: lwo means nothing in the file; did you mean low\?"):
        top.done()
    top.taken.add("lwo")
    top.done()


def test_one_of_a_few_words_stands_for_something() -> None:
    top = section('rows = "lots"\nkind = "one"')
    assert (top.one_of("kind", {"one": 1}), top.one_of("none", {"one": 1}, 7)) == (1, 7)
    with pytest.raises(SettingsError, match="rows = 'lots' is unknown; write one of 'one', 'many'"):
        top.one_of("rows", {"one": 1, "many": 2})


def test_a_refusal_of_what_was_built_names_the_line_and_keeps_the_remedy() -> None:
    ward = section().section("people").section("ward")
    with pytest.raises(SettingsError, match="line 5: rows = 3 is too many; write 2"), ward.blamed():
        raise ParameterError("rows", 3, reason="is too many", remedy="write 2")
    with pytest.raises(SettingsError, match="line 4: no; mend it"), ward.blamed():
        raise BadQuestionError("no")
    with pytest.raises(SettingsError, match="elsewhere, line 9"), ward.blamed():
        raise SettingsError("elsewhere", 9, reason="is wrong", remedy="mend it")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = ", "line 1: is not TOML"),
        ("\n\n[", "line 3: is not TOML"),
        ("a = " + "[" * 100_000, "nested too deeply"),
    ],
    ids=["value", "header", "deep"],
)
def test_what_is_no_toml_is_refused_with_its_line(text, said) -> None:
    with pytest.raises(SettingsError, match=said):
        section(text)


@pytest.mark.parametrize(
    ("path", "given_value", "after"),
    [
        (("name",), "y", TEXT.replace('"x"', '"y"')),
        (("name",), None, TEXT.replace('name = "x"\n', "")),
        (("people", "ward", "since"), date(2025, 1, 1), TEXT.replace("rows = 3", "since = 2025-01-01\nrows = 3")),
        (("people", "guests", "rows"), 1, TEXT + "\n[people.guests]\nrows = 1\n"),
    ],
)
def test_one_entry_changes_and_the_rest_stays_as_it_was_written(path, given_value, after) -> None:
    assert with_entry("lapwing.toml", TEXT, path, given_value) == after


def test_what_a_program_cannot_change_for_sure_is_left_to_a_person() -> None:
    text = 'ward = { rows = [\n  "a",\n] }\n'
    with pytest.raises(SettingsError, match=r"line 1: ward\.rows cannot be changed by a program; edit the file"):
        with_entry("lapwing.toml", text, ("ward", "rows"), 7)
    with pytest.raises(SettingsError, match="cannot be changed by a program"):
        with_entry("lapwing.toml", 'a = """\n[b]\nc = 1\n"""\n', ("b", "c"), 2)


def test_a_section_is_taken_out_with_its_comments_and_nothing_else() -> None:
    beds = "# of beds\n[people.beds]\nrows = 1\n"
    text = f"{TEXT}# height = {{ low = 0 }}\n\n{beds}"
    without = without_section("lapwing.toml", text, ("people", "ward"))
    assert without == f'# a comment = 7\nname = "x"\n\n{beds}'
    assert without_section("lapwing.toml", text, ("people", "beds")) == f"{TEXT}# height = {{ low = 0 }}\n"
    for hidden in ("[people]\nward = { rows = 1 }\n", 'a = """\n[people.ward]\n"""\n[people.ward]\nb = 1\n'):
        with pytest.raises(SettingsError, match=r"people\.ward cannot be taken out by a program"):
            without_section("lapwing.toml", hidden, ("people", "ward"))


def test_a_file_that_is_not_there_or_no_text_is_said(tmp_path, monkeypatch) -> None:
    with pytest.raises(SettingsError, match="is not there"):
        Document.read(tmp_path / "lapwing.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    with pytest.raises(SettingsError, match="cannot be read"):
        Document.read(tmp_path / "bad.toml")
    (tmp_path / "lapwing.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match="you are in the folder of a workspace already"):
        Document.read(tmp_path / "clinic" / "lapwing.toml")

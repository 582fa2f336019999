"""`lapwing add` from its rows: what a declaration is printed as makes the same declaration again."""

from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.doors.cli.declare import _addition, _allowance, _under, add, init
from lapwing.sources import DuckDBSource, FileSource, PostgresSource
from lapwing.vocabulary.errors import ParameterError
from lapwing.workspace.declaration import KINDS, TABLE_OPTIONS, Declaration
from lapwing.workspace.declaring import declare, read_options
from lapwing.workspace.draft import Draft

NAMES = st.text("ab ü_", min_size=1, max_size=5).filter(lambda name: name == name.strip() and name != "id")
TITLES = st.text('ab= "', min_size=1, max_size=6).filter(lambda text: text == text.strip())
COLUMNS = st.sampled_from(
    [
        {"type": "integer", "low": -5, "high": 120},
        {"type": "integer"},
        {"type": "real", "low": "1/3", "high": 60},
        {"type": "category", "values": ["north, upper", 'so"uth', "x y"]},
        {"type": "category", "values": [8507, 8532]},
        {"type": "boolean"},
        {"type": "text"},
    ]
)
SOURCES = [
    FileSource(path=Path("t.csv")),
    DuckDBSource(path=Path("t.duckdb"), table="inner"),
    PostgresSource(address="postgresql://db/x", table="t", schema="s"),
]


def again(words: list[str], stored: dict[str, None]) -> Declaration:
    """Return the declaration that these words of `lapwing add` make."""
    said = add.make_context("lapwing add", words).params
    columns = read_options(_under("is_", said) | _under("column_", said))
    source = FileSource(path=Path("t.csv"))
    return declare(said["table"], source, stored, options=_under("table_", said), columns=columns, usual="id")


@given(
    columns=st.dictionaries(NAMES, st.tuples(COLUMNS, st.booleans(), st.none() | TITLES), max_size=4),
    options=st.fixed_dictionaries(
        {}, optional={"rows": st.just("many"), "max_rows": st.integers(1, 9), "title": TITLES}
    ),
)
def test_what_is_printed_declares_the_same(columns, options) -> None:
    declared = {
        name: {**one, **({"nullable": True} if may else {}), **({"title": title} if title else {})}
        for name, (one, may, title) in columns.items()
    }
    made = Declaration(name="t", source=FileSource(path=Path("t.csv")), options=options, columns=declared)
    words = _addition(Draft(folder=Path("clinic")), made)
    assert words[:2] == ["lapwing", "add"]
    found = again(words[2:], dict.fromkeys(["id", *columns]))
    assert (found.columns, found.options) == (made.columns, made.options)


@pytest.mark.parametrize("source", SOURCES, ids=["file", "duckdb", "postgres"])
def test_a_place_is_printed_as_it_is_given(source) -> None:
    words = _addition(Draft(folder=Path("clinic")), Declaration(name="t", source=source))
    said = add.make_context("lapwing add", words[2:]).params
    inner = said["inner"] or "t"
    assert (inner, str(said["folder"])) == (getattr(source, "table", "t"), "clinic")
    assert (said["source"], said["postgres"]) == (source.file, getattr(source, "address", None))
    assert said["schema"] == getattr(source, "schema", "public")


def test_each_type_and_option_is_an_option_of_the_command() -> None:
    names = {parameter.name for parameter in add.params}
    assert {f"is_{kind}" for kind in KINDS} | {f"table_{one.word}" for one in TABLE_OPTIONS} <= names


@pytest.mark.parametrize(
    "words", [["--rows", "lots"], ["--key-type", "uuid"], ["--max-rows", "0"], ["--max-rows", "x"]]
)
def test_other_words_than_an_option_has_are_refused(words) -> None:
    with pytest.raises(click.BadParameter):
        add.make_context("lapwing add", ["t", *words])


def test_an_allowance_is_a_name_and_an_epsilon() -> None:
    assert _allowance("ana=b=1") == ("ana=b", {"epsilon": "1"})
    with pytest.raises(ParameterError, match="is not NAME=EPSILON"):
        _allowance("ana")


def test_what_init_takes_is_what_a_draft_has() -> None:
    own = {"folder", "epsilon", "delta", "rho", "allow", "answers", "template", "as_json"}
    words = {str(parameter.name) for parameter in init.params} - own
    assert words <= set(Draft.__slots__)

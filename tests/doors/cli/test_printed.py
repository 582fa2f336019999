"""What others chose, a name in a file, a folder, a value of the data, reaches no terminal as anything but letters."""

import json
import shlex

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lapwing as lw
from doors.cli.at_the_prompt import at_a_terminal, run
from lapwing import errors
from lapwing.queries.catalogue.column import Category, Column, Text
from lapwing.queries.catalogue.population import Table
from lapwing.vocabulary.wording import escaped

ESCAPE, TURNED, UNSEEN = "\x1b]0;owned\x07\x1b[2J", "\u202e", "\u200b"
HOSTILE = [ESCAPE, f"a{TURNED}b", f"a{UNSEEN}b", "a\nb", "a\rb", "a\x7fb", "a\x9b2Jb", "\u2066a"]

SETTINGS = """
[populations.clinic]
person_key = "id"
budget = { epsilon = "9", delta = "1e-6" }
[populations.clinic.tables.p]
source = "p.parquet"
columns.city = { type = "text" }
"""


def is_harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.replace("\x1b[1m", "").replace("\x1b[0m", "").split("\n"))


@pytest.mark.parametrize("name", HOSTILE, ids=escaped)
def test_what_is_declared_can_be_shown(name) -> None:
    for declare in (
        lambda: Table(name="p", columns=(Column(name=name, type=Text()),)),
        lambda: Table(name=name, columns=()),
        lambda: Table(name="p", columns=(), person_key=name),
        lambda: Category(values=("F", name)),
    ):
        with pytest.raises(errors.ParameterError) as refused:
            declare()
        assert is_harmless(str(refused.value))
    assert escaped(name).isprintable()
    assert Category(values=(1, 2), labels=("one", name)).labels == ("one", escaped(name))


@pytest.mark.parametrize(
    "name", ["Ile\u00a0de France", "Łódź", "北京", "date of birth", "e\u0301", "Fee (CHF)", "a'b\"c"]
)
def test_names_of_every_language_are_names(name) -> None:
    assert Table(name="p", columns=(Column(name=name, type=Category(values=(name, "x"))),)).column(name).name == name
    assert escaped(name) == name


@pytest.mark.parametrize("name", HOSTILE[:4], ids=escaped)
def test_a_column_of_a_file_is_spelt_out(quick_path, name) -> None:
    folder = quick_path / "clinic"
    assert run(folder, "init", str(folder), "--person-key", "id", "--epsilon", "3").code == 0
    numbers = range(1, 100)
    columns = {"id": numbers, "age": [one % 90 for one in numbers], name: [one % 2 for one in numbers]}
    pq.write_table(pa.table(columns), quick_path / "p.parquet")
    source = ["--source", str(quick_path / "p.parquet")]
    taken = run(folder, "add", "p", *source, "--take-all")
    assert taken.code == 2
    told = [taken, run(folder, "add", "p", *source, "--integer", "nothing=0..1")]
    told.append(run(folder, "add", "p", *source, "--integer", "age=0..120"))
    assert told[-1].code == 0, told[-1].err
    told += [run(folder, "tables"), run(folder, "count", "p", "--where", "nothing = 1", "--epsilon", "1")]
    for one in told:
        assert is_harmless(one.out), one.out
        assert is_harmless(one.err), one.err
    assert "nothing" in told[1].err


@pytest.mark.parametrize("name", HOSTILE, ids=escaped)
def test_what_is_refused_is_spelt_out(clinic, quick_path, name) -> None:
    for words in (
        ["add", "t", "--source", f"{name}.csv"],
        ["add", name, "--source", str(quick_path / "clinic" / "patients.csv"), "--take-all"],
        ["count", name, "--epsilon", "1"],
        ["count", "patients", "--where", f"{name} = 1", "--epsilon", "1"],
        ["ask", "count", "patients", "--by", name, "--epsilon", "1"],
        ["budget", "-w", f"/nowhere/{name}"],
        ["init", f"{clinic}/lapwing.toml/{name}", "--person-key", "id", "--epsilon", "1"],
        [name],
    ):
        told = run(clinic, *words)
        assert told.code == 2, shlex.join(words)
        assert is_harmless(told.out + told.err), (words, told)
        if words[0] in {"count", "budget"}:
            record = run(clinic, *words, "--json")
            assert is_harmless(record.out), (words, record)
            assert json.loads(record.out)["error"]["exit"] == 2


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_values_of_the_data_stay_data_and_are_shown_spelt_out(quick_path) -> None:
    folder = quick_path / "clinic"
    folder.mkdir()
    cities = [(ESCAPE, f"b{TURNED}a")[number % 2] for number in range(2000)]
    pq.write_table(pa.table({"id": range(2000), "city": cities}), folder / "p.parquet")
    lw.create(folder, SETTINGS).close()
    with lw.open(folder, analyst="ana") as ana:
        answer = ana.ask(lw.count("p", by="city"), epsilon="1", delta="1e-8")
        assert sorted(answer["city"]) == sorted([ESCAPE, f"b{TURNED}a"])
        assert {row["key"][0] for row in answer.to_dict()["rows"]} == {ESCAPE, f"b{TURNED}a"}
        for shown in (str(answer), repr(answer), *(repr(row) for row in answer), *(str(row) for row in answer)):
            assert is_harmless(shown), shown
    words = ["ask", "count", "p", "--by", "city", "--epsilon", "1", "--delta", "1e-8"]
    told = run(folder, *words)
    assert told.code == 0
    assert is_harmless(told.out)
    assert escaped(ESCAPE) in told.out
    record = run(folder, *words, "--json")
    assert is_harmless(record.out)
    assert {row["key"][0] for row in record.json["rows"]} == {ESCAPE, f"b{TURNED}a"}
    seen = at_a_terminal(folder, *words).out  # with the colours of our own
    assert escaped(ESCAPE) in seen
    assert not {one for one in (ESCAPE, "\x07", "\x1b[2J", TURNED) if one in seen}


def test_a_folder_that_cannot_be_is_refused_in_a_sentence(quick_path) -> None:
    told = run(quick_path, "init", f"{quick_path}/a\0b", "--person-key", "id", "--epsilon", "1")
    assert (told.code, "there is a NUL in what was typed" in told.err) == (2, True), told
    (quick_path / "answers.json").write_text(
        json.dumps({"folder": f"{quick_path}/a\0b", "person_key": "id", "budget": "1", "tables": {}})
    )
    told = run(quick_path, "init", "--answers", str(quick_path / "answers.json"))
    assert (told.code, "folder holds a NUL" in told.err) == (2, True), told
    for act in (lw.open, lw.create, lw.open_workspace):
        with pytest.raises(errors.ParameterError, match="cannot be a folder"):
            act(f"{quick_path}/a\0b")
    settings = SETTINGS.replace("p.parquet", "p\\u0000.parquet")
    with pytest.raises(errors.SettingsError, match="line 6: source holds a NUL, which no file and no name has"):
        lw.create(quick_path / "clinic", settings)

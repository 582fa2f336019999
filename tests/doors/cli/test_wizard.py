"""`lapwing init` at a terminal: it asks, says what is wrong, writes after a yes, and never looks at a value."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import duckdb
import psycopg
import pytest

from doors.cli.at_the_prompt import at_a_terminal, run, write_patients
from engines.workbenches import as_reader

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

PATIENTS = ["patients.csv", "", "patient_id", "", ""]  # the file, its name, the person key, its type, rows
COLUMNS = ["category F,M", "y", "int", "0..120", "", "boolean", "", ""]  # the last one is left out
END = ["", ""]  # no more tables, the usual adjacency
PAGE = Path(__file__).parents[3] / "docs" / "command_line.md"
INIT = ("init", "clinic", "--population", "people")


ANSWERS = """
folder = "clinic"
population = "people"
person_key = "patient_id"
adjacency = "add-remove"
budget = "3 delta 1e-6"

[tables.patients]
source = "patients.csv"
columns.sex = "category F,M"
columns.age = "int 0..120"
columns.cancer_survivor = "boolean"
may_be_missing = ["sex"]

[tables.visits]
source = "visits.parquet"
person_key = "patient"
rows = "many"
max_rows = 2
columns.day = "date 2020-01-01..2021-12-31"
columns.fever = "real 35..45"
"""


COMMANDS = """
init clinic --population people --person-key patient_id --epsilon 3 --delta 1e-6 --adjacency add-remove
add patients --source patients.csv --category sex=F,M --integer age=0..120 --boolean cancer_survivor --nullable sex
add visits --source visits.parquet --person-key patient --rows many --max-rows 2 --date day=2020-01-01..2021-12-31 \
    --real fever=35..45
""".replace("\\\n", "")


def _said(told) -> str:
    return " ".join(told.out.split())


def _folder(tmp_path: Path) -> Path:
    """A folder with two tables, one of which knows its types."""
    write_patients(tmp_path, 200)
    with duckdb.connect() as connection:
        visits = "select range as patient, date '2020-01-01' as day, 37.5 as fever, 'ER' as ward from range(200)"
        connection.execute(f"copy ({visits}) to '{tmp_path}/visits.parquet'").fetchall()
    return tmp_path


def test_a_conversation_makes_a_workspace_and_says_how_to_make_it_without_one(quick_path, monkeypatch) -> None:
    folder = _folder(quick_path)
    mistakes = ["nowhere.csv", "patients.txt"]
    visits = ["visits.parquet", "patients", "", "day", "patient", "many", "0", "2"]
    kinds = ["integer", "date 2020-01-01..2021-12-31", "", "real 45..35", "real 35..45", "y", "text", ""]
    budget = ["none", "0", "40", "n", "3 delta 1e-6"]
    answers = ["", "", *mistakes, *PATIENTS, *COLUMNS, *visits, *kinds, "", "add", *budget, "y"]
    told = at_a_terminal(folder, "init", answers=answers)
    assert told.code == 0, told.out
    said = _said(told)
    for sentence in (
        "there is no file nowhere.csv, seen from",
        "source = 'patients.txt' is not a file that can be read; name a .parquet, .csv or .duckdb file",
        "It has patient_id, sex, age, cancer_survivor, city.",
        "'patients' is declared already; give it another name",
        "It has patient (integer), day (date), fever (real), ward (text).",
        "It has no patient_id. Whose row is it, by which column",
        "day holds date, which cannot tell people apart; name another column",
        "'0' is not a whole number of rows; write 1 or more",
        "day is stored as date, and cannot be read as integer; write date",
        "fever=45..35' has its bounds the wrong way round; write the lower one first",
        "'none' is not a number",
        "is zero; write a number above zero",
        "lets an attacker's odds grow",
    ):
        assert sentence in said, sentence
    tables = run(folder / "clinic", "tables").out
    assert "visits" in tables
    assert "35 to 45" in tables
    written = (folder / "clinic" / "lapwing.toml").read_text()
    assert written in told.out  # it was shown before
    assert 'budget = { epsilon = "3", delta = "1e-6" }' in written
    assert run(folder / "clinic", "count", "patients", "--epsilon", "0.1").code == 0

    commands = told.out.partition("without questions:")[2].strip().splitlines()
    (folder / "clinic").rename(folder / "by questions")
    monkeypatch.chdir(folder)
    for command in commands:
        assert run(folder / "clinic", *shlex.split(command)[1:]).code == 0, command
    assert len(commands) == 3
    assert (folder / "clinic" / "lapwing.toml").read_text() == written


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_a_file_of_answers_makes_what_the_same_commands_make(quick_path, monkeypatch, suffix) -> None:
    folder = _folder(quick_path)
    monkeypatch.chdir(folder)
    file = folder / f"answers.{suffix}"
    file.write_text(ANSWERS if suffix == "toml" else json.dumps(tomllib.loads(ANSWERS)))
    told = at_a_terminal(folder, "init", "--answers", file.name)  # also at a terminal nothing is asked
    assert told.code == 0, told.out
    assert "[" not in told.out
    written = (folder / "clinic" / "lapwing.toml").read_text()
    (folder / "clinic").rename(folder / "by answers")
    for command in COMMANDS.strip().splitlines():
        assert run(folder / "clinic", *command.split()).code == 0
    assert (folder / "clinic" / "lapwing.toml").read_text() == written


WRONG = (
    ('budget = "3 delta 1e-6"', "", "are missing: --epsilon NUMBER (or --rho NUMBER)"),
    ('"3 delta 1e-6"', '"much"', "answers.toml, line 6: epsilon = 'much' is not a number"),
    ('folder = "clinic"', 'foldr = "clinic"', "foldr means nothing in the file; did you mean folder?"),
    ('"int 0..120"', '"int 120..0"', "has its bounds the wrong way round"),
    ('"real 35..45"', '"real"', "has no bounds"),
    ('"real 35..45"', '"35..45"', "line 21: what fever holds comes first; write real 35..45"),
    ('"real 35..45"', '"date"', "answers.toml, line 21: fever is stored as real, and cannot be read as date"),
    ("columns.day", "columns.days", "'days' is not in visits"),
    ('"patients.csv"', '"nowhere.csv"', "there is no file nowhere.csv"),
    ('person_key = "patient"', 'person_key = "day"', "day holds date, which cannot tell people apart"),
    ('person_key = "patient_id"', "", "no column tells people apart"),
    ('"many"', '"lots"', "answers.toml, line 15: rows = 'lots' is unknown"),
    ("[tables.visits]", "[tables.visits", "is not TOML"),
)
"""What is written instead of something, and what is said of it."""


def test_a_file_of_answers_that_is_wrong_writes_nothing(quick_path, monkeypatch) -> None:
    folder = _folder(quick_path)
    monkeypatch.chdir(folder)
    for before, after, said in WRONG:
        assert before in ANSWERS
        (folder / "answers.toml").write_text(ANSWERS.replace(before, after))
        told = run(folder, "init", "--answers", "answers.toml")
        assert (told.code, said in " ".join(told.err.split())) == (2, True), (after, told.err)
        assert not (folder / "clinic").exists()


def test_what_an_option_says_the_file_of_answers_may_not_say(quick_path, monkeypatch) -> None:
    monkeypatch.chdir(_folder(quick_path))
    Path("answers.toml").write_text(ANSWERS)
    twice = run(quick_path, "init", "clinic", "--answers", "answers.toml")
    assert (twice.code, "folder is said here and by an option; say it once" in " ".join(twice.err.split())) == (2, True)
    Path("answers.toml").write_text(ANSWERS.replace('folder = "clinic"', ""))
    assert run(quick_path, "init", "ward", "--answers", "answers.toml").code == 0
    assert run(quick_path / "ward", "tables", "--json").json["population"] == "people"


@pytest.mark.parametrize(("last", "code"), [("n", 0), ("\x03", 130)], ids=["no", "Ctrl-C"])
def test_nothing_is_written_without_a_yes(quick_path, last, code) -> None:
    told = at_a_terminal(quick_path, *INIT, answers=["", "patient_id", "", "1", last])
    assert told.code == code
    assert "othing was written" in told.out
    assert list(quick_path.iterdir()) == []


def test_a_table_that_cannot_be_read_as_declared_is_written_nowhere_and_no_answer_is_lost(quick_path) -> None:
    (quick_path / "patients.csv").write_text("patient_id,age\n1,young\n")
    answers = [*PATIENTS, "integer 0..120", "", *END, "1", "y"]
    told = at_a_terminal(quick_path, *INIT, answers=answers)
    assert told.code == 2
    assert "lapwing add patients --source patients.csv --integer age=0..120 -w clinic" in _said(told)
    assert [path.name for path in (quick_path / "clinic").iterdir()] == ["failures.log"]  # why, for the custodian


def test_what_is_asked_and_proposed_does_not_depend_on_a_value(quick_path) -> None:
    told = []
    for name, rows in (("a", "1,F,31\n2,M,64\n"), ("b", "9,X,-5\n9,,999\n")):
        (quick_path / name).mkdir()
        (quick_path / name / "patients.csv").write_text(f"patient_id,sex,age\n{rows}")
        answers = [*PATIENTS, "category F,M", "", "", *END, "1", "n"]
        told.append(at_a_terminal(quick_path / name, *INIT, answers=answers).out)
    assert told[0] == told[1]


def test_a_table_in_postgresql_is_found_by_its_name(quick_path, database) -> None:
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("create table person (person_id bigint primary key, year_of_birth integer)")
        admin.execute("insert into person values (1, 1970), (2, 1800)")
        reader = psycopg.conninfo.conninfo_to_dict(as_reader(admin, database))
    address = f"postgresql:///{reader['dbname']}?host={reader['host']}&user={reader['user']}"
    place = ["postgresql://ana:secret@db/ehr", "person", "", address, "nobody", "", address, "public.person", ""]
    answers = [*place, "person_id", "", "integer 1900..2025", "", *END, "1", "y"]
    told = at_a_terminal(quick_path, *INIT, answers=answers)
    assert told.code == 0, told.out
    assert "holds a password" in told.out
    assert "lapwing check" in told.out  # somebody was born outside of the bounds
    assert "there is no table public.nobody" in told.out
    assert "year_of_birth" in run(quick_path / "clinic", "tables").out


def test_the_page_shows_a_conversation_as_it_is(quick_path) -> None:
    shown = re.search(r"```text\n\$ lapwing init\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert shown
    (quick_path / "patients.csv").write_text("patient_id,sex,age,city\n1,F,31,Bern\n2,M,64,Oslo\n")
    answers = ["", "hospital", *PATIENTS, "category F,M", "", "integer 0..120", "y", "", *END, "1", "y"]
    told = at_a_terminal(quick_path, "init", answers=answers)
    before, _, after = shown[1].partition("...\n")
    assert told.out.startswith(before)
    assert told.out.endswith(after)


def test_without_a_terminal_nothing_is_asked_and_what_is_missing_is_named(quick_path, monkeypatch) -> None:
    monkeypatch.chdir(quick_path)
    told = run(quick_path, "init")
    assert told.code == 2
    assert "missing: FOLDER, --person-key COLUMN, --epsilon NUMBER (or --rho NUMBER)." in told.err
    told = run(quick_path, "init", "clinic", "--epsilon", "1", "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "usage")
    assert "missing: --person-key COLUMN." in told.err
    assert "--template" in told.err
    assert list(quick_path.iterdir()) == []


def test_what_the_options_say_is_not_asked(quick_path) -> None:
    told = at_a_terminal(quick_path, *INIT, "--epsilon", "1", "--adjacency", "replace", answers=["", "", "id", "y"])
    assert told.code == 0
    assert "nobody can be protected" in told.out
    assert "Budget" not in told.out
    assert run(quick_path / "clinic", "tables", "--json").json["adjacency"] == "replace"
    again = at_a_terminal(quick_path, "init", "clinic")
    assert "is there already" in again.out
    assert again.code == 2

"""What a custodian does: declare, add, raise, advance; and nothing is ever learned from the data for them."""

import re
import subprocess
import sys
from fractions import Fraction

import duckdb
import psycopg
import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run, spent, start, write_patients
from engines.workbenches import as_reader
from lapwing.vocabulary.errors import SettingsError
from lapwing.workspace.declaration import KINDS
from lapwing.workspace.settings import read_settings

pytestmark = pytest.mark.one_budget(
    "what is said under an epsilon, to the letter; test_every_kind_of_budget has every command under every kind"
)

KEY = ("--person-key", "patient_id")
DECLARED = ("--integer", "age=0..120", "--category", "sex=F,M")


@pytest.fixture
def fresh(quick_path):
    folder = quick_path / "clinic"
    assert run(folder, "init", str(folder), *KEY, "--epsilon", "3").code == 0
    write_patients(folder)
    return folder


def test_a_workspace_is_made_in_one_command(quick_path) -> None:
    folder = quick_path / "deep" / "clinic"
    told = run(folder, "init", str(folder), *KEY, "--epsilon", "3", "--allow", "ana=1", "--json").json
    assert (told["created"], told["population"]) == (True, "clinic")
    assert {path.name for path in folder.iterdir()} >= {"lapwing.toml", "ledger.db", "stream.key"}
    assert (folder / "stream.key").stat().st_mode & 0o777 == 0o600
    budget = run(folder, "budget", "--json").json
    assert (budget["budget"], budget["analysts"]["ana"]["budget"]) == ({"epsilon": "3"}, {"epsilon": "1"})
    assert "There is no table yet" in run(folder, "tables").out


def test_a_workspace_may_be_filled_in_by_hand(quick_path) -> None:
    folder = quick_path / "clinic"
    told = run(folder, "init", str(folder), "--template")
    assert "no account yet" in told.out
    assert not (folder / "ledger.db").exists()
    refused = run(folder, "update", "--json")
    assert (refused.code, refused.json["error"]["line"]) == (2, 5)
    settings = folder / "lapwing.toml"
    for line in ('person_key = "patient_id"', 'budget = { epsilon = "3" }'):
        settings.write_text(settings.read_text().replace(f"# {line}", line))
    told = run(folder, "update", "--json").json
    assert told == {
        "created": True,
        "changes": [{"what": "population clinic", "from": None, "to": "epsilon 3"}],
        "advice": [],
        "unreadable": [],
        "several_rows": [],
        "findings": [],
    }
    assert run(folder, "update").out == "Nothing to do: the ledger is as lapwing.toml says.\n"


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("--epsilon", "1"), []),
        (("--epsilon", "1e-7"), ["the answers would be noise"]),
        (("--epsilon", "1", "--delta", "0.1"), ["delta = 0.1 for 1,000 people allows a mechanism that publishes 100"]),
        (("--epsilon", "1", "--delta", "1e-5", "--people", "200000"), ["delta = 1e-05 for 200,000 people allows"]),
        (("--epsilon", "1", "--delta", "1e-5", "--people", "2000"), []),
        (("--epsilon", "30"), ["lets an attacker's odds grow by a factor of 10.7 trillion"]),
        (("--rho", "1e-14"), ["the answers would be noise"]),
    ],
    ids=str,
)
def test_a_budget_that_promises_little_or_buys_nothing_is_made_with_advice(quick_path, words, advice) -> None:
    told = run(quick_path, "init", str(quick_path / "clinic"), *KEY, *words, "--json").json
    assert told["created"]
    assert len(told["advice"]) == len(advice)
    assert all(part in one for part, one in zip(advice, told["advice"], strict=True))
    out = " ".join(run(quick_path, "init", str(quick_path / "again"), *KEY, *words).out.split())
    assert all(part in out for part in advice)


@pytest.mark.parametrize(
    ("small", "large", "advice"),
    [
        ('epsilon = "1"', 'epsilon = "30"', "epsilon = 30 lets an attacker's odds grow"),
        ('epsilon = "1", delta = "1e-9"', 'epsilon = "1", delta = "0.1"', "delta = 0.1 for 1,000 people allows"),
        ('rho = "0.5"', 'rho = "50"', "rho 50 lets an attacker's odds grow"),
    ],
    ids=["epsilon", "delta", "rho"],
)
def test_an_edit_to_a_budget_that_promises_little_is_booked_with_advice(quick_path, small, large, advice) -> None:
    folder = quick_path / "clinic"
    run(quick_path, "init", str(folder), *KEY, "--epsilon", "1")
    settings = folder / "lapwing.toml"
    settings.write_text(re.sub(r"budget = .*", f"budget = {{ {small} }}", settings.read_text()))
    assert run(folder, "update", "--json").json["advice"] == []
    settings.write_text(settings.read_text().replace(small, large))
    assert advice in " ".join(run(folder, "update").out.split())
    assert "advice" not in run(folder, "update").out  # nothing was changed


@pytest.mark.parametrize(
    ("words", "budget", "told"),
    [
        (
            ("--epsilon", "1", "--delta", "1e-6"),
            {"epsilon": "1", "delta": "0.000001"},
            {
                "open": "0.0773 to open, 0.06135 for each yes, nothing for a no; 0.2 at most (the Gaussian account",
                "ask": "cost epsilon 0.06135; it can give 1 more yes",
                "show": "so far 1 question, 1 yes, epsilon 0.1386",
                "close": "spent epsilon 0.1386 in all back epsilon 0.06135 that no yes has used (the Gaussian account",
            },
        ),
        (
            ("--rho", "1/2"),
            {"rho": "0.5"},
            {
                "open": "the price of epsilon 0.2, all of it at the opening: this budget is not paid yes by yes",
                "ask": "nothing more: all of the stream was charged",
                "show": "so far 1 question, 1 yes, rho 0.01993",
                "close": "spent rho 0.01993 in all, charged when it was opened left",
            },
        ),
    ],
    ids=["approximate", "concentrated"],
)
def test_other_budgets_are_asked_and_shown_too(quick_path, words, budget, told) -> None:
    folder = quick_path / "clinic"
    run(folder, "init", str(folder), *KEY, *words)
    write_patients(folder)
    run(folder, "add", "patients", "--source", str(folder / "patients.csv"), *DECLARED)
    price = ("--rho", "0.1") if "rho" in budget else ("--epsilon", "0.1", "--delta", "1e-8")
    assert run(folder, "count", "patients", "--by", "sex", *price).code == 0
    for command, more in {
        "open": ("--at-least", "9", "--yeses", "2", "--epsilon", "0.2", "--name", "s"),
        "ask": ("s", "age < 90"),
        "show": ("s",),
        "close": ("s",),
    }.items():
        assert told[command] in " ".join(run(folder, "stream", command, *more).out.split())
    (listed,) = run(folder, "stream", "list", "--all", "--json").json["streams"]
    assert float(Fraction(listed["spent"])) == pytest.approx(0.2 if "rho" in budget else 0.138649, abs=1e-6)
    assert listed["price"]["paid_by_yes"] is ("rho" not in budget)
    assert run(folder, "budget", "--json").json["budget"] == budget
    assert run(folder, "budget", "--plot", str(folder / "left.svg")).code == 0
    assert run(folder, "preview", "count", "patients", *price, "--plot", str(folder / "error.svg")).code == 0
    assert run(folder, "ledger", "verify").code == 0


@pytest.mark.parametrize(
    "words", [("--epsilon", "0"), ("--epsilon", "-1"), ("--delta", "1e-6"), ("--epsilon", "x")], ids=str
)
def test_a_budget_that_is_none_makes_nothing(quick_path, words) -> None:
    folder = quick_path / "clinic"
    told = run(folder, "init", str(folder), *KEY, *words)
    assert told.code == 2
    assert "line " in told.err
    assert not (folder / "lapwing.toml").exists()


def test_a_workspace_is_not_made_twice(fresh) -> None:
    before = (fresh / "lapwing.toml").read_text()
    told = run(fresh, "init", str(fresh), *KEY, "--epsilon", "9")
    assert told.code == 2
    assert "is there already; edit it, then lapwing update" in told.err
    assert (fresh / "lapwing.toml").read_text() == before


def test_a_lost_ledger_is_never_made_anew(fresh) -> None:
    (fresh / "ledger.db").unlink()
    told = run(fresh, "update")
    assert told.code == 5
    assert not (fresh / "ledger.db").exists()


def test_the_account_may_be_kept_in_postgresql_and_is_never_made_anew(quick_path, database) -> None:
    folder = quick_path / "clinic"
    place = dict(part.split("=") for part in database.split())
    address = f"postgresql:///{place['dbname']}?host={place['host']}&user={place['user']}"
    assert run(folder, "init", str(folder), *KEY, "--epsilon", "3", "--ledger", address).code == 0
    write_patients(folder)
    run(folder, "add", "patients", "--source", str(folder / "patients.csv"))
    assert run(folder, "count", "patients", "--epsilon", "1").code == 0
    (folder / "stream.key").unlink()
    told = run(folder, "update", "--json")
    assert told.code == 5
    assert not (folder / "stream.key").exists()
    assert run(folder, "recover", "--new-key").code == 0
    assert spent(folder) == "1"
    with psycopg.connect(database) as connection:
        connection.execute("drop schema lapwing cascade")
    (folder / "stream.key").unlink()
    told = run(folder, "update")
    assert told.code == 5
    assert "restore the newest backup" in told.err
    assert run(folder, "budget").code == 5


def test_a_folder_that_cannot_be_written_is_said(quick_path) -> None:
    (quick_path / "file").write_text("")
    told = run(quick_path, "init", str(quick_path / "file" / "clinic"), "--template", "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "system")
    assert "cannot be used: Not a directory" in told.err


def test_a_table_is_added_with_what_is_declared_and_nothing_else(fresh) -> None:
    told = run(fresh, "add", "patients", "--source", str(fresh / "patients.csv"), *DECLARED, "--json").json
    assert told["columns"] == {
        "sex": {"type": "category", "values": ["F", "M"]},
        "age": {"type": "integer", "low": 0, "high": 120},
    }
    assert told["left_out"] == {"cancer_survivor": None, "city": None}
    assert told["readable"]
    text = (fresh / "lapwing.toml").read_text()
    assert 'source = "patients.csv"' in text
    assert "# city = { type = ... }" in text
    assert run(fresh, "count", "patients", "--where", "city = 'Bern'", "--epsilon", "1").code == 2


def test_adding_reads_no_row(fresh) -> None:
    """Two tables of the same columns and different people are declared alike, to the letter."""
    before = (fresh / "lapwing.toml").read_text()
    texts = []
    for people, kind in ((2000, "parquet"), (3, "parquet"), (2000, "csv"), (3, "csv")):
        write_patients(fresh, people)
        if kind == "parquet":
            with duckdb.connect() as bare:
                bare.read_csv(str(fresh / "patients.csv")).write_parquet(str(fresh / "p.parquet"))
        source = fresh / ("p.parquet" if kind == "parquet" else "patients.csv")
        (fresh / "lapwing.toml").write_text(before)
        assert run(fresh, "add", f"t{len(texts)}", "--source", str(source), *DECLARED).code == 0
        texts.append((fresh / "lapwing.toml").read_text().replace(f"t{len(texts)}", "t"))
    assert texts[0] == texts[1]
    assert texts[2] == texts[3]


def test_types_are_taken_from_a_file_that_has_them(fresh) -> None:
    rows = "select i as patient_id, i % 90 as age, i / 7.0 as bmi, i > 9 as ill, 'x' as city, date '2000-01-01' as born"
    path = fresh / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"create table people as {rows} from range(50) t(i)")
    told = run(fresh, "add", "patients", "--source", str(path), "--name", "people", "--take-all", "--json").json
    assert {name: column["type"] for name, column in told["columns"].items()} == {
        "age": "integer",
        "ill": "boolean",
        "city": "text",
        "born": "date",
    }
    assert told["left_out"] == {"bmi": "real"}  # a real cannot be declared without bounds
    assert told["readable"]
    assert '# bmi = { type = "real", low = ..., high = ... }' in (fresh / "lapwing.toml").read_text()
    assert run(fresh, "count", "patients", "--where", "ill", "--epsilon", "1").code == 0


def test_data_that_does_not_fit_is_said_without_a_cell_of_it(fresh) -> None:
    before = (fresh / "lapwing.toml").read_text()
    told = run(fresh, "add", "patients", "--source", str(fresh / "patients.csv"), "--integer", "city=0..3")
    assert told.code == 2
    assert "table patients cannot be read: line 2 has a cell in column city that is not a whole number" in told.err
    assert (fresh / "lapwing.toml").read_text() == before
    assert "line 2" in (fresh / "failures.log").read_text()
    assert "Bern" not in told.out + told.err + (fresh / "failures.log").read_text()


@pytest.mark.parametrize(
    ("kind", "values"),
    [("csv", [8507, 8532]), ("bigint", [8507, 8532]), ("varchar", ["8507", "8532"])],
    ids=["CSV", "integers", "texts"],
)
def test_values_that_are_whole_numbers_are_numbers_unless_the_source_holds_texts(fresh, kind, values) -> None:
    (fresh / "people.csv").write_text("patient_id,concept,city\n" + "".join(f"{i},8507,x\n" for i in range(99)))
    source = fresh / "people.csv"
    if kind != "csv":
        source = fresh / "people.parquet"
        columns = f"select patient_id, concept::{kind} as concept, city from '{fresh}/people.csv'"  # noqa: S608 - ours
        duckdb.connect().sql(columns).write_parquet(str(source))
    cities = "x,01" if kind == "csv" else ",x,01"  # the empty text is a text, and a CSV file has none
    words = ("--source", str(source), "--category", "concept=8507, 8532", "--category", f"city={cities}")
    told = run(fresh, "add", "people", *words, "--json").json
    assert told["columns"]["concept"]["values"] == values
    assert told["columns"]["city"]["values"] == cities.split(",")
    where = f"concept = {values[0]!r}"
    assert run(fresh, "count", "people", "--where", where, "--epsilon", "1").code == 0
    groups = run(fresh, "count", "people", "--by", "concept", "--epsilon", "1", "--plot", str(fresh / "groups.svg")).out
    assert "8,507" not in groups, "a number that is a name has no commas"
    assert groups.splitlines()[1].startswith("8507 ")
    assert "8507" in (fresh / "groups.svg").read_text()


def test_a_custodian_is_told_that_people_have_several_rows_and_an_analyst_is_not(fresh) -> None:
    (fresh / "visits.csv").write_text("patient_id,kind\n1,a\n1,b\n2,a\n")
    words = ("visits", "--source", str(fresh / "visits.csv"), "--category", "kind=a,b")
    told = " ".join(run(fresh, "add", *words).out.split())
    assert "note visits: 1 person has several rows (up to 2), and it is declared to have one" in told
    assert "--rows many" in told
    assert run(fresh, "update", "--json").json["several_rows"] == ["visits"]
    assert "1 person has several rows" in " ".join(run(fresh, "update").out.split())
    answer = run(fresh, "count", "visits", "--epsilon", "1")
    assert "several" not in answer.out + answer.err + run(fresh, "tables").out
    settings = fresh / "lapwing.toml"
    settings.write_text(settings.read_text().replace('source = "visits.csv"', 'source = "visits.csv"\nrows = "many"'))
    assert run(fresh, "update", "--json").json["several_rows"] == []


def test_a_table_with_one_row_a_person_is_no_news(fresh) -> None:
    told = run(fresh, "add", "patients", "--source", str(fresh / "patients.csv"), *DECLARED, "--json").json
    assert told["several_rows"] is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--integer", "height=0..3"), "is not in patients; it has patient_id, sex, age, cancer_survivor, city"),
        (("--integer", "age=0-120"), "write LOW..HIGH"),
        (("--integer", "age=0..1.5"), "not whole"),
        (
            ("--integer", "age=120..0"),
            "integer = 'age=120..0' has its bounds the wrong way round; write the lower one first",
        ),
        (("--real", "age"), "has no bounds"),
        (("--number", "age=0..120"), "write --integer age=0..120 for whole numbers, or --real age=0..120"),
        (("--category", "sex"), "has no values"),
        (("--date", "age=1..2"), "has no days"),
        (("--boolean", "sex=yes"), "takes no values"),
        (("--integer", "age", "--text", "age"), "a second time"),
        (("--nullable", "age"), "is not declared"),
        (
            ("--person-key", "id"),
            "lapwing: --person-key id is not in patients, which has patient_id, sex, age, cancer_survivor, city; name",
        ),
        (("--category", "city=,Bern"), "in a CSV file an empty cell is a missing one; leave the empty value out, and"),
        (("--population", "school"), "is not declared in this workspace"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_declaration_that_is_none_changes_nothing(fresh, words, said) -> None:
    before = (fresh / "lapwing.toml").read_text()
    told = run(fresh, "add", "patients", "--source", str(fresh / "patients.csv"), *words)
    assert told.code == 2
    assert said in told.err
    assert (fresh / "lapwing.toml").read_text() == before
    assert run(fresh, "ledger", "show", "--json").json["all"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "write --source FILE"),
        (("--source", "p.txt"), "name a .parquet"),
        (("--source", "p.parquet"), "there is no file p.parquet, seen from"),
        (("--source", "p.csv"), "there is no file p.csv, seen from"),
        (("--source", "p.duckdb"), "there is no file p.duckdb, seen from"),
        (("--source", "p.csv", "--postgres", "postgresql://nobody"), "two places are named"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_source_that_is_none_is_refused(fresh, words, said) -> None:
    told = run(fresh, "add", "patients", *words)
    assert told.code == 2
    assert said in told.err


def test_what_is_wrong_with_a_file_is_told_apart(fresh) -> None:
    with_floating_keys(fresh / "c.duckdb")
    (fresh / "latin.csv").write_bytes("größe\n1\n".encode("latin-1"))
    (fresh / "no.parquet").write_text("text")
    (fresh / "no.duckdb").write_text("text")
    for file, said in (
        ("latin.csv", "latin.csv is not text in UTF-8; save it as UTF-8"),
        ("missing.csv", f"there is no file {fresh / 'missing.csv'}; check its path"),
        ("no.parquet", "is not a Parquet file"),
        ("no.duckdb", "is not a DuckDB file"),
        ("c.duckdb", "c.duckdb has no table patients; it has bad: --name bad"),
    ):
        told = run(fresh, "add", "patients", "--source", str(fresh / file))
        assert told.code == 2
        assert said in told.err


def test_a_table_is_not_added_twice(clinic) -> None:
    told = run(clinic, "add", "patients", "--source", str(clinic / "patients.csv"))
    assert told.code == 2
    line = 1 + (clinic / "lapwing.toml").read_text().splitlines().index("[populations.clinic.tables.patients.columns]")
    assert (
        f"lapwing: table patients is declared already; its columns are at line {line} of lapwing.toml: edit them"
        in told.err
    )


def test_a_table_is_declared_anew_and_its_price_stays(clinic) -> None:
    assert run(clinic, "count", "patients", "--epsilon", "1").code == 0
    source, settings = str(clinic / "patients.csv"), clinic / "lapwing.toml"
    before = settings.read_text()
    for words, said in (
        (("nobody", "--replace", "--source", source), "no table 'nobody'"),
        (("patients", "--replace", "--source", source, "--person-key", "age"), "whose row it is never changes"),
        (("patients", "--replace", "--source", source, "--integer", "weight=0..9"), "'weight' is not in patients"),
    ):
        assert said in run(clinic, "add", *words).err
        assert settings.read_text() == before
    assert run(clinic, "add", "patients", "--replace", "--source", source, "--integer", "age=0..99").code == 0
    assert settings.read_text().count("\n[populations.clinic.tables.patients]\n") == 1
    assert "0 to 99" in run(clinic, "tables").out
    assert "sex" not in run(clinic, "tables").out
    assert run(clinic, "remove", "patients").code == 0
    assert "\n[populations.clinic.tables" not in settings.read_text()
    assert "no table 'patients'" in run(clinic, "remove", "patients").err
    assert spent(clinic) == "1"


def test_a_column_that_was_left_out_is_filled_in_later(fresh) -> None:
    run(fresh, "add", "patients", "--source", str(fresh / "patients.csv"))
    settings = fresh / "lapwing.toml"
    text = settings.read_text()
    for kind in ("integer", "real", "category", "date", "boolean", "text"):
        assert f'#     {{ type = "{kind}"' in text
    example = next(line for line in text.splitlines() if line.startswith('#     { type = "integer"'))
    settings.write_text(text.replace("# age = { type = ... }", f"age = {example.removeprefix('#     ')}"))
    assert run(fresh, "update").code == 0
    assert run(fresh, "count", "patients", "--where", "age < 30", "--epsilon", "1").code == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_forms_that_a_new_table_shows_can_be_read(quick_path, kind) -> None:
    text = (
        '[populations.p]\nperson_key = "id"\nbudget = { epsilon = "1" }\n[populations.p.tables.t]\nsource = "t.csv"\n'
    )
    declared = read_settings(quick_path, f"{text}[populations.p.tables.t.columns]\nx = {KINDS[kind].example}\n")
    ((column,),) = (table.columns for table in declared.declared().population.tables)
    assert type(column.type).__name__.lower() == kind


def test_a_table_in_postgresql_is_added_by_its_schema(fresh, database) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("create table people (patient_id bigint, age int, city text, weight numeric(5, 2))")
        reader = as_reader(connection, database)
    before = (fresh / "lapwing.toml").read_text()
    words = ("--name", "people", "--integer", "age=0..120")
    writer = run(fresh, "add", "patients", "--postgres", database, *words)
    assert writer.code == 2  # whoever may write could change the data that an answer is about
    assert "is open for writing to this role" in writer.err
    assert (fresh / "lapwing.toml").read_text() == before
    told = run(fresh, "add", "patients", "--postgres", reader, *words, "--json").json
    assert told["left_out"] == {"city": "text", "weight": "real"}
    assert 'table = "people"' in (fresh / "lapwing.toml").read_text()
    missing = run(fresh, "add", "visits", "--postgres", database, "--name", "nothing")
    assert "there is no table public.nothing" in missing.err
    assert "--schema" in missing.err


@pytest.mark.parametrize(
    "words", [("add", "patients", "--postgres"), ("init", "there", *KEY, "--ledger")], ids=["table", "ledger"]
)
def test_an_address_with_a_password_is_written_nowhere(fresh, words, monkeypatch) -> None:
    monkeypatch.chdir(fresh)
    told = run(fresh, *words, "postgresql://reader:hunter2@nowhere/ehr")
    assert told.code == 2
    assert "holds a password" in told.err
    assert "~/.pgpass" in told.err
    assert not any(b"hunter2" in path.read_bytes() for path in fresh.rglob("*") if path.is_file())
    assert "hunter2" not in told.out + told.err


def test_a_person_key_has_one_type_in_all_tables(fresh) -> None:
    run(fresh, "add", "patients", "--source", str(fresh / "patients.csv"))
    before = (fresh / "lapwing.toml").read_text()
    with duckdb.connect() as connection:
        connection.execute(f"copy (select '1' as patient_id, 1 as k) to '{fresh}/visits.parquet'").fetchall()
    told = run(fresh, "add", "visits", "--source", str(fresh / "visits.parquet"), "--rows", "many")
    assert told.code == 2
    assert "key_type of visits = 'text' is not that of patients, which is integer" in told.err
    assert (fresh / "lapwing.toml").read_text() == before


def test_the_person_key_of_a_csv_is_taken_for_what_the_other_tables_have(fresh) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"copy (select 'a' as patient_id) to '{fresh}/people.parquet'").fetchall()
    (fresh / "visits.csv").write_text("patient_id,k\na,1\n")
    assert run(fresh, "add", "people", "--source", str(fresh / "people.parquet")).code == 0
    told = run(fresh, "add", "visits", "--source", str(fresh / "visits.csv"), "--rows", "many", "--json").json
    assert told["readable"]
    assert (fresh / "lapwing.toml").read_text().count('key_type = "text"') == 2


def test_keys_that_a_spreadsheet_has_rounded_are_refused_and_not_called_texts(fresh) -> None:
    (fresh / "visits.csv").write_text("patient_id,k\n7,1\n1.23457E+12,1\n")
    for words in ((), ("--key-type", "text")):
        told = run(fresh, "add", "visits", "--source", str(fresh / "visits.csv"), *words)
        assert told.code == 2
        assert "line 3 has a person key, in column patient_id, that was rounded, as a spreadsheet does it" in told.err
        assert "--key-type text" not in told.err


def test_an_edit_counts_when_it_is_said(clinic) -> None:
    settings = clinic / "lapwing.toml"
    settings.write_text(settings.read_text().replace('epsilon = "30"', 'epsilon = "40"'))
    told = run(clinic, "count", "patients", "--epsilon", "1")
    assert told.code == 2
    assert "this is not the budget that the ledger keeps" in told.err
    changed, advice, *_ = run(clinic, "update").out.splitlines()
    assert " ".join(changed.split()) == "population clinic epsilon 30, now epsilon 40"
    assert advice.startswith("advice             epsilon = 40 lets an attacker's odds grow")
    assert run(clinic, "budget", "--json").json["left"]["amount"] == "40"
    assert run(clinic, "count", "patients", "--epsilon", "1").code == 0
    settings.write_text(settings.read_text().replace('epsilon = "40"', 'epsilon = "5.5"'))
    lowered = run(clinic, "update")
    assert lowered.code == 2
    assert "budget = 'epsilon 5.5' is not above epsilon 40 in every number; raise the cap" in lowered.err
    assert run(clinic, "ledger", "verify").code == 0


def test_a_new_version_gives_nothing_back(clinic) -> None:
    run(clinic, "count", "patients", "--epsilon", "1")
    assert run(clinic, "advance", "patients").out == "patients  data version 2\n"
    told = run(clinic, "count", "patients", "--epsilon", "1", "--json").json
    assert (told["free"], told["versions"]) == (False, {"patients": 2})
    assert spent(clinic) == "2"
    assert run(clinic, "advance", "nobody").code == 2


def two_tables(folder) -> None:
    for name in ("a", "b"):
        write_table(folder, name, 100)
        assert run(folder, "add", name, "--source", str(folder / f"{name}.csv")).code == 0


def write_table(folder, name: str, people: int) -> None:
    (folder / f"{name}.csv").write_text("patient_id\n" + "".join(f"{i}\n" for i in range(people)))


def test_a_table_is_advanced_though_another_has_changed_too(fresh) -> None:
    two_tables(fresh)
    for name in ("a", "b"):
        write_table(fresh, name, 99)
    told = run(fresh, "advance", "b")
    assert (told.code, told.out) == (0, "b    data version 2\nbut  a has changed too: lapwing advance a\n")
    told = run(fresh, "advance", "--changed", "--json").json
    assert (told["versions"], told["changed"]) == ({"a": 2}, [])
    assert "nothing: no file has changed" in run(fresh, "advance", "--changed").out
    assert run(fresh, "advance", "--all", "--json").json["versions"] == {"a": 3, "b": 3}
    assert run(fresh, "advance", "b", "a", "--json").json["versions"] == {"b": 4, "a": 4}
    assert run(fresh, "count", "a", "--epsilon", "1").code == 0


@pytest.mark.parametrize("words", [(), ("--all", "--changed"), ("a", "--all"), ("a", "nobody")], ids=" ".join)
def test_what_cannot_be_advanced_advances_nothing(fresh, words) -> None:
    two_tables(fresh)
    assert run(fresh, "advance", *words).code == 2
    assert [one["version"] for one in run(fresh, "tables", "--json").json["tables"]] == [1, 1]


def with_floating_keys(path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table bad as select i::double as patient_id from range(50) t(i)")


def test_a_table_that_cannot_be_read_is_refused_and_the_others_go_on(fresh) -> None:
    two_tables(fresh)
    with_floating_keys(fresh / "c.duckdb")
    before = (fresh / "lapwing.toml").read_text()
    told = run(fresh, "add", "bad", "--source", str(fresh / "c.duckdb"))
    assert told.code == 2
    assert "holds the person key 'patient_id' as DOUBLE, which cannot tell people apart; store it as" in told.err
    assert (fresh / "lapwing.toml").read_text() == before
    assert run(fresh, "count", "a", "--epsilon", "1").code == 0


def test_whatever_else_keeps_a_table_from_being_read_is_in_the_log(fresh, monkeypatch) -> None:
    def broken(*_, **__):
        raise OSError(5, "the disk is on fire")

    before = (fresh / "lapwing.toml").read_text()
    monkeypatch.setattr("lapwing.sources.DuckDB", broken)
    told = run(fresh, "add", "patients", "--source", str(fresh / "patients.csv"))
    assert told.code == 4
    assert "on fire" not in told.err
    assert "on fire" in (fresh / "failures.log").read_text()
    assert (fresh / "lapwing.toml").read_text() == before


def test_an_edit_that_declares_a_table_that_cannot_be_read_is_refused_and_can_be_taken_back(fresh) -> None:
    two_tables(fresh)
    run(fresh, "count", "a", "--epsilon", "1")
    with_floating_keys(fresh / "c.duckdb")
    settings = fresh / "lapwing.toml"
    before = settings.read_text()
    bad = '\n[populations.clinic.tables.bad]\nsource = { duckdb = "c.duckdb", table = "bad" }\n'
    settings.write_text(before + bad)
    told = run(fresh, "update")
    assert told.code == 2
    assert "table bad holds the person key" in told.err
    assert "bad" not in run(fresh, "ledger", "show").out
    settings.write_text(before)
    assert run(fresh, "update").code == 0
    assert run(fresh, "count", "b", "--epsilon", "1").code == 0


def test_a_table_that_went_bad_is_named_and_can_be_removed(fresh) -> None:
    two_tables(fresh)
    run(fresh, "count", "b", "--epsilon", "1")
    (fresh / "b.csv").unlink()
    assert run(fresh, "count", "a", "--epsilon", "1").code != 0
    told = " ".join(run(fresh, "update").out.split())
    assert "no question is answered: table b has no columns to be found" in told
    assert "To do without it: lapwing remove TABLE" in told
    removed = run(fresh, "remove", "b", "--json").json
    assert (removed["table"], removed["tables"]) == ("b", ["a"])
    assert run(fresh, "update").out.startswith("Nothing to do")
    assert run(fresh, "count", "a", "--epsilon", "1").code == 0
    assert spent(fresh) == "2"


def test_the_ledger_of_another_workspace_gives_no_new_account(fresh, tmp_path) -> None:
    write_patients(tmp_path)
    run(fresh, "add", "patients", "--source", str(fresh / "patients.csv"))
    run(fresh, "count", "patients", "--epsilon", "3")
    run(tmp_path, "init", str(tmp_path / "hosp"), *KEY, "--epsilon", "3")
    for file in fresh.glob("ledger.db*"):
        file.unlink()
    (fresh / "ledger.db").write_bytes((tmp_path / "hosp" / "ledger.db").read_bytes())
    for words in (("count", "patients", "--epsilon", "1"), ("update",), ("budget",), ("ledger", "verify")):
        told = run(fresh, *words)
        assert told.code == 5, words
        assert "belongs to ledger" in told.err
        assert "bring back the right one" in told.err


def test_a_new_key_closes_open_streams_at_their_full_price(clinic) -> None:
    run(clinic, "stream", "open", "--at-least", "9", "--yeses", "2", "--epsilon", "8", "--name", "s")
    died = start(clinic, "stream", "ask", "s", "age < 90", LAPWING_FAULT="stream.intended:kill")
    assert died.code == -9
    (clinic / "stream.key").unlink()
    assert "stream.key: is not there" in run(clinic, "budget").err
    assert run(clinic, "recover", "--new-key", stdin="n\n").code == 130
    assert not (clinic / "stream.key").exists()
    assert run(clinic, "recover", "--new-key", "--yes", "--json").json == {
        "settled": 1,
        "unsettled": {},
        "unread": {},
        "new_key": True,
        "accepted_rollback": False,
    }
    assert run(clinic, "stream", "show", "s", "--json").json["status"] == "closed"
    assert spent(clinic) == "8"


def test_an_older_ledger_that_is_put_back_is_refused_until_the_custodian_accepts_the_loss(fresh) -> None:
    run(fresh, "add", "patients", "--source", str(fresh / "patients.csv"))
    old = (fresh / "ledger.db").read_bytes()
    assert run(fresh, "count", "patients", "--epsilon", "2").code == 0
    for file in fresh.glob("ledger.db*"):
        file.unlink()
    (fresh / "ledger.db").write_bytes(old)
    for words in (("budget",), ("count", "patients", "--epsilon", "2"), ("ledger", "verify"), ("recover",)):
        told = run(fresh, *words)
        assert told.code == 5, words
        assert "older than what was answered from it" in told.err
        assert "lapwing recover --accept-rollback" in told.err
    accepted = run(fresh, "recover", "--accept-rollback", "--yes")
    assert accepted.out.startswith("older copy  accepted; all spending is stopped, until lapwing suspend --end;\n")
    told = run(fresh, "count", "patients", "--epsilon", "2")
    assert told.code == 3
    assert "suspended" in told.err
    assert run(fresh, "ledger", "verify").code == 0
    assert run(fresh, "suspend", "--end").code == 0
    assert run(fresh, "count", "patients", "--epsilon", "2").code == 0


@pytest.mark.parametrize(
    "words",
    [("--population", "x" * 300), ("--population", "a\nb"), ("--allow", f"{'y' * 300}=1")],
    ids=["long", "of two lines", "analyst"],
)
def test_a_name_that_no_ledger_takes_leaves_nothing_behind(quick_path, words) -> None:
    folder = quick_path / "clinic"
    told = run(folder, "init", str(folder), *KEY, "--epsilon", "3", *words)
    assert told.code == 2
    assert "is not a name" in told.err
    assert not folder.exists()


_WITHOUT_DRIVER = """
import sys
sys.modules["psycopg"] = None
from lapwing.doors.cli import main
main()
"""


def test_without_the_driver_of_postgresql_its_extra_is_named(fresh) -> None:
    address = "postgresql://r@localhost/ehr"
    for words in (
        ("add", "visits", "--postgres", address),
        ("init", str(fresh / "other"), *KEY, "--epsilon", "1", "--ledger", address),
    ):
        done = subprocess.run(
            [sys.executable, "-c", _WITHOUT_DRIVER, *words, "-w", str(fresh)][: -2 if words[0] == "init" else None],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (
            2,
            "lapwing: psycopg is not installed; pip install 'lapwing[postgres]'\n",
        )


def test_a_person_key_that_is_not_there_is_refused_before_anything_is_written_and_can_be_mended(quick_path) -> None:
    write_patients(quick_path)
    settings = quick_path / "lapwing.toml"
    settings.write_text(
        '[populations.clinic]\nperson_key = "person_id"\nbudget = { epsilon = "3" }\n'
        '[populations.clinic.tables.patients]\nsource = "patients.csv"\n'
    )
    told = run(quick_path, "update")
    assert (told.code, told.out) == (2, "")
    assert "table patients does not have exactly one column 'person_id'; it has patient_id, sex" in told.err
    assert not (quick_path / "ledger.db").exists()
    settings.write_text(settings.read_text().replace('"person_id"', '"city"'))
    assert "line 2 has a person key, in column city" in run(quick_path, "update").err
    settings.write_text(settings.read_text().replace('"city"', '"age"'))
    assert run(quick_path, "update").code == 0, "it is there, and is the wrong one"
    settings.write_text(settings.read_text().replace('"age"', '"patient_id"'))
    told = run(quick_path, "count", "patients", "--epsilon", "1")
    assert (told.code, "bring the ledger up to date on purpose, with lapwing update" in told.err) == (2, True)
    told = run(quick_path, "update").out.splitlines()
    assert told[0].split() == ["person", "key", "of", "clinic", "age,", "now", "patient_id"]
    assert run(quick_path, "count", "patients", "--epsilon", "1", "--json").json["rows"][0]["values"]
    settings.write_text(settings.read_text().replace('"patient_id"', '"age"'))
    told = run(quick_path, "update")
    assert (told.code, "once something was asked, who is protected never changes" in told.err) == (2, True)
    assert run(quick_path, "ledger", "verify").code == 0


def test_an_allowance_below_what_was_spent_is_refused_with_its_line_and_whose_it_is(clinic) -> None:
    settings = clinic / "lapwing.toml"
    before = settings.read_text()
    settings.write_text(before.replace("# ana = {", "ana = {").replace('{ epsilon = "1" }', '{ epsilon = "2" }'))
    assert run(clinic, "update").code == 0
    run(clinic, "count", "patients", "--epsilon", "1.5")
    settings.write_text(settings.read_text().replace('ana = { epsilon = "2" }', 'ana = { epsilon = "1" }'))
    told = run(clinic, "update")
    assert told.code == 2
    line = settings.read_text().split("ana =")[0].count("\n") + 1
    assert f"lapwing.toml, line {line}: allowance of ana = 'epsilon 1' is less than what was released" in told.err
    assert "already, epsilon 1.5; write a larger one" in told.err


@pytest.mark.parametrize("place", ["clinic", "data", "elsewhere"])
def test_a_place_is_written_so_that_the_workspace_and_its_data_can_be_moved_together(fresh, place) -> None:
    folder = fresh.parent / place
    folder.mkdir(exist_ok=True)
    (fresh / "patients.csv").rename(folder / "people.csv")
    assert run(fresh, "add", "people", "--source", str(folder / "people.csv"), *DECLARED).code == 0
    written = "people.csv" if folder == fresh else f"../{place}/people.csv"
    assert f'source = "{written}"' in (fresh / "lapwing.toml").read_text()
    moved = fresh.parent / "moved"
    moved.mkdir()
    fresh.rename(moved / fresh.name)
    if folder != fresh:
        folder.rename(moved / place)
    assert run(moved / fresh.name, "count", "people", "--epsilon", "1").code == 0


def test_a_file_that_was_moved_may_also_be_told_of_in_the_settings(fresh) -> None:
    run(fresh, "add", "patients", "--source", str(fresh / "patients.csv"), *DECLARED)
    (fresh / "patients.csv").rename(fresh / "people.csv")
    remedy = "bring the file back, or write its new place under source in lapwing.toml"
    assert remedy in run(fresh, "count", "patients", "--epsilon", "1").err
    assert remedy in " ".join(run(fresh, "update").out.split())
    settings = fresh / "lapwing.toml"
    settings.write_text(settings.read_text().replace("patients.csv", "people.csv"))
    assert run(fresh, "count", "patients", "--epsilon", "1").code == 0


def test_a_folder_that_is_no_workspace_is_told_of_in_the_words_of_the_door(quick_path) -> None:
    told = run(quick_path, "count", "patients", "--epsilon", "1")
    assert "make a workspace with lapwing init FOLDER, or name the folder of one: -w FOLDER" in told.err
    with pytest.raises(SettingsError, match=r"with lw\.create\('clinic', \.\.\.\), or name .*: lw\.open\('clinic'\)"):
        lw.open(quick_path / "nope")


def test_who_is_in_the_folder_of_a_workspace_already_is_told_its_name_from_there(fresh, monkeypatch) -> None:
    monkeypatch.chdir(fresh)
    with pytest.raises(
        SettingsError, match=r"you are in the folder of a workspace already: from here it is named '\.'"
    ):
        lw.open(fresh.name)

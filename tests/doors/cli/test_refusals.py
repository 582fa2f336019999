"""Whatever is refused: an exit code to tell it by, numbers and a remedy, one JSON object, and nothing charged."""

import os
import shutil

import pytest

from doors.cli.at_the_prompt import run, spent, start, write_patients

pytestmark = pytest.mark.one_budget(
    "what is said under an epsilon, to the letter; test_every_kind_of_budget has every command under every kind"
)

COUNT = ("count", "patients")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("0", "is zero"),
        ("-1", "is negative"),
        ("nan", "is not a number"),
        ("NaN", "is not a number"),
        ("inf", "is infinite"),
        ("-inf", "is infinite"),
        ("1e400", "is absurdly large"),
        ("1e-400", "is absurdly small"),
        ("1e-12", "is out of range"),
        ("1000", "is out of range"),
        ("1/0", "divides by zero"),
        ("a lot", "is not a number"),
        ("", "is not a number"),
        ("٣", "is not a number"),
    ],
)
@pytest.mark.parametrize("words", [COUNT, ("preview", "count", "patients")], ids=["asked", "previewed"])
def test_an_epsilon_that_is_none_is_refused(clinic, words, given, said) -> None:
    told = run(clinic, *words, "--epsilon", given, "--json")
    assert told.code == 2
    assert told.json["error"]["name"] == "epsilon"
    assert said in told.json["error"]["reason"]
    assert told.json["error"]["remedy"]
    assert told.err.startswith("lapwing: --epsilon ")


def test_nothing_was_charged_for_any_of_them(clinic) -> None:
    for given in ("0", "-1", "nan", "1e400"):
        run(clinic, *COUNT, "--epsilon", given)
    assert spent(clinic) == "0"
    assert run(clinic, "ledger", "show", "--json").json["all"] == 2  # the population, and its table


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say what to pay, --epsilon 0.1, or how exact it must be, --within 20"),
        (("--epsilon", "1", "--within", "20"), "says the price more than once"),
        (("--epsilon", "1", "--rho", "1"), "says the price more than once"),
        (("--delta", "1e-6"), "price"),
        (("--epsilon", "1", "--delta", "1e-6"), "cannot be paid from a pure budget"),
        (("--rho", "0.1"), "cannot be paid from a pure budget"),
        (("--within", "0"), '--within 0 is zero; write a number above zero, such as "20"'),
        (("--within", "20", "--confidence", "95"), "is not strictly between 0 and 1"),
        (("--epsilon", "1", "--confidence", "0"), "is not strictly between 0 and 1"),
        (("--epsilon", "1", "--dry-run", "--rehearse"), "choose one of them"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_price_that_is_none_is_refused(clinic, words, said) -> None:
    told = run(clinic, *COUNT, *words)
    assert told.code == 2
    assert said in told.err
    assert spent(clinic) == "0"


def test_more_than_is_left_is_refused_with_what_would_fit(clinic) -> None:
    run(clinic, *COUNT, "--epsilon", "20")
    told = run(clinic, *COUNT, "--where", "age < 50", "--epsilon", "15", "--json")
    assert told.code == 3
    error = told.json["error"]
    assert (error["code"], error["exit"], error["asked"], error["left"]) == ("budget_exceeded", 3, "15", "10")
    assert "ask at epsilon 10 or less" in error["remedy"]
    assert spent(clinic) == "20"


def test_an_analyst_has_no_more_than_an_allowance(quick_path) -> None:
    folder = quick_path / "clinic"
    run(folder, "init", str(folder), "--person-key", "patient_id", "--epsilon", "3", "--allow", "ana=1")
    write_patients(folder)
    run(folder, "add", "patients", "--source", str(folder / "patients.csv"))
    told = run(folder, *COUNT, "--epsilon", "2", "--json")
    assert (told.code, told.json["error"]["left"]) == (3, "1")
    assert run(folder, *COUNT, "--epsilon", "2", "--analyst", "bob").code == 0


def test_spending_that_was_suspended_is_refused(clinic) -> None:
    run(clinic, "count", "patients", "--epsilon", "0.01")
    run(clinic, "suspend", "ana")
    told = run(clinic, *COUNT, "--epsilon", "1", "--json")
    assert (told.code, told.json["error"]["code"]) == (3, "suspended")
    shown = run(clinic, "preview", *COUNT, "--epsilon", "1").out
    assert "mind       spending of analyst 'ana' in population 'clinic' is suspended" in shown
    stream = ("preview", "patients", "--at-least", "20", "--epsilon", "1", "--json")
    assert run(clinic, *stream).json["warnings"] == [told.json["error"]["message"]]
    assert run(clinic, *stream, "--analyst", "bob").json["warnings"] == []
    assert "stopped   spending of ana; lapwing suspend ana --end allows it again" in run(clinic, "budget").out
    others = run(clinic, "budget", "--analyst", "bob", "--json").json
    assert (others["suspended"], others["suspended_analysts"]) == (False, ["ana"])
    run(clinic, "suspend")
    assert "stopped   spending of everybody; lapwing suspend --end allows it" in run(clinic, "budget").out
    run(clinic, "suspend", "--end")
    run(clinic, "suspend", "ana", "--end")
    assert run(clinic, *COUNT, "--epsilon", "1").code == 0


def test_a_database_that_fails_tells_nothing(clinic) -> None:
    """The file no longer fits its declaration: the reason is for the custodian's log only, and quotes no cell."""
    (clinic / "patients.csv").write_text("patient_id,sex,age,cancer_survivor\n1,M,secret,true\n")
    run(clinic, "advance", "patients")
    told = run(clinic, *COUNT, "--epsilon", "1", "--json")
    assert (told.code, told.json["error"]["code"]) == (4, "unavailable")
    assert "secret" not in told.out + told.err
    assert "failures.log" in told.err
    logged = (clinic / "failures.log").read_text()
    assert "line 2 has a cell in column age" in logged
    assert "secret" not in logged
    assert spent(clinic) == "0"  # it failed before the charge


def test_data_that_changed_unannounced_is_refused(clinic) -> None:
    run(clinic, *COUNT, "--epsilon", "1")
    write_patients(clinic, people=1999)
    told = run(clinic, *COUNT, "--where", "age < 3", "--epsilon", "1", "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "registration")
    assert "lapwing advance patients" in told.json["error"]["remedy"]
    told = run(clinic, "advance", "patients", "--json").json
    assert (told["table"], told["version"], told["readable"], told["changed"]) == ("patients", 2, True, [])
    assert run(clinic, *COUNT, "--where", "age < 3", "--epsilon", "1").code == 0
    assert spent(clinic) == "2"


def test_a_ledger_that_was_tampered_with_is_refused(clinic) -> None:
    run(clinic, *COUNT, "--epsilon", "1")
    ledger = clinic / "ledger.db"
    ledger.write_bytes(ledger.read_bytes().replace(b'"kind":"charge"', b'"kind":"chargf"'))
    told = start(clinic, *COUNT, "--epsilon", "1", "--json")
    assert told.code == 5
    assert told.json["error"]["exit"] == 5
    assert told.json["error"]["code"].startswith("ledger_")


def test_a_request_that_was_lost_stays_charged(clinic) -> None:
    died = start(clinic, *COUNT, "--epsilon", "1", "--key", "k", LAPWING_FAULT="ask.read:kill")
    assert died.code == -9
    waiting = run(clinic, *COUNT, "--epsilon", "1", "--key", "k", "--json")
    assert (waiting.code, waiting.json["error"]["code"], waiting.json["error"]["lost"]) == (5, "unanswered", False)
    assert run(clinic, "recover").out == "settled  1 question\n"
    lost = run(clinic, *COUNT, "--epsilon", "1", "--key", "k", "--json")
    assert (lost.code, lost.json["error"]["lost"]) == (5, True)
    assert spent(clinic) == "1"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("count", "nobody"), "population clinic has no table 'nobody'; it has patients"),
        (("count", "patients", "--where", "height > 3"), "has no column 'height'"),
        (("count", "patients", "--where", "sex = 'm'"), "'m'"),
        (("count", "patients", "--population", "school"), "is not declared in this workspace; name one of clinic"),
        (("sql", "select max(age) from patients"), "MAX is not"),
        (("sql", "select * from patients"), "*"),
        (("sql", "select age from patients"), "age"),
        (("sql", "drop table patients"), "nothing here changes tables"),
        (("sql", "select count(*) from patients; select 1"), "one"),
        (("sql", "select count(*) from read_csv('/etc/passwd')"), ""),
        (("sql", ""), ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_asked_is_refused_by_name(clinic, words, said) -> None:
    told = run(clinic, *words, "--epsilon", "1")
    assert told.code == 2
    assert told.err.startswith("lapwing: ")
    assert said in told.err
    assert told.out == ""
    assert spent(clinic) == "0"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("count", "patients", "--epsilon", "1", "--plot", "x.pdf"), "is neither .svg nor .png"),
        (("preview", "count", "patients", "--epsilon", "1", "--plot", "nowhere/x.svg"), "a folder that is not there"),
        (("budget", "--plot", "x"), "is neither .svg nor .png"),
        (("explain", "epsilon", "1", "--plot", "x.gif"), "is neither .svg nor .png"),
        (("explain", "count", "patients", "--plot", "x.svg"), "draws an epsilon"),
        (("explain", "epsilon", "0"), "is zero"),
        (("explain", "epsilon", "1", "--prior", "1"), "is not strictly between 0 and 1"),
        (("explain",), "nothing is asked"),
        (("stream", "ask", "nobody", "age < 3"), "is not in this ledger"),
        (("ledger", "export", "x.csv"), "is neither .jsonl nor .parquet"),
        (("ledger", "verify", "--receipt", "mine"), "is not a receipt"),
        (("ledger", "verify", "--export", "nowhere.json"), "is not there"),
        (("frobnicate",), "No such command 'frobnicate'."),
        (("cuont", "patients"), "No such command 'cuont'. Did you mean count?"),
        (("mean", "patients", "age"), "A statistic is asked for with: lapwing ask mean patients age"),
        (("count", "patients", "--epsilom", "1"), "No such option"),
        (("completion", "tcsh"), "tcsh"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_other_mistakes_say_what_to_do(clinic, words, said) -> None:
    told = run(clinic, *words)
    assert told.code == 2
    assert said in told.err
    in_json = run(clinic, *words, "--json").json
    assert in_json["error"]["exit"] == 2
    assert in_json["error"]["message"]


def test_a_workspace_that_is_none_says_so(quick_path) -> None:
    told = run(quick_path / "nowhere", *COUNT, "--epsilon", "1", "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "settings")
    assert "lapwing.toml: is not there" in told.json["error"]["message"]


def test_settings_that_are_none_name_the_line(clinic) -> None:
    settings = clinic / "lapwing.toml"
    text = settings.read_text()
    settings.write_text(text.replace("high = 120", "hihg = 120"))
    told = run(clinic, *COUNT, "--epsilon", "1", "--json")
    line = next(i for i, one in enumerate(text.splitlines(), 1) if one.startswith("age = "))
    assert (told.code, told.json["error"]["line"]) == (2, line)
    assert "did you mean high?" in told.json["error"]["remedy"]
    settings.write_text(text + "[populations\n")
    assert f"line {len(text.splitlines()) + 1}: is not TOML" in run(clinic, "budget").err


def test_of_two_populations_one_is_named(clinic) -> None:
    settings = clinic / "lapwing.toml"
    settings.write_text(settings.read_text() + '\n[populations.school]\nperson_key = "id"\nbudget = { epsilon = 1 }\n')
    assert run(clinic, "update").out == "population school  new: epsilon 1\n"
    told = run(clinic, *COUNT, "--epsilon", "1", "--json")
    assert told.code == 2
    assert "the populations clinic, school; name one, such as --population clinic" in told.json["error"]["message"]
    assert run(clinic, *COUNT, "--epsilon", "1", "--population", "clinic").code == 0


def test_all_populations_are_shown_unless_one_is_named(clinic) -> None:
    settings = clinic / "lapwing.toml"
    settings.write_text(settings.read_text() + '\n[populations.school]\nperson_key = "id"\nbudget = { epsilon = 1 }\n')
    run(clinic, "update")
    for command in ("budget", "tables"):
        both = run(clinic, command, "--json").json["populations"]
        assert [one["population"] for one in both] == ["clinic", "school"]
        assert run(clinic, command, "--population", "school", "--json").json == both[1]
        told = run(clinic, command).out
        assert "clinic" in told
        assert "school" in told
    assert run(clinic, "tables", "patients", "--json").json["population"] == "clinic"
    assert run(clinic, "tables", "nobody").code == 2
    plot = run(clinic, "budget", "--plot", str(clinic / "x.svg"))
    assert "name one, such as --population clinic" in plot.err


@pytest.mark.parametrize("damage", ["head", "hash", "letter", "last"])
def test_a_tampered_export_is_told_in_words(clinic, damage) -> None:
    export = clinic / "ledger.json"
    run(clinic, "ledger", "export", str(export))
    first, second, *rest = export.read_text().splitlines()
    changed = {
        "head": [first.replace('"head":"', '"head":"xy'), second],
        "hash": [first, second.replace('"hash":"', '"hash":"xy')],
        "letter": [first, second.replace("clinic", "clin\u00efc")],
        "last": [first.replace('"last":', '"lost":'), second],
    }[damage]
    export.write_text("\n".join([*changed, *rest]) + "\n", encoding="utf-8")
    told = run(clinic, "ledger", "verify", "--export", str(export))
    assert told.code == 5
    assert "restore a backup that every receipt agrees with" in told.err


def test_a_ledger_that_is_gone_is_to_be_restored(clinic) -> None:
    for file in clinic.glob("ledger.db*"):
        file.unlink()
    for words in (("budget",), ("update",), (*COUNT, "--epsilon", "1")):
        told = run(clinic, *words)
        assert told.code == 5
        assert "restore the newest backup and check it with lapwing ledger verify --receipt RECEIPT" in told.err


def test_an_account_that_was_never_made_is_no_lost_one(quick_path) -> None:
    folder = quick_path / "clinic"
    run(folder, "init", str(folder), "--template")
    settings = folder / "lapwing.toml"
    for line in ('person_key = "patient_id"', 'budget = { epsilon = "3" }'):
        settings.write_text(settings.read_text().replace(f"# {line}", line))
    told = run(folder, "budget")
    assert told.code == 2
    assert "has no account yet; make it with lapwing update" in told.err


def test_a_ledger_that_may_only_be_read_says_what_permission_is_missing(clinic, monkeypatch) -> None:
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    told = run(clinic, "budget")
    assert told.code == 5
    assert "give this user write permission for both" in told.err


def test_receipts_are_counted(clinic) -> None:
    receipt = run(clinic, *COUNT, "--epsilon", "1", "--json").json["receipt"]
    assert ", and the receipt agrees." in run(clinic, "ledger", "verify", "--receipt", receipt).out
    again = run(clinic, "ledger", "verify", "--receipt", receipt, "--receipt", receipt)
    assert ", and all 2 receipts agree." in again.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("count", "patients", "--where", "age >= and 3"), "at 'and' (column 8)"),
        (("count", "patients", "--where", "sex = 'M' foo bar"), "at 'foo' (column 11)"),
        (("sql", "select count(*)\nfrm patients where"), "at 'patients' (line 2, column 5)"),
        (("sql", "select count(* from patients"), "at 'from' (column 16)"),
        (("count", "patients", "--where", "sex = 'M"), "cannot be read as SQL; write one condition"),
    ],
    ids=["operand", "word", "second line", "bracket", "quote"],
)
def test_what_cannot_be_read_says_where(clinic, words, said) -> None:
    told = run(clinic, *words, "--epsilon", "1")
    assert told.code == 2
    assert said in told.err


def test_a_misspelt_key_is_named(clinic) -> None:
    settings = clinic / "lapwing.toml"
    settings.write_text(settings.read_text().replace("budget = ", "budgett = "))
    told = run(clinic, "budget")
    assert told.code == 2
    assert "unknown key budgett in [populations.clinic]; did you mean budget?" in told.err


def test_a_key_that_anyone_can_read_is_refused(clinic) -> None:
    (clinic / "stream.key").chmod(0o644)
    told = run(clinic, *COUNT, "--epsilon", "1", "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "settings")
    assert "chmod 600" in told.json["error"]["remedy"]


def test_a_real_process_ends_with_the_same_codes(clinic) -> None:
    run(clinic, *COUNT, "--epsilon", "20")
    refused = start(clinic, *COUNT, "--where", "age < 9", "--epsilon", "15", "--json")
    assert refused.code == 3
    assert refused.json["error"]["left"] == "10"
    shutil.rmtree(clinic)
    assert start(clinic, *COUNT, "--epsilon", "1").code == 2

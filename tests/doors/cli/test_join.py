"""A second host on a ledger in PostgreSQL: one command, one account, one key, and nothing half-made."""

import shutil

import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run, spent, write_patients

KEY = ("--person-key", "patient_id")
DECLARED = ("--integer", "age=0..120")


@pytest.fixture
def address(database) -> str:
    place = dict(part.split("=") for part in database.split())
    return f"postgresql:///{place['dbname']}?host={place['host']}&user={place['user']}"


@pytest.fixture
def first(quick_path, address):
    folder = quick_path / "first"
    words = ("--population", "clinic", "--epsilon", "3", "--allow", "ana=2", "--ledger", address)
    assert run(folder, "init", str(folder), *KEY, *words).code == 0
    write_patients(folder)
    assert run(folder, "add", "patients", "--source", str(folder / "patients.csv"), *DECLARED).code == 0
    return folder


def test_a_second_host_shares_account_key_and_streams(first, quick_path, address) -> None:
    run(first, "count", "patients", "--epsilon", "1")
    run(first, "stream", "open", "--at-least", "9", "--yeses", "2", "--epsilon", "0.5", "--name", "s")
    second = quick_path / "second"
    key = quick_path / "copied.key"
    shutil.copy(first / "stream.key", key)
    told = run(quick_path, "join", str(second), "--ledger", address, "--key", str(key))
    assert told.code == 0, told
    assert "next    lapwing add TABLE --source FILE" in told.out
    assert (second / "stream.key").stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in second.iterdir()) == sorted(
        ["fingerprints.json", "fingerprints.lock", "lapwing.toml", "ledger.head", "ledger.head.1", "stream.key"]
    )
    assert spent(second) == spent(first)
    write_patients(second)
    assert run(second, "add", "south", "--source", str(second / "patients.csv"), *DECLARED).code == 0
    assert "0.5 is left" in run(second, "count", "south", "--epsilon", "0.6").err
    assert run(second, "count", "south", "--epsilon", "0.4").code == 0
    assert run(first, "budget", "--json").json["analysts"]["ana"]["left"]["amount"] == "0.1"
    (second / "lapwing.toml").write_text(
        (second / "lapwing.toml").read_text()
        + '\n[populations.clinic.tables.patients]\nsource = "patients.csv"\ncolumns.age = { type = "integer" }\n'
    )
    assert run(second, "update").code == 0
    assert run(second, "stream", "ask", "s", "age < 90").code == 0, "the key is the same"
    assert run(second, "ledger", "verify").code == run(first, "ledger", "verify").code == 0


def test_the_settings_of_the_first_host_may_be_taken_over(first, quick_path, address) -> None:
    second = quick_path / "second"
    second.mkdir()
    shutil.copy(first / "patients.csv", second)
    words = ("--ledger", address, "--key", str(first / "stream.key"), "--like", str(first / "lapwing.toml"))
    told = run(quick_path, "join", str(second), *words, "--json").json
    assert (told["populations"], told["tables"]) == (["clinic"], ["patients"])
    assert run(second, "count", "patients", "--epsilon", "1").code == 0
    assert spent(first) == "1"


def test_what_fails_leaves_nothing_behind(first, quick_path, address) -> None:
    second, key = quick_path / "second", quick_path / "other.key"
    before = sorted(quick_path.iterdir())

    def refused(*words: str) -> str:
        told = run(quick_path, "join", str(second), *words)
        assert told.code in {2, 5}, told
        assert sorted(quick_path.iterdir()) == before, "nothing is left behind"
        return told.err

    good = str(first / "stream.key")
    assert "copy it from the first host" in refused("--ledger", address, "--key", str(key))
    assert "holds no key" in refused("--ledger", address, "--key", str(first / "lapwing.toml"))
    assert "holds a password" in refused("--ledger", "postgresql://u:p@localhost/x", "--key", good)
    refused("--ledger", "postgresql:///nowhere?host=/nowhere", "--key", good)
    text = (first / "lapwing.toml").read_text()
    (first / "lapwing.toml").write_text(text.replace('epsilon = "3"', 'epsilon = "4"'))
    told = refused("--ledger", address, "--key", good, "--like", str(first / "lapwing.toml"))
    assert "this is not the budget that the ledger keeps" in told
    told = run(quick_path, "join", str(first), "--ledger", address, "--key", good)
    assert (told.code, "it is a workspace" in told.err) == (2, True)


def test_a_key_that_opens_no_stream_of_the_ledger_is_refused(first, quick_path, address) -> None:
    run(first, "stream", "open", "--at-least", "9", "--yeses", "2", "--epsilon", "0.5", "--name", "s")
    other, second = quick_path / "other", quick_path / "second"
    assert run(other, "init", str(other), *KEY, "--population", "clinic", "--epsilon", "3").code == 0
    told = run(quick_path, "join", str(second), "--ledger", address, "--key", str(other / "stream.key"))
    assert (told.code, second.exists()) == (2, False)
    assert "does not open the open stream of this ledger: it is the key of another workspace" in told.err
    assert run(first, "stream", "ask", "s", "age < 90").code == 0, "the stream is open as before"


@pytest.mark.usefixtures("first")
def test_init_on_a_ledger_that_is_there_says_join_and_leaves_nothing_behind(quick_path, address) -> None:
    second = quick_path / "second"
    told = run(quick_path, "init", str(second), *KEY, "--epsilon", "3", "--ledger", address)
    assert (told.code, "lapwing join makes the workspace of a further host" in told.err) == (5, True)
    assert not second.exists()


def test_segments_and_refused_analysts_come_along(quick_path, address) -> None:
    first = quick_path / "first"
    first.mkdir()
    write_patients(first)
    lw.create(
        first,
        f"""ledger = "{address}"
[populations."the clinic"]
person_key = "patient_id"
budget = {{ epsilon = "3", delta = "1e-6" }}
adjacency = "replace"
unnamed_analysts = "refused"
[populations."the clinic".analysts]
ana = {{ epsilon = "1" }}
[populations."the clinic".segments]
north = {{ first = 0, last = 999 }}
"the south" = {{ first = 1000, last = 1999 }}
""",
    ).close()
    words = ("--ledger", address, "--key", str(first / "stream.key"))
    assert run(quick_path, "join", str(quick_path / "second"), *words).code == 0
    told = run(quick_path / "second", "budget", "--json").json
    assert told == run(first, "budget", "--json").json
    assert told["unnamed_analysts"] == "refused"
    assert run(quick_path / "second", "update").out == "Nothing to do: the ledger is as lapwing.toml says.\n"

"""Two workspaces, and a population that moves from one to the other; commands that take one population of several."""

import json

import pytest

from doors.cli.at_the_prompt import RECEIPT, run

pytestmark = pytest.mark.one_budget("the moves of tests/ledger/test_moving.py, at the prompt: the kind cannot matter")

SECTION = """
[populations.{name}]
person_key = "id"
budget = {{ epsilon = "1" }}

[populations.{name}.tables.{name}]
source = "{name}.csv"
columns.smoker = {{ type = "boolean" }}
"""


@pytest.fixture
def here(quick_path):
    """A workspace with two populations, each of which was asked."""
    return workspace(quick_path / "here", "north", "south")


@pytest.fixture
def there(quick_path):
    return workspace(quick_path / "there", "east")


def workspace(folder, *names: str):
    folder.mkdir()
    for name in names:
        write(folder, name)
    (folder / "lapwing.toml").write_text("".join(SECTION.format(name=name) for name in names))
    assert run(folder, "update").code == 0
    for name in names:
        assert ask(folder, name).code == 0
    return folder


def write(folder, name: str) -> None:
    first = 1000 * ord(name[0])
    (folder / f"{name}.csv").write_text("id,smoker\n" + "".join(f"{first + i},{i % 3 == 0}\n" for i in range(200)))


def ask(folder, name: str):
    return run(folder, "count", name, "--where", "smoker", "--epsilon", "0.1", "--population", name)


def test_a_population_moves_with_its_account_and_its_receipts(here, there) -> None:
    kept = RECEIPT.findall(run(here, "ledger", "verify", "--population", "south").out)[0]
    (to,) = RECEIPT.findall(run(there, "ledger", "verify").out)
    path = str(here / "south.jsonl")
    assert "is not a receipt" in run(here, "ledger", "export", path, "--population", "south", "--to", "ledger 2").err
    refused = run(here, "ledger", "export", path, "--population", "south", "--to", to)
    assert refused.code == 2
    assert "stop its spending first" in refused.err
    assert run(here, "suspend", "--population", "south").code == 0
    told = run(here, "ledger", "export", path, "--population", "south", "--to", to)
    assert told.code == 0, told
    assert f"lapwing ledger import {path}" in " ".join(told.out.split())

    (end,) = set(RECEIPT.findall(told.out))
    assert run(there, "ledger", "import", path).code == 2
    refused = run(there, "ledger", "import", path, "--receipt", kept)
    assert "is not of the end of" in refused.err
    told = run(there, "ledger", "import", path, "--receipt", end)
    assert told.code == 0, told
    assert "population south, with 7 entries" in told.out
    write(there, "south")
    with (there / "lapwing.toml").open("a") as settings:
        settings.write(SECTION.format(name="south"))
    assert run(there, "update").code == 0
    assert run(there, "suspend", "--population", "south", "--end").code == 0
    again = run(there, "count", "south", "--where", "smoker", "--epsilon", "0.2", "--population", "south")
    assert again.code == 0, again
    assert run(there, "budget", "--population", "south", "--json").json["spent"] == "0.3"
    assert run(there, "ledger", "verify", "--receipt", kept).code == 0

    assert "moved to ledger" in run(here, "count", "south", "--epsilon", "0.2", "--population", "south").err
    assert ask(here, "north").code == 0
    assert run(here, "ledger", "verify").code == 0
    assert "moved the population to another ledger" in run(here, "history", "--population", "south").out


def test_one_of_several_is_shown_verified_and_exported(here, tmp_path) -> None:
    whole, south = (
        run(here, "ledger", "verify", "--json").json,
        run(here, "ledger", "verify", "--population", "south", "--json").json,
    )
    assert (whole["entries"], south["entries"]) == (8, 4)
    assert south["head"].split(":")[1].endswith("/3")
    assert "/" not in whole["head"].split(":")[1]
    run(here, "ledger", "export", str(tmp_path / "south.jsonl"), "--population", "south")
    lines = [json.loads(line) for line in (tmp_path / "south.jsonl").read_text().splitlines()]
    assert {line["entry"]["population"] for line in lines[1:]} == {"south"}
    assert run(here, "ledger", "verify", "--export", str(tmp_path / "south.jsonl")).code == 0
    run(here, "ledger", "export", str(tmp_path / "all.jsonl"), "--cores", "2")
    checked = run(here, "ledger", "verify", "--export", str(tmp_path / "all.jsonl"), "--receipt", south["head"])
    assert checked.code == 0
    assert run(here, "ledger", "verify", "--population", "nowhere").code == 2
    assert (
        run(here, "ledger", "export", str(tmp_path / "x.parquet"), "--population", "south", "--to", whole["head"]).code
        == 2
    )

"""Decisions by a program: lapwing.toml and the ledger change together, or not at all."""

import os
import signal
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

import lapwing as lw
from lapwing.doors.server.server_state import ServerState
from lapwing.vocabulary.errors import LapwingError, LedgerUnwritableError, ParameterError, SettingsError
from lapwing.vocabulary.guarantee import PureDP
from lapwing.workspace.changing import NewTable, add_table, decide, grant
from lapwing.workspace.declaring import ColumnInput
from lapwing.workspace.toml import with_entry
from lapwing.workspace.workspace import UNDONE
from workspace.test_workspace import SETTINGS, write_patients

PLACE = ("populations", "clinic", "analysts", "ana")
ALLOWED = {"epsilon": "1"}


@pytest.mark.parametrize(
    "text",
    [
        "[populations.clinic]\nsalt = 1\n",
        "[populations.clinic]\n[populations.clinic.analysts]\nben = { epsilon = '2' }\n[vocabularies]\n",
        "[populations.clinic]\n[populations.clinic.analysts]\nana = { epsilon = '2' }  # old\n",
        "[populations.clinic]\nanalysts.ana = { epsilon = '2' }\n",
        "# ana = 1\n[populations.clinic]\n",
    ],
)
def test_an_entry_is_set_and_taken_away_and_all_else_stays(text) -> None:
    after = with_entry("f", text, PLACE, ALLOWED)
    assert tomllib.loads(after)["populations"]["clinic"]["analysts"]["ana"] == ALLOWED
    kept = [line for line in text.splitlines() if "ana = " not in line or line.startswith("#")]
    assert [line for line in after.splitlines() if line in kept] == kept
    without = tomllib.loads(with_entry("f", after, PLACE, None))["populations"]["clinic"]
    assert "ana" not in without.get("analysts", {})


@pytest.mark.parametrize(
    "text",
    [
        "[populations.clinic]\nanalysts = { ana = { epsilon = '2' } }\n",
        "[populations.clinic]\nanalysts.ben = { epsilon = '2' }\n",
        "[populations.clinic.analysts.ana]\nepsilon = '2'\n",
        "populations = { clinic = { salt = 1 } }\n",
        "[populations.clinic.analysts]\nx = '''\nana = { epsilon = '3' }\n'''\n",
    ],
)
def test_what_cannot_be_changed_for_sure_is_left_to_people(text) -> None:
    with pytest.raises(SettingsError, match="edit the file"):
        with_entry("f", text, PLACE, ALLOWED)


def test_a_decision_is_in_the_file_and_in_the_ledger_with_who_made_it(quick_path) -> None:
    write_patients(quick_path)
    with lw.create(quick_path, SETTINGS) as workspace:
        decide(workspace, "clinic", {("analysts", "ana"): ALLOWED}, by="cleo")
        record = workspace.ledger.population("clinic")
        assert record.analyst("ana").allowance == PureDP(epsilon=Fraction(1))
        assert workspace.ledger.history("clinic")[-1]["by"] == "cleo"
        workspace.session(analyst="ana")
    with lw.open_workspace(quick_path) as again:
        assert again.settings.declared().analysts["ana"] == PureDP(epsilon=Fraction(1))


def test_a_decision_that_is_refused_changes_nothing(quick_path) -> None:
    write_patients(quick_path)
    with lw.create(quick_path, SETTINGS) as workspace:
        session = workspace.session(analyst="ana")
        session.ask(lw.count("patients"), epsilon="0.5")
        before, head = (quick_path / "lapwing.toml").read_text(), workspace.ledger.head()
        for entries in (
            {("budget",): {"epsilon": "0.001"}},
            {("analysts", "ana"): {"epsilon": "0.1"}},
            {("analysts", "ana"): {"epsilon": "-1"}},
            {("person_key",): "other"},
            {("nothing",): 1},
        ):
            with pytest.raises(LapwingError):
                decide(workspace, "clinic", entries, by="cleo")
            assert (quick_path / "lapwing.toml").read_text() == before
            assert workspace.ledger.head() == head
        session.ask(lw.count("patients", "age > 3"), epsilon="0.5")


EDITS = {
    "a budget": ('epsilon = "100"', 'epsilon = "5000"', "the budget that the ledger keeps"),
    "an allowance": ("[populations.clinic]\n", "[populations.clinic]\nanalysts.mallory.epsilon = 50\n", "mallory"),
    "a policy": ("[populations.clinic]\n", "[populations.clinic]\npolicy.noes_a_day = 7\n", "noes a day"),
    "everybody": ("[populations.clinic]\n", '[populations.clinic]\nunnamed_analysts = "refused"\n', "allowance"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_decision_brings_no_edit_along_that_waits_for_an_update(quick_path, edit) -> None:
    """Whoever answers a request or gives an allowance on a page does not see what somebody else is writing."""
    write_patients(quick_path)
    old, new, said = EDITS[edit]
    assert old in SETTINGS
    with lw.create(quick_path, SETTINGS) as workspace:
        request = workspace.ledger.budget_requests.make("clinic", "ana", PureDP(epsilon=1), purpose="more")
        file, head = quick_path / "lapwing.toml", workspace.ledger.head()
        edited = file.read_text().replace(old, new)
        file.write_text(edited)
        more = NewTable(name="more", file="patients.csv", columns={"age": ColumnInput(type="integer", values="0..120")})
        for act in (
            lambda: decide(workspace, "clinic", {("analysts", "ben"): ALLOWED}, by="cleo"),
            lambda: grant(workspace, "clinic", request.number, by="cleo"),
            lambda: add_table(workspace, "clinic", more, by="cleo"),
        ):
            with pytest.raises(SettingsError, match=f"{said}.*lapwing update, or take the change back"):
                act()
            assert (file.read_text(), workspace.ledger.head()) == (edited, head)
        file.write_text(edited.replace(new, old))
        decide(workspace, "clinic", {("analysts", "ben"): ALLOWED}, by="cleo")
        assert set(workspace.ledger.population("clinic").analysts) == {"ben"}


def test_a_yes_to_a_request_is_in_the_file_and_in_the_ledger_or_in_neither(quick_path, monkeypatch) -> None:
    """Also where the ledger fails, or somebody else has decided between the look and the yes."""
    write_patients(quick_path)
    with lw.create(quick_path, SETTINGS) as workspace:
        decide(workspace, "clinic", {("analysts", "ana"): ALLOWED}, by="cleo")
        requests, file = workspace.ledger.budget_requests, quick_path / "lapwing.toml"
        first, second = (requests.make("clinic", "ana", PureDP(epsilon=1), purpose="more") for _ in range(2))
        before, head = file.read_text(), workspace.ledger.head()
        with monkeypatch.context() as failing:
            failing.setenv("LAPWING_FAULT", "policy.written:full")
            with pytest.raises(LedgerUnwritableError):
                grant(workspace, "clinic", first.number)
        assert (file.read_text(), workspace.ledger.head()) == (before, head)
        assert grant(workspace, "clinic", first.number, by="cleo").by == "cleo"
        assert workspace.settings.declared().analysts["ana"] == PureDP(epsilon=2)
        seen = requests.effect_of(second)
        monkeypatch.setattr(requests, "effect_of", lambda _: seen._replace(after=PureDP(epsilon=9)))
        before = file.read_text()
        with pytest.raises(ParameterError, match="look at it again"):
            grant(workspace, "clinic", second.number)
        assert file.read_text() == before
    with lw.open_workspace(quick_path) as again:
        assert again.ledger.population("clinic").analyst("ana").allowance == PureDP(epsilon=2)


GRANT = """
import sys, lapwing as lw
from lapwing.workspace.changing import grant
grant(lw.open_workspace(sys.argv[1]), "clinic", 1, by="cleo")
"""


def kill_while_granting(folder, point: str) -> None:
    """Let a process say yes to the first request, and be killed at a point of it."""
    environment = {**os.environ, "LAPWING_FAULT": f"{point}:kill"}
    done = subprocess.run([sys.executable, "-c", GRANT, str(folder)], env=environment, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize(("point", "epsilon"), [("policy.written", 1), ("policy.committed", 2)])
def test_a_yes_of_a_process_that_was_killed_is_in_both_places_or_in_neither(quick_path, point, epsilon) -> None:
    write_patients(quick_path)
    with lw.create(quick_path, SETTINGS) as workspace:
        decide(workspace, "clinic", {("analysts", "ana"): ALLOWED}, by="cleo")
        workspace.ledger.budget_requests.make("clinic", "ana", PureDP(epsilon=1), purpose="more")
        state = ServerState(workspace)  # of another process, which goes on
        kill_while_granting(quick_path, point)
        assert tomllib.loads((quick_path / "lapwing.toml").read_text())["populations"]["clinic"]["analysts"]["ana"] == {
            "epsilon": "2"
        }
        state.look_around()
        assert state.trouble is None
        assert workspace.settings.declared().analysts["ana"] == PureDP(epsilon=epsilon)
    with lw.open(quick_path, analyst="ana") as session:
        assert session.budget().left == epsilon
    assert (quick_path / UNDONE).read_bytes() == b""


def test_what_a_killed_process_wrote_is_taken_back_on_opening_unless_somebody_wrote_since(quick_path) -> None:
    write_patients(quick_path)
    file = quick_path / "lapwing.toml"
    with lw.create(quick_path, SETTINGS) as workspace:
        workspace.ledger.budget_requests.make("clinic", "ana", PureDP(epsilon=1), purpose="more")
    before = file.read_text()
    kill_while_granting(quick_path, "policy.written")
    ahead = file.read_text()
    assert ahead != before
    lw.open(quick_path).close()
    assert file.read_text() == before
    kill_while_granting(quick_path, "policy.written")
    file.write_text(f"{ahead}# mine\n")
    with pytest.raises(SettingsError, match="not the budget that the ledger keeps"):
        lw.open(quick_path)
    assert file.read_text() == f"{ahead}# mine\n"
    with lw.open_workspace(quick_path) as workspace:
        workspace.update()
    (quick_path / UNDONE).write_text("{ half of it")
    lw.open(quick_path).close()
    assert (quick_path / UNDONE).read_bytes() == b""


def test_whoever_reads_the_settings_while_they_are_changed_reads_all_of_them(quick_path, monkeypatch) -> None:
    """Other processes read them at any time, and a crash may come at any time: the file was empty for a moment."""
    write_patients(quick_path)
    file, seen = quick_path / "lapwing.toml", set()
    with lw.create(quick_path, SETTINGS) as workspace:
        before, sync = file.read_text(), os.fsync
        with monkeypatch.context() as looking:
            looking.setattr(os, "fsync", lambda number: (seen.add(file.read_text()), sync(number)))
            decide(workspace, "clinic", {("analysts", "ana"): ALLOWED}, by="cleo")
        assert before in seen
        assert seen <= {before, file.read_text()}
        assert "ana" in file.read_text()


def test_decisions_of_many_at_once_are_all_in_the_file(quick_path) -> None:
    write_patients(quick_path)
    with lw.create(quick_path, SETTINGS) as one, lw.open_workspace(quick_path) as other, ThreadPoolExecutor(4) as many:
        names = [f"analyst{i}" for i in range(8)]
        done = [
            many.submit(decide, (one, other)[i % 2], "clinic", {("analysts", name): ALLOWED}, by="cleo")
            for i, name in enumerate(names)
        ]
        told = [name for name, each in zip(names, done, strict=True) if each.exception() is None]
        declared = tomllib.loads((quick_path / "lapwing.toml").read_text())["populations"]["clinic"]["analysts"]
        assert set(told) <= set(declared)
        assert set(declared) >= set(one.ledger.population("clinic").analysts)

"""A server of many populations: a look is as many statements for all as for one, and damage of one stops no other."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

import lapwing as lw
from budgets import KindOfBudget
from doors.server.doors import Door, add_people, code_of, count, serving
from doors.server.test_race import url_of
from lapwing.doors.server.decision_watch import DecisionWatch
from lapwing.doors.server.server_state import ServerState
from lapwing.ledger.chains import Chains
from lapwing.ledger.entries import genesis
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.errors import LedgerDamagedError, LedgerRolledBackError, LedgerUnwritableError

SETTINGS = """
[populations.{name}]
person_key = "patient_id"
budget = {budget}
[populations.{name}.tables.patient]
source = "{name}.csv"
[populations.{name}.tables.patient.columns]
sex = {{ type = "category", values = ["F", "M"] }}
age = {{ type = "integer", low = 0, high = 120 }}
"""
BROKEN = "south"


def make_populations(folder: Path, names: list[str], budget: KindOfBudget, ledger: str = "") -> Path:
    folder.mkdir()
    for shift, name in enumerate(names):
        rows = "".join(f"{i},{'FM'[i % 2]},{(i + shift) % 100}\n" for i in range(1, 201))
        (folder / f"{name}.csv").write_text(f"patient_id,sex,age\n{rows}")
    text = "".join(SETTINGS.format(name=name, budget=budget.toml()) for name in names)
    lw.create(folder, (f'ledger = "{ledger}"\n' if ledger else "") + text).close()
    return folder


@pytest.fixture
def folder(quick_path, budget) -> Path:
    return make_populations(quick_path / "clinic", ["north", BROKEN, "west"], budget)


@contextmanager
def by_hand(folder: Path) -> Iterator[tuple[sqlite3.Connection, int]]:
    """Give the database of the ledger, to be changed, and the number of the chain of the broken population."""
    with closing(sqlite3.connect(folder / "ledger.db")) as database, database:
        for trigger in ("changed", "deleted"):
            database.execute(f"drop trigger if exists entries_are_never_{trigger}")
        founded = "select seq from all_entries where chain = 0 and record ->> 'founds' = ?"
        yield database, database.execute(founded, [BROKEN]).fetchone()[0]


def damage(folder: Path) -> None:
    with by_hand(folder) as (database, chain):
        edited = "update all_entries set body = replace(body, 'south', 'sooth') where chain = ? and seq = 1"
        assert database.execute(edited, [chain]).rowcount == 1


def take_last_entry(folder: Path) -> tuple[tuple, tuple]:
    """Roll the broken population back by one entry; return its end and the entry."""
    with by_hand(folder) as (database, chain):
        end = database.execute("select seq, hash, chain from chains where chain = ?", [chain]).fetchone()
        known = "select chain, seq, body, hash from all_entries where chain = ? and seq = ?"
        before, lost = (database.execute(known, [chain, seq]).fetchone() for seq in (end[0] - 1, end[0]))
        database.execute("update chains set seq = ?, hash = ? where chain = ?", (before[1], before[3], chain))
        database.execute("delete from all_entries where chain = ? and seq = ?", [chain, end[0]])
    return end, lost


def ask(door: Door, population: str, where: str, price: object = "0.1", *, who: str = "ana"):
    path = f"/api/v1/populations/{population}/questions"
    return door.call(who, "POST", path, count(where, price), key=fresh_name())


def logged(folder: Path) -> list[str]:
    path = folder / "failures.log"
    return path.read_text().splitlines() if path.exists() else []


def names(door: Door, who: str) -> list[str]:
    return [one["population"] for one in door.get(who, "/api/v1/populations").json()]


def test_a_server_begins_with_one_damaged_chain_and_answers_about_the_others(folder) -> None:
    tokens = add_people(folder)
    damage(folder)
    with serving(folder, tokens=tokens) as door:
        assert [ask(door, name, "age > 40").status_code for name in ("north", "west")] == [200, 200]
        for answer in (ask(door, BROKEN, "age > 40"), door.get("otto", f"/api/v1/populations/{BROKEN}/account")):
            assert (answer.status_code, code_of(answer)) == (503, "ledger")
        assert (names(door, "ana"), names(door, "otto")) == (["north", "west"], ["north", BROKEN, "west"])
        told = door.get("cleo", "/api/v1/failures").json()
        assert [one["population"] for one in told["damaged"]] == [BROKEN]
        assert "entry 1" in told["damaged"][0]["why"]
        for _ in range(3):
            assert door.call("cleo", "POST", "/api/v1/recoveries").json()["unread"] == [BROKEN]
        assert door.get("cleo", "/api/v1/unsettled").json() == []
        assert len(logged(folder)) == 1, logged(folder)


def test_a_chain_that_is_damaged_while_the_server_runs_stops_no_other_and_is_well_again_afterwards(folder) -> None:
    with serving(folder) as door:
        assert ask(door, BROKEN, "age > 40").status_code == 200
        end, lost = take_last_entry(folder)
        assert [ask(door, name, "age > 41").status_code for name in ("north", BROKEN, "west")] == [200, 503, 200]
        (said,) = door.get("cleo", "/api/v1/failures").json()["damaged"]
        assert said["population"] == BROKEN
        assert "older than" in said["why"]
        with closing(sqlite3.connect(folder / "ledger.db")) as database, database:
            database.execute("insert into all_entries (chain, seq, body, hash) values (?, ?, ?, ?)", lost)
            database.execute("update chains set seq = ?, hash = ? where chain = ?", end)
        assert door.call("cleo", "POST", "/api/v1/recoveries").json()["unread"] == []
        assert door.get("cleo", "/api/v1/failures").json()["damaged"] == []
        assert ask(door, BROKEN, "age > 41").status_code == 200


def test_settings_of_the_others_change_while_one_chain_is_damaged(folder) -> None:
    tokens = add_people(folder)
    damage(folder)
    with serving(folder, tokens=tokens) as door:
        policy = {"unnamed_analysts": False}
        told = door.call("cleo", "PATCH", "/api/v1/populations/north/policy", policy)
        assert (told.status_code, told.json()["unnamed_analysts"]) == (200, False)
        assert ask(door, "north", "age > 30").status_code == 404
        assert ask(door, "west", "age > 30").status_code == 200
        told = door.call("cleo", "PATCH", f"/api/v1/populations/{BROKEN}/policy", policy)
        assert (told.status_code, code_of(told)) == (503, "ledger")
    damaged = [line for line in (folder / "lapwing.toml").read_text().split("[populations.") if line.startswith(BROKEN)]
    assert "refused" not in damaged[0]


def test_what_is_in_flight_elsewhere_is_settled_although_one_chain_is_damaged(folder, monkeypatch) -> None:
    class Died(BaseException): ...

    def die(*_: object) -> None:
        raise Died

    with lw.open_workspace(folder) as workspace, monkeypatch.context() as patched:
        patched.setattr("lapwing.session.hide_failures", die)
        for name in ("north", "west"):
            with pytest.raises(Died):
                workspace.session(name, analyst="ana").ask(lw.count("patient"), epsilon="0.1")
    damage(folder)
    with lw.open_workspace(folder) as workspace:
        first, second = workspace.recover(), workspace.recover()
    assert [(one.settled, list(one.unread)) for one in (first, second)] == [(2, [BROKEN]), (0, [BROKEN])]


@pytest.mark.one_budget("what is looked for in a chain is the same for every kind of budget")
@pytest.mark.parametrize("wrong", ["update chains set seq = 0 where chain = {}", "delete from chains where chain = {}"])
def test_a_chain_that_is_said_to_be_empty_is_not_taken_for_one_without_questions(folder, wrong) -> None:
    with lw.open_workspace(folder) as workspace:
        number = workspace.ledger.chains.founded()[BROKEN].number
    with closing(sqlite3.connect(folder / "ledger.db")) as database, database:
        database.execute(wrong.format(number))
    with lw.open_workspace(folder) as workspace:
        assert list(workspace.recover(also=[BROKEN]).unread) == [BROKEN]
        assert list(workspace.recover().unread) == [BROKEN]


@pytest.mark.one_budget("what is looked for in a chain is the same for every kind of budget")
def test_a_population_is_not_looked_through_again_before_it_has_grown(folder, monkeypatch) -> None:
    with lw.open_workspace(folder) as workspace:
        workspace.recover()
        looked = list[str]()
        known = type(workspace.ledger).of
        monkeypatch.setattr(type(workspace.ledger), "of", lambda self, name: looked.append(name) or known(self, name))
        workspace.recover()
        assert looked == workspace.maybe_in_flight() == []
        workspace.session("west", analyst="ana").ask(lw.count("patient"), epsilon="0.1")
        looked.clear()
        assert workspace.maybe_in_flight() == ["west"]
        workspace.recover()
        assert set(looked) == {"west"}
        workspace.recover(also=["north"])
        assert set(looked) == {"west", "north"}


@pytest.mark.one_budget("a decision is seen by its entry, whatever it says about a budget")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_look_shows_decisions_of_others_and_no_charges(quick_path, budget, kind, request) -> None:
    address = url_of(request.getfixturevalue("database")) if kind == "postgres" else ""
    place = make_populations(quick_path / "clinic", ["north", "west"], budget, address)
    with lw.open_workspace(place) as here, lw.open_workspace(place) as there:
        watch = DecisionWatch(here.ledger)
        first = watch.look()
        there.session("north", analyst="ana").ask(lw.count("patient"), epsilon="0.1")
        assert watch.look() == first
        there.ledger.administration.suspend("west")
        second = watch.look()
        numbers = there.ledger.numbers()
        assert {number for number in second if second[number] != first[number]} == {numbers["west"]}
        assert watch.look() == second


@pytest.mark.one_budget("what is counted are statements")
def test_a_look_and_a_recovery_are_as_many_statements_for_twelve_populations_as_for_three(
    quick_path, budget, postgres, monkeypatch
) -> None:
    sent, execute = list[str](), psycopg.Connection.execute

    def noted(self, query, *given, **words):
        sent.append(str(query))
        return execute(self, query, *given, **words)

    counts = {}
    for number in (3, 12):
        with postgres.database() as dsn:
            place = make_populations(quick_path / f"{number}", [f"p{i}" for i in range(number)], budget, url_of(dsn))
            with lw.open_workspace(place) as workspace:
                state = ServerState(workspace)
                state.recover()
                state.look_around()
                with monkeypatch.context() as patched:
                    patched.setattr(psycopg.Connection, "execute", noted)
                    for work in (state.look_around, state.recover):
                        sent.clear()
                        work()
                        counts[number, work.__name__] = len(sent)
    assert counts[3, "look_around"] == counts[12, "look_around"] <= 4, counts
    assert counts[3, "recover"] == counts[12, "recover"] <= 8, counts  # the ends, and who is said to have none


@pytest.mark.one_budget("no account of a population is read")
def test_whether_a_population_is_there_is_asked_without_the_others(folder) -> None:
    with lw.open_workspace(folder) as workspace:
        ledger = workspace.ledger
        assert [ledger.has(name) for name in ("north", BROKEN, "east")] == [True, True, False]
    with by_hand(folder) as (database, chain):
        database.execute("delete from chains where chain = ?", [chain])
    with lw.open_workspace(folder) as workspace:
        assert [workspace.ledger.has(name) for name in ("north", "east")] == [True, False]
        assert BROKEN not in workspace.ledger.ends()
        workspace.session("north", analyst="ana").ask(lw.count("patient"), epsilon="0.1")
        with pytest.raises(LedgerDamagedError, match="row"):
            workspace.ledger.has(BROKEN)
        directory = workspace.ledger.name
    with by_hand(folder) as (database, chain):
        database.execute("delete from all_entries where chain = ?", [chain])
        (version,) = database.execute("select version from chains where chain = 0").fetchone()
        name = f"{directory}/{chain}"
        database.execute("insert into chains values (?, ?, ?, 0, ?)", (chain, name, version, genesis(name)))
    with lw.open_workspace(folder) as workspace, pytest.raises(LedgerRolledBackError):
        workspace.ledger.has(BROKEN)


@pytest.mark.one_budget("nothing is charged, and no account is read")
def test_what_goes_on_failing_is_logged_once(folder) -> None:
    with lw.open_workspace(folder) as workspace:
        state, reasons = ServerState(workspace), ["one", "one", "another", None, "another"]

        def work() -> None:
            if (reason := reasons.pop(0)) is not None:
                raise OSError(reason)

        while reasons:
            state.attempt(work)
    assert [line.split(": ")[-1] for line in logged(folder)] == ["one", "another", "another"]


def seals(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "ledger.db")) as database:
        found = database.execute("select body from all_entries where chain = 0 and record ->> 'kind' = 'heads'")
        return [body for (body,) in found]


@pytest.mark.one_budget("a seal has no amounts in it")
def test_what_has_grown_is_sealed_once_over_all_who_serve(folder, monkeypatch) -> None:
    with lw.open_workspace(folder) as here, lw.open_workspace(folder) as there:
        states = [ServerState(here), ServerState(there)]
        there.ledger.seal()
        before = seals(folder)
        here.session("north", analyst="ana").ask(lw.count("patient"), epsilon="0.1")
        for state in states:
            state.seal()
        assert seals(folder) == before, "the other one has sealed within the last minute"
        monkeypatch.setattr("lapwing.doors.server.server_state.SEALING", 0)
        for state in states * 2:
            state.seal()
        (new,) = seals(folder)[len(before) :]
        assert set(json.loads(new)["heads"]) == {"1"}


@pytest.mark.one_budget("a seal has no amounts in it")
def test_a_server_seals_now_and_then_and_goes_on_where_that_fails(folder, monkeypatch) -> None:
    for module in ("application", "server_state"):
        monkeypatch.setattr(f"lapwing.doors.server.{module}.SEALING", 1)
    before, seal = len(seals(folder)), Chains.seal
    with serving(folder) as door:

        def fail(*_: object, **__: object) -> None:
            raise LedgerUnwritableError("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(Chains, "seal", fail)
            assert ask(door, "north", "age > 40").status_code == 200
            wait_until(lambda: logged(folder))
            time.sleep(1.5)  # it fails again meanwhile, and is logged once
            assert [line.split(": ")[-1] for line in logged(folder)] == ["the disk is full"]
            assert ask(door, "north", "age > 41").status_code == 200
        assert Chains.seal is seal
        wait_until(lambda: len(seals(folder)) > before)


def wait_until(there: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not there():
        assert time.monotonic() < end
        time.sleep(0.02)

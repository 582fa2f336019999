"""One workspace for many sessions, threads and processes: one copy of the data, and nobody is in anybody's way."""

import json
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lapwing as lw
from lapwing.engines.duckdb import DuckDB
from lapwing.engines.emitter import Statement
from lapwing.vocabulary.errors import BadQuestionError, EngineError, RegistrationError, SettingsError
from workspace.test_workspace import SETTINGS, write_patients

THREADS = 6


@pytest.fixture
def folder(quick_path) -> Path:
    write_patients(quick_path)
    lw.create(quick_path, SETTINGS).close()
    return quick_path


@pytest.fixture
def opened(monkeypatch) -> list[DuckDB]:
    """Every engine that is opened, in order; closed ones are taken out."""
    engines: list[DuckDB] = []
    close = DuckDB.close

    class Watched(DuckDB):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            engines.append(self)

        def close(self) -> None:
            close(self)
            if self in engines:
                engines.remove(self)

    monkeypatch.setattr("lapwing.sources.DuckDB", Watched)
    return engines


def test_all_sessions_of_a_workspace_share_one_engine(folder, opened) -> None:
    with lw.open_workspace(folder) as workspace:
        sessions = [workspace.session(analyst=f"analyst {i}") for i in range(20)]
        start = threading.Barrier(len(sessions))

        def ask(i: int) -> None:
            start.wait(60)
            sessions[i].ask(lw.count("patients", f"age > {i}"), epsilon=1)

        together(ask, len(sessions))
        assert len(opened) == 1
    assert opened == []


def test_a_new_version_loses_no_question_and_leaves_one_engine(folder, opened) -> None:
    """Threads ask while the custodian says, again and again, that the data is new."""
    with lw.open_workspace(folder) as workspace, lw.open_workspace(folder) as custodian:
        session = workspace.session(analyst="ana")
        told: list[lw.Answer] = []

        def ask(i: int) -> None:
            for turn in range(8):
                if i == 0:
                    custodian.advance("patients")
                told.append(session.ask(lw.count("patients", f"age > {turn} and age < {99 - i}"), epsilon="0.01"))

        together(ask, THREADS)
        assert len(told) == 8 * THREADS
        assert workspace.ledger.questions.unsettled() == []
        assert not [entry for entry in workspace.ledger.history("clinic") if entry["kind"] == "lost"]
        session.ask(lw.count("patients", "age > 1"), epsilon=1)
        assert len(opened) == 1


@pytest.mark.parametrize("ways", ["one", "a stream", "a batch"])
def test_what_is_charged_for_stays_open_when_two_versions_come_around_the_charge(folder, monkeypatch, ways) -> None:
    """One version is announced when the question is ready to be charged, the next as soon as it is."""
    with lw.open_workspace(folder) as workspace, lw.open_workspace(folder) as custodian:
        session = workspace.session(analyst="ana")
        stream = session.stream(name="s", at_least=1, yeses=2, epsilon="1", table="patients")
        session.ask(lw.count("patients", "age > 2"), epsilon="0.01")
        seal, left = type(stream)._seal_seed, ["ask.checked", "ask.charged"] if ways == "one" else ["stream.intended"]

        def announce(point: str) -> None:
            if point in left:
                left.remove(point)
                custodian.advance("patients")

        def announce_and_seal(*given: Any) -> bytes:
            monkeypatch.setattr(type(stream), "_seal_seed", seal)
            custodian.advance("patients")
            return seal(*given)

        monkeypatch.setattr("lapwing.session.fault_point", announce)
        monkeypatch.setattr("lapwing.streams.fault_point", announce)
        monkeypatch.setattr(type(stream), "_seal_seed", announce_and_seal)
        match ways:
            case "one":
                assert session.ask(lw.count("patients", "age > 1"), epsilon=1).versions == {"patients": 2}
            case "a stream":
                assert stream.ask("age > 1").receipt.seq
            case _:
                assert None not in stream.ask_many(["age > 1", "age > 200"]).answers
        assert not left
        assert workspace.ledger.population("clinic").tables == {"patients": 3}
        assert not [entry for entry in workspace.ledger.history("clinic") if entry["kind"] == "lost"]


MANY = """
[populations.{0}]
person_key = "id"
budget = {{ epsilon = "10" }}
tables.patients.source = "{0}.csv"
"""


def test_no_fingerprint_is_lost_when_many_write_at_once(quick_path) -> None:
    """A table whose record got lost could change unnoticed, and its data be claimed by another population."""
    names = [f"p{i}" for i in range(8)]
    for i, name in enumerate(names):
        (quick_path / f"{name}.csv").write_text(f"id\n{i}\n")
    lw.create(quick_path, "".join(MANY.format(name) for name in names)).close()

    def first_question(name: str) -> None:
        with lw.open(quick_path, name) as session:
            session.ask(lw.count("patients"), epsilon=1)

    children = [in_a_child(lambda name=name: first_question(name), wait=False) for name in names[:4]]
    with lw.open_workspace(quick_path) as workspace:
        sessions = [workspace.session(name) for name in names[4:]]
        together(lambda i: sessions[i].ask(lw.count("patients"), epsilon=1), len(sessions))
    assert [os.waitpid(process, 0)[1] for process in children] == [0] * len(children)
    known = json.loads((quick_path / "fingerprints.json").read_text())
    assert {f"{name}.patients" for name in names} == set(known["tables"])
    assert set(known["seen"]) == set(names)


def test_a_question_ends_on_the_version_it_was_charged_for(folder, opened) -> None:
    with lw.open_workspace(folder) as workspace:
        session = workspace.session()
        data = session._tables
        with data.lease(session._snapshot().versions) as first, data.lease({"patients": 1}) as same:
            assert first is same
            workspace.advance("patients")
            with data.lease(session._snapshot().versions) as second:
                assert second is not first
                assert opened == [first, second]
                with data.lease({"patients": 1}) as old:
                    assert old is first
        assert opened == [second]
        with pytest.raises(EngineError), data.lease({"patients": 1}):
            pass


def test_an_engine_that_cannot_be_closed_is_the_custodians_matter(folder, monkeypatch) -> None:
    with lw.open(folder, analyst="ana") as session:
        session.ask(lw.count("patients"), epsilon=1)
        with monkeypatch.context() as patched, lw.open_workspace(folder) as workspace:
            close = DuckDB.close

            def fails(engine: DuckDB) -> None:
                close(engine)
                raise RuntimeError("patient 7 is in use")

            patched.setattr(DuckDB, "close", fails)
            workspace.advance("patients")
            assert not session.ask(lw.count("patients"), epsilon=1).free
        assert "patient 7 is in use" in (folder / "failures.log").read_text()


def test_a_session_that_is_closed_refuses_and_others_go_on(folder) -> None:
    with lw.open_workspace(folder) as workspace:
        ana, ben = workspace.session(analyst="ana"), workspace.session(analyst="ben")
        stream = ana.stream(at_least=10, yeses=1, epsilon=1, name="s")
        ana.close()
        for act in acts(ana, stream):
            with pytest.raises(BadQuestionError, match="this session is closed; open a new one"):
                act()
        assert ben.budget().left == 99
        ben.ask(lw.count("patients"), epsilon=1)
    for act in acts(ben, None):
        with pytest.raises(BadQuestionError, match="this workspace is closed; open it again"):
            act()


def acts(session: lw.Session, stream: Any) -> list[Callable[[], Any]]:
    question = lw.count("patients", "age > 7")
    return [
        lambda: session.ask(question, epsilon=1),
        lambda: session.preview(question, epsilon=1),
        lambda: session.rehearse(question, epsilon=1),
        lambda: session.sql("select count(*) from patients", epsilon=1),
        lambda: session.stream(at_least=10, yeses=1, epsilon=1),
        lambda: session.preview_stream(at_least=10, yeses=1, epsilon=1),
        lambda: session.resume("s"),
        session.budget,
        *([lambda: stream.ask("age > 3"), stream.recover, stream.close] if stream else []),
    ]


def test_after_a_fork_the_child_is_refused_at_once_and_nothing_is_charged(folder) -> None:
    """What was open belongs to the parent: its connections, and locks that no thread of the child will release."""
    with lw.open_workspace(folder) as workspace:
        session = workspace.session(analyst="ana")
        stream = session.stream(at_least=10, yeses=1, epsilon=1, name="s")
        session.ask(lw.count("patients"), epsilon=1)
        left = session.budget().left

        def child() -> None:
            for act in [*acts(session, stream), workspace.session, workspace.check]:
                with pytest.raises(BadQuestionError, match="was opened before the process forked"):
                    act()
            session.close()
            workspace.close()
            with lw.open(folder, analyst="ana") as own:
                own.ask(lw.count("patients", "age > 5"), epsilon=1)

        assert in_a_child(child) == 0
        assert session.budget().left == left - 1
        session.ask(lw.count("patients", "age > 8"), epsilon=1)
        stream.ask("age < 3")


def in_a_child(act: Callable[[], None], *, wait: bool = True) -> int:
    """Return how a forked process ended, 0 if `act` went well, or which one it is; it is killed after 60 seconds."""
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1] if wait else process
    try:
        signal.alarm(60)
        act()
    except BaseException:  # noqa: BLE001 - told by the exit code
        os._exit(1)
    os._exit(0)


def together(act: Callable[[int], None], threads: int) -> None:
    """Run `act` in a number of threads, and raise what any of them raised."""
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(act, i) for i in range(threads)]:
            done.result(120)


SLOW = Statement(text="select count(*) from range(10000000) a, range(100000) b where a.range < b.range", parameters=())


def test_a_question_that_takes_too_long_is_stopped_charged_and_the_one_failure(quick_path, monkeypatch) -> None:
    """Only that one: what others ask at the same time is answered."""
    write_patients(quick_path)
    lw.create(quick_path, SETTINGS.replace('person_key = "id"', 'person_key = "id"\ntime_limit = 1')).close()
    with lw.open(quick_path) as session:
        session.ask(lw.count("patients", "age > 1"), epsilon=1)
        with monkeypatch.context() as patched:
            patched.setattr("lapwing.engines.engine.emit", lambda *_: SLOW)
            with ThreadPoolExecutor(1) as pool:
                slow = pool.submit(session.ask, lw.count("patients"), epsilon=1)
                with session._tables.lease({"patients": 1}) as engine:
                    assert engine._rows(SLOW._replace(text="select 7")) == [(7,)]
                with pytest.raises(EngineError):
                    slow.result(60)
        assert session.budget().left == 98
        assert "INTERRUPT" in (quick_path / "failures.log").read_text()
        assert not session.ask(lw.count("patients", "age > 2"), epsilon=1).free


@pytest.mark.parametrize("limit", [0, -1, 10**6, '"600"'])
def test_a_time_limit_that_cannot_be_meant_is_refused(quick_path, limit) -> None:
    with pytest.raises(SettingsError, match="time_limit"):
        lw.create(quick_path, SETTINGS.replace('person_key = "id"', f'person_key = "id"\ntime_limit = {limit}'))


@pytest.mark.parametrize("announced", [True, False])
def test_what_an_engine_holds_is_what_was_looked_at_before_it_was_opened(folder, monkeypatch, announced) -> None:
    with lw.open_workspace(folder) as workspace:
        replaced = False

        class Slow(DuckDB):
            def __init__(self, *given: Any, **named: Any) -> None:
                nonlocal replaced
                if not replaced:
                    write_patients(folder, 900)
                    if announced:
                        workspace.advance("patients")
                replaced = True
                super().__init__(*given, **named)

        monkeypatch.setattr("lapwing.sources.DuckDB", Slow)
        session = workspace.session()
        if announced:
            answer = session.ask(lw.count("patients"), epsilon=20)
            assert (answer.versions, round(answer.value, -2)) == ({"patients": 2}, 900)
        else:
            with pytest.raises(EngineError):
                session.ask(lw.count("patients"), epsilon=20)
            assert session.budget().left == 100, "nothing was charged"


@pytest.mark.parametrize("step", ["ask.checked", "ask.charged", "read"])
def test_a_question_about_a_file_that_is_replaced_is_lost_and_not_answered_from_the_new_one(
    quick_path, monkeypatch, step
) -> None:
    """Parquet is read where it lies: one version would have two contents."""

    def write(people: int) -> None:
        pq.write_table(pa.table({"id": range(people), "age": [5] * people, "sex": ["F"] * people}), quick_path / "new")
        (quick_path / "new").replace(quick_path / "patients.parquet")

    write(300)
    lw.create(quick_path, SETTINGS.replace("patients.csv", "patients.parquet")).close()
    with lw.open(quick_path, analyst="ana") as session:
        assert round(session.ask(lw.count("patients"), epsilon=20).value, -2) == 300
        with monkeypatch.context() as patched:
            if step == "read":
                rows = DuckDB._rows
                patched.setattr(DuckDB, "_rows", lambda *given: (write(900), rows(*given))[1])
            else:
                patched.setattr("lapwing.session.fault_point", lambda point: write(900) if point == step else None)
            with pytest.raises(EngineError):
                session.ask(lw.count("patients", "age > 1"), epsilon=1)
        assert session.budget().left == 79, "it was charged"
        write(300)
        assert round(session.ask(lw.count("patients", "age > 1"), epsilon=20).value, -2) == 300


def test_whoever_looks_at_one_table_leaves_all_of_them_to_the_others(quick_path) -> None:
    """A session with one table would lose questions about the others, and not notice that those changed."""
    write_patients(quick_path)
    (quick_path / "visits.csv").write_text("id\n1\n2\n")
    visits = '[populations.clinic.tables.visits]\nsource = "visits.csv"\n'
    lw.create(quick_path, SETTINGS + visits).close()
    with lw.open_workspace(quick_path) as workspace:
        assert workspace.misfits(table="patients") == []
        session = workspace.session(analyst="ana")
        assert abs(session.ask(lw.count("visits"), epsilon=20).value - 2) <= 3
        (quick_path / "visits.csv").write_text("id\n1\n2\n3\n")
        with pytest.raises(RegistrationError, match="visits has changed"):
            session.ask(lw.count("patients"), epsilon=1)

"""Spark Connect: addresses without secrets, settings that are read back, streams that break, failures that say nothing.

The contract of engines is held to it in `tests/contracts/test_engine.py`.
"""

import asyncio
import io
import logging
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pyarrow.parquet as pq
import pytest
from pyspark.logger import PySparkLogger

import lapwing as lw
from doors.server.certificates import make_certificate
from engines.cancelling import cancel_one_of_two
from engines.test_spark import COLUMNS, DATA, QUESTIONS, counted, filled_up, in_folders, in_lines, patients
from lapwing.engines import spark as driver
from lapwing.engines import spark_connect
from lapwing.engines.spark import Spark, SparkTable
from lapwing.engines.spark_connect import RemoteSpark, session_at
from lapwing.queries.catalogue.column import Column, Integer
from lapwing.queries.catalogue.population import KeyType, RowsPerPerson
from lapwing.vocabulary.errors import EngineError, ParameterError, RegistrationError, UnansweredError
from workspace.test_databases import PEOPLE, ROWS, settings

pytestmark = pytest.mark.filterwarnings("ignore:.*RETRIES_EXCEEDED")
OVER = patients(*COLUMNS)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("sc://spark.example.org/;use_ssl=true", "spark.example.org:15002"),
        ("sc://Spark.Example.org:443/;use_ssl=true;token_file=/run/t;x-cluster=7", "spark.example.org:443"),
        ("sc://127.0.0.1:1", "127.0.0.1:1"),
        ("sc://[::1]:1/", "[::1]:1"),
        ("sc://localhost/;user_id=ana", "localhost:15002"),
    ],
)
def test_an_address_names_a_server_in_one_spelling(address, place) -> None:
    assert RemoteSpark.read(address).place == place


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("sc://h/;use_ssl=true;token=hunter2", "holds a secret"),
        ("sc://h/;use_ssl=true;TOKEN=hunter2", "holds a secret"),
        ("sc://ana:hunter2@h/;use_ssl=true", "is not one of Spark Connect"),
        ("sc://h", "in the clear"),
        ("sc://h/;use_ssl=false", "in the clear"),
        ("sc://127.0.0.1.example.org", "in the clear"),
        ("sc://h/;use_ssl=true;hunter2=1", "says hunter2"),
        ("sc://h/;use_ssl", "is not one of Spark Connect"),
        ("spark://h:7077", "is not one of Spark Connect"),
        ("", "is not one of Spark Connect"),
    ],
)
def test_an_address_with_a_secret_or_without_tls_is_refused_unrepeated(address, told) -> None:
    with pytest.raises(ParameterError, match=told) as refused:
        RemoteSpark.read(address)
    assert "=hunter2" not in str(refused.value)
    assert "ana:" not in str(refused.value)


def test_a_token_is_in_a_file_that_nobody_else_may_read(tmp_path, monkeypatch) -> None:
    file, given = tmp_path / "token", []

    class NotedError(Exception):
        pass

    def noted(_, address):
        given.append(address)
        raise NotedError(address)

    monkeypatch.setattr("pyspark.sql.connect.session.SparkSession.Builder.remote", noted)
    address = f"sc://h:443/;use_ssl=true;token_file={file}"
    for mode, text in ((None, ""), (0o644, "hunter2"), (0o600, ""), (0o600, "a;b")):
        if mode is not None:
            file.write_text(text)
            file.chmod(mode)
        with pytest.raises(RegistrationError, match="token"):
            session_at("clinic", address)
    file.write_text("hunter2\n")
    with pytest.raises(RegistrationError, match="cannot be reached: NotedError") as refused:
        session_at("clinic", address)
    assert "hunter2" not in str(refused.value)
    assert given == ["sc://h:443/;use_ssl=true;token=hunter2"]


def test_the_server_of_the_tests_listens_on_loopback_only(spark_server) -> None:
    port = int(spark_server.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), 5):
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # sends nothing: it asks which address of this machine would be used
        mine = probe.getsockname()[0]
        if not mine.startswith("127."):
            with pytest.raises(OSError, match=r"refused|unreachable"):
                socket.create_connection((mine, port), 5)


def test_tables_come_from_files_catalogues_and_frames_over_spark_connect(spark, spark_remote, tmp_path) -> None:
    pq.write_table(DATA, tmp_path / "people.parquet")
    spark.createDataFrame(DATA).write.saveAsTable("connected", mode="overwrite")
    for source in (tmp_path / "people.parquet", SparkTable(table="connected"), spark_remote.createDataFrame(DATA)):
        with Spark(OVER, {"patients": source}, spark_remote) as engine:
            asked = QUESTIONS if isinstance(source, SparkTable) else ("bmi > 21", "seen < '1582-10-11'")
            assert {where: counted(engine, OVER, where) for where in asked} == {
                where: QUESTIONS[where] for where in asked
            }
    assert spark_remote.range(3).count() == 3, "the session that was given goes on"


@pytest.mark.parametrize("made", [in_folders, in_lines, filled_up], ids=lambda made: made.__name__)
def test_keys_of_which_spark_makes_one_are_refused_over_spark_connect(made, spark, spark_remote, tmp_path) -> None:
    source, kind = made(spark, tmp_path), KeyType.TEXT if made is filled_up else KeyType.INTEGER
    if made is in_lines:
        spark.sql("drop table if exists lines_of_text")
        spark.sql(f"create table lines_of_text (pid bigint) using csv location '{tmp_path}'")
        source = SparkTable(table="lines_of_text")
    told = "read the person keys 7 and 007 as one|reads 7 and 007 as one|reads the person keys|holds the person key"
    with pytest.raises(RegistrationError, match=told):
        Spark(patients(key_type=kind), {"patients": source}, spark_remote)


@contextmanager
def behind_tls(server: str, certificate, private):
    """Give the port of a proxy that takes TLS, and hears what a client says inside."""
    heard, writers, loop = bytearray(), set(), asyncio.new_event_loop()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, private)
    context.set_alpn_protocols(["h2"])

    async def carry(reader, writer, note) -> None:
        with suppress(OSError):
            while data := await reader.read(2**16):
                note(data)
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

    async def take(reader, writer) -> None:
        other_reader, other_writer = await asyncio.open_connection("127.0.0.1", int(server.rpartition(":")[2]))
        writers.update((writer, other_writer))
        await asyncio.gather(carry(reader, other_writer, heard.extend), carry(other_reader, writer, len))

    async def end() -> None:
        listening.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0.1)  # the loop comes to what was aborted, and to handshakes that ended with their client

    listening = loop.run_until_complete(asyncio.start_server(take, "127.0.0.1", 0, ssl=context))
    serving = threading.Thread(target=loop.run_forever, daemon=True)
    serving.start()
    try:
        yield listening.sockets[0].getsockname()[1], heard
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        serving.join()
        loop.close()


ASKED_OVER_TLS = """
import sys
from lapwing.engines import spark_connect

spark_connect._TRIES = 2
try:
    print("counted", spark_connect.session_at("clinic", sys.argv[1]).range(3).count())
except Exception as refused:
    print("refused", refused)
"""


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "not trusted"])
def test_over_tls_a_server_is_asked_whose_certificate_is_trusted_and_gets_its_token_and_no_other(
    trusted, spark_server, tmp_path
) -> None:
    certificate, private = make_certificate(tmp_path)
    token = tmp_path / "token"
    token.write_text("hunter2")
    token.chmod(0o600)
    with behind_tls(spark_server, certificate, private) as (port, heard):
        address = f"sc://localhost:{port}/;use_ssl=true;token_file={token}"
        roots = {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(certificate)} if trusted else {}
        # gRPC reads once in a process whom it trusts.
        told = subprocess.run(
            [sys.executable, "-c", ASKED_OVER_TLS, address],
            env={**os.environ, **roots, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
            timeout=180,
        )
    if trusted:
        assert told.stdout == "counted 3\n"
        assert b"Bearer hunter2" in heard
    else:
        assert told.stdout.startswith("refused")
        assert heard == b""
    assert "hunter2" not in told.stdout + told.stderr


def test_a_server_that_refuses_a_setting_is_refused(spark_remote, monkeypatch) -> None:
    monkeypatch.setitem(driver._PINNED, "spark.sql.warehouse.dir", "/elsewhere")  # which no session may change
    with pytest.raises(RegistrationError, match=r"does not take what statements rest on: spark\.sql\.warehouse\.dir"):
        Spark(patients(), {"patients": spark_remote.createDataFrame(DATA)}, spark_remote)


def test_no_value_is_told_when_a_statement_fails_over_spark_connect(spark_remote, capfd) -> None:
    heard, logger, reasons = io.StringIO(), PySparkLogger.getLogger("SQLQueryContextLogger"), []
    handler = logging.StreamHandler(heard)
    logger.addHandler(handler)
    population = patients(Column(name="x", type=Integer()))
    fine = spark_remote.sql("select id as pid, id as x from range(2)")
    failing = spark_remote.sql("select id as pid, cast(concat('hunter', id) as bigint) as x from range(2)")
    try:
        with Spark(population, {"patients": fine}, spark_remote, on_failure=reasons.append) as engine:
            failing.createOrReplaceGlobalTempView(engine._views["patients"])
            with pytest.raises(EngineError) as failed:
                counted(engine, population, "x > 0")
    finally:
        logger.removeHandler(handler)
    assert "hunter" in str(reasons[0])
    assert (failed.value.__context__, failed.value.__cause__) == (None, None)
    assert "hunter" not in "".join([str(failed.value), heard.getvalue(), *capfd.readouterr()])


def test_a_question_over_spark_connect_is_cancelled_and_no_other(spark, spark_remote) -> None:
    def frame(number):
        return spark_remote.range(number).selectExpr("id as pid").crossJoin(spark_remote.range(number).toDF("x"))

    population = patients(Column(name="x", type=Integer()), rows=RowsPerPerson.MANY_A_PERSON)
    with Spark(population, {"patients": frame(1)}, spark_remote) as engine:
        frame(10**6).createOrReplaceGlobalTempView(engine._views["patients"])

        def both_run() -> None:
            while len(spark.sparkContext.statusTracker().getActiveJobsIds()) < 2:
                time.sleep(0.05)

        cancel_one_of_two(lambda: counted(engine, population, "x > 3"), both_run)
    assert spark_remote.range(3).count() == 3


class Relay:
    """A relay on loopback between a client and a server, which can cut all its connections, and take no more."""

    def __init__(self, port: int) -> None:
        self.port, self.open, self.taking = port, [], True
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.taker = threading.Thread(target=self.take, daemon=True)
        self.taker.start()

    @property
    def address(self) -> str:
        return f"sc://127.0.0.1:{self.listener.getsockname()[1]}"

    def take(self) -> None:
        with suppress(OSError):
            while True:
                ours, _ = self.listener.accept()
                if not self.taking:
                    ours.close()
                    continue
                theirs = socket.create_connection(("127.0.0.1", self.port))
                self.open += [ours, theirs]
                for one, other in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=self.carry, args=(one, other), daemon=True).start()

    def carry(self, one, other) -> None:
        with suppress(OSError):
            while data := one.recv(2**16):
                other.sendall(data)
        for each in (one, other):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        for each in self.open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self.open = []

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)  # which ends the wait for a next connection
        self.taker.join()
        self.listener.close()
        self.cut()


@contextmanager
def relayed(server: str):
    relay = Relay(int(server.rpartition(":")[2]))
    try:
        yield relay
    finally:
        relay.close()


SLOW = (
    "create or replace view slow_people as select id, age, sex from "
    "(select *, cast(reduce(sequence(1, 6000), id, (a, x) -> (a * 31 + x) % 1000003) as bigint) as worked from "
    "workspace_relayed) where worked >= 0"
)


@pytest.mark.one_budget("what is charged is asked; how it is counted does not matter to a lost server")
@pytest.mark.parametrize("back", [True, False], ids=["it comes back", "it stays away"])
def test_a_spark_server_that_is_lost_in_the_middle_costs_once(
    back, spark, spark_server, quick_path, monkeypatch
) -> None:
    monkeypatch.setattr(spark_connect, "_TRIES", 8 if back else 2)
    spark.createDataFrame(ROWS).write.saveAsTable("workspace_relayed", mode="overwrite")
    spark.sql(SLOW)
    with relayed(spark_server) as relay:
        source = f'{{ spark = "default.slow_people", remote = "{relay.address}" }}'
        lw.create(quick_path, settings(source)).close()
        with lw.open(quick_path, analyst="ana") as clinic:
            clinic.ask(lw.count("patients"), epsilon=1)  # opens the tables
            before, came = clinic.budget(), []

            def ask() -> None:
                try:
                    came.append(clinic.ask(lw.count("patients", "sex = 'M'"), epsilon=20, key="once"))
                except EngineError as failure:
                    came.append(failure)

            asking = threading.Thread(target=ask)
            asking.start()
            while not spark.sparkContext.statusTracker().getActiveJobsIds():
                time.sleep(0.01)
            relay.taking = back
            relay.cut()
            asking.join(120)
            assert not asking.is_alive()
            spent = before.left - clinic.budget().left
            assert spent == 20
            if back:
                assert abs(came[0].value - PEOPLE // 2) <= 3
                again = clinic.ask(lw.count("patients", "sex = 'M'"), epsilon=20, key="once")
                assert again.value == came[0].value
                assert before.left - clinic.budget().left == 20
            else:
                assert isinstance(came[0], EngineError)
                assert (came[0].__context__, came[0].__cause__) == (None, None)


@pytest.mark.one_budget("what is charged is asked; how it is counted does not matter to a question that is stopped")
@pytest.mark.parametrize("connect", [False, True], ids=["in this process", "over Spark Connect"])
def test_a_question_that_is_stopped_keeps_its_charge_and_nothing_is_lost_but_its_answer(
    connect, spark, spark_server, quick_path
) -> None:
    spark.createDataFrame(ROWS).write.saveAsTable("workspace_relayed", mode="overwrite")
    spark.sql(SLOW)
    remote = f', remote = "{spark_server}"' if connect else ""
    lw.create(quick_path, settings(f'{{ spark = "default.slow_people"{remote} }}')).close()
    with lw.open(quick_path, analyst="ana") as clinic, ThreadPoolExecutor(1) as pool:
        clinic.ask(lw.count("patients"), epsilon=1)  # opens the tables
        before = clinic.budget().left
        asked = pool.submit(clinic.ask, lw.count("patients", "sex = 'M'"), epsilon=20, key="once")
        while not spark.sparkContext.statusTracker().getActiveJobsIds():
            time.sleep(0.01)
        clinic.cancel()
        with pytest.raises(EngineError):
            asked.result(120)
        assert before - clinic.budget().left == 20
        with pytest.raises(UnansweredError):
            clinic.ask(lw.count("patients", "sex = 'M'"), epsilon=20, key="once")
        assert abs(clinic.ask(lw.count("patients", "sex = 'F'"), epsilon=20).value - PEOPLE // 2) <= 3
        assert before - clinic.budget().left == 40


def test_a_server_that_is_not_there_is_said_when_it_is_opened(monkeypatch) -> None:
    monkeypatch.setattr(spark_connect, "_TRIES", 1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    def opened() -> None:
        session = session_at("clinic", f"sc://127.0.0.1:{port}")
        Spark(patients(), {"patients": SparkTable(table="people")}, session)

    with pytest.raises(RegistrationError, match=f"is on (a Spark|Spark Connect at 127.0.0.1:{port})"):
        opened()

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

import lapwing as lw
import spark_session
from budgets import KINDS, PURE, KindOfBudget
from lapwing.engines.spark_connect import session_at
from omop_clinic import make_omop
from postgres_server import PostgresServer, running, where_there_is_room

# How long something takes is no reason to fail, and the same source gives the same draws: a run never fails by chance.
settings.register_profile("lapwing", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("chance", settings.get_profile("lapwing"), derandomize=False)
settings.load_profile("lapwing")
_TRACE = sys.gettrace()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--times", type=int, default=1, help="a factor for the number of random cases, where a test draws them"
    )


@pytest.fixture(scope="session")
def times(request: pytest.FixtureRequest) -> int:
    """How many times as many random cases are wanted as a usual run has."""
    return int(request.config.getoption("--times"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: while a test waits for a disk, a server or a browser, another one works."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "catalogue(*items): what of the catalogue of faults a test checks")
    config.addinivalue_line("markers", "one_budget(reason): why a test of a door runs with a pure epsilon alone")
    gc.disable()  # until all tests are found: next to nothing of what is made meanwhile is garbage
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it to whatever it runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that needs a budget over all kinds of budget, but for those that say why one is enough."""
    chosen = [mark for mark in metafunc.definition.iter_markers("parametrize") if "budget" in mark.args[0]]
    if "budget" in metafunc.fixturenames and not chosen:
        kinds = [PURE] if metafunc.definition.get_closest_marker("one_budget") else KINDS
        metafunc.parametrize("budget", kinds, ids=str, indirect=True, scope="module")


@pytest.fixture(scope="module")
def budget(request: pytest.FixtureRequest) -> KindOfBudget:
    """A kind of budget: epsilon, epsilon with a delta, or rho, one after the other."""
    kind: KindOfBudget = request.param
    return kind


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that need Spark first: they are the longest way of one worker."""
    items.sort(key=lambda item: not _needs_spark(item.nodeid))


class _WholeFiles(LoadScopeScheduling):
    """A worker has whole files, for many are stories told in order; all that needs Spark is one worker's."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if _needs_spark(nodeid) else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    return _WholeFiles(config, log) if config.option.dist == "loadscope" else None


def pytest_collection_finish() -> None:
    """What is there before the first test stays: who looks for garbage need not go through all of it each time."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for no examples in test files: there are none, and every worker would go through all of them."""
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule)]


def _needs_spark(nodeid: str) -> bool:
    """Say whether a test is one of Spark's: whoever gives tests to workers knows their names and nothing else."""
    return "spark" in nodeid.lower()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """A test that goes through lines with a trace takes it away: all tests after it would take three times as long."""
    yield
    trace = sys.gettrace()
    if trace is not _TRACE:
        sys.settrace(_TRACE)
        pytest.fail(f"left a {type(trace).__name__} behind that looks at every line")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One PostgreSQL server for the whole run; a test that kills it starts it again."""
    with running() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """The connection string of an empty database, for one test."""
    with postgres.database() as dsn:
        yield dsn


@pytest.fixture(scope="session")
def omop_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of a clinic in the tables of OMOP, to be asked; a test that changes it copies it first."""
    folder = make_omop(tmp_path_factory.mktemp("omop") / "omop")
    lw.create(folder).close()
    return folder


@pytest.fixture
def quick_path() -> Iterator[Path]:
    """An empty folder, in memory where there is room: for tests that sync often and need no real disk."""
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """One Spark session for the whole run: its tests are found by their names, and given to one worker."""
    if not _needs_spark(request._pyfuncitem.nodeid):
        pytest.fail(f"{request._pyfuncitem.name} starts Spark: its name, or that of its case, has to say so")
    with spark_session.running(spark_session.FOR_TINY_TABLES) as session:
        yield session


@pytest.fixture(scope="session")
def spark_server(spark: SparkSession) -> str:
    """The address of Spark Connect in the Java of the run's session, on loopback only."""
    return f"sc://127.0.0.1:{spark_session.serve(spark)}"


@pytest.fixture(scope="session")
def spark_remote(spark_server: str) -> Iterator[Any]:
    """One session of Spark Connect for the whole run."""
    session = session_at("tests", spark_server)
    yield session
    session.stop()

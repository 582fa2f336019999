from collections.abc import Iterator

import pytest
from hypothesis import settings

from postgres_server import PostgresServer, running

settings.register_profile("lapwing", deadline=None)
settings.load_profile("lapwing")


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

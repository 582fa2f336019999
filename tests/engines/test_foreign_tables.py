"""Foreign tables of PostgreSQL, and views of them: what another server makes of a key is nothing to go by."""

import psycopg
import pytest

import lapwing as ask
from engines.workbenches import as_reader
from lapwing.engines.postgres import PostgreSQL, PostgresTable, register, shape_of
from lapwing.queries.catalogue.column import Column, Text
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.guarantee import PrivacyUnit
from postgres_server import installed, running

SOURCES = {name: PostgresTable(table=name) for name in ("patients", "visits")}
COLLATION = "create collation letters (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
ROWS = (
    "create table {}patients (pid text collate letters, city text collate letters)",
    "create table {}visits (pid text collate letters)",
    "insert into {}patients values ('red', 'ulm'), ('Red', 'Ulm'), ('réd', 'ulm ')",
    "insert into {}visits values ('RED'), ('Red'), ('Red'), ('red ')",
)


def population(key_type):
    tables = (
        Table(name="patients", columns=(Column(name="city", type=Text()),), key_type=key_type),
        Table(name="visits", columns=(), key_type=key_type, rows=RowsPerPerson.MANY_A_PERSON),
    )
    return Population(name="clinic", unit=PrivacyUnit(person_key="pid"), tables=tables)


def counted(engine, where=None):
    asked = plan(ask.count("patients", where), population(KeyType.TEXT)).aggregate
    return engine.number(asked).open_for_release()


def three_people_are_three(admin, dsn):
    """Nobody is somebody else who is written nearly so, and one of them came."""
    reasons = []
    with PostgreSQL(population(KeyType.TEXT), SOURCES, as_reader(admin, dsn), on_failure=reasons.append) as engine:
        numbers = [counted(engine, where) for where in (None, ask.has("visits"), "city = 'ulm'")]
    return numbers == [3, 1, 1] and not reasons


def made_foreign(admin, key, view):
    """Make both tables foreign ones, whose columns are declared as `key`; the analyst sees them, or views of them."""
    for name, more in (("patients", ', city text collate "C"'), ("visits", "")):
        far = f"far_{name}" if view else name
        admin.execute(f"create foreign table {far} (pid {key}{more}) server far options (table_name '{name}')")
        if view:
            admin.execute(f"create view {name} as table {far}")


@pytest.fixture(scope="module")
def server():
    """Give the PostgreSQL of this machine, if it has one: that of the wheel has neither ICU nor postgres_fdw."""
    with running("fsync=off", binaries=installed()[-1]) as server:
        yield server


@pytest.fixture
def dsn(server):
    with server.database() as dsn:
        yield dsn


@pytest.fixture
def admin(dsn):
    with psycopg.connect(dsn, autocommit=True) as admin:
        yield admin


@pytest.fixture
def wrapper(server, admin):
    """Make the foreign server `far`: this database, if postgres_fdw is there, and otherwise one that never answers."""
    real = admin.execute("select 1 from pg_available_extensions where name = 'postgres_fdw'").fetchall()
    admin.execute("create extension postgres_fdw" if real else "create foreign data wrapper postgres_fdw")
    options = f"options (host '{server.folder}', dbname '{admin.info.dbname}')" if real else ""
    admin.execute(f"create server far foreign data wrapper postgres_fdw {options}")
    if real:
        admin.execute("create user mapping for public server far options (user 'postgres', password_required 'false')")
    return bool(real)


@pytest.mark.usefixtures("wrapper")
@pytest.mark.parametrize("view", [False, True])
def test_whole_numbers_that_another_server_may_keep_as_texts_are_refused(admin, dsn, view) -> None:
    made_foreign(admin, "bigint", view)
    with pytest.raises(RegistrationError, match="comes through postgres_fdw, which may read the person keys 7 and 007"):
        PostgreSQL(population(KeyType.INTEGER), SOURCES, as_reader(admin, dsn))


@pytest.mark.usefixtures("wrapper")
def test_a_copy_of_a_foreign_table_is_no_foreign_table(admin, dsn) -> None:
    made_foreign(admin, "bigint", view=False)
    for name in SOURCES:
        admin.execute(f"alter foreign table {name} rename to far_{name}")
        admin.execute(f"create materialized view {name} as table far_{name} with no data")
    with PostgreSQL(population(KeyType.INTEGER), SOURCES, as_reader(admin, dsn)) as engine:
        assert engine.identities_now().keys() == SOURCES.keys()


def test_people_whom_a_collation_takes_for_one_are_three(admin, dsn) -> None:
    try:
        admin.execute(COLLATION)
    except psycopg.errors.FeatureNotSupported:
        admin.execute('create collation letters from "C"')
    for statement in ROWS:
        admin.execute(statement.format(""))
    assert three_people_are_three(admin, dsn)


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("key", ["text", 'text collate "C"', 'varchar(9) collate "C"', 'text collate "POSIX"'])
def test_people_whom_another_server_takes_for_one_are_three(admin, dsn, wrapper, key, view) -> None:
    made_foreign(admin, key, view)
    with psycopg.connect(as_reader(admin, dsn), cursor_factory=psycopg.RawCursor) as reader:
        relations = register(population(KeyType.TEXT), SOURCES, shape_of(reader, SOURCES)).relations.values()
    assert all(relation.endswith(" OFFSET 0)") for relation in relations), "conditions would be sent there"
    if not wrapper:
        return
    with psycopg.connect(dsn, autocommit=True) as far:
        far.execute(COLLATION)
        far.execute("create schema far")
        for statement in ROWS:
            far.execute(statement.format("far."))
    for name in SOURCES:
        admin.execute(f"alter foreign table {'far_' * view}{name} options (add schema_name 'far')")
    assert three_people_are_three(admin, dsn)

"""PostgreSQL: what it reads, what it refuses, that no setting and no accident changes an answer, that it stops."""

import threading
import time

import psycopg
import pytest

import lapwing as ask
from engines.cancelling import cancel_one_of_two
from engines.workbenches import as_reader
from lapwing.engines.postgres import PostgreSQL, PostgresTable, register
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import EngineError, ParameterError, RegistrationError
from lapwing.vocabulary.guarantee import PrivacyUnit
from postgres_server import running

SOURCES = {"patients": PostgresTable(table="patients")}


def patients(*columns, **options):
    table = Table(name="patients", columns=columns, **options)
    return Population(name="clinic", unit=PrivacyUnit(person_key="pid"), tables=(table,))


def counted(engine, population, where=None):
    return engine.number(plan(ask.count("patients", where), population).aggregate).open_for_release()


@pytest.fixture
def admin(database):
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def engine_on(admin, database):
    """Run statements as the owner, then open an engine as a reader."""
    opened = []

    def engine_on(population, *statements, **options):
        for statement in statements:
            admin.execute(statement)
        engine = PostgreSQL(population, SOURCES, as_reader(admin, database), **options)
        opened.append(engine)
        return engine

    yield engine_on
    for engine in opened:
        engine.close()


@pytest.mark.parametrize(
    ("stored", "declared", "value", "where"),
    [
        ("smallint", Integer(), "7", "x = 7"),
        ("integer", Real(low=0, high=9), "7", "x > 6.5"),
        ("real", Real(low=0, high=9), "0.5", "x = 0.5"),
        ("numeric(15,2)", Real(low=0, high=9), "0.07", "x = 0.07"),
        ("numeric(15,15)", Real(low=0, high=9), "1e-15", "x = 1e-15"),
        ("numeric(15,0)", Real(low=0, high=9), "999999999999999", "x = 999999999999999"),
        ("numeric(15,2)", Real(low=0, high=9), "'NaN'", "x is null"),
        ("real", Real(low=0, high=9), "'-Infinity'", "x < -1e99"),
        ("varchar(9)", Text(), "'é '", "x = 'é '"),
        ("uuid", Text(), "'C0FFEE00-0000-0000-0000-000000000000'", "starts_with(x, 'c0ffee')"),
        ("color", Category(values=("red", "green")), "'red'", "x = 'red'"),
        ("timestamp(3)", Date(), "'2020-06-01 23:59:59.999'", "x = '2020-06-01'"),
        ("timestamptz", Date(), "'2020-06-01 23:59:59-05'", "x = '2020-06-02'"),
        ("date", Date(), "'infinity'", "x is null"),
        ("boolean", Boolean(), "true", "x"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_columns_are_read_as_declared_whatever_their_width(engine_on, stored, declared, value, where) -> None:
    population = patients(Column(name="x", type=declared, nullable=True))
    engine = engine_on(
        population,
        "create type color as enum ('red', 'green')",
        f"create table patients (pid integer, x {stored})",
        f"insert into patients values (1, {value}), (2, null)",  # noqa: S608 - the parameters above
    )
    assert counted(engine, population, where) == 1 + (where == "x is null")


@pytest.mark.parametrize(
    ("stored", "declared"),
    [
        ("double precision", Integer()),
        ("numeric", Real(low=0, high=9)),
        ("numeric(16,2)", Real(low=0, high=9)),
        ("numeric(15,-400)", Real(low=0, high=9)),
        ("numeric(15,-1)", Real(low=0, high=9)),
        ("numeric(15,16)", Real(low=0, high=9)),
        ("numeric(15,400)", Real(low=0, high=9)),
        ("char(9)", Text()),
        ("json", Text()),
        ("text", Date()),
        ("integer", Boolean()),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_a_column_that_could_fail_or_round_is_refused_at_registration(engine_on, stored, declared) -> None:
    with pytest.raises(RegistrationError, match=f"holds 'x' as .*, declared as {type(declared).__name__}"):
        engine_on(patients(Column(name="x", type=declared)), f"create table patients (pid bigint, x {stored})")


@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        ("real", KeyType.INTEGER),
        ("numeric(9,0)", KeyType.INTEGER),
        ("numeric", KeyType.TEXT),
        ("text", KeyType.INTEGER),
        ("bigint", KeyType.TEXT),
        ("char(3)", KeyType.TEXT),
        ("name", KeyType.TEXT),
        ('"char"', KeyType.TEXT),
        ("timestamp", KeyType.TEXT),
        ("date", KeyType.TEXT),
        ("bytea", KeyType.TEXT),
        ("without_case", KeyType.TEXT),
    ],
)
def test_a_person_key_that_merges_people_is_refused(engine_on, stored, kind) -> None:
    domain = "create domain without_case as text"  # as citext is a type of its own, that compares in its own way
    with pytest.raises(RegistrationError, match="holds the person key 'pid' as"):
        engine_on(patients(key_type=kind), domain, f"create table patients (pid {stored})")


def test_what_is_missing_is_named(engine_on, database) -> None:
    with pytest.raises(RegistrationError, match=r'is not in the database as "public"."patients"'):
        engine_on(patients())
    with pytest.raises(RegistrationError, match="does not have exactly one column 'age'; it has pid"):
        engine_on(patients(Column(name="age", type=Integer())), "create table patients (pid bigint)")
    with pytest.raises(RegistrationError, match="has no source"):
        PostgreSQL(patients(), {}, database)
    with pytest.raises(ParameterError, match="time_limit"):
        PostgreSQL(patients(), SOURCES, database, time_limit=0)


def test_a_role_that_could_change_the_data_is_refused(admin, database) -> None:
    admin.execute("create table patients (pid bigint)")
    with pytest.raises(RegistrationError, match="nothing but SELECT"):
        PostgreSQL(patients(), SOURCES, database)


def test_a_database_that_is_not_there_is_reported_without_its_password() -> None:
    with pytest.raises(RegistrationError, match="cannot be reached") as refused:
        PostgreSQL(patients(), SOURCES, "host=/nowhere user=reader password=hunter2")
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_database_of_another_encoding_is_refused(postgres, admin) -> None:
    admin.execute("create database latin1 encoding 'latin1' template template0 locale 'C'")
    with pytest.raises(RegistrationError, match="encoding LATIN1"):
        PostgreSQL(patients(), SOURCES, postgres.dsn("latin1"))
    admin.execute("drop database latin1")


def test_a_transaction_is_read_only(engine_on) -> None:
    engine = engine_on(patients(), "create table patients (pid bigint)")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), engine._transaction() as connection:
        connection.execute("create table mine (n int)")


def test_settings_of_the_role_and_shadows_of_our_functions_change_nothing(engine_on, database, admin) -> None:
    columns = (
        Column(name="seen", type=Date(), nullable=True),
        Column(name="city", type=Text(), nullable=True),
        Column(name="bmi", type=Real(low=0, high=100, step="1/64"), nullable=True),
    )
    population = patients(*columns, rows=RowsPerPerson.MANY_A_PERSON)
    engine = engine_on(
        population,
        "create table patients (pid bigint, seen timestamptz, city text, bmi double precision)",
        "insert into patients select n % 7, timestamptz '2020-01-01 00:30Z' + n * interval '1 hour', chr(97 + n % 5),"
        " n / 3.0 from generate_series(1, 60) as n",
        "create schema evil",
        "create function evil.md5(text) returns text language sql as $$ select 'ffffffffffffffff' $$",
        "create function evil.starts_with(text, text) returns boolean language sql as $$ select true $$",
        "create function evil.floor(double precision) returns double precision language sql as 'select 0.0'",
        "create function evil.wrong(bigint, bigint) returns boolean language sql as $$ select true $$",
        "create operator evil.= (leftarg = bigint, rightarg = bigint, procedure = evil.wrong)",
        "grant usage on schema evil to public",
    )
    asked = [
        plan(question, population).aggregate
        for question in (
            ask.count("patients", "seen = '2020-01-02' and starts_with(city, 'a')"),
            ask.total("patients", "bmi", max_rows=2),
            ask.count_distinct("patients", "city", max_groups=1),
            ask.mean("patients", "bmi", max_rows=1),
        )
    ]
    before = [engine.vector(aggregate).open_for_release() for aggregate in asked]
    name = database.rpartition("dbname=")[2]
    for setting in (
        "search_path = evil, pg_catalog, public",
        "timezone = 'Pacific/Kiritimati'",
        "extra_float_digits = -15",
        "datestyle = 'SQL, DMY'",
        "statement_timeout = 1",
        "default_transaction_isolation = 'serializable'",
        "work_mem = '64kB'",
        "quote_all_identifiers = on",
    ):
        admin.execute(f"alter database {name} set {setting}")
    after = engine_on(population)
    assert [after.vector(aggregate).open_for_release() for aggregate in asked] == before


def test_texts_that_a_collation_takes_for_equal_stay_apart() -> None:
    # The servers of the tests know no such collation, so this reads what would be asked of one that does.
    shape = tuple((1, name, "text", None, False, False, False, None) for name in ("pid", "city"))
    population = patients(Column(name="city", type=Text()), key_type=KeyType.TEXT)
    relation = register(population, SOURCES, shape).relations["patients"]
    assert relation == '(SELECT "pid" COLLATE "C" AS "pid", "city" COLLATE "C" AS "city" FROM "public"."patients")'


def with_visits(key_type):
    tables = (
        Table(name="patients", columns=(), key_type=key_type),
        Table(name="visits", columns=(), key_type=key_type, rows=RowsPerPerson.MANY_A_PERSON),
    )
    return Population(name="clinic", unit=PrivacyUnit(person_key="pid"), tables=tables)


BOTH = {name: PostgresTable(table=name) for name in ("patients", "visits")}


@pytest.mark.parametrize("other", ["text", 'text collate "ucs_basic"', "varchar(9)", "color"])
def test_keys_of_two_collations_are_compared_all_the_same(admin, database, other) -> None:
    admin.execute("create type color as enum ('red', 'Red')")
    admin.execute('create table patients (pid text collate "POSIX")')
    admin.execute(f"create table visits (pid {other})")
    admin.execute("insert into patients values ('red'), ('Red'), ('red ')")
    admin.execute("insert into visits values ('red'), ('red')")
    population, reasons = with_visits(KeyType.TEXT), []
    with PostgreSQL(population, BOTH, as_reader(admin, database), on_failure=reasons.append) as engine:
        assert counted(engine, population, ask.has("visits")) == 1, reasons
        assert counted(engine, population) == 3


def test_keys_that_are_uuids_here_and_texts_there_are_refused(admin, database) -> None:
    admin.execute("create table patients (pid uuid)")
    admin.execute("create table visits (pid text)")
    with pytest.raises(RegistrationError, match="visits holds the person key as text, and patients as uuid: one pers"):
        PostgreSQL(with_visits(KeyType.TEXT), BOTH, as_reader(admin, database))


@pytest.mark.parametrize("parent", ["", "partition of patients default", "inherits (patients)"])
def test_numbers_of_keys_that_a_wrapper_may_read_in_several_ways_are_refused(engine_on, admin, parent) -> None:
    admin.execute("create foreign data wrapper of_files")
    admin.execute("create server files foreign data wrapper of_files")
    if parent:
        admin.execute(f"create table patients (pid bigint){' partition by list (pid)' * ('default' in parent)}")
    columns = "" if "partition" in parent else "(pid bigint)" if not parent else "()"
    name = "part" if parent else "patients"
    with pytest.raises(RegistrationError, match="comes through of_files, which may read the person keys 7 and 007 as"):
        engine_on(patients(), f"create foreign table {name} {columns} {parent} server files")
    if not parent:
        admin.execute("drop foreign table patients")
        texts = patients(key_type=KeyType.TEXT)
        assert engine_on(texts, "create foreign table patients (pid text) server files"), "texts stay as they are"


def test_a_key_that_the_database_keeps_unique_saves_the_bounding(engine_on, admin) -> None:
    population = patients(Column(name="age", type=Integer(low=0, high=120)))
    engine = engine_on(
        population,
        "create table patients (pid integer primary key, age bigint)",
        "insert into patients values (1, 10), (2, 20)",
    )
    assert engine._one_row == {"patients"}
    assert counted(engine, population) == 2
    admin.execute("alter table patients drop constraint patients_pkey")
    admin.execute("insert into patients values (2, 30)")
    with pytest.raises(EngineError):
        counted(engine, population)
    assert counted(engine_on(population), population) == 2


NEVER_MISSING_FROM_NOW_ON = """
do $$ begin
    if current_setting('server_version_num')::int >= 180000 then
        alter table patients add constraint present not null pid not valid;
    end if;
end $$
"""  # older servers know no such constraint


@pytest.mark.parametrize(
    "statements",
    [
        ["create table patients (pid bigint unique)"],
        ["create table patients (pid bigint not null unique deferrable)"],
        ["create table patients (pid bigint not null)", "create unique index on patients (pid) where pid < 9"],
        ["create table patients (pid bigint not null)", "create unique index on patients ((pid + 1))"],
        ["create table patients (pid bigint not null, x int)", "create unique index on patients (pid, x)"],
        ["create table patients (pid bigint primary key)", "create table more () inherits (patients)"],
        ["create view patients as select 1::bigint as pid"],
        ["create materialized view patients as select 1::bigint as pid", "create unique index on patients (pid)"],
        ["create table patients (pid bigint unique)", "insert into patients values (null)", NEVER_MISSING_FROM_NOW_ON],
    ],
    ids=[
        "nullable",
        "deferrable",
        "partial",
        "expression",
        "of two columns",
        "inherited",
        "view",
        "materialized view",
        "never missing from now on",
    ],
)
def test_a_key_that_is_only_nearly_unique_is_bounded(engine_on, statements) -> None:
    assert engine_on(patients(), *statements)._one_row == set()


def test_a_column_that_is_computed_when_it_is_read_is_refused(engine_on, admin) -> None:
    population = patients(Column(name="x", type=Integer(), nullable=True))
    if admin.info.server_version >= 180_000:  # older servers store what they compute
        with pytest.raises(RegistrationError, match="'x' computed when it is read, which may fail on a single row"):
            engine_on(population, "create table patients (pid bigint, x bigint generated always as (1 / pid) virtual)")
        admin.execute("drop table patients")
    engine = engine_on(
        population,
        "create table patients (pid bigint, x bigint generated always as (2 / pid) stored)",
        "insert into patients values (1), (2)",
    )
    assert counted(engine, population, "x = 1") == 1


@pytest.mark.parametrize("stored", ["real", "double precision", "numeric(5,2)"])
def test_not_a_number_is_missing_in_every_type_of_numbers(engine_on, stored) -> None:
    population = patients(Column(name="x", type=Real(low=0, high=9, step=1), nullable=True))
    engine = engine_on(
        population,
        f"create table patients (pid bigint, x {stored})",
        "insert into patients values (1, 'NaN'), (2, null), (3, 5), (4, 'NaN')",
    )
    wheres = {"x is null": 3, "x is not null": 1, "x > 3": 1, "not (x > 7)": 1, "x <= 9 or x is null": 4}
    assert {where: counted(engine, population, where) for where in wheres} == wheres
    assert engine.number(plan(ask.total("patients", "x"), population).aggregate).open_for_release() == 5
    assert "NULLIF" in engine._relations["patients"], "no predicate of any kind may meet one"


@pytest.mark.parametrize(
    "change",
    [
        "alter table patients alter age type text",
        "alter table patients drop column age",
        "drop table patients",
        "grant insert on patients to reader",
        "drop table patients; create table patients (pid bigint, age bigint); grant select on patients to public",
    ],
)
def test_a_table_that_was_altered_is_not_questioned(engine_on, admin, change) -> None:
    reasons, population = [], patients(Column(name="age", type=Integer()))
    engine = engine_on(population, "create table patients (pid bigint, age bigint)", on_failure=reasons.append)
    assert counted(engine, population) == 0
    admin.execute(change)
    with pytest.raises(EngineError):
        counted(engine, population)
    assert "register it again" in str(reasons[0])


def test_a_role_that_may_not_ask_for_the_server_still_tells_tables_apart(engine_on, admin) -> None:
    made = "create table patients (pid bigint)"
    admin.execute("revoke execute on function pg_control_system() from public")
    engine = engine_on(patients(), made)
    assert engine.identities_now() == engine.identities
    admin.execute(f"drop table patients; {made}; grant select on patients to public")
    assert engine.identities_now() != engine.identities


def sleepy(engine_on, **options):
    """An engine whose table takes a minute to read."""
    return engine_on(patients(), "create view patients as select 1::bigint as pid from pg_sleep(60)", **options)


def test_the_server_gives_up_after_the_time_limit(engine_on) -> None:
    reasons = []
    engine = sleepy(engine_on, time_limit=1, on_failure=reasons.append)
    with pytest.raises(EngineError) as failed:
        counted(engine, patients())
    assert failed.value.__context__ is None
    assert isinstance(reasons[0], psycopg.errors.QueryCanceled)


def test_a_question_is_cancelled_on_the_server_and_no_other(engine_on, admin) -> None:
    reasons = []
    engine = sleepy(engine_on, on_failure=reasons.append)
    running_ = "select count(*) from pg_stat_activity where usename = 'reader' and state = 'active'"

    def both_run() -> None:
        while admin.execute(running_).fetchone() != (2,):
            time.sleep(0.01)

    cancel_one_of_two(lambda: counted(engine, patients()), both_run)
    assert admin.execute(running_).fetchone() == (0,)
    assert [type(reason) for reason in reasons] == [psycopg.errors.QueryCanceled] * 2
    assert engine._idle == [], "a connection that was told to stop serves no other question"


def test_questions_from_several_threads_do_not_meet(engine_on) -> None:
    population = patients(Column(name="age", type=Integer(low=0, high=120)))
    engine = engine_on(
        population,
        "create table patients (pid bigint, age bigint)",
        "insert into patients select n, n % 100 from generate_series(1, 2000) as n",
    )
    answers = {}

    def ask_for(age) -> None:
        answers[age] = [counted(engine, population, f"age < {age}") for _ in range(5)]

    threads = [threading.Thread(target=ask_for, args=(age,)) for age in range(0, 100, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {age: [age * 20] * 5 for age in range(0, 100, 20)}


def test_a_connection_that_died_while_idle_is_replaced_unseen(engine_on, admin) -> None:
    reasons = []
    engine = engine_on(patients(), "create table patients (pid bigint)", on_failure=reasons.append)
    assert counted(engine, patients()) == 0
    admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'reader'")
    assert counted(engine, patients()) == 0
    assert reasons == []


def test_a_server_that_dies_is_one_failure_and_the_next_question_reconnects() -> None:
    reasons, population = [], patients()
    with running() as server, server.database() as dsn:
        with psycopg.connect(dsn, autocommit=True) as admin:
            admin.execute("create table patients (pid bigint)")
            admin.execute("insert into patients values (1)")
            admin.execute("create view slow as select 1::bigint as pid from pg_sleep(60)")
            reader = as_reader(admin, dsn)
        slow = PostgreSQL(population, {"patients": PostgresTable(table="slow")}, reader, on_failure=reasons.append)
        quick = PostgreSQL(population, SOURCES, reader, on_failure=reasons.append)
        assert counted(quick, population) == 1
        failed = []

        def ask_slowly() -> None:
            with pytest.raises(EngineError) as failure:
                counted(slow, population)
            failed.append(failure.value)

        waiting = threading.Thread(target=ask_slowly)
        waiting.start()
        while not slow._running:
            time.sleep(0.01)
        server.crash()
        waiting.join()
        with pytest.raises(EngineError) as down:
            counted(quick, population)
        server.start()
        assert counted(quick, population) == 1
        slow.close()
        quick.close()
    assert str(failed[0]) == str(down.value)
    assert failed[0].__context__ is None
    assert all(isinstance(reason, psycopg.OperationalError) for reason in reasons)


def test_a_closed_engine_fails_like_any_other(engine_on) -> None:
    engine = engine_on(patients(), "create table patients (pid bigint)")
    engine.close()
    with pytest.raises(EngineError):
        counted(engine, patients())

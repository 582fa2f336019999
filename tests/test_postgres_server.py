"""The private PostgreSQL of the test run is a real and durable one."""

import os

import psycopg
from psycopg import sql


def test_it_runs_as_an_ordinary_user_and_is_durable(postgres) -> None:
    owner = postgres.data.stat().st_uid
    assert owner != 0
    assert os.geteuid() in {0, owner}
    with psycopg.connect(postgres.dsn()) as connection:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            shown = connection.execute(sql.SQL("show {}").format(sql.Identifier(setting))).fetchone()
            assert shown == ("on",)


def test_what_was_committed_outlives_a_crash(postgres, database) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("create table kept (n int)")
        connection.execute("insert into kept values (1)")
    postgres.crash()
    postgres.start()
    with psycopg.connect(database) as connection:
        assert connection.execute("select n from kept").fetchall() == [(1,)]


def test_every_test_has_a_database_of_its_own(postgres) -> None:
    with postgres.database() as one, postgres.database() as other:
        with psycopg.connect(one) as connection:
            connection.execute("create table mine (n int)")
        with psycopg.connect(other) as connection:
            assert connection.execute("select to_regclass('mine')").fetchone() == (None,)

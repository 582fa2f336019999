"""A small clinic for tests of the ledger: one population, two tables, and short words for what is done with it."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from lapwing.accounting.filters.charge import Reservation, SingleRelease
from lapwing.ledger.database import SQLITE_VIEWS, Database
from lapwing.ledger.ledger import Ledger, create_ledger, open_ledger
from lapwing.ledger.postgres import PostgresDatabase
from lapwing.ledger.questions import Charged, Released, Request
from lapwing.ledger.reservation_states import Decision, Intent, Opening, RoundOutcome
from lapwing.ledger.sqlite import SqliteDatabase
from lapwing.vocabulary.event import Event, PureRelease
from lapwing.vocabulary.guarantee import Guarantee, PrivacyUnit, PureDP

PEOPLE = PrivacyUnit(person_key="patient_id")
_schemas = count()
SECRET = b"\x17" * 77
SEED = b"\x42" * 60


@dataclass(frozen=True)
class Place:
    """Where a ledger of a test lives: it can be opened again, in this process or in another.

    `where` is a path, or a connection string with the name of a schema; `settings` go to the database.
    """

    where: Path | tuple[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def in_file(path: Path, **settings) -> "Place":
        return Place(path, settings)

    @staticmethod
    def in_postgres(dsn: str, schema: str = "lapwing", **settings) -> "Place":
        return Place((dsn, schema), settings)

    @staticmethod
    def chosen(kind: str, request) -> "Place":
        """Return the place that a parametrized fixture asks for."""
        if kind == "sqlite":
            return Place.in_file(request.getfixturevalue("quick_path") / "ledger.db")
        return Place.in_postgres(request.getfixturevalue("postgres").dsn(), f"ledger_{next(_schemas)}")

    def database(self) -> Database:
        if isinstance(self.where, Path):
            return SqliteDatabase(self.where, **self.settings)
        dsn, schema = self.where
        return PostgresDatabase(dsn, schema=schema, **self.settings)

    def create(self, name: str = "2f1c") -> Ledger:
        return create_ledger(self.database(), name=name)

    def open(self, **checks) -> Ledger:
        return open_ledger(self.database(), **checks)

    def clinic(self, epsilon: object = 1, **population) -> Ledger:
        """Make a ledger with the population "clinic" and its tables "patients" and "visits"."""
        ledger = self.create()
        budget: Guarantee = PureDP(epsilon=Fraction(epsilon))
        ledger.administration.create_population("clinic", **{"unit": PEOPLE, "budget": budget, **population})
        ledger.administration.add_table("clinic", "patients")
        ledger.administration.add_table("clinic", "visits")
        return ledger


CHAIN = 1
"""The chain of the clinic: the first population of its ledger."""
_WRITABLE = (
    """create temp trigger entries_insert instead of insert on entries begin insert into all_entries (chain, seq, body,
       hash) values ({0}, coalesce(new.seq, (select max(seq) + 1 from all_entries where chain = {0})), new.body,
       new.hash); end""",
    """create temp trigger entries_update instead of update on entries begin update all_entries set seq = new.seq,
       body = new.body, hash = new.hash where chain = {0} and seq = old.seq; end""",
    """create temp trigger entries_delete instead of delete on entries begin
       delete from all_entries where chain = {0} and seq = old.seq; end""",
    """create temp trigger ledger_update instead of update on ledger begin update chains set name = new.name,
       version = new.version, seq = new.seq, hash = new.hash where chain = {0}; end""",
    "create temp trigger ledger_delete instead of delete on ledger begin delete from chains where chain = {0}; end",
    """create temp trigger recalls_update instead of update on recalls begin update all_recalls set digest = new.digest,
       seq = new.seq, place = new.place where chain = {0} and digest = old.digest and seq = old.seq; end""",
    """create temp trigger recalls_delete instead of delete on recalls begin
       delete from all_recalls where chain = {0} and digest = old.digest and seq = old.seq; end""",
)


def raw(path: Path | str, *, chain: int = CHAIN, **settings: Any) -> sqlite3.Connection:
    """Open the file of a ledger behind its back; the chain of the clinic can be read, and written to."""
    connection = sqlite3.connect(path, **settings)
    for statement in (*SQLITE_VIEWS, *_WRITABLE):
        connection.execute(statement.format(chain))
    return connection


REQUEST = Request(
    population="clinic",
    analyst="ana",
    key="k",
    question="count patients",
    tables=frozenset({"patients"}),
    charge=SingleRelease(event=PureRelease(epsilon=Fraction(1, 10))),
)


def pure(epsilon: object) -> Event:
    return PureRelease(epsilon=Fraction(epsilon))


def request(key: str = "k", *, question: str | None = None, epsilon: object = "1/10", **changed) -> Request:
    """A question of its own for each key, unless one is given."""
    charge = SingleRelease(event=pure(epsilon), segments=changed.pop("segments", None))
    return replace(REQUEST, key=key, question=question or f"count {key}", **{"charge": charge, **changed})


def ask(ledger: Ledger, key: str = "k", answer: str = "42", **changed) -> Released:
    """The way of a question: charge, (read data,) answer."""
    ledger = ledger.of(changed.get("population", "clinic"))
    charged = ledger.questions.charge(request(key, **changed))
    return ledger.questions.answer(charged.seq, answer) if isinstance(charged, Charged) else charged


def opening(
    stream: str = "s", *, yeses: int = 3, opening: object = "1/10", price: object = "1/10", **changed
) -> Opening:
    segments = changed.pop("segments", None)
    reservation = Reservation(
        stream=stream, opening=Fraction(opening), price=Fraction(price), yeses=yeses, segments=segments
    )
    given = {
        "population": "clinic",
        "analyst": "ana",
        "key": f"open {stream}",
        "name": stream,
        "charge": reservation,
        "units": yeses,
        "dearest": 1,
        "tables": frozenset({"patients"}),
        "terms": '{"at_least":200}',
        "sealed": SECRET,
    }
    return Opening(**{**given, **changed})


def intend_one(ledger: Ledger, stream: str, *, question: str, sealed: bytes = SEED, **asked) -> Intent | Decision:
    """Ask a stream one question; return what it has decided about it before, if it has."""
    ledger = ledger.of(asked.pop("population", "clinic"))
    intent, known = ledger.streams.intend(stream, questions=[question], sealed=sealed, **asked)
    return known[question] if intent is None else intent


def decide_one(ledger: Ledger, stream: str, *, outcome: RoundOutcome, answer: str | None = None, **ending) -> Decision:
    """Say how the question in flight ended, and return what stands; None if it is lost."""
    answers = None if outcome is RoundOutcome.LOST else [(outcome, answer)]
    return next(iter(ledger.streams.decide(stream, answers=answers, **ending).values()), None)


def spent(ledger: Ledger, population: str = "clinic", segment: str = "everyone") -> Fraction:
    return ledger.account(population).filters[segment].spent


def reserved(ledger: Ledger, population: str = "clinic", segment: str = "everyone") -> Fraction:
    return ledger.account(population).filters[segment].reserved


_SWAP = """update pg_class as one set relfilenode = other.relfilenode from pg_class as other
    where (one.oid, other.oid) in (({0}, {1}), ({1}, {0}))"""


def empty_index(dsn: str, schema: str, name: str) -> None:
    """Let an index of a ledger in PostgreSQL lose all entries, and find those that come: its file is an empty one's."""
    with psycopg.connect(dsn) as database:
        database.execute(f"set search_path = {schema}")
        (definition,) = database.execute("select pg_get_indexdef(to_regclass(%s))", (name,)).fetchone()
        database.execute("create table empty_entries (like all_entries including generated)")
        twin = definition.replace(f" {schema}.all_entries ", " empty_entries ")
        database.execute(twin.replace(f"INDEX {name} ", "INDEX empty_one "))
        database.execute(_SWAP.format(f"'{name}'::regclass", "'empty_one'::regclass"))
        database.execute("drop table empty_entries")

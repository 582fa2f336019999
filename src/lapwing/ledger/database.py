"""The contract of a database that holds a ledger, and the tables of it; SQLite and PostgreSQL are such databases.

A ledger has many chains: chain 0 is its directory, and each population has one of its own. A connection sees one of
them: its `entries`, `ledger`, `secrets` and `recalls` are views of the rows of this chain in `all_entries`, `chains`,
`all_secrets` and `all_recalls`. So a statement can neither read nor write what belongs to another chain, and nothing
but the connection has to know which one it is.

Everything a ledger knows is in `entries`, as canonical JSON. `record` is the same JSON as the database parses it, so
that indexes on its fields can never differ from the entry; PostgreSQL, which has to store it, leaves out what nothing
is found by (`FINDABLE`). `ledger` is the one row that is locked, with the end of the chain. `secrets` holds sealed
noise until it has been used: outside the chain, because no hash may depend on it, and in no export. `recalls` finds the
answers of batches, many in one entry, by the digests of their questions; it is an index, and every row of it must agree
with its entry.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from functools import lru_cache
from glob import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, Protocol, Self, TypeAlias

from lapwing.ledger.entries import FINDING, Asked, Entry, HeadFile, Lookup, of_chain
from lapwing.vocabulary.errors import LedgerDamagedError, LedgerError
from lapwing.vocabulary.lifetime import closing_on_failure

Value: TypeAlias = str | int | bytes | None
Row: TypeAlias = tuple[Any, ...]
Statement: TypeAlias = tuple[str, Sequence[Value]]
"""A statement with `?` for values, and its values."""
Expected: TypeAlias = Mapping[Asked, int]
"""What lookups are expected to find: the number of an entry, or 0 for none."""
NOTHING_EXPECTED: Final[Expected] = MappingProxyType({})


class Connection(Protocol):
    """The part of DB-API connections that sqlite3 and psycopg have in common."""

    def execute(self, statement: str, values: Sequence[Value] = ..., /) -> Any:
        """Run one statement and return a cursor."""

    def close(self) -> None:
        """Close the connection."""


class ConflictError(Exception):
    """The chain has grown since its end was read, or the connection had gone before anything was written: try again."""


class Holder:
    """The holder of a place of a gate. A place whose holder was collected is free, also after an interrupt."""

    __slots__ = ("__weakref__",)


class Turns(Protocol):
    """Locks that serialize requests for the same work."""

    def enter(self, place: int, holder: Holder) -> bool:
        """Take a place, unless another holder has it; return whether it is ours now."""

    def leave(self, place: int, holder: Holder) -> None:
        """Give a place back, if this holder has it."""

    def working(self, name: str, patience: float = 0.0) -> AbstractContextManager[bool]:
        """Hold the lock of a name, such as that of a stream while its question is decided; yield whether it is ours."""

    def close(self) -> None:
        """Close files and connections."""


class Database(ABC):
    """One chain of a ledger, in a database server or file: the part that differs between SQLite and PostgreSQL."""

    begin_writing: ClassVar[Sequence[str]]  # the statements after which this transaction is the only one that may write
    begin_reading: ClassVar[Sequence[str]]  # the statements after which this transaction sees one moment
    appends_atomically: ClassVar[bool]  # whether `append` outside a transaction is atomic and durable by itself
    stand_in_line: ClassVar[Sequence[str]] = ()  # wait to be the next who appends; the last says whether nobody does
    begin_lease: ClassVar[Sequence[str]] = ()  # wait until nobody else appends
    leave_line: ClassVar[Sequence[str]] = ()  # let somebody else be the next
    end_lease: ClassVar[Sequence[str]] = ()  # let the next append
    keeps_head: ClassVar[bool]  # whether the head is as old as the ledger, so that one without it is refused
    number: int  # that of the chain; 0 is the directory
    head_path: Path | None  # of the head of the directory
    head: HeadFile | None  # where the receipt of the newest acknowledged entry is kept, outside the database

    def chain(self, number: int) -> Self:
        """Return the place of another chain of the same ledger."""
        other = copy(self)
        other.number, other.head = number, self.head and self.head_of(number)
        return other

    def head_of(self, number: int) -> HeadFile | None:
        """Return where the receipt of the newest acknowledged entry of a chain is kept."""
        return None if self.head_path is None else HeadFile(of_chain(self.head_path, number))

    def begin_head(self, ledger: str) -> None:
        """Begin the head of a new ledger, unless a head that is kept here names a chain that has entries."""
        if self.head is not None:
            for file in (self.head, *self.heads_of_chains().values()):
                file.require_fresh()
            self.head.begin(ledger)

    def heads_of_chains(self) -> dict[int, HeadFile]:
        """Return the heads of chains that are kept here, by their numbers."""
        if self.head_path is None:
            return {}
        files = self.head_path.parent.glob(f"{escape(self.head_path.name)}.*")
        found = {file.name.rpartition(".")[2]: file for file in files}
        return {int(number): HeadFile(file) for number, file in found.items() if number.isdecimal()}

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, for messages: never a password."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """The identity of the place: equal for two objects if and only if they are the same database."""

    def connect(self) -> Connection:
        """Return a new connection in autocommit mode whose durability settings were read back and are strong."""
        connection = self._dial()
        with closing_on_failure(connection):
            self._insist(connection)
        return connection

    @abstractmethod
    def _dial(self) -> Connection: ...

    @abstractmethod
    def _insist(self, connection: Connection) -> None: ...

    @abstractmethod
    def phrase(self, statement: str) -> str:
        """Return a statement that is written with `?` for values as this database wants it."""

    @abstractmethod
    def translate(self, error: Exception) -> LedgerError | None:
        """Translate an error of the database; return `None` if the error is not the database's."""

    @abstractmethod
    def append(
        self,
        connection: Connection,
        entries: Sequence[Entry],
        before: Entry,
        *,
        expected: Expected = NOTHING_EXPECTED,
        commit: bool = False,
    ) -> bool:
        """Add `entries` to a chain that ends with `before`, and move its end; return whether that is where it ended.

        Where a lookup finds something else than what is `expected`, nothing is added either. `commit` says that this is
        the last statement of a transaction, which is committed with it.
        """

    @abstractmethod
    def hashes(self, connection: Connection, numbers: Sequence[int]) -> list[Row]:
        """Return the numbers and hashes of entries, of those that there are, by one statement for all of them."""

    def look_up(self, connection: Connection, asked: Sequence["Asked"]) -> dict["Asked", int | None]:  # noqa: ARG002
        """Return the results of many lookups, in one round trip; none if single lookups are as fast."""
        return {}

    def together(self, connection: Connection, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run statements one after the other and return the rows of each: in one round trip where that is faster."""
        return [connection.execute(self.phrase(text), values).fetchall() for text, values in statements]

    def stamp(self, connection: Connection) -> object:  # noqa: ARG002 - not every database has one
        """Return a value that changes on this connection with every commit of another one; None if there is none."""
        return None

    def is_lost(self, connection: Connection) -> bool:  # noqa: ARG002 - a file has no connection to lose
        """Return whether the other end of a connection is gone, so that a new one must be made."""
        return False

    def is_idle(self, connection: Connection) -> bool:  # noqa: ARG002 - a file answers at once
        """Return whether neither a statement nor a transaction is under way on a connection; nobody is asked for it."""
        return True

    def is_busy(self, connection: Connection) -> bool:  # noqa: ARG002 - nor here
        """Return whether an answer is under way on a connection, so that the next statement would wait or take it."""
        return False

    def has_waited_enough(self, error: BaseException) -> bool:  # noqa: ARG002 - a file has no line to stand in
        """Return whether an error says that others kept a lease for longer than anybody waits for one."""
        return False

    def may_have_committed(self, error: Exception) -> bool:  # noqa: ARG002 - in doubt, yes
        """Return whether a statement that failed with `error` may have been committed all the same."""
        return True

    @abstractmethod
    def shred(self, connection: Connection) -> None:
        """Overwrite what was deleted, as far as this database can."""

    @abstractmethod
    def inspect(self, connection: Connection) -> None:
        """Look for an index that disagrees with the entries of the chain."""

    def inspect_all(self, connection: Connection) -> None:  # noqa: B027 - a server keeps checksums of its pages
        """Look for damage in the structures of the database, whichever chain they are of."""

    def counting(self, field: str) -> str:
        """Return the statement that counts, by their index, the entries up to a number that have a field."""
        return f"select count(*) from entries where record ->> '{field}' is not null and +seq <= ?"  # noqa: S608

    @abstractmethod
    def interrupt(self, connection: Connection) -> None:
        """Interrupt the statement of a connection, from another thread."""

    @abstractmethod
    def create(self, ledger: str, head: bytes) -> None:
        """Make an empty ledger with the name `ledger` and begin its head, whole or not at all."""

    @abstractmethod
    def gate(self) -> Turns:
        """Return where requests take turns."""


def misplaced_answers(place: str) -> LedgerDamagedError:
    """Return the error of an index of the answers of batches that differs from the entries."""
    return LedgerDamagedError(
        f"the index of the answers of batches in {place} says something else than the entries: it is damaged"
    )


_MISFOUND: Final = """
with said as materialized (
    select {values}, max(seq) as seq
    from (select seq, record from entries order by seq limit 9000000000000000 offset 0) as entries
    where record ->> '{field}' is not null group by {places}
)
select seq, {number} from said where coalesce({number}, 0) <> seq order by 1 limit 1"""
"""The first entry that a lookup must find, by its fields, and does not."""
_LISTED: Final = (
    ("record ->> 'kind' = 'population'", ("record ->> 'population'",)),
    ("record ->> 'kind' = 'intent'", ("record ->> 'stream'", "cast(record ->> 'number' as bigint)")),
    ("record ->> 'kind' = 'intent'", ("record ->> 'population'", "record ->> 'analyst'")),
    ("record ->> 'budget_request' is not null", ("record ->> 'population'",)),
    ("true", ("coalesce(record ->> 'analyst', '')",)),
)
"""The lists of entries: the condition for an entry to be in one, and the indexed values."""
_MISLISTED: Final = """
with said as materialized (
    select {values}, count(*) as entries, max(seq) as seq
    from (select seq, record from entries order by seq limit 9000000000000000 offset 0) as entries
    where {condition} group by {places}
)
select seq, found, entries from (select seq, entries, (select count(*) from (
    select 1 from entries where {condition} and {same} order by seq limit 9000000000000000 offset 0) as found) as found
    from said) as lists
where found <> entries order by seq limit 1"""
"""The last entry of a list that has more or fewer entries than there are."""


def require_found(connection: Connection, place: str, *, is_directory: bool) -> None:
    """Compare what lookups find with the entries of a chain, read in their order, by the index it is followed by."""
    for field, lookup, names in FINDING:
        if is_directory is not (lookup is Lookup.CHAIN):
            continue
        if (row := connection.execute(_misfound(field, lookup, names)).fetchone()) is not None:
            seq, found = row
            where = f"at entry {found}" if found else "nowhere"
            raise LedgerDamagedError(f"is found {where}: an index of {place} is damaged", seq=seq)
    for condition, values in () if is_directory else _LISTED:
        if (row := connection.execute(_mislisted(condition, values)).fetchone()) is not None:
            seq, found, due = row
            reason = f"is in a list of {due}, of which {found} are found: an index of {place} is damaged"
            raise LedgerDamagedError(reason, seq=seq)


@lru_cache
def _misfound(field: str, lookup: Lookup, names: Sequence[str]) -> str:
    """Return the statement that finds the first entry which a lookup does not find."""
    said = "cast(record ->> '{}' as bigint)" if lookup is Lookup.SETTLES else "record ->> '{}'"  # as it is indexed
    values = ", ".join(f"{said.format(name)} as value{i}" for i, name in enumerate(names))
    number = filled(lookup, [f"said.value{i}" for i in range(len(names))])
    places = ", ".join(str(place) for place in range(1, len(names) + 1))
    return _MISFOUND.format(values=values, field=field, places=places, number=number)


@lru_cache
def _mislisted(condition: str, values: Sequence[str]) -> str:
    """Return the statement that finds a list of entries which is not as long as it must be."""
    places = ", ".join(str(place) for place in range(1, len(values) + 1))
    named = ", ".join(f"{value} as value{i}" for i, value in enumerate(values))
    same = " and ".join(f"{value} = said.value{i}" for i, value in enumerate(values))
    return _MISLISTED.format(values=named, condition=condition, places=places, same=same)


def filled(lookup: Lookup, names: Sequence[str]) -> str:
    """Return a lookup with names in the place of its values."""
    return f"({''.join(part + name for part, name in zip(lookup.split('?'), [*names, ''], strict=True))})"


INDEXES: Final = (
    """create index entries_policy on all_entries (chain, (record ->> 'population'), seq)
       where record ->> 'policy' is not null""",
    """create index entries_account on all_entries (chain, (record ->> 'population'), seq)
       where record ->> 'account' is not null""",
    """create index entries_allowance on all_entries (chain, (record ->> 'population'), (record ->> 'analyst'), seq)
       where record ->> 'allowance' is not null""",
    """create unique index entries_request
       on all_entries (chain, (record ->> 'population'), (record ->> 'analyst'), (record ->> 'request'))
       where record ->> 'request' is not null""",
    """create index entries_recall on all_entries (chain, (record ->> 'recall'), seq)
       where record ->> 'recall' is not null""",
    """create unique index entries_settles on all_entries (chain, (cast(record ->> 'settles' as bigint)))
       where record ->> 'settles' is not null""",
    """create index entries_stream on all_entries (chain, (record ->> 'stream'), seq)
       where record ->> 'stream' is not null""",
    """create unique index entries_question
       on all_entries (chain, (record ->> 'stream'), (cast(record ->> 'number' as bigint)))
       where record ->> 'kind' = 'intent'""",
    """create index entries_asked on all_entries (chain, (record ->> 'population'), (record ->> 'analyst'), seq)
       where record ->> 'kind' = 'intent'""",
    # On another expression than the lookups above: otherwise SQLite's planner would scan this index for them.
    """create index entries_caused on all_entries (chain, (coalesce(record ->> 'analyst', '')), seq)""",
    """create index entries_budget_request on all_entries (chain, (record ->> 'population'), seq)
       where record ->> 'budget_request' is not null""",
    """create unique index entries_population on all_entries (chain, (record ->> 'population'))
       where record ->> 'kind' = 'population'""",
    """create unique index entries_founds on all_entries (chain, (record ->> 'founds'))
       where record ->> 'founds' is not null""",
)
"""All indexes begin with the chain: what is looked up in one is found among its own entries."""

SQLITE_TABLES: Final = (
    """create table chains (chain integer primary key, name text not null, version integer not null,
       seq integer not null, hash blob not null) strict""",
    """create table all_entries (chain integer not null, seq integer not null, body text not null, hash blob not null,
       record text generated always as (body) virtual, primary key (chain, seq)) strict""",
    """create table all_secrets (chain integer not null, stream text not null, number integer not null,
       sealed blob not null, primary key (chain, stream, number)) strict""",
    """create table all_recalls (chain integer not null, digest text not null, seq integer not null,
       place integer not null, primary key (chain, digest, seq)) strict, without rowid""",
    """create trigger entries_are_never_changed before update on all_entries
       begin select raise(abort, 'entries of a ledger are never changed'); end""",
    """create trigger entries_are_never_deleted before delete on all_entries
       begin select raise(abort, 'entries of a ledger are never deleted'); end""",
    *INDEXES,
)
SQLITE_VIEWS: Final = (
    "create temp view ledger as select name, version, seq, hash from main.chains where chain = {0}",
    "create temp view entries as select seq, body, hash, record from main.all_entries where chain = {0}",
    "create temp view secrets as select stream, number, sealed from main.all_secrets where chain = {0}",
    "create temp view recalls as select digest, seq, place from main.all_recalls where chain = {0}",
    """create temp trigger secrets_insert instead of insert on secrets begin
       insert into all_secrets values ({0}, new.stream, new.number, new.sealed); end""",
    """create temp trigger secrets_update instead of update on secrets begin
       update all_secrets set sealed = new.sealed where chain = {0} and stream = old.stream and number = old.number;
       end""",
    """create temp trigger secrets_delete instead of delete on secrets begin
       delete from all_secrets where chain = {0} and stream = old.stream and number = old.number; end""",
    """create temp trigger recalls_insert instead of insert on recalls begin
       insert into all_recalls values ({0}, new.digest, new.seq, new.place); end""",
)
"""What makes a connection see one chain."""

_LONG: Final = "seq question questions words digest terms versions tables answer answers remark reason purpose heads"
FINDABLE: Final = f"""jsonb_set(jsonb_set(jsonb_set(body::jsonb - '{{{",".join(_LONG.split())}}}'::text[],
    '{{policy}}', '0', false), '{{account}}', '0', false), '{{allowance}}', '0', false)"""
"""What a record in PostgreSQL has of an entry: no long texts, and of states only that they are there."""

_CHAIN: Final = "current_setting('lapwing.chain')::integer"
"""The chain of a connection; a statement on one that has none fails."""

POSTGRES_TABLES: Final = (
    """create table chains (chain integer primary key, name text not null, version integer not null,
       seq bigint not null, hash bytea not null)""",
    f"""create table all_entries (chain integer not null default {_CHAIN}, seq bigint not null, body text not null,
       hash bytea not null, record jsonb generated always as ({FINDABLE}) stored, primary key (chain, seq))""",
    # A long entry is compressed where it lies: what is stored elsewhere costs a second look.
    "alter table all_entries alter body set storage main, alter record set storage main",
    f"""create table all_secrets (chain integer not null default {_CHAIN}, stream text not null, number bigint not null,
       sealed bytea not null, primary key (chain, stream, number))""",
    f"""create table all_recalls (chain integer not null default {_CHAIN}, digest text not null, seq bigint not null,
       place bigint not null, primary key (chain, digest, seq))""",
    f"create view ledger as select name, version, seq, hash from chains where chain = {_CHAIN}",  # noqa: S608 - our own words
    f"create view entries as select seq, body, hash, record from all_entries where chain = {_CHAIN}",  # noqa: S608 - our own words
    f"create view secrets as select stream, number, sealed from all_secrets where chain = {_CHAIN}",  # noqa: S608 - our own words
    f"create view recalls as select digest, seq, place from all_recalls where chain = {_CHAIN}",  # noqa: S608 - our own words
    """create function entries_are_for_ever() returns trigger language plpgsql as
       $$ begin raise exception 'entries of a ledger are never changed and never deleted'; end $$""",
    """create trigger entries_are_for_ever before update or delete or truncate on all_entries
       execute function entries_are_for_ever()""",
    *INDEXES,
)

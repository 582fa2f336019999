"""The tables of a ledger, in SQLite and in PostgreSQL, and how an older ledger becomes a newer one.

Everything a ledger knows is in `entries`, as canonical JSON. `record` shows the same JSON to the database, so that
indexes on its fields can never say anything else than the entry does. `ledger` is the one row that is locked, with the
end of the chain. `secrets` holds sealed noise until it has been used, and `fingerprints` what the custodian's data
looked like: both are outside the chain, because no hash may depend on data or noise, and in no export.

A version of the schema is one step of `MIGRATIONS`; a step that was released is never changed.
"""

from dataclasses import dataclass
from typing import Final

_INDEXES: Final = (
    """create index entries_policy on entries ((record ->> 'population'), seq)
       where record ->> 'policy' is not null""",
    """create index entries_account on entries ((record ->> 'population'), seq)
       where record ->> 'account' is not null""",
    """create index entries_allowance on entries ((record ->> 'population'), (record ->> 'analyst'), seq)
       where record ->> 'allowance' is not null""",
    """create unique index entries_request
       on entries ((record ->> 'population'), (record ->> 'analyst'), (record ->> 'request'))
       where record ->> 'request' is not null""",
    """create index entries_recall on entries ((record ->> 'recall'), seq)
       where record ->> 'recall' is not null""",
    """create unique index entries_settles on entries ((cast(record ->> 'settles' as bigint)))
       where record ->> 'settles' is not null""",
    """create index entries_stream on entries ((record ->> 'stream'), seq)
       where record ->> 'stream' is not null""",
    """create unique index entries_question on entries ((record ->> 'stream'), (cast(record ->> 'number' as bigint)))
       where record ->> 'kind' = 'intent'""",
    """create unique index entries_population on entries ((record ->> 'population'))
       where record ->> 'kind' = 'population'""",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """What leads from one version of the schema to the next, in each database."""

    sqlite: tuple[str, ...]
    postgres: tuple[str, ...]


_FIRST: Final = Migration(
    sqlite=(
        """create table ledger (one integer primary key check (one = 1), name text not null, version integer not null,
           seq integer not null, hash blob not null) strict""",
        """create table entries (seq integer primary key, body text not null, hash blob not null,
           record text generated always as (body) virtual) strict""",
        """create table secrets (stream text not null, number integer not null, sealed blob not null,
           primary key (stream, number)) strict""",
        """create table fingerprints (population text not null, source text not null, version integer not null,
           fingerprint blob not null, primary key (population, source)) strict""",
        """create trigger entries_are_never_changed before update on entries
           begin select raise(abort, 'entries of a ledger are never changed'); end""",
        """create trigger entries_are_never_deleted before delete on entries
           begin select raise(abort, 'entries of a ledger are never deleted'); end""",
        *_INDEXES,
    ),
    postgres=(
        """create table ledger (one integer primary key check (one = 1), name text not null, version integer not null,
           seq bigint not null, hash bytea not null)""",
        """create table entries (seq bigint primary key, body text not null, hash bytea not null,
           record jsonb generated always as (body::jsonb) stored) with (toast_tuple_target = 8160)""",
        """create table secrets (stream text not null, number bigint not null, sealed bytea not null,
           primary key (stream, number))""",
        """create table fingerprints (population text not null, source text not null, version bigint not null,
           fingerprint bytea not null, primary key (population, source))""",
        """create function entries_are_for_ever() returns trigger language plpgsql as
           $$ begin raise exception 'entries of a ledger are never changed and never deleted'; end $$""",
        """create trigger entries_are_for_ever before update or delete or truncate on entries
           execute function entries_are_for_ever()""",
        *_INDEXES,
    ),
)

WITH_A_HEAD: Final = 2
"""The version from which on what was told is also in a file outside (`head.py`): whoever does not know must not write.

The tables are the same."""

MIGRATIONS: tuple[Migration, ...] = (_FIRST, Migration(sqlite=(), postgres=()))

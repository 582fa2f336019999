"""The ledger on paper: everything in the chain, nothing that is sealed, in formats that anyone can read and check.

A JSON export has one line for the ledger and one for each entry. The text of `entry` as canonical JSON is what was
hashed (`entries.py`), so that a few lines of any language can follow the chain; `check_export` does it in this one.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final

from lapwing.ledger.chains import leaf, merkle_root, name_of, sealed_end
from lapwing.ledger.database import Database
from lapwing.ledger.entries import Entry, Receipt, Record, check_chain, compare
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.processes import spawned
from lapwing.ledger.store import Store
from lapwing.vocabulary.codec import canonical
from lapwing.vocabulary.errors import LedgerDamagedError, ParameterError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.wording import format_short

_FORMAT: Final = "lapwing ledger export 1"
_BEGIN: Final = '{"format":'

_COLUMNS: Final = """
select seq, (entry ->> 'at')::timestamptz as "at", entry ->> 'kind' as kind, entry ->> 'population' as population,
       entry ->> 'analyst' as analyst, entry ->> 'stream' as stream, entry::varchar as entry, hash
from read_json(?, format = 'newline_delimited', columns = {seq: 'bigint', entry: 'json', hash: 'varchar'})
where seq is not null order by population nulls first, seq
"""


def describe(entry: Record) -> tuple[str, str]:
    """Return who did what, in words, for an entry of the history of a population."""
    kind = entry["kind"]
    who = entry.get("by") if kind in {"policy", "write-off", "refusal"} else entry.get("analyst")
    words = [
        _describe_decision(entry) if kind == "policy" else None,
        entry.get("table"),
        f"{entry.get('reserves', 'stream')} {entry['stream']}" if "stream" in entry else None,
        _describe_questions(entry) if kind in {"intent", "outcome"} else None,
        f"of entry {entry['settles']}" if "settles" in entry and kind in {"answer", "lost"} else None,
        f"of entry {entry['recalls']}, free" if kind == "recall" else None,
        f"of request {entry['budget_request']}" if "budget_request" in entry and kind != "request" else None,
        f"version {entry['version']}" if "version" in entry else None,
        charged_words(entry) if kind in {"charge", "opening", "write-off"} else None,
        entry["remark"] if kind == "note" else None,
    ]
    return who or entry.get("by") or "", " ".join(word for word in words if word)


def _describe_questions(entry: Record) -> str:
    """Return which questions of a stream were asked, and how they came out: one, or many together."""
    first, outcomes = entry["number"], [outcome for outcome, _ in entry.get("answers", ())]
    last = first + len(entry.get("questions") or outcomes) - 1
    one = "round" if "reserves" in entry else "question"
    asked = f"{one} {first}" if last <= first else f"questions {first} to {last}"
    told = f"{outcomes.count('yes')} yes, {outcomes.count('no')} no" if outcomes else entry.get("outcome")
    return f"{asked} {told}" if told else asked


def without_states(entry: Record) -> dict[str, Any]:
    """Return an entry without the states of accounts and populations, which an export has in full."""
    return {name: value for name, value in entry.items() if name not in {"account", "allowance", "policy"}}


def _describe_decision(entry: Record) -> str:
    change, analyst = str(entry["change"]), entry.get("analyst")
    if change != "suspension":
        return change if analyst is None else f"{change} of {analyst}"
    whose = entry["policy"] if analyst is None else entry["policy"]["analysts"][analyst]
    return f"{change} of {analyst or 'everybody'}{'' if whose['suspended'] else ' ended'}"


def pays_by_yes(entry: Record) -> bool:
    """Return whether the account of an entry adds epsilons up, so that a stream pays yes by yes."""
    filters = entry["account"]["after"]["filters"].values()
    return all(one["kind"] == "pure-filter" or one.get("pure") is not None for one in filters)


def charged_words(entry: Record) -> str:
    """Return what an entry has charged, in words: in the currency in which its account is kept."""
    cost, filters = entry["account"]["lines"][0]["cost"], list(entry["account"]["after"]["filters"].values())
    reserved, rho = Fraction(cost["reserved"]), cost["rho"]
    if cost["epsilon"] is None or any(one["kind"] == "concentrated-filter" for one in filters):
        return "" if rho is None else f"rho {format_short(Fraction(rho))}"
    is_sum = pays_by_yes(entry)
    epsilon = Fraction(cost["epsilon"]) + (
        0 if is_sum else reserved
    )  # where there is no sum, all of it is paid at once
    delta = f", delta {format_short(Fraction(cost['delta']))}" if Fraction(cost["delta"]) else ""
    aside = f", {format_short(reserved)} reserved" if reserved and is_sum else ""
    return f"epsilon {format_short(epsilon)}{delta}{aside}"


def export_json(ledger: Ledger, path: Path, *, cores: int = 1) -> Receipt:
    """Write all entries as JSON lines into a new file, and return the receipt of the last one.

    Of a ledger with several populations it is the directory, sealed, and then the chain of each; with several `cores`
    the chains are read by as many processes.
    """
    as_int("cores", cores)
    ledger.head()  # seals the directory, where there is one to be written
    first = next(ledger.chosen())
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # only the owner may read who asked what
    with os.fdopen(opened, "wb") as file:
        end = _write(first.store.database, first.name, file)
        if first is not ledger.chains.directory:
            return end
        # The directory came first: what it seals is in each chain that is read after it, and it has founded them.
        chains = [(chain.store.database, one.ledger) for chain, one in ledger.chains.unopened(end.seq)]
        if cores == 1 or len(chains) <= 1:
            for database, name in chains:
                _write(database, name, file)
            return end
        with TemporaryDirectory(dir=path.parent) as folder, spawned(min(cores, len(chains))) as pool:
            parts = [Path(folder) / str(database.number) for database, _ in chains]
            for part in pool.map(_write_part, *zip(*chains, strict=True), parts):
                with part.open("rb") as written:
                    shutil.copyfileobj(written, file)
                part.unlink()
    return end


def _write_part(database: Database, name: str, part: Path) -> Path:
    """Write a chain into a file of its own, in a process of its own."""
    with part.open("wb") as file:
        _write(database, name, file)
    return part


def _write(database: Database, name: str, file: IO[bytes]) -> Receipt:
    """Write the part of an export that one chain is; return the receipt of its last entry."""
    store = Store(database, name=name)
    try:
        with store.reading() as transaction:
            end = {"last": transaction.last, "head": transaction.head.hex()}
            head = canonical({"format": _FORMAT, "ledger": transaction.ledger, "seq": None, **end})
            file.write(f"{head}\n".encode("ascii"))
            for entry in transaction.entries():
                line = f'{{"entry":{entry.body},"hash":"{entry.hash.hex()}","seq":{entry.seq}}}\n'
                file.write(line.encode("ascii"))
            return transaction.receipt
    finally:
        store.close()


def export_parquet(ledger: Ledger, path: Path, *, cores: int = 1) -> Receipt:
    """Write all entries as a Parquet table, with the fields people ask for in columns of their own."""
    import duckdb  # noqa: PLC0415 - slow to load, and only needed here

    if path.exists():
        raise FileExistsError(f"{path} exists; an export never overwrites")
    with TemporaryDirectory(dir=path.parent) as folder, duckdb.connect() as writer:
        lines, written = Path(folder) / "entries.json", Path(folder) / "entries.parquet"
        receipt = export_json(ledger, lines, cores=cores)
        writer.sql(_COLUMNS, params=[str(lines)]).write_parquet(str(written))
        written.chmod(0o600)
        written.rename(path)
    return receipt


def check_export(path: Path, receipts: Iterable[Receipt] = ()) -> Receipt:
    """Follow the chain of a JSON export, compare it with `receipts`, and return the receipt of its last entry.

    This needs nothing but the file: no ledger, no key and no database. A `LedgerDamagedError` has the number of the
    first entry that is wrong; an export that is older than a receipt or has another past is a `LedgerRolledBackError`.
    """
    wanted = list(receipts)
    ends, hashes, sealed = dict[str, Receipt](), dict[tuple[str, int], bytes](), _Seals()
    for end, entries in read_export(path):
        is_first, ends[end.ledger] = not ends, end
        noted = {one.seq for one in [*wanted, *sealed.of(end.ledger)] if one.ledger == end.ledger}
        for entry in entries:
            if entry.seq in noted:
                hashes[end.ledger, entry.seq] = entry.hash
            if is_first:
                sealed.read(end.ledger, entry)
    whole = next(iter(ends.values()))
    for receipt in [*wanted, *sealed]:
        end = ends.get(receipt.ledger, whole)
        compare(receipt, ledger=end.ledger, last=end.seq, found=hashes.get((receipt.ledger, receipt.seq)))
    return whole


class _Seals:
    """The ends of chains that a directory has sealed: all of them have to be in its export, and its roots to be right.

    After the note of a loss the ends that it seals take the place of those of before, which may be lost.
    """

    def __init__(self) -> None:
        self._names, self._ends, self._noted = dict[int, str](), dict[int, str](), 0
        self._receipts = dict[str, list[Receipt]]()

    def read(self, ledger: str, entry: Entry) -> None:
        """Follow an entry of the directory; in the only chain of another export there is none that says this."""
        if '"kind":"founding"' in entry.body:
            self._names[entry.seq], self._ends[entry.seq] = name_of(ledger, entry.record), leaf(0)
        elif '"kind":"note"' in entry.body:
            self._noted = entry.seq
        elif '"kind":"heads"' in entry.body:
            record = entry.record
            for number, end in record["heads"].items():
                self._seal(int(number), end, is_anew=self._noted == entry.seq - 1)
            if merkle_root(self._ends).hex() != record["root"]:
                raise LedgerDamagedError("has another root than that of the ends it seals", seq=entry.seq)

    def _seal(self, number: int, end: str, *, is_anew: bool) -> None:
        self._ends[number] = end
        name = self._names.get(number, "")
        if is_anew:
            self._receipts[name] = []
        if end != leaf(0):
            self._receipts.setdefault(name, []).append(sealed_end(name, end))

    def of(self, name: str) -> list[Receipt]:
        """Return the ends of one chain."""
        return self._receipts.get(name, [])

    def __iter__(self) -> Iterator[Receipt]:
        return (receipt for promised in self._receipts.values() for receipt in promised)


def read_export(path: Path) -> Iterator[tuple[Receipt, Iterator[Entry]]]:
    """Yield the chains of a JSON export: the receipt of the last entry of each, and its entries, which are followed."""
    with path.open(encoding="ascii", errors="replace") as file:  # a replaced byte breaks the chain
        for _, lines in groupby(file, key=_Parts()):
            head = _head(next(lines), path)
            last, hash_ = head["last"], bytes.fromhex(head["head"])
            entries = check_chain(head["ledger"], _entries(lines), last=last, head=hash_)  # noqa: B031 - each of its lines once
            yield Receipt(ledger=head["ledger"], seq=last, hash=hash_.hex()), entries


class _Parts:
    """The number of the part that a line is in: each part begins with a line that names its chain."""

    def __init__(self) -> None:
        self._part = 0

    def __call__(self, line: str) -> int:
        self._part += line.startswith(_BEGIN)
        return self._part


def is_export(path: Path) -> bool:
    """Return whether a file begins as a JSON export does."""
    with path.open(encoding="ascii", errors="replace") as file:
        try:
            _head(file.readline(), path)
        except ParameterError:
            return False
    return True


def _head(line: str, path: Path) -> dict[str, Any]:
    try:
        head: dict[str, Any] = json.loads(line)
        known = head["format"] == _FORMAT
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise ParameterError("path", str(path), reason="is not an export of a ledger", remedy="name a JSON export")
    try:
        sound = bytes.fromhex(head["head"]) and isinstance(head["last"], int) and isinstance(head["ledger"], str)
    except (ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise LedgerDamagedError("the first line of the export is not what was written")
    return head


def _entries(lines: Iterable[str]) -> Iterator[Entry]:
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            entry = Entry(record["seq"], canonical(record["entry"]), bytes.fromhex(record["hash"]))
        except (ValueError, KeyError, TypeError) as error:
            raise LedgerDamagedError("cannot be read in the export", seq=number) from error
        yield entry

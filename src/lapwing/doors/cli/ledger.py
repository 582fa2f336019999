"""`lapwing ledger`: show, verify, export; its history in sentences; and a further host that joins it."""

import re
from collections.abc import Collection
from pathlib import Path

import click

from lapwing.doors.cli.commands import facts, json_option, progress, table, tell
from lapwing.doors.cli.options import Door, for_the_custodian
from lapwing.ledger.entries import Receipt, Record
from lapwing.ledger.export import check_export, describe, export_json, export_parquet, without_states
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.moving import move_away, move_here
from lapwing.ledger.replay import Verification
from lapwing.ledger.replay import verify as verify_ledger
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.wording import several

_NAME = re.compile("[0-9a-f]{16}")
_FORMATS = {".json": export_json, ".jsonl": export_json, ".parquet": export_parquet}


@click.group(no_args_is_help=True)
def ledger() -> None:
    """Show, check or export everything that was ever released.

    The ledger is the memory of the promise. Every charge stands in it before data is read; nothing is ever deleted or
    changed, because each entry carries a hash of all before it. Every answer comes with a receipt: whoever keeps one
    can tell if the past was rewritten or an old copy was put in its place.

    \b
    lapwing ledger show
    lapwing ledger verify
    lapwing ledger export ledger.jsonl

    It costs nothing.
    """


@ledger.command("show")
@click.option("--last", metavar="N", type=click.IntRange(1), default=20, show_default=True, help="How many entries.")
@for_the_custodian
def show(door: Door, *, last: int) -> None:
    """Show the last entries.

    \b
    lapwing ledger show --last 5

    It costs nothing.
    """
    with door.workspace() as opened:
        names = opened.ledger.populations() if door.population is None else [door.population]
        entries = _in_time([_all_of(opened.ledger.of(name), name) for name in names])
    shown = entries[-last:]
    rows = [[str(one["seq"]), one.get("at", "")[:16].replace("T", " "), one["kind"], *describe(one)] for one in shown]
    door.tell(
        {"entries": [without_states(entry) for entry in shown], "shown": len(shown), "all": len(entries)},
        table(["entry", "at", "kind", "by", "what"], rows, left=5),
    )


def _all_of(ledger: Ledger, population: str) -> list[Record]:
    return sorted([*ledger.notes(), *ledger.history(population)], key=lambda entry: entry["seq"])


def _in_time(chains: list[list[Record]]) -> list[Record]:
    """Return the entries of all chains in time, those of each in their order; some have no time of their own."""
    timed: list[tuple[str, Record]] = []
    for entries in chains:
        at = ""
        for entry in entries:
            at = max(at, entry.get("at", at))
            timed.append((at, entry))
    return [entry for _, entry in sorted(timed, key=lambda one: one[0])]


@click.command()
@click.option("--analyst", help="What this analyst asked, and what was decided about them.  [default: everybody]")
@click.option("--last", metavar="N", type=click.IntRange(1), default=20, show_default=True, help="How many acts.")
@click.option("--all", "every", is_flag=True, help="All acts, from the first on.")
@for_the_custodian
def history(door: Door, *, analyst: str | None, last: int, every: bool) -> None:
    """Tell who asked what, when, and for how much.

    Questions, streams and the custodian's own decisions stand in the ledger with their prices; here they are in
    sentences, the newest last. Nothing is told about data beyond that something was answered.

    \b
    lapwing history
    lapwing history --analyst ana --all

    It costs nothing. lapwing ledger show has the entries themselves, and ledger export all of them.
    """
    from lapwing.answers.history import acts_of

    with door.workspace() as opened:
        names = list(opened.settings.populations) if door.population is None else [door.population]
        told = {name: opened.ledger.history(name) for name in names}
        notes = [note for name in names[:1] for note in opened.ledger.of(name).notes()] if analyst is None else []
        known = {one for name in names for one in opened.ledger.analysts(name)}
        if analyst is not None and analyst not in known:
            require_known_analyst(analyst, known)
    acts = {name: acts_of(entries, analyst=analyst) for name, entries in told.items()}
    named = [(act, name) for name, all_ in acts.items() for act in all_]
    shown = sorted([*named, *((act, None) for act in acts_of(notes))], key=lambda one: one[0].entry)
    kept = shown if every else shown[-last:]
    said = [
        (act.at[:16].replace("T", " "), f"{f'{name}: ' if name and len(names) > 1 else ''}{act}.") for act, name in kept
    ]
    more = len(shown) - len(kept)
    door.tell(
        {"acts": [{"population": name, **act.to_dict()} for act, name in kept], "shown": len(kept), "all": len(shown)},
        facts(*said) if said else "Nothing has happened yet.",
        f"{several(more, 'act')} before these: lapwing history --all" if more else "",
    )


def require_known_analyst(analyst: str, known: Collection[str]) -> None:
    """Refuse somebody who has never asked and whom no allowance names: mostly a slip of the keys."""
    if analyst not in known:
        names = ", ".join(sorted(known)) or "nobody yet"
        raise ParameterError("analyst", analyst, reason="is not known here", remedy=f"these are: {names}")


@ledger.command("verify")
@click.option(
    "--receipt", "receipts", multiple=True, metavar="RECEIPT", help="A receipt it must agree with. Repeatable."
)
@click.option(
    "--export", "exported", type=click.Path(path_type=Path), help="Check this JSON export, not the workspace."
)
@click.option(
    "--cores", type=click.IntRange(1, 256), default=1, show_default=True, help="Divide the populations among so many."
)
@for_the_custodian
def verify(door: Door, receipts: tuple[str, ...], exported: Path | None, cores: int) -> None:
    """Check every hash, every rule and every sum.

    The ledger's word is not taken for anything: what was charged is added up again, and must fit under the cap after
    every entry. With --receipt it must also contain what the receipt proves. An export can be checked by anyone, with
    no ledger, no key and no database. --cores makes it faster where there are several populations and many entries, and
    --population checks the chain of one. The receipt to keep covers all that was checked.

    \b
    lapwing ledger verify
    lapwing ledger verify --cores 4
    lapwing ledger verify --export ledger.jsonl

    It costs nothing, and ends with exit code 5 if anything is wrong.
    """
    shown = [Receipt.parse(text) for text in receipts]
    if exported is not None:
        if not exported.is_file():
            raise ParameterError("export", str(exported), reason="is not there", remedy="name a JSON export")
        head = check_export(exported, shown)
        found = Verification(entries=head.seq, head=head, receipts=len(shown))
    else:
        with door.workspace() as opened, progress("checking") as tick:
            found = verify_ledger(_chosen(opened.ledger, door), shown, tick, cores=cores)
    door.tell(found.to_dict(), f"Sound: {found}.", facts(("keep", found.head)))


@ledger.command("export")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--cores", type=click.IntRange(1, 256), default=1, show_default=True, help="Read the populations by so many."
)
@click.option("--to", metavar="RECEIPT", help="Move the population for good, to the ledger of this receipt or name.")
@for_the_custodian
def export(door: Door, path: Path, *, cores: int, to: str | None) -> None:
    """Write all entries to a new file: .jsonl, one on each line, or .parquet; with --population those of one.

    Nothing in it is secret: no data, no noise, no key. A JSON export can be checked by anyone, with `lapwing ledger
    verify --export` or with ten lines of any language (docs/ledger.md).

    \b
    lapwing ledger export ledger.jsonl
    lapwing ledger export ledger.parquet

    With --population and --to a population moves to another ledger, whose custodian gives a receipt of it (it is what
    `ledger verify` prints). Its spending must be suspended before, and its streams closed. It is closed here for good,
    and goes on there with `ledger import`.

    It costs nothing.
    """
    if to is not None and (door.population is None or path.suffix == ".parquet"):
        raise ParameterError("to", to, reason="moves one population, as JSON", remedy="add --population, and .jsonl")
    if path.suffix not in _FORMATS:
        raise ParameterError(
            "path", str(path), reason="is neither .jsonl nor .parquet", remedy="name it ledger.jsonl, say"
        )
    if path.exists() or not path.parent.is_dir():
        reason = (
            "is there already, and an export never overwrites" if path.exists() else "is in a folder that is not there"
        )
        raise ParameterError("path", str(path), reason=reason, remedy="choose another name")
    with door.workspace() as opened:
        chosen = _chosen(opened.ledger, door)
        if to is not None and door.population is not None:
            place = _place(to)
            head = move_away(opened.ledger, door.population, place, path)
        else:
            head = _FORMATS[path.suffix](chosen, path, cores=cores)
        entries = chosen.last_entry()
    next_ = None if to is None else f"lapwing ledger import {path} --receipt {head}, in the workspace of ledger {place}"
    door.tell(
        {"path": str(path), "entries": entries, "head": str(head)},
        facts(("wrote", f"{entries:,} entries to {path}"), ("keep", head), ("next", next_)),
    )


@ledger.command("import")
@click.argument("path", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--receipt", metavar="RECEIPT", required=True, help="What the export --to has printed under keep.")
@for_the_custodian
def import_(door: Door, path: Path, receipt: str) -> None:
    """Go on with a population that moved here: `lapwing ledger export --population P --to RECEIPT` wrote PATH.

    It printed a receipt, which shows that nothing was cut out of the file: get it by another way than the file itself.
    The chain and every charge in it are checked before anything is written; receipts stay valid. Its spending stays
    suspended: declare its tables in lapwing.toml as they were where it came from, and then end the suspension.

    \b
    lapwing ledger import north.jsonl --receipt RECEIPT
    lapwing suspend --population north --end

    It costs nothing, and can be done once, in the ledger that was named.
    """
    with door.workspace() as opened:
        population, head = move_here(opened.ledger, path, Receipt.parse(receipt))
        has_lost = bool(opened.ledger.of(population).notes())
    door.tell(
        {"population": population, "entries": head.seq, "head": str(head)},
        facts(
            ("goes on", f"population {population}, with {head.seq:,} entries"),
            ("lost", "entries of a ledger that it was in; first lapwing write-off --lost" if has_lost else None),
            ("keep", head),
        ),
    )


def _place(to: str) -> str:
    """Return the name of the ledger that a population moves to, given a receipt of it, or its name."""
    if _NAME.fullmatch(to):
        return to
    return Receipt.parse(to).ledger.partition("/")[0]


def _chosen(ledger: Ledger, door: Door) -> Ledger:
    """Return the ledger, open at the population that was named, if one was."""
    if door.population is None:
        return ledger
    chosen = ledger.of(door.population)
    chosen.population(door.population)
    return chosen


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--ledger", required=True, metavar="ADDRESS", help="Where the account is: postgresql://user@host/database"
)
@click.option(
    "--key", "key_file", required=True, type=click.Path(path_type=Path), help="A copy of the first host's stream.key."
)
@click.option(
    "--like", "settings", type=click.Path(path_type=Path, exists=True), help="A copy of the first host's lapwing.toml."
)
@json_option
def join(folder: Path, *, ledger: str, key_file: Path, settings: Path | None, as_json: bool) -> None:
    """Make a workspace on a second host, for a ledger in PostgreSQL.

    All hosts share one account, whatever each of them asks about. They must also share the key of streams: a host with
    another key would close the streams of the others at full price. Copy stream.key from the first host by a way that
    nobody else can read (scp, say), name the copy here, and delete the copy afterwards.

    With --like, the settings are those of the first host, which must find its tables here, too: in PostgreSQL, or in
    files at the same places. Without it they are written from the ledger, and you add this host's own tables.

    \b
    scp first:clinic/stream.key .
    lapwing join clinic --ledger postgresql://lapwing@db/ledger --key stream.key

    It costs nothing. Where it fails, it leaves nothing behind.
    """
    from lapwing.workspace.creating import join as join_ledger

    with join_ledger(folder, ledger, key_file=key_file, settings=settings) as workspace:
        names = list(workspace.settings.populations)
        tables = [table for one in workspace.settings.populations.values() for table in one.sources]
        ledger, entries = workspace.ledger.name, workspace.ledger.last_entry()
    after = "lapwing check" if tables else "lapwing add TABLE --source FILE"
    tell(
        {"workspace": str(folder), "populations": names, "tables": tables, "ledger": ledger, "entries": entries},
        facts(
            ("joined", f"ledger {ledger}, which has {entries:,} entries"),
            ("people", ", ".join(names)),
            ("made", f"{folder}, with its settings and a copy of the key: delete {key_file}"),
            ("next", f"{after} -w {folder}"),
        ),
        as_json=as_json,
    )

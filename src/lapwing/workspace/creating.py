"""How a folder becomes a workspace: with a ledger of its own, or on one in PostgreSQL that another host has made.

A further host has its own folder, the same account, and the same key of streams. Whatever is refused is refused before
an account is opened, and nothing is left behind: an account outlives a slip.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from lapwing.accounting.filters.account import EVERYONE, Budget
from lapwing.answers.budget import budget_record
from lapwing.answers.stream_terms import StreamTerms
from lapwing.fingerprints import Fingerprints
from lapwing.ledger.ledger import Ledger, create_ledger, open_ledger
from lapwing.ledger.reservation_states import ReservationRecord, ReservationStatus
from lapwing.ledger.states import Analyst
from lapwing.noise.randomness import SYSTEM
from lapwing.queries.catalogue.population import ELSEWHERE
from lapwing.sources import FileSource, require_no_password
from lapwing.vocabulary.errors import ParameterError, RegistrationError, SealBrokenError, SettingsError
from lapwing.workspace.agreement import Agreement, unreadable
from lapwing.workspace.settings import FILE, PopulationSettings, Settings, as_folder, read_settings
from lapwing.workspace.toml import key, value
from lapwing.workspace.workspace import (
    FINGERPRINTS,
    HEAD,
    KEY_FILE,
    Workspace,
    failure_log,
    open_workspace,
    read_key,
    renew_key,
)

_HEAD = """\
# lapwing.toml of a further host: the account is in PostgreSQL, and what stands here must agree with it.
# Tables are added with: lapwing add TABLE --source FILE --integer age=0..120 --category sex=F,M
"""


def create(folder: str | Path, settings: str | None = None, *, frames: Mapping[str, Any] | None = None) -> Workspace:
    r"""Make a workspace of a folder, which need not be there: its ledger and its key.

    They follow from its lapwing.toml or, if it has none yet, from `settings`, the text of one. `frames` are data frames
    of pandas, Polars or Arrow by the names of their tables. A frame has no file, so it is written once, to the Parquet
    file that is the `source` of its table, readable by its owner only; from then on it is this file that is asked. What
    speaks against a budget stands in `advice` of what is returned, and in its words.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "patients.csv").write_text("patient_id,age\n1,31\n2,64\n")
    >>> with create(folder, '''
    ... [populations.clinic]
    ... person_key = "patient_id"
    ... budget = { epsilon = "3" }
    ... [populations.clinic.tables.patients]
    ... source = "patients.csv"
    ... columns.age = { type = "integer", low = 0, high = 120 }
    ... ''') as workspace:
    ...     str(workspace.session().budget())
    'epsilon 3'
    """
    place, written, files = as_folder(folder), False, list[Path]()
    is_new = not place.exists()
    place.mkdir(parents=True, exist_ok=True)
    try:
        if settings is not None:
            written = _write_settings(place / FILE, settings)
        declared = read_settings(place)
        _require_no_lost_ledger(place, declared)
        _write_frames(declared, frames or {}, files)
        for population in declared.populations.values():  # before anything is written: an account outlives a slip
            _require_readable(population, place)
        ledger = _new_ledger(place, declared)
    except BaseException:
        for file in [*files, *([place / FILE] if written else [])]:
            file.unlink()
        if is_new and not any(place.iterdir()):
            place.rmdir()
        raise
    agreement = Agreement(ledger, Fingerprints(place / FINGERPRINTS))
    agreement.require_vocabularies(declared)
    for population in declared.populations.values():
        agreement.require_possible(population)
        agreement.update(population)
    return Workspace(place, declared, ledger)


def _write_frames(declared: Settings, frames: Mapping[str, Any], written: list[Path]) -> None:
    """Write each data frame to the file of its table, and remember which files there are now."""
    if not frames:
        return
    from lapwing.engines.files import write_frame  # noqa: PLC0415 - most workspaces have none

    sources = {name: one for population in declared.populations.values() for name, one in population.sources.items()}
    keys = {
        table.name: population.population.person_key(table)
        for population in declared.populations.values()
        for table in population.population.tables
    }
    for name in frames:
        source = sources.get(name)
        if not isinstance(source, FileSource) or source.path.suffix != ".parquet":
            reason = "has a data frame, and its source is no .parquet file" if name in sources else "is not declared"
            remedy = f'write [populations.NAME.tables.{name}] with source = "{name}.parquet"'
            raise RegistrationError(name, reason=reason, remedy=remedy)
        if source.path.exists():
            remedy = "leave the frame out, or name another file"
            raise RegistrationError(name, reason=f"has its file {source.path.name} already", remedy=remedy)
    for name, frame in frames.items():
        path = cast("FileSource", sources[name]).path
        write_frame(name, frame, path, keys[name])
        written.append(path)


def _write_settings(file: Path, text: str) -> bool:
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        remedy = "edit it, and leave the text out"
        raise SettingsError(str(file), 0, reason="is there already", remedy=remedy) from None
    return True


def _require_no_lost_ledger(place: Path, declared: Settings) -> None:
    """Refuse to begin a new ledger where there was one."""
    in_a_file = "://" not in declared.ledger
    if in_a_file and (place / FINGERPRINTS).exists() and not Path(declared.ledger).exists():
        remedy = (
            "bring the ledger back (restore the newest backup, and check it with lapwing ledger verify --receipt "
            "RECEIPT): a new one would spend the same budget again. If nothing was ever released, delete this file"
        )
        raise SettingsError(str(place / FINGERPRINTS), 0, reason="names a ledger that is gone", remedy=remedy)
    if not in_a_file and Fingerprints(place / FINGERPRINTS).ledger is not None:
        open_ledger(declared.ledger, head=place / HEAD).close()  # refuses a database from which it is gone


def _require_readable(declared: PopulationSettings, place: Path) -> None:
    for failure in unreadable(declared, failure_log(place)).values():
        raise failure


def _new_ledger(place: Path, declared: Settings) -> Ledger:
    name = SYSTEM.take(8).hex()
    ledger = create_ledger(declared.ledger, name=name, head=place / HEAD)
    Fingerprints(place / FINGERPRINTS).belong(name)
    if not (place / KEY_FILE).exists():
        renew_key(place)
    return ledger


def join(folder: str | Path, ledger: str, *, key_file: Path, settings: Path | None = None) -> Workspace:
    """Make the workspace of a further host, on a ledger in PostgreSQL that another one has made.

    Parameters
    ----------
    folder : a new folder
    ledger : the address of the ledger, without a password
    key_file : a copy of the stream.key of the first host: all hosts must have the same, or they close each other's
        streams at full price
    settings : a copy of the lapwing.toml of the first host, where its tables can be read here, too; without it, one is
        written from what the ledger knows, and tables are added to it
    """
    require_no_password("ledger", ledger)
    place = as_folder(folder)
    for name in (FILE, KEY_FILE, FINGERPRINTS, HEAD):
        if (place / name).exists():
            reason, remedy = f"has {name} already: it is a workspace", "name a new folder, or one with data alone"
            raise ParameterError("folder", str(place), reason=reason, remedy=remedy)
    place.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        _fill(making, ledger, key_file, settings, sources_from=place)
        _move(making, place)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return open_workspace(place)


def _move(making: Path, place: Path) -> None:
    """Give a folder that is whole its name; where that holds data, move the files into it, the settings last."""
    if not place.exists():
        making.rename(place)
        return
    for file in sorted(making.iterdir(), key=lambda one: one.name == FILE):
        file.replace(place / file.name)
    making.rmdir()


def _fill(making: Path, address: str, key_file: Path, settings: Path | None, *, sources_from: Path) -> None:
    _copy_key(key_file, making / KEY_FILE)
    with open_ledger(address, head=making / HEAD) as ledger:
        text = _settings_of(ledger, address) if settings is None else _with_ledger(settings, address)
        declared = read_settings(sources_from, text)
        fingerprints = Fingerprints(making / FINGERPRINTS)
        fingerprints.belong(ledger.name)
        agreement = Agreement(ledger, fingerprints)
        for one in declared.populations.values():
            agreement.require(one)
        _require_key_of_streams(ledger, making, declared.populations, key_file)
    (making / FILE).write_text(text, encoding="utf-8")


def _copy_key(given: Path, place: Path) -> None:
    """Copy a key into a file that only its owner may read, from the start; refuse a file that holds no key."""
    try:
        content = given.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        reason = "cannot be read"
        remedy = f"copy it from the first host by a way that nobody else can read: scp HOST:FOLDER/{KEY_FILE} ."
        raise ParameterError("key", str(given), reason=reason, remedy=remedy) from None
    opened = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "w", encoding="ascii") as file:
        file.write(content)
    try:
        read_key(place.parent)
    except SettingsError as refused:
        raise ParameterError("key", str(given), reason=refused.reason, remedy=f"copy {KEY_FILE} again") from None


def _require_key_of_streams(ledger: Ledger, making: Path, populations: Iterable[str], given: Path) -> None:
    """Refuse a key that opens none of the open streams: with it this host would close them all at their full price."""
    every = [
        (kept, one.name)
        for name in populations
        for kept in [ledger.of(name).reservations]
        for one in kept.all(name, status=ReservationStatus.OPEN)
    ]
    if not every or any(_opens(kept.find(name), read_key(making)) for kept, name in every):
        return
    streams = "the open stream" if len(every) == 1 else f"any of the {len(every)} open streams"
    reason = f"does not open {streams} of this ledger: it is the key of another workspace"
    raise ParameterError("key", str(given), reason=reason, remedy=f"copy the {KEY_FILE} of a host of this ledger")


def _opens(stream: ReservationRecord, key: bytes) -> bool:
    if stream.sealed is None:  # closed by now
        return False
    try:
        mechanism = StreamTerms.read(stream.terms).mechanism
        mechanism.resume(stream.sealed, key=key, sequence=stream.seals, name=stream.full_name)
    except SealBrokenError:
        return False
    return True


def _with_ledger(settings: Path, address: str) -> str:
    """Return the text of a lapwing.toml that names the ledger; one that names another is refused."""
    text = settings.read_text(encoding="utf-8")
    named = read_settings(settings.parent, text).ledger
    if "://" not in named:
        return f"ledger = {value(address)}\n{text}"
    if named != address:
        reason = "names another ledger than --ledger does"
        raise SettingsError(str(settings), 0, reason=reason, remedy="give the address that it names")
    return text


def _settings_of(ledger: Ledger, address: str) -> str:
    """Return a lapwing.toml of all that the ledger knows: populations, budgets and allowances, but no tables."""
    blocks = [f"{_HEAD}\nledger = {value(address)}\n"]
    for name in ledger.populations():
        decided, account = ledger.population(name), ledger.account(name)
        entries: dict[str, Any] = {
            "person_key": decided.unit.person_key,
            "budget": budget_record(account.budget),
            "adjacency": decided.unit.adjacency.value,
            "protects_groups_of": decided.unit.protects_groups_of,
            "unnamed_analysts": "refused" if decided.only_named else "allowed",
        }
        blocks.append(_section(f"populations.{key(name)}", entries))
        policy: dict[str, Any] = {} if decided.most is None else {"most": budget_record(decided.most)}
        policy |= {} if decided.noes_a_day is None else {"noes_a_day": decided.noes_a_day}
        if policy:
            blocks.append(_section(f"populations.{key(name)}.policy", policy))
        allowed = {who: _analyst(one, one.allowance) for who, one in decided.analysts.items() if one.allowance}
        if allowed:
            blocks.append(_section(f"populations.{key(name)}.analysts", allowed))
        segments = [_segment(title) for title in account.filters if title not in {EVERYONE, ELSEWHERE}]
        if segments:
            blocks.append(_section(f"populations.{key(name)}.segments", dict(segments)))
    return "\n".join(blocks)


def _analyst(one: Analyst, allowance: Budget) -> dict[str, Any]:
    """Return the ledger's record of an analyst as an entry of lapwing.toml."""
    said = budget_record(allowance) | ({} if one.tables is None else {"tables": list(one.tables)})
    return said | ({} if one.most is None else {"most": budget_record(one.most)})


def _segment(title: str) -> tuple[str, dict[str, int]]:
    """Return the entry of a segment in lapwing.toml, from its name in the ledger."""
    name, _, bounds = title.rpartition(": ")
    first, _, last = bounds.partition(" to ")
    return name, {"first": int(first), "last": int(last)}


def _section(title: str, entries: Mapping[str, Any]) -> str:
    return "\n".join([f"[{title}]", *(f"{key(name)} = {value(entry)}" for name, entry in entries.items()), ""])

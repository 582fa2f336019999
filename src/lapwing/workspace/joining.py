"""A second host on a ledger that is in PostgreSQL: its own folder, the same account, and the same key of streams.

Nothing is left behind where it fails: the folder is made beside its place, and gets its name when it is whole.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lapwing.accounting.filters.account import EVERYONE, Budget
from lapwing.answers.preview import budget_record
from lapwing.ledger.ledger import Ledger, open_ledger
from lapwing.ledger.states import Analyst
from lapwing.queries.catalogue import ELSEWHERE
from lapwing.tables import Fingerprints
from lapwing.vocabulary.errors import ParameterError, SettingsError
from lapwing.workspace.agreement import Agreement
from lapwing.workspace.settings import FILE, read_settings, require_no_password
from lapwing.workspace.toml import key, value
from lapwing.workspace.workspace import FINGERPRINTS, HEAD, KEY_FILE, Workspace, open_workspace, read_key

_HEAD = """\
# lapwing.toml of a further host: the account is in PostgreSQL, and what stands here must agree with it.
# Tables are added with: lapwing add TABLE --source FILE --integer age=0..120 --category sex=F,M
"""


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
    place = Path(folder)
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
        fingerprints.belong(ledger.head().ledger)
        agreement = Agreement(ledger, fingerprints)
        for one in declared.populations.values():
            agreement.require(one)
    (making / FILE).write_text(text, encoding="utf-8")


def _copy_key(given: Path, place: Path) -> None:
    """Copy a key, readable by nobody else from the start, and refuse what is none."""
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
    """Return what the ledger keeps about an analyst, as lapwing.toml says it."""
    said = budget_record(allowance) | ({} if one.tables is None else {"tables": list(one.tables)})
    return said | ({} if one.most is None else {"most": budget_record(one.most)})


def _segment(title: str) -> tuple[str, dict[str, int]]:
    """Return a segment as lapwing.toml says it, from what the ledger calls it."""
    name, _, bounds = title.rpartition(": ")
    first, _, last = bounds.partition(" to ")
    return name, {"first": int(first), "last": int(last)}


def _section(title: str, entries: Mapping[str, Any]) -> str:
    return "\n".join([f"[{title}]", *(f"{key(name)} = {value(entry)}" for name, entry in entries.items()), ""])

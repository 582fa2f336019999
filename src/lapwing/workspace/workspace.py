"""A workspace: a folder with lapwing.toml, the ledger, the key of its streams, and the custodian's log.

clinic/
lapwing.toml         what is declared; edited by the custodian
ledger.db            the account (or a PostgreSQL address in lapwing.toml)
ledger.head          the newest entry that was acknowledged: a ledger without it was rolled back, and is refused
ledger.checked       how far the ledger was checked, so that it opens quickly; it may be deleted
stream.key           seals the secrets of streams; readable by its owner only, and never in a backup of the ledger
fingerprints.json    what the data was at each version, whose, and which ledger is ours; for the custodian
settings.undone      what lapwing.toml was, while a program's change of it is not in the ledger yet; else it is empty
failures.log         why a question could not be answered; for the custodian
"""

import getpass
import json
import os
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, Self

from lapwing.accounting.interpretation import budget_concerns
from lapwing.engines.reading import hide_failures
from lapwing.fingerprints import Fingerprints
from lapwing.ledger.checkpoint import CheckpointFile
from lapwing.ledger.ledger import Ledger, open_ledger
from lapwing.ledger.reservation_states import Intent
from lapwing.noise.randomness import SYSTEM
from lapwing.session import Session
from lapwing.tables import Tables
from lapwing.vocabulary import errors
from lapwing.vocabulary.errors import (
    LapwingError,
    LedgerDamagedError,
    LedgerError,
    LedgerRolledBackError,
    SettingsError,
)
from lapwing.vocabulary.lifetime import Lifetime, LockedFile, closing_on_failure, replace_text
from lapwing.vocabulary.wording import escaped
from lapwing.workspace.agreement import LOG, Agreement, unreadable
from lapwing.workspace.recovering import Recovering, Recovery
from lapwing.workspace.settings import FILE, PopulationSettings, Settings, as_folder, read_settings

if TYPE_CHECKING:
    from lapwing.workspace.misfits import Misfit

KEY_FILE: Final = "stream.key"
FINGERPRINTS: Final = "fingerprints.json"
HEAD: Final = "ledger.head"
CHECKED: Final = "ledger.checked"
UNDONE: Final = "settings.undone"
_KEY_BYTES: Final = 32
_MOST_LOGGED: Final = 16 * 1024 * 1024
Act = Callable[[], object]


class Workspace:
    """An open workspace: where sessions come from, and what the custodian does besides editing lapwing.toml."""

    def __init__(self, folder: Path, settings: Settings, ledger: Ledger) -> None:
        self.folder, self.settings, self.ledger = folder, settings, ledger
        self._fingerprints = Fingerprints(folder / FINGERPRINTS)
        self._agreement = Agreement(ledger, self._fingerprints)
        self._recovering = Recovering(ledger, self._resume)
        self._log = failure_log(folder)
        self._tables: dict[str, Tables] = {}
        self.resources = ExitStack()  # the ledger, and the databases above it
        self.resources.callback(ledger.close)
        self._lock, self._deciding = Lock(), Lock()
        self._lifetime = Lifetime("this workspace", remedy="open it again")

    def session(
        self,
        population: str | None = None,
        *,
        analyst: str | None = None,
        segment: str | None = None,
        on_close: Callable[[], None] = lambda: None,
    ) -> Session:
        """Open a session; by default for the user who is logged in, and about the only population.

        All sessions of a workspace, in all threads, share its ledger and its databases, and one may be closed while
        others go on. With a `segment`, questions are about the people of that segment, and its budget pays for them.
        `on_close` is called when the session is closed.
        """
        declared = self.settings.declared(population)
        self._agreement.require(declared)
        self._agreement.require_vocabularies(self.settings)
        tables = self._open_tables(declared)
        return Session(
            declared.population if segment is None else declared.population.within(segment),
            self.ledger,
            tables,
            analyst=getpass.getuser() if analyst is None else analyst,
            key=read_key(self.folder),
            on_failure=self._log,
            on_close=on_close,
            within=self._lifetime,
        )

    @property
    def advice(self) -> dict[str, tuple[str, ...]]:
        """Concerns about the budgets that lapwing.toml declares, by population; they are advice only."""
        found = {name: budget_concerns(one.budget) for name, one in self.settings.populations.items()}
        return {name: concerns for name, concerns in found.items() if concerns}

    def update(self) -> dict[str, LapwingError]:
        """Bring the ledger to what lapwing.toml declares: new populations and tables, higher budgets, allowances.

        Budgets can only rise, and who is protected never changes: what was released was released under those terms. As
        long as nothing was released both can be corrected. A new table that cannot be read is refused before anything
        is written; why others cannot be read is returned. What speaks against a budget stands in `advice`.
        """
        found = self.try_update()
        self.update_as_tried()
        return found

    def try_update(self) -> dict[str, LapwingError]:
        """Refuse what `update` would refuse, and return what it would, with nothing written."""
        found: dict[str, LapwingError] = {}
        self._agreement.require_vocabularies(self.settings)
        for declared in self.settings.populations.values():
            self._agreement.require_possible(declared)
            for name, failure in unreadable(declared, self._log).items():
                if name not in declared.sources or self._agreement.is_new(declared, name):
                    raise failure
                found[name] = failure
        return found

    def update_as_tried(self) -> None:
        """Bring the ledger to what lapwing.toml declares, after `try_update`."""
        for declared in self.settings.populations.values():
            self._agreement.update(declared)

    def reload(self) -> None:
        """Go on with lapwing.toml as it is now, if it agrees with the ledger; sessions that are open keep the old one.

        Databases are opened anew; the old ones are closed when the questions that run on them have ended.
        """
        settings = read_settings(self.folder)
        self._require_agreed(settings)
        with self._lock:
            before, self._tables = self._tables, {}
            self.settings = settings
        for tables in before.values():
            tables.close()

    def _require_agreed(self, settings: Settings, *, but: str | None = None) -> None:
        """Refuse settings that do not agree with the ledger, or name another one; one population may be left out.

        One whose chain is damaged is left out as well: nothing is asked about it, and its sessions look again.
        """
        if settings.ledger != self.settings.ledger:
            reason, remedy = "names another ledger", "open the workspace anew"
            raise SettingsError(str(self.folder / FILE), 0, reason=reason, remedy=remedy)
        for name, declared in settings.populations.items():
            if name != but:
                with suppress(LedgerDamagedError, LedgerRolledBackError):
                    self._agreement.require(declared)
        self._agreement.require_vocabularies(settings)

    def rewrite(self, population: str, change: Callable[[str], str], *, by: str, act: Act | None = None) -> None:
        """Change what lapwing.toml says about a population, and update the ledger by `act`: both or neither.

        `change` makes the new text of the old one. What `update` would refuse is refused, and so are a new table that
        cannot be read, and an edit that waits for an update, of any population: a custodian who decides one thing must
        not decide another that they do not see. `by` says in the ledger who decided.
        """
        with self._changing() as undone:
            path = self.folder / FILE
            before = path.read_text(encoding="utf-8")
            self._require_agreed(read_settings(self.folder, before))
            settings = read_settings(self.folder, after := change(before))
            declared = settings.declared(population)
            self._agreement.require_possible(declared)
            self._require_agreed(settings, but=population)
            new = [name for name in declared.sources if self._agreement.is_new(declared, name)]
            for name, failure in (unreadable(declared, self._log) if new else {}).items():
                if name in new or name not in declared.sources:
                    raise failure
            _write(undone, json.dumps({"before": before, "after": after}))
            replace_text(path, after)
            try:
                act() if act else self._agreement.update(declared, by=by)
            except BaseException:
                replace_text(path, before)
                _write(undone, "")
                raise
            _write(undone, "")
            self.reload()  # still under the lock: the next change must start from these settings

    def finish_change(self) -> None:
        """Take back what a process wrote into lapwing.toml that died before it was in the ledger, if that is so.

        Nothing is taken back that somebody else has written since, nor where the ledger has part of it already.
        """
        if _is_undone(self.folder):
            with suppress(OSError), self._changing():  # with read access only, it stays as it is
                pass

    @contextmanager
    def _changing(self) -> Iterator[LockedFile]:
        """Hold the lock on the settings against all threads and processes; first undo what a dead process left."""
        path = self.folder / UNDONE
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        with self._deciding, LockedFile(path) as undone:
            left = undone.readall()
            with suppress(ValueError, LookupError, TypeError):  # a crash while this was written had changed nothing yet
                before, after = (str(json.loads(left)[name]) for name in ("before", "after"))
                file = self.folder / FILE
                is_theirs = file.read_text(encoding="utf-8") == after
                if is_theirs and not self._agrees(after) and self._agrees(before):
                    replace_text(file, before)
            if left:
                _write(undone, "")
            yield undone

    def _agrees(self, text: str) -> bool:
        """Return whether settings agree with the ledger."""
        try:
            for declared in read_settings(self.folder, text).populations.values():
                with suppress(LedgerDamagedError, LedgerRolledBackError):
                    self._agreement.require(declared)
        except LapwingError:
            return False
        return True

    def advance(self, table: str, population: str | None = None) -> int:
        """Advance the public version of a table or vocabulary that changed, and return it. The account is unchanged."""
        if table in self.settings.vocabularies:
            return self._fingerprints.accept(table, self.settings.vocabularies[table])
        people = self.settings.declared(population).population
        return self.ledger.administration.advance_version(people.name, people.table(table).name)

    def changed(self, population: str | None = None) -> list[str]:
        """Return the tables and vocabularies that changed while their version did not: questions wait for the next."""
        tables = self._open_tables(self.settings.declared(population)).changed()
        public = [name for name, file in self.settings.vocabularies.items() if self._fingerprints.has_new(name, file)]
        return tables + public

    def unreadable(self, population: str | None = None) -> dict[str, LapwingError]:
        """Return why tables cannot be read, by their names, after all were tried. It is for the custodian."""
        return unreadable(self.settings.declared(population), self._log)

    def misfits(self, population: str | None = None, *, table: str | None = None) -> "list[Misfit]":
        """Return misfits of the tables (or of this one), in exact numbers.

        It is for the custodian: nothing of it is private, so no analyst may see it.
        """
        from lapwing.workspace.misfits import misfits_of  # noqa: PLC0415 - no question needs it

        self._lifetime.require()
        declared = self.settings.declared(population)
        # Not the tables that sessions share: a check of one table must not leave the sessions with that table alone.
        surveys = hide_failures(self._tables_of(declared).survey, self._log)
        wanted = None if table is None else declared.population.table(table).name
        return misfits_of([one for one in surveys if wanted in {None, one.table.name}])

    def check(self, population: str | None = None) -> None:
        """Open the tables of a population as a question would; fail, with the reason in the log, if they do not fit."""
        declared = self.settings.declared(population)
        with self._open_tables(declared).hold(self.ledger.population(declared.population.name).tables):
            pass

    def recover(self, also: Collection[str] = ()) -> Recovery:
        """Settle what dead processes left in flight; the work of live processes, on any host, is left alone.

        A question without an answer is lost, and stays charged, and so is a round of a reservation. A question of a
        stream is decided with its own noise; where that cannot be, the others are settled all the same. A population
        that cannot be read keeps nobody from the others. In those in which nothing was in flight, and nothing was
        written since, nothing is looked for, but in those that are `also` named.
        """
        found = self._recovering.recover(also)
        for reason in found.unsettled.values():
            self._log(reason)
        return found

    def _resume(self, one: Ledger, intent: Intent) -> None:
        stream = one.reservations.find(intent.reservation)
        self.session(stream.population, analyst=stream.analyst).resume(stream.name)

    def maybe_in_flight(self) -> list[str]:
        """Return the populations in which something may be in flight; the others have not been written to since."""
        return list(self._recovering.candidates())

    def close(self) -> None:
        """Let go of the ledger and the databases; all sessions end."""
        if not self._lifetime.is_here:  # what was open when the process forked belongs to the other one
            return
        self._lifetime.end()
        self.resources.close()

    def __repr__(self) -> str:
        people = self.settings.populations.values()
        tables = (f"{one.population.name} ({', '.join(one.sources) or 'no tables'})" for one in people)
        advice = "".join(f"; advice on {name}: {'; '.join(said)}" for name, said in self.advice.items())
        return f"<workspace {self.folder.name}: {', '.join(tables)}{advice}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open_tables(self, declared: PopulationSettings) -> Tables:
        """Return the tables of a population, the same for everybody who asks."""
        self._lifetime.require()
        with self._lock:
            name = declared.population.name
            if name not in self._tables:
                self._tables[name] = self._tables_of(declared)
                self.resources.callback(self._tables[name].close)
            return self._tables[name]

    def _tables_of(self, declared: PopulationSettings) -> Tables:
        return Tables(
            declared.population,
            declared.sources,
            ledger=self.ledger,
            fingerprints=self._fingerprints,
            time_limit=declared.time_limit,
            on_failure=self._log,
        )


def open(  # noqa: A001 - it is written lapwing.open
    folder: str | Path, population: str | None = None, *, analyst: str | None = None, segment: str | None = None
) -> Session:
    """Open the door of a population of the workspace, for an analyst.

    Defaults: the only population, the user who is logged in, and all people rather than one segment.
    """
    workspace = open_workspace(folder)
    with closing_on_failure(workspace):
        return workspace.session(population, analyst=analyst, segment=segment, on_close=workspace.resources.close)


def open_workspace(folder: str | Path, settings: str | None = None) -> Workspace:
    """Open a workspace; with `settings`, as it would be if they were the text of its lapwing.toml."""
    place = as_folder(folder)
    declared = read_settings(place, settings)
    signs = (place / FINGERPRINTS, place / KEY_FILE, Path(declared.ledger))
    if "://" not in declared.ledger and not any(sign.exists() for sign in signs):
        raise SettingsError(str(place / FILE), 0, reason="has no account yet", remedy="make it with lapwing update")
    ledger = open_ledger(declared.ledger, head=place / HEAD, checkpoints=_checkpoints(place))
    try:
        _require_own(ledger, Fingerprints(place / FINGERPRINTS))
    except LedgerError:
        ledger.close()
        raise
    workspace = Workspace(place, declared, ledger)
    if settings is None and _is_undone(place):
        workspace.finish_change()
        workspace.settings = read_settings(place)
    return workspace


def _is_undone(folder: Path) -> bool:
    """Return whether a change of the settings is under way, or its process died."""
    try:
        return (folder / UNDONE).stat().st_size > 0
    except OSError:
        return False


def _write(file: LockedFile, text: str) -> None:
    """Replace the content of a locked file durably: write it, then fsync."""
    file.seek(0)
    file.truncate()
    file.write(text.encode())
    os.fsync(file.fileno())


def _checkpoints(folder: Path) -> CheckpointFile | None:
    """Return where is kept how far the ledger was checked; without the key of the workspace nothing can be believed."""
    with suppress(SettingsError):
        return CheckpointFile(folder / CHECKED, read_key(folder))
    return None


def _require_own(ledger: Ledger, fingerprints: Fingerprints) -> None:
    """Refuse the ledger of another workspace, which knows nothing of what was spent here."""
    name, ours = ledger.name, fingerprints.ledger
    if ours is None:
        with suppress(OSError):  # with read access only, nothing can be remembered in it
            fingerprints.belong(name)
    elif ours != name:
        reason = f"this is ledger {name}, and the workspace belongs to ledger {ours}"
        raise errors.LedgerRolledBackError(reason, seq=0, last=0)


def failure_log(folder: Path) -> Callable[[Exception], None]:
    """Return a function that writes the reasons of failures into the custodian's log: they may hold data.

    A reason is one line, with control characters escaped. A log of `_MOST_LOGGED` bytes replaces the one before it.
    """

    def write(reason: Exception) -> None:
        said = escaped(f"{type(reason).__name__}: {reason}")
        line = f"{datetime.now(UTC).isoformat(timespec='seconds')} {said}\n"
        with suppress(FileNotFoundError):  # or another process has moved it just now
            if (folder / LOG).stat().st_size > _MOST_LOGGED:
                (folder / LOG).replace(folder / f"{LOG}.1")
        opened = os.open(folder / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(opened, "a", encoding="utf-8") as log:
            log.write(line)

    return write


def read_key(folder: Path) -> bytes:
    """Return the key of a workspace, unless it is missing, damaged, or readable by others."""
    path = folder / KEY_FILE
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        after = "open streams are then closed at their full price when they are next asked"
        reason, remedy = "is not there, and open streams cannot go on without it", "bring it back, or lapwing recover"
        raise SettingsError(str(path), 0, reason=reason, remedy=f"{remedy} --new-key: {after}") from None
    if stat.S_IMODE(mode) & 0o077:
        raise SettingsError(str(path), 0, reason="can be read by others", remedy=f"chmod 600 {path}")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise SettingsError(str(path), 0, reason="holds no key", remedy="bring the right file back")
    return key


def renew_key(folder: str | Path) -> None:
    """Make a new key. Streams that were sealed under the old one are closed, at full price, when next asked."""
    path = Path(folder) / KEY_FILE
    path.unlink(missing_ok=True)
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "w", encoding="ascii") as file:
        file.write(SYSTEM.take(_KEY_BYTES).hex() + "\n")

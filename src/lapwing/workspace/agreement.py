"""Checks that lapwing.toml agrees with the ledger, and that its tables can be read as declared.

Where they differ, settings are refused, or the ledger is updated on purpose. Who is protected, and by which budget, was
promised to people about whom something was released. So it never changes, except that a budget may rise. As
long as nothing was released, nothing was promised, and a slip can be corrected. Tables are tried before anything is
written about them.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeAlias

from lapwing.accounting.filters.account import EVERYONE, Account, Budget, is_raise, require_raise
from lapwing.accounting.filters.charge import DeltaShares
from lapwing.engines.reading import hide_failures
from lapwing.fingerprints import Fingerprints
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.states import PopulationRecord
from lapwing.sources import open_engine
from lapwing.tables import whose_row
from lapwing.vocabulary.errors import EngineError, LapwingError, RegistrationError
from lapwing.workspace.settings import PopulationSettings, Settings

SHARES: Final = DeltaShares(failures=Fraction(1, 10))
"""A tenth of a delta pays for groups whose keys only the data knows."""

LOG: Final = "failures.log"
Log: TypeAlias = Callable[[Exception], None]

_UPDATE: Final = "bring the ledger up to date on purpose, with lapwing update, or take the change back"
_TAKE_BACK: Final = "take the change back: once something was asked, "


class _Difference(NamedTuple):
    """A difference of settings and ledger about who is protected, and what never changes then.

    With a `table` it is a difference of that table alone.
    """

    place: tuple[str, ...]
    reason: str
    never: str
    table: str | None = None


class Agreement:
    """Checks the settings of a workspace against a ledger."""

    def __init__(self, ledger: Ledger, fingerprints: Fingerprints) -> None:
        self._ledger, self._fingerprints = ledger, fingerprints

    def require(self, declared: PopulationSettings) -> None:
        """Refuse settings that the ledger does not know of: only an update, on purpose, changes the account."""
        name, section = declared.population.name, declared.section
        if not self._ledger.has(name):
            raise section.error((), f"population {name!r} is not in the ledger", _UPDATE)
        kept, account = self._ledger.population(name), self._ledger.account(name)
        for one in _differences(declared, kept, account):
            remedy = _UPDATE if self._is_correctable(name, one.table) else f"{_TAKE_BACK}{one.never}"
            raise section.error(one.place, one.reason, remedy)
        if account.budget != declared.budget:
            raise section.error(("budget",), "this is not the budget that the ledger keeps", _UPDATE)
        for table in declared.population.tables:
            if table.name not in kept.tables:
                raise section.error(("tables", table.name), f"table {table.name!r} is not in the ledger", _UPDATE)
        self._require_policy(declared, kept)

    @staticmethod
    def _require_policy(declared: PopulationSettings, kept: PopulationRecord) -> None:
        """Refuse other allowances and limits than those of the ledger."""
        section = declared.section
        analysts = {*declared.analysts, *(name for name, one in kept.analysts.items() if one.allowance)}
        for analyst in sorted(analysts):
            if kept.analyst(analyst).allowance != declared.analysts.get(analyst):
                reason = f"the ledger keeps another allowance of {analyst!r}"
                raise section.error(("analysts", analyst), reason, _UPDATE)
        for analyst in sorted({*kept.analysts, *declared.limits}):
            if _limits_of(kept, analyst) != _declared_limits(declared, analyst):
                reason = f"the ledger keeps other limits of {analyst!r}: which tables, and the most of one question"
                raise section.error(("analysts", analyst), reason, _UPDATE)
        if (kept.most, kept.noes_a_day) != (declared.most, declared.noes_a_day):
            reason = "this is not what the ledger keeps: the most that one question may cost, and noes a day"
            raise section.error(("policy",), reason, _UPDATE)
        if kept.only_named != declared.only_named:
            reason = f"the ledger has them {'refused' if kept.only_named else 'allowed'}"
            raise section.error(("unnamed_analysts",), f"analysts without an allowance: {reason}", _UPDATE)

    def require_vocabularies(self, settings: Settings) -> None:
        """Refuse a vocabulary that changed: conditions and categories would mean something else without a word."""
        for name, file in settings.vocabularies.items():
            self._fingerprints.agree(name, file)

    def require_possible(self, declared: PopulationSettings) -> None:
        """Refuse settings to which no update leads; nothing is written."""
        self._require_own_people(declared)
        name, section = declared.population.name, declared.section
        if not self._ledger.has(name):
            return
        kept, account = self._ledger.population(name), self._ledger.account(name)
        for one in _differences(declared, kept, account):
            if not self._is_correctable(name, one.table):
                raise section.error(one.place, one.reason, f"{_TAKE_BACK}{one.never}")
        if not is_raise(account.budget, declared.budget) and not self._is_correctable(name, None):
            with section.blamed("budget"):
                require_raise(account.budget, declared.budget)

    def is_new(self, declared: PopulationSettings, table: str) -> bool:
        """Say whether nothing was ever asked about a table as it is declared: it is not in the ledger, or corrected."""
        people = declared.population
        if not self._ledger.has(people.name):
            return True
        kept, key = self._ledger.population(people.name), whose_row(people, people.table(table))
        return table not in kept.tables or kept.keys.get(table, key) != key

    def update(self, declared: PopulationSettings, *, by: str = "custodian") -> None:
        """Bring the ledger to what is declared about a population, after `require_possible`; `by` is who decided it."""
        people, administration = declared.population, self._ledger.administration
        if not self._ledger.has(people.name):
            administration.create_population(people.name, **_terms(declared), by=by)
        elif self._has_other_terms(declared):
            kept = self._ledger.population(people.name)
            keys = {**kept.keys, **{table.name: whose_row(people, table) for table in people.tables}}
            own = {table: keys.get(table, (people.unit.person_key, "integer")) for table in kept.tables}
            administration.correct(people.name, **_terms(declared), keys=own, by=by)
        kept = self._ledger.population(people.name)
        for table in people.tables:
            key = whose_row(people, table)
            if table.name not in kept.tables:
                administration.add_table(people.name, table.name, key=key, by=by)
            elif kept.keys.get(table.name, key) != key:
                administration.correct_key(people.name, table.name, key, by=by)
        if self._ledger.account(people.name).budget != declared.budget:
            with declared.section.blamed("budget"):
                administration.set_budget(people.name, declared.budget, by=by)
        self._allow(declared, by)

    def _allow(self, declared: PopulationSettings, by: str) -> None:
        """Say who may spend how much."""
        name, administration = declared.population.name, self._ledger.administration
        kept = self._ledger.population(name)
        for analyst in {**kept.analysts, **declared.analysts}:
            allowance: Budget | None = declared.analysts.get(analyst)
            if kept.analyst(analyst).allowance != allowance:
                with declared.section.blamed("analysts", analyst):
                    administration.set_allowance(name, analyst, allowance, by=by)
        for analyst in {**kept.analysts, **declared.limits}:
            tables, most = _declared_limits(declared, analyst)
            if _limits_of(kept, analyst) != (tables, most):
                with declared.section.blamed("analysts", analyst):
                    administration.limit_analyst(name, analyst, tables=tables, most=most, by=by)
        if (kept.most, kept.noes_a_day) != (declared.most, declared.noes_a_day):
            with declared.section.blamed("policy"):
                administration.set_limits(name, most=declared.most, noes_a_day=declared.noes_a_day, by=by)
        if kept.only_named != declared.only_named:
            administration.admit_analysts(name, only_named=declared.only_named, by=by)

    def _is_correctable(self, population: str, table: str | None) -> bool:
        return self._ledger.administration.is_correctable(population, table)

    def _require_own_people(self, declared: PopulationSettings) -> None:
        """Refuse new tables with the people of another population: a second account would be a second budget."""
        name = declared.population.name
        known = self._ledger.population(name).tables if self._ledger.has(name) else {}
        for table, source in declared.sources.items():
            owner = None if table in known else self._fingerprints.owner(name, source)
            if owner is not None:
                reason = f"this is the data of population {owner!r}, whose account goes on"
                remedy = f"declare it as a table of {owner!r}, under its old name"
                raise declared.section.error(("tables", table, "source"), reason, remedy)

    def _has_other_terms(self, declared: PopulationSettings) -> bool:
        """Say whether the account was opened under other terms than these, to which no raise leads."""
        people, account = declared.population, self._ledger.account(declared.population.name)
        is_lower = not is_raise(account.budget, declared.budget)
        same_people = self._ledger.population(people.name).unit == people.unit
        return is_lower or not same_people or set(account.filters) != set(people.segment_titles or (EVERYONE,))


_Limits: TypeAlias = tuple[tuple[str, ...] | None, Budget | None]  # the tables one may ask about, and the most


def _differences(declared: PopulationSettings, kept: PopulationRecord, account: Account) -> Iterator[_Difference]:
    """Yield the differences of settings and ledger about who is protected, in all tables or in one."""
    people = declared.population
    for what in ("person_key", "adjacency", "protects_groups_of"):
        if getattr(kept.unit, what) != getattr(people.unit, what):
            yield _Difference(
                (what,),
                f"{what} is not what this population was opened with",
                "who is protected never changes; a new population starts a new account",
            )
    for table in people.tables:
        column, kind = whose_row(people, table)
        known_column, known_kind = kept.keys.get(table.name, (column, kind))
        if (known_column, known_kind) != (column, kind):
            was = f"table {table.name!r} was added with the person key {known_column!r} ({known_kind})"
            never = "whose row it is never changes"
            yield _Difference(("tables", table.name), f"{was}, and this is {column!r} ({kind})", never, table.name)
    if set(account.filters) != set(people.segment_titles or (EVERYONE,)):
        yield _Difference(
            ("segments",),
            "these are not the segments that this population was opened with",
            "they never change: whoever changed the segment would be paid for twice",
        )


def _limits_of(kept: PopulationRecord, analyst: str) -> _Limits:
    one = kept.analyst(analyst)
    return one.tables, one.most


def _declared_limits(declared: PopulationSettings, analyst: str) -> _Limits:
    one = declared.limits.get(analyst)
    return (None, None) if one is None else (one.tables, one.most)


def _terms(declared: PopulationSettings) -> dict[str, Any]:
    """Return under what terms the account of a population is opened."""
    return {
        "unit": declared.population.unit,
        "budget": declared.budget,
        "segments": declared.population.segment_titles or (EVERYONE,),
        "shares": SHARES,
    }


def unreadable(declared: PopulationSettings, log: Log) -> dict[str, LapwingError]:
    """Try all tables together, and each by itself if that fails; return what cannot be read and why.

    What a database says at length may quote a cell of the data, so that only its first line is returned; the log has
    all of it.
    """
    together = _tried(declared, log)
    if together is None:
        return {}
    alone = {table.name: _tried(declared.only(table.name), log) for table in declared.population.tables}
    found = {name: failure for name, failure in alone.items() if failure} or {declared.population.name: together}
    for failure in {id(one): one for one in (together, *found.values())}.values():
        log(failure)
    return {name: _in_one_line(failure) for name, failure in found.items()}


def _tried(declared: PopulationSettings, log: Log) -> LapwingError | None:
    """Open the tables and let go of them again."""
    reasons: list[Exception] = []
    try:
        hide_failures(
            lambda: open_engine(
                declared.population, declared.sources, time_limit=declared.time_limit, on_failure=log
            ).close(),
            reasons.append,
        )
    except EngineError as failure:
        (reason,) = reasons
        if isinstance(reason, LapwingError):
            return reason
        log(reason)
        return failure
    return None


def _in_one_line(failure: LapwingError) -> LapwingError:
    if not isinstance(failure, RegistrationError) or "\n" not in failure.reason:
        return failure
    line = failure.reason.partition("\n")[0]
    return RegistrationError(failure.table, reason=line, remedy=f"{failure.remedy}; {LOG} has more")

"""Whether tables can be read as they are declared: tried before anything is written about them. For the custodian."""

from collections.abc import Callable
from typing import Final, TypeAlias

from lapwing.engines.reading import hide_failures
from lapwing.tables import open_engine
from lapwing.vocabulary.errors import EngineError, LapwingError, RegistrationError
from lapwing.workspace.settings import PopulationSettings

LOG: Final = "failures.log"

Log: TypeAlias = Callable[[Exception], None]


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

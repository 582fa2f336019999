"""Refusals of a server as the same errors that Python raises: the class, the sentence, the numbers, the remedies.

Nothing is taken from a server but texts and numbers: the class is one of ours, found by its code, and its attributes
are those that it has anyway.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any, Final, get_type_hints

from lapwing.vocabulary import errors
from lapwing.vocabulary.errors import (
    BudgetExceededError,
    DisagreementError,
    LapwingError,
    LedgerError,
    LedgerInDoubtError,
    ServerError,
)
from lapwing.vocabulary.exact import exact
from lapwing.vocabulary.wording import Message, Setting

_REMEDIES: Final = {
    401: "ask the custodian for a new one",
    404: "look at its name, or ask the custodian",
    409: "open the session again",
    413: "ask for less at once",
    429: "ask more slowly",
    503: "ask again later",
}
_LONGEST: Final = 4000


def error_of(status: int, told: Any) -> LapwingError:
    """Return the error to raise for a refusal.

    >>> told = {"code": "stream_halted", "message": "it has given all its yeses", "yeses": 3}
    >>> error_of(409, {"error": told}), error_of(409, {"error": told}).yeses
    (StreamHaltedError('it has given all its yeses'), 3)
    """
    record = told.get("error") if isinstance(told, dict) else None
    if not isinstance(record, dict) or not isinstance(record.get("message"), str):
        return ServerError(
            "the server says what no server of lapwing says", status=status, remedy="look at its address"
        )
    kind = _kinds().get(str(record.get("code")))
    if kind is None:
        remedy = _REMEDIES.get(status, "ask the custodian")
        return ServerError(readable(record["message"]), status=status, remedy=remedy)
    return refusal_of(kind, record)


def refusal_of(kind: type[LapwingError], record: Mapping[str, Any]) -> LapwingError:
    """Return an error of a kind with the message and the fields of a record."""
    error = kind.__new__(kind)
    error.args = (_message(record),)
    for name, value in record.items():
        if name.isidentifier() and not name.startswith("_") and not hasattr(error, name) and name != "message":
            setattr(error, name, _fraction(value) if name in _fractions(kind) else _plain(value))
    if isinstance(error, BudgetExceededError):
        error._remedies = (str(record.get("remedy", "")),)  # noqa: SLF001 - as its constructor does
    return error


def readable(told: object) -> str:
    """Return a text of a server as a terminal may show it: of limited length, and without control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in str(told)[:_LONGEST])


def disagreement(reason: str) -> DisagreementError:
    """Return the refusal of a server that means something else than this client."""
    remedy = "its answers are not believed; connect again with the version that it has, or ask the custodian"
    return DisagreementError(readable(f"the server does not agree with this client: {reason}"), remedy=remedy)


def told_refusal(record: Any) -> LapwingError | None:
    """Return the refusal that a record holds, if it holds one."""
    return None if record is None else error_of(200, {"error": record})


def _message(record: Mapping[str, Any]) -> Message:
    """Return a message whose parameters are data again, each spelt in the text as in Python."""
    pieces: list[Any] = [readable(record["message"])]
    settings = record.get("settings")
    for name, value in settings.items() if isinstance(settings, dict) else ():
        setting = Setting(str(name), value if isinstance(value, str | int) else None)
        before, found, after = pieces[-1].partition(str(setting))
        pieces[-1:] = [before, setting, after] if found else [before]
    return Message(*pieces)


@cache
def _kinds() -> dict[str, type[LapwingError]]:
    """Return the errors that analysts may read, and those of an account that cannot be kept, by their codes."""
    several: list[type[LapwingError]] = [getattr(errors, name) for name in errors.__all__]
    told = [kind for kind in several if kind.for_analysts and kind is not ServerError]
    told += [LedgerError, LedgerInDoubtError]
    return {kind.__new__(kind).code: kind for kind in told}


@cache
def _fractions(kind: type[LapwingError]) -> frozenset[str]:
    """Return the attributes of a kind that are exact numbers, which are written as text."""
    hints = {} if kind.__init__ is LapwingError.__init__ else get_type_hints(kind.__init__)
    return frozenset(name for name, hint in hints.items() if "Fraction" in str(hint))


def _fraction(given: Any) -> Fraction | None:
    try:
        return exact("number", given) if isinstance(given, str | int) else None
    except LapwingError:
        return None


def _plain(given: Any) -> Any:
    return readable(given) if isinstance(given, str) else given if isinstance(given, int | bool | None) else None

"""Failures as a status and a body. One table for errors; one body for all that may depend on data.

`{"error": {"code": ..., "message": ..., ...}}`: the code, the sentence and the numbers are the error's own (`to_dict`),
the same as in Python and at the command line. Only errors about the analyst's own input are shown so; the words of a
failure that may hold data, a path or the custodian's business never vary.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from lapwing.vocabulary.errors import (
    BadQuestionError,
    BudgetError,
    DisagreementError,
    EngineError,
    LapwingError,
    LedgerError,
    LedgerInDoubtError,
    PolicyError,
    RegistrationError,
    RequestConflictError,
    SettingsError,
    StreamBusyError,
    StreamError,
    SuspendedError,
    UnansweredError,
    UnavailableError,
)
from lapwing.vocabulary.wording import Spell

_STATUSES: Final[tuple[tuple[type[LapwingError], int], ...]] = (
    (RequestConflictError, 409),
    (DisagreementError, 409),
    (BadQuestionError, 422),
    (SuspendedError, 403),
    (PolicyError, 403),
    (BudgetError, 402),
    (StreamError, 409),
    (LedgerError, 503),
    (RegistrationError, 503),
    (SettingsError, 503),
    (UnavailableError, 503),
)
"""The first that fits; anything else is a 500."""

_ENGINE: Final = EngineError().to_dict()
AFTER_DATA: Final = (500, str(_ENGINE["code"]), str(_ENGINE["message"]))
"""The one reply to a failure after data was read, and to any unexpected failure."""

NOT_THERE: Final = ("not_there", "there is nothing here, or it is not for you")
_IN_DOUBT: Final = "it is not known whether it was charged; ask again under the same key to find out"
_NO_LEDGER: Final = "the account cannot be kept just now, so nothing is answered and nothing was charged; ask later"


class ProblemError(Exception):
    """A refusal by the server itself: a status, a code, a sentence, and headers to go with them."""

    def __init__(self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.code, self.message = status, code, message
        self.headers = dict(headers or {})
        super().__init__(message)

    @staticmethod
    def not_there() -> "ProblemError":
        """Return the refusal for what is absent, and for what is not for this person: the same one."""
        return ProblemError(404, *NOT_THERE)

    @staticmethod
    def too_many(message: str, after: float) -> "ProblemError":
        """Return the refusal of a rate limit, to be tried again `after` seconds."""
        return ProblemError(429, "too_many", message, headers={"Retry-After": str(int(after) + 1)})

    def body(self) -> dict[str, Any]:
        """Return the body of the reply."""
        return {"error": {"code": self.code, "message": self.message}}


def status_of(failure: LapwingError) -> int:
    """Return the HTTP status of a failure.

    >>> status_of(SuspendedError("clinic")), status_of(EngineError()), status_of(BadQuestionError("no"))
    (403, 500, 422)
    """
    if isinstance(failure, UnansweredError):
        return 410 if failure.lost else 409
    return next((status for kind, status in _STATUSES if isinstance(failure, kind)), AFTER_DATA[0])


def headers_of(failure: LapwingError) -> dict[str, str]:
    """Return the headers of a failure: `Retry-After` where waiting helps."""
    waits = isinstance(failure, StreamBusyError) or status_of(failure) == 503  # noqa: PLR2004 - unavailable
    return {"Retry-After": "1"} if waits else {}


def body_of(failure: LapwingError, spell: Spell = str) -> dict[str, Any]:
    """Return the body for a failure, spelt as one interface spells it."""
    return {"error": _told(failure, spell)}


def _told(failure: LapwingError, spell: Spell) -> dict[str, Any]:
    match failure:
        case UnavailableError():
            return failure.to_dict()
        case EngineError():  # the same as for anything unforeseen
            return {"code": AFTER_DATA[1], "message": AFTER_DATA[2]}
        case LapwingError() if failure.for_analysts:
            return failure.to_dict(spell)
        case LedgerInDoubtError():
            return {"code": "ledger_in_doubt", "message": _IN_DOUBT}
        case LedgerError():
            return {"code": "ledger", "message": _NO_LEDGER}
        case RegistrationError() | SettingsError():
            return UnavailableError().to_dict()
        case _:
            return {"code": AFTER_DATA[1], "message": AFTER_DATA[2]}


def problem_bytes(code: str, message: str) -> bytes:
    """Return the body of a refusal that is no `ProblemError`, byte for byte as all others are."""
    return json.dumps({"error": {"code": code, "message": message}}, separators=(",", ":")).encode()

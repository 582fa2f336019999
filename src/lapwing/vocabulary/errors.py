"""Everything that lapwing raises on purpose.

::

    LapwingError
    ├── BadQuestionError        ParameterError, RequestConflictError
    ├── BudgetError             BudgetExceededError, PolicyError, SuspendedError, UnnamedAnalystError
    ├── StreamError             StreamHaltedError, StreamClosedError, StreamBusyError, SealBrokenError
    ├── LedgerError             LedgerUnwritableError, LedgerInDoubtError, LedgerDurabilityError, LedgerSchemaError,
    │                           LedgerDamagedError, LedgerRolledBackError, UnansweredError
    ├── ServerError             DisagreementError
    ├── EngineError             UnavailableError
    └── RegistrationError, SettingsError, MissingExtraError, SecrecyError, RandomnessError

A message says what was wrong, with the numbers, and what to do about it. The same facts are attributes, so that a
program need not parse English. Users import the classes from `lapwing.errors`, and tracebacks show that module.
"""

import copyreg
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from lapwing.vocabulary import wording
from lapwing.vocabulary.results import Result
from lapwing.vocabulary.wording import Call, Message, Setting, Spell, decimal_below

__all__ = [
    "BadQuestionError",
    "BudgetError",
    "BudgetExceededError",
    "DisagreementError",
    "EngineError",
    "LapwingError",
    "LedgerDamagedError",
    "LedgerDurabilityError",
    "LedgerError",
    "LedgerInDoubtError",
    "LedgerRolledBackError",
    "LedgerSchemaError",
    "LedgerUnwritableError",
    "MissingExtraError",
    "ParameterError",
    "PolicyError",
    "RandomnessError",
    "RegistrationError",
    "RequestConflictError",
    "SealBrokenError",
    "SecrecyError",
    "ServerError",
    "SettingsError",
    "StreamBusyError",
    "StreamClosedError",
    "StreamError",
    "StreamHaltedError",
    "SuspendedError",
    "UnansweredError",
    "UnavailableError",
    "UnnamedAnalystError",
]


class LapwingError(Result, Exception):
    """The root: catching it catches everything that lapwing raises on purpose."""

    __module__ = "lapwing.errors"
    for_analysts: ClassVar[bool] = False
    """Whether an analyst may read the message: it follows from their question and public facts, and holds no path."""

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__:
            cls.__module__ = LapwingError.__module__

    def __init__(self, *pieces: str | Setting | Call) -> None:
        super().__init__(Message(*pieces))

    def __reduce__(self) -> tuple[Any, ...]:
        # The message is pickled, and not the call of `__init__`: its arguments are more than the message.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows: the sentence, and not where in lapwing it was raised."""
        return [f"{type(self).__name__}: {self}"]

    @property
    def code(self) -> str:
        """The error code for programs: the name of the class in snake case, such as `budget_exceeded`."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__.removesuffix("Error")).lower()

    @property
    def settings(self) -> dict[str, str | int | None]:
        """The parameters that the message proposes to set, by their names."""
        return self._message.settings

    def spelled(self, spell: Spell) -> str:
        """Return the message as a door words it."""
        return self._message.spelled(spell)

    @property
    def _message(self) -> Message:
        (message,) = self.args
        return message if isinstance(message, Message) else Message(message)

    def to_dict(self, spell: Spell = str) -> dict[str, Any]:
        """Return the error as JSON values: its code, the message and the numbers in it, as a door words them."""
        known = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        numbers = {name: _plain(value, spell) for name, value in known.items()}
        return {"code": self.code, "message": self.spelled(spell), **numbers, "settings": self.settings}

    def facts(self) -> Sequence[tuple[str, str | None]]:
        """Return what a notebook shows of it."""
        return [(self.code.replace("_", " "), str(self))]


class BadQuestionError(LapwingError):
    """The question cannot be answered as it was asked. It was refused before anything was charged."""

    for_analysts = True


class ParameterError(BadQuestionError, ValueError):
    """One parameter is not what it must be: its name, the value as given, what is wrong, what to write instead."""

    def __init__(self, name: str, given: object, *, reason: str, remedy: str) -> None:
        self.name, self.given, self.reason, self.remedy = name, given, reason, remedy
        super().__init__(f"{name} = {_brief(given)} ", reason, "; ", remedy)


class RequestConflictError(BadQuestionError):
    """The idempotency key was used before, for another request; `seq` is the entry of the ledger that first used it."""

    def __init__(self, key: str, *, seq: int) -> None:
        self.key, self.seq = key, seq
        super().__init__(f"key {_brief(key)} belongs to another request, entry {seq} of the ledger; choose a new key")


class BudgetError(LapwingError):
    """The account refuses the charge. Nothing was charged and no data was read."""

    for_analysts = True


class PriceInWords(Protocol):
    """A price in words, and its rho if it has one."""

    @property
    def rho(self) -> Fraction | None:
        """Its rho."""


class BudgetExceededError(BudgetError):
    """The charge is larger than what is left; `fits` is the epsilon that any question may have now.

    The amounts are in `currency`: "epsilon", "rho" or "delta". `asked` is None where the account has no number for it.
    """

    def __init__(
        self,
        *,
        asked: Fraction | None,
        left: Fraction,
        currency: str,
        remedies: tuple[str, ...],
        fits: Fraction = Fraction(0),
        price: PriceInWords | None = None,
    ) -> None:
        self.asked, self.left, self.currency, self.fits = asked, left, currency, fits
        wanted = str(price or "more") if asked is None else f"{currency} {_above(asked, left)}"
        there = decimal_below(left) if left > 0 else "nothing"
        there = f"{currency} {there}" if asked is None and left > 0 else there
        if asked is None and price and price.rho is not None and currency == "rho" and price.rho <= left:
            # What is left is that of a Gaussian; noise of whole numbers at the same rho may take more of it.
            useless = f"ask at {there} or less"
            remedies = tuple("ask at a smaller rho" if one == useless else one for one in remedies)
            there = "less than that, for its kind of noise,"
        self._remedies = remedies
        self.remedy = ", or ".join(remedies)
        super().__init__(f"{wanted} is asked and {there} is left: {self.remedy}")

    @property
    def settings(self) -> dict[str, str | int | None]:
        """The largest epsilon that any question may have now, rounded down to be typed back in."""
        return {"epsilon": decimal_below(self.fits)} if self.fits else {}

    def about(self, *, accuracy: str = "", whose: str = "", price: PriceInWords | None = None) -> "BudgetExceededError":
        """Return the refusal with whose budget it is, or the price in words and how exact it would be at what fits."""
        first, last = self._remedies[0], self._remedies[-1]
        known = {first: f"{first} ({accuracy})"} if accuracy and self.fits else {}
        known |= {last: f"{last} of {whose}"} if whose else {}
        remedies = tuple(known.get(one, one) for one in self._remedies)
        return BudgetExceededError(
            asked=self.asked,
            left=self.left,
            currency=self.currency,
            remedies=remedies,
            fits=self.fits,
            price=price,
        )

    def of_each(self, questions: int) -> "BudgetExceededError":
        """Return the refusal of several questions that were asked together, each at the same price."""
        share = (self.fits if self.currency == "epsilon" else self.left) / questions
        instead = f"ask at {self.currency} {decimal_below(share)} or less for each of these {questions:,} questions"
        remedies = (*([instead] if share > 0 else []), "ask fewer of them", self._remedies[-1])
        return BudgetExceededError(
            asked=self.asked, left=self.left, currency=self.currency, remedies=remedies, fits=self.fits / questions
        )


class SuspendedError(BudgetError):
    """The custodian has stopped all spending of `who`, a population or an analyst."""

    def __init__(self, who: str, *, message: str | None = None) -> None:
        self.who = who
        super().__init__(message or f"spending of {who} is suspended; ask the custodian to resume it")


class UnnamedAnalystError(SuspendedError):
    """Only analysts who have an allowance may ask about this population, and `analyst` has none."""

    def __init__(self, analyst: str, population: str) -> None:
        self.analyst = analyst
        reason = f"{_brief(analyst)} is not among the analysts of population {population!r}, and others are refused"
        super().__init__(f"analyst {analyst!r}", message=f"{reason}; ask the custodian for an allowance")


class PolicyError(BudgetError):
    """The custodian's policy for an analyst or a population forbids it, even if enough budget is left.

    The `rule` is "tables" (those that an analyst may ask about), "most" (what one question may cost), "noes_a_day"
    (how many questions of streams, whose noes are free, an analyst may ask in a day) or "requests" (how many requests
    for more budget may wait).
    """

    def __init__(self, rule: str, *, reason: str, remedy: str) -> None:
        self.rule, self.reason, self.remedy = rule, reason, remedy
        super().__init__(f"{reason}; {remedy}")


class StreamError(LapwingError):
    """A stream of questions cannot go on."""

    for_analysts = True


class StreamHaltedError(StreamError):
    """The stream gave the last of the yeses it was opened for; asking on would void its guarantee."""

    def __init__(self, *, yeses: int) -> None:
        self.yeses = yeses
        given = f"{yeses} {'yes' if yeses == 1 else 'yeses'}"
        super().__init__(f"this stream has given all the {given} it was opened for; open a new stream to ask on")


class StreamClosedError(StreamError):
    """The stream of this name was closed and its secret state destroyed."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        super().__init__(f"stream {stream!r} is closed; open a new stream to ask on")


class StreamBusyError(StreamError):
    """The question of this number has no outcome yet, and a stream answers one question at a time."""

    def __init__(self, stream: str, *, number: int) -> None:
        self.stream, self.number = stream, number
        super().__init__(
            f"question {number} of stream {stream!r} has no outcome yet; wait for it, or recover it if its process died"
        )


class SealBrokenError(StreamError):
    """Suspended state was altered, replayed, or opened with another key; it is refused, never guessed."""


class LedgerError(LapwingError):
    """The account cannot be kept. Nothing is released while that is so."""


class LedgerUnwritableError(LedgerError):
    """The ledger cannot be written to just now: locked, read-only, no space, no connection. Nothing was charged."""


class LedgerInDoubtError(LedgerError):
    """It is not known whether the last act was written. It counts as charged, and nothing was released for it.

    Asking again under the same idempotency key finds out.
    """


class LedgerDurabilityError(LedgerError):
    """A setting of the database has a value with which it could lose a charge that was acknowledged."""

    def __init__(self, setting: str, found: object, *, remedy: str) -> None:
        self.setting, self.found = setting, found
        super().__init__(f"{setting} is {found}, and a power cut could lose a charge; {remedy}")


class LedgerSchemaError(LedgerError):
    """The database is not a ledger of lapwing, or one that a newer lapwing has written."""


class LedgerDamagedError(LedgerError):
    """An entry is not what was once written, or the file cannot be read; then `seq`, the first bad entry, is 0.

    `chain` says in words which chain of the ledger it is of, where that is known.
    """

    def __init__(self, reason: str, *, seq: int = 0, chain: str = "") -> None:
        self.reason, self.seq, self.chain = reason, seq, ""
        self.name(chain)

    def name(self, chain: str) -> None:
        """Say which chain it is of, unless that is said already."""
        self.chain = self.chain or chain
        place = f"{self.chain}: " if self.chain else ""
        place = f"entry {self.seq} of {self.chain or 'the ledger'} " if self.seq else place
        remedy = "restore a backup that every receipt agrees with, and never edit a ledger"
        super().__init__(f"{place}{self.reason}; {remedy}")


class LedgerRolledBackError(LedgerError):
    """The ledger, whose last entry is `last`, is older than one that was seen before, or has another past.

    `seq` is the entry that is missing or different; 0 if the whole ledger is another. `chain` says in words which chain
    of the ledger it is, where that is known.
    """

    def __init__(self, reason: str, *, seq: int, last: int, remedy: str = "", chain: str = "") -> None:
        self.reason, self.seq, self.last, self.chain = reason, seq, last, ""
        self.remedy = remedy or f"bring back the {'newest copy' if seq else 'right one'}"
        self.name(chain)

    def name(self, chain: str) -> None:
        """Say which chain it is, unless that is said already."""
        self.chain = self.chain or chain
        this = self.chain or ("this ledger" if self.seq else "it")
        ends = f"{f'entry {self.seq}; ' if self.seq else ''}{this} ends at entry {self.last}"
        super().__init__(f"{self.reason} ({ends}); charges may be missing, so nothing is answered: {self.remedy}")


class UnansweredError(LedgerError):
    """A request was charged and has no answer, either not yet or for ever.

    Noise is never drawn twice for one charge, so a request that was lost is not tried again. `lost` is true once it is
    settled that there will be no answer, `seq` is the entry of the charge.
    """

    for_analysts = True

    def __init__(self, key: str, *, seq: int, lost: bool) -> None:
        self.key, self.seq, self.lost = key, seq, lost
        state = "lost after it was charged; ask again under a new key" if lost else "charged and not answered yet; wait"
        super().__init__(f"the request with key {_brief(key)} (entry {seq} of the ledger) was {state}")


class EngineError(LapwingError):
    """A database could not answer. The message never varies, because the reason may depend on the data.

    An engine passes the reason only to the custodian's `on_failure`; it is neither cause nor context of this error, so
    that no traceback shows it.
    """

    for_analysts = True

    def __init__(self, *pieces: str) -> None:
        super().__init__(*pieces or ("the question could not be answered; the custodian can find out why",))


class UnavailableError(EngineError):
    """The tables cannot be asked just now. Nothing was charged, and asking again later, under the same key, is right.

    Why they cannot may depend on the data: `reason` is one of a few sentences that never vary.
    """

    def __init__(self, reason: str = "the tables cannot be opened just now") -> None:
        self.reason = reason
        super().__init__(f"{reason}, so nothing was charged; ask again later; the custodian can find out why")


class ServerError(LapwingError):
    """A server cannot be asked: it is unreachable, refuses the login, or answers as no server of lapwing does.

    `status` is the HTTP status, if there was an answer. A question under an idempotency key can be asked again, and is
    charged once.
    """

    for_analysts = True

    def __init__(self, reason: str, *, remedy: str, status: int | None = None) -> None:
        self.reason, self.remedy, self.status = reason, remedy, status
        super().__init__(f"{reason}; {remedy}")


class DisagreementError(ServerError):
    """A server and its client disagree about the meaning of a question: it was not asked, or its answer is rejected."""


class RegistrationError(LapwingError):
    """The data of a table disagrees with the catalogue: raised while tables are registered, to the custodian."""

    def __init__(self, table: str, *, reason: str, remedy: str) -> None:
        self.table, self.reason, self.remedy = table, reason, remedy
        super().__init__(f"table {table} ", reason, "; ", remedy)


class SettingsError(LapwingError):
    """A workspace is not as it should be: mostly a line of its lapwing.toml, or 0. Only custodians meet it."""

    def __init__(self, file: str, line: int, *, reason: str, remedy: str) -> None:
        self.file, self.line, self.reason, self.remedy = file, line, reason, remedy
        super().__init__(f"{file}{f', line {line}' if line else ''}: ", reason, "; ", remedy)


class MissingExtraError(LapwingError):
    """A module is not installed that comes with an extra of lapwing."""

    def __init__(self, module: str, *, extra: str) -> None:
        self.module, self.extra = module, extra
        self.remedy = f"pip install 'lapwing[{extra}]'"
        super().__init__(f"{module} is not installed; {self.remedy}")


class SecrecyError(LapwingError, TypeError):
    """Code tried to print, compare, copy out or store a value that has no noise on it yet."""


class RandomnessError(LapwingError):
    """No trustworthy random bits could be had. No noise was drawn, so nothing was released."""


def _plain(value: Any, spell: Spell) -> Any:
    if isinstance(value, str | Fraction):
        return value.spelled(spell) if isinstance(value, Message) else wording.format_exact(value)
    if value is None or isinstance(value, bool | int):
        return value
    return f"{value:.17g}" if isinstance(value, float) else str(value)


def _above(asked: Fraction, left: Fraction) -> str:
    """Return what was asked for, rounded, and visibly more than what is left."""
    near = wording.decimal_near(asked)
    return near if Fraction(near) > left else wording.decimal_above(asked)


def _brief(given: object) -> str:
    try:
        text = str(given) if isinstance(given, Fraction) else repr(given)
    except Exception:  # noqa: BLE001 - a hostile __repr__ must not replace the refusal it caused
        text = f"<{type(given).__name__}>"
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - one line of a terminal

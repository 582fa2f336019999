"""Everything that lapwing raises on purpose.

::

    LapwingError
    ├── BadQuestionError            what was asked cannot be answered as it was put; nothing was charged
    │   └── ParameterError          one parameter is not what it must be
    ├── BudgetError                 the account says no; nothing was charged
    │   └── BudgetExceededError     the charge is larger than what is left
    ├── StreamError                 a stream of questions cannot go on
    │   ├── StreamHaltedError       its last yes was given
    │   └── SealBrokenError         suspended state was altered, replayed, or opened with another key
    ├── EngineError                 a database could not answer; the message is always the same
    ├── RegistrationError           the data is not what the catalogue says; only custodians meet it
    ├── SecrecyError                something tried to look at a value that has no noise on it yet
    └── RandomnessError             no trustworthy random bits could be had, so no noise was drawn

A message says what was wrong, with the numbers, and what to do about it. What the message says is also there as
attributes, so that a program need not read English.
"""

from fractions import Fraction


class LapwingError(Exception):
    """The root: catching it catches everything that lapwing raises on purpose."""


class BadQuestionError(LapwingError):
    """What was asked cannot be answered as it was put. It was refused before anything was charged."""


class ParameterError(BadQuestionError, ValueError):
    """One parameter is not what it must be.

    Attributes
    ----------
    name : what the parameter is called
    given : the value as it was handed in
    reason : what is wrong with it
    remedy : what to write instead
    """

    def __init__(self, name: str, given: object, *, reason: str, remedy: str) -> None:
        self.name, self.given, self.reason, self.remedy = name, given, reason, remedy
        super().__init__(f"{name} = {_brief(given)} {reason}; {remedy}")


class BudgetError(LapwingError):
    """The account says no. Nothing was charged and no data was read."""


class BudgetExceededError(BudgetError):
    """The charge is larger than what is left.

    Attributes
    ----------
    asked, left : amounts in `currency`
    currency : "epsilon", "rho", "delta" or whatever the refusing account counts in
    """

    def __init__(self, *, asked: Fraction | float, left: Fraction | float, currency: str, remedy: str) -> None:
        self.asked, self.left, self.currency, self.remedy = asked, left, currency, remedy
        super().__init__(f"asked for {currency} {asked}, but {left} is left; {remedy}")


class StreamError(LapwingError):
    """A stream of questions cannot go on."""


class StreamHaltedError(StreamError):
    """The stream gave the last yes it was opened for; asking on would void its guarantee.

    Attributes
    ----------
    yeses : how many yeses the stream was opened for, and gave
    """

    def __init__(self, *, yeses: int) -> None:
        self.yeses = yeses
        plural = "yes" if yeses == 1 else "yeses"
        super().__init__(
            f"this stream has given all the {yeses} {plural} it was opened for; open a new stream to ask on"
        )


class SealBrokenError(StreamError):
    """Suspended state was altered, replayed, or opened with another key; it is refused, never guessed."""


class EngineError(LapwingError):
    """A database could not answer. The message never varies, because the reason may depend on the data.

    An engine hands the reason to the custodian's `on_failure` and to nobody else; it is no cause and no context of this
    error, so that no traceback shows it.
    """

    def __init__(self) -> None:
        super().__init__("the question could not be answered; the custodian can find out why")


class RegistrationError(LapwingError):
    """The data is not what the catalogue says. It is raised while tables are registered, to the custodian.

    Attributes
    ----------
    table : the table that cannot be registered
    reason, remedy : what is wrong with it, and what to do
    """

    def __init__(self, table: str, *, reason: str, remedy: str) -> None:
        self.table, self.reason, self.remedy = table, reason, remedy
        super().__init__(f"table {table} {reason}; {remedy}")


class SecrecyError(LapwingError, TypeError):
    """Something tried to print, compare, copy out or store a value that has no noise on it yet."""


class RandomnessError(LapwingError):
    """No trustworthy random bits could be had. No noise was drawn, so nothing was released."""


def _brief(given: object) -> str:
    try:
        text = repr(given)
    except Exception:  # noqa: BLE001 - a hostile __repr__ must not replace the refusal it caused
        text = f"<{type(given).__name__}>"
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - one line of a terminal

"""Messages whose parameters are data, so that each door spells them as its people type them.

Python writes `epsilon="0.1"`, the command line `--epsilon 0.1`, and JSON lists the settings: no code reads English.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import EllipsisType
from typing import Self, TypeAlias


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter, and the value that is proposed for it, if one is.

    >>> print(Setting("epsilon", "0.1"), Setting("max_rows", 3), Setting("table"))
    epsilon="0.1" max_rows=3 table=
    """

    name: str
    value: str | int | None = None

    def __str__(self) -> str:
        value = "" if self.value is None else f'"{self.value}"' if isinstance(self.value, str) else self.value
        return f"{self.name}={value}"


Argument: TypeAlias = "Setting | str | list[str | int | EllipsisType] | EllipsisType"


@dataclass(frozen=True, slots=True)
class Call:
    """Something that is called to ask: its name, and its arguments as a reader should see them.

    >>> print(Call("stream", (Setting("at_least", 200), ...)), Call("bins", ("age", [0, 18, 65])))
    stream(at_least=200, ...) bins('age', [0, 18, 65])
    """

    name: str
    arguments: tuple[Argument, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(_in_python, self.arguments))})"


def _in_python(argument: Argument) -> str:
    if isinstance(argument, list):
        return f"[{', '.join(map(_in_python, argument))}]"  # type: ignore[arg-type]  # a number is written like a text
    if isinstance(argument, Setting):
        return str(argument)
    return "..." if argument is ... else repr(argument)


Spell: TypeAlias = Callable[[Setting | Call], str]
"""How a door writes a parameter or a call; `str` is how Python does."""


class Message(str):
    """A text for people, as Python words it, that knows its parameters.

    >>> message = Message("say how many count: ", Setting("max_rows", 3))
    >>> print(message)
    say how many count: max_rows=3
    >>> message.spelled(lambda one: f"--{one.name} {one.value}"), message.settings
    ('say how many count: --max_rows 3', {'max_rows': 3})
    """

    __slots__ = ("pieces",)
    pieces: tuple[str | Setting | Call, ...]

    def __new__(cls, *pieces: str | Setting | Call) -> Self:
        """Put a message together; one that is a part of another stays data there."""
        message = super().__new__(cls, "".join(map(str, pieces)))
        flat = [part for one in pieces for part in (one.pieces if isinstance(one, Message) else (one,))]
        message.pieces = tuple(flat)
        return message

    def spelled(self, spell: Spell) -> str:
        """Return the message as a door words it."""
        return "".join(piece if isinstance(piece, str) else spell(piece) for piece in self.pieces)

    @property
    def settings(self) -> dict[str, str | int | None]:
        """What the message proposes, by the names of the parameters."""
        return {one.name: one.value for one in self._settings()}

    def _settings(self) -> Iterator[Setting]:
        for piece in self.pieces:
            if isinstance(piece, Setting):
                yield piece
            elif isinstance(piece, Call):
                yield from (one for one in piece.arguments if isinstance(one, Setting))

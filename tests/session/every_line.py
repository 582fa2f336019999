"""Makes a call fail at each line that it runs after some moment, one line after the other."""

import dis
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeAlias

import lapwing

SOURCE = f"{Path(lapwing.__file__).parent}{os.sep}"
Line: TypeAlias = tuple[str, str, int]
"""A file of lapwing, a function in it, and a number."""


@dataclass
class Tracing:
    """Goes through the lines that are run from `begin` on, and fails at one of them.

    Parameters
    ----------
    known : lines at which a run has failed already
    failure : what to raise at the first line that is not among them; nothing, to go through all of them
    """

    known: set[Line]
    failure: BaseException | None = None
    begun: bool = False
    at: Line | None = None

    def begin(self) -> None:
        """Look at every line from here on, in the functions that have begun already, too."""
        self.begun, frame = True, sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename.startswith(SOURCE):
                frame.f_trace = self
            frame = frame.f_back
        sys.settrace(self)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> "Tracing | None":
        del argument
        file = _of_lapwing(frame.f_code)
        if file is None:
            return None
        if event == "line" and self.begun and self.at is None:
            line = file, frame.f_code.co_qualname, frame.f_lineno
            if line not in self.known and not only_a_trace_fails_at(frame) and not _is_ending(frame):
                self._fail(line)
        return self

    def _fail(self, line: Line) -> None:
        if self.failure is not None:
            self.known.add(line)
            self.at = line
            raise self.failure


@cache
def _of_lapwing(code: CodeType) -> str | None:
    """Return the file of lapwing that something is written in; None where it is of others."""
    file = code.co_filename
    return file.removeprefix(SOURCE) if file.startswith(SOURCE) else None


def _is_ending(frame: FrameType | None) -> bool:
    """Say whether something is being destroyed: what is raised there comes out nowhere, and the rest is still done."""
    while frame is not None and frame.f_code.co_filename.startswith(SOURCE):
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def only_a_trace_fails_at(frame: FrameType) -> bool:
    """Say whether no interrupt comes before the next step: it is looked for after calls, and where functions begin."""
    return _begins_to_handle(frame) or _leaves_a_with(frame)


def _leaves_a_with(frame: FrameType) -> bool:
    """Say whether the next step is to leave a `with`: it takes None three times, and calls what lets go.

    What fails right there is not inside any more, and a lock that is written in C would stay held for ever.
    """
    steps, at = frame.f_code.co_code, frame.f_lasti
    first = steps[at : at + 2]
    nothing = first[0] == dis.opmap["LOAD_CONST"] and frame.f_code.co_consts[first[1]] is None
    return nothing and steps[at : at + 6] == first * 3


def _begins_to_handle(frame: FrameType) -> bool:
    """Say whether the next step is to note which error is handled now: nothing but a trace can fail before that.

    Where one does, the interpreter loses count of what is being handled, and old errors become the context of new ones.
    """
    return frame.f_code.co_code[frame.f_lasti] == dis.opmap["PUSH_EXC_INFO"]


def run(act: Callable[[], Any], tracing: Tracing) -> tuple[Any, BaseException | None]:
    """Return what `act` returned, and what it raised."""
    before = sys.gettrace()
    if tracing.begun:
        tracing.begin()
    try:
        return act(), None
    except BaseException as raised:  # noqa: BLE001 - it is looked at
        return None, raised
    finally:
        sys.settrace(before)


def chain(raised: BaseException) -> Iterator[BaseException]:
    """Go through an error and all that hangs on it, also where it would not be printed."""
    waiting, seen = [raised], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [other for other in (one.__cause__, one.__context__) if other is not None]


def shown(raised: BaseException) -> str:
    """Return all that can be seen of an error: texts, arguments, and the locals of every frame it went through."""
    parts: list[str] = []
    for one in chain(raised):
        parts += [repr(one), str(one), repr(one.args), repr(vars(one))]
        parts += [f"{name} = {_repr(value)}" for name, value in _locals(one.__traceback__)]
    return "\n".join(parts)


def _repr(value: object) -> str:
    """Return the repr of something that may be half made."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - then nobody else can show it either
        return "no repr"


def _locals(at: TracebackType | None) -> Iterator[tuple[str, Any]]:
    while at is not None:
        if at.tb_frame.f_code.co_filename.startswith(SOURCE):
            yield from at.tb_frame.f_locals.items()
        at = at.tb_next

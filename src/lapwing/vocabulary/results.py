"""The interface of every result: plain values, JSON, facts for people, and a table in a notebook.

One spelling for all of them: `to_dict`, `to_json`, `facts`. Doors print these and build no records of their own.
And signatures that people read: the words of a method that takes them as one `TypedDict` are shown one by one.
"""

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, NamedTuple, TypeVar


class Result(ABC):
    """An object that is handed to a user and describes itself."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON has, with exact numbers as text; the fields are stable."""

    def to_json(self) -> str:
        """Return `to_dict` as a JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @abstractmethod
    def facts(self) -> Sequence[tuple[str, str | None]]:
        """Return the facts for people, each with its label; None where a fact does not apply."""

    def _repr_html_(self) -> str:
        return html_table((), ((label, text) for label, text in self.facts() if text is not None))


class Interval(NamedTuple):
    """Where a value lies: at least `low`, at most `high`; None where that is not known. It unpacks.

    >>> low, high = Interval(3, 7)
    >>> low, Interval(3, 7).high
    (3, 7)
    """

    low: Any
    high: Any


def html_table(header: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a table for a notebook, with everything in it escaped; a line of one cell goes over all columns.

    >>> html_table(["a"], [["<b>"]])
    '<table><tr><th>a</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    titled = f"<caption>{escape(caption)}</caption>" if caption else ""
    lines = [_html_row("th", header)] if header else []
    return f"<table>{titled}{''.join([*lines, *(_html_row('td', row, len(header)) for row in rows)])}</table>"


def _html_row(kind: str, cells: Sequence[object], columns: int = 1) -> str:
    if len(cells) == 1 < columns:
        return f'<tr><{kind} colspan="{columns}">{escape(str(cells[0]))}</{kind}></tr>'
    return f"<tr>{''.join(f'<{kind}>{escape(str(cell))}</{kind}>' for cell in cells)}</tr>"


F = TypeVar("F", bound=Callable[..., Any])


def shows_words(words: type, **defaults: object) -> Callable[[F], F]:
    """Let `help` and notebooks show the words of `words`, each with its default, in place of the `**` that takes them.

    >>> from typing import TypedDict, Unpack
    >>> class Offer(TypedDict, total=False):
    ...     epsilon: float
    ...     confidence: float
    >>> @shows_words(Offer, confidence=0.95)
    ... def ask(question: str, **offer: Unpack[Offer]) -> float:
    ...     return offer["epsilon"]
    >>> print(inspect.signature(ask))
    (question, *, epsilon=None, confidence=0.95) -> float
    """

    def show(function: F) -> F:
        written = inspect.signature(function)
        own = [one.replace(annotation=one.empty) for one in written.parameters.values() if one.kind != one.VAR_KEYWORD]
        further = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name))
            for name in words.__annotations__
        ]
        vars(function)["__signature__"] = written.replace(parameters=[*own, *further])
        return function

    return show

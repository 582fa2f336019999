"""Signatures that people read: the words of a method that takes them as one `TypedDict` are shown one by one."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

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

"""Verbs that a session has from rooms above it: `clinic.publish(...)` is `publish(clinic, ...)` of its room.

A room adds its verbs here and in the stub beside this file, which a type checker reads, and no line to the session. It
is loaded when one of its verbs is first used. The session knows none of them, and calls none of them.
"""

from importlib import import_module
from types import MethodType
from typing import Any

VERBS = {
    "preview_publish": "lapwing.publishing.publish",
    "publish": "lapwing.publishing.publish",
}
"""Where each verb is: a function whose first parameter is the session."""


class Guests:
    """What has the verbs of all rooms; a session is one."""

    def __getattr__(self, name: str) -> Any:
        if name not in VERBS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return MethodType(getattr(import_module(VERBS[name]), name), self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *VERBS})

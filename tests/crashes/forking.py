"""A process that forks at a bad moment."""

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest


def waits_for_its_fork(act: Callable[[], object], module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Fork when an act first calls a function of a module; say whether it waits for the child, which does nothing.

    The child has a copy of every opened file, and with it of the lock, for as long as it lives.
    """
    called, children = getattr(module, name), list[int]()

    def fork_first(*given: Any) -> Any:
        if not children:
            children.append(os.fork())
            if not children[0]:
                time.sleep(120)
                os._exit(0)
        return called(*given)

    with monkeypatch.context() as patched:
        patched.setattr(module, name, fork_first)
        acting = threading.Thread(target=act, daemon=True)
        acting.start()
        acting.join(30)
        waits = acting.is_alive()
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)
        acting.join(30)
    return waits

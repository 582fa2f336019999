"""Fault points: named places at which a test makes the process die or the disk fail. Without the variable, nothing.

    LAPWING_FAULT=charge.written:kill        die as if by kill -9 when `charge.written` is reached
    LAPWING_FAULT=charge.written:kill:3      ... when it is reached the third time
    LAPWING_FAULT=charge.written:full        fail there as a full disk does

Each act of the ledger has the same three points: ACT.begun (the ledger is locked, nothing written), ACT.written (all is
written and nothing committed) and ACT.committed (all is durable and nobody has been told). `ACTS` names them. Setting
the variable in production can only make lapwing answer less.
"""

import errno
import os
import signal
from typing import Final

VARIABLE: Final = "LAPWING_FAULT"

ACTS: Final = (
    *("create", "migrate", "population", "policy", "version", "fingerprint", "note"),
    *("charge", "answer", "lose"),
    *("open", "intend", "decide", "close", "forfeit"),
)
"""What a ledger does, as its fault points call it."""

_reached: dict[str, int] = {}


def fault_point(point: str) -> None:
    """Pass a fault point, unless the environment says that this is where it ends."""
    order = os.environ.get(VARIABLE)
    if not order:
        return
    wanted, _, rest = order.partition(":")
    if wanted != point:
        return
    action, _, turn = rest.partition(":")
    _reached[order] = _reached.get(order, 0) + 1
    if _reached[order] != int(turn or 1):
        return
    match action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "full":
            raise OSError(errno.ENOSPC, "no space left on device (fault point)")
        case _:
            raise ValueError(f"{VARIABLE} = {order} asks for {action!r}; it can be kill or full")

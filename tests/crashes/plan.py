"""Where processes are killed, and how often: the tests follow this plan, and one of them counts it."""

from typing import Final

from lapwing import session, streams
from lapwing.ledger.store import ACTS

BACK_ENDS: Final = ("sqlite", "postgres")
PHASES: Final = ("begun", "written", "committed")

LEDGER_ACTS: Final = tuple(act for act in ACTS if act != "create")
"""Each is killed in each phase on each back end; making a ledger has tests of its own."""

ACTS_OF_A_SESSION: Final = ("charge", "answer", "open", "intend", "decide", "close")
SESSION_POINTS: Final = (
    *(f"{act}.{phase}" for act in ACTS_OF_A_SESSION for phase in PHASES),
    *session.STEPS,
    *streams.STEPS,
)
TURNS: Final = {"sqlite": 4, "postgres": 2}
"""How many kills at each point of a session: the first, second, ... time that it is reached, or as often as it is."""

REACHED: Final = {"ask": 2, "charge": 2, "answer": 2}
"""How often a step is surely reached: a stream may halt at its second question."""


def planned_kills() -> int:
    """How many processes die at a named point."""
    of_the_ledger = len(LEDGER_ACTS) * len(PHASES) * len(BACK_ENDS)
    return of_the_ledger + len(SESSION_POINTS) * sum(TURNS.values())

"""Which two tables must be hard to tell apart.

The whole guarantee hangs on this word, and five lecture documents on the subject use it in two meanings without
saying so. In lapwing it is a typed fact of a population, and every sensitivity reads it.
"""

from enum import Enum

from lapwing.vocabulary.errors import ParameterError


class Adjacency(Enum):
    """The relation between two tables that differ in one person.

    A count changes by at most 1 under both. A histogram changes by 1 in L1 norm under `ADD_REMOVE` and by 2 under
    `REPLACE`. Under `ADD_REMOVE` all counts of one pair of tables move the same way (they are *monotone*); under
    `REPLACE` one may rise while another falls.
    """

    ADD_REMOVE = "add-remove"
    """One table has one person more. The number of people is itself protected. The default."""

    REPLACE = "replace"
    """One person's data is exchanged for another's. The number of people is public."""


def checked_adjacency(given: object) -> Adjacency:
    """Return `given` if it is an adjacency. The word alone is refused: compared with an adjacency it would be neither.

    >>> checked_adjacency("replace")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: adjacency = 'replace' is no adjacency; write Adjacency.ADD_REMOVE or ...
    """
    if isinstance(given, Adjacency):
        return given
    raise ParameterError(
        "adjacency", given, reason="is no adjacency", remedy="write Adjacency.ADD_REMOVE or Adjacency.REPLACE"
    )

"""Who may do what: roles of people, and rights that a token may carry fewer of."""

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What a person is here. A guest has signed in and has no role yet."""

    GUEST = "guest"
    ANALYST = "analyst"
    CUSTODIAN = "custodian"
    AUDITOR = "auditor"


class Right(StrEnum):
    """What an operation takes: to read, to look at prices and made-up answers, to spend, to decide about others."""

    READ = "read"
    PREVIEW = "preview"
    ASK = "ask"
    MANAGE = "manage"


EVERYBODY: Final = frozenset(Role)
ASKING: Final = frozenset({Role.ANALYST, Role.CUSTODIAN})
CUSTODIANS: Final = frozenset({Role.CUSTODIAN})
OVERSEEING: Final = frozenset({Role.CUSTODIAN, Role.AUDITOR})

RIGHTS: Final[dict[Role, frozenset[Right]]] = {
    Role.GUEST: frozenset({Right.READ}),
    Role.ANALYST: frozenset({Right.READ, Right.PREVIEW, Right.ASK}),
    Role.CUSTODIAN: frozenset(Right),
    Role.AUDITOR: frozenset({Right.READ}),
}
"""All that a role may; a token of such a person may do that, or less."""

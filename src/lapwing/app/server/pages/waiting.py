"""Requests that wait for a custodian: what a yes would mean for one person, and how many questions it would buy."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from lapwing.accounting.interpretation import belief_range
from lapwing.app.server.pages.visits import Visit

Counts = Sequence[tuple[str, str, int, Any]]
_PRIOR: Final = "0.01"
_NEARLY: Final = 0.9995


async def open_requests(visit: Visit) -> list[dict[str, Any]]:
    """Return the requests that nobody has decided yet."""
    return [one for one in await visit.do("all_requests") if one["state"] == "open"]


def with_meaning(visit: Visit, requests: Sequence[dict[str, Any]], counts: Counts) -> list[dict[str, Any]]:
    """Return requests, each with the beliefs before and after a yes, and with what the difference buys."""
    return [{**one, "beliefs": _beliefs(visit, one), "buys": purchases(one["more"], counts)} for one in requests]


def _beliefs(visit: Visit, request: dict[str, Any]) -> tuple[str, str] | None:
    """Return what 1 % can become before and after a yes; only a budget of epsilon alone bounds every belief."""
    raises = request["raises"]
    if not raises or set(raises["to"]) != {"epsilon"}:
        return None
    return believed(visit, raises["from"]["epsilon"]), believed(visit, raises["to"]["epsilon"])


def believed(visit: Visit, epsilon: str) -> str:
    """Return what a belief of 1 % can become at most."""
    highest = belief_range(_PRIOR, epsilon)[1]
    return f"{highest:.1%}" if highest < _NEARLY else str(visit.say("policy.nearly"))


def purchases(budget: dict[str, str], counts: Counts) -> list[tuple[str, str, int]]:
    """Return how many counts of each accuracy an amount buys; none where prices do not simply add up.

    >>> purchases({"epsilon": "1"}, [("rough", "100", 9, {"epsilon": "0.03"})])
    [('rough', '100', 33)]
    >>> purchases({"epsilon": "1", "delta": "1e-6"}, [("rough", "100", 9, {"epsilon": "0.03"})])
    []
    """
    if len(budget) != 1:
        return []
    ((currency, amount),) = budget.items()
    priced = [(name, within, price[currency]) for name, within, _, price in counts if price[currency]]
    return [(name, within, int(Fraction(amount) // Fraction(price))) for name, within, price in priced]

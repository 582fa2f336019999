"""The price of a stream as pages show it: yes by yes where epsilons add up, and all at once where they do not.

A budget of rho pays for a whole stream when it is opened, and so does one with a delta once something was asked that
has no epsilon; there a yes costs nothing more, and nothing comes back.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from lapwing.doors.server.pages.frame import above, below
from lapwing.vocabulary.frozen import frozen


@frozen()
class StreamPrices:
    """Prices of a stream: its opening, a yes, all of it; the amounts spent, reserved, and refunded at its closing.

    Each is written with its symbol, and is empty where it is nothing.
    """

    opening: str
    each_yes: str
    whole: str
    spent: str = ""
    aside: str = ""
    back: str = ""

    @staticmethod
    def of(stream: Mapping[str, Any]) -> "StreamPrices":
        """Return the prices of a stream, or of one that is previewed, from its record in the API.

        >>> told = {"opening": "0.1", "each_yes": "0.2", "all": "0.5", "paid_by_yes": True, "rho": None}
        >>> StreamPrices.of({"price": told}).each_yes, StreamPrices.of({"price": told | {"paid_by_yes": False}}).opening
        ('ε 0.2', 'ε 0.5')
        """
        price = stream["price"]
        whole = f"ε {above(price['all'])}" if price["rho"] is None else f"ρ {above(price['rho'])}"
        if not price["paid_by_yes"]:
            return StreamPrices(opening=whole, each_yes="", whole=whole, spent=whole)
        spent = Fraction(stream.get("spent", 0))
        left = Fraction(price["all"]) - spent if stream.get("status") == "open" else Fraction(0)
        return StreamPrices(
            opening=f"ε {above(price['opening'])}",
            each_yes=f"ε {above(price['each_yes'])}",
            whole=whole,
            spent=f"ε {above(spent)}",
            aside=f"ε {above(left)}" if left else "",
            back=f"ε {below(left)}" if left else "",
        )

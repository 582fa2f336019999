"""The register of all suspects: shipped mechanisms, and known liars."""

from collections.abc import Callable, Mapping
from fractions import Fraction

from lapwing.auditor.liars import ONE_SHOT_LIARS, STREAM_LIARS
from lapwing.auditor.white_box import Achieved
from lapwing.doors.auditing.graph_suspects import graph_suspects
from lapwing.doors.auditing.one_shot_suspects import choice_suspects, noise_suspects
from lapwing.doors.auditing.stream_suspects import gaussian_sparse, stream_suspects
from lapwing.doors.auditing.suspect import Suspect
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, positive, probability
from lapwing.vocabulary.frozen import frozen


@frozen()
class Audited:
    """Something that can be computed: its name, where it comes from, and how much it loses.

    `loses` is the most that it loses on any neighbours, as far as is known; None if what is computed is all there is.
    """

    name: str
    source: str
    compute: Callable[[], Achieved]
    loses: float | None = None


def suspects(*, epsilon: Exact = 1, delta: Exact = "1e-6") -> dict[str, Suspect]:
    """Return every mechanism that is shipped, by name, at this price (delta where it needs one).

    >>> suspects(epsilon="0.5")["permute-and-flip"].claim
    PureDP(epsilon=Fraction(1, 2))
    """
    price, chance = positive("epsilon", epsilon), probability("delta", delta)
    all_prices = [*noise_suspects(price, chance), *choice_suspects(price, chance), *stream_suspects(price)]
    all_prices += graph_suspects(price)
    some_prices = [] if left_out(epsilon=price, delta=chance) else [gaussian_sparse(price, chance)]
    return {suspect.name: suspect for suspect in (*all_prices, *some_prices)}


def left_out(*, epsilon: Exact = 1, delta: Exact = "1e-6") -> dict[str, ParameterError]:
    """Return the mechanisms that are shipped, and not for this price, each with its refusal.

    >>> list(left_out(epsilon="0.01"))
    ['gaussian-sparse']
    """
    try:
        gaussian_sparse(positive("epsilon", epsilon), probability("delta", delta))
    except ParameterError as refusal:
        return {"gaussian-sparse": refusal}
    return {}


def named(name: str, among: dict[str, Suspect], missing: Mapping[str, ParameterError] | None = None) -> Suspect:
    """Return the suspect of this name, or refuse: with why it is missing, or with those that there are."""
    if missing and name in missing:
        raise missing[name]
    if name not in among:
        raise ParameterError("mechanism", name, reason="is not a mechanism", remedy=f"name one of {', '.join(among)}")
    return among[name]


def audited(suspect: Suspect, noise: Fraction = Fraction(1)) -> Audited:
    """Return the white-box audit of one suspect, as it is or with its noise multiplied."""
    return Audited(name=suspect.name, source="shipped", compute=lambda: suspect.box(noise).worst(suspect.claim))


def liars() -> list[Audited]:
    """Return the white-box audits of all known liars."""
    return [
        Audited(name=liar.name.replace("_", " "), source=liar.source, compute=liar.worst, loses=liar.loses)
        for liar in (*STREAM_LIARS, *ONE_SHOT_LIARS)
    ]

"""The result of an audit: a lower bound on a suspect's privacy loss, its confidence, and whether the claim survives.

A finding never says that something is private. An audit looks at some tables and some events; it can refute a claim,
and a claim that it does not refute may still be false.

From counts to what they prove is one sentence: with P(E) at least `low` on one table and at most `high` on its
neighbour, a mechanism that keeps its claim cannot be. Both numbers are Clopper-Pearson bounds, so they need no
approximation and no large sample.

Proof: proofs/black_box_audit.md
"""

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, assert_never

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from lapwing.auditor.outcomes import Reals
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import exact, fill
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, Guarantee, PureDP
from lapwing.vocabulary.results import Result

_SLACK = 1e-9
"""How far, relatively, every bound is moved outwards: far more than the inverse of the beta integral can be off."""

_ORDERS = (1 + 1e-6, *np.geomspace(1.05, 200, 48).tolist())


def at_least(hits: ArrayLike, draws: float, risk: float) -> Reals:
    """Return a number that P(E) is at least, wrong with probability at most `risk`: the lower Clopper-Pearson bound.

    >>> round(float(at_least(500, 1000, 1e-6)), 4), float(at_least(0, 1000, 1e-6))
    (0.4248, 0.0)
    """
    seen = np.asarray(hits, np.float64)
    inner = betaincinv(np.maximum(seen, 1e-9), draws - seen + 1, risk)
    return np.where(seen > 0, inner * (1 - _SLACK), 0.0)


def at_most(hits: ArrayLike, draws: float, risk: float) -> Reals:
    """Return a number that P(E) is at most, wrong with probability at most `risk`: the upper Clopper-Pearson bound.

    >>> round(float(at_most(0, 1000, 1e-6)), 4), float(at_most(1000, 1000, 1e-6))
    (0.0137, 1.0)
    """
    missed = draws - np.asarray(hits, np.float64)
    return 1.0 - at_least(missed, draws, risk)


def least_loss(claim: Guarantee, low: ArrayLike, high: ArrayLike) -> Reals:
    """Return the least loss, in the currency of the claim, with which P(E) >= low here and P(E) <= high there agree.

    Each claim allows a region of pairs (P(E) here, P(E) there), one for each value of its parameter. What is returned
    is the smallest parameter whose region reaches the corner (low, high); the complement of E is in it already. It is
    zero where `low` is not above `high`.

    >>> half_the_noise = least_loss(PureDP(epsilon=1), 0.49, 0.49 * np.exp(-2))
    >>> round(float(half_the_noise), 9)
    2.0
    >>> round(float(least_loss(GaussianDP(mu_squared=1), 0.5, 0.1586552539)), 6)
    1.0
    """
    p, q = np.asarray(low, np.float64), np.asarray(high, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        match claim:
            case PureDP():
                loss = _epsilon(p, q, 0.0)
            case ApproximateDP():
                loss = _epsilon(p, q, float(claim.delta))
            case ConcentratedDP():
                loss = _rho(p, q)
            case GaussianDP():
                loss = ndtri(p) - ndtri(q)
            case _:
                assert_never(claim)
    return np.where(p > q, np.maximum(np.nan_to_num(loss, nan=0.0, posinf=np.inf, neginf=0.0), 0.0), 0.0)


def _epsilon(p: Reals, q: Reals, delta: float) -> Reals:
    """E says P <= e^epsilon Q + delta; its complement says 1 - Q <= e^epsilon (1 - P) + delta."""
    of_event = np.log(np.maximum(p - delta, 0.0)) - np.log(q)
    of_complement = np.log(np.maximum(1 - q - delta, 0.0)) - np.log1p(-p)
    return np.asarray(np.maximum(of_event, of_complement))


def _rho(p: Reals, q: Reals) -> Reals:
    """Return the largest of D_alpha / alpha between the two coins, in both orders: what happened in E is a coin."""
    largest: Reals = np.zeros(np.broadcast(p, q).shape)
    for order in _ORDERS:
        largest = np.fmax(largest, np.fmax(_renyi_per_order(p, q, order), _renyi_per_order(q, p, order)))
    return largest


def _renyi_per_order(p: Reals, q: Reals, a: float) -> Reals:
    event = a * np.log(p) + (1 - a) * np.log(q)
    rest = a * np.log1p(-p) + (1 - a) * np.log1p(-q)
    return np.asarray(np.logaddexp(event, rest) / ((a - 1) * a), np.float64)


CURRENCIES = ("epsilon", "delta", "rho", "mu")  # units of the achieved loss


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Finding(Result):
    """A lower bound on the privacy loss of one suspect.

    `achieved` is in the `currency`: "epsilon" (at the delta of the claim, if it has one), "delta" (at its epsilon),
    "rho" or "mu". It is a lower bound; infinite where an output is possible on one table only.

    >>> found = Finding(
    ...     suspect="half the noise", claim=PureDP(epsilon=1), method="exact sum", currency="epsilon",
    ...     achieved=2.0, confidence=1, where="output <= 0, on counts 0 and 1", refuted=True,
    ... )
    >>> print(found)
    half the noise claims epsilon = 1: REFUTED. It loses epsilon >= 2 (exact sum: output <= 0, on counts 0 and 1).
    >>> found.to_dict()["achieved"]
    2.0
    """

    suspect: str
    claim: Guarantee
    method: str  # how it was audited, in a few words ("sampled events", "exact sum")
    currency: str
    achieved: float
    confidence: Fraction  # how sure that bound is; 1 if it was computed and not sampled
    where: str  # the tables and the event that show it, in words
    refuted: bool  # whether the claim is thereby refuted
    samples: int = 0  # how many outputs were drawn, on all tables together; 0 if none
    detail: str = ""  # a remark in one sentence: why the audit stopped, how likely the event is

    def __post_init__(self) -> None:
        if self.currency not in CURRENCIES:
            remedy = f"write one of {', '.join(CURRENCIES)}"
            raise ParameterError("currency", self.currency, reason="is not a currency", remedy=remedy)
        sure = exact("confidence", self.confidence)
        if not 0 < sure <= 1:
            reason, remedy = "is not a probability", "write 1 if computed"
            raise ParameterError("confidence", self.confidence, reason=reason, remedy=remedy)
        fill(self, confidence=sure)

    @property
    def claimed(self) -> float:
        """The loss that the claim allows, in the currency of `achieved`."""
        return allowed(self.claim, self.currency)

    def __str__(self) -> str:
        says = f"{self.suspect} claims {in_words(self.claim)}: "
        sure = "" if self.confidence == 1 else f", with confidence {_decimal(self.confidence)}"
        loses = f"loses {self.currency} >= {self.achieved:.4g}{sure}"
        verdict = f"REFUTED. It {loses}" if self.refuted else f"not refuted. What was seen {loses}"
        return f"{says}{verdict} ({self.method}: {self.where}).{self.detail and ' ' + self.detail}"

    def __repr__(self) -> str:
        verdict = "REFUTED" if self.refuted else "not refuted"
        return f"<finding: {self.suspect}, {self.currency} >= {self.achieved:.4g}, {verdict}>"

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the finding in words, by name."""
        return [
            ("suspect", self.suspect),
            ("claim", in_words(self.claim)),
            ("loses", f"{self.currency} >= {self.achieved:.4g}"),
            ("verdict", "REFUTED" if self.refuted else "not refuted"),
            ("where", self.where),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it: the same for the same audit, so that two runs can be compared."""
        return {
            "suspect": self.suspect,
            "claim": claim_record(self.claim),
            "method": self.method,
            "currency": self.currency,
            "claimed": _number(self.claimed),
            "achieved": _number(self.achieved),
            "confidence": _decimal(self.confidence),
            "refuted": self.refuted,
            "where": self.where,
            "samples": self.samples,
            "detail": self.detail,
        }


def currency_of(claim: Guarantee) -> str:
    """Return the unit of the loss under a claim: its first parameter."""
    return next(iter(parameters(claim)))


def allowed(claim: Guarantee, currency: str) -> float:
    """Return how much of `currency` a claim allows.

    >>> allowed(GaussianDP(mu_squared="1/4"), "mu"), allowed(PureDP(epsilon=1), "delta")
    (0.5, 0.0)
    """
    known = parameters(claim) | ({"delta": 0.0} if isinstance(claim, PureDP) else {})
    if currency not in known:
        raise ParameterError("currency", currency, reason=f"does not measure {claim}", remedy="see Finding.currency")
    return known[currency]


def parameters(claim: Guarantee) -> dict[str, float]:
    """Return the numbers of a claim, by what people call them; the first is what a loss is counted in.

    >>> parameters(ApproximateDP(epsilon="0.1", delta="1e-6"))
    {'epsilon': 0.1, 'delta': 1e-06}
    """
    if isinstance(claim, GaussianDP):
        return {"mu": math.sqrt(claim.mu_squared)}
    return {one.name: float(getattr(claim, one.name)) for one in fields(claim)}


def in_words(claim: Guarantee) -> str:
    """Return a claim in words.

    >>> in_words(ApproximateDP(epsilon="0.1", delta="1e-6"))
    'epsilon = 0.1 and delta = 1e-06'
    """
    numbers = " and ".join(f"{name} = {number:.4g}" for name, number in parameters(claim).items())
    return f"{numbers}{_SUFFIXES.get(type(claim), '')}"


_SUFFIXES: dict[type, str] = {ConcentratedDP: " (zero-concentrated)", GaussianDP: " (Gaussian)"}
_KINDS = {PureDP: "pure", ApproximateDP: "approximate", ConcentratedDP: "concentrated", GaussianDP: "gaussian"}


def claim_record(claim: Guarantee) -> dict[str, str]:
    """Return a claim as JSON holds it, its numbers exact.

    >>> claim_record(PureDP(epsilon="0.1"))
    {'kind': 'pure', 'epsilon': '1/10'}
    """
    return {"kind": _KINDS[type(claim)], **{one.name: str(getattr(claim, one.name)) for one in fields(claim)}}


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else "infinity"


def _decimal(confidence: Fraction) -> str:
    """Write a confidence so that a million to one does not look like certainty."""
    if confidence == 1:
        return "1"
    return f"1 - {float(1 - confidence):.3g}" if confidence > Fraction(9999, 10_000) else f"{float(confidence):.6g}"

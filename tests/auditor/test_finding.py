"""A finding says what was found, how surely, and never that something is private."""

import json
import math
from fractions import Fraction

import pytest

from lapwing.auditor.finding import Finding, allowed
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, PureDP

FACTS = {
    "suspect": "a count",
    "claim": PureDP(epsilon="0.5"),
    "method": "sampled events",
    "currency": "epsilon",
    "achieved": 0.25,
    "confidence": Fraction(999_999, 1_000_000),
    "where": "output <= 3",
    "refuted": False,
}


@pytest.mark.parametrize(
    ("claim", "currency", "amount"),
    [
        (PureDP(epsilon=2), "epsilon", 2),
        (PureDP(epsilon=2), "delta", 0),
        (ApproximateDP(epsilon=2, delta="0.01"), "epsilon", 2),
        (ApproximateDP(epsilon=2, delta="0.01"), "delta", 0.01),
        (ConcentratedDP(rho="1/8"), "rho", 0.125),
        (GaussianDP(mu_squared="1/4"), "mu", 0.5),
    ],
    ids=str,
)
def test_what_is_claimed_is_told_in_the_currency_of_what_was_found(claim, currency, amount) -> None:
    found = Finding(**FACTS | {"claim": claim, "currency": currency})
    assert found.claimed == allowed(claim, currency) == amount


@pytest.mark.parametrize("refuted", [True, False], ids=["refuted", "not refuted"])
def test_a_finding_reads_as_a_sentence_and_as_json(refuted) -> None:
    found = Finding(**FACTS | {"refuted": refuted})
    assert ("REFUTED" in str(found)) is refuted
    assert "private" not in str(found)
    assert "1 - 1e-06" in str(found)
    assert json.loads(found.to_json()) == found.to_dict()
    assert found.to_dict()["claim"] == {"kind": "pure", "epsilon": "1/2"}


def test_an_infinite_loss_is_json_too() -> None:
    found = Finding(**FACTS | {"achieved": math.inf, "confidence": 1})
    assert json.loads(found.to_json())["achieved"] == "infinity"
    assert "confidence" not in str(found)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"currency": "pounds"}, "not a currency"),
        ({"confidence": 0}, "not a probability"),
        ({"confidence": 2}, "not a probability"),
    ],
    ids=["currency", "no confidence", "too much confidence"],
)
def test_what_no_audit_can_find_is_refused(wrong, complaint) -> None:
    with pytest.raises(ParameterError, match=complaint):
        Finding(**FACTS | wrong)


def test_a_claim_has_no_amount_in_another_currency() -> None:
    with pytest.raises(ParameterError, match="does not measure"):
        allowed(PureDP(epsilon=1), "mu")

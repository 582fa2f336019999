"""Clients that look alike and are not private are caught by the auditor, who shares no code with them."""

import hashlib

import pytest

from lapwing.auditor import audit
from lapwing.auditor.choices import RandomizedAnswer
from lapwing.noise.coins_and_dice import uniform_below
from lapwing.surveys.phone import draw_report, hash_prefix, name_answers
from lapwing.surveys.report_law import ReportLaw, hash_all, hash_prefixes, name_some
from lapwing.vocabulary.guarantee import PureDP
from surveys.dice import drawn

ONE = PureDP(epsilon=1)
FEW, HASHED = name_some(4, ONE.epsilon), hash_all(6, ONE.epsilon)
GROUPS = ReportLaw(domain=8, answers=4, size=1, heads=HASHED.heads, prime=2, forms=2, lengths=(1, 2, 3))


def told_twice(truth):
    """A client that answers afresh after a lost connection."""
    return drawn(FEW, truth) + drawn(FEW, truth)


def never_lies(truth):
    """The hash is taken for protection, and its value is told as it is."""
    seeds = [uniform_below(4**HASHED.forms) for _ in range(HASHED.forms)]
    return (*seeds, hash_prefix(HASHED.numbers(), seeds, truth))


def seeded_by_value(truth):
    """The seed is a hash of the value, so that it need not be sent."""
    seed = hashlib.sha256(bytes([truth])).digest()
    seeds = [seed[place] % HASHED.prime ** HASHED.lengths[0] for place in range(HASHED.forms)]
    law = HASHED.numbers()
    return (*seeds, *name_answers(law, hash_prefix(law, seeds, truth), uniform_below))


def grouped_by_value(truth):
    """The group is chosen by the answer, and everything else is drawn as it should be."""
    first = [truth % 3]
    return tuple(draw_report(GROUPS.numbers(), truth, lambda n: first.pop() if first else uniform_below(n)))


def silent_if_rare(truth):
    """Who has a rare answer sends nothing."""
    return () if truth == 1 else drawn(FEW, truth)


LIARS = [told_twice, never_lies, seeded_by_value, grouped_by_value, silent_if_rare]


@pytest.mark.parametrize("liar", LIARS, ids=lambda one: one.__name__)
def test_a_liar_is_refuted(liar) -> None:
    assert audit(liar, claim=ONE, neighbours=(0, 1), samples=4000).refuted


@pytest.mark.parametrize(
    "law", [FEW, HASHED, GROUPS, hash_prefixes(27**6, ONE.epsilon)], ids=["few", "hash", "groups", "words"]
)
def test_what_is_shipped_is_not(law) -> None:
    assert not audit(lambda truth: drawn(law, truth), claim=ONE, neighbours=(0, 1), samples=4000).refuted


@pytest.mark.parametrize("law", [name_some(2, ONE.epsilon), HASHED, hash_all(10**6, ONE.epsilon)])
def test_the_white_box_computes_what_the_numbers_lose(law) -> None:
    """Of what one report names, that is randomized response; the auditor knows its law by itself."""
    lost = RandomizedAnswer(odds=float(law.ratio), categories=law.answers).worst(ONE)
    assert not lost.refuted
    assert lost.share > 1 - 1e-8
    up = RandomizedAnswer(odds=float(law.ratio) * 1.001, categories=law.answers).worst(ONE)
    assert up.refuted


def test_what_is_shipped_uses_its_price() -> None:
    """Where a claim of half as much would be accepted, the audit would see nothing."""
    assert audit(lambda truth: drawn(FEW, truth), claim=PureDP(epsilon="0.5"), neighbours=(0, 1), samples=4000).refuted

"""Suspects that choose, that answer for one person, and that show keys."""

import math
from fractions import Fraction

from lapwing.app.auditing.suspect import Suspect
from lapwing.auditor.answers_and_keys import RandomizedAnswer, ThresholdedKeys
from lapwing.auditor.choices import Choice, HistogramChoice, Rule
from lapwing.auditor.noise_laws import DiscreteLaplace
from lapwing.auditor.worst_pairs import Movement
from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.noisy_max import NoisyMaxWithGap
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.mechanisms.randomized_response import RandomizedResponse
from lapwing.mechanisms.ranked_choice import QuantileChoice, TopChoice
from lapwing.mechanisms.stable_keys import StableKeys
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP

_CANDIDATES = 3
_CATEGORIES = 5
_CELLS = 6
_TOP, _TOP_CELLS = 2, 3
_KEYS = 2
_BEHIND = ([0, 0, -4], [-1, -1, -3])
"""Scores of three candidates, of which the last catches up."""


def choice_suspects(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    """Return the mechanisms that choose among candidates, categories or keys, at this price."""
    return [*_selection(epsilon), *_ranked(epsilon), *_answers_and_keys(epsilon, delta)]


def _selection(epsilon: Fraction) -> list[Suspect]:
    claim = PureDP(epsilon=epsilon)
    exponential = ExponentialMechanism(sensitivity=1, candidates=_CANDIDATES, epsilon=epsilon)
    flip = PermuteAndFlip(sensitivity=1, candidates=_CANDIDATES, epsilon=epsilon)
    counts = PermuteAndFlip(sensitivity=1, candidates=_CANDIDATES, epsilon=epsilon, monotone_under=Adjacency.ADD_REMOVE)
    winner = NoisyMaxWithGap(sensitivity=1, candidates=2, epsilon=epsilon)
    scale, monotone = float(2 / epsilon), float(1 / epsilon)

    def told(scores: list[int]) -> tuple[int, float]:
        won = winner.release(scores)
        return won.index, won.gap

    return [
        Suspect(
            name="exponential",
            claim=claim,
            box=lambda noise: Choice(rule=Rule.EXPONENTIAL, scale=scale * float(noise), sensitivity=1),
            release=exponential.release,
            neighbours=_BEHIND,
        ),
        Suspect(
            name="exponential-rho",
            claim=ConcentratedDP(rho=epsilon**2 / 8),
            box=lambda noise: Choice(rule=Rule.EXPONENTIAL, scale=scale * float(noise), sensitivity=1, candidates=2),
            release=exponential.release,
            neighbours=_BEHIND,
        ),
        Suspect(
            name="permute-and-flip",
            claim=claim,
            box=lambda noise: Choice(rule=Rule.PERMUTE_AND_FLIP, scale=scale * float(noise), sensitivity=1),
            release=flip.release,
            neighbours=_BEHIND,
        ),
        Suspect(
            name="permute-and-flip-counts",
            claim=claim,
            box=lambda noise: Choice(
                rule=Rule.PERMUTE_AND_FLIP,
                scale=monotone * float(noise),
                sensitivity=1,
                movement=Movement.TOGETHER,
            ),
            release=counts.release,
            neighbours=([0, 0, -4], [0, 0, -3]),
        ),
        Suspect(
            name="noisy-max-with-gap",
            claim=claim,
            box=lambda noise: Choice(
                rule=Rule.PERMUTE_AND_FLIP,
                scale=scale * float(noise),
                sensitivity=1,
                candidates=2,
                gaps=tuple(scale * edge for edge in (0.0, 0.5, 1.0, 2.0, 4.0)),
            ),
            release=told,
            neighbours=([0, -4], [-1, -3]),
        ),
    ]


def _ranked(epsilon: Fraction) -> list[Suspect]:
    claim = PureDP(epsilon=epsilon)
    median = QuantileChoice(at=[Fraction(1, 2)], cells=_CELLS, rows=1, adjacency=Adjacency.ADD_REMOVE, epsilon=epsilon)
    top = TopChoice(k=_TOP, cells=_TOP_CELLS, sensitivity=1, epsilon=epsilon, monotone_under=Adjacency.ADD_REMOVE)
    return [
        Suspect(
            name="median",
            claim=claim,
            box=lambda noise: HistogramChoice(
                rule=Rule.PERMUTE_AND_FLIP, scale=float(2 / epsilon * noise), cells=_CELLS, at=median.at
            ),
            release=median.release,
            neighbours=([0, 3, 0, 0, 0, 3], [1, 3, 0, 0, 0, 3]),
        ),
        Suspect(
            name="top-two",
            claim=claim,
            box=lambda noise: HistogramChoice(
                rule=Rule.PERMUTE_AND_FLIP, scale=float(_TOP / epsilon * noise), cells=_TOP_CELLS, top=_TOP
            ),
            release=top.release,
            neighbours=([0, 0, 4], [0, 0, 5]),
        ),
    ]


def _answers_and_keys(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    keys = StableKeys(l1_sensitivity=_KEYS, epsilon=epsilon, delta=delta)
    return [
        _responding("randomized-response", RandomizedResponse(epsilon=epsilon)),
        _responding("randomized-response-of-five", RandomizedResponse(epsilon=epsilon, categories=_CATEGORIES)),
        Suspect(
            name="stable-keys",
            claim=ApproximateDP(epsilon=epsilon, delta=delta),
            box=lambda noise: ThresholdedKeys(
                law=DiscreteLaplace(float(keys.scale * noise)), threshold=keys.threshold, reach=_KEYS
            ),
            release=lambda counts: tuple(keys.release(counts).items()),
            neighbours=({"a": (keys.threshold,), "b": (30,)}, {"a": (keys.threshold + 1,), "b": (31,)}),
        ),
    ]


def _responding(name: str, mechanism: RandomizedResponse) -> Suspect:
    return Suspect(
        name=name,
        claim=PureDP(epsilon=mechanism.epsilon),
        box=lambda noise: RandomizedAnswer(
            odds=math.exp(float(mechanism.epsilon / noise)), categories=mechanism.event.categories
        ),
        release=mechanism.release,
        neighbours=(0, 1),
    )

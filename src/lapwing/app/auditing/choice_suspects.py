"""Suspects that choose, that answer for one person, and that show keys."""

from fractions import Fraction

from lapwing.app.auditing.opened import noise_of, odds_of_truth, score_scale
from lapwing.app.auditing.suspect import Suspect
from lapwing.auditor.choices import AuditedRule, Choice, HistogramChoice, RandomizedAnswer, ThresholdedKeys
from lapwing.auditor.worst_pairs import AuditedMovement
from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.histogram_selection import PrivateQuantiles, TopK
from lapwing.mechanisms.noisy_max import NoisyMaxWithGap
from lapwing.mechanisms.partition_selection import PartitionSelection
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.mechanisms.randomized_response import RandomizedResponse
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, PureDP

_FAR = 3
"""How far one person moves a score: not 1, so that a sensitivity that is forgotten or squared is seen."""
_CANDIDATES = 3
_CATEGORIES = 5
_CELLS = 6
_TOP, _TOP_CELLS = 2, 3
_KEYS = 2
_BEHIND = ([0, 0, -12], [-_FAR, -_FAR, _FAR - 12])
"""Scores of three candidates, of which the last catches up."""


def choice_suspects(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    """Return the mechanisms that choose among candidates, categories or keys, at this price."""
    return [*_selection(epsilon), *_ranked(epsilon), *_answers_and_keys(epsilon, delta)]


def _selection(epsilon: Fraction) -> list[Suspect]:
    claim = PureDP(epsilon=epsilon)
    exponential = ExponentialMechanism(sensitivity=_FAR, candidates=_CANDIDATES, epsilon=epsilon)
    flip = PermuteAndFlip(sensitivity=_FAR, candidates=_CANDIDATES, epsilon=epsilon)
    counts = PermuteAndFlip(
        sensitivity=_FAR, candidates=_CANDIDATES, epsilon=epsilon, monotone_under=Adjacency.ADD_REMOVE
    )
    winner = NoisyMaxWithGap(sensitivity=_FAR, candidates=2, epsilon=epsilon)

    def told(scores: list[int]) -> tuple[int, float]:
        won = winner.release(scores)
        return won.index, won.gap

    return [
        Suspect(
            name="exponential",
            claim=claim,
            box=lambda noise: Choice(
                rule=AuditedRule.EXPONENTIAL, scale=float(score_scale(exponential) * noise), sensitivity=_FAR
            ),
            release=exponential.release,
            neighbours=_BEHIND,
        ),
        Suspect(
            name="exponential-rho",
            claim=ConcentratedDP(rho=epsilon**2 / 8),
            box=lambda noise: Choice(
                rule=AuditedRule.EXPONENTIAL,
                scale=float(score_scale(exponential) * noise),
                sensitivity=_FAR,
                candidates=2,
            ),
            release=exponential.release,
            neighbours=_BEHIND,
        ),
        Suspect(
            name="permute-and-flip",
            claim=claim,
            box=lambda noise: Choice(
                rule=AuditedRule.PERMUTE_AND_FLIP, scale=float(score_scale(flip) * noise), sensitivity=_FAR
            ),
            release=flip.release,
            neighbours=_BEHIND,
        ),
        Suspect(
            name="permute-and-flip-counts",
            claim=claim,
            box=lambda noise: Choice(
                rule=AuditedRule.PERMUTE_AND_FLIP,
                scale=float(score_scale(counts) * noise),
                sensitivity=_FAR,
                movement=AuditedMovement.TOGETHER,
            ),
            release=counts.release,
            neighbours=([0, 0, -12], [0, 0, _FAR - 12]),
        ),
        Suspect(
            name="noisy-max-with-gap",
            claim=claim,
            box=lambda noise: Choice(
                rule=AuditedRule.PERMUTE_AND_FLIP,
                scale=float(score_scale(winner) * noise),
                sensitivity=_FAR,
                candidates=2,
                gaps=tuple(float(score_scale(winner)) * edge for edge in (0.0, 0.5, 1.0, 2.0, 4.0)),
            ),
            release=told,
            neighbours=([0, -12], [-_FAR, _FAR - 12]),
        ),
    ]


def _ranked(epsilon: Fraction) -> list[Suspect]:
    claim = PureDP(epsilon=epsilon)
    median = PrivateQuantiles(at=[Fraction(1, 2)], cells=_CELLS, sensitivities=[_FAR], epsilon=epsilon)
    top = TopK(k=_TOP, cells=_TOP_CELLS, sensitivity=_FAR, epsilon=epsilon, monotone_under=Adjacency.ADD_REMOVE)
    return [
        Suspect(
            name="median",
            claim=claim,
            box=lambda noise: HistogramChoice(
                rule=AuditedRule.PERMUTE_AND_FLIP,
                scale=float(score_scale(median) * noise),
                cells=_CELLS,
                at=median.at,
                rows=_FAR,
            ),
            release=median.release,
            neighbours=([0, 9, 0, 0, 0, 9], [_FAR, 9, 0, 0, 0, 9]),
        ),
        Suspect(
            name="top-two",
            claim=claim,
            box=lambda noise: HistogramChoice(
                rule=AuditedRule.PERMUTE_AND_FLIP,
                scale=float(score_scale(top) * noise),
                cells=_TOP_CELLS,
                top=_TOP,
                rows=_FAR,
            ),
            release=top.release,
            neighbours=([0, 0, 12], [0, 0, 12 + _FAR]),
        ),
    ]


def _answers_and_keys(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    keys = PartitionSelection(l1_sensitivity=_KEYS, epsilon=epsilon, delta=delta)
    return [
        _responding("randomized-response", epsilon, RandomizedResponse(epsilon=epsilon)),
        _responding(
            "randomized-response-of-five", epsilon, RandomizedResponse(epsilon=epsilon, categories=_CATEGORIES)
        ),
        Suspect(
            name="stable-keys",
            claim=ApproximateDP(epsilon=epsilon, delta=delta),
            box=lambda noise: ThresholdedKeys(law=noise_of(keys, noise), threshold=keys.threshold, reach=_KEYS),
            release=lambda counts: tuple(keys.release(counts).items()),
            neighbours=({"a": (keys.threshold,), "b": (30,)}, {"a": (keys.threshold + 1,), "b": (31,)}),
        ),
    ]


def _responding(name: str, epsilon: Fraction, mechanism: RandomizedResponse) -> Suspect:
    return Suspect(
        name=name,
        claim=PureDP(epsilon=epsilon),
        box=lambda noise: RandomizedAnswer(
            odds=odds_of_truth(mechanism) ** float(1 / noise), categories=mechanism.event.categories
        ),
        release=mechanism.release,
        neighbours=(0, 1),
    )

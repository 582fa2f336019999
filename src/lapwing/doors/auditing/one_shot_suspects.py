"""Suspects that release once: they add noise, choose, answer for one person or show keys.

And what accounting says of several of them, of samples and of groups.
"""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from lapwing.accounting.conversions import guarantee_for_group
from lapwing.accounting.losses.sampled import amplified
from lapwing.accounting.pricing import price
from lapwing.auditor.added_noise import AddedNoise, Norm, OnASample, Several
from lapwing.auditor.choices import (
    AuditedRule,
    Choice,
    CountedChoice,
    EnclosedChoice,
    HistogramChoice,
    RandomizedAnswer,
    ThresholdedKeys,
)
from lapwing.auditor.worst_pairs import AuditedMovement
from lapwing.doors.auditing.suspect import Adding, Suspect, law_of, noise_of, odds_of_truth, score_scale
from lapwing.mechanisms.counted_top import CountedTop
from lapwing.mechanisms.enclosed_quantiles import EnclosedQuantiles
from lapwing.mechanisms.exponential import ExponentialMechanism, ExponentialOnRange
from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism, GaussianMechanism
from lapwing.mechanisms.histogram import gaussian_histogram, geometric_histogram
from lapwing.mechanisms.histogram_selection import PrivateQuantiles, TopK
from lapwing.mechanisms.laplace import GeometricMechanism, LaplaceMechanism
from lapwing.mechanisms.partition_selection import PartitionSelection
from lapwing.mechanisms.permute_and_flip import NoisyMaxWithGap, PermuteAndFlip, Winner
from lapwing.mechanisms.private_gradients import Factors, NumpyArrays, PrivateGradients, descent_event
from lapwing.mechanisms.randomized_response import RandomizedResponse
from lapwing.mechanisms.residual_basis import Axes, ResidualMechanism, squared_move
from lapwing.mechanisms.score_selection import ScoreSelection
from lapwing.noise.laws import RoundedGaussian
from lapwing.vocabulary.event import (
    Composed,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    ExponentialSelection,
    GaussianNoise,
    Repeated,
)
from lapwing.vocabulary.exact import fraction_above
from lapwing.vocabulary.guarantee import (
    Adjacency,
    ApproximateDP,
    ConcentratedDP,
    GaussianDP,
    Guarantee,
    PrivacyUnit,
    PureDP,
)

Ranking: TypeAlias = PrivateQuantiles | TopK

_FAR = 3
"""How far one person moves a number or a score: not 1, so that a sensitivity that is forgotten or squared is seen."""
_BINS = 3
_FINE = 2**20
_BINS_TOUCHED = 2  # of a histogram, by a person who is replaced: each by one
_GROUP = 3
_RATE = Fraction(1, 10)
_ANSWERS = 8
_CLIP = 30
_GRID = Fraction(1, 16)
_FIVE_STEPS = Fraction(3, 10)
"""A sensitivity of 4.8 steps of the grid: two numbers so far apart are rounded to multiples at most 5 steps apart."""
_EIGHT_STEPS = Fraction(1, 2)
_HISTOGRAMS = ([5, 5, 5], [4, 6, 5])
_CANDIDATES = 3
_CATEGORIES = 5
_CELLS = 6
_TOP, _TOP_CELLS = 2, 3
_INTERVAL_CELLS = 6
_KEYS = 2
_BEHIND = ([0, 0, -12], [-_FAR, -_FAR, _FAR - 12])  # scores of three candidates, of which the last catches up


def noise_suspects(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    """Return the mechanisms that add noise, at this price."""
    families = _pure(epsilon), _gaussian(epsilon, delta), _accounted(epsilon, delta), _groups(epsilon, delta)
    return [*itertools.chain(*families), _residuals(epsilon)]


def _adding(
    name: str, claim: Guarantee, mechanism: Adding, reach: int, neighbours: tuple[Any, Any], **box: Any
) -> Suspect:
    """Return a mechanism that adds noise to what one person moves by `reach` steps."""

    def release(value: Any) -> object:
        noisy = mechanism.release(value)
        return tuple(noisy.tolist()) if isinstance(noisy, np.ndarray) else noisy

    return Suspect(
        name=name,
        claim=claim,
        box=lambda noise: AddedNoise(law=noise_of(mechanism, noise), reach=reach, **box),
        release=release,
        neighbours=neighbours,
    )


def _pure(epsilon: Fraction) -> list[Suspect]:
    claim = PureDP(epsilon=epsilon)
    geometric = GeometricMechanism(l1_sensitivity=_FAR, epsilon=epsilon)
    histogram = geometric_histogram(bins=_BINS, adjacency=Adjacency.REPLACE, epsilon=epsilon)
    laplace = LaplaceMechanism(l1_sensitivity=_FIVE_STEPS, epsilon=epsilon, grid=_GRID)
    return [
        _adding("geometric", claim, geometric, _FAR, (0, _FAR)),
        _adding("geometric-histogram", claim, histogram, _BINS_TOUCHED, _HISTOGRAMS, dimension=_BINS),
        _adding("laplace", claim, laplace, 5, (0.0, 0.3)),
    ]


def _gaussian(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    both, rho = ApproximateDP(epsilon=epsilon, delta=delta), epsilon**2 / 2
    gaussian = GaussianMechanism(l2_sensitivity=_EIGHT_STEPS, epsilon=epsilon, delta=delta, grid=_GRID)
    by_mu = GaussianMechanism(l2_sensitivity=_FAR, rho=rho, grid=_GRID)
    discrete = DiscreteGaussianMechanism(l2_sensitivity=_FAR, epsilon=epsilon, delta=delta)
    by_rho = DiscreteGaussianMechanism(l2_sensitivity=_FAR, rho=rho)
    histogram = gaussian_histogram(bins=_BINS, adjacency=Adjacency.REPLACE, epsilon=epsilon, delta=delta)
    squared = {"norm": Norm.L2_SQUARED, "dimension": _BINS}
    return [
        _adding("gaussian", both, gaussian, 8, (0.0, 0.5)),
        _adding("gaussian-mu", GaussianDP(mu_squared=2 * rho), by_mu, int(_FAR / _GRID), (0.0, float(_FAR))),
        _adding("discrete-gaussian", both, discrete, _FAR, (0, _FAR)),
        _adding("discrete-gaussian-rho", ConcentratedDP(rho=rho), by_rho, _FAR, (0, _FAR)),
        _adding("gaussian-histogram", both, histogram, _BINS_TOUCHED, _HISTOGRAMS, **squared),
    ]


def _residuals(epsilon: Fraction) -> Suspect:
    """Return the residuals of a table of three codes: the number of people, and the table centred, in whole numbers."""
    codes, unit, half = (_BINS,), PrivacyUnit(person_key="id"), epsilon**2 / 2
    all_: list[Axes] = [(), (0,)]
    moved = {axes: squared_move(codes[: len(axes)], unit) for axes in all_}
    sigmas = {axes: Fraction(math.isqrt(math.ceil(far / half * _FINE**2)) + 1, _FINE) for axes, far in moved.items()}
    event = GaussianNoise(l2_sensitivity_squared=epsilon**2, sigma_squared=Fraction(1))
    basis = ResidualMechanism(codes=codes, sigmas=sigmas, unit=unit, event=event)

    def box(noise: Fraction) -> Several:
        laws = {axes: law_of(RoundedGaussian(sigma), Fraction(1), noise) for axes, sigma in basis.sigmas.items()}
        total = AddedNoise(law=laws[()], reach=moved[()])
        return Several(
            parts=(total, AddedNoise(law=laws[(0,)], reach=moved[(0,)], norm=Norm.L2_SQUARED, dimension=_BINS))
        )

    return Suspect(
        name="residual-basis",
        claim=GaussianDP(mu_squared=epsilon**2),
        box=box,
        release=lambda table: tuple(itertools.chain(*basis.release({(0,): table}))),
        neighbours=([5, 5, 5], [6, 5, 5]),
    )


def _accounted(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    """Return suspects whose claims the accounting makes: of samples, and of compositions of releases."""
    share, rho = epsilon / _ANSWERS, epsilon**2 / 2
    geometric = GeometricMechanism(l1_sensitivity=_FAR, epsilon=epsilon)
    one_of_many = GeometricMechanism(l1_sensitivity=_FAR, epsilon=share)
    discrete = DiscreteGaussianMechanism(l2_sensitivity=_FAR, epsilon=epsilon, delta=delta)
    by_rho = DiscreteGaussianMechanism(l2_sensitivity=_FAR, rho=rho)
    priced_geometric = DiscreteLaplaceNoise(l1_sensitivity=_FAR, scale=_FAR / epsilon)
    priced_share = DiscreteLaplaceNoise(l1_sensitivity=_FAR, scale=_FAR / share)
    priced_gaussian = DiscreteGaussianNoise(
        l2_sensitivity_squared=_FAR**2, sigma_squared=_FAR**2 / (2 * rho), dimension=1
    )

    step = PrivateGradients(rate=_RATE, sigma_squared=1 / (2 * rho), clip=_CLIP)

    def part(mechanism: Adding, noise: Fraction) -> AddedNoise:
        return AddedNoise(law=noise_of(mechanism, noise), reach=_FAR)

    return [
        Suspect(
            name="sampled-geometric",
            claim=amplified(PureDP(epsilon=epsilon), _RATE),
            box=lambda noise: OnASample(part=part(geometric, noise), rate=float(_RATE)),
        ),
        Suspect(
            name="sampled-gaussian",
            claim=amplified(ApproximateDP(epsilon=epsilon, delta=delta), _RATE),
            box=lambda noise: OnASample(part=part(discrete, noise), rate=float(_RATE)),
        ),
        Suspect(
            name="private-gradients",
            claim=_priced(descent_event(_RATE, 1 / (2 * rho), 1), delta),
            box=lambda noise: OnASample(
                part=AddedNoise(law=law_of(step.law, Fraction(1), noise), reach=step.clip), rate=float(_RATE)
            ),
            release=lambda people: int(step.release(people, _whole_gradients, [(1, 1)], NumpyArrays())[0][0, 0]),
            neighbours=(np.zeros((0, 1), np.int64), np.full((1, 1), 10 * _CLIP)),
        ),
        Suspect(
            name="eight-geometric",
            claim=_priced(Repeated(part=priced_share, times=_ANSWERS), delta),
            box=lambda noise: Several(parts=(part(one_of_many, noise),) * _ANSWERS),
        ),
        Suspect(
            name="geometric-and-gaussian",
            claim=_priced(Composed(parts=(priced_geometric, priced_gaussian)), delta),
            box=lambda noise: Several(parts=(part(geometric, noise), part(by_rho, noise))),
        ),
    ]


def _whole_gradients(rows: Any) -> list[Factors]:
    """Return the gradients of people whose rows are their gradients."""
    return [Factors(rows, np.ones_like(rows))]


def _groups(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    """Return suspects with the claims for groups of three people, in every currency."""
    rho, far = epsilon**2 / 2, _GROUP * _FAR
    geometric = GeometricMechanism(l1_sensitivity=_FAR, epsilon=epsilon)
    discrete = DiscreteGaussianMechanism(l2_sensitivity=_FAR, epsilon=epsilon, delta=delta)
    by_rho = DiscreteGaussianMechanism(l2_sensitivity=_FAR, rho=rho)
    by_mu = GaussianMechanism(l2_sensitivity=_FAR, rho=rho, grid=_GRID)

    def family(name: str, promise: Guarantee, mechanism: Adding, steps: int) -> Suspect:
        return _adding(name, guarantee_for_group(promise, _GROUP), mechanism, steps, (0, far))

    return [
        family("group-of-three", PureDP(epsilon=epsilon), geometric, far),
        family("group-of-three-delta", ApproximateDP(epsilon=epsilon, delta=delta), discrete, far),
        family("group-of-three-rho", ConcentratedDP(rho=rho), by_rho, far),
        family("group-of-three-mu", GaussianDP(mu_squared=2 * rho), by_mu, int(far / _GRID)),
    ]


def _priced(event: Event, delta: Fraction) -> ApproximateDP:
    return ApproximateDP(epsilon=fraction_above(price(event).epsilon(float(delta))), delta=delta)


def choice_suspects(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    """Return the mechanisms that choose among candidates, categories or keys, at this price."""
    return [*_selection(epsilon), *_ranked(epsilon), *_answers_and_keys(epsilon, delta)]


def _choosing(
    name: str, claim: Guarantee, mechanism: ScoreSelection[Any], neighbours: tuple[Any, Any], **box: Any
) -> Suspect:
    """Return a mechanism that chooses by scores, which one person moves by `_FAR`."""
    exponential = isinstance(mechanism.event, ExponentialSelection)
    rule = AuditedRule.EXPONENTIAL if exponential else AuditedRule.PERMUTE_AND_FLIP

    def release(scores: list[int]) -> object:
        chosen = mechanism.release(scores)
        return (chosen.index, chosen.gap) if isinstance(chosen, Winner) else chosen

    return Suspect(
        name=name,
        claim=claim,
        box=lambda noise: Choice(rule=rule, scale=score_scale(mechanism, noise), sensitivity=_FAR, **box),
        release=release,
        neighbours=neighbours,
    )


def _selection(epsilon: Fraction) -> list[Suspect]:
    claim = PureDP(epsilon=epsilon)
    among: dict[str, Any] = {"sensitivity": _FAR, "candidates": _CANDIDATES, "epsilon": epsilon}
    exponential, flip = ExponentialMechanism(**among), PermuteAndFlip(**among)
    on_range = ExponentialOnRange(low=0, high=_CANDIDATES - 1, sensitivity=_FAR, epsilon=epsilon)
    counts = PermuteAndFlip(**among, monotone_under=Adjacency.ADD_REMOVE)
    winner = NoisyMaxWithGap(sensitivity=_FAR, candidates=2, epsilon=epsilon)
    rising, two = ([0, 0, -12], [0, 0, _FAR - 12]), ([0, -12], [-_FAR, _FAR - 12])
    gaps = tuple(score_scale(winner) * edge for edge in (0.0, 0.5, 1.0, 2.0, 4.0))
    return [
        _choosing("exponential", claim, exponential, _BEHIND),
        _choosing("exponential-rho", ConcentratedDP(rho=epsilon**2 / 8), exponential, _BEHIND, candidates=2),
        replace(
            _choosing("exponential-on-range", claim, on_range, _BEHIND),
            release=lambda scores: on_range.release(scores, starts=[*range(_CANDIDATES)]),
        ),
        _choosing("permute-and-flip", claim, flip, _BEHIND),
        _choosing("permute-and-flip-counts", claim, counts, rising, movement=AuditedMovement.TOGETHER),
        _choosing("noisy-max-with-gap", claim, winner, two, candidates=2, gaps=gaps),
    ]


def _ranked(epsilon: Fraction) -> list[Suspect]:
    median = PrivateQuantiles(at=[Fraction(1, 2)], cells=_CELLS, sensitivities=[_FAR], epsilon=epsilon)
    sure = EnclosedQuantiles(
        at=[Fraction(1, 2)], cells=_INTERVAL_CELLS, sensitivities=[_FAR], l1_sensitivity=_FAR, epsilon=epsilon
    )
    top = TopK(k=_TOP, cells=_TOP_CELLS, sensitivity=_FAR, epsilon=epsilon, monotone_under=Adjacency.ADD_REMOVE)

    def ranked(name: str, mechanism: Ranking, neighbours: tuple[Any, Any], **box: Any) -> Suspect:
        rule, cells = AuditedRule.PERMUTE_AND_FLIP, mechanism.cells
        return Suspect(
            name=name,
            claim=PureDP(epsilon=epsilon),
            box=lambda noise: HistogramChoice(
                rule=rule, scale=score_scale(mechanism, noise), cells=cells, rows=_FAR, **box
            ),
            release=mechanism.release,
            neighbours=neighbours,
        )

    def with_interval(noise: Fraction) -> EnclosedChoice:
        (chooser,), ((down, up),) = sure.choosers, sure.shifts
        scale = float(chooser.noise_scale * noise)
        rule, cells, ends = AuditedRule.PERMUTE_AND_FLIP, _INTERVAL_CELLS, ((-down, scale), (up, scale))
        choice = HistogramChoice(rule=rule, scale=scale, cells=cells, rows=_FAR, at=sure.at, ends=ends)
        return EnclosedChoice(choice=choice, law=noise_of(sure.counting, noise))

    half = epsilon / 2
    counted = CountedTop(
        k=_TOP,
        cells=_TOP_CELLS,
        sensitivity=_FAR,
        choosing=half,
        counting=half,
        monotone_under=Adjacency.ADD_REMOVE,
    )

    def with_counts(noise: Fraction) -> CountedChoice:
        scale = score_scale(counted.choice, noise)
        choice = HistogramChoice(rule=AuditedRule.PERMUTE_AND_FLIP, scale=scale, cells=_TOP_CELLS, rows=_FAR, top=_TOP)
        return CountedChoice(choice=choice, law=noise_of(counted.counts, noise))

    return [
        Suspect(
            name="top-two-with-counts",
            claim=PureDP(epsilon=epsilon),
            box=with_counts,
            release=counted.release,
            neighbours=([0, 0, 12], [_FAR, _FAR, 12 + _FAR]),
        ),
        ranked("median", median, ([0, 9, 0, 0, 0, 9], [_FAR, 9, 0, 0, 0, 9]), at=median.at),
        Suspect(
            name="median-with-interval",
            claim=PureDP(epsilon=epsilon),
            box=with_interval,
            release=sure.release,
            neighbours=([9, 0, 9, 0, 0, 9], [9 + _FAR, 0, 9, 0, 0, 9]),
        ),
        ranked("top-two", top, ([0, 0, 12], [0, 0, 12 + _FAR]), top=_TOP),
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

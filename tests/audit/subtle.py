"""What takes minutes: `make audit`. The whole blind trial, the liars that a hundred thousand draws do not catch, and
whole sessions with many draws."""

import math

import numpy as np
import pytest

from audit.blind_trial import FAMILIES, trial
from audit.broken_mechanisms import SIGMA, discrete_laplace, laplace, on_a_grid, sparse_vector
from audit.test_whole_sessions import watched
from audit.whole_sessions import SCRIPTS
from lapwing.auditor.black_box import audit
from lapwing.vocabulary.guarantee import ApproximateDP, GaussianDP, PureDP
from statistical.goodness import FALSE_ALARM

RNG = np.random.default_rng()
ONE = PureDP(epsilon=1)


def test_noise_five_percent_too_small_is_told_from_the_right_noise_twenty_times_out_of_twenty() -> None:
    verdicts = trial()
    assert len(verdicts) == 2 * len(FAMILIES) == 20
    assert [verdict for verdict in verdicts if not verdict.right] == []


def compared_value(values, n):
    """The scales of a correct sparse vector; its only mistake is to tell the value that it compared."""
    run = sparse_vector(values, n, threshold=laplace(RNG, 2), query=laplace(RNG, 4), tells="value")
    told = np.where(np.isnan(run.told), math.inf, run.told).min(axis=1)
    return np.column_stack([(run.said == 0).sum(axis=1), np.where(np.isinf(told), 99, on_a_grid(told))])


def keeps_a_key_at_eight(people, n):
    noisy = people + discrete_laplace(RNG, 1)(n)
    return np.where((noisy >= 8) & (people > 0), noisy, math.nan)


NOES = 8
SUBTLE = {
    "a hundredth too little noise": (
        lambda count, n: on_a_grid(count + RNG.laplace(0, 0.99, n)),
        ONE,
        (0, 1),
        12_000_000,
    ),
    "a twentieth too little deviation": (
        lambda count, n: on_a_grid(count + RNG.normal(0, 0.95 * SIGMA, n)),
        GaussianDP(mu_squared=1 / SIGMA**2),
        (0, 1),
        3_000_000,
    ),
    "the compared value at the right scales": (
        compared_value,
        ONE,
        ((0.0,) * NOES + (1.0,), (1.0,) * NOES + (0.0,)),
        4_000_000,
    ),
    "a key at its threshold": (
        keeps_a_key_at_eight,
        ApproximateDP(epsilon=1, delta=math.exp(-8) / (1 + math.exp(-1))),
        (0, 1),
        1_000_000,
    ),
}


@pytest.mark.parametrize(("many", "claim", "neighbours", "samples"), SUBTLE.values(), ids=SUBTLE)
def test_a_subtle_lie_is_caught(many, claim, neighbours, samples) -> None:
    found = audit(many=many, claim=claim, neighbours=neighbours, samples=samples)
    assert found.refuted, found


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_session_gives_away_no_more_than_it_charges_in_many_draws(script, quick_path) -> None:
    found = watched(quick_path, script, samples=600, false_alarm=FALSE_ALARM)
    assert not found.refuted, found

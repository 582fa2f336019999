"""The cheap part of the blind trial: three families, six envelopes. `make audit` runs all twenty."""

from audit.blind_trial import CLAIM, FAMILIES, TOO_LITTLE, trial
from lapwing.auditor.black_box import audit

CHEAP = ("a count, on the integers", "a sum, on a fine grid", "randomized response of two")


def test_noise_five_percent_too_small_is_told_from_the_right_noise_six_times_out_of_six() -> None:
    verdicts = trial(CHEAP)
    assert len(verdicts) == 6
    assert all(verdict.right for verdict in verdicts), [str(one.finding) for one in verdicts if not one.right]


def test_a_hundredth_of_the_draws_would_not_tell() -> None:
    """The verdicts come from the draws: six thousand are nine deviations short of seeing 5 %."""
    count = FAMILIES[CHEAP[0]]
    found = audit(many=count.many(TOO_LITTLE), claim=CLAIM, neighbours=count.neighbours, samples=count.samples // 100)
    assert not found.refuted

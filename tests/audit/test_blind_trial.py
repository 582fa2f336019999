"""The cheap part of the blind trial: three families, six envelopes. `make audit` runs all twenty."""

from audit.blind_trial import FAMILIES, expected_bound, trial

CHEAP = ("a count, on the integers", "a sum, on a fine grid", "randomized response of two")


def test_noise_five_percent_too_small_is_told_from_the_right_noise_six_times_out_of_six() -> None:
    verdicts = trial(CHEAP)
    assert len(verdicts) == 6
    assert all(verdict.right for verdict in verdicts), [str(one.finding) for one in verdicts if not one.right]


def test_the_draws_are_enough_and_a_tenth_of_them_would_not_be() -> None:
    """The trial has power by its size, and not by luck."""
    samples = FAMILIES[CHEAP[0]].samples
    assert expected_bound(samples) > 1.02
    assert expected_bound(samples // 10) < 1

"""Each law against closed forms in thirty digits."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from lapwing.auditor.noise_laws import (
    AuditedDiscreteGaussian,
    AuditedDiscreteLaplace,
    AuditedGeometric,
    AuditedRoundedGaussian,
    Exponential,
    Gaussian,
    Laplace,
    Mirrored,
    NoNoise,
    Shifted,
    just_above,
    log_between,
)
from lapwing.vocabulary.errors import ParameterError

mp.mp.dps = 30
B = mp.mpf(3)
REAL_POINTS = (-90.0, -7.5, -1.0, -1e-9, 0.0, 1e-9, 0.25, 2.0, 7.5, 90.0)
WHOLE_POINTS = (-90, -7, -1, 0, 1, 2, 7, 90)


def lattice_sum(weight, low, high=400):
    return mp.fsum(weight(mp.mpf(n)) for n in range(low, high))


def discrete_gaussian_at_least(n):
    def weight(k):
        return mp.e ** (-((k / B) ** 2) / 2)

    return lattice_sum(weight, n) / lattice_sum(weight, -400)


CONTINUOUS = {
    Laplace(3): (
        lambda x: mp.e ** (-abs(x) / B) / (2 * B),
        lambda x: mp.e ** (-x / B) / 2 if x >= 0 else 1 - mp.e ** (x / B) / 2,
    ),
    Exponential(3): (
        lambda x: mp.e ** (-x / B) / B if x >= 0 else mp.mpf(0),
        lambda x: mp.e ** (-x / B) if x >= 0 else mp.mpf(1),
    ),
    Gaussian(3): (lambda x: mp.npdf(x, 0, B), lambda x: mp.erfc(x / B / mp.sqrt(2)) / 2),
}
LATTICE = {
    AuditedGeometric(3): lambda n: mp.e ** (-max(n, 0) / B),
    AuditedDiscreteLaplace(3): lambda n: (
        mp.e ** (-n / B) / (1 + mp.e ** (-1 / B)) if n >= 1 else 1 - mp.e ** ((n - 1) / B) / (1 + mp.e ** (-1 / B))
    ),
    AuditedDiscreteGaussian(3): discrete_gaussian_at_least,
    AuditedRoundedGaussian(3): lambda n: mp.erfc((n - mp.mpf(1) / 2) / B / mp.sqrt(2)) / 2,
}


def agrees(log, value):
    return log == -np.inf if value == 0 else log == pytest.approx(float(mp.log(value)), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
@pytest.mark.parametrize("x", REAL_POINTS)
def test_a_continuous_law_agrees_with_its_closed_form(law, x) -> None:
    density, at_least = CONTINUOUS[law]
    at = mp.mpf(x)
    below = at_least(-at) if law != Exponential(3) else (1 - at_least(at))
    assert agrees(float(law.log_density(x)), density(at))
    assert agrees(float(law.log_at_least(x)), at_least(at))
    assert agrees(float(law.log_below(x)), below)


@pytest.mark.parametrize("law", LATTICE, ids=repr)
@pytest.mark.parametrize("n", WHOLE_POINTS)
def test_a_lattice_law_agrees_with_its_closed_form(law, n) -> None:
    at_least = LATTICE[law]
    assert agrees(float(law.log_at_least(n)), at_least(n))
    mirror = Mirrored(law)
    assert agrees(float(mirror.log_below(1 - n)), at_least(n)), "-noise < 1 - n is noise >= n"
    if n >= 0 or not isinstance(law, AuditedGeometric):
        tail = n if n >= 0 else -n
        assert agrees(float(law.log_density(n)), at_least(tail) - at_least(tail + 1))


@pytest.mark.parametrize("law", LATTICE, ids=repr)
def test_what_is_below_and_what_is_not_make_one_also_between_lattice_points(law) -> None:
    for offset in (0, Fraction(1, 3), 0.5, -2.75):
        total = np.exp(law.log_below(0, offset)) + np.exp(law.log_at_least(0, offset))
        assert total == pytest.approx(1, abs=1e-15)
    assert law.log_at_least(0, 2.5) == law.log_at_least(3)
    assert law.log_density(0, 2.5) == -np.inf


@pytest.mark.parametrize("law", [*CONTINUOUS, *LATTICE], ids=repr)
def test_every_law_is_log_concave_because_the_certificate_rests_on_it(law) -> None:
    z = np.arange(-200.0, 201.0)
    for log in (law.log_density(z), law.log_at_least(z), law.log_below(z)):
        inside = log[log > -np.inf]
        assert np.diff(inside, 2).max() <= 1e-11


def test_a_finer_lattice_is_the_same_law_in_smaller_units() -> None:
    coarse, fine = AuditedGeometric(16), AuditedGeometric(2, step=Fraction(1, 8))
    assert fine.log_at_least(0, Fraction(3, 8)) == coarse.log_at_least(3)
    assert fine.log_density(np.array([0.125, 1.0])) == pytest.approx(coarse.log_density(np.array([1.0, 8.0])))


def test_shifting_and_mirroring_are_what_they_say() -> None:
    assert Shifted(Laplace(2), by=5).log_at_least(7) == Laplace(2).log_at_least(2)
    assert Shifted(AuditedGeometric(2), by=-3).log_density(-3) == AuditedGeometric(2).log_density(0)
    assert Mirrored(Exponential(2)).log_below(-3) == Exponential(2).log_at_least(3)
    assert Mirrored(AuditedGeometric(2)).log_at_least(-3) == AuditedGeometric(2).log_below(4)
    assert Mirrored(Shifted(Exponential(2), by=1)).landmarks == (-1.0,)


def test_probabilities_of_intervals_keep_their_digits_in_both_tails() -> None:
    thin = mp.mpf(2) ** -20
    for low in (-60, -1, 0, 60):
        expected = mp.log(mp.quad(CONTINUOUS[Gaussian(3)][0], [low, low + thin]))
        found = float(log_between(Gaussian(3), (0.0, low), (0.0, low + float(thin))))
        assert found == pytest.approx(float(expected), abs=1e-7)
    assert log_between(Laplace(3), (0.0, 50), (0.0, 51)) == pytest.approx(
        float(mp.log((1 - mp.e ** (-1 / B)) / 2) - 50 / B), abs=1e-13
    )
    assert log_between(Laplace(3), (0.0, -np.inf), (0.0, np.inf)) == 0.0
    assert log_between(Laplace(3), (0.0, 2), (0.0, 1)) == -np.inf


def test_just_above_is_the_next_lattice_point() -> None:
    assert [just_above(x, Fraction(1, 2)) for x in (0, 0.25, 0.5, -0.1)] == [0.5, 0.5, 1, 0]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Laplace(0), "scale"),
        (lambda: Gaussian(float("nan")), "scale"),
        (lambda: AuditedGeometric(-1), "scale"),
        (lambda: AuditedGeometric(2, step=Fraction(1, 3)), "step"),
        (lambda: Shifted(AuditedGeometric(2), by=0.5), "by"),
        (lambda: AuditedGeometric(2).log_at_least(0.5), "z"),
        (lambda: Mirrored(NoNoise()), "law"),
    ],
    ids=["zero", "nan", "negative", "no dyadic step", "off the lattice", "between lattice points", "nothing to move"],
)
def test_what_is_no_law_is_refused(make, name) -> None:
    with pytest.raises(ParameterError) as refusal:
        make()
    assert refusal.value.name == name


def test_no_noise_is_always_zero() -> None:
    assert NoNoise().log_density([-1.0, 0.0, 1.0]).tolist() == [-np.inf, 0.0, -np.inf]
    assert NoNoise().log_below([-1.0, 0.0, 1.0]).tolist() == [-np.inf, -np.inf, 0.0]

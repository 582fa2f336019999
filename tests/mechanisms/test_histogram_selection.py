from fractions import Fraction

import pytest

from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.histogram_selection import PrivateQuantiles, TopK
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed, ExponentialSelection, PureRelease
from lapwing.vocabulary.exact import Sensitive


def quantile(**changed) -> PrivateQuantiles:
    at = changed.pop("at", ["0.5"])
    return PrivateQuantiles(at=at, **{"cells": 10, "sensitivities": [1] * len(at), "epsilon": 1, **changed})


def test_the_price_is_shared_and_the_event_says_so() -> None:
    three = quantile(at=["0.25", "0.5", "0.75"], epsilon=3)
    assert three.event == Composed(parts=(PureRelease(epsilon=Fraction(1)),) * 3)
    assert three.loss.pure_epsilon == 3
    assert quantile(selector=ExponentialMechanism).event == ExponentialSelection(epsilon=Fraction(1))
    assert TopK(k=2, cells=5, sensitivity=1, epsilon=1).loss.pure_epsilon == 1


def test_clear_choices_are_made() -> None:
    assert quantile(epsilon=20).release(Sensitive((0,) * 5 + (10_000,) + (0,) * 4)) == (5,)
    assert quantile(at=["0.15", "0.85"], epsilon=20).release([10_000] * 10) == (1, 8)
    assert TopK(k=3, cells=4, sensitivity=1, epsilon=20).release(Sensitive((5, 10**6, 10**5, 10**4))) == (1, 2, 3)


def test_an_empty_table_is_answered() -> None:
    assert quantile().release([0] * 10)[0] in range(10)
    assert TopK(k=1, cells=3, sensitivity=1, epsilon=1).release([0, 0, 0])[0] in range(3)


def test_margins_count_rows_and_people() -> None:
    assert quantile(epsilon=2).margin("0.95") * 2 == pytest.approx(quantile(epsilon=1).margin("0.95"), rel=1e-6)
    one, two = (TopK(k=k, cells=5, sensitivity=1, epsilon=k).margin("0.95") for k in (1, 2))
    assert one < two


@pytest.mark.parametrize("value", [[1, 2], 3, Sensitive((1,) * 11)], ids=["short", "a number", "long"])
def test_a_vector_of_another_size_is_refused_without_telling_it(value) -> None:
    for mechanism in (quantile(), TopK(k=1, cells=10, sensitivity=1, epsilon=1)):
        with pytest.raises(ParameterError, match="does not have the 10 coordinates"):
            mechanism.release(value)


@pytest.mark.parametrize(
    "bad", [{"at": []}, {"at": [1]}, {"cells": 0}, {"sensitivities": [0]}, {"epsilon": 0}], ids=str
)
def test_bad_parameters_are_refused(bad) -> None:
    with pytest.raises(ParameterError):
        quantile(**bad)


def test_each_fraction_has_its_own_sensitivity() -> None:
    one, two = quantile(at=["0.25", "0.5"], sensitivities=[30, 20], epsilon=2).selectors
    assert (one.lattice.scale, two.lattice.scale) == (pytest.approx(60), pytest.approx(40)), "twice, at epsilon 1 each"
    with pytest.raises(ParameterError, match="one for each"):
        quantile(at=["0.25", "0.5"], sensitivities=[30])

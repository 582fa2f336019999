"""Counts on a secret sample: the law of the sample, the price that it brings down, and what it is not for."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.auditor.added_noise import AddedNoise, OnASample
from lapwing.auditor.noise_laws import AuditedDiscreteLaplace
from lapwing.mechanisms.sampled_counts import SampledCounts, _heads
from lapwing.noise.coins_and_dice import Coin
from lapwing.vocabulary.errors import BadQuestionError, LapwingError, ParameterError
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency, PureDP
from noise.sources import Stream
from session.clinic import Broken, door, new_ledger, population
from session.real_tables import Tables
from statistical.goodness import fits, integer_p_value


@pytest.mark.one_budget("nothing is charged")
def test_who_is_in_the_sample_is_decided_by_a_coin_each(budget) -> None:
    del budget
    mechanism, source = SampledCounts(rate="3/10", epsilon=1), Stream(4)
    coin = Coin(mechanism._bias)
    drawn = np.array([_heads(coin, 40, source) for _ in range(4000)])
    assert fits(integer_p_value(drawn, 0, binom.pmf(np.arange(41), 40, 0.3)))
    assert not fits(integer_p_value(drawn, 0, binom.pmf(np.arange(41), 40, 0.32)))


@pytest.mark.one_budget("nothing is charged")
@pytest.mark.parametrize(("rate", "epsilon"), [("1/10", "0.1"), ("1/2", "1"), ("1/100", "2"), ("99/100", "0.01")])
def test_the_sample_brings_the_price_down_to_what_is_paid_and_not_lower(budget, rate, epsilon) -> None:
    del budget
    mechanism = SampledCounts(rate=rate, epsilon=epsilon)
    scale = float(mechanism.noise.event.scale)
    assert math.log1p(float(Fraction(rate)) * math.expm1(1 / scale)) == pytest.approx(
        float(Fraction(epsilon)), rel=1e-3
    )
    box = OnASample(part=AddedNoise(law=AuditedDiscreteLaplace(scale), reach=1), rate=float(Fraction(rate)))
    found = box.worst(PureDP(epsilon=epsilon))
    assert not found.refuted
    assert found.share > 0.998


@pytest.mark.one_budget("nothing is charged")
def test_a_sample_that_is_not_drawn_or_not_secret_is_refuted(budget) -> None:
    """Noise for a sample, on everybody."""
    del budget
    mechanism = SampledCounts(rate="1/10", epsilon=1)
    law = AuditedDiscreteLaplace(float(mechanism.noise.event.scale))
    assert AddedNoise(law=law, reach=1).worst(PureDP(epsilon=1)).refuted
    assert OnASample(part=AddedNoise(law=law, reach=2), rate=0.1).worst(PureDP(epsilon=1)).refuted


def test_a_sample_is_one_charge_and_says_that_it_does_not_pay(tmp_path, budget) -> None:
    with new_ledger(tmp_path, budget.promise(30)) as ledger:
        clinic = door(ledger, Tables(people=400))
        preview = clinic.preview_sample_count("patients", "sex = 'F'", rate="1/2", epsilon="0.5")
        assert preview.affordable
        assert "does not pay" in preview.advice
        assert preview.sd_of_all < preview.sd_if(0) < preview.sd_if(100)
        first = clinic.sample_count("patients", "sex = 'F'", rate="1/2", epsilon="10")
        assert 40 < first.people / 2 < 160  # of 200 people, half: further off has a chance below 1e-9
        assert len(ledger.bookings("clinic", at_most=9)) == 1
        again = door(ledger, Broken()).sample_count("patients", "sex = 'F'", rate="1/2", epsilon="10")
        assert again.released == first.released
        assert len(ledger.bookings("clinic", at_most=9)) == 1


@pytest.mark.one_budget("it is refused before anything is charged")
def test_groups_and_people_who_are_replaced_are_refused(tmp_path, budget) -> None:
    for place, unit in enumerate(({"adjacency": Adjacency.REPLACE}, {"protects_groups_of": 3})):
        (tmp_path / str(place)).mkdir()
        with new_ledger(tmp_path / str(place), budget.promise(9), **unit) as ledger:
            clinic = door(ledger, Tables(population=population(**unit)), **unit)
            with pytest.raises(BadQuestionError, match="count everybody"):
                clinic.sample_count("patients", rate="1/10", epsilon=1)
            assert ledger.bookings("clinic", at_most=9) == []


@pytest.mark.one_budget("it is refused before anything is charged")
@pytest.mark.parametrize(
    ("rate", "price", "said"),
    [("1", {"epsilon": 1}, "leaves nobody out"), ("0", {"epsilon": 1}, "rate"), ("1/2", {"rho": 1}, "cannot pay")],
)
def test_what_is_wrong_gets_its_sentence(tmp_path, budget, rate, price, said) -> None:
    with new_ledger(tmp_path, budget.promise(9)) as ledger, pytest.raises(ParameterError, match=said):
        door(ledger, Tables()).sample_count("patients", rate=rate, **price)


@pytest.mark.one_budget("nothing is charged")
@pytest.mark.parametrize("bits", [1, 8, 64, 200])
def test_the_bias_of_the_coin_is_enclosed_at_every_precision(budget, bits) -> None:
    del budget
    for rate in (Fraction(1, 3), Fraction(1, 2), Fraction(99, 100)):
        low, high = SampledCounts(rate=rate, epsilon=1)._bias(bits)
        assert low <= rate * 2**bits <= high <= low + 1


@pytest.mark.one_budget("nothing is charged")
def test_plain_and_wrapped_counts_are_released_cell_by_cell(budget) -> None:
    del budget
    mechanism = SampledCounts(rate="1/2", epsilon=19)
    for value in ([1000, 0], Sensitive([1000, 0])):
        first, second = mechanism.release(value)
        assert 350 < first < 650
        assert abs(second) < 10


@pytest.mark.one_budget("it is refused before anything is charged")
def test_a_table_that_is_looked_into_is_one_that_is_asked_about(tmp_path, budget) -> None:
    with new_ledger(tmp_path, budget.promise(30)) as ledger:
        ledger.administration.limit_analyst("clinic", "ana", tables=["patients"], most=None)
        with pytest.raises(LapwingError, match="visits"):
            door(ledger, Tables()).sample_count("patients", "has(visits, ward > 3)", rate="1/2", epsilon=1)
        assert ledger.bookings("clinic", at_most=9) == []

"""What attacks recover is what the theorems say, and the bounds of document 004 are attained in fractions."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.accounting.interpretation import name_and_shame
from lapwing.attacks import differencing, hadamard, reconstruction, tracing
from lapwing.attacks.beliefs import geometric, name_one, study_beliefs, two_cells, with_and_without
from lapwing.attacks.oracles import Coins
from lapwing.vocabulary.errors import ParameterError

SIGMAS = 6.5


@pytest.mark.parametrize("deviation", [16, 64, 128, 300, 2000])
def test_the_fourier_attack_recovers_what_its_theorem_says(deviation) -> None:
    people = 2**16
    expected = hadamard.expected_share(people, deviation)
    assert expected == pytest.approx(0.5 * math.erfc(-math.sqrt(people) / (4 * deviation) / math.sqrt(2)))
    allowed = SIGMAS * math.sqrt(max(expected * (1 - expected), 1 / people) / people)
    assert abs(hadamard.measured_share(people, deviation, Coins(5, "curve")) - expected) < allowed
    lie = hadamard.expected_share(people, 1.3 * deviation)
    assert abs(lie - expected) > allowed or deviation in (16, 2000), "more noise would be noticed, but at the ends"


@pytest.mark.parametrize("questions", [96, 256, 1024])
def test_least_squares_recovers_what_its_theorem_says(questions) -> None:
    tables, people = 60, 64
    expected = reconstruction.expected_share(people, questions, 8.0)
    measured = reconstruction.measured_share(people, questions, 8.0, Coins(5, "squares"), tables=tables)
    assert abs(measured - expected) < SIGMAS * math.sqrt(expected * (1 - expected) / (tables * people))


def test_the_questions_that_are_needed_are_those_that_suffice() -> None:
    needed = reconstruction.questions_needed(500, 20.0, 0.95)
    assert reconstruction.expected_share(500, math.ceil(needed), 20.0) == pytest.approx(0.95, abs=1e-3)
    assert reconstruction.expected_share(500, 500, 20.0) == 0.5
    assert reconstruction.expected_share(500, 501, 0.0) == hadamard.expected_share(4, 0.0) == 1


@pytest.mark.parametrize("times", [1, 10, 100])
def test_averaging_recovers_what_its_theorem_says(times) -> None:
    coins, runs = Coins(5, "averages"), 20_000
    means = coins.normals(runs) / math.sqrt(times), coins.normals(runs) / math.sqrt(4 * times)
    right = np.mean(1.354 * (means[0] - means[1]) < 0.5)
    expected = differencing.averaged_share(times, 1.354)
    assert abs(right - expected) < SIGMAS * math.sqrt(max(expected * (1 - expected), 1 / runs) / runs)


def test_tracing_expects_chance_where_there_is_only_noise() -> None:
    assert tracing.expected_true_positives(24, 384, 1e9) == pytest.approx(0.05, abs=1e-6)
    assert tracing.expected_true_positives(24, 384, 0.0) > 0.98


@settings(max_examples=25)
@given(st.fractions(min_value=Fraction(101, 100), max_value=50, max_denominator=100))
def test_two_cells_attain_epsilon_and_twice_epsilon_exactly(ratio) -> None:
    """What is epsilon-DP when people are added or removed is exactly twice that when a record is replaced."""
    cells = two_cells(ratio)
    assert (cells.one_step, cells.two_steps) == (ratio, ratio**2)
    assert cells.surest == ratio**2 / (1 + ratio**2)


def test_geometric_noise_is_a_distribution() -> None:
    total = sum(geometric(noise, Fraction(3)) for noise in range(-40, 41))
    assert 1 - total == 2 * Fraction(1, 3) ** 41 * Fraction(1, 2) / (1 - Fraction(1, 3)), "all but the two tails"


@given(st.fractions(min_value=Fraction(101, 100), max_value=20, max_denominator=100), st.integers(3, 60))
def test_her_data_moves_a_belief_by_up_to_twice_epsilon(ratio, digits) -> None:
    doubt = Fraction(1, 10**digits)
    moved = with_and_without(ratio, doubt)
    assert moved == ratio * ((1 - doubt) * ratio + doubt) / ((1 - doubt) + doubt * ratio)
    assert ratio**2 * (1 - doubt * (1 + ratio)) <= moved < ratio**2


@pytest.mark.parametrize("people", [1, 2, 3])
def test_naming_and_shaming_has_additive_secrecy_exactly_delta(people) -> None:
    """Every output of every table of sick and well people, by hand."""
    delta = Fraction(1, 7)

    def law(table):
        outputs = product((True, False), repeat=people)
        return {
            tuple(record if told else None for record, told in zip(table, which, strict=True)): math.prod(
                (delta if told else 1 - delta for told in which), start=Fraction(1)
            )
            for which in outputs
        }

    one, other = law(("sick", *["well"] * (people - 1))), law(("well",) * people)
    apart = sum(max(one.get(t, Fraction(0)) - other.get(t, Fraction(0)), Fraction(0)) for t in {*one, *other})
    named = name_one(delta=delta, prior="1/1000", people=people)
    assert named.additive == apart == delta
    assert named.somebody == 1 - (1 - delta) ** people
    assert (named.before, named.after) == (Fraction(1, 1000), 1)
    assert float(named.somebody) == pytest.approx(name_and_shame(people=people, delta=delta).probability)


@pytest.mark.parametrize("epsilon", ["0.1", "1/2", "2"])
def test_what_the_study_teaches_stays_within_the_theorem(epsilon) -> None:
    beliefs = study_beliefs(epsilon, others=20)
    lows, highs = beliefs.bounds
    for low, belief, high in zip(lows, beliefs.with_data, highs, strict=True):
        assert low * (1 - 1e-12) <= belief <= high * (1 + 1e-12)
    assert beliefs.odds_factor <= math.exp(float(Fraction(epsilon))) * (1 + 1e-9)
    assert beliefs.prior == pytest.approx(0.4)
    assert 0.19 < beliefs.without_data[0] < beliefs.prior < beliefs.without_data[-1] < 0.61


def test_what_the_study_teaches_is_bayes_over_every_table_of_people() -> None:
    """Six others, all 128 tables of them and Alice, by hand."""
    epsilon, told = 0.7, 4
    seen = {1: 0.0, 0: 0.0}
    for table in product((0, 1), repeat=7):
        prior = sum(math.prod(share if sick else 1 - share for sick in table) / 2 for share in (0.2, 0.6))
        seen[table[0]] += prior * math.exp(-epsilon * abs(told - sum(table)))
    beliefs = study_beliefs(str(epsilon), others=6)
    assert beliefs.with_data[beliefs.answers.index(told)] == pytest.approx(seen[1] / (seen[0] + seen[1]))


def test_parameters_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ParameterError, match="is not a power of two; attack 256"):
        hadamard.transform(np.ones(100))
    with pytest.raises(ParameterError, match=r"is not e\^epsilon of a positive epsilon"):
        two_cells(1)

"""Private descent watched from outside, step by step: what is true stands, and the mistakes of the field do not.

Two steps of a logistic model of two weights, from the door's own code; the second depends on what the first released.
What no sample of this size shows is computed in `tests/learning/test_step_liars.py`.
"""

from fractions import Fraction

import numpy as np

from lapwing.accounting.pricing import price
from lapwing.auditor.black_box import audit
from lapwing.learning.descent import Descent, Progress
from lapwing.learning.features import ONE
from lapwing.learning.networks import GRADIENT_BITS, LayeredNetwork, Output
from lapwing.mechanisms.private_gradients import NumpyArrays, PrivateGradients
from lapwing.vocabulary.guarantee import ApproximateDP

NUMPY, NETWORK = NumpyArrays(), LayeredNetwork(output=Output.TRUTH, widths=(2, 1))
OTHERS = np.array([[ONE // 2, ONE, 0], [-ONE // 4, ONE, 1], [0, ONE, 0]])
WITHOUT, WITH = OTHERS, np.vstack([OTHERS, [[ONE, ONE, 1]]])
"""One person more, whose gradient is the longest there is."""
RATE, SIGMA_SQUARED, STEPS, DRAWS = Fraction(1, 4), Fraction(1), 2, 1_000


def watched(rate, sigma_squared, rows_of=lambda rows: rows):
    """Return what is seen of a training: its weights after each step."""
    mechanism = PrivateGradients(rate=rate, sigma_squared=sigma_squared, clip=1 << GRADIENT_BITS - 1)
    descent = Descent(
        mechanism=mechanism,
        steps=STEPS,
        step_size=Fraction(1),
        momentum=Fraction(0),
        expected=Fraction(1),
        bits=GRADIENT_BITS,
    )

    def seen(rows):
        first = descent.run(NETWORK, rows_of(rows), Progress.begin(NETWORK), 1, NUMPY)
        second = descent.run(NETWORK, rows_of(rows), first, 1, NUMPY)
        return np.concatenate([first.weights[0].ravel(), second.weights[0].ravel()])

    return seen


def claimed(delta="1/10"):
    event = PrivateGradients(rate=RATE, sigma_squared=SIGMA_SQUARED, clip=1 << GRADIENT_BITS - 1).event(STEPS)
    return ApproximateDP(epsilon=Fraction(price(event).epsilon(float(Fraction(delta)))), delta=delta)


def found(mechanism):
    return audit(mechanism, claim=claimed(), neighbours=(WITHOUT, WITH), samples=DRAWS)


def test_private_descent_keeps_its_promise() -> None:
    assert not found(watched(RATE, SIGMA_SQUARED)).refuted


def test_everybody_in_every_step_is_no_sample() -> None:
    assert found(watched(Fraction(1), SIGMA_SQUARED)).refuted


def test_noise_of_a_tenth_of_the_size_is_seen() -> None:
    assert found(watched(RATE, SIGMA_SQUARED / 100)).refuted


def test_a_person_whose_rows_are_taken_for_people_is_seen() -> None:
    """Somebody with eight rows has eight coins and eight clipped gradients, and the price is for one."""
    rows = watched(RATE, SIGMA_SQUARED, lambda table: np.vstack([table, *[table[3:]] * 7]))
    assert found(rows).refuted

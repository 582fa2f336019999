"""The Fourier attack: as many questions as people, chosen so that one transform in n log n steps solves for everybody.

Question k is about the people whose number shares an even number of binary ones with k: a row of a Hadamard matrix. The
errors of n answers of deviation s become errors of deviation 2s/sqrt(n) in each secret, all uncorrelated. So any noise
below sqrt(n)/4 or so is undone, for a million people in a fraction of a second (Dwork and Yekhanin 2008).

Proof: proofs/attacks.md

Cynthia Dwork and Sergey Yekhanin, New efficient attacks on statistical disclosure control mechanisms, CRYPTO 2008.
"""

from math import sqrt

import numpy as np
from scipy.special import ndtr

from lapwing.attacks.oracles import Coins, Interrogation, Mask, Numbers
from lapwing.vocabulary.errors import ParameterError

_SECRET_MEAN = 0.5


def transform(numbers: Numbers) -> Numbers:
    """Return the Walsh-Hadamard transform; doing it twice multiplies by the length.

    >>> transform(np.array([1.0, 0.0, 0.0, 0.0])).tolist(), transform(np.ones(4)).tolist()
    ([1.0, 1.0, 1.0, 1.0], [4.0, 0.0, 0.0, 0.0])
    """
    size = numbers.size
    if size & (size - 1) or not size:
        raise ParameterError("people", size, reason="is not a power of two", remedy="attack 256 of them, say")
    done, half = numbers.astype(float), 1
    while half < size:
        pairs = done.reshape(-1, 2, half)
        done = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(size)
        half *= 2
    return done


def hadamard_cohorts(people: int) -> Mask:
    """Return the questions, one row each; question 0 is about everybody."""
    numbers = np.arange(people, dtype=np.uint32)
    return np.asarray(np.bitwise_count(numbers[:, None] & numbers[None, :]) % 2 == 0)


def exact_answers(trait: Mask) -> Numbers:
    """Return the true answers to all questions at once, without writing down the questions."""
    return (transform(trait.astype(float)) + np.count_nonzero(trait)) / 2


def guess(answers: Numbers) -> Mask:
    """Guess who has the trait from the answers to all questions."""
    signed = 2 * answers - answers[0]
    return transform(signed) > _SECRET_MEAN * answers.size


def guess_from(heard: Interrogation) -> Mask:
    """Guess who has the trait when some questions were refused: what is unknown is taken for its mean."""
    people = heard.cohorts.shape[1]
    answers = np.full(people, people / 4)
    answers[0] = people / 2
    answers[: len(heard.answers)] = heard.answers
    return guess(answers)


def expected_share(people: int, deviation: float) -> float:
    """Return the share of people whom the attack gets right, for noise of this deviation: Phi(sqrt(n)/(4 deviation)).

    >>> round(expected_share(2**20, 1.323), 6), round(expected_share(2**20, 2**20 * 2**0.5), 4)
    (1.0, 0.5001)
    """
    return float(ndtr(sqrt(people) / (4 * deviation))) if deviation > 0 else 1.0


def measured_share(people: int, deviation: float, coins: Coins) -> float:
    """Return the share of made-up people whom the attack gets right, for Laplace noise of this deviation."""
    trait = coins.flips(people)
    noise = deviation / sqrt(2) * coins.laplaces(people)
    return float(np.mean(guess(exact_answers(trait) + noise) == trait))

"""The margins that lectures and textbooks print, to be held against those that are computed from the law of the noise.

Each is a union bound on the noise of the mechanism that its own text describes. Nothing in lapwing is decided by them:
`SparseVector.margin` and `GeometricMechanism.margin` are smaller, and hold for what lapwing does.

Proof: proofs/printed_margins.md
"""

import math

from lapwing.vocabulary.exact import ROUND_OFF, Exact, as_int, float_above, positive, probability


def above_threshold(*, epsilon: Exact, questions: int, confidence: Exact, sensitivity: Exact = 1) -> float:
    """Return 8 (ln k + ln(2/beta)) / epsilon, the accuracy of Above Noisy Threshold (document 000, Theorem 8).

    k is the number of `questions` and 1 - beta the `confidence` that all answers are right for values this far from the
    threshold, if no value but the last one reaches it. True of noise of the scales 2/epsilon and 4/epsilon, and more
    than twice as large as it has to be:

    >>> from lapwing.mechanisms import AboveThreshold
    >>> round(above_threshold(epsilon=1, questions=100, confidence="0.95"), 1)
    66.4
    >>> printed = AboveThreshold.as_printed(epsilon=1, threshold=0, sensitivity=1)
    >>> printed.margin("0.95", questions=100)
    Fraction(29, 1)

    Theorem: Dwork, Roth, *The algorithmic foundations of differential privacy*, 2014, Theorem 3.24.
    """
    moved = float_above(positive("sensitivity", sensitivity))
    return 8 * moved * _log_of_twice(questions, confidence) / _price(epsilon) * (1 + ROUND_OFF)


def sparse_vector(*, epsilon: Exact, yeses: int, questions: int, confidence: Exact) -> float:
    """Return (4c/epsilon) (ln n + ln(2/beta)), the accuracy of the sparse vector technique as document 002 prints it.

    It is true of noise of the scale 2/epsilon on the threshold and 2c/epsilon on each of n counts, if at most c of them
    come near the threshold. (That this noise is not enough where people are replaced, and that the printed algorithm
    shows the number it compared, is another matter: errata E1 to E3.)

    >>> [round(sparse_vector(epsilon=1, yeses=c, questions=1000, confidence="0.95")) for c in (1, 5, 20)]
    [42, 212, 848]
    """
    c = as_int("yeses", yeses)
    return 4 * c * _log_of_twice(questions, confidence) / _price(epsilon) * (1 + ROUND_OFF)


def laplace(*, epsilon: Exact, questions: int, confidence: Exact) -> float:
    """Return (n/epsilon) ln(n/beta), which Laplace noise of scale n/epsilon on n counts keeps for all of them at once.

    >>> round(laplace(epsilon=1, questions=100, confidence="0.95"))
    760
    """
    n = as_int("questions", questions)
    return n / _price(epsilon) * math.log(n / _missing(confidence)) * (1 + ROUND_OFF)


def laplace_as_printed(*, epsilon: Exact, questions: int, confidence: Exact) -> float:
    """Return (n/epsilon) ln(n/(epsilon beta)), what document 002 prints for `laplace`: too small where epsilon > 1.

    At epsilon 2 it fails with probability 0.095 where 0.05 is promised (errata E4):

    >>> n, epsilon = 100, 2
    >>> margin = laplace_as_printed(epsilon=epsilon, questions=n, confidence="0.95")
    >>> round(margin, 1), round(1 - (1 - math.exp(-margin * epsilon / n)) ** n, 3)
    (345.4, 0.095)
    """
    n, e = as_int("questions", questions), _price(epsilon)
    return n / e * math.log(n / (e * _missing(confidence)))


def _price(epsilon: Exact) -> float:
    return float(positive("epsilon", epsilon))


def _missing(confidence: Exact) -> float:
    return float(1 - probability("confidence", confidence))


def _log_of_twice(questions: int, confidence: Exact) -> float:
    return math.log(as_int("questions", questions)) + math.log(2 / _missing(confidence))

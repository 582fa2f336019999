"""What textbooks promise about accuracy, as they state it: to compare with what is computed, and to teach from.

All say: with probability at least 1 - beta, every yes was for a value of at least threshold - margin and every no for
one of at most threshold + margin, for values that one person moves by at most 1. Each is true of the noise it was
stated for, and loose. `StreamMechanism.margin` computes what is true of a stream; `StreamMechanism.guaranteed_margin`
is the theorem of the same kind about it.
"""

import math

from lapwing.vocabulary.exact import Exact, as_int, positive, probability


def above_threshold_margin(*, epsilon: Exact, questions: int, beta: Exact) -> float:
    """Return 8 (ln k + ln(2/beta))/epsilon: AboveThreshold with noise of the scales 2/epsilon and 4/epsilon.

    It holds if no value but the last comes within the margin of the threshold from below.

    >>> round(above_threshold_margin(epsilon=1, questions=1000, beta="0.05"), 1)
    84.8

    Theorem: Dwork, Roth (2014), Theorem 3.24; document 000, Theorem 8.
    """
    k, b = as_int("questions", questions), float(probability("beta", beta))
    return 8 * (math.log(k) + math.log(2 / b)) / float(positive("epsilon", epsilon))


def slides_margin(*, epsilon: Exact, yeses: int, questions: int, beta: Exact) -> float:
    """Return 4c (ln k + ln(2/beta))/epsilon: document 002, with noise of the scales 2/epsilon and 2c/epsilon.

    The arithmetic is right for that noise, but the mechanism it belongs to shows the value it compared, and is private
    at no epsilon; with noise that is enough for a bare yes (4c/epsilon), the margin is twice as large.

    >>> round(slides_margin(epsilon=1, yeses=10, questions=1000, beta="0.05"), 1)
    423.9
    """
    return as_int("yeses", yeses) * above_threshold_margin(epsilon=epsilon, questions=questions, beta=beta) / 2


def restarted_margin(*, epsilon: Exact, yeses: int, questions: int, beta: Exact) -> float:
    """Return 8c (ln k + ln(2c/beta))/epsilon: AboveThreshold started anew after each of c yeses, at epsilon/c each.

    Theorem: Dwork, Roth (2014), Theorem 3.26, for delta = 0.
    """
    c = as_int("yeses", yeses)
    share = probability("beta", beta) / c
    return c * above_threshold_margin(epsilon=epsilon, questions=questions, beta=share)


def noise_on_all_margin(*, epsilon: Exact, questions: int, beta: Exact) -> float:
    """Return (k/epsilon) ln(k/beta): Laplace noise of the scale k/epsilon on all k values, none of which errs by more.

    Document 002 prints (k/epsilon) ln(k/(epsilon beta)), which is this only at epsilon = 1, and too small above.

    >>> round(noise_on_all_margin(epsilon=1, questions=1000, beta="0.05"))
    9903
    """
    k, e = as_int("questions", questions), float(positive("epsilon", epsilon))
    return k / e * math.log(k / float(probability("beta", beta)))

"""The laws of private choices from their definitions, apart from the code under test."""

from fractions import Fraction
from itertools import permutations
from math import factorial

import mpmath as mp

from mechanisms.laws_by_hand import number


def exponential_weights(scores, scale) -> list[mp.mpf]:
    """P(i) ∝ e^(score_i/scale)."""
    weights = [mp.exp(number(score) / number(scale)) for score in scores]
    return [weight / mp.fsum(weights) for weight in weights]


def permute_and_flip(scores, scale) -> list[mp.mpf]:
    """All orders of the candidates: the first whose coin of bias e^((score - best)/scale) shows heads."""
    heads = [mp.exp((number(score) - number(max(scores))) / number(scale)) for score in scores]
    law = [mp.mpf(0)] * len(scores)
    for order in permutations(range(len(scores))):
        reached = mp.mpf(1) / factorial(len(scores))
        for candidate in order:
            law[candidate] += reached * heads[candidate]
            reached *= 1 - heads[candidate]
    return law


def winner_and_gap(noisy: list[int]) -> tuple[int, int]:
    """The highest noisy score, ties to the lower index, and how far it is above what it had to reach to win."""
    winner = max(range(len(noisy)), key=lambda i: (noisy[i], -i))
    needed = max(score + (i < winner) for i, score in enumerate(noisy) if i != winner)
    return winner, noisy[winner] - needed


def winner_and_gap_law(scores, q: Fraction, *, reach: int, gaps: int) -> dict[tuple[int, int], Fraction]:
    """The joint law of winner and gap with noise P(W = w) = (1-q) q^w, up to q^(2 reach): by summing over the value
    that the winner had to reach, whose distribution function is a product."""
    law = {}
    for i in range(len(scores)):
        rivals = [score + (j < i) for j, score in enumerate(scores) if j != i]
        reached = {w: Fraction(1) for w in range(min(scores) - 1, max(scores) + reach)}
        for w in reached:
            for rival in rivals:
                reached[w] *= 1 - q ** (w - rival + 1) if w >= rival else 0
        for gap in range(gaps):
            law[i, gap] = sum(
                (reached[w] - reached[w - 1]) * (1 - q) * q ** (w + gap - scores[i])
                for w in range(min(scores), max(scores) + reach)
                if w + gap >= scores[i]
            )
    return law

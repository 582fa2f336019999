"""The exact law of what somebody does with a fair die, by playing every outcome of every throw."""

from collections import Counter
from fractions import Fraction

import numpy as np

from lapwing.noise.coins_and_dice import uniform_below, uniform_below_many
from lapwing.surveys.phone import draw_report


def exact_law(play):
    """Return how likely each result of `play(below)` is; `below(n)` throws a die with n faces."""
    law, script = Counter(), []
    while True:
        thrown = []

        def below(n, thrown=thrown, script=tuple(script)):
            face = script[len(thrown)] if len(thrown) < len(script) else 0
            thrown.append((face, n))
            return face

        result = play(below)
        chance = Fraction(1)
        for _, faces in thrown:
            chance /= faces
        law[result] += chance
        while thrown and thrown[-1][0] == thrown[-1][1] - 1:
            thrown.pop()
        if not thrown:
            return law
        script = [face for face, _ in thrown]
        script[-1] += 1


def exact_reports(law, truth):
    """Return the exact law of the reports of a person."""
    return exact_law(lambda below: tuple(draw_report(law.numbers(), truth, below)))


def drawn(law, truth, below=uniform_below):
    return tuple(draw_report(law.numbers(), truth, below))


def drawn_many(law, truths):
    """Return reports of many people by the linear hash, drawn at once: a second implementation, with the same law."""
    lengths = np.array(law.lengths)
    group = uniform_below_many(len(lengths), truths.size)
    prefix = truths // np.array([law.prime ** int(lengths[-1] - one) for one in lengths])[group]
    sizes = np.array([law.prime ** int(one) for one in lengths])
    seeds = np.stack([uniform_below_many(1 << 62, truths.size) % sizes[group] for _ in range(law.forms)], axis=1)
    value = np.zeros(truths.size, np.int64)
    for form in range(law.forms):
        rest, seed, total = prefix.copy(), seeds[:, form].copy(), np.zeros(truths.size, np.int64)
        while rest.any():
            total += seed % law.prime * (rest % law.prime)
            seed, rest = seed // law.prime, rest // law.prime
        value += total % law.prime * law.prime**form
    lies = uniform_below_many(law.unit, truths.size) >= law.heads
    other = 1 + uniform_below_many(law.answers - 1, truths.size)
    return np.column_stack([group, seeds, np.where(lies, (value + other) % law.answers, value)])

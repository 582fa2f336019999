"""Which of a person's choices count is public and fixed, and about as even as chance."""

import itertools

import numpy as np
import pytest

from lapwing.queries.algebra.aggregate import FACTOR, MODULUS, STRETCH, rank, text_number
from statistical.goodness import fits, p_value

PEOPLE = 20_000


def linear(salt, numbers):
    """A rank without the squarings: the order of two choices is nearly the same for everyone."""
    state = salt
    for number in numbers:
        state = (state * FACTOR + number % MODULUS) % MODULUS
    return state * STRETCH % MODULUS


def orders(ranked, choices):
    """How often each order of the choices occurs."""
    found = dict.fromkeys(itertools.permutations(range(len(choices))), 0)
    for person in range(PEOPLE):
        ranks = [ranked(3, [person, choice]) for choice in choices]
        found[tuple(sorted(range(len(choices)), key=ranks.__getitem__))] += 1
    return np.array(list(found.values()))


@pytest.mark.parametrize("choices", [(0, 1), (0, 1, 2), (-5, 5, 10**12), (5, 9)], ids=str)
def test_every_order_of_choices_is_about_as_frequent(choices) -> None:
    counts = orders(rank, choices)
    assert fits(p_value(counts, np.full(len(counts), 1 / len(counts))))


def test_a_linear_rank_would_not_do() -> None:
    counts = orders(linear, (0, 1, 2))
    assert not fits(p_value(counts, np.full(6, 1 / 6)))


def test_ranks_fit_in_62_bits_on_the_way() -> None:
    assert (MODULUS - 1) * FACTOR + 2 * MODULUS < 2**63
    assert (MODULUS - 1) ** 2 + MODULUS < 2**63


def test_a_text_has_the_number_of_its_md5() -> None:
    assert text_number("") == 0xD41D8CD98F00B20
    assert text_number("a") != text_number("A")

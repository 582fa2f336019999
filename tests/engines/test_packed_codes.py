"""Codes of people in packed words: counted as they are, and refused where no person can have them."""

import itertools

import numpy as np
import pytest

from lapwing.engines.engine import ImpossibleError
from lapwing.engines.packed_codes import Packing, counted_in_sets
from lapwing.queries.algebra.aggregate import Aggregate, CountInSets, DeclaredKey
from lapwing.queries.algebra.predicate import ALWAYS

SIZES = (3, 200, 2, 2, 130, 200, 7, 5, 9)
SETS = ((0,), (2, 6), (0, 3, 6), (1, 4), (5, 7), (8, 0, 7))


def aggregate(sizes=SIZES, sets=SETS):
    keys = tuple(DeclaredKey(column=f"c{i}", values=tuple(range(n)), missing=False) for i, n in enumerate(sizes))
    return Aggregate(table="people", where=ALWAYS, keys=keys, bounding=CountInSets(sets=sets), salt=0)


def packed(codes, sizes=SIZES):
    """Pack by hand: word after word, the first key in the lowest bits."""
    words = Packing.of(sizes).words
    return [np.array(sum(codes[a] << bit for a, bit in word.items()), np.int32) for word in words]


def some(people, sizes=SIZES):
    return [np.arange(people) * (7 * a + 3) // 2 % n for a, n in enumerate(sizes)]


def test_each_key_has_bits_of_its_own_and_every_word_is_positive_in_32_bits() -> None:
    for word in Packing.of(SIZES).words:
        taken = [range(bit, bit + (SIZES[a] - 1).bit_length()) for a, bit in word.items()]
        bits = list(itertools.chain(*taken))
        assert len(set(bits)) == len(bits)
        assert max(bits) < 31
    assert [a for word in Packing.of(SIZES).words for a in word] == list(range(len(SIZES)))


@pytest.mark.parametrize("people", [0, 1, 100_000])
def test_people_are_counted_in_the_cell_of_their_codes(people) -> None:
    codes = some(people)
    for axes, numbers in zip(SETS, counted_in_sets(aggregate(), packed(codes)), strict=True):
        by_hand = np.zeros([SIZES[a] for a in axes], int)
        np.add.at(by_hand, tuple(codes[a] for a in axes), 1)
        assert numbers == tuple(by_hand.ravel().tolist())


def too_large(words):
    words[0][3] = 3  # the code 3 of a key of three codes


def negative(words):
    words[-1][5] = -1


def beyond_its_bits(words):
    words[-1][5] = 1 << 30


def broken(words):
    words[0] = words[0].astype(np.float64)


def missing(words):
    words[1] = np.ma.masked_equal(words[1], int(words[1][0]))


def shorter(words):
    words[1] = words[1][:-1]


def fewer(words):
    words.pop()


@pytest.mark.parametrize("lie", [too_large, negative, beyond_its_bits, broken, missing, shorter, fewer])
def test_what_no_person_can_have_is_a_failure(lie) -> None:
    words = packed(some(50))
    lie(words)
    with pytest.raises(ImpossibleError):
        counted_in_sets(aggregate(), words)

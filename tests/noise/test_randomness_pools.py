import multiprocessing

import numpy as np
import pytest

from lapwing.noise import laws
from lapwing.noise.laws import DiscreteGaussian, DiscreteLaplace, Geometric
from lapwing.noise.randomness import BLOCK, INTEGERS, VEIL, Pool


class Numbering:
    """A sampler whose draws are all different: 0, 1, 2, ..."""

    def __init__(self) -> None:
        self.drawn = 0
        self.calls = []

    def draw_many(self, count, _source):
        self.calls.append(count)
        numbers = np.arange(self.drawn, self.drawn + count)
        self.drawn += count
        return numbers


def test_draws_are_handed_out_once_each() -> None:
    pool = Pool(Numbering())
    seen = [pool.draw() for _ in range(3 * INTEGERS)]
    seen += [number for _ in range(20) for number in pool.draw_many(BLOCK >> 2).tolist()]
    seen += pool.draw_many(5).tolist() + pool.draw_many(7).tolist()
    assert len(set(seen)) == len(seen)
    assert {type(number) for number in seen} == {int}


def test_short_vectors_share_a_block() -> None:
    sampler = Numbering()
    pool = Pool(sampler)
    assert pool.draw_many(3).tolist() == [0, 1, 2]
    assert pool.draw_many(2).tolist() == [3, 4]
    assert sampler.calls == [BLOCK]


def test_long_vectors_are_drawn_directly() -> None:
    sampler = Numbering()
    assert Pool(sampler).draw_many(BLOCK).size == BLOCK
    assert sampler.calls == [BLOCK]


@pytest.mark.parametrize("count", [0, 1, 5, BLOCK >> 2, (BLOCK >> 2) + 1, 3 * BLOCK])
def test_an_array_is_the_caller_s_own(count) -> None:
    law = DiscreteLaplace(1000)
    draws = law.draw_many(count)
    assert draws.base is None
    assert draws.flags.owndata
    assert draws.flags.writeable
    assert not np.shares_memory(draws, law._pool()._block)
    assert draws.dtype == np.int64
    assert draws.shape == (count,)


def test_what_a_caller_does_to_an_array_does_not_reach_the_pool() -> None:
    pool = Pool(Numbering())
    pool.draw_many(10)[:] = -1
    assert pool.draw_many(10).tolist() == list(range(10, 20))


def test_no_draw_is_handed_to_two_threads(in_threads) -> None:
    pool = Pool(Numbering())
    taken = in_threads(lambda: [n for _ in range(15_000) for n in (pool.draw(), *pool.draw_many(7).tolist())])
    seen = [number for each in taken for number in each]
    assert len(set(seen)) == len(seen) == 8 * 15_000 * 8


LARGE = DiscreteLaplace(2**38)  # two equal streams of such draws are no accident


def test_a_forked_child_forgets_the_draws_it_was_born_with(in_a_fork) -> None:
    """Even those of a pool that a thread was about to draw from: its frame stays alive in the child."""
    for _ in range(2):  # the first draw from a law needs no pool
        LARGE.draw()
    LARGE.draw_many(5)
    held = LARGE._pool()
    assert held._integers
    assert held._used < BLOCK
    assert in_a_fork(lambda: (held is LARGE._pool(), held._integers, held._used)) == (True, [], BLOCK)


def test_parent_and_children_draw_different_streams(in_a_fork) -> None:
    LARGE.draw()

    def stream():
        return [LARGE.draw() for _ in range(20)] + LARGE.draw_many(20).tolist() + LARGE.draw_many(3000)[:20].tolist()

    streams = [in_a_fork(stream), in_a_fork(stream), stream()]
    values = [value for each in streams for value in each]
    assert len(set(values)) == len(values)


def test_a_fork_while_another_thread_draws_does_not_lock_the_child(in_a_fork) -> None:
    LARGE.draw()
    with LARGE._pool()._lock:
        assert isinstance(in_a_fork(LARGE.draw), int)


def draws_of(law):
    return [law.draw() for _ in range(50)]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_process_pool_draw_different_streams(method) -> None:
    LARGE.draw()
    with multiprocessing.get_context(method).Pool(2) as workers:
        values = [value for draws in workers.map(draws_of, [LARGE] * 4, chunksize=1) for value in draws]
    assert len(set(values)) == len(values) == 200


def test_tables_and_pools_are_bounded_in_number_and_in_bytes() -> None:
    alive = [Geometric(1 + i) for i in range(100)]
    for law in alive:
        law.draw_many(9)  # few draws need no pool at first
    assert sum(law._pool_reference() is not None for law in alive) <= laws.LAWS_KEPT
    assert laws._sampler.cache_info().currsize <= laws.LAWS_KEPT
    assert laws._shared_pool.cache_info().currsize <= laws.LAWS_KEPT
    for law in (DiscreteLaplace(136), DiscreteGaussian(527**2), DiscreteLaplace(2**38), DiscreteGaussian(2**76)):
        assert _bytes_of(law) <= 400 * 1024


def _bytes_of(law):
    law.draw_many(9)
    law.draw()
    holders = [law._pool(), sampler := laws._sampler(law)]
    holders += [inner for inner in vars(sampler).values() if hasattr(inner, "__dict__")]
    holders += [strips.guide for strips in holders if hasattr(strips, "guide")]
    arrays = {id(a): a.nbytes for h in holders for a in vars(h).values() if isinstance(a, np.ndarray)}
    return sum(arrays.values()) + 40 * INTEGERS  # an entry of a list and the integer it points to


def test_a_single_draw_from_a_given_source_hides_among_many() -> None:
    counts = []

    class Source:
        def take(self, count):
            counts.append(count)
            return bytes(count)

    DiscreteLaplace(10).draw(source=Source())
    assert counts[0] == 2 * VEIL


def test_a_law_whose_pool_was_let_go_finds_another() -> None:
    law = Geometric(7)
    law.draw_many(9)
    laws._shared_pool.cache_clear()
    assert law._pool_reference() is None
    assert isinstance(law.draw(), int)


def test_a_fork_that_python_does_not_see_shares_no_draws(in_a_fork, unseen_fork) -> None:
    LARGE.draw()
    LARGE.draw_many(5)

    def stream():
        return [LARGE.draw() for _ in range(20)] + LARGE.draw_many(20).tolist() + LARGE.draw_many(3000)[:20].tolist()

    streams = [in_a_fork(stream, unseen_fork), in_a_fork(stream, unseen_fork), stream()]
    values = [value for each in streams for value in each]
    assert len(set(values)) == len(values)


def test_vectors_alone_are_not_shared_either(in_a_fork, unseen_fork) -> None:
    LARGE.draw_many(5)
    assert not set(in_a_fork(lambda: LARGE.draw_many(50).tolist(), unseen_fork)) & set(LARGE.draw_many(50).tolist())

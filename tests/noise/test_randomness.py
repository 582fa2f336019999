import os
import subprocess
import sys

import pytest

from lapwing.noise.randomness import SYSTEM, SystemRandomness
from lapwing.vocabulary.errors import RandomnessError


class Counting:
    """A generator whose bytes are all different, in runs of eight: a counter."""

    def __init__(self) -> None:
        self.words = 0
        self.calls = []

    def __call__(self, count: int) -> bytes:
        self.calls.append(count)
        words = -(-count // 8)
        fresh = b"".join(word.to_bytes(8, "little") for word in range(self.words, self.words + words))
        self.words += words
        return fresh[:count]


@pytest.mark.parametrize("count", [0, 1, 8, 2048, 2049, 100_000])
def test_as_many_bytes_come_as_were_asked_for(count) -> None:
    assert len(SYSTEM.take(count)) == count


def test_small_requests_share_a_block_and_large_ones_do_not_disturb_it() -> None:
    generator = Counting()
    source = SystemRandomness(generator)
    taken = [source.take(8) for _ in range(2048)]
    assert generator.calls == [1 << 14]
    source.take(1 << 20)
    taken += [source.take(8) for _ in range(2048)]
    assert generator.calls == [1 << 14, 1 << 20, 1 << 14]
    assert len(set(taken)) == 4096


def test_no_byte_is_handed_to_two_threads(in_threads) -> None:
    source = SystemRandomness(Counting())
    taken = in_threads(lambda: [source.take(8) for _ in range(20_000)])
    words = [word for each in taken for word in each]
    assert len(set(words)) == len(words) == 160_000


def test_a_forked_child_starts_with_an_empty_buffer(in_a_fork) -> None:
    source = SystemRandomness(Counting())
    source.take(8)
    child = in_a_fork(lambda: (source._block, source._used, source._lock.locked()))
    assert child == (b"", 0, False)
    assert source._block != b""


def test_a_fork_while_another_thread_draws_does_not_lock_the_child(in_a_fork) -> None:
    source = SystemRandomness(Counting())
    with source._lock:
        assert in_a_fork(lambda: len(source.take(8))) == 8


def test_parent_and_child_draw_different_bytes(in_a_fork) -> None:
    SYSTEM.take(8)
    assert in_a_fork(lambda: SYSTEM.take(32)) != SYSTEM.take(32)


@pytest.mark.parametrize("failure", [OSError("no entropy"), NotImplementedError("no generator")], ids=str)
def test_a_generator_that_fails_is_reported_and_nothing_is_drawn(failure) -> None:
    def broken(_):
        raise failure

    with pytest.raises(RandomnessError, match="nothing was drawn"):
        SystemRandomness(broken).take(8)


def test_a_generator_that_gives_too_little_is_refused() -> None:
    with pytest.raises(RandomnessError, match="asked for 16384 random bytes and got 5"):
        SystemRandomness(lambda _: b"short").take(8)


def test_without_openssl_the_operating_system_gives_the_bytes() -> None:
    code = (
        "import sys; sys.modules['ssl'] = None\n"
        "import os\n"
        "from lapwing.noise import randomness\n"
        "assert randomness._fresh_bytes is os.urandom\n"
        "from lapwing.noise.laws import DiscreteLaplace\n"
        "print(len(set(DiscreteLaplace(1000).draw_many(5000).tolist())) > 1000)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "True"


def test_a_fork_is_possible_here() -> None:
    assert hasattr(os, "fork")  # else the tests above would have tested nothing


def test_a_fork_that_python_does_not_see_shares_no_bytes(in_a_fork, unseen_fork) -> None:
    SYSTEM.take(8)
    assert in_a_fork(lambda: SYSTEM.take(32), unseen_fork) != SYSTEM.take(32)
    source = SystemRandomness(Counting())
    source.take(8)
    assert in_a_fork(lambda: (source.take(0), source._block)[1], unseen_fork) != source._block

import numpy as np
import pytest

from lapwing.noise.laws import DiscreteLaplace, Geometric
from lapwing.noise.sealed_source import SEED_BYTES, SealedSource, fresh_seed, open_seed, seal_seed
from lapwing.vocabulary.errors import SealBrokenError
from statistical.goodness import fits, p_value

KEY, OTHER = bytes(range(32)), bytes(32)


def test_the_same_seed_gives_the_same_noise_in_any_pieces() -> None:
    seed = fresh_seed()
    pieces = SealedSource(seed)
    assert b"".join(pieces.take(n) for n in (1, 7, 0, 92)) == SealedSource(seed).take(100)
    for law in (Geometric(17), DiscreteLaplace(1000)):
        assert law.draw(source=SealedSource(seed)) == law.draw(source=SealedSource(seed))


def test_two_seeds_share_nothing() -> None:
    seeds = {fresh_seed() for _ in range(100)}
    assert len(seeds) == 100
    assert {len(seed) for seed in seeds} == {SEED_BYTES}
    assert len({SealedSource(seed).take(16) for seed in seeds}) == 100


@pytest.mark.parametrize(("draw", "fair"), [(1, True), (2, False)], ids=["truth", "without its lowest bit"])
def test_its_bytes_are_uniform(draw, fair) -> None:
    sample = np.frombuffer(SealedSource(b"\x07" * SEED_BYTES).take(1 << 18), np.uint8) // draw * draw
    assert fits(p_value(np.bincount(sample, minlength=256), np.full(256, 1 / 256))) is fair


def test_a_seal_opens_with_its_key_and_label_only_and_has_one_length() -> None:
    seed = fresh_seed()
    sealed = seal_seed(seed, key=KEY, label="question 1")
    assert open_seed(sealed, key=KEY, label="question 1") == seed
    assert seed not in sealed
    assert {len(seal_seed(fresh_seed(), key=KEY, label="x" * n)) for n in range(50)} == {len(sealed)}
    altered = [bytes([sealed[0] ^ 1]) + sealed[1:], sealed[:-1], b"", sealed + b"x"]
    for wrong, key, label in [
        *((one, KEY, "question 1") for one in altered),
        (sealed, OTHER, "question 1"),
        (sealed, KEY, "question 2"),
    ]:
        with pytest.raises(SealBrokenError):
            open_seed(wrong, key=key, label=label)

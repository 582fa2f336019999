import hashlib
from fractions import Fraction

import numpy as np
import pytest

from lapwing.mechanisms.sparse_vector.pure import AdaptiveSparseVector, SparseVector, YesReveals
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise import sealing
from lapwing.noise.laws import DiscreteGaussian, DiscreteLaplace, Geometric, RoundedGaussian, RoundedLaplace
from lapwing.noise.sealing import SAMPLERS, SECRET_BYTES, Purpose, SealedSource, fresh_seed, seal, unseal
from lapwing.vocabulary.errors import SealBrokenError
from lapwing.vocabulary.guarantee import Adjacency
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
    assert {len(seed) for seed in seeds} == {SECRET_BYTES}
    assert len({SealedSource(seed).take(16) for seed in seeds}) == 100


@pytest.mark.parametrize(("draw", "fair"), [(1, True), (2, False)], ids=["truth", "without its lowest bit"])
def test_its_bytes_are_uniform(draw, fair) -> None:
    sample = np.frombuffer(SealedSource(b"\x07" * SECRET_BYTES).take(1 << 18), np.uint8) // draw * draw
    assert fits(p_value(np.bincount(sample, minlength=256), np.full(256, 1 / 256))) is fair


PLACE = {"key": KEY, "purpose": Purpose.SEED, "stream": "cohorts", "sequence": 1, "details": "as agreed"}
ELSEWHERE = [
    {"key": OTHER},
    {"purpose": Purpose.STATE},
    {"stream": "others"},
    {"stream": "cohorts' sequence 1"},
    {"sequence": 2},
    {"details": ""},
]


def test_a_seal_opens_where_it_was_made_and_has_one_length() -> None:
    seed = fresh_seed()
    sealed = seal(seed, **PLACE)
    assert unseal(sealed, **PLACE) == seed
    assert seed not in sealed
    assert seal(seed, **PLACE) != sealed
    places = [PLACE | {"stream": "x" * n, "purpose": to} for n in range(9) for to in Purpose]
    lengths = {len(seal(fresh_seed(), **place)) for place in places}
    assert lengths == {len(sealed)}


@pytest.mark.parametrize("change", ELSEWHERE, ids=["key", "purpose", "stream", "forged stream", "sequence", "details"])
@pytest.mark.parametrize("purpose", Purpose)
def test_a_seal_opens_for_no_other_key_purpose_stream_or_sequence(purpose, change) -> None:
    place = PLACE | {"purpose": purpose}
    other = Purpose.STATE if purpose is Purpose.SEED else Purpose.SEED
    elsewhere = place | ({"purpose": other} if "purpose" in change else change)
    sealed = seal(fresh_seed(), **place)
    assert len(unseal(sealed, **place)) == SECRET_BYTES
    with pytest.raises(SealBrokenError, match=elsewhere["purpose"].value[:20]):
        unseal(sealed, **elsewhere)


def test_an_altered_seal_does_not_open() -> None:
    sealed = seal(fresh_seed(), **PLACE)
    for wrong in (bytes([sealed[0] ^ 1]) + sealed[1:], sealed[:-1], sealed[:20], b"", sealed + b"x"):
        with pytest.raises(SealBrokenError):
            unseal(wrong, **PLACE)


def test_a_seed_of_another_version_of_the_samplers_does_not_open_and_a_state_does(monkeypatch) -> None:
    state = PLACE | {"purpose": Purpose.STATE}
    seed, kept = seal(fresh_seed(), **PLACE), seal(fresh_seed(), **state)
    monkeypatch.setattr(sealing, "SAMPLERS", SAMPLERS + 1)
    with pytest.raises(SealBrokenError, match="samplers of another version"):
        unseal(seed, **PLACE)
    assert unseal(kept, **state)


LAWS = [
    Geometric(Fraction(7, 3)),
    Geometric(Fraction(1000)),
    DiscreteLaplace(Fraction(20)),
    DiscreteLaplace(Fraction(10**6)),
    DiscreteGaussian(Fraction(100)),
    DiscreteGaussian(Fraction(10**8)),
    RoundedLaplace(Fraction(30)),
    RoundedGaussian(Fraction(50, 3)),
    RoundedGaussian(Fraction(10**7)),
]
"""Every law, by each of the samplers that draw it."""


def draws_of_laws(seed=bytes(range(32))):
    """What a seed becomes: one draw, three more, and the fingerprint of the next 3000."""
    for law in LAWS:
        source = SealedSource(seed)
        one, three = law.draw(source=source), law.draw_many(3, source=source).tolist()
        rest = hashlib.sha256(law.draw_many(3000, source=source).astype("<i8").tobytes()).hexdigest()[:12]
        yield (one, *three, rest)


def draws_of_streams(seed=bytes(range(32))):
    """What it becomes in a stream: the gap of a yes that draws all the noise there is, asked alone and with others."""
    shared = {"epsilon": 1, "threshold": 0, "yeses": 3, "sensitivity": ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)}
    for mechanism in (SparseVector(**shared, reveals=YesReveals.NUMBER), AdaptiveSparseVector(**shared, clear_by=12)):
        source = SealedSource(seed)
        stream = mechanism.open(source=source)
        alone, (below, above) = stream.ask(10**6, source=source), stream.ask_many([-(10**6), 10**6], source=source)
        yield (int(alone.gap), alone.number and int(alone.number), bool(below), int(above.gap))


EXPANSIONS = {
    1: [
        (10, 1, 4, 3, "17b46bb94476"),
        (1427, 1163, 82, 2567, "d80ffa74e874"),
        (-77, 19, -6, 50, "6ce29725cf07"),
        (-1428804, 426133, 944582, -1000467, "6307dc0d67d9"),
        (-23, 12, -10, -8, "d90a7d90bfc1"),
        (-11830, -11071, 2642, -16335, "1109fe429fa6"),
        (-43, -13, 14, -41, "b79ce4d4b8aa"),
        (-20, -4, -27, 38, "033dfd047709"),
        (-11783509, -2623569, -16279315, 22758144, "4af8081e7ae9"),
        (999988, 999996, False, 999989),
        (999999, None, False, 1000005),
    ]
}
"""What the fixed seed becomes, version by version of `SAMPLERS`."""


def test_a_seed_becomes_the_draws_that_its_version_of_the_samplers_says() -> None:
    drawn = [*draws_of_laws(), *draws_of_streams()]
    assert EXPANSIONS[SAMPLERS] == drawn, (
        "the same seed no longer becomes the same noise: raise sealing.SAMPLERS, and write the new draws here "
        f"beside the old ones\n{drawn}"
    )


def test_no_two_versions_of_the_samplers_are_the_same() -> None:
    assert max(EXPANSIONS) == SAMPLERS
    assert len({str(drawn) for drawn in EXPANSIONS.values()}) == len(EXPANSIONS)

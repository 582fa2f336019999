"""A suspended stream goes on where it was, once and unaltered, or not at all."""

from fractions import Fraction

import pytest

from lapwing.mechanisms.sparse_vector.gaussian_stream import GaussianSparseVector
from lapwing.mechanisms.sparse_vector.pure import AdaptiveSparseVector, SparseVector, YesReveals
from lapwing.mechanisms.sparse_vector.rule import StreamState
from lapwing.mechanisms.sparse_vector.stream import SparseVectorStatus
from lapwing.mechanisms.sparse_vector.stream_mechanism import SparseVectorNoise
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.vocabulary.errors import ParameterError, SealBrokenError, StreamError, StreamHaltedError
from lapwing.vocabulary.guarantee import Adjacency
from mechanisms.sparse_vector.suspects import COUNTS, shipped

KEY = bytes(range(32))
FAR = 10**9
STREAM = SparseVector(epsilon=1, yeses=3, threshold=200, sensitivity=COUNTS)
GAUSSIAN = GaussianSparseVector(threshold_sigma=3, query_sigma=5, yeses=2, questions=4, threshold=0, sensitivity=COUNTS)


@pytest.mark.parametrize("mechanism", [*shipped().values(), GAUSSIAN], ids=[*shipped(), "gaussian"])
def test_a_resumed_stream_goes_on_where_it_was(mechanism) -> None:
    stream = mechanism.open(name="s")
    stream.ask(-FAR)
    secret, spent = stream._SparseVectorStream__noise.open_for_release(), stream.spent
    again = mechanism.resume(stream.suspend(KEY), key=KEY, sequence=1, name="s")
    assert again._SparseVectorStream__noise.open_for_release() == secret
    assert (again.asked, again.yeses, again.spent, again.status) == (1, 0, spent, SparseVectorStatus.OPEN)
    assert again.sequence == 1
    assert again.ask(FAR).question == 2


def test_yeses_are_counted_across_suspensions() -> None:
    stream, given = STREAM.open(), 0
    for sequence in range(1, 4):
        given += bool(stream.ask(FAR))
        stream = STREAM.resume(stream.suspend(KEY), key=KEY, sequence=sequence)
    assert given == 3
    assert (stream.status, stream.spent) == (SparseVectorStatus.HALTED, 1)
    with pytest.raises(StreamHaltedError):
        stream.ask(FAR)


def test_a_suspended_stream_is_over_in_this_object() -> None:
    stream = STREAM.open()
    stream.suspend(KEY)
    assert (stream.status, stream.reserved) == (SparseVectorStatus.SUSPENDED, 1)
    assert stream._SparseVectorStream__noise is None
    for ask in (lambda: stream.ask(1), lambda: stream.ask_many([1]), lambda: stream.suspend(KEY)):
        with pytest.raises(StreamError, match="suspended"):
            ask()


def test_sealed_bytes_have_one_length_whatever_the_secret() -> None:
    wide = SparseVector(epsilon=1, yeses=3, threshold=200, sensitivity=ValueSensitivity.of_anything(sensitivity=10**9))
    lengths = {len(mechanism.open().suspend(KEY)) for mechanism in [STREAM, wide] * 20}
    assert len(lengths) == 1


def test_the_same_state_never_looks_the_same_twice() -> None:
    state = StreamState(threshold_noise=123456789, asked=0, yeses=0, units=0)
    setup = STREAM._setup("s")
    sealed = state.seal(KEY, setup, 1)
    assert state.seal(KEY, setup, 1) != sealed
    assert StreamState.unseal(sealed, KEY, setup, 1) == state
    assert "123456789" not in repr(state)


def test_one_altered_bit_breaks_the_seal() -> None:
    sealed = STREAM.open().suspend(KEY)
    STREAM.resume(sealed, key=KEY, sequence=1)
    for position in range(len(sealed)):
        altered = bytearray(sealed)
        altered[position] ^= 1
        with pytest.raises(SealBrokenError):
            STREAM.resume(bytes(altered), key=KEY, sequence=1)
    for cut in (b"", sealed[:20], sealed[:-1], sealed + b"x"):
        with pytest.raises(SealBrokenError):
            STREAM.resume(cut, key=KEY, sequence=1)


def test_another_key_name_or_sequence_breaks_the_seal() -> None:
    sealed = STREAM.open(name="a").suspend(KEY)
    for change in (
        {"key": bytes(32)},
        {"name": "b"},
        {"name": ""},
        {"sequence": 0},
        {"sequence": 2},
    ):
        with pytest.raises(SealBrokenError, match="the stream is closed at its full price"):
            STREAM.resume(sealed, **{"key": KEY, "name": "a", "sequence": 1} | change)


def test_an_older_seal_is_refused_once_the_sequence_moved_on() -> None:
    old = STREAM.open().suspend(KEY)
    stream = STREAM.resume(old, key=KEY, sequence=1)
    stream.ask(FAR)
    new = stream.suspend(KEY)
    with pytest.raises(SealBrokenError):
        STREAM.resume(old, key=KEY, sequence=2)
    assert STREAM.resume(new, key=KEY, sequence=2).yeses == 1


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 2},
        {"yeses": 4},
        {"threshold": 201},
        {"grid": "1/2"},
        {"shift": 1},
        {"reveals": YesReveals.NOTHING_MORE},
        {"noise": SparseVectorNoise.LAPLACE},
        {"threshold_share": "1/2"},
        {"sensitivity": ValueSensitivity.of_counts(Adjacency.REPLACE)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_mechanism_cannot_go_on_with_it(change) -> None:
    given = {"epsilon": 1, "yeses": 3, "threshold": 200, "sensitivity": COUNTS}
    sealed = SparseVector(**given).open().suspend(KEY)
    with pytest.raises(SealBrokenError):
        SparseVector(**given | change).resume(sealed, key=KEY, sequence=1)
    with pytest.raises(SealBrokenError):
        AdaptiveSparseVector(**given).resume(sealed, key=KEY, sequence=1)


@pytest.mark.parametrize("key", [b"short", bytes(31), bytes(33), "k" * 32, None], ids=["5", "31", "33", "text", "none"])
def test_what_is_no_key_is_refused_without_being_shown(key) -> None:
    stream = STREAM.open()
    with pytest.raises(ParameterError, match="<sensitive>"):
        stream.suspend(key)
    assert stream.status is SparseVectorStatus.OPEN
    with pytest.raises(ParameterError, match="32 secret bytes"):
        STREAM.resume(b"", key=key, sequence=1)


def test_a_sequence_that_is_none_is_refused() -> None:
    with pytest.raises(ParameterError, match="sequence"):
        STREAM.resume(b"", key=KEY, sequence=-1)


def test_a_halted_stream_can_be_put_away_and_stays_halted() -> None:
    stream = STREAM.open()
    stream.ask_many([FAR] * 3)
    again = STREAM.resume(stream.suspend(KEY), key=KEY, sequence=1)
    assert again.status is SparseVectorStatus.HALTED
    assert again.spent == Fraction(1)

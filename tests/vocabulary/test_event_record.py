import json
from dataclasses import fields
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.vocabulary import event as events
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event_record import _KINDS, from_record, to_record

numbers = st.fractions(min_value=Fraction(1, 10**20), max_value=10**20)
wholes = st.integers(min_value=2, max_value=10**30)
rates = st.fractions(min_value=Fraction(1, 10**6), max_value=1)
chances = st.fractions(min_value=Fraction(1, 10**20), max_value=Fraction(99, 100))
LEAVES = [kind for kind in get_args(events.Event) if not {"part", "parts"} & {f.name for f in fields(kind)}]
BY_TYPE = {Fraction: numbers, int: wholes, bool: st.booleans()}


def leaf(kind):
    return st.builds(kind, **{f.name: chances if f.name == "delta" else BY_TYPE[f.type] for f in fields(kind)})


def inside(parts):
    return st.one_of(
        st.builds(events.Composed, parts=st.lists(parts, min_size=1, max_size=3).map(tuple)),
        st.builds(events.InParallel, parts=st.lists(parts, min_size=1, max_size=3).map(tuple)),
        st.builds(events.Repeated, part=parts, times=wholes),
        st.builds(events.PoissonSampled, part=parts, rate=rates),
        st.builds(
            lambda part, sizes: events.SampledWithoutReplacement(
                part=part, sample_size=min(sizes), population_size=max(sizes)
            ),
            parts,
            st.tuples(wholes, wholes),
        ),
    )


any_event = st.recursive(st.one_of([leaf(kind) for kind in LEAVES]), inside, max_leaves=6)


def test_every_event_has_a_kind() -> None:
    assert set(_KINDS.values()) == set(get_args(events.Event))


@given(any_event)
def test_an_event_survives_json(event) -> None:
    assert from_record(json.loads(json.dumps(to_record(event)))) == event


@given(any_event)
def test_one_event_has_one_record(event) -> None:
    assert to_record(from_record(to_record(event))) == to_record(event)


@pytest.mark.parametrize("epsilon", ["0/1", "-1/2"])
def test_a_record_of_what_cannot_happen_is_refused(epsilon) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        from_record({"kind": "pure-release", "epsilon": epsilon})


def test_a_field_with_a_default_may_be_missing_from_an_old_record() -> None:
    old = {"kind": "discrete-gaussian-noise", "l2_sensitivity_squared": 1, "sigma_squared": "4/1"}
    assert from_record(old).dimension == 1


NESTED = {"kind": "pure-release", "epsilon": "1/1"}
for _ in range(40):
    NESTED = {"kind": "repeated", "part": NESTED, "times": 1}

REFUSED = {
    "not a record": (["pure-release"], "is no record"),
    "no kind": ({"epsilon": "1/1"}, "is no kind of event"),
    "an unknown kind": ({"kind": "magic", "epsilon": "1/1"}, "is no kind of event"),
    "a kind that is no text": ({"kind": ["pure-release"]}, "is no kind of event"),
    "an unknown field": ({"kind": "pure-release", "epsilon": "1/1", "delta": "0/1"}, "is no field of pure-release"),
    "a missing field": ({"kind": "approximate-release", "epsilon": "1/1"}, "is missing from approximate-release"),
    "a float": ({"kind": "pure-release", "epsilon": 0.1}, "is no fraction in lowest terms"),
    "a decimal": ({"kind": "pure-release", "epsilon": "0.1"}, "is no fraction in lowest terms"),
    "not in lowest terms": ({"kind": "pure-release", "epsilon": "2/2"}, "is no fraction in lowest terms"),
    "a sign": ({"kind": "pure-release", "epsilon": "+1/2"}, "is no fraction in lowest terms"),
    "a leading zero": ({"kind": "pure-release", "epsilon": "01/2"}, "is no fraction in lowest terms"),
    "a zero denominator": ({"kind": "pure-release", "epsilon": "1/0"}, "is no fraction in lowest terms"),
    "a foreign digit": ({"kind": "pure-release", "epsilon": "١/2"}, "is no fraction in lowest terms"),
    "a truth value for a number": (
        {"kind": "repeated", "part": {"kind": "pure-release", "epsilon": "1/1"}, "times": True},
        "is no whole number",
    ),
    "parts that are no list": ({"kind": "composed", "parts": "abc"}, "is no list of events"),
    "a part that is no record": ({"kind": "composed", "parts": [1]}, "is no record"),
    "too deep": (NESTED, "is nested more than 32 deep"),
}


@pytest.mark.parametrize(("record", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_exactly_a_record_is_refused(record, reason) -> None:
    with pytest.raises(ParameterError) as refusal:
        from_record(record)
    assert refusal.value.reason == reason

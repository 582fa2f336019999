"""What is stored means the same for ever: the golden texts, and what the codec refuses."""

import importlib
import json
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing
from lapwing.queries.algebra.predicate import Unit
from lapwing.queries.algebra.term import ConstantTerm, Elapsed
from lapwing.vocabulary import event as events
from lapwing.vocabulary.codec import (
    STORED,
    canonical,
    digest,
    from_record,
    from_text,
    in_text_order,
    parse,
    stored,
    to_record,
    to_text,
)
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.guarantee import Adjacency
from vocabulary.examples import EXAMPLES, GOLDEN

GOLDEN_TEXTS = GOLDEN.read_text(encoding="ascii").splitlines()


def nouns() -> dict[str, type[Any]]:
    """Return every stored noun of lapwing by its tag, wherever it is defined."""
    for module in pkgutil.walk_packages(lapwing.__path__, "lapwing."):
        if not module.name.startswith(("lapwing.doors", "lapwing.engines", "lapwing.__main__")):
            importlib.import_module(module.name)
    return {
        tag: noun for tag, noun in STORED.items() if noun.__module__.startswith("lapwing.") and "example" not in tag
    }


@given(st.lists(st.sampled_from(EXAMPLES), min_size=2, max_size=9))
def test_the_first_words_of_texts_order_nouns_as_their_texts_do(examples) -> None:
    held = [noun for noun in examples if type(noun) in STORED.values()]
    assert list(map(to_text, in_text_order(held))) == sorted(map(to_text, held))


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(-101, 101)), max_size=9))
def test_a_number_that_ends_a_text_is_followed_by_its_bracket(pairs) -> None:
    held = [Elapsed(until=name, since=0, unit=Unit.DAYS, low=low, high=5) for name, low in pairs]
    held += [ConstantTerm(low) for _, low in pairs]
    assert list(map(to_text, in_text_order(held))) == sorted(map(to_text, held))


@pytest.mark.parametrize(("text", "example"), list(zip(GOLDEN_TEXTS, EXAMPLES, strict=True)), ids=range(len(EXAMPLES)))
def test_what_a_tag_means_never_changes(text, example) -> None:
    assert to_text(example) == text
    assert from_text(type(example), text) == example


def test_every_tag_has_an_example() -> None:
    assert {type(example) for example in EXAMPLES} == set(nouns().values())


def test_all_that_a_stored_noun_may_hold_can_be_stored() -> None:
    for tag, noun in nouns().items():
        with pytest.raises(ParameterError, match=f"is not a field of {tag}"):  # what has no tag is a TypeError before
            from_record(noun, {"kind": tag, "": 0})


def test_every_value_of_an_enumeration_has_an_example() -> None:
    seen: dict[type[Enum], set[Enum]] = defaultdict(set)
    for value in (value for example in EXAMPLES for value in parts(example)):
        if isinstance(value, Enum):
            seen[type(value)].add(value)
    wanted = {
        hint
        for noun in nouns().values()
        for hint in get_type_hints(noun).values()
        if isinstance(hint, type) and issubclass(hint, Enum)
    }
    assert {kind: set(kind) for kind in wanted} == seen


def parts(noun: object) -> Iterator[object]:
    """Go through all that a noun holds."""
    yield noun
    if isinstance(noun, tuple):
        for part in noun:
            yield from parts(part)
    elif is_dataclass(noun):
        for field in fields(noun):
            yield from parts(getattr(noun, field.name))


def test_names_of_classes_and_the_order_of_fields_are_not_stored() -> None:
    @stored("test-first")
    class Before:
        number: int
        text: str

    @stored("test-second")
    class RenamedAfterwards:
        text: str
        number: int

    assert to_text(Before(number=1, text="a")) == '{"kind":"test-first","number":1,"text":"a"}'
    assert to_text(RenamedAfterwards(text="a", number=1)) == '{"kind":"test-second","number":1,"text":"a"}'


def test_a_tag_is_given_once() -> None:
    class Thief:
        epsilon: Fraction

    with pytest.raises(ValueError, match="is taken"):
        stored("pure-release")(Thief)


def test_a_noun_without_a_tag_is_not_written_and_not_read() -> None:
    @dataclass(frozen=True)
    class Untold:
        number: int

    with pytest.raises(TypeError, match="Untold"):
        to_record(Untold(1))
    with pytest.raises(TypeError, match="Untold"):
        from_record(Untold, {"number": 1})


def test_types_that_look_alike_are_refused_before_anything_is_read() -> None:
    with pytest.raises(TypeError, match="looks like"):
        from_record(str | Fraction, "1/2")


numbers = st.fractions(min_value=Fraction(1, 10**20), max_value=10**20)
wholes = st.integers(min_value=2, max_value=10**30)
rates = st.fractions(min_value=Fraction(1, 10**6), max_value=1)
chances = st.fractions(min_value=Fraction(1, 10**20), max_value=Fraction(99, 100))
LEAVES = [kind for kind in get_args(Event) if not {"part", "parts"} & {f.name for f in fields(kind)}]
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


@given(any_event)
def test_an_event_is_read_as_it_was_and_written_the_same_again(event) -> None:
    text = to_text(event)
    assert from_text(Event, text) == event
    assert to_text(from_text(Event, text)) == text


@given(any_event, any_event)
def test_two_events_have_one_text_only_if_they_are_equal(one, other) -> None:
    assert (to_text(one) == to_text(other)) is (one == other)


def repeated(depth: int) -> Any:
    event: Any = events.PureRelease(epsilon=Fraction(1))
    for _ in range(depth):
        event = events.Repeated(part=event, times=1)
    return event


def nested(depth: int) -> Any:
    record: Any = {"kind": "pure-release", "epsilon": "1/1"}
    for _ in range(depth):
        record = {"kind": "repeated", "part": record, "times": 1}
    return record


def test_what_is_nested_as_deep_as_it_can_be_written_can_be_read() -> None:
    assert from_record(Event, to_record(repeated(127))) == repeated(127)
    with pytest.raises(ParameterError, match="nested more than 128 deep"):
        to_record(repeated(128))


PART = {"kind": "pure-release", "epsilon": "1/1"}
RATIO = "is not a fraction in lowest terms"
REFUSED = {
    "not a record": (Event, ["pure-release"], "is not what it must be"),
    "no kind": (events.PureRelease, {"epsilon": "1/1"}, "is not one of pure-release"),
    "an unknown kind": (events.PureRelease, {"kind": "magic", "epsilon": "1/1"}, "is not one of pure-release"),
    "a class": (
        events.PureRelease,
        {"kind": "PureRelease", "epsilon": "1/1"},
        "is not one of pure-release",
    ),
    "a kind that is not text": (events.PureRelease, {"kind": ["pure-release"]}, "is not one of pure-release"),
    "another noun": (events.PureRelease, {"kind": "yes", "stream": "s"}, "is not one of pure-release"),
    "an unknown field": (Event, {**PART, "delta": "0/1"}, "is not a field of pure-release"),
    "a missing field": (
        Event,
        {"kind": "randomized-response", "epsilon": "1/1"},
        "is missing from randomized-response",
    ),
    "a float": (Event, {"kind": "pure-release", "epsilon": 0.1}, RATIO),
    "a decimal": (Event, {"kind": "pure-release", "epsilon": "0.1"}, RATIO),
    "not in lowest terms": (Event, {"kind": "pure-release", "epsilon": "2/2"}, RATIO),
    "a sign": (Event, {"kind": "pure-release", "epsilon": "+1/2"}, RATIO),
    "a leading zero": (Event, {"kind": "pure-release", "epsilon": "01/2"}, RATIO),
    "a zero denominator": (Event, {"kind": "pure-release", "epsilon": "1/0"}, RATIO),
    "a foreign digit": (Event, {"kind": "pure-release", "epsilon": "١/2"}, RATIO),
    "a truth value for a number": (Event, {"kind": "repeated", "part": PART, "times": True}, "is not a whole number"),
    "parts that are not a list": (Event, {"kind": "composed", "parts": "abc"}, "is not a list"),
    "a part that is not a record": (Event, {"kind": "composed", "parts": [1]}, "is not what it must be"),
    "too deep": (Event, nested(128), "is nested more than 128 deep"),
    "a number for a text": (str, 3, "is not a text"),
    "no enumeration": (Adjacency, "sideways", "is not one of add-remove, replace"),
    "a pair of three": (tuple[int, int], [1, 2, 3], "has not 2 parts"),
    "a set out of order": (frozenset[str], ["b", "a"], "is not in order"),
    "a set with one twice": (frozenset[str], ["a", "a"], "is not in order"),
    "a decimal float": (float, "0.5", "is not a finite number in hexadecimal"),
    "an infinite float": (float, "inf", "is not a finite number in hexadecimal"),
    "no float at all": (float | None, "zero", "is not a finite number in hexadecimal"),
}


@pytest.mark.parametrize(("expected", "record", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_was_not_written_here_is_refused(expected, record, reason) -> None:
    with pytest.raises(ParameterError) as refusal:
        from_record(expected, record)
    assert refusal.value.reason == reason
    assert "damaged, or a newer lapwing wrote it" in refusal.value.remedy


@pytest.mark.parametrize("epsilon", ["0/1", "-1/2"])
def test_a_record_of_what_cannot_happen_is_refused(epsilon) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        from_record(Event, {"kind": "pure-release", "epsilon": epsilon})


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"kind":"pure-release","epsilon":0.5}'], ids=lambda t: t[:9])
def test_a_text_that_is_not_json_is_refused(text) -> None:
    with pytest.raises(ParameterError, match="is not a record"):
        from_text(Event, text)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(texts, values, max_size=4))
def test_a_record_is_read_back_as_it_was_and_written_the_same_again(record) -> None:
    written = canonical(record)
    assert written.isascii()
    assert parse(written) == record
    assert canonical(json.loads(written)) == written


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_order_of_keys_does_not_matter(order) -> None:
    assert digest(dict.fromkeys(order, 1)) == digest({"a": 1, "b": 1, "c": 1, "d": 1})


@pytest.mark.parametrize("record", ['{"a":1.5}', '{"a":1e3}', '{"a":NaN}', '{"a":-Infinity}'])
def test_a_floating_point_number_is_refused(record) -> None:
    with pytest.raises(ValueError, match="no floating-point number"):
        parse(record)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal(1), b"x", {1, 2}])
def test_what_is_no_json_is_never_written(value) -> None:
    with pytest.raises((ValueError, TypeError)):
        canonical({"a": value})

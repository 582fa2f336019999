"""Strict JSON, and question types that follow from the registry of statistics."""

import time

import msgspec
import pytest

from lapwing.doors.server.questions_wire import asking_type, read_question, statistic_types, type_of
from lapwing.doors.server.wire import MalformedError, Offer, read_body, read_json
from lapwing.queries.statistics import STATISTICS
from lapwing.queries.statistics.counts import CountPeople, count
from lapwing.queries.statistics.statistic import Statistic

BAD = {
    "NaN": b'{"a": NaN}',
    "infinity": b'{"a": Infinity}',
    "minus infinity": b'{"a": -Infinity}',
    "1e400": b'{"a": 1e400}',
    "5000 digits": b'{"a": ' + b"1" * 5000 + b"}",
    "many digits": b'{"a": 0.12345678901234567}',
    "key twice": b'{"a": 1, "a": 2}',
    "key twice inside": b'{"a": {"b": 1, "b": 1}}',
    "65 deep": b"[" * 65 + b"]" * 65,
    "60,000 deep": b"[" * 60_000,
    "objects, deep": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "no JSON": b"hello",
    "empty": b"",
    "two values": b"{} {}",
    "trailing comma": b'{"a": 1,}',
    "comment": b"{} // no",
    "bad UTF-8": b'{"a": "\xff"}',
    "byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "NUL": b'{"a": "\x00"}',
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_one_thing_in_one_reading_is_refused_at_once(name) -> None:
    begun = time.process_time()
    with pytest.raises(MalformedError):
        read_json(BAD[name])
    assert time.process_time() - begun < 0.05


def test_64_levels_and_brackets_in_text_are_read() -> None:
    assert read_json(b"[" * 64 + b"]" * 64)
    assert read_json(b'{"a": "' + b"[" * 200 + b'"}') == {"a": "[" * 200}


@pytest.mark.parametrize("price", ["true", "null", "[0.1]", "{}"])
def test_a_price_is_a_number_or_a_text(price) -> None:
    with pytest.raises(msgspec.ValidationError):
        read_body(f'{{"epsilon": {price}}}'.encode(), Offer)


@pytest.mark.parametrize(
    "question",
    [
        {"ask": "count", "table": "patient", "sensitivity": 0},
        {"ask": "count", "table": "patient", "seed": 1},
        {"ask": "count"},
        {"ask": "mode", "table": "patient"},
        {"ask": "top", "table": "patient", "column": "sex"},
        {"ask": "top", "table": "patient", "column": "sex", "k": 1.5},
        {"ask": "top", "table": "patient", "column": "sex", "k": 0},
        {"ask": "count", "table": "patient", "max_groups": 10**30},
        {"ask": "quantiles", "table": "patient", "of": "age", "at": []},
        {"ask": "count", "table": 7},
        {"ask": "together", "questions": {}},
        {"ask": "together", "questions": {"a": {"ask": "sql", "text": "select 1"}}},
    ],
)
def test_a_question_has_its_fields_and_no_others(question) -> None:
    body = msgspec.json.encode({"question": question, "price": {"epsilon": "1"}})
    with pytest.raises(msgspec.ValidationError):
        read_body(body, asking_type())


def test_every_statistic_of_the_registry_has_a_type() -> None:
    assert {one.__struct_config__.tag for one in statistic_types()} == set(STATISTICS)


def test_a_statistic_that_is_added_can_be_asked_without_a_change(monkeypatch) -> None:
    def women(table: str, where: str | None = None, *, twice: bool = False, most: int | None = None) -> CountPeople:
        """Ask how many women there are."""
        assert (twice, most) == (True, 3)
        return count(table, where)

    added = Statistic(name="women", ask=women, result="women")
    monkeypatch.setitem(STATISTICS, "women", added)
    asked = read_body(b'{"ask": "women", "table": "patient", "twice": true, "most": 3}', type_of(added))
    assert isinstance(read_question(asked)[0], CountPeople)
    with pytest.raises(msgspec.ValidationError):
        read_body(b'{"ask": "women", "table": "patient", "twice": 1}', type_of(added))


def test_edges_and_quantiles_are_taken_as_they_are_written() -> None:
    body = b'{"question": {"ask": "quantiles", "table": "t", "of": "x", "at": [0.1]}, "price": {"rho": 1}}'
    asked = read_body(body, asking_type())
    question, _ = read_question(asked.question)
    assert str(question.at[0]) == "1/10"

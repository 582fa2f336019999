"""The JSON of a cohort definition: where each part stands, and what of it nobody read."""

import json

import pytest

from lapwing.queries.limits import MOST_DEPTH, MOST_DIGITS
from lapwing.queries.statements.ohdsi.events import KINDS, MOST_CHARACTERS, JsonPart, Remarks, load
from lapwing.vocabulary.errors import BadQuestionError

LEAST = {"PrimaryCriteria": {}}


def part(entries, remarks=None) -> JsonPart:
    return JsonPart("Rule", entries, remarks or Remarks())


def test_null_is_as_good_as_no_entry() -> None:
    assert [part({"a": given}).take("a", "none") for given in (None, 0, "x")] == ["none", 0, "x"]
    assert part({}).take("a") is None


@pytest.mark.parametrize("given", [True, "3", 1.5])
def test_a_whole_number_is_one(given) -> None:
    assert part({"n": 3}).whole("n") == 3
    assert part({}).whole("n", 7) == 7
    with pytest.raises(BadQuestionError, match=f"Rule.n is {given!r}; write a whole number"):
        part({"n": given}).whole("n")


def test_parts_know_where_they_stand() -> None:
    outer = part({"Inner": {"a": 1}, "List": [{}, {"b": 2}], "Empty": {}})
    assert outer.part("Inner").place == "Rule.Inner"
    assert [one.place for one in outer.parts("List")] == ["Rule.List[0]", "Rule.List[1]"]
    assert outer.part("Empty") is outer.part("Nothing") is None
    assert outer.parts("Nothing") == []


@pytest.mark.parametrize(
    ("entries", "read", "said"),
    [
        ({"Inner": 3}, lambda one: one.part("Inner"), "Rule.Inner of the cohort definition is not an object"),
        ({"List": {}}, lambda one: one.parts("List"), "Rule.List is not a list"),
        ({"List": [3]}, lambda one: one.parts("List"), r"Rule.List\[0\] of the cohort definition is not an object"),
        ({}, lambda one: one.only_entry(), "Rule has 0 kinds of events"),
        ({"Death": {}, "DrugEra": {}}, lambda one: one.only_entry(), "Rule has 2 kinds of events"),
    ],
)
def test_what_is_something_else_is_refused_with_its_place(entries, read, said) -> None:
    with pytest.raises(BadQuestionError, match=said):
        read(part(entries))


def test_the_one_entry_says_what_it_is() -> None:
    name, inner = part({"Death": {"First": True}, "DrugEra": None}).only_entry()
    assert (name, inner.place, inner.take("First")) == ("Death", "Rule.Death", True)


def test_what_nobody_took_is_listed_unless_it_says_nothing() -> None:
    remarks = Remarks()
    entries = {"taken": 1, "left": 2, "null": None, "no": False, "none": [], "empty": {}, "text": "", "zero": 0}
    with part(entries, remarks).read() as one:
        one.take("taken")
    assert list(remarks.unsupported) == ["Rule.left"]


def test_remarks_are_listed_once_in_their_order() -> None:
    remarks = Remarks()
    for what in ("b", "a", "b"):
        remarks.refuse(what)
        remarks.note(what)
    assert list(remarks.unsupported) == list(remarks.notes) == ["b", "a"]


def test_a_definition_is_read_as_it_is_or_from_a_file_with_its_name_around_it(tmp_path) -> None:
    assert load(LEAST) is LEAST
    (tmp_path / "plain.json").write_text(json.dumps(LEAST), encoding="utf-8")
    assert load(tmp_path / "plain.json") == LEAST
    for number, inner in enumerate((LEAST, json.dumps(LEAST))):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps({"name": "Diabetes", "expression": inner}), encoding="utf-8-sig")
        assert load(str(file)) == {"Title": "Diabetes", **LEAST}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "one.json is not JSON"),
        ("[" * 100_000, "one.json is not JSON"),
        ("{}", "one.json has no PrimaryCriteria"),
        ("[]", "one.json has no PrimaryCriteria"),
        ('{"expression": "3"}', "one.json has no PrimaryCriteria"),
        (" " * (MOST_CHARACTERS + 1), "one.json has more than 5,000,000 characters"),
    ],
)
def test_a_file_that_is_no_definition_is_refused_by_its_name_alone(tmp_path, text, said) -> None:
    (tmp_path / "one.json").write_text(text, encoding="utf-8")
    with pytest.raises(BadQuestionError, match=said) as refused:
        load(tmp_path / "one.json")
    assert str(tmp_path) not in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path) -> None:
    with pytest.raises(BadQuestionError, match=r"none.json cannot be read"):
        load(tmp_path / "none.json")


def nested(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (float("inf"), "has inf where a number stands"),
        (float("nan"), "has nan where a number stands"),
        (10**MOST_DIGITS, f"more than {MOST_DIGITS} digits"),
        (-(10**MOST_DIGITS), f"more than {MOST_DIGITS} digits"),
        (nested(MOST_DEPTH), f"nested {MOST_DEPTH + 1} levels deep"),
        ([0] * 200_000, "200001 parts of its JSON, more than 200000"),
    ],
)
def test_what_is_too_large_or_no_number_is_refused(entry, said) -> None:
    with pytest.raises(BadQuestionError, match=said):
        load({**LEAST, "entry": entry})
    load({**LEAST, "entry": nested(MOST_DEPTH - 1)})


def test_every_kind_of_event_has_columns_of_its_own_table() -> None:
    assert len({one.table for one in KINDS.values()}) == len(KINDS)
    for kind in KINDS.values():
        columns = [kind.concept, *kind.concepts.values(), *kind.sources.values()]
        assert all(column.endswith("concept_id") for column in columns)
        assert all(day.endswith("_date") for day in (kind.start, kind.end) if day is not None)
        assert not kind.lengths or kind.end, "what has a length has an end"

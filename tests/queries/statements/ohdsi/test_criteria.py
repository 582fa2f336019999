"""Criteria of a cohort definition, each as the condition that it is."""

import re
from dataclasses import replace

import pytest

from lapwing.queries.catalogue.public_tables import ConceptExpression, ConceptItem
from lapwing.queries.language.expressions import And, Name, Not, Or
from lapwing.queries.language.joined import Has, InConcepts
from lapwing.queries.language.parts import shape
from lapwing.queries.language.speller import written
from lapwing.queries.statements.ohdsi.criteria import ALWAYS, NEVER, CriteriaReader, EventRow, later
from lapwing.queries.statements.ohdsi.events import KINDS, JsonPart, Remarks
from lapwing.vocabulary.errors import BadQuestionError

DIABETES = ConceptExpression(name="diabetes", items=(ConceptItem(concept=201826),))
NOTHING = ConceptExpression(name="nothing", items=())
READER = CriteriaReader({0: DIABETES, 1: NOTHING}, about_people=False)
VISIT, TEST = EventRow(KINDS["VisitOccurrence"], "v"), EventRow(KINDS["Measurement"], "m")


def tidy(condition):
    """Return a condition without what is always true, and without an and within an and."""
    match condition:
        case And(parts):
            inner = [tidy(part) for part in parts]
            flat = [one for part in inner for one in (part.parts if isinstance(part, And) else [part])]
            return flat[0] if len(flat) == 1 else And(tuple(flat))
        case Or(parts):
            return Or(tuple(map(tidy, parts)))
        case Not(inner):
            return Not(tidy(inner))
        case Has():
            return replace(condition, where=tidy(condition.where))
        case _:
            return condition


def words(condition):
    """Return a condition as one would write it, with days in short."""
    text, many = written(tidy(condition)), 1
    while many:
        text, many = re.subn(r"\(([\w. +-]+) \+ interval '(-?\d+)' day\)", r"\1 + \2", text)
    return text


def about(kind, entries):
    """Return what a criterion says about its row, in words, and what of it was left out."""
    remarks = Remarks()
    _, said = READER.event(JsonPart("Rule", {kind: entries}, remarks), "e")
    return words(said), list(remarks.unsupported)


def group(entries, index=VISIT):
    remarks = Remarks()
    return READER.group(JsonPart("Group", entries, remarks), index), list(remarks.unsupported)


@pytest.mark.parametrize(
    ("range_", "said"),
    [
        ({"Op": "gt", "Value": 7}, "e.value_as_number > 7"),
        ({"Op": "gte", "Value": 6.5}, "e.value_as_number >= 6.5"),
        ({"Op": "lt", "Value": 7}, "e.value_as_number < 7"),
        ({"Op": "lte", "Value": 7}, "e.value_as_number <= 7"),
        ({"Op": "eq", "Value": 7}, "e.value_as_number = 7"),
        ({"Op": "!eq", "Value": 7}, "not (e.value_as_number = 7)"),
        ({"Op": "bt", "Value": 3, "Extent": 5}, "e.value_as_number >= 3 and e.value_as_number <= 5"),
        ({"Op": "!bt", "Value": 3, "Extent": 5}, "not (e.value_as_number >= 3 and e.value_as_number <= 5)"),
    ],
)
def test_ranges_of_numbers(range_, said) -> None:
    assert about("Measurement", {"ValueAsNumber": range_}) == (said, [])


@pytest.mark.parametrize(
    ("range_", "said"),
    [
        ({"Op": "near", "Value": 7}, "Rule.Measurement.ValueAsNumber.Op is 'near'"),
        ({"Op": "gt", "Value": True}, "names True; write a number or a day"),
        ({"Op": "gt"}, "names None; write a number or a day"),
        ({"Op": "gt", "Value": "soon"}, "names 'soon'; write a day such as 2015-12-31"),
    ],
)
def test_a_range_that_is_none_is_refused_with_its_place(range_, said) -> None:
    with pytest.raises(BadQuestionError, match=said):
        about("Measurement", {"ValueAsNumber": range_})


def test_days_ages_and_lengths() -> None:
    day = {"Op": "gte", "Value": "2015-12-31T00:00"}
    assert about("VisitOccurrence", {"OccurrenceStartDate": day})[0] == "e.visit_start_date >= date '2015-12-31'"
    ended = about("ProcedureOccurrence", {"OccurrenceEndDate": day})[0]
    assert ended == "e.procedure_date + 1 >= date '2015-12-31'", "what has no end lasts a day"
    aged = about("VisitOccurrence", {"Age": {"Op": "gt", "Value": 65}})[0]
    assert aged == "(year(e.visit_start_date) - person.year_of_birth) > 65"
    long = about("VisitOccurrence", {"VisitLength": {"Op": "gt", "Value": 3}})[0]
    assert long == "(e.visit_end_date - e.visit_start_date) > 3"


def test_an_end_that_is_missing_is_the_day_after_the_start() -> None:
    assert words(VISIT.compare("<=", Name("day"), end=True)) == (
        "v.visit_end_date <= day or (v.visit_end_date is null and v.visit_start_date + 1 <= day)"
    )
    assert [(words(when), words(day)) for when, day in VISIT.ends] == [
        ("not (v.visit_end_date is null)", "v.visit_end_date"),
        ("v.visit_end_date is null", "v.visit_start_date + 1"),
    ]
    ((when, day),) = TEST.ends
    assert when is ALWAYS
    assert words(day) == "m.measurement_date + 1"


def test_concept_sets_are_named_by_their_numbers() -> None:
    _, said = READER.event(JsonPart("Rule", {"Measurement": {"CodesetId": 0}}, Remarks()), "e")
    (codes,) = (one for one in said.parts if shape(one) != shape(ALWAYS))
    assert shape(codes) == shape(InConcepts(Name("measurement_concept_id", "e"), DIABETES))
    _, none = READER.event(JsonPart("Rule", {"Measurement": {"CodesetId": 1}}, Remarks()), "e")
    assert shape(NEVER) in map(shape, none.parts), "no concept is in an empty set"
    with pytest.raises(BadQuestionError, match=r"Rule.Measurement.CodesetId names the concept set 7"):
        about("Measurement", {"CodesetId": 7})


def test_concepts_are_listed_or_excluded_and_those_of_people_are_looked_up_there() -> None:
    male = [{"CONCEPT_ID": 8507, "CONCEPT_NAME": "MALE"}]
    unit = {"Unit": [{"CONCEPT_ID": 1}, {"CONCEPT_ID": 2}]}
    assert about("Measurement", unit)[0] == "e.unit_concept_id in (1, 2)"
    assert about("Observation", {**unit, "UnitExclude": True})[0] == "not (e.unit_concept_id in (1, 2))"
    assert about("Death", {"Gender": male})[0] == "person.gender_concept_id in (8507)"
    people = CriteriaReader({}, about_people=True)
    (said,) = people.of_person(JsonPart("Rule", {"Gender": male}, Remarks()))
    assert written(said) == "has(person, gender_concept_id in (8507))"
    with pytest.raises(BadQuestionError, match=r"Rule.Death.Gender\[0\] has no CONCEPT_ID"):
        about("Death", {"Gender": [{}]})


def test_what_is_not_read_is_listed_and_a_kind_that_is_not_known_is_refused() -> None:
    assert about("Death", {"ProviderSpecialty": [{"CONCEPT_ID": 1}]})[1] == ["Rule.Death.ProviderSpecialty"]
    with pytest.raises(BadQuestionError, match="Rule is about PayerPlanPeriod, which is not read here"):
        about("PayerPlanPeriod", {})


def test_the_first_and_the_last_of_a_person() -> None:
    assert written(READER.first(VISIT, ALWAYS)) == "v.visit_start_date = first_of(f.visit_start_date)"
    assert written(READER.first(VISIT, ALWAYS, last=True)) == "v.visit_start_date = last_of(f.visit_start_date)"


def aged(years):
    return {"Age": {"Op": "gt", "Value": years}}


def older(years):
    return f"(year(v.visit_start_date) - person.year_of_birth) > {years}"


THREE = {"DemographicCriteriaList": [aged(1), aged(2), aged(3)]}


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"Type": "ALL"}, f"{older(1)} and {older(2)} and {older(3)}"),
        ({"Type": "any"}, f"{older(1)} or {older(2)} or {older(3)}"),
        (
            {"Type": "AT_LEAST", "Count": 2},
            f"({older(1)} and {older(2)}) or ({older(1)} and {older(3)}) or ({older(2)} and {older(3)})",
        ),
        ({"Type": "AT_LEAST", "Count": 3}, f"({older(1)} and {older(2)} and {older(3)})"),
        ({"Type": "AT_MOST", "Count": 0}, f"not ({older(1)} or {older(2)} or {older(3)})"),
    ],
)
def test_so_many_of_a_group(entries, said) -> None:
    found, left = group({**THREE, **entries})
    assert (words(found), left) == (said, [])


@pytest.mark.parametrize(("count", "met"), [(0, ALWAYS), (4, NEVER)])
def test_none_of_a_group_is_always_and_more_than_there_are_is_never(count, met) -> None:
    assert group({**THREE, "Type": "AT_LEAST", "Count": count})[0] is met
    assert group({"Type": "ANY"})[0] is ALWAYS, "a group of nothing"


def test_a_group_that_is_none_or_too_large_is_refused() -> None:
    with pytest.raises(BadQuestionError, match=r"Group.Type is 'SOME'; write ALL, ANY, AT_LEAST or AT_MOST"):
        group({**THREE, "Type": "some"})
    with pytest.raises(BadQuestionError, match="Group asks for 2 of 9 criteria; split it into groups of 8"):
        group({"DemographicCriteriaList": [aged(n) for n in range(9)], "Type": "AT_LEAST", "Count": 2})


def around(**entries):
    """Return what is said of a measurement around an index visit, whenever it is observed."""
    criterion = {"Criteria": {"Measurement": {}}, "IgnoreObservationPeriod": True, **entries}
    found, left = group({"CriteriaList": [criterion]})
    return words(found), left


@pytest.mark.parametrize(
    ("occurrence", "said"),
    [
        (None, "has(measurement)"),
        ({"Type": 2, "Count": 3}, "has(measurement, true, 3)"),
        ({"Type": 1, "Count": 3}, "not (has(measurement, true, 4))"),
        ({"Type": 0, "Count": 0}, "not (has(measurement))"),
        ({"Type": 0, "Count": 2}, "has(measurement, true, 2) and not (has(measurement, true, 3))"),
    ],
)
def test_at_least_at_most_and_exactly_so_many_events(occurrence, said) -> None:
    found, left = around(Occurrence=occurrence)
    assert (found, left) == (said, [])


def test_a_number_of_times_that_is_none_is_refused_and_different_values_are_listed() -> None:
    with pytest.raises(BadQuestionError, match="write a Type of 0, 1 or 2, and a Count"):
        around(Occurrence={"Type": 3, "Count": 1})
    with pytest.raises(BadQuestionError, match="write a Type of 0, 1 or 2, and a Count"):
        around(Occurrence={"Type": 2, "Count": -1})
    (left,) = around(Occurrence={"Type": 2, "Count": 2, "IsDistinct": True})[1]
    assert left.endswith("Occurrence.IsDistinct (different values of DOMAIN_CONCEPT: rows are counted)")
    assert around(Occurrence={"Type": 2, "Count": 1, "IsDistinct": True})[1] == [], "one is different from no other"


def test_windows_are_days_around_the_start_or_the_end_of_the_index_event() -> None:
    window = {"Start": {"Days": 30, "Coeff": -1}, "End": {"Days": 0, "Coeff": 1}}
    found, _ = around(StartWindow=window)
    assert found == (
        "has(measurement, vx.measurement_date >= v.visit_start_date + -30 and "
        "vx.measurement_date <= v.visit_start_date)"
    )
    after, _ = around(StartWindow={"Start": {"Days": 1, "Coeff": 1}, "UseIndexEnd": True})
    assert after == (
        "(not (v.visit_end_date is null) and has(measurement, vx.measurement_date >= v.visit_end_date + 1)) or "
        "(v.visit_end_date is null and has(measurement, vx.measurement_date >= v.visit_start_date + 1 + 1))"
    )
    ended, _ = around(EndWindow={"End": {"Days": 2, "Coeff": 1}})
    assert ended == "has(measurement, vx.measurement_date + 1 <= v.visit_start_date + 2)"


@pytest.mark.parametrize(
    ("edge", "coefficient", "left"), [("Start", -1, 0), ("End", 1, 0), ("Start", 1, 1), ("End", -1, 1)]
)
def test_an_edge_without_days_is_open_on_its_own_side_only(edge, coefficient, left) -> None:
    assert len(around(StartWindow={edge: {"Coeff": coefficient}})[1]) == left


def test_the_same_visit_and_the_time_that_a_person_is_observed() -> None:
    assert around(RestrictVisit=True)[0] == "has(measurement, vx.visit_occurrence_id = v.visit_occurrence_id)"
    observed, _ = around(IgnoreObservationPeriod=False)
    assert observed == (
        "has(measurement, vx.measurement_date >= observation_period.observation_period_start_date and "
        "vx.measurement_date <= observation_period.observation_period_end_date)"
    )
    with pytest.raises(BadQuestionError, match=r"Group.CriteriaList\[0\] has no Criteria"):
        around(Criteria=None)


def test_a_day_later_is_the_day_itself_where_there_are_no_days() -> None:
    day = Name("day")
    assert later(day, 0) is day
    assert [words(later(day, days)) for days in (3, -3)] == ["day + 3", "day + -3"]

"""What of a cohort definition is read, what is listed as not supported, and what is refused."""

import copy
import json
import time

import pytest

import lapwing as lw
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import BadQuestionError
from omop_clinic import make_omop, truth
from queries.omop import omop

PLAIN = {
    "ConceptSets": [
        {"id": 0, "name": "hypertension", "expression": {"items": [{"concept": {"CONCEPT_ID": 120}}]}},
        {
            "id": 1,
            "name": "diabetes",
            "expression": {"items": [{"concept": {"CONCEPT_ID": 110}, "includeDescendants": True}]},
        },
    ],
    "PrimaryCriteria": {
        "CriteriaList": [{"ConditionOccurrence": {"CodesetId": 0}}],
        "ObservationWindow": {"PriorDays": 0, "PostDays": 0},
        "PrimaryCriteriaLimit": {"Type": "All"},
    },
    "InclusionRules": [
        {
            "name": "a drug after",
            "expression": {
                "Type": "ALL",
                "CriteriaList": [
                    {
                        "Criteria": {"DrugExposure": {}},
                        "StartWindow": {"Start": {"Days": 0, "Coeff": 1}, "End": {"Days": 365, "Coeff": 1}},
                        "Occurrence": {"Type": 2, "Count": 1},
                    }
                ],
            },
        }
    ],
}
EVENT = ("PrimaryCriteria", "CriteriaList", 0, "ConditionOccurrence")
CRITERION = ("InclusionRules", 0, "expression", "CriteriaList", 0)


def changed(place: tuple, value: object) -> dict:
    """Return the plain definition with something else at a place."""
    definition = copy.deepcopy(PLAIN)
    inner = definition
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return definition


@pytest.mark.parametrize(
    ("place", "value", "listed"),
    [
        ((*EVENT, "StopReason"), {"Text": "x", "Op": "contains"}, "ConditionOccurrence.StopReason"),
        ((*EVENT, "ProviderSpecialty"), [{"CONCEPT_ID": 1}], "ConditionOccurrence.ProviderSpecialty"),
        ((*EVENT, "VisitType"), [{"CONCEPT_ID": 9201}], "ConditionOccurrence.VisitType"),
        ((*EVENT, "DateAdjustment"), {"StartOffset": 1}, "ConditionOccurrence.DateAdjustment"),
        ((*EVENT, "ConditionTypeExclude"), True, "ConditionTypeExclude"),
        ((*CRITERION, "Occurrence"), {"Type": 2, "Count": 2, "IsDistinct": True}, "Occurrence.IsDistinct"),
        ((*CRITERION, "SomethingNew"), 7, "CriteriaList[0].SomethingNew"),
        (
            (*CRITERION, "StartWindow", "Start"),
            {"Days": None, "Coeff": 1},
            "StartWindow.Start (no days before its beginning",
        ),
        (("CensorWindow",), {"StartDate": "2010-01-01"}, "definition.CensorWindow"),
        (("ConceptSets", 0, "expression", "items", 0, "includeMapped"), True, "includeMapped"),
    ],
)
def test_what_is_not_supported_is_listed_and_not_asked_by_accident(clinic, place, value, listed) -> None:
    definition = lw.cohort_definition(changed(place, value))
    assert any(listed in one for one in definition.unsupported), definition.unsupported
    assert listed.rpartition(".")[2].split()[0] in str(definition)
    assert "1 not supported" in repr(definition)
    for ask in (definition.funnel, definition.count):
        with pytest.raises(BadQuestionError, match="not supported"):
            ask()
        assert clinic.preview(ask(anyway=True), epsilon=1).price.epsilon == 1


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("PrimaryCriteria",), {}, "has no PrimaryCriteria"),
        (("PrimaryCriteria", "CriteriaList"), [], "has no events"),
        (("PrimaryCriteria", "CriteriaList"), {}, "is not a list"),
        (("PrimaryCriteria", "CriteriaList", 0), {"Specimen": {}}, "is about Specimen, which is not read here"),
        (("PrimaryCriteria", "CriteriaList", 0), {"Death": {}, "Specimen": {}}, "2 kinds of events"),
        (("PrimaryCriteria", "PrimaryCriteriaLimit", "Type"), "Some", "write All, First or Last"),
        ((*EVENT, "CodesetId"), 7, "names the concept set 7"),
        ((*EVENT, "CodesetId"), "x", "write a whole number"),
        ((*EVENT, "Age"), {"Value": 18, "Op": "about"}, "write lt, lte, eq"),
        ((*EVENT, "Age"), {"Value": True, "Op": "gt"}, "write a number or a day"),
        ((*EVENT, "OccurrenceStartDate"), {"Value": "yesterday", "Op": "gt"}, "write a day"),
        ((*EVENT, "Gender"), [{"CONCEPT_NAME": "F"}], "has no CONCEPT_ID"),
        ((*CRITERION, "Occurrence"), {"Type": 5, "Count": 1}, "Type of 0, 1 or 2"),
        ((*CRITERION, "Criteria"), None, "has no Criteria"),
        (("InclusionRules", 0, "expression", "Type"), "MOST", "write ALL, ANY"),
        (("ConceptSets", 0, "expression", "items", 0, "concept"), {}, "names no concept"),
        (("ConceptSets", 0, "id"), None, "has no id"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(place, value, says) -> None:
    with pytest.raises(BadQuestionError, match=says):
        lw.cohort_definition(changed(place, value))


def test_a_file_that_atlas_wrote_has_the_definition_inside(tmp_path, clinic, folder) -> None:
    around = {"id": 7, "name": "Hypertension", "expression": json.dumps(PLAIN)}
    (tmp_path / "cohort.json").write_text(json.dumps(around), encoding="utf-8")
    definition = lw.cohort_definition(tmp_path / "cohort.json")
    assert definition.title == "Hypertension"
    (expected,) = truth(
        folder, "select count(distinct person_id) from condition_occurrence where condition_concept_id = 120"
    )
    assert clinic.ask(definition.funnel(), epsilon=20).rows[0]["answer"] == expected[0]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"expression": {}}', '{"expression": "[]"}'])
def test_what_is_no_definition_is_refused(tmp_path, text) -> None:
    (tmp_path / "cohort.json").write_text(text, encoding="utf-8")
    with pytest.raises(BadQuestionError, match=r"cohort.json"):
        lw.cohort_definition(str(tmp_path / "cohort.json"))
    with pytest.raises(BadQuestionError, match="cannot be read"):
        lw.cohort_definition(tmp_path / "nowhere.json")


def test_an_empty_concept_set_holds_nothing(clinic) -> None:
    nothing = changed(("ConceptSets", 0, "expression"), {"items": []})
    assert [row["answer"] for row in clinic.ask(lw.cohort_definition(nothing).funnel(), epsilon=20).rows] == [0, 0]
    excluded = [
        {"concept": {"CONCEPT_ID": 110}, "includeDescendants": True},
        {"concept": {"CONCEPT_ID": 100}, "includeDescendants": True, "isExcluded": True},
    ]
    none = changed(("ConceptSets", 0, "expression"), {"items": excluded})
    assert [row["answer"] for row in clinic.ask(lw.cohort_definition(none).funnel(), epsilon=20).rows] == [0, 0]


def test_descendants_need_the_vocabulary(quick_path) -> None:
    place = make_omop(quick_path / "omop")
    settings = (place / "lapwing.toml").read_text(encoding="utf-8")
    without = settings.replace('concept_ancestor = { file = "CONCEPT_ANCESTOR.csv" }\n', "")
    (place / "lapwing.toml").write_text(without, encoding="utf-8")
    lw.create(place).close()
    with lw.open(place) as session, pytest.raises(BadQuestionError, match="there is no vocabulary concept_ancestor"):
        session.preview(lw.cohort_definition(changed((*EVENT, "CodesetId"), 1)).funnel(), epsilon=1)


def test_sentences_tell_concept_sets_by_their_names(clinic) -> None:
    definition = lw.cohort_definition(changed((*EVENT, "CodesetId"), 1))
    assert "is one of the 4 values of 'diabetes'" in clinic.preview(definition.count(), epsilon=1).asked.words


def test_a_definition_that_names_no_limits_takes_all_events() -> None:
    unlimited = {name: part for name, part in PLAIN["PrimaryCriteria"].items() if name != "PrimaryCriteriaLimit"}
    read = lw.cohort_definition(changed(("PrimaryCriteria",), unlimited))
    assert repr(read) == repr(lw.cohort_definition(PLAIN))


def test_how_the_definition_is_read_a_little_differently_is_said() -> None:
    first = changed(("PrimaryCriteria", "PrimaryCriteriaLimit", "Type"), "First")
    assert any("on the first or last day" in note for note in lw.cohort_definition(first).notes)
    ended = changed(("EndStrategy",), {"DateOffset": {"DateField": "StartDate", "Offset": 7}})
    read = lw.cohort_definition(ended)
    assert any("EndStrategy" in note for note in read.notes)
    assert read.unsupported == ()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 10**200, 1e300])
@pytest.mark.parametrize("place", [(*EVENT, "Age"), ("InclusionRules", 0, "expression", "Count")])
def test_a_number_that_is_none_is_refused_in_a_sentence(number, place) -> None:
    value = {"Op": "gt", "Value": number} if place[-1] == "Age" else number
    with pytest.raises(BadQuestionError, match=r"finite number|more than 100 digits|whole number|absurdly large"):
        plan(lw.cohort_definition(changed(place, value)).funnel(), omop())


@pytest.mark.parametrize("levels", [60, 900, 100_000])
def test_groups_within_groups_without_end_are_refused(levels, tmp_path) -> None:
    inner: dict = {"Type": "ALL", "Groups": []}
    for _ in range(levels):
        inner = {"Type": "ALL", "Groups": [inner]}
    with pytest.raises(BadQuestionError, match="levels deep, more than 100; put its groups side by side"):
        lw.cohort_definition(changed(("InclusionRules", 0, "expression"), inner))
    path = tmp_path / "deep.json"
    path.write_text('{"PrimaryCriteria": ' + "[" * levels + "]" * levels + "}")
    with pytest.raises(BadQuestionError, match=r"is not JSON|not an object of JSON|levels deep"):
        lw.cohort_definition(path)


def test_a_definition_within_a_definition_that_is_no_json_is_refused(tmp_path) -> None:
    path = tmp_path / "named.json"
    path.write_text('{"name": "x", "expression": "{no json"}')
    with pytest.raises(BadQuestionError, match=r"named.json is not JSON"):
        lw.cohort_definition(path)


def test_rules_that_multiply_with_the_events_are_refused_while_they_are_read() -> None:
    """90 rules, each small, of 40 events: 100 kB took 24 s of work before they were refused, put together."""
    criterion = {"Criteria": {"DrugExposure": {}}}
    rule = {"expression": {"Type": "ALL", "CriteriaList": [criterion] * 8}}
    definition = {
        "ConceptSets": [],
        "PrimaryCriteria": {"CriteriaList": [{"ConditionOccurrence": {}}] * 40},
        "InclusionRules": [rule] * 90,
    }
    started = time.process_time()
    with pytest.raises(BadQuestionError, match="parts, more than 50000"):
        lw.cohort_definition(definition)
    assert time.process_time() - started < 4


def test_a_definition_with_too_many_parts_is_refused() -> None:
    items = [{"concept": {"CONCEPT_ID": number}} for number in range(100_000)]
    with pytest.raises(BadQuestionError, match="parts of its JSON, more than 200000"):
        lw.cohort_definition(changed(("ConceptSets", 0, "expression", "items"), items))

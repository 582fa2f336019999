"""Vocabularies, concept sets and cohort definitions at the command line."""

import json
import shutil
from pathlib import Path

import pytest

from doors.cli.at_the_prompt import LEAK, run
from omop_clinic import truth

CORPUS = Path(__file__).parents[2] / "queries" / "statements" / "ohdsi" / "definitions"
DIABETES = "condition_concept_id in concept_set('diabetes')"
COUNTED = "select count(distinct person_id) from condition_occurrence where condition_concept_id in (110, 112)"


@pytest.fixture
def omop(omop_once, quick_path) -> Path:
    place = Path(shutil.copytree(omop_once, quick_path / "omop"))
    (place / "ids.csv").write_text("concept_id\n110\n112\n", encoding="utf-8")
    return place


def values(told) -> list[int]:
    return [cell["value"] for row in told.json["rows"] for cell in row["values"].values()]


@pytest.mark.parametrize(
    "words",
    [
        ["count", "condition_occurrence", "--where", DIABETES],
        ["ask", "count", "condition_occurrence", "--where", DIABETES],
        ["sql", COUNTED.partition("where")[0] + "where " + DIABETES],
    ],
    ids=lambda words: words[0],
)
def test_a_concept_set_is_a_file(omop, words) -> None:
    given = ["--concept-set", f"diabetes={omop / 'ids.csv'}", "--epsilon", "20", "--json"]
    told = run(omop, *words, *given)
    assert values(told) == [truth(omop, COUNTED)[0][0]]
    assert "one of the 2 values of 'diabetes'" in told.json["asked"]


def test_a_stream_knows_concept_sets(omop) -> None:
    opened = ["--at-least", "5", "--yeses", "2", "--epsilon", "20", "--name", "s", "--table", "condition_occurrence"]
    assert run(omop, "stream", "open", *opened).code == 0
    told = run(omop, "stream", "ask", "s", DIABETES, "--concept-set", f"diabetes={omop / 'ids.csv'}", "--json")
    assert told.json["verdict"] == "above"


def test_a_concept_set_that_is_not_there_is_refused(omop) -> None:
    asked = ["count", "condition_occurrence", "--where", DIABETES, "--epsilon", "1"]
    assert "--concept-set diabetes=ids.csv" in run(omop, *asked).err
    assert "names no file" in run(omop, *asked, "--concept-set", "diabetes").err
    assert "is not there" in run(omop, *asked, "--concept-set", "diabetes=nowhere.csv").err


def test_groups_are_shown_by_their_names(omop, tmp_path) -> None:
    asked = ["count", "condition_occurrence", "--by", "condition_concept_id", "--max-groups", "9", "--epsilon", "20"]
    told = run(omop, *asked, "--plot", str(tmp_path / "conditions.svg"))
    assert "Type 2 diabetes with nephropathy" in told.out
    assert (tmp_path / "conditions.svg").stat().st_size > 0


def test_the_largest_groups_come_with_their_counts(omop) -> None:
    asked = ["ask", "top", "condition_occurrence", "condition_concept_id", "-k", "2", "--counts", "--epsilon", "20"]
    told = run(omop, *asked, "--json")
    statement = (
        "select count(distinct person_id) n from condition_occurrence group by condition_concept_id order by n desc"
    )
    for value, (count,) in zip(values(told), truth(omop, f"{statement} limit 2"), strict=True):
        assert abs(value - count) <= 5  # each is off by more than 4 less than once in 10^9 times
    assert [row["key"][1] for row in told.json["rows"]] == ["Hypertension", "Type 2 diabetes mellitus"]
    assert "no category that is missing has over" in run(omop, *asked).out


def test_a_cohort_definition_is_a_funnel(omop) -> None:
    file = CORPUS / "drug_windows.json"
    told = run(omop, "funnel", "--definition", str(file), "--epsilon", "20", "--json")
    assert tuple(values(told)) == truth(omop, file.with_suffix(".sql").read_text(encoding="utf-8"))[0]
    assert [row["key"] for row in told.json["rows"]][1] == ["metformin around"]
    dry = run(omop, "funnel", "--definition", str(file), "--epsilon", "1", "--dry-run")
    assert dry.code == 0
    assert "mind: when people leave the cohort" in dry.err
    assert not LEAK.search(dry.out)


def test_what_a_definition_uses_and_is_not_supported_is_listed(omop) -> None:
    definition = json.loads((CORPUS / "drug_windows.json").read_text(encoding="utf-8"))
    definition["PrimaryCriteria"]["CriteriaList"][0]["ConditionOccurrence"]["StopReason"] = {"Text": "x"}
    (omop / "cohort.json").write_text(json.dumps(definition), encoding="utf-8")
    asked = ["funnel", "--definition", str(omop / "cohort.json"), "--epsilon", "1"]
    refused = run(omop, *asked)
    assert refused.code == 2
    assert "ConditionOccurrence.StopReason" in refused.err
    assert run(omop, *asked, "--anyway").code == 0


@pytest.mark.parametrize("words", [[], ["person", "--definition", "x.json"], ["--step", "true", "--definition", "x"]])
def test_a_funnel_has_steps_or_a_definition(omop, words) -> None:
    assert "--definition FILE" in run(omop, "funnel", *words, "--epsilon", "1").err


def test_a_vocabulary_that_changed_is_advanced(omop) -> None:
    file = omop / "CONCEPT.csv"
    file.write_text(file.read_text(encoding="utf-8") + "150\tGout\tCondition\t0150\t\n", encoding="utf-8")
    asked = ["count", "person", "--epsilon", "1"]
    assert "lapwing advance concept" in run(omop, *asked).err
    assert run(omop, "advance", "concept", "--json").json["versions"] == {"concept": 2}
    assert run(omop, *asked).code == 0


def test_changed_vocabularies_are_found(omop) -> None:
    file = omop / "CONCEPT.csv"
    file.write_text(file.read_text(encoding="utf-8") + "150\tGout\tCondition\t0150\t\n", encoding="utf-8")
    assert run(omop, "advance", "--changed", "--json").json["versions"] == {"concept": 2}

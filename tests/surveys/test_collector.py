"""The collector hears each device once a round, and keeps what it heard."""

import json
import sqlite3
import subprocess
import sys
from fractions import Fraction

import pytest

import lapwing as lw
from lapwing.errors import BadQuestionError, BudgetError, ParameterError, SettingsError

SMOKING = ["never", "sometimes", "daily"]


def line(of, number=1, report=(0,), **other):
    """Return a report as a client prints it, but for what is given otherwise; None is left out."""
    sent = {"survey": of.asked.key, "device": f"{number:032x}", "report": list(report), **other}
    return json.dumps({name: value for name, value in sent.items() if value is not None})


@pytest.fixture
def survey():
    return lw.survey(SMOKING, epsilon="0.5")


@pytest.fixture
def collector(survey, quick_path):
    with survey.collect(quick_path / "reports.db") as collector:
        yield collector


def test_a_report_that_comes_again_word_for_word_counts_once(survey, collector) -> None:
    assert collector.take(line(survey))
    assert not collector.take(line(survey))
    assert collector.people == 1
    assert collector.spent(f"{1:032x}") == Fraction(1, 2)


def test_another_report_of_the_same_device_is_refused(survey, collector) -> None:
    collector.take(line(survey))
    with pytest.raises(BadQuestionError, match=r"has sent another report in round 1; .*: send the first one again$"):
        collector.take(line(survey, report=[2]))
    assert collector.people == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"report": [3]}, "does not name 1 different answers below 3, in order"),
        ({"report": [0, 1]}, "has 2 numbers and not 1"),
        ({"report": ["0"]}, "is not a list of whole numbers"),
        ({"survey": "another"}, "is of another survey, price or round than"),
        ({"device": None}, "is no JSON object with survey, device and report"),
        ({"device": "G" * 32}, "is not 32 hexadecimal digits"),
        ({"device": ["a"]}, "is not 32 hexadecimal digits"),
        ({"note": "x" * 70_000}, "characters, more than 65536"),
    ],
)
def test_what_is_no_report_is_refused_with_its_reason(survey, collector, words, reason) -> None:
    with pytest.raises(BadQuestionError, match=reason):
        collector.take(line(survey, **{"report": [0], **words}))
    assert collector.people == 0


@pytest.mark.parametrize("text", ["", "never", "[1]", "{", "[" * 5000, "nan", '{"survey": 1}'])
def test_what_is_no_object_is_refused(collector, text) -> None:
    with pytest.raises(BadQuestionError, match=r"the line that the client printed, unchanged$"):
        collector.take(text)


def test_of_many_lines_the_good_ones_are_kept(survey, collector) -> None:
    lines = [line(survey, 1), "spoiled", line(survey, 2), line(survey, 1, [1]), line(survey, 2)]
    refused = collector.take_all(lines)
    assert collector.people == 2
    assert [one.partition(":")[0] for one in refused] == ["line 2", "line 4"]


def test_what_was_taken_is_there_when_the_file_is_opened_again(survey, quick_path) -> None:
    with survey.collect(quick_path / "a.db") as first, survey.collect(quick_path / "a.db") as second:
        first.take(line(survey, 1))
        second.take(line(survey, 2))
        with pytest.raises(BadQuestionError, match="another report"):
            second.take(line(survey, 1, [2]))
    with survey.collect(quick_path / "a.db") as again:
        assert again.people == 2


TAKE_AND_DIE = """
import os, sys
import lapwing as lw
lw.survey(["never", "sometimes", "daily"], epsilon="0.5").collect(sys.argv[1]).take(sys.argv[2])
os.kill(os.getpid(), 9)
"""


def test_what_was_taken_survives_the_process(survey, quick_path) -> None:
    command = [sys.executable, "-c", TAKE_AND_DIE, quick_path / "a.db", line(survey)]
    assert subprocess.run(command, check=False).returncode == -9
    with survey.collect(quick_path / "a.db") as again:
        assert (again.people, again.take(line(survey))) == (1, False)


def test_a_person_pays_for_each_round_and_nobody_else_does(quick_path) -> None:
    june, july = (lw.survey(SMOKING, epsilon=price, round=name) for name, price in (("june", "0.5"), ("july", "1/3")))
    with june.collect(quick_path / "a.db") as first, july.collect(quick_path / "a.db") as second:
        first.take_all([line(june, 1), line(june, 2)])
        second.take(line(july, 1))
        assert [second.spent(f"{device:032x}") for device in (1, 2, 3)] == [Fraction(5, 6), Fraction(1, 2), 0]
        assert (first.people, second.people) == (2, 1)


def test_who_has_spent_all_that_a_person_may_spend_is_left_out(quick_path) -> None:
    june, july = (lw.survey(SMOKING, epsilon="0.5", round=name) for name in ("june", "july"))
    with june.collect(quick_path / "a.db") as first, july.collect(quick_path / "a.db", most_per_person="0.9") as second:
        first.take(line(june, 1))
        with pytest.raises(BudgetError, match="would have spent epsilon 1, more than the 9/10 that a person may spend"):
            second.take(line(july, 1))
        assert second.take(line(july, 2))
        assert second.people == 1


def test_a_limit_below_the_price_of_one_report_is_refused_before_a_file_is_made(quick_path) -> None:
    june = lw.survey(["yes", "no"], epsilon="1.5")
    with pytest.raises(ParameterError, match=r"is less than the epsilon 1\.5 of one report"):
        june.collect(quick_path / "a.db", most_per_person=1)
    assert not (quick_path / "a.db").exists()
    june.collect(quick_path / "a.db", most_per_person="1.5").close()


def test_a_folder_that_is_not_there_is_refused_in_a_sentence(survey, quick_path) -> None:
    with pytest.raises(SettingsError, match=r"cannot be used \(unable to open database file\)"):
        survey.collect(quick_path / "none" / "a.db")


def test_another_file_is_not_written_to(survey, quick_path) -> None:
    with sqlite3.connect(quick_path / "other.db") as other:
        other.execute("create table mine (x)")
    other.close()
    with pytest.raises(SettingsError, match=r"it is an SQLite file, but not of a collector.*; name another file"):
        survey.collect(quick_path / "other.db")
    (quick_path / "text.db").write_text("no database at all, but long enough to be looked at" * 20, encoding="utf-8")
    with pytest.raises(SettingsError, match="cannot be used"):
        survey.collect(quick_path / "text.db")


@pytest.mark.parametrize(
    ("words", "answer", "confidence"),
    [
        ({"answers": 5000}, 42, "0.999999"),
        ({"words": 10}, "influenza", "0.9999"),  # of twenty million beginnings at once, which is surer than it sounds
        ({"answers": ["a", "b", "c"]}, "b", "0.999999"),
    ],
)
def test_what_everybody_says_is_read_from_the_file(quick_path, words, answer, confidence) -> None:
    survey = lw.survey(epsilon=4, **words)
    with survey.collect(quick_path / "a.db") as collector:
        assert collector.take_all(line(survey, number, survey.report(answer)) for number in range(900)) == []
        told = collector.estimates(confidence=confidence, most=3)
    row = told[str(answer)]
    assert row == told.rows[0]
    assert row.seen
    assert row.low <= told.people <= row.high
    assert told.people == 900 if survey.asked.law.groups == 1 else 200 < told.people < 400
    assert told.to_dict()["rows"][0]["answer"] == str(answer)
    assert str(answer) in str(told)
    assert str(answer) in told.svg()
    assert str(answer) in told._repr_html_()
    assert dict(told.facts())[str(answer)].startswith(f"{row.people:.0f} (")


def test_nothing_is_estimated_from_nothing(collector) -> None:
    with pytest.raises(BadQuestionError, match="no report of round 1 has come in; take some first"):
        collector.estimates()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"answers": ["yes", "yes"]}, "are not all different; name each answer once"),
        ({"answers": "yes"}, "are not a list of texts"),
        ({"answers": ["yes"]}, "is out of range; write a whole number, from 2 to 8388608"),
        ({"answers": 1 << 24}, "is out of range; write a whole number, from 2 to 8388608"),
        ({"answers": ["a", "b"], "words": 5}, "says the answers more than once"),
        ({}, "does not say the answers"),
        ({"words": 11}, "from 1 to 10"),
        ({"words": 3, "letters": "aab"}, "are not an alphabet"),
        ({"words": 3, "letters": "aB"}, "are not an alphabet"),
        ({"words": 3, "letters": ""}, "are not an alphabet"),
        ({"words": 3, "letters": "a😀"}, "are not an alphabet"),
        ({"answers": ["a", "b"], "epsilon": 21}, "promises nothing; stay at or below 20"),
        ({"answers": ["a", "b"], "epsilon": 0}, "is zero"),
    ],
)
def test_a_survey_that_cannot_be_is_refused(words, reason) -> None:
    with pytest.raises(BadQuestionError, match=reason):
        lw.survey(**{"epsilon": 1, **words})


def test_whatever_differs_makes_another_round() -> None:
    one = {"answers": SMOKING, "epsilon": "1", "question": "?", "round": "1"}
    others = [{"answers": SMOKING[:2]}, {"epsilon": "1.5"}, {"question": "!"}, {"round": "2"}]
    keys = {lw.survey(**{**one, **other}).asked.key for other in ({}, *others)}
    assert len(keys) == 5
    assert lw.survey(**one).asked.key in keys

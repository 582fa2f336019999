"""What the registry knows of a statistic follows from its builder."""

import pytest
from sqlglot import exp

import lapwing as lw
from lapwing.queries.language.expressions import EVERYONE, By, Name
from lapwing.queries.language.speller import written
from lapwing.queries.statistics import STATISTICS
from lapwing.queries.statistics.counts import CountRows
from lapwing.queries.statistics.statistic import Selected, Statistic, rows_of, words_of
from lapwing.queries.statistics.top import TopCounts
from lapwing.vocabulary.errors import BadQuestionError


def test_rows_and_groups_are_the_keywords_of_every_question() -> None:
    found = rows_of("visits", None, by="kind", max_rows=3)
    assert {name: found[name] for name in ("table", "where", "max_rows", "max_groups")} == {
        "table": "visits",
        "where": EVERYONE,
        "max_rows": 3,
        "max_groups": None,
    }
    assert written(found["by"]) == "kind"
    with pytest.raises(BadQuestionError, match="there is no max_group= here; write max_groups="):
        rows_of("visits", None, max_group=3)


def test_words_for_groups_stand_for_what_a_builder_hands_on() -> None:
    assert list(words_of(lw.mean)) == ["table", "of", "where", "by", "max_rows", "max_groups"]
    assert list(words_of(lw.count)) == ["table", "where", "by", "max_groups"]


@pytest.mark.parametrize(
    ("name", "columns", "options", "shape"),
    [
        ("count", (), ["by", "max_groups", "where"], "count TABLE"),
        ("total", ("of",), ["by", "max_groups", "max_rows", "where"], "total TABLE COLUMN"),
        ("correlation", ("x", "y"), ["by", "max_groups", "max_rows", "where"], "correlation TABLE COLUMN COLUMN"),
        ("distinct", ("column",), ["max_groups", "sketch", "where"], "distinct TABLE COLUMN"),
    ],
)
def test_what_a_statistic_takes_is_what_its_builder_takes(name, columns, options, shape) -> None:
    one = STATISTICS[name]
    assert (one.names, sorted(one.options), one.shape) == (columns, options, shape)


def test_whole_numbers_are_told_from_other_options() -> None:
    top = STATISTICS["top"]
    assert [name for name in sorted(top.options) if top.is_whole(name)] == ["k", "max_groups"]


def test_the_column_of_an_answer_is_named_by_the_question_that_was_built() -> None:
    top = STATISTICS["top"]
    with_counts, without = lw.top("visits", "kind", 3, counts=True), lw.top("visits", "kind", 3)
    assert isinstance(with_counts, TopCounts)
    assert (top.result_of(with_counts), top.result_of(without)) == ("people", "category")
    plain = Statistic(name="n", ask=lw.count, result="people")
    assert plain.result_of(with_counts) == "people"


def test_what_a_select_is_about_is_handed_to_its_statistics_as_it_is() -> None:
    by = (By(column=Name("kind")),)
    selected = Selected(
        reader=None,  # nothing is read here
        table="visits",
        alias="v",
        columns=("kind",),
        joins=(),
        each=None,
        where=EVERYONE,
        by=by,
        max_rows=3,
        max_groups=2,
        once=True,
    )
    asked = CountRows(**selected.common)
    assert (asked.table, asked.alias, asked.columns, asked.by) == ("visits", "v", ("kind",), by)
    assert (asked.max_rows, asked.max_groups, asked.once, asked.each) == (3, 2, True, None)


def test_no_word_of_sql_belongs_to_two_statistics() -> None:
    words = [word for one in STATISTICS.values() for word in one.sql]
    assert len(words) == len(set(words))
    assert {exp.Avg, exp.Sum, exp.Count, exp.Distinct, exp.Median} <= set(words)

"""What the clauses of a SELECT name: its columns, their places, and what rows are grouped by."""

import pytest
from sqlglot import exp, parse_one

from lapwing.queries.language.expressions import And, Name, Truth, col
from lapwing.queries.language.joined import Has
from lapwing.queries.language.parts import shape
from lapwing.queries.language.sql.clauses import Given, at_place, called, group_nodes, grouping, is_same, items_of
from lapwing.queries.language.sql.reader import read_value
from lapwing.vocabulary.errors import BadQuestionError


def select(text):
    return parse_one(text, dialect="duckdb")


def node(text):
    return parse_one(text, dialect="duckdb")


def test_a_column_is_called_by_its_name_or_as_it_is_written_where_it_is_a_condition() -> None:
    text = "select sex, age > 3, count(*) as n from t"
    items = items_of(select(text), text)
    assert [item.heading for item in items] == [None, "age > 3", "n"]
    assert [item.alias for item in items] == [None, None, "n"]


def test_a_number_names_a_column_by_its_place() -> None:
    items = items_of(select("select sex, count(*) as n from t"))
    assert at_place(node("2"), items, "ORDER BY") is items[1]
    assert at_place(node("sex"), items, "ORDER BY") is None
    assert called(node("N"), items) is items[1]
    assert called(node("t.n"), items) is None
    for text in ("0", "3", "1.5"):
        with pytest.raises(BadQuestionError, match="from 1 to 2"):
            at_place(node(text), items, "ORDER BY")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("sex", "t.SEX", True), ("t.sex", "u.sex", False), ("sex", "age", False), ("age + 1", "age + 1", True)],
)
def test_one_of_two_columns_may_leave_its_table_out(one, other, same) -> None:
    assert is_same(node(one), node(other)) is same


def test_groups_are_named_by_place_by_name_or_all_at_once() -> None:
    tree = select("select sex, year(born) as y, count(*) as n from t group by 1, y")
    items = items_of(tree)
    assert group_nodes(tree.args["group"], items, items[2:]) == [items[0].node, items[1].node]
    everything = select("select sex, year(born) as y, count(*) as n from t group by all")
    assert group_nodes(everything.args["group"], items, items[2:]) == [items[0].node, items[1].node]
    assert group_nodes(None, items, []) == []
    with pytest.raises(BadQuestionError, match="names a statistic"):
        group_nodes(select("select 1 from t group by 3").args["group"], items, items[2:])


def read(tree: exp.Expr):
    return read_value(tree.sql("duckdb"))


@pytest.mark.parametrize("text", ["age // 10", "(age // 10) * 10", "floor(age / 10)", "floor(age / 10) * 10", "sex"])
def test_a_group_is_a_value(text) -> None:
    assert shape(grouping(read, node(text)).column) == shape(read_value(text))


@pytest.mark.parametrize("text", ["age / 10", "(age / 10) * 10", "cast(age / 10 as integer)", "3", "bins(age, b)"])
def test_a_quotient_or_a_constant_makes_no_groups(text) -> None:
    with pytest.raises(BadQuestionError, match=r"floor\(age / 10\) \* 10|bins\(column"):
        grouping(read, node(text))


def test_rows_of_a_select_have_the_columns_that_it_chose() -> None:
    given = Given("visits", "v", And(()), ("pid", "day"), values={"n": col("nights") + 1}, inside="visits")
    assert given.own(node("v.DAY")).name == "DAY"
    assert given.computed(Name("N", "v")) is given.computed(Name("n"))
    assert given.computed(Name("n", "w")) is None
    for text in ("w.day", "cost"):
        with pytest.raises(BadQuestionError):
            given.own(node(text))


def test_several_rows_of_a_person_are_said_as_having_them() -> None:
    where = Truth(col("urgent"))
    several = Given("visits", "v", where, key=Name("pid"), at_least=3).said
    assert isinstance(several, Has)
    assert (several.table, several.at_least, several.where) == ("visits", 3, where)
    assert Given("visits", "v", where).said is where

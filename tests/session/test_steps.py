"""Groups of one width, floor(year / 10) * 10, have the keys that a database gives them; bins have both their ends."""

from collections.abc import Iterator
from datetime import datetime

import duckdb
import pytest

import lapwing as lw
from lapwing.session import Session
from lapwing.vocabulary.errors import BadQuestionError

SETTINGS = """
[populations.town]
person_key = "id"
budget = { epsilon = "1000" }
[populations.town.tables.people]
source = "people.csv"
columns.year = { type = "integer", low = 1950, high = 1999, nullable = true }
columns.depth = { type = "integer", low = -25, high = 24 }
columns.height = { type = "real", low = 1, high = 2, step = "1/64" }
columns.day = { type = "date", first = 2020-01-01, last = 2022-12-31 }
"""
DECADES = "select floor(year / 10) * 10 as decade, count(*) as n from people group by 1"
pytestmark = pytest.mark.one_budget("how keys are shown; test_steps_at_every_door pays under every kind")


@pytest.fixture(scope="module")
def table() -> str:
    rows = [
        f"{i},{'' if i % 97 == 0 else 1950 + i % 50},{i // 50 - 25},{1 + i % 65 / 64},"
        f"{2020 + i // 12 % 3}-{1 + i % 12:02d}-05"
        for i in range(2500)
    ]
    return "\n".join(["id,year,depth,height,day", *rows])


@pytest.fixture(scope="module")
def town(tmp_path_factory, table) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("town")
    (folder / "people.csv").write_text(table)
    lw.create(folder, SETTINGS).close()
    with lw.open(folder, analyst="ana") as session:
        yield session


@pytest.fixture(scope="module")
def truth(tmp_path_factory, table) -> duckdb.DuckDBPyConnection:
    file = tmp_path_factory.mktemp("plain") / "people.csv"
    file.write_text(table)
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"create table people as from read_csv('{file}')")
    return connection


@pytest.mark.parametrize(
    "text",
    [
        DECADES,
        f"{DECADES} order by 1 desc",
        f"{DECADES} having decade >= 1970",
        f"{DECADES} having decade between 1960 and 1980 and decade <> 1970",
        f"{DECADES} having 1970 > decade order by decade",
        "select floor(year / 2.5) * 2.5 as part, count(*) as n from people where year is not null group by 1",
        "select floor(depth / 10) * 10 as part, count(*) as n from people group by 1 having part < 0",
        "select floor(depth / 7) * 7 as a, floor(height / 0.5) * 0.5 as b, count(*) as n from people group by a, b",
        "select floor(height / 0.25) * 0.25 as h, count(*) as n from people group by 1 having h >= 1.5",
        "with t as (select floor(year / 10) * 10 as decade from people) select decade, count(*) as n from t group by 1",
        "with t as (select year as born from people) select born, count(*) as n from t where born < 1953 group by 1",
        "select year(day) as y, count(*) as n from people group by 1 having y >= 2021",
        "select date_trunc('month', day) as m, count(*) as n from people group by 1 having m >= '2022-11-01'",
    ],
)
def test_keys_and_their_names_are_those_of_a_database(town, truth, text) -> None:
    told = truth.execute(text)
    names, rows = [one[0] for one in told.description], told.fetchall()
    answer = town.sql(text, epsilon=1)
    assert [*answer.keys, *answer.columns] == names
    ours = [list(row.values())[: len(answer.keys)] for row in answer.to_rows()]
    theirs = [[one.date() if isinstance(one, datetime) else one for one in row[:-1]] for row in rows]
    in_order = (
        (lambda keys: keys)
        if "order by" in text
        else (lambda keys: sorted(keys, key=lambda row: [(one is None, one or 0) for one in row]))
    )
    assert in_order(ours) == in_order(theirs)


def test_a_step_is_its_lower_end_wherever_an_answer_is_shown(town) -> None:
    answer = town.sql(DECADES, epsilon=1)
    keys = [1950, 1960, 1970, 1980, 1990, None]
    assert [row.key for row in answer] == [(key,) for key in keys]
    assert answer["decade"] == keys
    assert [row["key"] for row in answer.to_dict()["rows"]] == [[key] for key in keys]
    assert [line.split()[0] for line in str(answer).splitlines()[:6]] == ["decade", *map(str, keys[:5])]
    assert "<td>1980</td>" in answer._repr_html_()
    columns = ["decade", "n", "n_low", "n_high"]
    assert list(answer.to_rows()[0]) == list(answer.to_pandas()) == answer.to_polars().columns == columns
    assert answer.to_arrow()["decade"].to_pylist() == answer.to_polars()["decade"].to_list() == keys
    assert [int(one) for one in answer.to_pandas()["decade"][:5]] == keys[:5]


def test_it_is_the_same_in_python_and_the_same_question_as_that_of_its_bins(town) -> None:
    in_sql = town.preview(DECADES, epsilon=1)
    in_python = town.preview(lw.count("people", by="floor(year / 10) * 10"), epsilon=1)
    in_bins = town.preview(
        "select bins(year, 1950, 1960, 1970, 1980, 1990, 1999) as decade, count(*) as n from people group by 1",
        epsilon=1,
    )
    assert in_sql.asked.text == in_python.asked.text == in_bins.asked.text
    asked = town.ask(lw.count("people", by=["floor(year / 10) * 10"]), epsilon=1)
    assert [row.key[0] for row in asked] == [1950, 1960, 1970, 1980, 1990, None]
    assert list(asked.to_rows()[0]) == ["year", "answer", "answer_low", "answer_high"]


def test_bins_are_told_by_both_ends_and_compare_with_nothing(town) -> None:
    text = "select bins(year, 1950, 1980, 1999) as b, count(*) as n from people group by 1"
    answer = town.sql(text, epsilon=1)
    assert [row.key[0] for row in answer] == ["from 1950 to 1979", "from 1980 to 1999", None]
    assert list(answer.to_rows()[0]) == ["b_low", "b_high", "n", "n_low", "n_high"]
    with pytest.raises(BadQuestionError, match="a bin of 'b' has two ends; say it of the column in WHERE"):
        town.preview(f"{text} having b >= 1980", epsilon=1)

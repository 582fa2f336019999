"""What a notebook does with an answer: it shows it, goes through it, and hands it to data frames."""

import inspect
import pickle
import warnings
from datetime import date

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw
from lapwing.show.figures import draw_panels, legible
from lapwing.show.panels import Panel
from lapwing.vocabulary.errors import BadQuestionError

SETTINGS = """
[populations.clinic]
person_key = "pid"
now = 2025-01-01
budget = { epsilon = 1000 }
[populations.clinic.tables.patient]
source = "patient.csv"
columns.sex = { type = "category", values = ["F", "M"], nullable = true }
columns.city = { type = "category", values = ["", "Bern", "北京"] }
columns.site = { type = "category", values = [9201, 9202] }
columns.bmi = { type = "real", low = 10, high = 60 }
columns.born = { type = "date", first = 1950-01-01, last = 1969-12-31 }
columns.concept = { type = "category", values = { file = "CONCEPT.csv", value = "id", label = "name" } }
[populations.clinic.tables.visit]
source = "visit.csv"
rows = "many"
columns.day = { type = "date", first = 2023-01-01, last = 2024-12-31 }
"""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    cities = ("", "Bern", "北京")
    people = [
        f"{i},{'FM'[i % 2]},{cities[i % 3]},{9201 + i % 2},{20 + i % 10},{1950 + i % 20}-03-0{1 + i % 9},{7 + i % 2}\n"
        for i in range(400)
    ]
    (folder / "patient.csv").write_text("pid,sex,city,site,bmi,born,concept\n" + "".join(people))
    visits = "".join(f"{i},202{3 + i % 2}-{1 + i % 12:02d}-15\n" for i in range(400))
    (folder / "visit.csv").write_text("pid,day\n" + visits)
    (folder / "CONCEPT.csv").write_text("id,name\n7,Asthma\n8,Gout\n")
    lw.create(folder, SETTINGS).close()
    with lw.open(folder, analyst="ana") as session:
        yield session


def asked(clinic, text):
    return clinic.sql(text, epsilon=20, max_groups=1)


def test_a_table_is_shown_as_a_table(clinic) -> None:
    lines = repr(asked(clinic, "select site, count(*) n from patient group by site")).splitlines()
    assert lines[0].split() == ["site", "n"]
    assert lines[1].split() == ["9201", "200", "±", "0"], "a key that is a number has no thousands separators"
    assert lines[-1] == "<answer: 2 rows, epsilon 20>"


def test_a_long_table_is_shown_by_its_ends(clinic) -> None:
    answer = clinic.ask(lw.count("patient", by=lw.bins("bmi", list(range(10, 60)))), epsilon=20)
    lines = repr(answer).splitlines()
    assert len(lines) == 23
    assert lines[11].split() == ["...", "..."]
    assert len(str(answer).splitlines()) == 50


def test_signs_that_are_two_places_wide_leave_the_columns_straight(clinic) -> None:
    *_, bern, beijing, _ = repr(asked(clinic, "select city, count(*) n from patient group by city")).splitlines()
    assert len(bern) == len(beijing) + 2


def test_a_notebook_shows_a_table_with_intervals(clinic) -> None:
    shown = asked(clinic, "select sex, count(*) n from patient group by sex")._repr_html_()
    assert "<th>sex</th><th>n</th><th>95 % interval</th>" in shown
    assert "<td>F</td><td>200</td><td>200 to 200</td>" in shown
    assert "<td>(missing)</td>" in shown


def test_a_notebook_shows_a_picture_below_the_table_of_several_rows(clinic) -> None:
    counted = asked(clinic, "select sex, count(*) n from patient group by sex")._repr_html_()
    assert counted.count("<svg ") == 1
    assert ">200</text>" in counted.partition("</table>")[2]
    assert "<svg" not in asked(clinic, "select count(*) n from patient")._repr_html_()
    assert "<svg" not in clinic.ask(lw.top("patient", "city", 2), epsilon=20)._repr_html_(), "names are not drawn"


def test_rows_and_columns_are_read_by_name(clinic) -> None:
    answer = asked(clinic, "select sex, count(*) n from patient group by sex")
    assert len(answer) == 3
    assert answer["sex"] == ["F", "M", None]
    assert [(row["sex"], row["n"]) for row in answer] == list(zip(answer["sex"], answer["n"], strict=True))
    assert answer["n"][:2] == [200, 200]
    with pytest.raises(BadQuestionError, match="no column 'm'; it has sex, n"):
        answer["m"]
    with pytest.raises(BadQuestionError, match="no column 'm'; it has sex, n"):
        answer.rows[0]["m"]


def test_one_number_is_a_number(clinic) -> None:
    mean = asked(clinic, "select avg(bmi) from patient")
    assert type(mean.value) is float
    assert float(mean) == mean.value == pytest.approx(24.5, abs=0.5)
    assert int(mean) == 24
    low, high = mean.interval()
    assert type(low) is float
    assert low < float(mean) < high
    with pytest.raises(BadQuestionError, match="3 rows and 1 columns"):
        float(asked(clinic, "select sex, count(*) n from patient group by sex"))
    with pytest.raises(BadQuestionError, match="'Bern', and no number"):
        float(clinic.ask(lw.top("patient", "city", 1, "city = 'Bern'"), epsilon=20))


def test_a_bound_is_never_rounded_inwards(clinic) -> None:
    mean = asked(clinic, "select avg(bmi) from patient")
    exact = mean.rows[0].cells["avg"]
    low, high = mean.interval()
    assert low <= exact.low
    assert exact.high <= high


FRAMES = {
    "pandas": lambda answer: answer.to_pandas(),
    "polars": lambda answer: answer.to_polars().to_pandas(),
    "arrow": lambda answer: answer.to_arrow().to_pandas(),
    "capsule": lambda answer: pl.DataFrame(answer).to_pandas(),
}


@pytest.mark.parametrize("library", FRAMES)
def test_all_libraries_have_the_same_columns(clinic, library) -> None:
    frame = FRAMES[library](
        asked(clinic, "select bins(bmi, 10, 20, 30), count(*) n, avg(bmi) m from patient group by 1")
    )
    assert list(frame.columns) == ["bmi_low", "bmi_high", "n", "n_low", "n_high", "m", "m_low", "m_high"]
    assert frame["bmi_low"].tolist() == [10, 20]
    assert frame["bmi_high"].tolist() == [20, 30]
    assert frame["n"].dtype == "int64"
    assert frame["m"].dtype == frame["bmi_low"].dtype == "float64"


def columns(clinic, text):
    arrow = asked(clinic, text).to_arrow()
    return {name: (str(arrow.schema.field(name).type), arrow[name].to_pylist()) for name in arrow.column_names[:2]}


def test_whole_numbers_in_bins_end_at_their_last_value(clinic) -> None:
    assert columns(clinic, "select bins(age(born), 50, 60, 80), count(*) from patient group by 1") == {
        "age(born)_low": ("int64", [50, 60]),
        "age(born)_high": ("int64", [59, 80]),
    }


def test_years_are_whole_numbers_and_months_and_quarters_their_first_days(clinic) -> None:
    years = columns(clinic, "select year(day), count(distinct pid) from visit group by 1")
    assert years["day"] == ("int64", [2023, 2024])
    quarters = columns(clinic, "select date_trunc('quarter', day) q, count(distinct pid) from visit group by 1")
    assert quarters["q"][0] == "date32[day]"
    assert quarters["q"][1][:2] == [date(2023, 1, 1), date(2023, 4, 1)]
    months = asked(clinic, "select date_trunc('month', day) m, count(distinct pid) from visit group by 1")
    assert months.to_pandas()["m"].dtype == "datetime64[s]"
    assert months["m"][:2] == ["2023-01", "2023-02"]


def test_names_stand_beside_ids(clinic) -> None:
    assert columns(clinic, "select concept, count(*) from patient group by concept") == {
        "concept": ("int64", [7, 8]),
        "name": ("string", ["Asthma", "Gout"]),
    }


def test_quantiles_are_numbers(clinic) -> None:
    frame = clinic.ask({"age": lw.quantiles("patient", "bmi", ["0.25", "0.5"])}, epsilon=20).to_polars()
    assert frame["fraction"].to_list() == [0.25, 0.5]
    assert frame.schema["age"] == frame.schema["age_low"] == frame.schema["age_high"] == pl.Float64


def test_a_missing_group_is_a_gap_and_keeps_its_column_whole(clinic) -> None:
    answer = clinic.ask(lw.count("patient", by="sex"), epsilon=20)
    assert answer.to_pandas()["sex"].isna().tolist() == [False, False, True]
    assert answer.to_arrow()["sex"].null_count == 1


def test_a_table_without_rows_keeps_its_types(clinic) -> None:
    answer = asked(clinic, "select site, count(*) n from patient group by site having count(*) > 100000")
    assert len(answer) == 0
    assert str(answer.to_arrow()["n"].type) == "int64"


def test_answers_pickle_with_everything(clinic) -> None:
    answer = asked(clinic, "select sex, count(*) n from patient group by sex")
    again = pickle.loads(pickle.dumps(answer))
    assert again.to_pandas().equals(answer.to_pandas())
    assert repr(again) == repr(answer)


def test_the_interval_of_a_yes_is_unpacked_like_any_other(clinic) -> None:
    with clinic.stream(at_least=20, yeses=1, epsilon=20, table="patient") as stream:
        no, yes = stream.ask("bmi > 59"), stream.ask("bmi >= 20")
    low, high = yes.interval()
    assert (type(low), type(high)) == (int, int)
    assert low <= 400 <= high
    assert yes.to_dict()["interval"] == {"low": low, "high": high}
    assert no.to_dict()["free"], "a no costs nothing"
    assert not yes.to_dict()["free"]


def test_many_answers_of_a_stream_are_a_table(clinic) -> None:
    with clinic.stream(at_least=20, yeses=1, epsilon=20, table="patient") as stream:
        answers = stream.ask_many(["bmi > 59", "bmi >= 20", "bmi > 58"])
    frame = answers.to_polars()
    assert frame["verdict"].to_list() == ["below", "above", None]
    assert frame["at_least"].to_list() == [20, 20, None]
    assert frame["low"][0] is None
    assert frame["low"][1] <= 400 <= frame["high"][1]
    assert pa.table(answers).equals(answers.to_arrow())
    assert list(pd.DataFrame(answers.to_pandas())["verdict"][:2]) == ["below", "above"]


def test_what_may_be_asked_is_listed(clinic) -> None:
    tables = clinic.tables()
    assert [table.name for table in tables] == ["patient", "visit"]
    shown = repr(tables)
    assert "patient: one row a person" in shown
    assert "bmi      real      10 to 60" in shown
    assert "visit: many rows a person" in shown
    assert str(tables["visit"]) in shown
    assert "<td>bmi</td><td>real</td><td>10 to 60</td>" in tables._repr_html_()
    with pytest.raises(BadQuestionError, match="clinic has no table 'doctor'; it has patient, visit"):
        _ = tables["doctor"]


@pytest.mark.parametrize("method", ["ask", "preview", "sql", "rehearse", "funnel", "stream", "preview_stream"])
def test_signatures_say_what_may_be_offered(clinic, method) -> None:
    shown = str(inspect.signature(getattr(clinic, method)))
    assert "epsilon=None" in shown
    assert "within=None" in shown
    assert "confidence='0.95'" in shown
    assert "**" not in shown


def test_equal_questions_are_equal(clinic) -> None:
    def question(edge=1):
        return lw.count("patient", f"bmi > {edge}", by=lw.bins("bmi", [10, 20]))

    assert question() == question()
    assert len({question(), question(), question(2)}) == 2
    assert question() != question(2)
    assert question() != lw.count_rows("patient", "bmi > 1", by=lw.bins("bmi", [10, 20]))
    assert pickle.loads(pickle.dumps(question())) == question()
    preview = pickle.loads(pickle.dumps(clinic.preview(question(), epsilon=1)))
    assert repr(preview) == "<preview: epsilon 1, affordable>"


def test_a_grid_of_cohorts_is_asked_at_once_and_keeps_its_labels(clinic) -> None:
    grid = lw.cohorts(
        "patient", {"sex": ["F", "M"], "bmi": lw.bins("bmi", [10, 20, 60]), "visit": {"any": "has(visit)"}}
    )
    assert repr(grid) == "<4 cohorts of patient: 2 sex x 2 bmi x 1 visit>"
    assert dict(grid[1].labels) == {"sex": "F", "bmi": "20 to 60", "visit": "any"}
    with clinic.stream(at_least=100, yeses=3, epsilon=20, table="patient") as stream:
        answers = stream.ask_many(grid)
    frame = answers.to_polars()
    assert frame.columns[:4] == ["sex", "bmi", "visit", "verdict"]
    assert frame["bmi"].to_list() == ["10 to under 20", "20 to 60"] * 2
    assert frame["verdict"].to_list() == ["below", "above"] * 2
    with pytest.raises(BadQuestionError, match="the axis 'sex' is one text"):
        lw.cohorts("patient", {"sex": "F"})
    with pytest.raises(BadQuestionError, match="at least one axis with something on it"):
        lw.cohorts("patient", {"sex": []})


def test_a_grid_is_drawn_as_a_map(clinic, tmp_path, recwarn) -> None:
    grid = lw.cohorts("patient", {"sex": ["F", "M"], "bmi": lw.bins("bmi", [10, 20, 40, 60])})
    with clinic.stream(at_least=100, yeses=2, epsilon=20, table="patient") as stream:
        answers = stream.ask_many(grid)
    figure = answers.plot(tmp_path / "map.svg")
    drawn = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {word} -->" in drawn for word in ("At least 100 people?", "F", "M", "20 to under 40", "yes"))
    assert "not answered: the stream halted" in drawn, "it gave its last yes before the end"
    assert len(figure.axes[0].patches) == len(grid)
    colours = [patch.get_facecolor() for patch in figure.axes[0].patches]
    assert len(set(colours)) == 3
    assert [colours.count(colours[place]) for place in answers.yeses] == [2, 2]
    assert not [str(warning.message) for warning in recwarn]
    with pytest.raises(BadQuestionError, match="over a grid"):
        stream_of_one(clinic).plot()


def stream_of_one(clinic):
    with clinic.stream(at_least=100, yeses=1, epsilon=1, table="patient") as stream:
        return stream.ask_many(["bmi > 59"])


def test_questions_rows_and_cohorts_are_shown_as_they_are_written(clinic) -> None:
    question = lw.count("patient", (lw.col("bmi") >= 20) & ~lw.has("visit", "day > date '2024-01-01'"), by="sex")
    assert (
        repr(question) == "<count people: patient where bmi >= 20 and not (has(visit, day > date '2024-01-01')) by sex>"
    )
    assert repr(lw.mean("patient", lw.col("bmi") + 1, "sex in ('F', 'M')", max_rows=1)) == (
        "<mean: patient where sex in ('F', 'M') max_rows=1 values=(bmi + 1)>"
    )
    assert repr(lw.median("patient", "bmi")) == "<quantile: patient value=bmi at=0.5 interval=0.95>"
    assert repr(lw.cohorts("patient", {"sex": ["F", "M"]})[1]) == "<cohort: sex M>"
    answer = clinic.ask(lw.count("patient", by="sex"), epsilon=20)
    assert repr(answer.rows[0]).startswith("<row: sex F, answer ")


FRAME_SETTINGS = """
[populations.clinic]
person_key = "pid"
budget = { epsilon = 30 }
[populations.clinic.tables.patient]
source = "patient.parquet"
columns.sex = { type = "category", values = ["F", "M"] }
"""
PEOPLE = {"pid": list(range(100)), "sex": ["F", "M"] * 50}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_a_data_frame_is_written_once_and_asked_like_a_file(tmp_path, library) -> None:
    workspace = lw.create(tmp_path, FRAME_SETTINGS, frames={"patient": library(PEOPLE)})
    assert repr(workspace).startswith(f"<workspace {tmp_path.name}: clinic (patient); advice on clinic: epsilon = 30")
    workspace.close()
    assert (tmp_path / "patient.parquet").stat().st_mode & 0o777 == 0o600
    with lw.open(tmp_path) as session:
        assert session.ask(lw.count("patient", "sex = 'F'"), epsilon=20).value == 50
    pl.DataFrame(PEOPLE | {"pid": list(range(100, 200))}).write_parquet(tmp_path / "patient.parquet")
    with lw.open(tmp_path) as session, pytest.raises(lw.LapwingError, match="has changed, and its data version"):
        session.ask(lw.count("patient"), epsilon=1)


@pytest.mark.parametrize(
    ("settings", "frames", "refusal"),
    [
        (FRAME_SETTINGS, {"patients": PEOPLE}, "table patients is not declared"),
        (FRAME_SETTINGS.replace(".parquet", ".csv"), {"patient": PEOPLE}, "its source is no .parquet file"),
        (FRAME_SETTINGS, {"patient": 7}, "cannot be taken from a int"),
        (FRAME_SETTINGS.replace('"patient.parquet"', '{ frame = "df" }'), {}, "a data frame has no file .*frames="),
    ],
)
def test_a_data_frame_that_does_not_fit_leaves_nothing_behind(tmp_path, settings, frames, refusal) -> None:
    given = {name: pl.DataFrame(one) if isinstance(one, dict) else one for name, one in frames.items()}
    with pytest.raises(lw.LapwingError, match=refusal):
        lw.create(tmp_path / "new", settings, frames=given)
    assert not (tmp_path / "new").exists()


def test_a_file_that_is_there_is_never_written_over(tmp_path) -> None:
    (tmp_path / "patient.parquet").write_bytes(b"somebody's data")
    with pytest.raises(lw.LapwingError, match="has its file patient"):
        lw.create(tmp_path, FRAME_SETTINGS, frames={"patient": pl.DataFrame(PEOPLE)})
    assert (tmp_path / "patient.parquet").read_bytes() == b"somebody's data"


def test_a_closed_session_refuses(tmp_path) -> None:
    lw.create(tmp_path, FRAME_SETTINGS, frames={"patient": pl.DataFrame(PEOPLE)}).close()
    session = lw.open(tmp_path)
    session.close()
    for act in (session.tables, session.budget, lambda: session.ask(lw.count("patient"), epsilon=1)):
        with pytest.raises(BadQuestionError, match="this session is closed"):
            act()


PLOTS = {
    "select city, count(*) n from patient group by city": ("(empty)", "Bern", "n"),
    "select concept, count(*) n, avg(bmi) m from patient group by concept": ("Asthma", "Gout", "n", "m"),
    "select year(day) y, count(distinct pid) n from visit group by 1": ("2023", "2024"),
    "select sex, avg(bmi) m from patient group by sex": ("F", "(missing)", "m"),
}


@pytest.mark.parametrize("text", PLOTS)
def test_an_answer_is_drawn_with_all_its_statistics_and_names(clinic, tmp_path, text, recwarn) -> None:
    answer = asked(clinic, text)
    figure = answer.plot(tmp_path / "it.svg")
    drawn = (tmp_path / "it.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {word} -->" in drawn for word in PLOTS[text])
    assert "<!-- 7 -->" not in drawn, "names stand for ids"
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert [str(warning.message) for warning in recwarn] == [], "no font is missed aloud"


def test_a_sign_that_no_font_has_is_told_by_the_value_or_as_a_question_mark() -> None:
    panel = Panel("n", ["a\ue000", "Bern"], [1, 2], [0, 1], [2, 3], True, False, ["7", "8"])  # noqa: FBT003
    assert legible(panel.labels, panel.values_of) == ["7", "Bern"]
    assert legible(["a\ue000"]) == ["a?"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw_panels([panel], title="of \ue000", caption="bounds")
        figure._repr_png_()
    assert "no font here has some signs" in figure._supxlabel.get_text()
    assert figure._suptitle.get_text() == "of ?"


def test_a_long_title_is_cut_and_many_months_have_few_labels() -> None:
    months = [f"{2013 + month // 12}-{month % 12 + 1:02d}" for month in range(132)]
    panel = Panel("n", months, [1.0] * 132, [0.0] * 132, [2.0] * 132, True, True)  # noqa: FBT003
    figure = draw_panels([panel], title="the number of people " * 40, caption="")
    assert figure._suptitle.get_text().count("\n") == 2
    assert figure._suptitle.get_text().endswith("...")
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == [
        f"{year}-01" for year in range(2013, 2024, 2)
    ]


def test_means_are_dots_and_counts_are_bars_and_time_is_a_line(clinic) -> None:
    bars, dots = asked(clinic, "select concept, count(*) n, avg(bmi) m from patient group by concept").plot().axes
    assert (len(bars.patches), len(dots.patches)) == (2, 0)
    assert dots.get_xlim()[0] > 15, "dots need no zero"
    (line,) = asked(clinic, "select year(day) y, count(distinct pid) n from visit group by 1").plot().axes
    assert (len(line.patches), len(line.lines[0].get_xdata())) == (0, 2)


def test_a_picture_is_as_high_as_it_has_groups(clinic) -> None:
    few = clinic.ask(lw.count("patient", by=lw.bins("bmi", [10, 20, 30, 40])), epsilon=20).plot()
    many = clinic.ask(lw.count("patient", by=lw.bins("bmi", list(range(10, 60)))), epsilon=20).plot()
    assert few.get_figheight() < 3
    assert many.get_figheight() > 9


def test_names_are_not_drawn(clinic) -> None:
    with pytest.raises(BadQuestionError, match="a picture shows numbers, and answer has names"):
        clinic.ask(lw.top("patient", "city", 1), epsilon=20).plot()

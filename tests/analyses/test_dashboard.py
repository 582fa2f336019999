"""Dashboards at the door: one charge, one release a version of the data, found again by name, all kinds of budget."""

import datetime as dt

import numpy as np
import pytest

import lapwing as lw
from lapwing.analyses.dashboard_again import dashboards_of
from lapwing.mechanisms.running_counts import EveryPrefix, RootOfSumming, TreeOfBlocks
from lapwing.vocabulary.errors import (
    BadQuestionError,
    LapwingError,
    ParameterError,
)

FIRST = dt.date(2024, 1, 1)
COLUMNS = """
[populations.ward.tables.patient]
source = "patient.parquet"
[populations.ward.tables.patient.columns]
sex = { type = "category", values = ["F", "M"], fixed = true }
joined = { type = "date", first = 2020-01-01, last = 2030-12-31, fixed = true }
blood = { type = "category", values = ["A", "B"], fixed = true, nullable = true }
left = { type = "date", first = 2020-01-01, last = 2030-12-31, fixed = true, nullable = true }
seen = { type = "date", first = 2020-01-01, last = 2030-12-31, nullable = true }
[populations.ward.tables.visit]
source = "visit.parquet"
rows = "many"
max_rows = 5
[populations.ward.tables.visit.columns]
kind = { type = "category", values = ["er", "home"], fixed = true }
told = { type = "category", values = ["er", "home"], fixed = true, nullable = true }
site = { type = "category", values = ["north", "south"] }
recorded_on = { type = "date", first = 2020-01-01, last = 2030-12-31, fixed = true }
changed_on = { type = "date", first = 2020-01-01, last = 2030-12-31 }
"""
PEOPLE, VISITS = 400, 1500
RANDOM = np.random.default_rng(3)
WHO = RANDOM.integers(0, PEOPLE, VISITS)
DAYS = np.sort(RANDOM.integers(0, 366, VISITS))
KIND = np.where(RANDOM.random(VISITS) < 0.5, "er", "home")


def frames(until=366):
    """Return the tables as they were when so many days were over."""
    import pandas as pd  # noqa: PLC0415 - an extra

    there = until > DAYS
    day = pd.to_datetime([FIRST + dt.timedelta(days=int(d)) for d in DAYS[there]])
    visit = pd.DataFrame({"id": WHO[there], "kind": KIND[there], "recorded_on": day, "changed_on": day})
    visit["told"] = visit["kind"]
    visit["site"] = np.where(np.arange(len(visit)) % 2, "north", "south")
    ids = np.arange(PEOPLE)
    joined = pd.to_datetime([FIRST + dt.timedelta(days=int(d) % 366) for d in ids])
    patient = pd.DataFrame({"id": ids, "sex": np.where(ids % 3, "F", "M"), "joined": joined, "blood": "A"})
    patient["left"] = patient["seen"] = pd.to_datetime(list(map(left_on, ids)))
    return {"visit": visit, "patient": patient}


def joined_on(who):
    return FIRST + dt.timedelta(days=int(who) % 366)


def left_on(who):
    """Return the day on which somebody left: a third never did, and of some the day is before they came."""
    day = joined_on(who) + dt.timedelta(days=(int(who) * 7) % 200 - (30 if who % 50 == 1 else 0))
    return None if who % 3 == 0 else day


def first_months(kind=None):
    """Return how many people have their first visit in each month."""
    firsts: dict[int, int] = {}
    for who, day, what in zip(WHO, DAYS, KIND, strict=True):
        if kind is None or what == kind:
            firsts.setdefault(who, (FIRST + dt.timedelta(days=int(day))).month)
    return np.bincount(list(firsts.values()), minlength=13)[1:]


def declared(folder, budget):
    line = ", ".join(f'{name} = "{amount}"' for name, amount in budget.of("500").items())
    (folder / "lapwing.toml").write_text(
        f'[populations.ward]\nperson_key = "id"\nbudget = {{ {line} }}\n{COLUMNS}', encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def workspace(tmp_path_factory, budget):
    with lw.create(declared(tmp_path_factory.mktemp("ward"), budget), frames=frames()) as made:
        yield made


@pytest.fixture
def clinic(workspace):
    return workspace.session()


YEAR = {"period": "recorded_on", "first": "2024-01-01", "every": "month", "releases": 12}


def test_counts_are_near_the_truth_and_their_bands_were_known_before(clinic, budget) -> None:
    foreseen = clinic.preview_dashboard(lw.count("visit"), **YEAR, **budget.of("20"))
    board = clinic.dashboard(lw.count("visit"), name="visits", **YEAR, **budget.of("20"))
    spent = clinic.budget()
    shown = board.publish(today="2025-02-01")
    truth = first_months()
    for found, true in (
        (shown.counts, truth.cumsum()),
        (board.periods().counts, truth),
        (board.window(3).counts, np.convolve(truth, [1, 1, 1], "valid")),
    ):
        assert all(abs(one.estimate - exact) <= 4 * one.margin for one, exact in zip(found, true, strict=True))
    assert shown.counts[-1].margin == pytest.approx(foreseen.cumulative["2024-12"])
    assert board.periods().counts[-1].margin == pytest.approx(foreseen.periods["2024-12"])
    assert clinic.budget().to_dict() == spent.to_dict(), "publishing costs nothing more"


def test_a_dashboard_lives_in_the_ledger_and_is_found_by_name(tmp_path, budget) -> None:
    folder = declared(tmp_path, budget)
    with lw.create(folder, frames=frames(31)) as workspace:
        clinic = workspace.session()
        board = clinic.dashboard(lw.count("visit", "kind = 'er'"), name="er", **YEAR, **budget.of("20"))
        first = board.publish(today="2024-02-01")
        left = clinic.budget().to_dict()
        with pytest.raises(BadQuestionError, match="this version of the data was published already"):
            board.publish(today="2024-03-01")
        with pytest.raises(BadQuestionError, match="2024-02, is not over before 2024-02-29"):
            board.publish(today="2024-02-29")
    for name, frame in frames(60).items():
        frame.to_parquet(folder / f"{name}.parquet")
    with lw.open_workspace(folder) as workspace:
        for table in workspace.changed():
            workspace.advance(table)
        clinic = workspace.session()
        board = clinic.dashboard(name="er")
        again = board.publish(today="2024-03-05")
        assert again.counts[0] == first.counts[0], "what was published is never drawn again"
        assert len(again) == 2
        assert clinic.budget().to_dict() == left
        same = clinic.dashboard(lw.count("visit", "kind = 'er'"), name="er", **YEAR, **budget.of("20"))
        assert same.cumulative().to_dict() == again.to_dict()
        with pytest.raises(BadQuestionError, match="was opened with other terms, which never change"):
            clinic.dashboard(
                lw.count("visit", "kind = 'er'"), name="er", **{**YEAR, "every": "quarter"}, **budget.of("20")
            )
        with pytest.raises(ParameterError, match="there are: 'er'"):
            clinic.dashboard(name="other")


def test_no_more_is_published_than_was_paid_for(clinic, budget) -> None:
    board = clinic.dashboard(lw.count("visit"), name="two", **{**YEAR, "releases": 2}, **budget.of("5"))
    board.publish(today="2025-01-01")
    with pytest.raises(BadQuestionError, match="all 2 releases of dashboard 'two' were published"):
        board.publish(today="2026-01-01")
    with pytest.raises(ParameterError, match="are more than the 2 that were published"):
        board.window(3)


def test_people_in_groups_count_once_and_each_group_has_its_line(clinic, budget) -> None:
    words = {**YEAR, "period": lw.first_of("visit.recorded_on")}
    board = clinic.dashboard(lw.count("patient", by="sex"), name="by sex", **words, **budget.of("20"))
    shown = board.publish(today="2025-01-01")
    assert list(shown.groups) == [("F",), ("M",)]
    ends = [counts[-1] for counts in shown.groups.values()]
    assert sum(one.estimate for one in ends) == pytest.approx(first_months().sum(), abs=4 * sum(e.margin for e in ends))
    assert list(shown.to_pandas().columns) == ["sex", "until", "estimate", "low", "high"]
    with pytest.raises(BadQuestionError, match="several groups, F, M"):
        _ = shown.counts


STOCK = {**YEAR, "period": "joined", "until": "left"}


def in_at_the_end_of(month, sex=None):
    """Return how many people are in at the end of a month; a day of leaving before that of coming is none."""
    end = dt.date(2024 + month // 12, month % 12 + 1, 1)
    of = [who for who in range(PEOPLE) if sex is None or sex == ("F" if who % 3 else "M")]
    there = [(joined_on(who), left_on(who)) for who in of if joined_on(who) < end]
    return sum(left is None or left >= end or left < came for came, left in there)


def test_who_has_come_and_not_left_is_in(clinic, budget) -> None:
    foreseen = clinic.preview_dashboard(lw.count("patient"), **STOCK, **budget.of("20"))
    assert isinstance(foreseen.terms.counts.scheme, RootOfSumming | TreeOfBlocks)
    assert "people who are in" in dict(foreseen.facts())
    board = clinic.dashboard(lw.count("patient"), name="in", **STOCK, **budget.of("20"))
    shown = board.publish(today="2025-02-01")
    assert shown.what == "people who are in"
    truth = [in_at_the_end_of(month) for month in range(1, 13)]
    assert max(truth) < 300
    assert all(abs(one.estimate - true) <= 4 * (one.margin + 1) for one, true in zip(shown.counts, truth, strict=True))
    assert shown.counts[-1].margin == pytest.approx(foreseen.cumulative["2024-12"])
    changes = board.periods()
    assert changes.what == "net changes by month"
    assert abs(changes.counts[3].estimate - (truth[3] - truth[2])) <= 4 * (changes.counts[3].margin + 1)
    assert clinic.dashboard(name="in").cumulative().to_dict() == shown.to_dict(), "it goes on from the ledger"
    late = clinic.dashboard(
        lw.count("patient", by="sex"),
        name="late",
        **{**STOCK, "first": "2024-07-01", "releases": 3},
        **budget.of("20"),
    )
    (women, men) = late.publish(today="2025-01-01").groups.values()
    assert abs(women[0].estimate - in_at_the_end_of(7, "F")) <= 4 * (women[0].margin + 1), "who came before counts, too"
    assert abs(men[2].estimate - in_at_the_end_of(9, "M")) <= 4 * (men[2].margin + 1)


def test_stocks_that_are_none_are_refused_before_the_charge(clinic, budget) -> None:
    before = clinic.budget().to_dict()
    for question, words, problem in (
        (lw.count("visit"), {"period": "recorded_on", "until": "changed_on"}, "many rows a person"),
        (lw.count("patient"), {"until": "sex"}, "until = .sex. is no column of days"),
        (lw.count("patient"), {"until": "unheard"}, "unheard"),
        (lw.count("patient"), {"until": 7}, "is no column of days"),
        (lw.count("patient"), {"until": "joined"}, "is the day on which people come"),
        (lw.count("patient"), {"period": lw.first_of("visit.recorded_on")}, "is no column of days"),
        (lw.count("patient"), {"releases": 200}, "is declared until 2030-12-31"),
    ):
        with pytest.raises(LapwingError, match=problem):
            clinic.dashboard(question, **{"name": "bad", **STOCK, **words}, **budget.of("1"))
    assert clinic.budget().to_dict() == before
    moving = clinic.preview_dashboard(lw.count("patient"), **{**STOCK, "until": "seen"}, **budget.of("1"))
    assert isinstance(moving.terms.counts.scheme, EveryPrefix), "a day that may change is paid anew in each release"


STAY = [
    (lw.count("visit"), "recorded_on"),
    (lw.count("visit", "kind = 'er'"), "recorded_on"),
    (lw.count("patient", by="sex"), "joined"),
    (lw.count("patient"), lw.first_of("visit.recorded_on", "kind = 'er'")),
]
MOVE = [
    (lw.count("visit"), "changed_on"),
    (lw.count("visit", "site = 'north'"), "recorded_on"),
    (lw.count("visit", by="site"), "recorded_on"),
    (lw.count("visit", "told = 'er'"), "recorded_on"),
    (lw.count("patient", by="blood"), "joined"),
    (lw.count("visit", by="kind"), "recorded_on"),
    (lw.count("patient"), lw.last_of("visit.recorded_on")),
    (lw.count("patient", by=lw.has("visit")), "joined"),
    (lw.count("visit", lw.has("visit", "kind = 'er'")), "recorded_on"),
]


def test_only_who_can_never_move_is_counted_at_the_lower_price(clinic, budget) -> None:
    """Liars: periods by arrival and by event mixed, and people of several wards at the price of those of one."""
    for (question, period), fixed in [*((one, True) for one in STAY), *((one, False) for one in MOVE)]:
        found = clinic.preview_dashboard(question, **{**YEAR, "period": period}, **budget.of("1"))
        assert isinstance(found.terms.counts.scheme, RootOfSumming | TreeOfBlocks if fixed else EveryPrefix), question
        assert (dict(found.facts())["mind"] is None) == fixed


def test_a_dashboard_of_a_table_that_is_forbidden_hides_no_other(workspace, budget) -> None:
    ann, ledger = workspace.session(analyst="ann"), workspace.ledger
    for name, (question, period) in (("first", STAY[0]), ("other", STAY[2])):
        ann.dashboard(question, name=name, **{**YEAR, "period": period}, **budget.of("1"))
    assert [one.name for one in dashboards_of(ann)] == ["first", "other"]
    ledger.administration.limit_analyst("ward", "ann", tables=["visit"], most=None)
    assert [one.name for one in dashboards_of(ann)] == ["first"]
    ledger.administration.limit_analyst("ward", "ann", tables=None, most=None)  # as its settings say: others open it


REFUSED = [
    ({"releases": None, "last": "2023-12-31"}, "the grid would end before it begins"),
    ({"releases": None, "last": "2024-02-15"}, "is not the last day of a month; write 2024-02-29"),
    ({"releases": None}, "neither is given"),
    ({"last": "2024-12-31"}, "both are given"),
    ({"first": "2024-01-15"}, "is in the middle of a month"),
    ({"first": "soon"}, "is no day"),
    ({"every": "moon"}, "is no period; write one of day, week, month, quarter, year"),
    ({"releases": 0}, "out of range"),
    ({"releases": 200}, "is declared until 2030-12-31"),
    ({"period": "kind"}, "no column of days"),
    ({"period": "unheard"}, "unheard"),
    ({"period": 7}, "is no column; name the column with the day"),
    ({"name": ""}, "is no name of a dashboard"),
    ({"name": "x" * 101}, "is no name of a dashboard"),
]


def test_what_is_no_dashboard_is_refused_before_the_charge(clinic, budget) -> None:
    before = clinic.budget().to_dict()
    for words, problem in REFUSED:
        with pytest.raises(LapwingError, match=problem):
            clinic.dashboard(lw.count("visit"), **{"name": "bad", **YEAR, **words}, **budget.of("1"))
    assert clinic.budget().to_dict() == before


def test_other_statistics_and_halves_of_terms_are_refused(clinic, budget) -> None:
    with pytest.raises(BadQuestionError, match="a dashboard counts people"):
        clinic.dashboard(lw.count_rows("visit"), name="rows", **YEAR, **budget.of("1"))
    with pytest.raises(ParameterError, match="is not one number on a dashboard"):
        clinic.dashboard(lw.count("visit"), name="x", **YEAR, within=10)
    with pytest.raises(ParameterError, match="is missing: the periods are fixed"):
        clinic.dashboard(lw.count("visit"), name="x", period="recorded_on", releases=3, **budget.of("1"))
    with pytest.raises(BadQuestionError, match="give its name alone"):
        clinic.dashboard(name="x", releases=3)


def test_a_line_is_drawn_with_its_band(clinic, budget, tmp_path) -> None:
    board = clinic.dashboard(lw.count("visit"), name="drawn", **{**YEAR, "releases": 3}, **budget.of("20"))
    path = board.publish(today="2025-01-01").plot(tmp_path / "line.svg")
    assert path.stat().st_size > 1000

"""A public partition by person key: each segment has the whole budget, and nobody is in two."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import lapwing as lw
from lapwing.ledger.replay import verify
from lapwing.vocabulary.errors import BadQuestionError, BudgetExceededError, ParameterError, SettingsError
from lapwing.vocabulary.guarantee import PrivacyUnit

SETTINGS = """
[populations.clinic]
person_key = "id"
budget = { epsilon = "20" }

[populations.clinic.segments]
north = { first = 0, last = 499 }
south = { first = 500, last = 799 }

[populations.clinic.tables.patients]
source = "patients.csv"
columns.age = { type = "integer", low = 0, high = 120 }
columns.sex = { type = "category", values = ["F", "M"] }

[populations.clinic.tables.visits]
source = "visits.csv"
rows = "many"
max_rows = 3
columns.ward = { type = "integer", low = 1, high = 9 }
"""
NORTH, SOUTH = "north: 0 to 499", "south: 500 to 799"


@pytest.fixture
def folder(quick_path) -> Path:
    (quick_path / "patients.csv").write_text(
        "id,age,sex\n" + "".join(f"{i},{i % 100},{'FM'[i % 2]}\n" for i in range(1000))
    )
    (quick_path / "visits.csv").write_text("id,ward\n" + "".join(f"{i},{1 + i % 9}\n" for i in range(1000)) * 2)
    lw.create(quick_path, SETTINGS).close()
    return quick_path


@pytest.fixture
def doors(folder) -> Iterator[dict[str | None, lw.Session]]:
    sessions = {
        segment: lw.open(folder, analyst="ana", segment=segment) for segment in ("north", "south", "elsewhere", None)
    }
    yield sessions
    verify(sessions[None].ledger)
    for session in sessions.values():
        session.close()


def spent(session: lw.Session) -> dict[str, Fraction]:
    return {segment: filter_.spent for segment, filter_ in session.ledger.account("clinic").filters.items()}


def test_each_segment_pays_for_its_own_questions(doors) -> None:
    people = {"north": 500, "south": 300, "elsewhere": 200}
    for segment, there in people.items():
        answer = doors[segment].ask(lw.count("patients"), epsilon=15)
        assert abs(answer.value - there) <= 3
        assert doors[segment].budget().left == 5
    assert spent(doors[None]) == {NORTH: 15, SOUTH: 15, "elsewhere": 15}


def test_a_question_about_everyone_is_paid_by_every_segment(doors) -> None:
    doors["north"].ask(lw.count("patients"), epsilon=15)
    assert doors[None].budget().left == 5
    with pytest.raises(BudgetExceededError, match="in segment 'north: 0 to 499'"):
        doors[None].ask(lw.count("patients"), epsilon=6)
    doors["south"].ask(lw.count("patients"), epsilon=6)
    doors[None].ask(lw.count("patients"), epsilon=5)
    assert spent(doors[None]) == {NORTH: 20, SOUTH: 11, "elsewhere": 5}


QUESTIONS = {
    "people": lw.count("patients"),
    "grouped": lw.count("patients", by="sex"),
    "a negation": lw.count("patients", "not (age < 50)"),
    "another table": lw.count("visits", "ward < 20"),
    "both": lw.count("patients", "has(visits, ward > 0)"),
    "lacking": lw.count("patients", "not has(visits, ward > 9)"),
    "an alternative": lw.count("patients", "age >= 0 or sex = 'F'"),
    "rows": lw.count_rows("visits"),
    "a total": lw.total("visits", "ward", max_rows=2),
    "distinct": lw.count_distinct("visits", "ward", max_groups=2),
    "a funnel": lw.funnel("patients", ["sex = 'M'", "age >= 0"]),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_whoever_is_not_in_the_segment_changes_no_exact_number(folder, question) -> None:
    """What a segment does not pay for must not be in its answers: the pre-noise numbers are compared, bit for bit."""
    exact = {}
    for turn in range(2):
        with lw.open(folder, analyst="ana", segment="north") as door:
            asked = door.preview(question, epsilon=1).asked
            with door._tables.lease({"patients": 1 + turn, "visits": 1 + turn}) as engine:
                exact[turn] = [one.read(engine).open_for_release() for one in asked.releases.values()]
        for table in ("patients", "visits"):
            path = folder / f"{table}.csv"
            lines = path.read_text().splitlines()
            kept = [line for line in lines[1:] if int(line.partition(",")[0]) < 500]
            more = ["600,33,M"] if table == "patients" else ["700,5", "700,9", "-7,3"]
            path.write_text("\n".join([lines[0], *reversed(kept), *more]) + "\n")
            with lw.open_workspace(folder) as workspace:
                workspace.advance(table)
    assert exact[0] == exact[1]
    assert exact[0] != [0]


def test_previews_look_at_the_segment(doors) -> None:
    doors["south"].ask(lw.count("patients"), epsilon=15)
    assert doors["north"].preview(lw.count("patients"), epsilon=15).affordable
    assert not doors["south"].preview(lw.count("patients"), epsilon=15).affordable


def test_a_stream_is_paid_by_every_segment(doors) -> None:
    """Its threshold noise is shared by all its questions, so that no yes is about one segment alone."""
    with doors["north"].stream(at_least=100, yeses=1, epsilon=10) as stream:
        assert stream.ask("age >= 0")
    assert len(set(spent(doors[None]).values())) == 1
    doors["south"].ask(lw.count("patients"), epsilon=5)
    assert not doors["north"].preview_stream(at_least=100, yeses=1, epsilon=10).affordable


def test_a_segment_that_is_not_declared_is_refused_with_those_there_are(folder) -> None:
    with (
        lw.open_workspace(folder) as workspace,
        pytest.raises(BadQuestionError, match="it has north, south, elsewhere"),
    ):
        workspace.session(segment="west")


def test_segments_are_fixed_once_something_was_asked(folder) -> None:
    path = folder / "lapwing.toml"
    with lw.open(folder, analyst="ana") as session:
        session.ask(lw.count("patients"), epsilon="0.1")
    for changed in (
        SETTINGS.replace("last = 499", "last = 498"),
        SETTINGS.replace("south", "west"),
        _without_segments(),
    ):
        path.write_text(changed)
        with lw.open_workspace(folder) as workspace:
            for act in (workspace.session, workspace.update):
                with pytest.raises(SettingsError, match="not the segments that this population was opened with"):
                    act()


def _without_segments() -> str:
    before, _, rest = SETTINGS.partition("[populations.clinic.segments]")
    return before + rest[rest.index("[") :]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("first = 500", "first = 499", "share people"),
        ("first = 500, last = 799", "first = 100, last = 200", "share people"),
        ("first = 500", "first = 900", "last = 799"),
        ("south =", "elsewhere =", "everyone in no other segment"),
        ("south =", "North =", "is there twice"),
        ('person_key = "id"', 'person_key = "id"\nprotects_groups_of = 2', "protected together"),
        ('rows = "many"', 'rows = "many"\nkey_type = "text"', "keys that are text"),
    ],
    ids=["touching", "inside", "backwards", "elsewhere", "name", "groups", "text"],
)
def test_segments_in_which_somebody_could_be_twice_are_refused(quick_path, old, new, said) -> None:
    with pytest.raises(SettingsError, match=said):
        lw.create(quick_path, SETTINGS.replace(old, new, 1))


def test_a_segment_may_hold_everybody(folder, quick_path) -> None:
    place = quick_path / "whole"
    place.mkdir()
    for name in ("patients.csv", "visits.csv"):
        (folder / name).rename(place / name)
    everybody = f"all = {{ first = {-(2**63)}, last = {2**63 - 1} }}\n"
    before, rest = SETTINGS.split("north =")
    lw.create(place, before + everybody + rest.partition("\n")[2].partition("\n")[2]).close()
    with (
        lw.open(place, analyst="ana", segment="all") as everyone,
        lw.open(place, analyst="ana", segment="elsewhere") as nobody,
    ):
        for question, truth in (
            (lw.count("patients"), 1000),
            (lw.count("patients", "has(visits, ward > 3)"), 666),
            (lw.count_rows("visits"), 2000),
        ):
            assert abs(everyone.ask(question, epsilon=4).value - truth) < 40
            assert abs(nobody.ask(question, epsilon=4).value) < 40
        stream = everyone.stream(at_least=500, yeses=1, epsilon=8, table="patients")
        assert stream.ask("age >= 0").verdict is lw.Verdict.ABOVE


def test_the_ledger_itself_partitions_no_groups(folder) -> None:
    with lw.open_workspace(folder) as workspace, pytest.raises(ParameterError, match="leave the segments out"):
        workspace.ledger.administration.create_population(
            "families",
            unit=PrivacyUnit(person_key="id", protects_groups_of=2),
            budget=lw.PureDP(epsilon=1),
            segments=["a", "b"],
        )

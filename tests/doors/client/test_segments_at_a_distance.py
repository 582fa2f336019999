"""A segment at a distance: the questions, prices, answers and accounts that `lw.open(..., segment=...)` has."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import lapwing as lw
from doors.server.doors import Door, P, serving
from doors.test_segments import SETTINGS
from lapwing import errors
from lapwing.ledger.replay import verify
from postgres_server import where_there_is_room

SEGMENTS = ("north", "south", "elsewhere", None)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as given:
        place = Path(given)
        rows = "".join(f"{i},{i % 100},{'FM'[i % 2]}\n" for i in range(1000))
        (place / "patients.csv").write_text(f"id,age,sex\n{rows}")
        (place / "visits.csv").write_text("id,ward\n" + "".join(f"{i},{1 + i % 9}\n" for i in range(1000)))
        lw.create(place, SETTINGS).close()
        yield place


@pytest.fixture(scope="module")
def door(folder: Path) -> Iterator[Door]:
    with serving(folder) as door:
        yield door


@pytest.mark.parametrize("segment", SEGMENTS)
def test_a_segment_is_asked_about_as_in_its_folder(folder, door, segment) -> None:
    question, people = lw.count("patients"), {"north": 500, "south": 300, "elsewhere": 200, None: 1000}[segment]
    with (
        lw.open(folder, analyst="ana", segment=segment) as here,
        lw.connect(door.url, door.tokens["ana"], segment=segment) as there,
    ):
        ours, theirs = (session.preview(question, epsilon=3) for session in (here, there))
        assert (theirs.to_dict(), str(theirs)) == (ours.to_dict(), str(ours))
        before = there.budget().left
        told = there.ask(question, epsilon=3, key=f"how many {segment}")
        assert abs(told.value - people) <= 12
        assert there.stored(question, epsilon=3).rows == told.rows == here.ask(question, epsilon=3).rows
        assert there.budget().left == before - 3 == here.budget().left
        assert there.budget().to_dict() == here.budget().to_dict()
        several = there.ask_many([question, lw.count("patients", "age > 50")], epsilon="0.5")
        assert several[0].rows == here.ask(question, epsilon="0.5").rows
        assert there.planned_total() == here.planned_total()
        assert there.rehearse(question, epsilon=1).rehearsal
        assert there.sql("select count(*) from visits", epsilon="0.5", max_rows=2).receipt is not None
        verify(here.ledger)


def test_streams_are_asked_about_the_segment_and_paid_by_all(folder, door) -> None:
    terms = {"at_least": 400, "yeses": 1, "epsilon": 4, "table": "patients"}
    with (
        lw.open(folder, analyst="ana", segment="south") as here,
        lw.connect(door.url, door.tokens["ana"], segment="south") as there,
        lw.connect(door.url, door.tokens["ana"]) as everybody,
    ):
        ours, theirs = (session.preview_stream(**terms) for session in (here, there))
        assert theirs.to_dict() == ours.to_dict()
        with there.stream(**terms, name="of the south") as stream:
            assert not stream.ask("age >= 0"), "300 people"
            assert not any(stream.ask_many(["age >= 0", "age > 50"]))
            assert everybody.resume("of the south").ask("age >= 0"), "1,000 people, under the same words"


def test_a_segment_that_is_not_there_is_refused_here_and_there(door) -> None:
    with pytest.raises(errors.BadQuestionError, match="it has north, south, elsewhere"):
        lw.connect(door.url, door.tokens["ana"], segment="west")
    question = {"question": {"ask": "count", "table": "patients"}, "price": {"epsilon": "0.1"}}
    before = door.left()
    for path in ("previews", "questions", "rehearsals", "stored-answers"):
        told = door.call("ana", "POST", f"{P}/{path}", {**question, "segment": "west"}, key="nobody-in-the-west")
        assert (told.status_code, "it has north, south, elsewhere" in told.text) == (422, True)
    assert door.left() == before


def test_a_key_of_one_segment_is_no_key_of_another(door) -> None:
    question = {"question": {"ask": "count", "table": "patients", "where": "age = 7"}, "price": {"epsilon": "0.1"}}

    def ask(segment: str) -> int:
        body = {**question, "segment": segment}
        return door.call("ana", "POST", f"{P}/questions", body, key="one-key-for-both").status_code

    assert [ask("north"), ask("south"), ask("north")] == [200, 409, 200]
    job = door.get("ana", f"{P}/jobs/one-key-for-both").json()
    assert (job["state"], job["outcome"]["key"]) == ("answered", "one-key-for-both")
    assert door.get("ana", f"{P}/answers/one-key-for-both").json()["released"] == job["outcome"]["released"]


def test_a_door_is_opened_with_the_same_words() -> None:
    """Who asks is said by the token; where it is, how long to wait and whom to trust are words of the network."""
    here, there = (set(inspect.signature(door).parameters) for door in (lw.open, lw.connect))
    assert here - there == {"folder", "analyst"}
    assert there - here == {"url", "token", "timeout", "authorities"}

"""kill -9 at every step of three adaptive rounds: no round is drawn twice, and what was committed is what is told."""

from typing import Any

import pytest

from crashes.plan import BACK_ENDS, PHASES
from crashes.racers import RACERS, race
from crashes.rounds_workload import draw_three, outcome, race_for_rounds
from crashes.workload import child, told
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import ReservationStatus
from lapwing.rounds import STEPS
from ledger.clinic import Place, spent
from ledger.three_rounds import PRICE
from session.clinic import population

KILLED = -9
POINTS = [f"{act}.{phase}" for act in ("open", "intend", "decide", "close") for phase in PHASES] + list(STEPS)
ONCE = ("open", "close")
TURNS = {"sqlite": (1, 2, 3), "postgres": (2,)}


@pytest.fixture(params=BACK_ENDS)
def place(request) -> Place:
    place = Place.chosen(request.param, request)
    place.clinic(epsilon=100, unit=population().unit).close()
    return place


@pytest.mark.parametrize(("kind", "turn"), [(kind, turn) for kind, turns in TURNS.items() for turn in turns])
def test_a_guest_that_is_killed_is_run_again_and_no_round_is_drawn_twice(request, kind, turn) -> None:
    place = Place.chosen(kind, request)
    place.clinic(epsilon=100, unit=population().unit).close()
    points = [point for point in POINTS if turn == 1 or not point.startswith(ONCE)]
    for number, point in enumerate(points):
        key = f"{number} {point}"
        with child(draw_three, place, f"{point}:kill:{turn}", key) as (process, pipe):
            before = list(told(pipe))
            process.join()
            assert process.exitcode == KILLED, point
        with child(draw_three, place, "", key) as (process, pipe):
            after = list(told(pipe))
            process.join()
            assert process.exitcode == 0, point
        check(place, key, point, before, after)
    with place.open() as ledger:
        verify(ledger)
        opened = len(points)
        assert spent(ledger) == 3 * PRICE * opened
        assert ledger.reservations.unsettled() == []


def check(place: Place, key: str, point: str, before: list[Any], after: list[Any]) -> None:
    """Each round was drawn once at most, by whichever process; what was told is what was drawn, or it was lost."""
    *drawn, (_, committed, end) = [*before, *after]
    drawn = [one for one in drawn if one[0] == "drawn"]
    wheres = [where for _, where, _ in drawn]
    assert len(set(wheres)) == len(wheres) <= 3, f"{point}: {drawn}"
    released = [value for _, _, value in drawn]
    if committed[-1:] == [None]:
        assert committed[:-1] == released[: len(committed) - 1], point
        assert end in {"UnansweredError", "StreamError"}
    else:
        assert (committed, end) == (released, "done"), point
    with place.open() as ledger:
        assert outcome(ledger, key)[0] == committed, f"{point}: what was committed stands"


def test_where_it_died_before_the_intent_or_after_the_outcome_nothing_is_lost(place) -> None:
    """And in between the round is, which is the end of this kind."""
    ends = {}
    for point in ("intend.begun", "intend.written", "intend.committed", *STEPS, "decide.written", "decide.committed"):
        with child(draw_three, place, f"{point}:kill:2", point) as (process, _):
            process.join()
        with place.open() as ledger:
            committed, _ = outcome(ledger, point)
            ends[point] = len(committed), committed[-1] is None
    lost, whole = (2, True), (3, False)
    assert ends == {
        "intend.begun": whole,
        "intend.written": whole,
        "intend.committed": lost,
        "round.intended": lost,
        "round.drawn": lost,
        "decide.written": lost,
        "decide.committed": whole,
        "round.told": whole,
    }


def test_processes_that_ask_for_the_same_rounds_at_once_draw_each_once(place) -> None:
    seen = race(race_for_rounds, place)
    assert len(seen) == RACERS
    drawn = [one for here, _ in seen for one in here]
    assert len(drawn) == len({where for where, _ in drawn}) == 3
    (same,) = {tuple(answers) for _, answers in seen}
    assert sorted(same) == sorted(value for _, value in drawn)
    with place.open() as ledger:
        verify(ledger)
        assert spent(ledger) == 3 * PRICE
        (one,) = [record for record in ledger.history("clinic") if record["kind"] == "opening"]
        assert ledger.reservations.find(one["stream"]).status is ReservationStatus.HALTED

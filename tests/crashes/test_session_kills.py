"""kill -9 at every step of a question and of a stream; and an adversary that kills by what was just decided."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

import lapwing
from crashes.plan import BACK_ENDS, PHASES, REACHED, SESSION_POINTS, TURNS, planned_kills
from crashes.session_workload import (
    BATCH,
    BATCHES,
    TERMS,
    ask_batches,
    ask_everything,
    ask_many_at_once,
    check,
    check_batches,
    check_charges,
    check_many,
    clinic,
    decision,
    die_after_deciding,
    fresh_noise_on_recovery,
    recover,
)
from crashes.workload import Release, child, told
from lapwing import session
from lapwing.ledger.ledger import Ledger
from lapwing.streams import STEPS
from ledger.clinic import Place
from session.clinic import FixedNumber, door

KILLED = -9


@pytest.fixture(params=BACK_ENDS)
def place(request) -> Place:
    return Place.chosen(request.param, request)


def test_at_least_two_hundred_processes_are_killed() -> None:
    assert planned_kills() >= 200


def test_every_fault_point_of_the_door_is_in_the_plan() -> None:
    source = Path(lapwing.__file__).parent
    named = {
        call.args[0].value
        for file in (source / "session.py", source / "streams.py")
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "fault_point"
    }
    assert named == {point for point in SESSION_POINTS if point.startswith(("ask.", "stream."))}
    assert len(named) == 11


def released_before_kills(
    place: Place,
    work: Callable[..., None],
    faults: list[tuple[str, int]],
    after_each: Callable[[Ledger], None] = lambda _: None,
) -> dict[str, Release]:
    """Kill work at one fault point after the other, when it comes there for the nth time; return what it had told."""
    releases: dict[str, Release] = {}
    clinic(place)
    for number, (point, nth) in enumerate(faults):
        with child(work, place, f"{point}:kill:{nth}", f"{number}") as (process, pipe):
            for release in told(pipe):
                assert releases.setdefault(release.key, release).told == release.told, release
            process.join()
            assert process.exitcode == KILLED, point
        with place.open() as ledger:
            after_each(ledger)
            recover(ledger)
            check_charges(ledger, releases)
    return releases


@pytest.mark.parametrize(
    ("kind", "turn"), [(kind, turn) for kind, turns in TURNS.items() for turn in range(1, turns + 1)]
)
def test_whatever_was_told_before_a_kill_was_charged(request, kind, turn) -> None:
    place = Place.chosen(kind, request)
    faults = [(point, 1 + (turn - 1) % REACHED.get(point.partition(".")[0], 1)) for point in SESSION_POINTS]
    releases = released_before_kills(place, ask_everything, faults)
    with place.open() as ledger:
        check(ledger, releases)
    assert len(faults) == 29
    assert len(releases) >= 20


@pytest.mark.parametrize("kind", BACK_ENDS)
@pytest.mark.parametrize("turn", [1, 2])
def test_many_questions_are_all_charged_before_any_is_told_and_all_answered_or_none(request, kind, turn) -> None:
    def have_their_ends_together(ledger: Ledger) -> None:
        assert len(ledger.questions.unsettled()) in {0, 4 if turn == 1 else 3}

    place = Place.chosen(kind, request)
    points = [f"{act}.{phase}" for act in ("charge", "answer") for phase in PHASES] + list(session.STEPS)
    faults = [(point, turn) for point in points]
    releases = released_before_kills(place, ask_many_at_once, faults, after_each=have_their_ends_together)
    with place.open() as ledger:
        check_many(ledger, releases)
    assert len(points) == 11
    assert len(releases) == (turn - 1) * len(points)


@pytest.mark.parametrize("kind", BACK_ENDS)
@pytest.mark.parametrize("turn", [1, 2])
def test_whatever_was_told_of_a_batch_before_a_kill_was_charged(request, kind, turn) -> None:
    place = Place.chosen(kind, request)
    points = [f"{act}.{phase}" for act in ("open", "intend", "decide", "close") for phase in PHASES] + list(STEPS)
    often = ("intend", "decide", "stream.intended", "stream.read", "stream.told")
    releases = released_before_kills(
        place, ask_batches, [(point, turn if point.startswith(often) else 1) for point in points]
    )
    with place.open() as ledger:
        check_batches(ledger, releases)
    assert len(releases) >= 9


def test_an_adversary_that_kills_batches_never_sees_two_decisions(place) -> None:
    clinic(place)
    seen = batch_fates(place, times=8)
    assert [len(decisions) for decisions in seen] == [1] * 8


def test_the_adversary_sees_two_where_a_batch_is_decided_with_fresh_noise(place) -> None:
    """The planted mistake: one batch, two noises. Six gaps agree twice in a row with probability below 1e-9."""
    clinic(place)
    with fresh_noise_on_recovery():
        assert max(len(decisions) for decisions in batch_fates(place, times=3)) == 2


def batch_fates(place: Place, *, times: int) -> list[set[str]]:
    """For each of some streams: what was decided about a batch before each kill, and what stands after the recovery."""
    seen = []
    for number in range(times):
        name = f"batch {number}"
        with place.open() as ledger:
            door(ledger, FixedNumber(1000)).stream(**BATCHES, name=name)
        decisions = set()
        for _ in range(2):
            with child(die_after_deciding, place, 1000, name, "batch") as (process, pipe):
                decisions |= set(told(pipe))
                process.join()
        with place.open() as ledger:
            stands = door(ledger, FixedNumber(1000)).resume(name).ask_many(BATCH, key=f"{name} 1")
            decisions.add("; ".join(decision(bool(one), one.gap) for one in stands))
        seen.append(decisions)
    return seen


def fates(place: Place, deadly: str, *, people: int, times: int, kills: int = 1) -> list[set[str]]:
    """For each of some streams: what was decided before each kill, and what the ledger says after the recovery."""
    seen = []
    for number in range(times):
        name = f"{deadly} {number}"
        with place.open() as ledger:
            door(ledger, FixedNumber(people)).stream(**TERMS, name=name)
        decisions = set()
        for _ in range(kills):
            with child(die_after_deciding, place, people, name, deadly) as (process, pipe):
                decisions |= set(told(pipe))
                process.join()
        with place.open() as ledger:
            stands = door(ledger, FixedNumber(people)).resume(name).ask("age = 1", key=f"{name} 1")
            decisions.add(decision(bool(stands), stands.gap))
        seen.append(decisions)
    return seen


@pytest.mark.parametrize("deadly", ["yes", "no"])
def test_an_adversary_that_kills_by_the_decision_never_sees_two(place, deadly) -> None:
    clinic(place)
    assert [len(decisions) for decisions in fates(place, deadly, people=200, times=12)] == [1] * 12


def test_an_adversary_that_kills_the_recovery_too_never_sees_two(place) -> None:
    """The process dies after its decision, and so do the two that come to settle it."""
    clinic(place)
    assert [len(decisions) for decisions in fates(place, "always", people=200, times=8, kills=3)] == [1] * 8


def test_the_adversary_sees_two_where_noise_is_drawn_afresh(place) -> None:
    """The broken variant. Two gaps of yeses are equal once in sixty times, so six times in a row at 1e-10."""
    clinic(place)
    with fresh_noise_on_recovery():
        assert max(len(decisions) for decisions in fates(place, "always", people=1000, times=6)) == 2

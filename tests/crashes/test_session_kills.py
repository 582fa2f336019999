"""kill -9 at every step of a question and of a stream; and an adversary that kills by what was just decided."""

from pathlib import Path

import pytest

from crashes.session_workload import (
    TERMS,
    ask_everything,
    check,
    decision,
    die_after_deciding,
    fresh_noise_on_recovery,
    recover,
)
from crashes.workload import Release, child, told
from lapwing import session, streams
from lapwing.vocabulary.guarantee import PureDP
from session.clinic import FixedNumber, door, new_ledger, same_ledger

KILLED = -9
ACTS = ("charge", "answer", "open", "intend", "decide", "close")
POINTS = (
    *(f"{act}.{point}" for act in ACTS for point in ("begun", "written", "committed")),
    *session.STEPS,
    *streams.STEPS,
)
TURNS = 4
"""Four kills at each of the 29 points: the first, second, ... time that it is reached, or as often as it is."""


@pytest.mark.parametrize("turn", range(1, TURNS + 1))
def test_whatever_was_told_before_a_kill_was_charged(quick_path, turn) -> None:
    releases: dict[str, Release] = {}
    new_ledger(quick_path, PureDP(epsilon=100)).close()
    kills = 0
    for number, point in enumerate(POINTS):
        again = 1 + (turn - 1) % REACHED.get(point.partition(".")[0], 1)
        with child(ask_everything, quick_path, f"{point}:kill:{again}", f"{number}") as (process, pipe):
            for release in told(pipe):
                assert releases.setdefault(release.key, release).told == release.told, release
            process.join()
            kills += process.exitcode == KILLED
        with same_ledger(quick_path) as ledger:
            recover(ledger)
            check(ledger, releases)
    assert kills == len(POINTS) == 29
    assert len(releases) >= 20


REACHED = {"ask": 2, "charge": 2, "answer": 2}
"""How often a step is surely reached: a stream may halt at its second question."""


def fates(folder: Path, deadly: str, *, people: int, times: int) -> list[set[str]]:
    """For each of some streams: what was decided before the kill, and what the ledger says after the recovery."""
    seen = []
    for number in range(times):
        name = f"{deadly} {number}"
        with same_ledger(folder) as ledger:
            door(ledger, FixedNumber(people)).stream(**TERMS, name=name)
        with child(die_after_deciding, folder, people, name, deadly) as (process, pipe):
            decisions = set(told(pipe))
            process.join()
        with same_ledger(folder) as ledger:
            stands = door(ledger, FixedNumber(people)).resume(name).ask("age = 1", key=f"{name} 1")
            decisions.add(decision(bool(stands), stands.gap))
        seen.append(decisions)
    return seen


@pytest.mark.parametrize("deadly", ["yes", "no", "always"])
def test_an_adversary_that_kills_by_the_decision_never_sees_two(quick_path, deadly) -> None:
    new_ledger(quick_path, PureDP(epsilon=100)).close()
    assert [len(decisions) for decisions in fates(quick_path, deadly, people=200, times=25)] == [1] * 25


def test_the_adversary_sees_two_where_noise_is_drawn_afresh(quick_path) -> None:
    """The broken variant. Two gaps of yeses are equal once in sixty times, so six times in a row at 1e-10."""
    new_ledger(quick_path, PureDP(epsilon=100)).close()
    with fresh_noise_on_recovery():
        assert max(len(decisions) for decisions in fates(quick_path, "always", people=1000, times=6)) == 2

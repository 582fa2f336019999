"""kill -9 in a regression: no round is read and drawn twice, and what is fitted again is what was committed."""

from fractions import Fraction

from crashes.plan import PHASES
from crashes.regression_workload import PRICE, fitted, regress
from crashes.workload import child, told
from lapwing.ledger.replay import verify
from lapwing.rounds import STEPS
from lapwing.vocabulary.guarantee import ConcentratedDP
from ledger.clinic import Place, spent
from session.clinic import population

POINTS = [*(f"{act}.{phase}:1" for act in ("intend", "decide") for phase in PHASES), *(f"{s}:3" for s in STEPS)]
"""The first round at every phase of its commits, and the third, which needs what two others released, at every step."""
LOST = {"intend.committed:1", "decide.begun:1", "decide.written:1", "round.intended:3", "round.drawn:3"}
ROUNDS = 5


def test_a_regression_that_is_killed_never_draws_a_round_twice(request) -> None:
    place = Place.chosen("sqlite", request)
    place.clinic(unit=population().unit, budget=ConcentratedDP(rho=Fraction(1))).close()
    ends = {}
    for point in POINTS:
        step, turn = point.split(":")
        with child(regress, place, f"{step}:kill:{turn}", point) as (process, pipe):
            before = list(told(pipe))
            process.join()
            assert process.exitcode == -9, point
        with child(regress, place, "", point) as (process, pipe):
            *after, (_, found) = told(pipe)
            process.join()
        with place.open() as ledger:
            assert fitted(ledger, point) == found, f"{point}: what was told once is told for ever"
        reads = [len([one for one in half if one[0] == "read"]) for half in (before, after)]
        assert max(reads) <= 1, f"{point}: rows are read once for all rounds of a process"
        assert isinstance(found, str) or sum(reads) >= 1, point
        ends[point] = found
    assert {point for point, end in ends.items() if isinstance(end, str)} == LOST
    assert {end for end in ends.values() if isinstance(end, str)} == {"UnansweredError"}
    with place.open() as ledger:
        verify(ledger)
        assert spent(ledger) == Fraction(PRICE) * len(POINTS), "one charge for each key, whatever was killed"

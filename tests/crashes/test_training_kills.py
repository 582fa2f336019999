"""kill -9 at every step of a training: no part is drawn twice, what was lost is skipped, and it is charged once."""

from fractions import Fraction

from crashes.plan import PHASES
from crashes.training_workload import RHO, train, trained
from crashes.workload import child, told
from lapwing.ledger.replay import verify
from lapwing.rounds import STEPS
from lapwing.vocabulary.guarantee import ConcentratedDP
from ledger.clinic import Place
from session.clinic import population

POINTS = [f"{act}.{phase}" for act in ("open", "intend", "decide") for phase in PHASES] + list(STEPS)
LOST = {"intend.committed", "round.intended", "round.drawn", "decide.begun", "decide.written"}


def test_a_training_that_is_killed_goes_on_and_draws_no_sample_twice(request) -> None:
    place = Place.chosen("sqlite", request)
    place.clinic(budget=ConcentratedDP(rho=100), unit=population().unit).close()
    ends = {}
    for point in POINTS:
        with child(train, place, f"{point}:kill:1", point) as (process, pipe):
            before = list(told(pipe))
            process.join()
            assert process.exitcode == -9, point
        with child(train, place, "", point) as (process, pipe):
            *after, (_, model) = told(pipe)
            process.join()
        with place.open() as ledger:
            assert trained(ledger, point) == model, f"{point}: what was told once is told for ever"
        reads = [one for one in (*before, *after) if one[0] == "read"]
        assert len(reads) <= 3, point
        ends[point] = model[1]
    assert {point for point, lost in ends.items() if lost} == LOST
    assert set(ends.values()) == {0, 1}, "one step of three, and the others were taken"
    with place.open() as ledger:
        verify(ledger)
        spent = ledger.account("clinic").filters["everyone"].spent
        assert spent == Fraction(RHO) * len(POINTS), "one charge for each key, whatever was killed"

"""kill -9 on the way of a synthesis: each stage is read and drawn once at most, and it goes on where it stopped."""

from fractions import Fraction

from crashes.publication_workload import PRICE
from crashes.synthesis_workload import synthesize, synthesized
from crashes.workload import child, told
from lapwing.ledger.replay import verify
from ledger.clinic import Place, spent
from session.clinic import population

POINTS = [
    ("round.drawn", 1),
    ("decide.committed", 1),
    ("intend.written", 2),
    ("intend.committed", 2),
    ("decide.written", 2),
    ("decide.committed", 2),
]
"""Where it dies, in the first stage or the second; that every step of a round is alike is tested of publications."""
LOST = {("round.drawn", 1), ("intend.committed", 2), ("decide.written", 2)}


def test_a_synthesis_that_is_killed_draws_no_stage_a_second_time_for_its_charge(request) -> None:
    """Each of its two stages reads once, whatever its tables are, so that a synthesis that is not lost reads twice."""
    place = Place.chosen("sqlite", request)
    place.clinic(epsilon=100, unit=population().unit).close()
    ends = {}
    for point, stage in POINTS:
        key = f"{point} {stage}"
        with child(synthesize, place, f"{point}:kill:{stage}", key) as (process, pipe):
            before = list(told(pipe))
            process.join()
            assert process.exitcode == -9, key
        with child(synthesize, place, "", key) as (process, pipe):
            *after, (_, made) = told(pipe)
            process.join()
        with place.open() as ledger:
            assert synthesized(ledger, key) == made, f"{key}: what was told once is told for ever, bit for bit"
        reads = [one for one in (*before, *after) if one[0] == "read"]
        lost = isinstance(made, str)
        assert len(reads) <= 2 if lost else len(reads) == 2, key
        ends[point, stage] = made
    assert {one for one, end in ends.items() if isinstance(end, str)} == LOST
    assert {end for end in ends.values() if isinstance(end, str)} == {"UnansweredError"}
    with place.open() as ledger:
        verify(ledger)
        assert spent(ledger) == Fraction(PRICE) * len(POINTS), "one charge for each key, whatever was killed"


def test_what_was_lost_is_charged_anew_where_it_is_asked_for_without_a_key(request) -> None:
    place = Place.chosen("sqlite", request)
    place.clinic(epsilon=100, unit=population().unit).close()
    with child(synthesize, place, "round.drawn:kill:2", None) as (process, pipe):
        list(told(pipe))
        process.join()
        assert process.exitcode == -9
    with place.open() as ledger:
        assert synthesized(ledger, None) == "UnansweredError", "whoever comes next hears that it is lost"
        assert spent(ledger) == Fraction(PRICE)
        again = synthesized(ledger, None)
        assert isinstance(again, list), "and then it is another synthesis"
        assert spent(ledger) == 2 * Fraction(PRICE)
        assert synthesized(ledger, None) == again

"""kill -9 at every step of a publication: it is read and drawn once at most, and what was lost stays lost."""

from fractions import Fraction

from crashes.plan import PHASES
from crashes.publication_workload import PRICE, publish, published
from crashes.workload import child, told
from lapwing.ledger.replay import verify
from lapwing.rounds import STEPS
from ledger.clinic import Place, spent
from session.clinic import population

POINTS = [f"{act}.{phase}" for act in ("open", "intend", "decide") for phase in PHASES] + list(STEPS)
LOST = {"intend.committed", "round.intended", "round.drawn", "decide.begun", "decide.written"}


def test_a_publication_that_is_killed_is_never_drawn_a_second_time_for_its_charge(request) -> None:
    place = Place.chosen("sqlite", request)
    place.clinic(epsilon=100, unit=population().unit).close()
    ends = {}
    for point in POINTS:
        with child(publish, place, f"{point}:kill:1", point) as (process, pipe):
            before = list(told(pipe))
            process.join()
            assert process.exitcode == -9, point
        with child(publish, place, "", point) as (process, pipe):
            *after, (_, released) = told(pipe)
            process.join()
        with place.open() as ledger:
            assert published(ledger, point) == released, f"{point}: what was told once is told for ever"
        assert len([one for one in (*before, *after) if one[0] == "read"]) <= 1, point
        ends[point] = released
    assert {point for point, end in ends.items() if isinstance(end, str)} == LOST
    assert {end for end in ends.values() if isinstance(end, str)} == {"UnansweredError"}
    with place.open() as ledger:
        verify(ledger)
        assert spent(ledger) == Fraction(PRICE) * len(POINTS), "one charge for each key, whatever was killed"


def test_what_was_lost_is_charged_anew_where_it_is_asked_for_without_a_key(request) -> None:
    place = Place.chosen("sqlite", request)
    place.clinic(epsilon=100, unit=population().unit).close()
    with child(publish, place, "round.drawn:kill:1", None) as (process, pipe):
        list(told(pipe))
        process.join()
        assert process.exitcode == -9
    with place.open() as ledger:
        assert published(ledger, None) == "UnansweredError", "whoever comes next hears that it is lost"
        assert spent(ledger) == Fraction(PRICE)
        again = published(ledger, None)
        assert isinstance(again, list), "and then it is another publication"
        assert spent(ledger) == 2 * Fraction(PRICE)
        assert published(ledger, None) == again

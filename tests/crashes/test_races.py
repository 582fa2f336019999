"""Many processes, one budget: exactly the cap is spent, whoever is fastest."""

from fractions import Fraction

import pytest

from crashes.plan import BACK_ENDS
from crashes.racers import (
    ask_the_same,
    ask_the_stream,
    race,
    share_a_stream,
    spend_all,
    spend_all_at_the_door,
    spend_all_in_threads,
    take_the_last_unit,
)
from lapwing.ledger.replay import verify
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import Place, ask, opening, reserved, spent
from session.clinic import FixedNumber, door, population


@pytest.fixture(params=BACK_ENDS)
def place(request) -> Place:
    return Place.chosen(request.param, request)


@pytest.mark.catalogue("L1")
def test_eight_processes_spend_exactly_the_cap(place) -> None:
    """Under two names, so that colluding analysts are among them."""
    place.clinic().close()
    admitted = race(spend_all, place)
    assert sum(admitted) == 20
    with place.open() as ledger:
        assert spent(ledger) == 1
        verify(ledger)


@pytest.mark.catalogue("L1")
def test_eight_processes_with_four_threads_each_spend_exactly_the_cap(place) -> None:
    """Threads go through in groups, and groups of several processes race."""
    place.clinic().close()
    assert sum(race(spend_all_in_threads, place)) == 60
    with place.open() as ledger:
        assert spent(ledger) == 1
        assert ledger.questions.unsettled() == []
        verify(ledger)


def test_the_last_unit_of_budget_is_given_once(place) -> None:
    with place.clinic() as ledger:
        ask(ledger, "most of it", epsilon="9/10")
    assert sorted(race(take_the_last_unit, place)) == ["charged"] + ["refused"] * 7
    with place.open() as ledger:
        assert spent(ledger) == 1


def test_one_key_is_charged_once(place) -> None:
    place.clinic().close()
    assert sorted(race(ask_the_same, place)) == ["charged"] + ["somebody else is on it"] * 7
    with place.open() as ledger:
        assert spent(ledger) == Fraction(1, 10)


def test_a_stream_gives_no_more_yeses_than_it_was_opened_for(place) -> None:
    with place.clinic() as ledger:
        ledger.reservations.open(opening(yeses=6, opening="1/10", price="1/10"))
    assert sum(race(ask_the_stream, place)) == 6
    with place.open() as ledger:
        assert (spent(ledger), reserved(ledger)) == (Fraction(7, 10), 0)
        verify(ledger)


def test_eight_sessions_of_two_colluding_analysts_spend_exactly_the_cap(place) -> None:
    """Each of the two may spend three quarters; together they get no more than the cap, and all of it."""
    with place.clinic(unit=population().unit) as ledger:
        for number in range(2):
            ledger.administration.set_allowance("clinic", f"analyst {number}", PureDP(epsilon=Fraction(3, 4)))
    told = race(spend_all_at_the_door, place)
    assert sum(told) == 1
    assert max(sum(told[0::2]), sum(told[1::2])) <= Fraction(3, 4)
    with place.open() as ledger:
        assert spent(ledger) == 1
        assert ledger.questions.unsettled() == []
        verify(ledger)


def test_one_stream_in_eight_processes_gives_its_yeses_once(place) -> None:
    """Each yes is told to the one who asked, in whichever process; a busy stream is asked again."""
    with place.clinic(unit=population().unit) as ledger:
        door(ledger, FixedNumber(10_000)).stream(at_least=200, yeses=5, epsilon=1, name="s")
    assert sum(race(share_a_stream, place)) == 5
    with place.open() as ledger:
        assert (spent(ledger), reserved(ledger)) == (1, 0)
        verify(ledger)

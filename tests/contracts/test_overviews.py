"""Entries by the page, how a budget was used up and by whom: the same in every database."""

from collections.abc import Iterator
from fractions import Fraction

import pytest

from lapwing.ledger.ledger import Ledger
from lapwing.ledger.reservation_states import ReservationStatus, RoundOutcome
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import PEOPLE, SEED, Place, ask, decide_one, intend_one, opening, pure, spent


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request) -> Iterator[Ledger]:
    with Place.chosen(request.param, request).clinic(epsilon=10) as opened:
        yield opened


@pytest.fixture
def busy(ledger) -> Ledger:
    """Ana asks five times, bob twice, and ana a stream; another population has entries of its own."""
    ledger.administration.create_population("other", unit=PEOPLE, budget=PureDP(epsilon=Fraction(1)))
    for number in range(5):
        ask(ledger, f"a{number}")
    for number in range(2):
        ask(ledger, f"b{number}", analyst="bob", epsilon="1/5")
    clinic = ledger.of("clinic")
    clinic.reservations.open(opening())
    intend_one(clinic, "s", number=1, key="q1", question="q1", sealed=SEED)
    decide_one(clinic, "s", number=1, outcome=RoundOutcome.YES, answer="yes")
    return clinic


class TestEntries:
    def test_pages_go_through_all_of_a_population_once(self, busy) -> None:
        seen, after = [], None
        while page := busy.entries("clinic", after=after, limit=4):
            assert len(page) <= 4
            seen += page
            after = page[-1]["seq"]
        assert seen == busy.history("clinic")

    def test_backwards_it_is_the_same(self, busy) -> None:
        seen, after = [], None
        while page := busy.entries("clinic", after=after, limit=4, newest_first=True):
            seen += page
            after = page[-1]["seq"]
        assert seen[::-1] == busy.history("clinic")

    def test_kinds_and_analysts_are_chosen(self, busy) -> None:
        found = busy.entries("clinic", kinds=["charge", "opening"], analyst="ana", newest_first=True, limit=2)
        assert [(one["kind"], one.get("request")) for one in found] == [("opening", "open s"), ("charge", "a4")]
        assert {one["analyst"] for one in busy.entries("clinic", analyst="bob")} == {"bob"}
        assert busy.entries("clinic", analyst="nobody") == []

    def test_a_population_that_there_is_not_and_a_page_that_is_too_long_are_refused(self, busy) -> None:
        with pytest.raises(ParameterError, match="nowhere"):
            busy.entries("nowhere")
        with pytest.raises(ParameterError, match="limit"):
            busy.entries("clinic", limit=10**6)


class TestBurningDown:
    def test_it_has_the_first_and_the_last_and_never_falls(self, busy) -> None:
        points = busy.burn_down("clinic", points=4)
        amounts = [point.account.filters["everyone"].spent for point in points]
        assert (len(points), amounts[0], amounts[-1]) == (4, 0, spent(busy))
        assert amounts == sorted(amounts)
        assert all(point.at for point in points), "what settles a question has no time of its own"

    def test_a_short_history_has_all_its_points(self, busy) -> None:
        changes = [one["seq"] for one in busy.history("clinic") if "account" in one]
        assert [point.seq for point in busy.burn_down("clinic")] == changes


class TestWhoSpent:
    def test_the_parts_are_the_whole(self, busy) -> None:
        shares = {who: one.filters["everyone"].spent for who, one in busy.spent_by("clinic").items()}
        assert shares == {"ana": Fraction(7, 10), "bob": Fraction(4, 10)}
        assert sum(shares.values()) == spent(busy)

    def test_the_next_look_goes_on_from_the_last(self, busy) -> None:
        before = busy.spent_by("clinic")
        ask(busy, "more", analyst="bob")
        busy.administration.set_budget("clinic", PureDP(epsilon=Fraction(20)))
        busy.administration.write_off("clinic", pure("1/2"), reason="told on paper")
        after = busy.spent_by("clinic")
        assert after["bob"].filters["everyone"].spent == before["bob"].filters["everyone"].spent + Fraction(1, 10)
        assert after["ana"].filters["everyone"].spent == Fraction(7, 10)


class TestStreams:
    def test_they_are_found_by_analyst_and_status(self, busy) -> None:
        busy.reservations.open(opening("t", analyst="bob", opening="1/10"))
        busy.reservations.close("t")
        intend_one(busy, "s", number=2, key="q2", question="q2", sealed=SEED)

        def names(**chosen) -> list[str]:
            return [one.name for one in busy.reservations.all("clinic", **chosen)]

        assert (names(), names(analyst="bob"), names(analyst="carl")) == (["s", "t"], ["t"], [])
        assert (names(status=ReservationStatus.OPEN), names(analyst="ana", status=ReservationStatus.CLOSED)) == (
            ["s"],
            [],
        )
        (found,) = busy.reservations.all("clinic", analyst="ana")
        known = busy.reservations.find("s")
        assert (found.asked, found.used, found.versions) == (known.asked, known.used, known.versions)
        assert found.in_flight is not None
        assert found.in_flight.number == 2
        assert busy.of("other").reservations.all("other") == []

"""A request says who asks what, in words that every database can store; what became of it is found again."""

from dataclasses import replace

import pytest

from lapwing.ledger.states import MovedOnError
from lapwing.vocabulary.errors import ParameterError, RequestConflictError
from ledger.clinic import REQUEST, SEED, Place, ask, intend_one, opening, request


@pytest.mark.parametrize("field", ["analyst", "key", "question"])
@pytest.mark.parametrize("given", ["a\0b", "\ud800", 3, None], ids=["NUL", "half a pair", "number", "nothing"])
def test_a_request_that_no_ledger_can_hold_is_refused(field, given) -> None:
    with pytest.raises(ParameterError, match=field):
        replace(REQUEST, **{field: given})


def test_a_request_is_charged_by_a_charge_of_a_question() -> None:
    with pytest.raises(ParameterError, match="charge"):
        replace(REQUEST, charge="nothing")


@pytest.fixture
def place(quick_path):
    return Place.in_file(quick_path / "ledger.db")


def test_an_answer_is_found_in_whichever_way_it_was_paid(place) -> None:
    with place.clinic() as ledger:
        told = ask(ledger, "k", question="count")
        dear = request("k", question="count, dear", epsilon="1/5")
        for first in (dear, replace(dear, key="new")):
            place_of_it, found = ledger.questions.find_stored(
                [first, replace(REQUEST, key=first.key, question="count")]
            )
            assert (place_of_it, found.answer, found.receipt) == (1, told.answer, told.receipt)
        assert ledger.questions.find_stored([replace(dear, key="new")]) is None
        with pytest.raises(RequestConflictError):
            ledger.questions.find_stored([dear])


def test_what_became_of_questions_is_told_by_their_ends(place) -> None:
    with place.clinic() as ledger:
        ask(ledger, "first")
        ask(ledger, "again", question="count first")
        ledger.questions.lose(ledger.questions.charge(request("lost")).seq)
        ledger.questions.charge(request("in progress"))
        ledger.reservations.open(opening())
        intend_one(ledger, "s", number=1, key="in flight", question="q", sealed=SEED)
        asked = ledger.entries("clinic", kinds=("charge", "recall", "intent", "opening"))
        ends = {one["request"]: [end["kind"] for end in ledger.became([one])] for one in asked}
        assert ends == {
            "first": ["answer"],
            "again": ["answer"],
            "lost": ["lost"],
            "in progress": [],
            "open s": [],
            "in flight": [],
        }
        assert [end["kind"] for end in ledger.became(asked)] == ["answer", "lost"]


def test_a_stream_is_seen_with_the_versions_of_its_tables(place) -> None:
    with place.clinic() as ledger:
        ledger.reservations.open(opening())
    with place.open() as ledger:
        assert ledger.reservations.seen("s").versions == {"patients": 1, "visits": 1}
        assert ledger.reservations.seen("another") is None


def test_a_question_of_a_stream_is_stored_only_for_the_data_that_is_held_open(place) -> None:
    asked = {"number": 1, "key": "k", "question": "q", "sealed": SEED}
    with place.clinic() as ledger:
        ledger.reservations.open(opening())
        ledger.administration.advance_version("clinic", "patients")
        head = ledger.head()
        with pytest.raises(MovedOnError):
            intend_one(ledger, "s", **asked, held={"patients": 1})
        assert ledger.head() == head
        intend_one(ledger, "s", **asked, held={"patients": 2})

"""What every ledger promises about several rounds under one charge, on SQLite and PostgreSQL."""

from fractions import Fraction

import pytest

from lapwing.accounting.filters.charge import Reservation, SingleRelease
from lapwing.ledger.entries import Entry, recall_digest
from lapwing.ledger.replay import Replay, verify
from lapwing.ledger.reservation_states import (
    STREAM,
    Decision,
    IfLost,
    Intent,
    Opening,
    ReservationKind,
    ReservationStatus,
    RoundOutcome,
    full_name,
)
from lapwing.ledger.states import MovedOnError
from lapwing.vocabulary.codec import canonical, digest, to_record
from lapwing.vocabulary.errors import (
    BudgetExceededError,
    LedgerDamagedError,
    ParameterError,
    PolicyError,
    StreamBusyError,
    StreamError,
    SuspendedError,
    UnnamedAnalystError,
)
from ledger.clinic import SEED, Place, intend_one, opening, pure, reserved, spent

ENDS = ReservationKind(name="rounds", if_lost=IfLost.ENDS)
COUNTS = ReservationKind(name="counts", if_lost=IfLost.COUNTS)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request) -> Place:
    return Place.chosen(request.param, request)


@pytest.fixture
def ledger(place):
    with place.clinic() as ledger:
        yield ledger


def rounds(name: str = "r", *, kind: ReservationKind = ENDS, epsilon: object = "3/10", **changed) -> Opening:
    given = {
        "population": "clinic",
        "analyst": "ana",
        "key": f"open {name}",
        "name": name,
        "charge": SingleRelease(event=pure(epsilon)),
        "tables": frozenset({"patients"}),
        "terms": canonical({"event": to_record(pure(epsilon)), "terms": None}),
        "rounds": 3,
        "kind": kind,
    }
    return Opening(**{**given, **changed})


def intend(ledger, number: int, parameters: str | None = None, **held):
    return ledger.reservations.intend("r", number=number, parameters=parameters or f"p{number}", **held)


def drawn(ledger, number: int, outcome: str | None) -> Decision:
    assert isinstance(intend(ledger, number), Intent)
    return ledger.reservations.settle("r", number=number, outcome=outcome)


def test_all_is_charged_at_the_opening_and_no_round_costs_more(ledger) -> None:
    ledger.reservations.open(rounds())
    assert (spent(ledger), reserved(ledger)) == (Fraction(3, 10), 0)
    ends = [drawn(ledger, number, f"{number}") for number in (1, 2, 3)]
    assert [(one.number, one.outcome, one.answer) for one in ends] == [
        (number, RoundOutcome.RELEASED, f"{number}") for number in (1, 2, 3)
    ]
    assert [one.status for one in ends] == [*[ReservationStatus.OPEN] * 2, ReservationStatus.HALTED]
    assert spent(ledger) == Fraction(3, 10)
    assert ledger.reservations.outcomes("r") == ends
    with pytest.raises(StreamError, match="rounds 'r' has ended: all 3 rounds are drawn"):
        intend(ledger, 4)
    verify(ledger)


def test_what_is_read_back_after_it_was_opened_again_is_what_was_committed(place, ledger) -> None:
    ledger.reservations.open(rounds())
    first = drawn(ledger, 1, '{"n":17}')
    with place.open() as again:
        assert intend(again, 1) == first
        record = again.reservations.open(rounds())
        assert (record.asked, record.kind, record.terms) == (1, ENDS, rounds().terms)
        assert again.reservations.all("clinic", kind=ENDS)[0].name == "r"
        assert again.reservations.all("clinic") == []


def test_a_charge_that_does_not_fit_opens_nothing(ledger) -> None:
    with pytest.raises(BudgetExceededError):
        ledger.reservations.open(rounds(epsilon=2))
    with pytest.raises(ParameterError, match="is not in this ledger"):
        ledger.reservations.find("r")


def test_terms_are_fixed_at_the_opening(ledger) -> None:
    ledger.reservations.open(rounds())
    with pytest.raises(Exception, match="belongs to another request"):
        ledger.reservations.open(rounds(terms="{}"))
    with pytest.raises(Exception, match="belongs to another request"):
        ledger.reservations.open(rounds(kind=ReservationKind(name="rounds", if_lost=IfLost.COUNTS)))
    with pytest.raises(ParameterError, match="of this ledger already"):
        ledger.reservations.open(rounds(key="other"))


@pytest.mark.parametrize(
    "changed",
    [
        {"rounds": None},
        {"rounds": 0},
        {"units": 1},
        {"sealed": b"state"},
        {"charge": Reservation(stream="r", opening=Fraction(1), price=Fraction(1), yeses=1)},
    ],
)
def test_what_is_no_stream_has_rounds_and_no_units(changed) -> None:
    with pytest.raises(ParameterError):
        rounds(**changed)


def test_a_round_has_its_parameters_for_ever(ledger) -> None:
    ledger.reservations.open(rounds())
    drawn(ledger, 1, "17")
    with pytest.raises(ParameterError, match="are not those of round 1 of 'r', which were fixed when it began"):
        intend(ledger, 1, "others")
    assert intend(ledger, 2, "depends on 17").questions == ("depends on 17",)


def test_the_next_round_waits_for_the_outcome_of_the_one_before(ledger) -> None:
    ledger.reservations.open(rounds())
    intend(ledger, 1)
    for act in (lambda: intend(ledger, 1), lambda: intend(ledger, 2), lambda: ledger.reservations.close("r")):
        with pytest.raises(StreamBusyError):
            act()
    ledger.reservations.settle("r", number=1, outcome="1")
    with pytest.raises(ParameterError, match="ask as 2"):
        intend(ledger, 3)
    with pytest.raises(ParameterError, match="was never asked"):
        ledger.reservations.settle("r", number=2, outcome="2")


def test_the_first_outcome_stands_whoever_brings_another(ledger) -> None:
    ledger.reservations.open(rounds())
    first = drawn(ledger, 1, "17")
    for other in ("18", None):
        assert ledger.reservations.settle("r", number=1, outcome=other) == first
    lost = drawn(ledger, 2, None)
    assert ledger.reservations.settle("r", number=2, outcome="drawn by the slower one").answer is None
    assert ledger.reservations.outcomes("r") == [first, lost]
    verify(ledger)


def test_a_lost_round_ends_it_or_counts_by_the_rule_of_its_kind(ledger) -> None:
    ledger.reservations.open(rounds())
    drawn(ledger, 1, "17")
    assert drawn(ledger, 2, None).status is ReservationStatus.HALTED
    with pytest.raises(StreamError, match="round 2 was lost; what was committed stands"):
        intend(ledger, 3)
    ledger.reservations.open(rounds("c", kind=COUNTS))
    for number, outcome in enumerate(["1", None, "3"], 1):
        ledger.reservations.intend("c", number=number, parameters="p")
        ledger.reservations.settle("c", number=number, outcome=outcome)
    assert [one.answer for one in ledger.reservations.outcomes("c")] == ["1", None, "3"]
    verify(ledger)


@pytest.mark.parametrize("end", ["close", "forfeit"])
def test_nothing_follows_on_the_closing_and_nothing_is_given_back(ledger, end) -> None:
    ledger.reservations.open(rounds())
    drawn(ledger, 1, "17")
    if end == "forfeit":
        intend(ledger, 2)
    assert getattr(ledger.reservations, end)("r").status is ReservationStatus.CLOSED
    with pytest.raises(StreamError, match="rounds 'r' has ended: it was closed"):
        intend(ledger, 3)
    if end == "forfeit":
        assert ledger.reservations.settle("r", number=2, outcome="too late").answer is None
    assert spent(ledger) == Fraction(3, 10)
    assert ledger.reservations.unsettled() == []
    verify(ledger)


def test_a_round_is_about_the_versions_that_are_held_for_it(ledger) -> None:
    ledger.reservations.open(rounds())
    ledger.administration.advance_version("clinic", "patients")
    with pytest.raises(MovedOnError):
        intend(ledger, 1, held={"patients": 1})
    assert intend(ledger, 1, held={"patients": 2}).versions == {"patients": 2}
    assert ledger.reservations.settle("r", number=1, outcome="1").versions == {"patients": 2}


def test_no_round_begins_while_the_spending_is_stopped_or_the_table_is_not_allowed(ledger) -> None:
    ledger.reservations.open(rounds())
    ledger.administration.suspend("clinic")
    with pytest.raises(SuspendedError):
        intend(ledger, 1)
    ledger.administration.resume("clinic")
    ledger.administration.limit_analyst("clinic", "ana", tables=["visits"], most=None)
    with pytest.raises(PolicyError, match="about patients"):
        intend(ledger, 1)


def test_what_is_stored_is_refused_as_well_where_the_table_is_not_allowed_or_the_analyst_not_admitted(ledger) -> None:
    """Rounds are read back as stored answers to questions are: by those who may ask."""
    ledger.reservations.open(rounds())
    first = drawn(ledger, 1, "17")
    reads = (
        lambda: ledger.reservations.open(rounds()),
        lambda: intend(ledger, 1),
        lambda: ledger.reservations.outcomes("r"),
    )
    ledger.administration.limit_analyst("clinic", "ana", tables=["visits"], most=None)
    for read in reads:
        with pytest.raises(PolicyError, match="about patients"):
            read()
    ledger.administration.limit_analyst("clinic", "ana", tables=None, most=None)
    ledger.administration.admit_analysts("clinic", only_named=True)
    for read in reads:
        with pytest.raises(UnnamedAnalystError):
            read()
    ledger.administration.admit_analysts("clinic", only_named=False)
    ledger.administration.suspend("clinic")  # which stops the spending, and nothing that is free
    assert intend(ledger, 1) == first
    assert ledger.reservations.outcomes("r") == [first]


def test_what_a_stream_has_answered_is_refused_where_its_table_is_not_allowed(ledger) -> None:
    ledger.reservations.open(opening())
    intend_one(ledger, "s", number=1, key="k", question="q", sealed=SEED)
    ledger.streams.decide("s", number=1, answers=[(RoundOutcome.NO, "no")])
    reads = [
        lambda: ledger.streams.recalled("s", ["q"]),
        lambda: intend_one(ledger, "s", number=2, key="k", question="q", sealed=SEED),
        lambda: intend_one(ledger, "s", number=2, key="new", question="q", sealed=SEED),
    ]
    ledger.administration.limit_analyst("clinic", "ana", tables=["visits"], most=None)
    for read in reads:
        with pytest.raises(PolicyError, match="may ask about visits, and this is about patients"):
            read()
    ledger.administration.limit_analyst("clinic", "ana", tables=None, most=None)
    assert set(reads[0]()) == {"q"}
    ledger.reservations.close("s")


def test_no_other_kind_has_the_name_of_streams() -> None:
    with pytest.raises(ParameterError, match="is the name of streams"):
        ReservationKind(name="stream", if_lost=IfLost.ENDS)
    assert ReservationKind(name="stream", if_lost=IfLost.COUNTS) == STREAM


def test_what_dead_processes_left_is_lost_and_streams_are_left_to_their_seeds(ledger) -> None:
    ledger.reservations.open(rounds())
    intend(ledger, 1)
    ledger.reservations.open(opening())
    intend_one(ledger, "s", number=1, key="k", question="q", sealed=SEED)
    with ledger.store.gate.working(full_name("clinic", "r")):
        assert ledger.reservations.lose_abandoned() == 0, "somebody draws it"
    assert ledger.reservations.lose_abandoned() == 1
    assert [one.reservation for one in ledger.reservations.unsettled()] == ["s"]
    assert ledger.reservations.unsettled(STREAM) == ledger.reservations.unsettled()
    verify(ledger)


def test_rounds_do_not_reset_the_questions_of_a_day(ledger) -> None:
    ledger.administration.set_limits("clinic", most=None, noes_a_day=2)
    ledger.reservations.open(opening())
    ledger.reservations.open(rounds())
    for number in (1, 2):
        intend_one(ledger, "s", number=number, key=f"{number}", question=f"q{number}")
        ledger.streams.decide("s", number=number, answers=[(RoundOutcome.NO, "no")])
        drawn(ledger, number, "1")
    with pytest.raises(PolicyError, match="question 3"):
        intend_one(ledger, "s", number=3, key="3", question="q3")
    verify(ledger)


def test_the_questions_of_a_stream_are_not_settled_as_rounds(ledger) -> None:
    ledger.reservations.open(opening())
    intend_one(ledger, "s", number=1, key="k", question="q")
    with pytest.raises(ParameterError, match="is a stream"):
        ledger.reservations.settle("s", number=1, outcome="yes")
    with pytest.raises(ParameterError, match="is a stream"):
        ledger.reservations.intend("s", number=1, parameters="q")


# What the replay refuses: each entry of a sound ledger, changed in one thing.


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The entries of a ledger with one reservation that was drawn to its end, and one of which a round was lost."""
    with Place.in_file(tmp_path_factory.mktemp("sound") / "ledger.db").clinic() as ledger:
        ledger.reservations.open(rounds())
        for number in (1, 2, 3):
            drawn(ledger, number, f"{number}")
        ledger.reservations.open(rounds("l"))
        ledger.reservations.intend("l", number=1, parameters="p")
        ledger.reservations.settle("l", number=1, outcome=None)
        ledger.reservations.open(rounds("c", kind=COUNTS))
        ledger.reservations.intend("c", number=1, parameters="p")
        ledger.reservations.settle("c", number=1, outcome=None)
        ledger.reservations.close("c")
        return ledger.history("clinic")


def replayed(records) -> Replay:
    replay = Replay()
    for number, record in enumerate(records, 1):
        replay.read(Entry(number, canonical({**record, "seq": number}), b""))
    return replay


def changed(records, kind: str, place: int, **fields):
    """Return the records with other fields in the one of a kind at a place; a field that is None is left out.

    An opening then has the digest of what it says: who forges one makes that anew, too.
    """
    at = [number for number, one in enumerate(records) if one["kind"] == kind][place]
    said = {name: value for name, value in {**records[at], **fields}.items() if value is not None}
    if kind == "opening" and "digest" not in fields:
        limits, charge = [said[name] for name in ("units", "dearest", "questions")], to_record(rounds().charge)
        named = [said[name] for name in ("reserves", "if_lost") if name in said]
        said["digest"] = digest([said["stream"], charge, limits, said["tables"], said["terms"], *named])
    return [*records[:at], said, *records[at + 1 :]]


def test_a_sound_ledger_is_replayed(sound) -> None:
    assert set(replayed(sound).reservations) == {"r", "l", "c"}


@pytest.mark.parametrize(
    ("kind", "place", "fields", "wrong"),
    [
        ("opening", 0, {"questions": 2}, "does not say where its stream stands"),
        ("opening", 0, {"digest": "00"}, "has the digest of another request"),
        ("opening", 0, {"questions": 0}, "has no number of rounds"),
        ("opening", 0, {"questions": 10**6}, "has no number of rounds"),
        ("opening", 0, {"units": 3}, "has units for what has none"),
        ("opening", 0, {"reserves": None, "if_lost": None}, "."),
        ("opening", 1, {"if_lost": "counts"}, "does not say where its stream stands"),
        ("opening", 1, {"if_lost": "perhaps"}, "makes no sense"),
        ("opening", 2, {"if_lost": "ends"}, "does not say where its stream stands"),
        ("opening", 0, {"terms": canonical({"event": to_record(pure(1))})}, "another price than its terms say"),
        ("intent", 0, {"number": 2}, "is not the next question"),
        ("intent", 1, {"terms": "{}"}, "no entry of the kind 'intent' has: terms"),
        ("outcome", 1, {"reserves": "other"}, "changes what a reservation is for"),
        ("intent", 1, {"if_lost": "counts"}, "no entry of the kind 'intent' has: if_lost"),
        ("intent", 0, {"question": None, "questions": ["p1", "p2"]}, "begins a round before the one before"),
        ("outcome", 0, {"settles": 1}, "is not in flight"),
        ("outcome", 0, {"outcome": "lost"}, "holds an answer and is lost"),
        ("outcome", 0, {"answer": None}, "holds an answer and is lost, or neither"),
        ("outcome", 0, {"outcome": "yes"}, "has an outcome that there is not"),
        ("outcome", 0, {"units": 1}, "takes 1 units"),
        ("outcome", 0, {"versions": {"patients": 7}}, "from other data versions"),
        ("outcome", 2, {"status": "open"}, "does not say where its stream stands"),
        ("opening", 2, {"reserves": "stream"}, "names the kind of a stream"),
        ("opening", 0, {"reserves": None}, "names the kind of a stream, or half of another kind"),
        ("intent", 0, {"analyst": "bob"}, "of another population or analyst"),
        ("intent", 0, {"population": "other"}, "of another population or analyst"),
        ("intent", 0, {"versions": {}}, "has other data versions, or none"),
        ("intent", 0, {"versions": {"patients": 1, "visits": 1}}, "reads other tables than were agreed"),
        ("intent", 0, {"request": "k"}, "asked like a question"),
        ("intent", 0, {"questions": ["p1"]}, "asks one question and many"),
        ("outcome", 0, {"population": "other"}, "of another population or analyst"),
        ("outcome", 0, {"analyst": "bob"}, "of another population or analyst"),
        ("outcome", 0, {"number": 3}, "has the number of another question"),
        ("outcome", 0, {"recall": recall_digest("population clinic", "q")}, "tells answer, outcome, recall, versions"),
        ("outcome", 3, {"recalls": []}, "tells outcome, recalls, and not outcome"),
        ("closing", 0, {"outcome": "released"}, "decides a question by the closing"),
        ("closing", 0, {"number": 2}, "has the number of another question"),
    ],
)
def test_the_replay_refuses_what_the_protocol_does_not_allow(sound, kind, place, fields, wrong) -> None:
    with pytest.raises(LedgerDamagedError, match=wrong):
        replayed(changed(sound, kind, place, **fields))


@pytest.mark.parametrize(("name", "status"), [("r", "halted"), ("l", "halted"), ("c", "closed")])
def test_the_replay_refuses_an_outcome_or_an_intent_that_follows_on_the_end(sound, name, status) -> None:
    last = max(number for number, one in enumerate(sound) if one.get("stream") == name)
    for kind, wrong in (("outcome", "is not in flight"), ("intent", f"asks a stream that is {status}")):
        again = next(one for one in sound if one["kind"] == kind and one["stream"] == name)
        with pytest.raises(LedgerDamagedError, match=wrong):
            replayed([*sound[: last + 1], again])


def test_the_replay_refuses_a_second_outcome_of_one_intent(sound) -> None:
    first = next(number for number, one in enumerate(sound) if one["kind"] == "outcome")
    with pytest.raises(LedgerDamagedError, match="is not in flight"):
        replayed([*sound[: first + 1], sound[first], *sound[first + 1 :]])

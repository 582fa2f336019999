"""Streams at the door: what they cost, that they survive, and that nobody gets more than was paid for."""

import json
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from lapwing import at_least
from lapwing.answers.stream_terms import StreamTerms, Verdict
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import ReservationStatus, full_name
from lapwing.mechanisms.sparse_vector.pure import SparseVector
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise import sealing
from lapwing.queries.algebra.aggregate import CountPerPerson
from lapwing.queries.planning.plan import CanonicalQuestion
from lapwing.queries.planning.planner import plan
from lapwing.session import Session
from lapwing.streams import QuestionStream
from lapwing.vocabulary.errors import (
    BadQuestionError,
    EngineError,
    ParameterError,
    PolicyError,
    SealBrokenError,
    StreamClosedError,
    StreamError,
    StreamHaltedError,
    UnansweredError,
)
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency, ConcentratedDP, PureDP
from session.clinic import KEY, Broken, FixedNumber, door, new_ledger, population, same_ledger, spent
from session.real_tables import Tables

TERMS = {"at_least": 200, "yeses": 3, "epsilon": 1}
YES = Fraction("0.225111141485")  # the best price of a yes, 693361/3080083, cut after twelve digits
MECHANISM = SparseVector(
    epsilon=1,
    yeses=3,
    threshold=200,
    sensitivity=ValueSensitivity.of_counts(Adjacency.ADD_REMOVE),
    threshold_share=1 - 3 * YES,
)
FAR_ABOVE, FAR_BELOW = FixedNumber(10_000), FixedNumber(-10_000)


def test_a_stream_is_paid_by_its_yeses(ledger) -> None:
    clinic = door(ledger, FAR_BELOW)
    with clinic.stream(**TERMS) as stream:
        assert spent(ledger) == 1, "all of it is held while it is open"
        answers = [stream.ask(f"age = {age}") for age in range(20)]
        assert {answer.verdict for answer in answers} == {Verdict.BELOW}
        assert not any(answers)
        assert {(answer.price, answer.gap, answer.yeses_left) for answer in answers} == {(0, None, 3)}
        assert stream.spent == MECHANISM.threshold_epsilon
    assert spent(ledger) == MECHANISM.threshold_epsilon
    with pytest.raises(StreamClosedError):
        stream.ask("age = 99")
    verify(ledger)


def test_a_yes_comes_with_its_gap_and_its_price_and_the_last_one_halts(ledger) -> None:
    """V1 and V6: after the halt there is one answer, always the same; a yes tells its gap and nothing more."""
    stream = door(ledger, FAR_ABOVE).stream(**TERMS)
    answers = [stream.ask(f"age = {age}") for age in range(3)]
    assert all(answers)
    assert [answer.yeses_left for answer in answers] == [2, 1, 0]
    assert {answer.price for answer in answers} == {MECHANISM.yes_price}
    assert all(abs(answer.gap - 9800) < 500 for answer in answers)
    assert str(answers[0]) == f"ABOVE, by about {answers[0].gap}"
    assert spent(ledger) == 1
    with pytest.raises(StreamHaltedError, match="all the 3 yeses"):
        stream.ask("age = 3")
    assert stream.ask("age = 2") == answers[2], "what was answered stays answered, after the halt too"
    verify(ledger)


def test_the_same_question_in_the_same_stream_is_free_and_the_same(ledger) -> None:
    stream = door(ledger, FixedNumber(200)).stream(**TERMS)
    first = stream.ask("age = 1 and sex = 'M'")
    for _ in range(20):
        again = stream.ask("sex = 'M' and age = 1")
        assert (again.verdict, again.gap, again.receipt) == (first.verdict, first.gap, first.receipt)
        assert (again.price, again.free, first.free) == (first.price, True, False)
        assert json.loads(again.to_json())["free"] is True
    assert json.loads(first.to_json())["free"] is not bool(first), "a no costs nothing"
    assert stream.record.asked == 1
    assert stream.ask("age = 2").free is False


def test_a_key_serves_one_question(ledger) -> None:
    stream = door(ledger, FAR_BELOW).stream(**TERMS)
    assert stream.ask("age = 1", key="k").receipt == stream.ask("age = 1", key="k").receipt
    with pytest.raises(BadQuestionError, match="belongs to another request"):
        stream.ask("age = 2", key="k")


def test_a_question_may_ask_for_another_number_of_people(ledger) -> None:
    stream = door(ledger, FixedNumber(10_000)).stream(**TERMS)
    assert not stream.ask("age = 1", at_least=10**6)
    assert stream.ask("age = 1", at_least=10).threshold == 10


def test_a_stream_goes_on_in_another_process(quick_path, ledger) -> None:
    """V3: and gives no more yeses than it would have."""
    stream = door(ledger, FAR_ABOVE).stream(**TERMS, name="mine")
    first = stream.ask("age = 1")
    with same_ledger(quick_path) as other:
        resumed = door(other, FAR_ABOVE).resume("mine")
        assert resumed.ask("age = 1").receipt == first.receipt
        assert resumed.ask("age = 2").yeses_left == 1
    assert stream.ask("age = 3").yeses_left == 0
    with same_ledger(quick_path) as other:
        verify(other)


def test_a_stream_belongs_to_its_analyst(ledger) -> None:
    """V5: that of another one is as unknown as one that never was."""
    door(ledger, FAR_ABOVE).stream(**TERMS, name="mine")
    with pytest.raises(ParameterError, match="is not in this ledger"):
        door(ledger, FAR_ABOVE, analyst="bob").resume("mine")
    with pytest.raises(ParameterError, match="is not in this ledger"):
        door(ledger, FAR_ABOVE).resume("another")


def test_a_stream_belongs_to_its_population(ledger) -> None:
    """The same analyst at the door of other people: their account did not pay for it."""
    door(ledger, FAR_ABOVE).stream(**TERMS, name="mine")
    ledger.administration.create_population("other", unit=population().unit, budget=PureDP(epsilon=Fraction(10)))
    elsewhere = Session(replace(population(), name="other"), ledger, FAR_ABOVE, analyst="ana", key=KEY)
    with pytest.raises(ParameterError, match="is not in this ledger"):
        elsewhere.resume("mine")


def test_a_stream_asks_about_the_tables_that_it_was_opened_for_whoever_resumes_it(ledger) -> None:
    """Its intents hold the versions of no others, so it would be decided again on other data, and not be stopped."""
    clinic, limit = door(ledger, FAR_BELOW), ledger.administration.limit_analyst
    limit("clinic", "ana", tables=["patients"], most=None)
    clinic.stream(**TERMS, name="mine")
    limit("clinic", "ana", tables=["patients", "visits"], most=None)
    resumed = clinic.resume("mine")
    assert not resumed.ask("age = 1")
    for where in ("has(visits, ward = 1)", "(select count(*) from visits v where v.id = patients.id) > 1"):
        with pytest.raises(BadQuestionError, match="no table 'visits'"):
            resumed.ask(where)
    with clinic.stream(**TERMS) as later:
        assert not later.ask("has(visits, ward = 1)")
        limit("clinic", "ana", tables=["patients"], most=None)
        with pytest.raises(PolicyError, match="about visits"):
            later.ask("has(visits, ward = 2)")


def test_what_a_stream_has_cost_grows_with_its_yeses(ledger) -> None:
    stream = door(ledger, FAR_ABOVE).stream(**TERMS)
    for yeses in (1, 2):
        stream.ask(f"age = {yeses}")
        assert stream.spent == MECHANISM.threshold_epsilon + yeses * MECHANISM.yes_price


def test_two_threads_at_the_boundary_get_one_last_yes(ledger) -> None:
    """V2: they are answered one after the other."""
    stream = door(ledger, FAR_ABOVE).stream(**{**TERMS, "yeses": 1})
    told: list[object] = []

    def ask(age: int) -> None:
        try:
            told.append(stream.ask(f"age = {age}").verdict)
        except StreamError as refused:
            told.append(type(refused))

    threads = [threading.Thread(target=ask, args=(age,)) for age in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told.count(Verdict.ABOVE) == 1
    assert len(told) == 6
    assert spent(ledger) == 1
    verify(ledger)


def test_a_lost_answer_costs_what_a_yes_costs_and_says_nothing(ledger) -> None:
    told = []
    stream = door(ledger, Broken()).stream(**TERMS)
    stream._on_failure = told.append
    with pytest.raises(EngineError) as failed:
        stream.ask("age = 1", key="k")
    assert failed.value.__context__ is None
    assert "123456789" in str(told[0])
    assert stream.record.used == 1
    assert stream.yeses_left == 2
    with pytest.raises(UnansweredError, match="was lost after it was charged"):
        stream.ask("age = 1", key="k")
    stream.close()
    assert spent(ledger) == MECHANISM.threshold_epsilon + MECHANISM.yes_price
    verify(ledger)


@pytest.mark.parametrize("value", ["many", 1.5, None], ids=["text", "half", "nothing"])
def test_a_value_that_cannot_be_decided_on_closes_the_stream_at_its_full_price(ledger, value) -> None:
    """A failure that may depend on the value is told like any other, and nothing can be tried a second time."""
    told: list[Exception] = []

    class Odd(FixedNumber):
        def number(self, aggregate):
            del aggregate
            return Sensitive(value)

    stream = door(ledger, Odd(0)).stream(**TERMS)
    stream._on_failure = told.append
    with pytest.raises(EngineError) as failed:
        stream.ask("age = 1", key="k")
    assert str(failed.value) == str(EngineError())
    assert failed.value.__context__ is None
    assert len(told) == 1
    assert stream.record.status is ReservationStatus.CLOSED
    assert spent(ledger) == 1
    verify(ledger)


def in_flight(ledger, seconds: FixedNumber = FAR_ABOVE, name: str = "clinic") -> Session:
    """A stream whose first question was left in flight: its process died after the intent."""
    clinic = Session(replace(population(), name=name), ledger, seconds, analyst="ana", key=KEY)
    stream = clinic.stream(**TERMS, name="mine")

    class Died(BaseException):
        pass

    def die(*_: object) -> None:
        raise Died

    stream._decide = die
    with pytest.raises(Died):
        stream.ask("age = 1", key="k")
    return clinic


def unsettled(clinic: Session) -> QuestionStream:
    """The stream as it stands, with its question in flight."""
    return clinic._stream("mine", StreamTerms.read(clinic.ledger.reservations.find("mine").terms))


def test_what_a_dead_process_left_in_flight_is_decided_with_its_own_seed(ledger) -> None:
    resumed = in_flight(ledger).resume("mine")
    assert resumed.record.in_flight is None
    assert resumed.ask("age = 1", key="k").verdict is Verdict.ABOVE
    assert resumed.record.asked == 1


def test_a_process_that_comes_second_tells_what_the_first_one_committed(ledger) -> None:
    """Both decide the same question; also where the first outcome halted the stream and its secrets are gone."""
    clinic = in_flight(ledger, FixedNumber(10_000))
    slow = unsettled(clinic)
    intent = slow.record.in_flight
    questions = [CanonicalQuestion.read(intent.questions[0])]
    first = clinic.resume("mine").ask("age = 1", key="k")
    assert [one.receipt for one in slow._decide(intent, questions).values()] == [first.receipt]
    for age in (2, 3):
        unsettled(clinic).ask(f"age = {age}")
    assert slow.record.status is ReservationStatus.HALTED
    assert [one.receipt for one in slow._decide(intent, questions).values()] == [first.receipt]


def test_another_question_settles_the_one_in_flight_first(ledger) -> None:
    clinic = in_flight(ledger)
    stream = unsettled(clinic)
    assert stream.ask("age = 2").question == 2
    assert stream.ask("age = 1", key="k").question == 1


def test_a_lost_answer_is_a_yes_to_the_sealed_state_as_well(ledger) -> None:
    """The mechanism that goes on counts as the ledger does, and halts by itself where the ledger would halt it."""
    stream = door(ledger, Broken()).stream(**TERMS, name="mine")
    for age in (1, 2):
        with pytest.raises(EngineError):
            stream.ask(f"age = {age}")
    record = stream.record
    mechanism = StreamTerms.read(record.terms).mechanism
    resumed = mechanism.resume(record.sealed, key=KEY, sequence=record.seals, name=full_name("clinic", "mine"))
    assert (resumed.asked, resumed.yeses) == (record.asked, record.used) == (2, 2)


def test_closing_settles_the_question_in_flight_first(ledger) -> None:
    unsettled(in_flight(ledger)).close()
    record = ledger.reservations.find("mine")
    assert (record.status, record.in_flight, record.used) == (ReservationStatus.CLOSED, None, 1)
    assert spent(ledger) < 1, "what no yes has used is given back"
    verify(ledger)


def test_a_session_that_is_closed_goes_on_with_no_stream(ledger) -> None:
    clinic = in_flight(ledger)
    clinic.close()
    with pytest.raises(BadQuestionError, match="this session is closed"):
        clinic.resume("mine")
    assert ledger.reservations.find("mine").in_flight is not None, "it is decided by whoever asks next"


def test_what_is_in_flight_is_lost_when_the_data_moved_on(ledger) -> None:
    tables = Tables()
    clinic = in_flight(ledger, tables)
    ledger.administration.advance_version("clinic", "patients")

    def moved(versions) -> None:
        if versions["patients"] != 2:
            raise ValueError("the tables have moved on")

    tables.engine = moved
    clinic.resume("mine")
    record = ledger.reservations.find("mine")
    assert (record.used, record.in_flight, record.status) == (1, None, ReservationStatus.OPEN)


def test_without_its_key_a_stream_is_closed_at_its_full_price(ledger) -> None:
    in_flight(ledger)
    stranger = Session(population(), ledger, FAR_ABOVE, analyst="ana", key=bytes(32))
    with pytest.raises(SealBrokenError):
        stranger.resume("mine")
    assert ledger.reservations.find("mine").status is ReservationStatus.CLOSED
    assert spent(ledger) == 1
    verify(ledger)


def test_a_seed_of_another_question_is_not_taken(ledger) -> None:
    clinic = door(ledger, FAR_ABOVE)
    stream = clinic.stream(**TERMS)
    seal = stream._seal_seed
    stream._seal_seed = lambda number: seal(number + 1)
    with pytest.raises(SealBrokenError):
        stream.ask("age = 1")
    assert stream.record.status is ReservationStatus.CLOSED


def add_school(ledger) -> None:
    ledger.administration.create_population("school", unit=population().unit, budget=PureDP(epsilon=Fraction(10)))
    for table in ("patients", "visits"):
        ledger.administration.add_table("school", table)


@pytest.mark.parametrize("number", [0, 1], ids=["state", "seed"])
def test_the_noise_of_one_population_decides_nothing_in_another(quick_path, number) -> None:
    """Two streams of the same name, key, terms and place: whoever writes the tables swaps seals."""
    with new_ledger(quick_path) as ledger:
        add_school(ledger)
        for name in ("clinic", "school"):
            in_flight(ledger.of(name), name=name)
    with closing(sqlite3.connect(quick_path / "ledger.db")) as tables, tables:
        found = tables.execute("select sealed from all_secrets where number = ? order by chain", (number,)).fetchall()
        (of_clinic,), (of_school,) = found
        moved = tables.execute("update all_secrets set sealed = ? where sealed = ?", (of_clinic, of_school))
        assert (of_clinic != of_school, moved.rowcount) == (True, 1), "the clinic's is now the school's as well"
    with same_ledger(quick_path) as ledger:
        school, clinic = ledger.of("school"), ledger.of("clinic")
        door_of_school = Session(replace(population(), name="school"), school, FAR_ABOVE, analyst="ana", key=KEY)
        with pytest.raises(SealBrokenError, match="population"):
            door_of_school.resume("mine")
        record = school.reservations.find("mine")
        assert (record.status, record.in_flight) == (ReservationStatus.CLOSED, None)
        assert school.account("school").filters["everyone"].spent == 1, "its full price"
        assert unsettled(door_of_school).stored(["age = 1"]) is None, "nothing is told"
        assert door(clinic, FAR_ABOVE).resume("mine").ask("age = 1").verdict is Verdict.ABOVE
        verify(ledger)


def test_a_stream_of_the_same_name_in_another_population_is_not_held_up(quick_path) -> None:
    """A gate that both went through would leave what a dead process had in flight, as if a live one decided it."""
    with new_ledger(quick_path) as ledger:
        add_school(ledger)
        clinic, school = (in_flight(ledger.of(name), name=name) for name in ("clinic", "school"))
        with ledger.gate.working(full_name("clinic", "mine")):
            assert clinic.resume("mine").record.in_flight is not None
            assert school.resume("mine").record.in_flight is None


def test_a_question_in_flight_is_not_decided_by_the_samplers_of_another_version(ledger, monkeypatch) -> None:
    """Killed, then upgraded: other noise from the same seed would be a second look for one price."""
    in_flight(ledger)
    monkeypatch.setattr(sealing, "SAMPLERS", sealing.SAMPLERS + 1)
    with pytest.raises(SealBrokenError):
        door(ledger, FAR_ABOVE).resume("mine")
    record = ledger.reservations.find("mine")
    assert (record.status, record.in_flight) == (ReservationStatus.CLOSED, None)
    assert spent(ledger) == 1, "it is lost, and the stream is closed at its full price"
    with pytest.raises(UnansweredError):
        unsettled(door(ledger, FAR_ABOVE)).ask("age = 1", key="k")
    verify(ledger)


def test_under_a_budget_of_rho_all_is_paid_at_the_opening(quick_path) -> None:
    with new_ledger(quick_path, ConcentratedDP(rho=Fraction(2))) as ledger:
        clinic = door(ledger, FAR_BELOW)
        with clinic.stream(**TERMS) as stream:
            held = clinic.budget().left
            assert not stream.ask("age = 1")
        assert clinic.budget().left == held < 2


def test_a_stream_counts_people_whatever_table_it_asks(ledger) -> None:
    """V4: a person with many rows is one person, and nothing else can be asked."""
    stream = door(ledger, Tables()).stream(at_least=20, yeses=1, epsilon=5, table="visits")
    assert isinstance(plan(at_least(20, "visits", "kind = 'ER'"), population()).aggregate.bounding, CountPerPerson)
    assert not stream.ask("ward = 20 and kind = 'other'")
    for where in ("count(*) > 3", "sum(ward) > 100", "ward"):
        with pytest.raises(BadQuestionError):
            stream.ask(where)
    assert stream.record.asked == 1


def test_hundreds_of_noes_are_answered_for_nothing(ledger) -> None:
    """V7: there is no cap on them."""
    clinic = door(ledger, FAR_BELOW)
    with clinic.stream(**TERMS) as stream:
        assert not any(stream.ask(f"age = {i % 100} and bmi > {10 + i // 100}") for i in range(300))
    assert spent(ledger) == MECHANISM.threshold_epsilon


def test_where_people_are_replaced_a_stream_takes_the_noise_of_both_ways(quick_path) -> None:
    """V8: a count may rise and fall, so a yes is compared with twice the noise."""
    unit = {"adjacency": Adjacency.REPLACE}
    with new_ledger(quick_path, **unit) as ledger:
        stream = door(ledger, FAR_BELOW, **unit).stream(**TERMS)
        replaced, alone = (one.rule.comparisons[0].noise.scale for one in (stream.terms.mechanism, MECHANISM))
        share = MECHANISM.yes_price / stream.terms.mechanism.yes_price
        assert replaced == 2 * alone * share


def test_a_yes_has_an_interval_that_holds_with_all_others(ledger) -> None:
    """Wrong once in 1e9 times, over all questions of the stream."""
    stream = door(ledger, FixedNumber(10_000)).stream(**TERMS)
    for age in range(3):
        low, high = stream.interval(stream.ask(f"age = {age}"), confidence=1 - Fraction(1, 10**9))
        assert low <= 10_000 <= high
    below = door(ledger, FAR_BELOW).stream(**TERMS)
    assert below.interval(below.ask("age = 1")) is None


def test_what_a_stream_does_is_known_beforehand(ledger) -> None:
    stream = door(ledger, FAR_BELOW).stream(**TERMS)
    assert stream.chance_of_yes(100) < 0.01
    assert stream.chance_of_yes(260) > 0.99
    assert stream.margin(20) == MECHANISM.margin("0.95", questions=23, above=3)
    assert repr(stream) == f"<stream {stream.name!r}: 0 of 3 yeses given>"


def test_a_stream_reads_real_tables(clinic) -> None:
    with clinic.stream(at_least=100, yeses=4, epsilon=8) as stream:
        assert stream.ask("sex = 'M'")
        assert not stream.ask("age < 10 and survivor")
        assert stream.ask("has(visits, kind = 'ER')")


def test_no_secret_of_a_stream_is_in_the_ledger_file(quick_path) -> None:
    """The noise of the threshold is sealed at one length, and nothing of it is left after the end."""
    with new_ledger(quick_path) as ledger:
        clinic = door(ledger, FAR_BELOW)
        lengths = set()
        for number in range(8):
            with clinic.stream(at_least=10, yeses=1, epsilon="1/8", name=f"s{number}") as stream:
                lengths.add(len(stream.record.sealed))
                stream.ask("age = 1")
                lengths.add(len(stream.record.sealed))
            assert stream.record.sealed is None
        assert len(lengths) == 1


def test_nothing_of_a_stream_lingers_when_its_last_yes_has_ended_it(quick_path) -> None:
    """What is deleted is overwritten, but for the write-ahead log: that is emptied before the answer is told."""
    with new_ledger(quick_path) as ledger:
        stream = door(ledger, FAR_ABOVE).stream(at_least=10, yeses=1, epsilon="1/8")
        sealed = stream.record.sealed
        places = [path for path in quick_path.rglob("*") if path.is_file()]
        assert any(sealed in path.read_bytes() for path in places)
        assert stream.ask("age = 1")
        assert stream.record.status is ReservationStatus.HALTED
        assert not any(sealed in path.read_bytes() for path in quick_path.rglob("*") if path.is_file())


def test_a_question_of_a_stream_may_ask_for_as_many_people_as_any_other(ledger) -> None:
    stream = door(ledger, FAR_BELOW).stream(**TERMS)
    assert not stream.ask("age = 1", at_least=2**62)
    with pytest.raises(ParameterError, match="at_least"):
        stream.ask("age = 1", at_least=2**62 + 1)


def test_a_stream_takes_a_whole_question(clinic) -> None:
    with clinic.stream(at_least=3, yeses=2, epsilon=1, table="patients") as stream:
        first = stream.ask(at_least(7, "patients", "age > 3"))
        assert stream.ask("age > 3", at_least=7) == first, "the same question"
        with pytest.raises(BadQuestionError, match="this stream asks about patients"):
            stream.ask(at_least(7, "visits"))
        with pytest.raises(BadQuestionError, match="says how many people itself"):
            stream.ask(at_least(7, "patients"), at_least=8)

"""A ledger against a model of it that is kept apart: charges, answers, streams, failures and restarts, in any order.

The model has its own book of what was spent and its own record of what was told. It never asks the ledger.
"""

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.ledger import store
from lapwing.ledger.budget_requests import RequestState
from lapwing.ledger.questions import Released
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import (
    Decision,
    IfLost,
    Intent,
    Opening,
    ReservationKind,
    ReservationStatus,
    RoundOutcome,
)
from lapwing.vocabulary.errors import (
    BudgetExceededError,
    LedgerInDoubtError,
    LedgerUnwritableError,
    ParameterError,
    RequestConflictError,
    StreamBusyError,
    StreamClosedError,
    StreamError,
    StreamHaltedError,
    SuspendedError,
    UnansweredError,
)
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import PEOPLE, SECRET, SEED, Place, decide_one, intend_one, opening, pure, request, reserved, spent
from postgres_server import where_there_is_room

CAP, NO_LIMIT = Fraction(2), Fraction(1000)
OPENING, PRICE, YESES, ROUNDS = Fraction(1, 10), Fraction(1, 5), 2, 3

analysts = st.sampled_from(["ana", "bob"])
keys = st.sampled_from(["k1", "k2", "k3", "k4"])
questions = st.sampled_from(["q1", "q2", "q3"])
epsilons = st.sampled_from([Fraction(1, 10), Fraction(1, 4), Fraction(2, 3)])
points = st.sampled_from([None, None, None, None, "begun", "written", "committed"])
streams = st.sampled_from(["s1", "s2", "s3"])


@dataclass
class Asked:
    """What the model knows of an idempotency key."""

    what: object
    seq: int = 0
    told: str | None = None
    lost: bool = False


@dataclass
class Flow:
    """What the model knows of a stream."""

    analyst: str
    asked: int = 0
    yeses: int = 0
    status: ReservationStatus = ReservationStatus.OPEN
    in_flight: tuple[str, tuple[str, int]] | None = None
    told: dict[tuple[str, int], str] = field(default_factory=dict)
    keys: dict[str, str | None] = field(default_factory=dict)


@dataclass
class Drawing:
    """What the model knows of a reservation of rounds: its outcomes, in their order, and whether it has ended."""

    goes_on: bool
    told: list[str | None] = field(default_factory=list)
    in_flight: bool = False
    ended: bool = False


@dataclass
class Purse:
    """An account of the model."""

    cap: Fraction
    spent: Fraction = Fraction(0)
    held: Fraction = Fraction(0)

    def fits(self, amount: Fraction) -> bool:
        return self.spent + self.held + amount <= self.cap


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory(dir=where_there_is_room())
        self.place = Place.in_file(Path(self.folder.name) / "ledger.db")
        self.ledger = self.place.clinic(epsilon=CAP)
        self.all, self.own = Purse(CAP), {"ana": Purse(NO_LIMIT), "bob": Purse(NO_LIMIT)}
        self.decided: dict[int, RequestState] = {}
        self.version, self.suspended = 1, False
        self.keys: dict[tuple[str, str], Asked] = {}
        self.stored: dict[tuple[str, int], str] = {}
        self.flows: dict[str, Flow] = {}
        self.rounds: dict[str, Drawing] = {}
        self.receipts = []

    def teardown(self) -> None:
        verify(self.ledger, self.receipts)
        self.ledger.close()
        self.folder.cleanup()

    @contextmanager
    def failing(self, act: str, point: str | None):
        """Let the disk fail at a fault point; `happened` says whether what was done counts."""
        store._reached.clear()
        os.environ[store.VARIABLE] = f"{act}.{point}:full" if point else ""
        try:
            yield
        finally:
            os.environ.pop(store.VARIABLE)

    def attempt(self, act: str, point: str | None, call):
        """Do something that should succeed, on a disk that may fail; return what came of it, and whether it counts."""
        with self.failing(act, point):
            if point is None:
                return call(), True
            with pytest.raises(LedgerInDoubtError if point == "committed" else LedgerUnwritableError):
                call()
            return None, point == "committed"

    def pay(self, analyst: str, now: Fraction, later: Fraction = Fraction(0)) -> None:
        for purse in (self.all, self.own[analyst]):
            purse.spent += now
            purse.held += later

    def affordable(self, analyst: str, amount: Fraction) -> bool:
        return self.all.fits(amount) and self.own[analyst].fits(amount)

    @rule(analyst=analysts, key=keys, question=questions, epsilon=epsilons, point=points)
    def charge(self, analyst, key, question, epsilon, point) -> None:
        asked = request(key, analyst=analyst, question=question, epsilon=epsilon)
        known = self.keys.get((analyst, key))
        if known:
            self.charge_again(asked, known, (question, epsilon))
            return
        if (question, self.version) in self.stored and not self.suspended:
            found, counts = self.attempt("charge", point, lambda: self.ledger.questions.charge(asked))
            if counts:
                told = self.stored[question, self.version]
                assert found is None or found.answer == told
                self.keys[analyst, key] = Asked((question, epsilon), told=told)
            return
        if self.suspended or not self.affordable(analyst, epsilon):
            with pytest.raises(SuspendedError if self.suspended else BudgetExceededError):
                self.ledger.questions.charge(asked)
            return
        found, counts = self.attempt("charge", point, lambda: self.ledger.questions.charge(asked))
        if counts:
            self.pay(analyst, epsilon)
            seq = found.seq if found else self.ledger.head().seq
            self.keys[analyst, key] = Asked((question, epsilon), seq=seq)

    def charge_again(self, asked, known: Asked, what) -> None:
        if known.what != what:
            with pytest.raises(RequestConflictError):
                self.ledger.questions.charge(asked)
        elif known.told is None:
            with pytest.raises(UnansweredError) as refused:
                self.ledger.questions.charge(asked)
            assert refused.value.lost == known.lost
        else:
            found = self.ledger.questions.charge(asked)
            assert isinstance(found, Released)
            assert found.answer == known.told

    def open_charges(self) -> list[Asked]:
        return [asked for asked in self.keys.values() if asked.seq and asked.told is None and not asked.lost]

    @precondition(lambda self: self.open_charges())
    @rule(data=st.data(), point=points)
    def answer(self, data, point) -> None:
        asked = data.draw(st.sampled_from(self.open_charges()))
        told = f"answer to {asked.seq}"
        found, counts = self.attempt("answer", point, lambda: self.ledger.questions.answer(asked.seq, told))
        if counts:
            asked.told = told
            self.stored.setdefault((asked.what[0], self._version_of(asked)), told)
        if found:
            self.receipts.append(found.receipt)

    def _version_of(self, asked: Asked) -> int:
        with self.ledger.store.reading() as book:
            return book.entry(asked.seq).record["versions"]["patients"]

    @precondition(lambda self: self.open_charges())
    @rule(data=st.data(), point=points)
    def lose(self, data, point) -> None:
        asked = data.draw(st.sampled_from(self.open_charges()))
        _, counts = self.attempt("lose", point, lambda: self.ledger.questions.lose(asked.seq))
        asked.lost = counts

    @rule(point=points)
    def advance(self, point) -> None:
        _, counts = self.attempt(
            "version", point, lambda: self.ledger.administration.advance_version("clinic", "patients")
        )
        self.version += counts

    @rule(analyst=analysts, cap=st.sampled_from([Fraction(1, 2), Fraction(1), CAP]), point=points)
    def allow(self, analyst, cap, point) -> None:
        purse = self.own[analyst]
        allowance = PureDP(epsilon=cap)
        if purse.spent + purse.held > cap:
            with pytest.raises(ParameterError, match="is less than what was released to them"):
                self.ledger.administration.set_allowance("clinic", analyst, allowance)
            return
        try:
            _, counts = self.attempt(
                "policy", point, lambda: self.ledger.administration.set_allowance("clinic", analyst, allowance)
            )
        except ParameterError as refused:  # the history did not fit in its own order, although the balance does
            assert "is less than what was released to them" in str(refused)  # noqa: PT017
            return
        if counts:
            purse.cap = cap

    @rule(analyst=analysts, more=epsilons, grants=st.booleans(), point=points)
    def ask_for_more(self, analyst, more, grants, point) -> None:
        """Ask for more, and hear a yes or a no; where the disk fails under it, hear a no afterwards."""
        requests = self.ledger.budget_requests
        number = requests.make("clinic", analyst, PureDP(epsilon=more), purpose="more").number
        decide = requests.grant if grants else requests.refuse
        _, counts = self.attempt("policy", point, lambda: decide("clinic", number))
        if not counts:
            requests.refuse("clinic", number)
        elif grants:
            purse = self.all if self.own[analyst].cap == NO_LIMIT else self.own[analyst]
            purse.cap += more
        with pytest.raises(ParameterError, match="before"):
            requests.grant("clinic", number)
        self.decided[number] = RequestState.GRANTED if counts and grants else RequestState.REFUSED

    @rule(analyst=st.none() | analysts, epsilon=epsilons, point=points)
    def write_off(self, analyst, epsilon, point) -> None:
        purses = [self.all, *([self.own[analyst]] if analyst else [])]

        def act():
            return self.ledger.administration.write_off("clinic", pure(epsilon), reason="lost", analyst=analyst)

        if not all(purse.fits(epsilon) for purse in purses):
            with pytest.raises(BudgetExceededError):
                act()
            return
        if self.attempt("policy", point, act)[1]:
            for purse in purses:
                purse.spent += epsilon

    @rule(budget=st.sampled_from([CAP / 2, CAP]), point=points)
    def correct(self, budget, point) -> None:
        keys = {"patients": ("id", "integer"), "visits": ("id", "integer")}

        def act():
            terms = {"unit": PEOPLE, "budget": PureDP(epsilon=budget), "keys": keys}
            return self.ledger.administration.correct("clinic", **terms)

        if self.charged:
            with pytest.raises(ParameterError, match="was released from"):
                act()
        elif self.attempt("policy", point, act)[1]:
            self.all.cap, self.version = budget, self.version + 1

    @property
    def charged(self) -> bool:
        """Whether anything was ever charged; a yes and a reserve follow on an opening, which costs something."""
        return self.all.spent > 0

    @rule()
    def suspend_or_resume(self) -> None:
        act = self.ledger.administration.resume if self.suspended else self.ledger.administration.suspend
        act("clinic")
        self.suspended = not self.suspended

    @rule(name=streams, analyst=analysts, point=points)
    def open_stream(self, name, analyst, point) -> None:
        wanted = opening(name, opening=OPENING, price=PRICE, yeses=YESES, analyst=analyst)
        flow = self.flows.get(name)
        if flow:
            if flow.analyst == analyst:
                assert self.ledger.reservations.open(wanted).asked == flow.asked
            else:
                with pytest.raises(ParameterError, match="is a stream of this ledger already"):
                    self.ledger.reservations.open(wanted)
            return
        if self.suspended or not self.affordable(analyst, OPENING + YESES * PRICE):
            with pytest.raises(SuspendedError if self.suspended else BudgetExceededError):
                self.ledger.reservations.open(wanted)
            return
        _, counts = self.attempt("open", point, lambda: self.ledger.reservations.open(wanted))
        if counts:
            self.pay(analyst, OPENING, YESES * PRICE)
            self.flows[name] = Flow(analyst)

    @precondition(lambda self: self.flows)
    @rule(data=st.data(), question=questions, point=points)
    def intend(self, data, question, point) -> None:
        name = data.draw(st.sampled_from(sorted(self.flows)))
        flow = self.flows[name]
        key = f"{name} {flow.asked + 1} {question}"

        def act():
            return intend_one(self.ledger, name, number=flow.asked + 1, key=key, question=question, sealed=SEED)

        if key in flow.keys:
            self.intend_again(act, flow.keys[key])
        elif (question, self.version) in flow.told and self.suspended:  # a new key is an entry, and none is written
            with pytest.raises(SuspendedError):
                act()
        elif (question, self.version) in flow.told:
            found, counts = self.attempt("intend", point, act)
            told = flow.told[question, self.version]
            assert found is None or found.answer == told
            if counts:
                flow.keys[key] = told
        elif flow.status is not ReservationStatus.OPEN:
            with pytest.raises(StreamHaltedError if flow.status is ReservationStatus.HALTED else StreamClosedError):
                act()
        elif self.suspended:
            with pytest.raises(SuspendedError):
                act()
        elif flow.in_flight:
            with pytest.raises(StreamBusyError):
                act()
        else:
            found, counts = self.attempt("intend", point, act)
            assert found is None or isinstance(found, Intent)
            if counts:
                flow.asked += 1
                flow.in_flight = key, (question, self.version)

    @staticmethod
    def intend_again(act, told: str | None) -> None:
        if told is None:
            with pytest.raises(UnansweredError):
                act()
        else:
            found = act()
            assert isinstance(found, Decision)
            assert found.answer == told

    @precondition(lambda self: any(flow.status is ReservationStatus.OPEN for flow in self.flows.values()))
    @rule(data=st.data(), asked=st.lists(questions, min_size=1, max_size=3, unique=True), outcomes=st.data())
    def ask_together(self, data, asked, outcomes) -> None:
        """Ask several questions of a stream as one, and decide or lose them."""
        idle = [n for n, f in sorted(self.flows.items()) if f.status is ReservationStatus.OPEN and not f.in_flight]
        if not idle or self.suspended:
            return
        name = data.draw(st.sampled_from(idle))
        flow = self.flows[name]
        key, number = f"{name} {len(flow.keys)} together", flow.asked + 1
        intent, known = self.ledger.streams.intend(name, number=number, key=key, questions=asked, sealed=SEED)
        assert {one: told.answer for one, told in known.items()} == {
            one: flow.told[one, self.version] for one in asked if (one, self.version) in flow.told
        }
        flow.keys[key] = None
        if intent is None:
            return
        drawn = [outcomes.draw(st.sampled_from(["yes", "no"])) for _ in intent.questions]
        left = YESES - flow.yeses
        halts = [place for place, one in enumerate(drawn) if one == "yes"][left - 1 : left]
        answers = [(RoundOutcome(one), f"{one} {number + i}") for i, one in enumerate(drawn)][: (halts or [99])[0] + 1]
        lost = outcomes.draw(st.booleans())
        found = self.ledger.streams.decide(name, number=number, answers=None if lost else answers, sealed=SECRET)
        yeses = min(len(drawn), left) if lost else sum(one is RoundOutcome.YES for one, _ in answers)
        flow.asked += len(drawn) if lost else len(answers)
        flow.yeses += yeses
        self.pay(flow.analyst, yeses * PRICE, -yeses * PRICE)
        if flow.yeses == YESES:
            flow.status = ReservationStatus.HALTED
        told = {} if lost else {one: text for one, (_, text) in zip(intent.questions, answers, strict=False)}
        assert {one: decision.answer for one, decision in found.items()} == told
        flow.told |= {(one, self.version): text for one, text in told.items()}

    def in_flight(self) -> list[str]:
        return [name for name, flow in sorted(self.flows.items()) if flow.in_flight]

    @precondition(lambda self: self.in_flight())
    @rule(data=st.data(), outcome=st.sampled_from([RoundOutcome.YES, RoundOutcome.NO, RoundOutcome.LOST]), point=points)
    def decide(self, data, outcome, point) -> None:
        name = data.draw(st.sampled_from(self.in_flight()))
        flow = self.flows[name]
        answer = None if outcome is RoundOutcome.LOST else f"{outcome.value} {flow.asked}"

        def act():
            return decide_one(self.ledger, name, number=flow.asked, outcome=outcome, answer=answer, sealed=SECRET)

        found, counts = self.attempt("decide", point, act)
        if not counts:
            return
        key, asked = flow.in_flight
        flow.keys[key] = answer
        if answer:
            flow.told[asked] = answer
        flow.in_flight = None
        if outcome is not RoundOutcome.NO:
            flow.yeses += 1
            self.pay(flow.analyst, PRICE, -PRICE)
        if flow.yeses == YESES:
            flow.status = ReservationStatus.HALTED
        if found:
            assert (found.outcome, found.answer, found.status) == (outcome, answer, flow.status)
            self.receipts.append(found.receipt)

    @precondition(lambda self: any(flow.status is ReservationStatus.OPEN for flow in self.flows.values()))
    @rule(data=st.data(), forfeit=st.booleans(), point=points)
    def end(self, data, forfeit, point) -> None:
        name = data.draw(
            st.sampled_from([n for n, flow in sorted(self.flows.items()) if flow.status is ReservationStatus.OPEN])
        )
        flow = self.flows[name]
        unused = (YESES - flow.yeses) * PRICE
        if forfeit:
            _, counts = self.attempt("forfeit", point, lambda: self.ledger.reservations.forfeit(name))
        elif flow.in_flight:
            with pytest.raises(StreamBusyError):
                self.ledger.reservations.close(name)
            return
        else:
            _, counts = self.attempt("close", point, lambda: self.ledger.reservations.close(name))
        if counts:
            self.pay(flow.analyst, unused if forfeit else Fraction(0), -unused)
            if flow.in_flight:
                flow.keys[flow.in_flight[0]] = None
            flow.status, flow.in_flight = ReservationStatus.CLOSED, None

    @rule(name=st.sampled_from(["r1", "r2"]), analyst=analysts, goes_on=st.booleans(), point=points)
    def open_rounds(self, name, analyst, goes_on, point) -> None:
        kind = ReservationKind(name="rounds", if_lost=IfLost.COUNTS if goes_on else IfLost.ENDS)
        wanted = Opening(
            population="clinic",
            analyst=analyst,
            key=f"open {name}",
            name=name,
            terms="{}",
            charge=SingleRelease(event=pure(PRICE)),
            tables=frozenset({"patients"}),
            rounds=ROUNDS,
            kind=kind,
        )
        if name in self.rounds:
            with suppress(ParameterError, RequestConflictError):
                assert self.ledger.reservations.open(wanted).asked >= len(self.rounds[name].told)
        elif self.suspended or not self.affordable(analyst, PRICE):
            with pytest.raises(SuspendedError if self.suspended else BudgetExceededError):
                self.ledger.reservations.open(wanted)
        elif self.attempt("open", point, lambda: self.ledger.reservations.open(wanted))[1]:
            self.pay(analyst, PRICE)
            self.rounds[name] = Drawing(goes_on)

    @precondition(lambda self: self.rounds)
    @rule(data=st.data(), back=st.integers(0, 2), outcome=st.booleans(), point=points)
    def draw(self, data, back, outcome, point) -> None:
        """Begin the next round, or ask for one again; and end the one in flight, or lose it."""
        name = data.draw(st.sampled_from(sorted(self.rounds)))
        drawing, reservations = self.rounds[name], self.ledger.reservations
        number = max(1, len(drawing.told) + 1 - back)
        if drawing.in_flight:
            told = f"{name} {number}" if outcome else None
            act = partial(reservations.settle, name, number=len(drawing.told) + 1, outcome=told)
            if self.attempt("decide", point, act)[1]:
                drawing.told.append(told)
                drawing.in_flight = False
                drawing.ended = len(drawing.told) == ROUNDS or (told is None and not drawing.goes_on)
            return
        act = partial(reservations.intend, name, number=number, parameters=f"p{number}")
        if number <= len(drawing.told):
            assert act().answer == drawing.told[number - 1]
        elif drawing.ended or self.suspended:
            with pytest.raises(StreamError if drawing.ended else SuspendedError):
                act()
        elif self.attempt("intend", point, act)[1]:
            drawing.in_flight = True

    @precondition(lambda self: any(not one.ended and not one.in_flight for one in self.rounds.values()))
    @rule(data=st.data(), point=points)
    def close_rounds(self, data, point) -> None:
        idle = [name for name, one in sorted(self.rounds.items()) if not one.ended and not one.in_flight]
        name = data.draw(st.sampled_from(idle))
        self.rounds[name].ended = self.attempt("close", point, lambda: self.ledger.reservations.close(name))[1]

    @invariant()
    def every_round_has_the_outcome_that_it_was_given_first(self) -> None:
        for name, drawing in self.rounds.items():
            assert [one.answer for one in self.ledger.reservations.outcomes(name)] == drawing.told

    @rule()
    def restart(self) -> None:
        self.ledger.close()
        self.ledger = self.place.open(receipts=self.receipts)

    @invariant()
    def the_ledger_says_what_the_model_says(self) -> None:
        assert (spent(self.ledger), reserved(self.ledger)) == (self.all.spent, self.all.held)
        assert self.all.spent + self.all.held <= self.all.cap
        assert self.ledger.account("clinic").budget == PureDP(epsilon=self.all.cap)
        for analyst, purse in self.own.items():
            allowance = None if purse.cap == NO_LIMIT else PureDP(epsilon=purse.cap)
            assert self.ledger.population("clinic").analyst(analyst).allowance == allowance

    @invariant()
    def every_request_was_decided_once(self) -> None:
        assert {one.number: one.state for one in self.ledger.budget_requests.all("clinic")} == self.decided

    @invariant()
    def what_has_no_end_is_listed(self) -> None:
        assert {left.seq for left in self.ledger.questions.unsettled()} == {a.seq for a in self.open_charges()}
        assert {intent.reservation for intent in self.ledger.reservations.unsettled()} == {
            *self.in_flight(),
            *(name for name, flow in self.rounds.items() if flow.in_flight),
        }


TestLedgerAgainstItsModel = Machine.TestCase
TestLedgerAgainstItsModel.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)

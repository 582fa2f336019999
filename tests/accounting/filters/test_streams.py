"""Streams: what a transcript really loses, computed exactly, is never more than what was booked."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.filters.sparse_vector_law import Stream, log_no, log_yes
from lapwing.accounting.filters.account import EVERYONE, open_account
from lapwing.accounting.filters.charge import Reservation, SingleRelease, StreamClosing, YesCharge
from lapwing.accounting.filters.remaining import Refusal
from lapwing.vocabulary.errors import ParameterError, StreamError, StreamHaltedError
from lapwing.vocabulary.event import RandomizedResponseRelease
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP

OPENING, PRICE, YESES = Fraction("0.2548"), Fraction("0.14904"), 5
STREAM = Reservation(stream="s", opening=OPENING, price=PRICE, yeses=YESES)
PURE = open_account(PureDP(epsilon=Fraction(2)))
APPROXIMATE = open_account(ApproximateDP(epsilon=Fraction(2), delta=Fraction(1, 10**6)))


def tell(epsilon):
    return SingleRelease(event=RandomizedResponseRelease(epsilon=Fraction(epsilon)))


class TestAcrossAPartition:
    """One question about segment p, answered no; then five yeses about others, on the same threshold noise."""

    def test_a_person_of_p_loses_far_more_than_p_would_pay_if_a_yes_were_charged_to_its_own_segment(self) -> None:
        loss = self.loss_of_a_person_of_p()
        assert loss == pytest.approx(1.0, abs=1e-3)
        assert loss > 3.9 * float(OPENING)

    def test_every_yes_is_charged_to_every_segment_of_the_scope(self) -> None:
        account = open_account(PureDP(epsilon=Fraction(2)), segments=["p", "q", "far away"])
        account = account.admit(
            Reservation(stream="s", opening=OPENING, price=PRICE, yeses=YESES, segments=frozenset({"p", "q"}))
        )
        for _ in range(YESES):
            account = account.book(YesCharge(stream="s"))
        assert self.loss_of_a_person_of_p() <= account.filters["p"].spent == OPENING + 5 * PRICE
        assert account.filters["q"] == account.filters["p"]
        assert account.filters["far away"].spent == 0

    @staticmethod
    def loss_of_a_person_of_p():
        stream = Stream(float(OPENING), float(PRICE)).answered(log_no, (-1, 0))
        for _ in range(YESES):
            stream = stream.answered(log_yes, (0, 0))
        return stream.loss


class TestRealisedCharges:
    """Two concurrent streams and randomized response, asked by an adaptive analyst: every transcript, exactly."""

    CAP = Fraction("1.3")
    TERMS = (
        Reservation(stream="a", opening=Fraction(1, 5), price=Fraction(1, 5), yeses=2),
        Reservation(stream="b", opening=Fraction(1, 10), price=Fraction(3, 10), yeses=1),
    )

    @settings(max_examples=12)
    @given(st.randoms(use_true_random=False), st.sampled_from([-1, 1]))
    def test_no_transcript_loses_more_than_is_booked_or_than_the_cap(self, analyst, direction) -> None:
        self.analyst, self.direction = analyst, direction
        self.explore(open_account(PureDP(epsilon=self.CAP)), {}, 0.0, depth=9)

    def explore(self, account, streams, told, depth):
        booked = account.filters[EVERYONE]
        loss = told + sum(stream.loss for stream in streams.values())
        assert abs(loss) <= float(booked.spent) + 1e-9
        assert booked.spent + booked.reserved <= self.CAP
        if depth:
            self.act(account, streams, told, depth - 1)

    def act(self, account, streams, told, depth):
        """Do one thing, chosen at random but once for all answers that may follow: a deterministic analyst."""
        actions = [self.tell, self.open, self.close, self.ask, self.ask, self.ask]
        for action in self.analyst.sample(actions, len(actions)):
            terms = self.analyst.choice(self.TERMS)
            branches = list(action(account, streams, terms))
            for after, streams_after, loss in branches:
                self.explore(after, streams_after, told + loss, depth)
            if branches:
                return

    def tell(self, account, streams, _):
        after = account.admit(tell("1/5"))
        differs = self.analyst.randrange(2)
        if not isinstance(after, Refusal):
            yield from ((after, streams, sign * differs * 0.2) for sign in (1, -1))

    def open(self, account, streams, terms):
        after = None if terms.stream in streams else account.admit(terms)
        if after is not None and not isinstance(after, Refusal):
            yield after, {**streams, terms.stream: Stream(float(terms.opening), float(terms.price))}, 0.0

    def close(self, account, streams, terms):
        if terms.stream in account.streams:
            yield account.book(StreamClosing(stream=terms.stream)), streams, 0.0

    def ask(self, account, streams, terms):
        if terms.stream in account.streams and account.streams[terms.stream].unused:
            gap = self.analyst.randint(-5, 5)
            gaps = gap, gap + self.direction * self.analyst.randrange(2)
            stream = streams[terms.stream]
            yield account, {**streams, terms.stream: stream.answered(log_no, gaps)}, 0.0
            paid = account.book(YesCharge(stream=terms.stream))
            yield paid, {**streams, terms.stream: stream.answered(log_yes, gaps)}, 0.0

    def test_a_stream_without_a_yes_has_used_its_opening_up(self) -> None:
        """Giving the opening back after an all-no stream would sell this loss for nothing, as often as one likes."""
        loss = Stream(float(OPENING), float(PRICE)).answered(log_no, (-1, 0)).loss
        assert loss == pytest.approx(float(OPENING), rel=1e-3)
        account = PURE.admit(STREAM).book(StreamClosing(stream="s"))
        assert account.filters[EVERYONE].spent == OPENING
        assert account.filters[EVERYONE].reserved == 0


class TestTheBook:
    def test_everything_is_held_at_the_opening_so_that_a_yes_can_always_be_paid(self) -> None:
        account = PURE.admit(STREAM)
        assert account.filters[EVERYONE].left == 2 - STREAM.whole
        assert isinstance(account.admit(tell("1.1")), Refusal)
        for yeses in range(1, YESES + 1):
            account = account.book(YesCharge(stream="s"))
            assert account.filters[EVERYONE].spent == OPENING + yeses * PRICE
            assert account.filters[EVERYONE].left == 2 - STREAM.whole
        with pytest.raises(StreamHaltedError):
            account.book(YesCharge(stream="s"))

    def test_closing_gives_back_what_no_yes_has_used(self) -> None:
        account = PURE.admit(STREAM).book(YesCharge(stream="s")).book(StreamClosing(stream="s"))
        assert account.filters[EVERYONE].left == 2 - OPENING - PRICE
        assert account.admit(tell(2 - OPENING - PRICE)).filters[EVERYONE].left == 0

    def test_a_stream_cannot_be_opened_twice_paid_after_closing_or_paid_unopened(self) -> None:
        account = PURE.admit(STREAM)
        with pytest.raises(ParameterError, match="is open already"):
            account.quote(STREAM)
        with pytest.raises(StreamError, match="not open"):
            account.book(StreamClosing(stream="s")).book(YesCharge(stream="s"))
        with pytest.raises(StreamError, match="not open"):
            PURE.book(StreamClosing(stream="s"))

    @pytest.mark.parametrize(
        "account", [APPROXIMATE, open_account(ConcentratedDP(rho=Fraction(2)))], ids=["residue", "concentrated"]
    )
    def test_arms_that_bound_moments_take_the_whole_at_the_opening_and_give_nothing_back(self, account) -> None:
        """Realised charges bound transcripts one by one; for the moments of a loss that is not a bound."""

        def moments(account):
            filter_ = account.filters[EVERYONE]
            return getattr(filter_, "residue", None) or filter_.spent

        small = Reservation(stream="s", opening="0.01", price="0.02", yeses=4)
        opened = account.admit(small)
        whole = account.admit(tell(small.whole))
        assert moments(opened) == moments(whole)
        assert moments(opened.book(YesCharge(stream="s")).book(StreamClosing(stream="s"))) == moments(whole)

    def test_the_pure_arm_comes_back_when_a_stream_closes_and_the_dead_residue_arm_never_does(self) -> None:
        account = open_account(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)))
        account = account.admit(Reservation(stream="s", opening="0.01", price="0.03", yeses=3))
        for epsilon in ["0.05"] * 17 + ["0.01"] * 6:
            account = account.admit(tell(epsilon))
        assert account.filters[EVERYONE].pure.left == Fraction("-0.01")
        assert account.filters[EVERYONE].residue > 0
        assert isinstance(account.admit(tell("0.05")), Refusal)
        account = account.book(StreamClosing(stream="s")).admit(tell("0.05"))
        assert account.filters[EVERYONE].pure.left == Fraction("0.03")
        assert account.filters[EVERYONE].residue is None
        account = account.admit(tell("0.03"))
        assert isinstance(account.admit(tell("1e-9")), Refusal)

    @pytest.mark.parametrize(
        ("field", "value"), [("opening", 0), ("price", "-1"), ("yeses", 0), ("yeses", "1.5"), ("stream", "")]
    )
    def test_bad_terms_are_refused_at_once(self, field, value) -> None:
        terms = {"stream": "s", "opening": "0.1", "price": "0.1", "yeses": 3, field: value}
        with pytest.raises(ParameterError):
            Reservation(**terms)

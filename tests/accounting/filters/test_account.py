"""Whatever is asked in whatever order: nothing beyond the cap, no change by a refusal, replays alike to the bit."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.filters.atoms import gaussian_profile
from lapwing.accounting.composition import planned_total
from lapwing.accounting.filters.account import (
    EVERYONE,
    Account,
    Admission,
    Booking,
    CapChange,
    open_account,
    raise_cap,
    replay,
)
from lapwing.accounting.filters.approximate import ApproximateFilter
from lapwing.accounting.filters.charge import (
    Accepted,
    Cost,
    DeltaShares,
    Reservation,
    SingleRelease,
    StreamClosing,
    YesCharge,
    cost_of,
)
from lapwing.accounting.filters.remaining import Refusal, what_fits
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.vocabulary.codec import from_record, to_record
from lapwing.vocabulary.errors import BudgetExceededError, ParameterError, StreamError
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    ExponentialSelection,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedResponseRelease,
    Repeated,
    SampledWithoutReplacement,
)
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, GaussianDP, PureDP

SEGMENTS = ("north", "south", "west")
BUDGETS = {
    "pure": PureDP(epsilon=Fraction(1)),
    "concentrated": ConcentratedDP(rho=Fraction(1, 10)),
    "approximate": ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)),
}
SHARES = DeltaShares(failures=Fraction(1, 10))


def tell(epsilon):
    return SingleRelease(event=RandomizedResponseRelease(epsilon=Fraction(epsilon)))


sizes = st.sampled_from([Fraction(1, 100), Fraction(1, 20), Fraction(1, 9), Fraction(1, 3), Fraction(3, 4)])
scopes = st.none() | st.frozensets(st.sampled_from(SEGMENTS), min_size=1)
events = st.one_of(
    st.builds(RandomizedResponseRelease, epsilon=sizes),
    st.builds(PureRelease, epsilon=sizes),
    st.builds(ExponentialSelection, epsilon=sizes),
    st.builds(LaplaceNoise, l1_sensitivity=sizes, scale=st.just(Fraction(1))),
    st.builds(GaussianNoise, l2_sensitivity_squared=sizes.map(lambda x: x * x), sigma_squared=st.just(Fraction(1))),
    st.builds(ApproximateRelease, epsilon=sizes, delta=st.just(Fraction(1, 10**8))),
)
requests = st.one_of(
    st.builds(SingleRelease, event=events, segments=scopes),
    st.builds(
        Reservation,
        stream=st.sampled_from("abc"),
        opening=sizes,
        price=sizes,
        yeses=st.integers(1, 3),
        segments=scopes,
    ),
    st.builds(YesCharge, stream=st.sampled_from("abc")),
    st.builds(StreamClosing, stream=st.sampled_from("abc")),
)


def carry_out(account, wishes):
    """Do what can be done of `wishes`; yield each line of the book with the account after it."""
    for wish in wishes:
        if isinstance(wish, SingleRelease | Reservation):
            if isinstance(wish, Reservation) and wish.stream in account.streams:
                continue
            line = account.quote(wish)
            if isinstance(line, Refusal):
                continue
        else:
            stream = account.streams.get(wish.stream)
            if stream is None or (isinstance(wish, YesCharge) and not stream.unused):
                continue
            line = wish
        account = account.book(line)
        yield line, account


def within_the_cap(account):
    for filter_ in account.filters.values():
        match account.budget:
            case ApproximateDP():
                if filter_.residue is None and filter_.pure.left < 0:
                    return False
                if min(filter_.slack, filter_.failures) < 0 or (filter_.residue or 0) < 0:
                    return False
            case _:
                if filter_.left < 0:
                    return False
    return True


@settings(max_examples=60)
@given(st.sampled_from(list(BUDGETS.values())), st.sampled_from(list(Adjacency)), st.lists(requests, max_size=25))
def test_nothing_is_admitted_beyond_the_cap_and_a_replay_is_the_same_bit_for_bit(budget, adjacency, wishes) -> None:
    opening = open_account(budget, segments=SEGMENTS, adjacency=adjacency, shares=SHARES)
    book, account = [], opening
    for line, account in carry_out(opening, wishes):
        assert within_the_cap(account)
        book.append(json.dumps(to_record(line)))
    again = replay(opening, (from_record(Booking, json.loads(line)) for line in book))
    assert again == account
    stored = json.dumps(to_record(account))
    assert json.dumps(to_record(again)) == stored
    assert from_record(Account, json.loads(stored)) == account


@settings(max_examples=30)
@given(st.sampled_from(list(BUDGETS.values())), st.lists(requests, max_size=15), requests)
def test_a_refusal_leaves_the_account_as_it_was_and_says_what_would_fit(budget, wishes, wish) -> None:
    opening = open_account(budget, segments=SEGMENTS)
    account = [opening, *(after for _, after in carry_out(opening, wishes))][-1]
    if not isinstance(wish, SingleRelease):
        return
    before = json.dumps(to_record(account))
    outcome = account.admit(wish)
    assert json.dumps(to_record(account)) == before
    if isinstance(outcome, Refusal):
        assert isinstance(outcome.error(), BudgetExceededError)
        assert outcome.insufficient.asked is None or outcome.insufficient.asked > 0
        fits = what_fits(outcome.filter_)
        for size, event in (
            (fits.pure, lambda size: PureRelease(epsilon=size)),
            (fits.gaussian, lambda size: GaussianNoise(l2_sensitivity_squared=size, sigma_squared=Fraction(1))),
        ):
            if size:
                assert account.admit(SingleRelease(event=event(size), segments=frozenset({outcome.segment})))


@settings(max_examples=40)
@given(
    st.permutations([YesCharge(stream="a"), YesCharge(stream="a"), YesCharge(stream="b"), StreamClosing(stream="c")]),
    st.booleans(),
)
def test_the_order_in_which_streams_are_paid_and_closed_does_not_matter(lines, pure) -> None:
    account = open_account(BUDGETS["pure" if pure else "approximate"])
    for stream in "abc":
        account = account.admit(Reservation(stream=stream, opening="0.02", price="0.03", yeses=2))
    one = replay(account, lines)
    other = replay(account, sorted(lines, key=repr))
    assert one == other


def read(book, segment):
    """The epsilon that all lines of `book` would have cost in `segment` had they been fixed in advance."""
    touching = [line for line in book if isinstance(line, Admission) and segment in line.steps]
    return planned_total(open_account(BUDGETS["approximate"]), touching, segments={segment}).epsilon


class TestExactTotals:
    """What a filter admitted, composed exactly as if it had been fixed in advance, keeps the promise."""

    @staticmethod
    def exact_delta(epsilon, tells, mu_squared):
        """delta(epsilon) of randomized responses and one Gaussian release, by adding up all outcomes."""
        delta = 0.0
        for signs in itertools.product((1, -1), repeat=len(tells)):
            loss = sum(s * e for s, e in zip(signs, tells, strict=True))
            weight = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, tells, strict=True))
            delta += weight * float(gaussian_profile(mu_squared, epsilon - loss))
        return delta

    @settings(max_examples=50)
    @given(st.lists(st.floats(0.01, 0.9), max_size=9), st.lists(st.floats(0.001, 0.2), max_size=4), st.randoms())
    def test_randomized_responses_and_gaussians(self, tells, mus, shuffler) -> None:
        wishes = [tell(e) for e in tells] + [
            SingleRelease(event=GaussianNoise(l2_sensitivity_squared=Fraction(m) ** 2, sigma_squared=Fraction(1)))
            for m in mus
        ]
        shuffler.shuffle(wishes)
        admitted = [line.charge.event for line, _ in carry_out(open_account(BUDGETS["approximate"]), wishes)]
        told = [float(e.epsilon) for e in admitted if isinstance(e, RandomizedResponseRelease)]
        noise = sum(float(e.l2_sensitivity_squared) for e in admitted if isinstance(e, GaussianNoise))
        assert self.exact_delta(1.0, told, noise) <= 1e-6 * (1 + 1e-9)

    @settings(max_examples=50)
    @given(st.lists(st.floats(0.01, 0.4), min_size=1, max_size=8), st.floats(0.001, 0.2))
    def test_the_reading_lies_between_the_promise_and_the_exact_total(self, tells, mu) -> None:
        noise = GaussianNoise(l2_sensitivity_squared=Fraction(mu) ** 2, sigma_squared=Fraction(1))
        wishes = [tell(tells[0]), SingleRelease(event=noise), *(tell(e) for e in tells[1:])]
        book = [line for line, _ in carry_out(open_account(BUDGETS["approximate"]), wishes)]
        admitted = [line.charge.event for line in book]
        reading = read(book, EVERYONE)
        assert reading <= 1 + 1e-3
        told = [float(e.epsilon) for e in admitted if isinstance(e, RandomizedResponseRelease)]
        assert self.exact_delta(reading, told, mu * mu if noise in admitted else 0.0) <= 1e-6 * (1 + 1e-9)

    @settings(max_examples=50)
    @given(st.lists(requests.filter(lambda wish: not isinstance(wish, StreamClosing)), max_size=20))
    def test_whatever_was_admitted_was_within_the_promise_had_it_been_fixed_in_advance(self, wishes) -> None:
        book = [line for line, _ in carry_out(open_account(BUDGETS["approximate"], segments=SEGMENTS), wishes)]
        for segment in SEGMENTS:
            assert read(book, segment) <= 1 + 1e-3


class TestPartitions:
    def test_disjoint_segments_pay_side_by_side(self) -> None:
        account = open_account(BUDGETS["pure"], segments=SEGMENTS)
        for segment in SEGMENTS:
            account = account.admit(
                SingleRelease(event=PureRelease(epsilon=Fraction(1)), segments=frozenset({segment}))
            )
        assert all(filter_.left == 0 for filter_ in account.filters.values())

    def test_a_charge_that_one_segment_cannot_pay_is_charged_to_none(self) -> None:
        account = open_account(BUDGETS["pure"], segments=SEGMENTS)
        account = account.admit(SingleRelease(event=PureRelease(epsilon=Fraction(1)), segments=frozenset({"south"})))
        refusal = account.admit(tell("1/10"))
        assert refusal.segment == "south"
        assert account.filters["north"].left == 1

    @pytest.mark.parametrize("name", BUDGETS)
    def test_under_replace_two_segments_together_keep_the_budget(self, name) -> None:
        """A person who moves is taken from one segment and put into another: both have to fit into one budget."""
        budget = BUDGETS[name]
        apart = open_account(budget, segments=SEGMENTS, adjacency=Adjacency.REPLACE).filters["west"]
        whole = open_account(budget, adjacency=Adjacency.REPLACE).filters[EVERYONE]
        match budget:
            case PureDP():
                assert 2 * apart.left == whole.left == 1
            case ConcentratedDP():
                assert 2 * apart.left == whole.left == Fraction(1, 10)
            case ApproximateDP(epsilon=epsilon, delta=delta):
                e, d = float(epsilon), float(delta)
                pure_there_gaussian_here = float(gaussian_profile(apart.residue, e - float(apart.pure.epsilon)))
                both_gaussian = float(gaussian_profile(2 * apart.residue, e))
                assert 2 * pure_there_gaussian_here + both_gaussian + 4 * float(apart.slack) <= d

    def test_halving_a_residue_would_not_do_under_replace(self) -> None:
        """One segment spends its half purely, the other its half as a Gaussian release: far beyond delta."""
        residue = open_account(BUDGETS["approximate"]).filters[EVERYONE].residue
        assert float(gaussian_profile(residue / 2, 1.0 - 0.5)) > 80 * 1e-6

    def test_what_remains_is_what_every_segment_can_pay(self) -> None:
        account = open_account(BUDGETS["pure"], segments=SEGMENTS)
        account = account.admit(SingleRelease(event=PureRelease(epsilon=Fraction(1, 4)), segments={"south"}))
        assert account.remaining().pure == Fraction(3, 4)
        assert account.remaining(frozenset({"north"})).pure == 1
        assert account.how_many(tell("1/10")) == 7
        assert (
            account.how_many(SingleRelease(event=PureRelease(epsilon=Fraction(1, 10)), segments={"north", "west"}))
            == 10
        )

    def test_of_each_kind_as_much_is_left_as_in_the_segment_that_has_least(self) -> None:
        account = open_account(BUDGETS["approximate"], segments=SEGMENTS)
        account = account.admit(SingleRelease(event=PureRelease(epsilon=Fraction(1, 10)), segments={"south"}))
        least, most = (account.remaining(frozenset({segment})) for segment in ("south", "north"))
        assert all(0 < getattr(least, kind) < getattr(most, kind) for kind in ("pure", "gaussian"))
        assert account.remaining() == account.remaining(frozenset({"south", "north"})) == least

    @pytest.mark.parametrize("segments", [frozenset({"nowhere"}), frozenset()], ids=["unknown", "none"])
    def test_an_unknown_segment_is_refused(self, segments) -> None:
        with pytest.raises(ParameterError, match="segment"):
            open_account(BUDGETS["pure"], segments=SEGMENTS).admit(
                SingleRelease(event=PureRelease(epsilon=Fraction(1)), segments=segments)
            )


class TestRaisingTheCap:
    LARGER = ApproximateDP(epsilon=Fraction(2), delta=Fraction(1, 10**6))

    @settings(max_examples=25)
    @given(st.lists(requests, max_size=15))
    def test_the_same_cap_changes_nothing_and_a_larger_one_covers_the_history(self, wishes) -> None:
        opening = open_account(BUDGETS["approximate"], segments=SEGMENTS, shares=SHARES)
        book, account = [], opening
        for line, account in carry_out(opening, wishes):  # noqa: B007
            book.append(line)
        assert raise_cap(account, BUDGETS["approximate"], book).account == account
        change = raise_cap(account, self.LARGER, book)
        raised = account.book(change)
        assert raised.streams == account.streams
        assert within_the_cap(raised)
        for segment, filter_ in account.filters.items():
            assert (raised.filters[segment].residue or 0) >= (filter_.residue or 0)
        assert replay(opening, [*book, from_record(CapChange, json.loads(json.dumps(to_record(change))))]) == raised
        assert raise_cap(raised, self.LARGER, [*book, change]).account == raised

    def test_charging_anew_leaves_more_than_adding_the_difference(self) -> None:
        account = open_account(BUDGETS["approximate"])
        book = [account.quote(tell("0.15"))]
        account = account.book(book[0])
        raised = account.book(raise_cap(account, self.LARGER, book))
        gain = (
            open_account(self.LARGER).filters[EVERYONE].residue
            - open_account(BUDGETS["approximate"]).filters[EVERYONE].residue
        )
        assert raised.filters[EVERYONE].residue > account.filters[EVERYONE].residue + gain

    @pytest.mark.parametrize(
        "budget",
        [
            ApproximateDP(epsilon=Fraction(2), delta=Fraction(1, 10**7)),
            ApproximateDP(epsilon=Fraction(1, 2), delta=Fraction(1, 10**5)),
            PureDP(epsilon=Fraction(5)),
        ],
        ids=["less delta", "less epsilon", "another currency"],
    )
    def test_a_promise_is_not_lowered(self, budget) -> None:
        with pytest.raises(ParameterError, match="is not above"):
            raise_cap(open_account(BUDGETS["approximate"]), budget, [])


class TestBadInput:
    @pytest.mark.parametrize(
        "event",
        [
            lambda: PureRelease(epsilon=Fraction(-1)),
            lambda: GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(0)),
            lambda: Repeated(part=PureRelease(epsilon=Fraction(1)), times=-3),
            lambda: Composed(parts=(LaplaceNoise(l1_sensitivity=Fraction(-1), scale=Fraction(1)),)),
            lambda: Composed(parts=()),
            lambda: "a release",
            lambda: GeometricMechanism(l1_sensitivity=1, epsilon=1),
        ],
        ids=["negative", "noiseless", "less than once", "inside", "nothing", "no event", "a mechanism"],
    )
    def test_an_event_that_would_give_budget_back_is_refused(self, event) -> None:
        with pytest.raises(ParameterError):
            open_account(BUDGETS["pure"]).quote(SingleRelease(event=event()))

    @pytest.mark.parametrize("adjacency", ["replace", "REPLACE", None], ids=repr)
    def test_a_word_is_no_adjacency(self, adjacency) -> None:
        with pytest.raises(ParameterError, match="is not an adjacency"):
            open_account(BUDGETS["pure"], segments=["north", "south"], adjacency=adjacency)

    def test_a_refusal_is_no_yes(self) -> None:
        refused = open_account(BUDGETS["pure"]).admit(SingleRelease(event=PureRelease(epsilon=Fraction(10**6))))
        assert isinstance(refused, Refusal)
        assert not refused

    @pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
    def test_one_quote_is_booked_once(self, budget) -> None:
        account = open_account(budget)
        event = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(40))
        charge = SingleRelease(event=PureRelease(epsilon=Fraction(3, 5)) if isinstance(budget, PureDP) else event)
        quoted = account.quote(charge)
        assert isinstance(quoted, Admission)
        with pytest.raises(ParameterError, match=r"follow on"):
            replay(account, [quoted] * 100)

    def test_a_record_cannot_give_budget_back(self) -> None:
        with pytest.raises(ParameterError, match="below zero"):
            Accepted(slack=Fraction(-1, 2))
        with pytest.raises(ParameterError, match="below zero"):
            Cost(epsilon=Fraction(-5), reserved=Fraction(0), delta=Fraction(0), rho=None)
        with pytest.raises(ParameterError, match="below zero"):
            Accepted(residue=math.nan)

    def test_a_cap_is_raised_over_the_whole_history_or_not_at_all(self) -> None:
        spent = open_account(PureDP(epsilon=Fraction(1))).admit(
            SingleRelease(event=PureRelease(epsilon=Fraction(9, 10)))
        )
        with pytest.raises(ParameterError, match="do not lead to this account"):
            raise_cap(spent, PureDP(epsilon=Fraction(2)), [])

    def test_a_sample_is_amplified_between_its_own_neighbours_only(self) -> None:
        noise = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(100))
        poisson = Repeated(part=PoissonSampled(part=noise, rate=Fraction(1, 100)), times=2)
        drawn = Composed(parts=(SampledWithoutReplacement(part=noise, sample_size=1, population_size=100),))
        for event, right, wrong in (
            (poisson, Adjacency.ADD_REMOVE, Adjacency.REPLACE),
            (drawn, Adjacency.REPLACE, Adjacency.ADD_REMOVE),
        ):
            assert isinstance(
                open_account(BUDGETS["approximate"], adjacency=right).quote(SingleRelease(event=event)), Admission
            )
            with pytest.raises(ParameterError, match="needs the adjacency"):
                open_account(BUDGETS["approximate"], adjacency=wrong).quote(SingleRelease(event=event))

    @pytest.mark.parametrize("segments", ["north", [], [""]], ids=repr)
    def test_a_partition_without_names_is_refused(self, segments) -> None:
        with pytest.raises(ParameterError, match="not a list of names"):
            open_account(BUDGETS["pure"], segments=segments)

    @pytest.mark.parametrize("segments", ["north", 3], ids=repr)
    def test_a_scope_that_is_no_set_is_refused(self, segments) -> None:
        with pytest.raises(ParameterError, match="not a set of segments"):
            SingleRelease(event=PureRelease(epsilon=Fraction(1)), segments=segments)
        assert SingleRelease(event=PureRelease(epsilon=Fraction(1)), segments=["north"]).segments == frozenset(
            {"north"}
        )

    @pytest.mark.parametrize(
        "budget",
        [
            lambda: PureDP(epsilon=Fraction(0)),
            lambda: ConcentratedDP(rho=Fraction(-1)),
            lambda: ApproximateDP(epsilon=Fraction(1), delta=Fraction(1)),
            lambda: ApproximateDP(epsilon=Fraction(1), delta=Fraction(0)),
            lambda: GaussianDP(mu_squared=Fraction(1)),
            lambda: 1,
        ],
        ids=["no epsilon", "negative", "a delta of one", "no delta", "no filter keeps it", "a number"],
    )
    def test_a_budget_that_promises_nothing_is_refused(self, budget) -> None:
        with pytest.raises(ParameterError):
            open_account(budget())

    @pytest.mark.parametrize("shares", [{"numerical": 0}, {"failures": 1}, {"failures": "-0.1"}], ids=repr)
    def test_shares_that_leave_nothing_are_refused(self, shares) -> None:
        with pytest.raises(ParameterError):
            DeltaShares(**shares)

    def test_a_book_out_of_order_is_refused(self) -> None:
        account = open_account(BUDGETS["approximate"])
        first = account.quote(tell("0.1"))
        second = account.book(first).quote(tell("0.1"))
        assert isinstance(first, Admission)
        with pytest.raises(ParameterError, match="cannot follow"):
            replay(account, [second, first])

    def test_a_line_of_another_account_is_refused(self) -> None:
        line = open_account(BUDGETS["approximate"], segments=SEGMENTS).quote(tell("0.1"))
        with pytest.raises(ParameterError, match="was weighed against another"):
            open_account(BUDGETS["approximate"]).book(line)
        gaussian = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(100))
        with pytest.raises(ParameterError, match="is not a price"):
            open_account(BUDGETS["pure"]).book(
                open_account(BUDGETS["approximate"]).quote(SingleRelease(event=gaussian))
            )


class TestStaleQuotes:
    """A quote is for the account it was asked of, under every kind of budget."""

    def test_one_quote_is_not_booked_twice_when_the_residue_is_dead(self) -> None:
        account = open_account(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)))
        account = account.admit(SingleRelease(event=RandomizedResponseRelease(epsilon=Fraction(3, 5))))
        assert account.filters["everyone"].residue is None
        quote = account.quote(SingleRelease(event=RandomizedResponseRelease(epsilon=Fraction(2, 5))))
        account = account.book(quote)
        assert account.filters["everyone"].pure.left == 0
        with pytest.raises(ParameterError, match="cannot follow"):
            account.book(quote)

    @pytest.mark.parametrize("residue", [0.0, 0.05])
    def test_a_residue_of_nothing_does_not_grow(self, residue) -> None:
        spent = replace(ApproximateFilter.fresh(Fraction(1), Fraction(1, 10**6), DeltaShares()), residue=0.0)
        cost = cost_of(SingleRelease(event=PureRelease(epsilon=Fraction(1, 100))))
        with pytest.raises(ParameterError, match="cannot follow"):
            spent.book(cost, Accepted(residue=residue))

    @pytest.mark.parametrize("line", [YesCharge(stream="b"), StreamClosing(stream="b")])
    def test_a_stream_that_is_not_open_is_named_with_those_that_are(self, line) -> None:
        account = open_account(BUDGETS["pure"])
        with pytest.raises(StreamError, match="stream 'b' is not open; these are: none"):
            account.book(line)
        opened = account.admit(Reservation(stream="a", opening="1/10", price="1/10", yeses=1))
        with pytest.raises(StreamError, match="stream 'b' is not open; these are: a"):
            opened.book(line)

    def test_a_delta_that_is_not_left_can_be_avoided_where_a_filter_has_any(self) -> None:
        failing = SingleRelease(event=ApproximateRelease(epsilon=Fraction(1, 10), delta=Fraction(1, 10**3)))
        remedy = "group by columns whose values are declared, which takes no delta"
        assert remedy in str(open_account(BUDGETS["approximate"]).quote(failing))
        assert remedy not in str(open_account(BUDGETS["pure"]).quote(failing))

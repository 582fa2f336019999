"""Prices have few digits: nobody can make an account so long that others can no longer use it."""

import random
import warnings
from dataclasses import replace
from fractions import Fraction

import pytest

import lapwing as asking
from lapwing.accounting.filters.account import open_account
from lapwing.accounting.filters.charge import SingleRelease, cost_of
from lapwing.answers.preview import OfferedTerms
from lapwing.answers.target import parse_target
from lapwing.ledger import reservations
from lapwing.ledger.entries import recall_digest
from lapwing.ledger.replay import verify
from lapwing.vocabulary.codec import to_record
from lapwing.vocabulary.errors import (
    BadQuestionError,
    BudgetExceededError,
    LapwingError,
    LedgerDamagedError,
    ParameterError,
    StreamError,
    SuspendedError,
)
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP
from ledger.clinic import Place, ask, opening, spent
from ledger.test_damage import entries, forge
from session.clinic import FixedNumber, door, population

BUDGETS = {
    "pure": PureDP(epsilon=Fraction(100)),
    "concentrated": ConcentratedDP(rho=Fraction(100)),
    "approximate": ApproximateDP(epsilon=Fraction(100), delta=Fraction(1, 10**6)),
}


def longest(account) -> int:
    """The digits of the longest number in an account."""
    text = str(to_record(account))
    return max(len(word) for word in text.replace("/", " ").replace("'", " ").split())


@pytest.fixture(params=BUDGETS)
def ledger(request, quick_path):
    place = Place.in_file(quick_path / "ledger.db")
    with place.clinic(unit=population().unit, budget=BUDGETS[request.param]) as ledger:
        yield ledger


@pytest.mark.filterwarnings("ignore:epsilon is rounded up")
def test_prices_of_three_hundred_digits_brick_nothing(ledger) -> None:
    chance = random.Random(1)
    eve, bob = (door(ledger, FixedNumber(100), analyst=name) for name in ("eve", "bob"))
    for number in range(20):
        long = chance.getrandbits(990) | 1 | 1 << 989
        eve.ask(asking.count("patients", f"age = {number}"), epsilon=str(Fraction(long // 2 + 1, long) / 10**8))
    assert longest(ledger.account("clinic")) < 560
    bob.ask(asking.count("patients"), epsilon="0.37")
    with bob.stream(at_least=200, yeses=7, epsilon="1/3") as stream:
        stream.ask("age = 3")
    verify(ledger)


PRICE = "0.0123456789123456789"
OFFERS = ({"epsilon": PRICE}, {"rho": PRICE}, {"epsilon": PRICE, "delta": "1/333333337"}, {"within": 99})


@pytest.mark.filterwarnings("ignore:epsilon is rounded up", "ignore:rho is rounded up", "ignore:delta is rounded up")
@pytest.mark.parametrize("offer", OFFERS, ids=str)
def test_whatever_is_offered_is_charged_at_a_price_that_accounts_carry(ledger, offer) -> None:
    clinic, account, charged = door(ledger, FixedNumber(100)), ledger.account("clinic"), 0
    for question in (
        asking.count("patients"),
        asking.quantiles("patients", "age", ["1/4", "1/2", "3/4"]),
        {str(number): asking.count("patients", f"age = {number}") for number in range(3)},
    ):
        try:
            (ways,) = clinic.price([question], **offer).ways
        except LapwingError:  # not every offer buys every question under every budget
            continue
        for way in ways:
            account.require_carried(charge := SingleRelease(event=way.event), cost_of(charge))
            charged += 1
    assert charged or isinstance(account.budget, PureDP)


@pytest.mark.filterwarnings("ignore:epsilon is rounded up")
def test_two_thousand_random_prices_leave_a_short_account() -> None:
    chance, account = random.Random(2), open_account(PureDP(epsilon=Fraction(1000)))
    for _ in range(2000):
        price = Fraction(chance.randrange(1, 10**9), chance.randrange(10**9, 10**10))
        charge = SingleRelease(
            event=PureRelease(epsilon=parse_target(epsilon=price).shared(chance.randrange(1, 99)).epsilon)
        )
        account.require_carried(charge, cost_of(charge))
        account = account.admit(charge)
    assert longest(account) < 60


def test_a_stream_pays_parts_with_few_digits_that_add_up_to_its_price(ledger) -> None:
    clinic = door(ledger, FixedNumber(100))
    for yeses in (1, 3, 7, 97, 9973):
        reservation = clinic.preview_stream(at_least=200, yeses=yeses, epsilon="1/3").terms.reservation("s")
        assert reservation.whole == Fraction(1, 3)
        assert (10**12 % reservation.price.denominator, (3 * 10**12) % reservation.opening.denominator) == (0, 0)
    with pytest.raises(ParameterError, match="is too little for 10000 yeses"):
        clinic.preview_stream(at_least=200, yeses=10_000, epsilon="1e-9")


def test_a_price_with_many_digits_is_rounded_up_and_it_is_said() -> None:
    with pytest.warns(UserWarning, match=r"epsilon is rounded up to 0\.123456789013"):
        assert parse_target(epsilon="0.12345678901234567").epsilon == Fraction("0.123456789013")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_target(epsilon="1/3").epsilon == Fraction(1, 3)
        assert parse_target(rho="0.123456789012").rho == Fraction("0.123456789012")


def test_shares_of_a_price_are_no_more_than_the_price() -> None:
    for parts in range(1, 200):
        for price in ("1", "0.1", "1/3", "0.123456789012"):
            share = parse_target(epsilon=price).shared(parts).epsilon
            assert 0 <= Fraction(price) - parts * share < Fraction(parts, 10**12)


def test_the_ledger_itself_refuses_a_price_with_a_denominator_of_its_own(quick_path) -> None:
    with Place.in_file(quick_path / "ledger.db").clinic() as ledger:
        with pytest.raises(ParameterError, match="has a denominator that an account cannot carry; offer a decimal"):
            ask(ledger, "k", epsilon=Fraction(1, 10**9 + 7))
        for changed in ({"opening": Fraction(1, 97)}, {"price": Fraction(1, 97)}):
            with pytest.raises(ParameterError, match="has a denominator that an account cannot carry"):
                ledger.reservations.open(opening(yeses=97, **changed))
        assert spent(ledger) == 0
        assert ledger.head().seq == 3


def test_a_sum_that_python_cannot_write_is_refused_in_a_sentence() -> None:
    account = replace(open_account(PureDP(epsilon=Fraction(1))).filters["everyone"], spent=Fraction(1, 3**10_000))
    with pytest.raises(ParameterError, match="cannot be written"):
        to_record(account)


@pytest.mark.parametrize("what", ["question", "terms"])
def test_a_charge_that_is_less_than_its_text_says_is_found(quick_path, what) -> None:
    """A forger who knows how everything is hashed and summed, and asks dearly for little."""
    ledger = Place.in_file(quick_path / "ledger.db").clinic(unit=population().unit)
    clinic = door(ledger, FixedNumber(100))
    clinic.ask(asking.count("patients"), epsilon="0.1")
    clinic.stream(at_least=200, yeses=3, epsilon="0.1")
    verify(ledger)
    ledger.close()
    records = [entry.record for entry in entries(quick_path / "ledger.db")]
    seq = next(record["seq"] for record in records if what in record)
    text = records[seq - 1][what]
    dear = {"question": ('"scale":"10/1"', '"scale":"1/10"'), "terms": ('"epsilon":"1/10"', '"epsilon":"10/1"')}[what]
    assert dear[0] in text
    records[seq - 1][what] = text.replace(*dear)
    if what == "question":
        records[seq]["recall"] = recall_digest("population clinic", records[seq - 1][what])
    forge(quick_path / "ledger.db", records)
    with Place.in_file(quick_path / "ledger.db").open() as forged:
        with pytest.raises(LedgerDamagedError, match="was charged another price than its") as found:
            verify(forged)
        assert found.value.seq == seq


def test_what_is_free_leaves_nothing_in_the_ledger(ledger) -> None:
    """A stored answer under no key, in whatever number, and with an account that is suspended."""
    clinic = door(ledger, FixedNumber(100))
    first = clinic.ask(asking.count("patients"), epsilon="0.1")
    stream = clinic.stream(at_least=200, yeses=3, epsilon="0.1")
    stream.ask("age = 3")
    before = ledger.head().seq
    for _ in range(5):
        assert clinic.ask(asking.count("patients"), epsilon="0.1").numbers == first.numbers
        stream.ask("age = 3")
    assert ledger.head().seq == before
    for _ in range(5):
        clinic.ask(asking.count("patients"), epsilon="0.1", key="kept")
        stream.ask("age = 3", key="kept too")
    assert ledger.head().seq == before + 2
    ledger.administration.suspend("clinic")
    for key in ("new", "newer"):
        with pytest.raises(SuspendedError):
            clinic.ask(asking.count("patients"), epsilon="0.1", key=key)
        with pytest.raises(SuspendedError):
            stream.ask("age = 3", key=key)
    assert clinic.ask(asking.count("patients"), epsilon="0.1", key="kept").numbers == first.numbers
    assert clinic.ask(asking.count("patients"), epsilon="0.1").numbers == first.numbers
    assert ledger.head().seq == before + 3
    verify(ledger)


def test_a_stream_has_a_last_question(ledger, monkeypatch) -> None:
    monkeypatch.setattr(reservations, "MOST_ROUNDS", 2)
    stream = door(ledger, FixedNumber(0)).stream(at_least=10_000, yeses=3, epsilon="10")
    for age in (1, 2):
        stream.ask(f"age = {age}")
    before = ledger.head().seq
    with pytest.raises(StreamError, match="has answered 2 questions, and there can be 2 at most; close it"):
        stream.ask("age = 3")
    stream.ask("age = 2")
    assert ledger.head().seq == before
    stream.close()
    verify(ledger)


@pytest.fixture
def approximate(quick_path):
    budget = ApproximateDP(epsilon=Fraction(10), delta=Fraction(1, 10**6))
    with Place.in_file(quick_path / "ledger.db").clinic(unit=population().unit, budget=budget) as ledger:
        yield ledger


def test_an_accuracy_is_paid_in_epsilon_where_no_rho_is_left_for_it(approximate) -> None:
    clinic, question = door(approximate, FixedNumber(100)), asking.count("patients", "age = 3")
    clinic.ask(asking.count("patients"), epsilon=9)
    assert clinic.budget().remaining.gaussian == 0 < clinic.budget().remaining.pure
    preview = clinic.preview(question, within=20)
    assert preview.affordable
    told = clinic.ask(question, within=20, key="once")
    assert told.price == preview.price
    assert told.margin() <= 20
    for key in (None, "once"):
        again = clinic.ask(question, within=20, key=key)
        assert (again.free, again.value) == (True, told.value)
    with pytest.raises(BudgetExceededError):
        clinic.ask(question, within=1)


def test_an_accuracy_that_was_paid_in_rho_stays_free_when_no_rho_is_left(approximate) -> None:
    clinic, question = door(approximate, FixedNumber(100)), asking.count("patients", "age = 3")
    clinic.ask(asking.count("patients", "age = 4"), rho="0.001")
    told = clinic.ask(question, within=20)
    assert told.asked.event.sigma_squared, "in rho, once something was"
    other, number = asking.count("patients"), 0
    while clinic.preview(other, within=20).affordable:
        some, number = float(clinic.budget().remaining.gaussian / 3), number + 1
        clinic.ask(asking.count("patients", f"bmi > {number}"), rho=f"{some:.11f}")
    assert number
    again = clinic.ask(question, within=20)
    assert (again.free, again.value) == (True, told.value)


def test_prices_of_long_questions_are_not_kept_without_end(ledger, monkeypatch) -> None:
    monkeypatch.setattr("lapwing.answers.preview._HEAVIEST", 20_000)
    ana = door(ledger, FixedNumber(100))
    long = [f"age in ({', '.join(map(str, range(number, number + 100)))})" for number in range(1000)]
    shown = [ana.preview(asking.count("patients", where), epsilon="1").price for where in long[:40]]
    assert len(set(map(str, shown))) == 1
    kept = [way.text for _, _, ways in ana._pricing._known.values() for way in ways]
    assert 0 < sum(map(len, kept)) <= 20_000
    short = asking.count("patients", "age = 3")
    assert ana._pricing.price(short, *_given(ana)) is ana._pricing.price(short, *_given(ana)), "short ones are kept"


def _given(ana):
    return ana.population, OfferedTerms(parse_target(epsilon="1"), ana._snapshot().account.budget, None, None)


def test_what_a_closed_session_has_priced_is_neither_asked_nor_looked_for(ledger) -> None:
    clinic, before = door(ledger, FixedNumber(0)), ledger.head().seq
    priced = clinic.price([asking.count("patients")], epsilon="0.1")
    clinic.close()
    for act in (priced.ask, priced.ask_together, priced.preview, priced.stored, lambda: priced.stored_together("k")):
        with pytest.raises(BadQuestionError, match="closed"):
            act()
    assert ledger.head().seq == before


def test_several_questions_that_were_priced_together_are_asked_together(ledger) -> None:
    before = ledger.head().seq
    priced = door(ledger, FixedNumber(0)).price([asking.count("patients"), asking.count("visits")], epsilon="0.1")
    with pytest.raises(ParameterError, match="use ask_together"):
        priced.ask("one key")
    assert ledger.head().seq == before

"""What a preview calls affordable is answered, and nothing else is, whatever was decided about who may spend what."""

from contextlib import suppress
from fractions import Fraction
from random import Random

import pytest

import lapwing as lw
from lapwing.vocabulary.errors import BudgetError, ParameterError, PolicyError
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP
from ledger.clinic import Place
from session.clinic import FixedNumber, door, population

TINY = Fraction(1, 10**6)
BUDGETS = {
    "pure": PureDP(epsilon=Fraction(5)),
    "delta": ApproximateDP(epsilon=Fraction(5), delta=TINY),
    "rho": ConcentratedDP(rho=Fraction(1, 2)),
}
COUNT = lw.count("patients", "age > 3")


@pytest.fixture(params=BUDGETS)
def ledger(request, quick_path):
    with Place.in_file(quick_path / "ledger.db").clinic(
        unit=population().unit, budget=BUDGETS[request.param]
    ) as opened:
        yield opened


@pytest.mark.parametrize("limit", ["population", "analyst"])
def test_within_is_paid_in_the_way_that_is_allowed(quick_path, limit) -> None:
    """Gaussian noise is the cheapest way to pay for the last of these counts, and its delta is more than allowed."""
    most = ApproximateDP(epsilon=Fraction(1, 5), delta=TINY**2)
    with Place.in_file(quick_path / "ledger.db").clinic(unit=population().unit, budget=BUDGETS["delta"]) as ledger:
        if limit == "analyst":
            ledger.administration.limit_analyst("clinic", "ana", tables=None, most=most)
        else:
            ledger.administration.set_limits("clinic", most=most, noes_a_day=None)
        clinic, cheapest_is_forbidden = door(ledger, FixedNumber(100)), 0
        for number in range(40):
            question = lw.count("patients", f"age > {number}")
            (cheapest,), *_ = clinic._cheapest_first(clinic.price([question], within=20))
            preview = clinic.preview(question, within=20)
            assert (preview.affordable, str(preview.price)) == (True, "epsilon 0.146"), number
            assert clinic.ask(question, within=20).price == preview.price
            cheapest_is_forbidden += cheapest.price != preview.price
        assert cheapest_is_forbidden > 0


def test_an_epsilon_allows_what_is_asked_at_that_epsilon_whichever_noise_answers_it(ledger) -> None:
    ledger.administration.set_limits("clinic", most=PureDP(epsilon=Fraction(1, 10)), noes_a_day=None)
    clinic = door(ledger, FixedNumber(100))
    assert clinic.preview(COUNT, epsilon="0.1").affordable
    assert not clinic.preview(COUNT, epsilon="0.11").affordable
    if isinstance(ledger.account("clinic").budget, ApproximateDP):
        assert clinic.preview(COUNT, epsilon="0.1", delta="1e-6").affordable
        assert not clinic.preview(COUNT, epsilon="0.11", delta="1e-6").affordable


def test_what_is_not_allowed_is_not_affordable(ledger) -> None:
    ana = door(ledger, FixedNumber(100))
    ledger.administration.suspend("clinic")
    preview = ana.preview(COUNT, epsilon="0.1")
    assert (preview.affordable, preview.times, preview.refusal, len(preview.warnings) > 0) == (False, 0, None, True)
    assert not ana.preview_stream(table="patients", at_least=10, yeses=1, epsilon="0.1").affordable
    ledger.administration.resume("clinic")
    assert ana.preview(COUNT, epsilon="0.1").affordable


@pytest.mark.parametrize("seed", range(3))
def test_affordable_means_that_it_is_answered(ledger, seed) -> None:
    draws, custody, seen = Random(seed), ledger.administration, set[type]()
    clinic = door(ledger, FixedNumber(100))
    for number in range(40):
        if number % 4 == 0:
            _decide(draws, custody, ledger.account("clinic").budget)
        question = lw.count("patients", f"age > {number}")
        price = draws.choice(
            [{"within": draws.choice([5, 10, 20, 40, 200])}, {"epsilon": draws.choice(["0.05", "0.5", "2"])}]
        )
        preview = clinic.preview(question, **price)
        answer, refused = _told(clinic.ask, question, **price)
        assert preview.affordable is (answer is not None), (number, price, refused)
        assert answer is None or answer.price == preview.price
        seen.add(type(refused))
        terms = {"table": "patients", "at_least": 10, "yeses": 1, "epsilon": draws.choice(["0.01", "0.3", "2"])}
        foretold = clinic.preview_stream(**terms)
        stream, refused = _told(clinic.stream, **terms)
        assert foretold.affordable is (stream is not None), (number, terms, refused)
        if stream is not None:
            stream.close()
    assert {type(None), PolicyError} <= seen


def _told(ask, *asked, **words):
    try:
        return ask(*asked, **words), None
    except BudgetError as refused:
        return None, refused


def _decide(draws, custody, budget) -> None:
    """Decide something about everybody and about ana; a limit is written in the words of the budget, or of epsilon."""

    def some():
        part = draws.choice([Fraction(1, 50), Fraction(1, 10), Fraction(1, 2)])
        match budget:
            case PureDP(epsilon=epsilon):
                return PureDP(epsilon=epsilon * part)
            case ConcentratedDP(rho=rho):
                return ConcentratedDP(rho=rho * part)
            case ApproximateDP(epsilon=epsilon):
                return draws.choice(
                    [PureDP(epsilon=epsilon * part), ApproximateDP(epsilon=epsilon * part, delta=TINY * part)]
                )

    custody.set_limits("clinic", most=draws.choice([None, some(), some()]), noes_a_day=None)
    custody.limit_analyst(
        "clinic", "ana", tables=draws.choice([None, None, ["visits"], ["patients"]]), most=draws.choice([None, some()])
    )
    with suppress(ParameterError):  # it is less than what was released to them already
        custody.set_allowance("clinic", "ana", draws.choice([None, budget, some()]))
    (custody.suspend if draws.choice([False] * 5 + [True]) else custody.resume)("clinic")

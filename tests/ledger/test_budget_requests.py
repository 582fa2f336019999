"""Requests for more budget: made, granted or refused, once, in the ledger; and what a replay finds."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from lapwing.answers.history import acts_of
from lapwing.ledger.budget_requests import MOST_OPEN, BudgetRequest, RequestState
from lapwing.ledger.entries import Entry
from lapwing.ledger.ledger import Ledger, create_ledger, open_ledger
from lapwing.ledger.replay import Replay, verify
from lapwing.vocabulary.codec import canonical
from lapwing.vocabulary.errors import LedgerDamagedError, ParameterError, PolicyError, UnnamedAnalystError
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PrivacyUnit, PureDP

TWO = PureDP(epsilon=2)


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, quick_path):
    return request.getfixturevalue("database") if request.param == "postgres" else quick_path / "ledger.db"


@pytest.fixture
def ledger(address, quick_path):
    if isinstance(address, str):
        from doors.server.test_race import url_of  # noqa: PLC0415 - only here

        address = url_of(address)
    head = quick_path / "ledger.head" if isinstance(address, str) else None
    with create_ledger(address, name="2f1c", head=head) as made:
        made.administration.create_population("clinic", unit=PrivacyUnit(person_key="id"), budget=PureDP(epsilon=3))
        made.address, made.head_file = address, head
        yield made


def make(ledger: Ledger, analyst: str = "ana", more=TWO) -> BudgetRequest:
    return ledger.budget_requests.make("clinic", analyst, more, purpose="asthma in the north")


def test_a_yes_raises_the_allowance_in_the_entry_that_says_it(ledger) -> None:
    ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=1))
    before, request = ledger.head().seq, make(ledger)
    assert ledger.budget_requests.effect_of(request).after == PureDP(epsilon=3)
    receipt = ledger.budget_requests.grant("clinic", request.number, by="cleo")
    assert receipt.seq == before + 2, "one entry asks, and one decides"
    assert ledger.population("clinic").analyst("ana").allowance == PureDP(epsilon=3)
    assert ledger.snapshot("clinic", "ana").allowance.budget == PureDP(epsilon=3)
    assert ledger.account("clinic").budget == PureDP(epsilon=3), "the cap is another matter"
    (decided,) = ledger.budget_requests.all("clinic")
    assert (decided.state, decided.by, bool(decided.decided)) == (RequestState.GRANTED, "cleo", True)
    verify(ledger)


def test_a_yes_raises_the_budget_where_nobody_limits_who_asked(ledger) -> None:
    ledger.budget_requests.grant("clinic", make(ledger).number)
    assert ledger.account("clinic").budget == PureDP(epsilon=5)
    assert ledger.population("clinic").analyst("ana").allowance is None
    verify(ledger)


def test_a_no_changes_nothing_and_is_told(ledger) -> None:
    before, request = ledger.population("clinic"), make(ledger)
    ledger.budget_requests.refuse("clinic", request.number, reason="the study has ended", by="cleo")
    assert (ledger.population("clinic"), ledger.account("clinic").budget) == (before, PureDP(epsilon=3))
    decided = ledger.budget_requests.find("clinic", request.number)
    assert (decided.state, decided.reason) == (RequestState.REFUSED, "the study has ended")
    (act,) = [act for act in acts_of(ledger.history("clinic"), analyst="ana") if act.kind == "request"]
    assert str(act) == (
        "ana asked the custodian for epsilon 2 more, asthma in the north: refused by cleo, the study has ended"
    )
    verify(ledger)


def test_a_request_is_decided_once_whoever_decides_at_the_same_moment(ledger) -> None:
    """Two processes, one says yes, one says no: one of them is refused, and the budget follows the other."""
    request = make(ledger)
    with open_ledger(ledger.address, head=ledger.head_file) as other, ThreadPoolExecutor() as both:
        yes = both.submit(ledger.budget_requests.grant, "clinic", request.number)
        no = both.submit(other.budget_requests.refuse, "clinic", request.number)
        failed = [one.exception() for one in (yes, no)]
    assert [isinstance(one, ParameterError) for one in failed].count(True) == 1, failed
    granted = failed[0] is None
    assert ledger.account("clinic").budget == PureDP(epsilon=5 if granted else 3)
    state = ledger.budget_requests.find("clinic", request.number).state
    assert state is (RequestState.GRANTED if granted else RequestState.REFUSED)
    verify(ledger)


def test_what_cannot_be_asked_for_is_refused_in_a_sentence(ledger) -> None:
    requests = ledger.budget_requests
    with pytest.raises(ParameterError, match="is not in the currency of epsilon 3"):
        make(ledger, more=ConcentratedDP(rho=1))
    with pytest.raises(ParameterError, match="is not in the currency"):
        make(ledger, more=ApproximateDP(epsilon=1, delta="1e-6"))
    with pytest.raises(ParameterError, match="what for"):
        requests.make("clinic", "ana", TWO, purpose=" ")
    with pytest.raises(ParameterError, match="no request about population 'clinic'"):
        requests.grant("clinic", 1)
    for _ in range(MOST_OPEN):
        last = make(ledger)
    with pytest.raises(PolicyError, match="3 requests of 'ana' wait"):
        make(ledger)
    assert make(ledger, "ben")
    requests.refuse("clinic", last.number)
    assert make(ledger)
    ledger.administration.admit_analysts("clinic", only_named=True)
    with pytest.raises(UnnamedAnalystError):
        make(ledger, "eve")
    verify(ledger)


def test_a_yes_to_something_that_changed_meanwhile_is_refused(ledger) -> None:
    request = make(ledger)
    seen = ledger.budget_requests.effect_of(request)
    ledger.administration.set_budget("clinic", PureDP(epsilon=4))
    with pytest.raises(ParameterError, match="look at it again"):
        ledger.budget_requests.grant("clinic", request.number, effect=seen)
    assert ledger.account("clinic").budget == PureDP(epsilon=4)


def records(ledger: Ledger) -> list[dict]:
    ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=1))
    ledger.budget_requests.grant("clinic", make(ledger).number)
    ledger.budget_requests.refuse("clinic", make(ledger).number)
    return ledger.history("clinic")


@pytest.mark.parametrize(
    ("lie", "found"),
    [
        (lambda told: told[-1].update(budget_request=1), "nobody asked for, or for the second time"),
        (lambda told: told[-1].update(analyst="ben"), "refuses a request of somebody else"),
        (lambda told: told[-4]["more"].update(epsilon="1/1"), "grants something else than was asked for"),
        (lambda told: told[-4].update(analyst="ben"), "grants something to somebody else"),
        (lambda told: told[-3].pop("budget_request"), "nothing"),
        (lambda told: told[-2].update(budget_request=3), "has the number of another request"),
    ],
)
def test_a_replay_finds_decisions_that_were_never_made_so(quick_path, lie, found) -> None:
    with create_ledger(quick_path / "ledger.db", name="2f1c") as ledger:
        ledger.administration.create_population("clinic", unit=PrivacyUnit(person_key="id"), budget=PureDP(epsilon=3))
        told = records(ledger)
    lie(told)

    def replay() -> None:
        after = Replay()
        for record in told:
            after.read(Entry(record["seq"], canonical(record), b""))

    if found == "nothing":  # a raise that names no request is a decision like any other
        replay()
    else:
        with pytest.raises(LedgerDamagedError, match=found):
            replay()


def test_more_of_an_approximate_budget_may_be_epsilon_alone(quick_path) -> None:
    with create_ledger(quick_path / "ledger.db", name="2f1c") as ledger:
        budget = ApproximateDP(epsilon=1, delta="1e-6")
        ledger.administration.create_population("clinic", unit=PrivacyUnit(person_key="id"), budget=budget)
        ledger.budget_requests.grant("clinic", make(ledger).number)
        assert ledger.account("clinic").budget == ApproximateDP(epsilon=3, delta=Fraction(1, 10**6))
        verify(ledger)

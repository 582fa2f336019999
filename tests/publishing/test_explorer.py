"""The explorer at the door: free where its model is right, paid and learned where not, over all kinds of budget."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import lapwing as lw
from lapwing import streams
from lapwing.accounting.filters.charge import YesCharge
from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.history import acts_of
from lapwing.answers.target import AtEpsilon, AtRho, parse_target
from lapwing.ledger.replay import verify
from lapwing.mechanisms.sparse_vector.corridor import CorridorStream
from lapwing.noise.randomness import SYSTEM
from lapwing.publishing.certificate import Modelled
from lapwing.publishing.codes import read_columns
from lapwing.publishing.explorer_learning import taught
from lapwing.publishing.explorer_terms import ExplorerSplit, corridor_for, expected_yeses
from lapwing.publishing.population_model import UNIT, PopulationModel
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.cohort_grid import CohortPlanner
from lapwing.vocabulary.errors import BadQuestionError, BudgetExceededError, ParameterError, StreamHaltedError
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP
from publishing.odd_people import COLUMNS, odd_patients, odd_tables
from session.clinic import FixedNumber, door, new_ledger, population, same_ledger

PATIENTS, PEOPLE = "patients", 3000
WIDTH = 150
CHECKS = {"checks": "1", "half_width": WIDTH}
FEMALE = {0: [True, False, False]}


@pytest.fixture
def adjacency():
    return Adjacency.ADD_REMOVE


@pytest.fixture
def ledger(tmp_path, budget, adjacency):
    with new_ledger(tmp_path, budget.promise(5), adjacency=adjacency) as ledger:
        yield ledger


@pytest.fixture
def clinic(ledger, adjacency):
    return door(ledger, odd_tables(PEOPLE, adjacency=adjacency), adjacency=adjacency)


def good_model(off=0):
    """Return a model that has each person as they are, but says that so many more, or fewer, are women."""
    columns = read_columns(PATIENTS, COLUMNS, population())
    rows = np.zeros((4, PEOPLE), np.uint8)
    people = odd_patients(PEOPLE).to_pydict()
    rows[0] = [{"F": 0, "M": 1}.get(one, 2) for one in people["sex"]]
    ages = [
        3 if one is None or not 0 <= one <= 99 else 0 if one < 18 else 1 if one < 65 else 2 for one in people["age"]
    ]
    rows[1], rows[2], rows[3] = ages, 2, 1
    model = PopulationModel([len(one) for one in columns], rows, np.full(PEOPLE, UNIT))
    if off:
        model = taught(model, FEMALE, model.count(FEMALE) + off)
    return Modelled(table=PATIENTS, columns=tuple(columns), model=model, versions={PATIENTS: 1})


TRUE = good_model().model.count(FEMALE)


@pytest.mark.parametrize("adjacency", Adjacency, ids=lambda one: one.value)
def test_where_the_model_is_right_answers_are_free_and_lie_in_their_interval(clinic, ledger) -> None:
    preview = clinic.preview_explorer(model=good_model(), **CHECKS)
    with clinic.explorer(model=good_model(), **CHECKS) as explorer:
        opened = ledger.account("clinic")
        told = explorer.count_many(
            ["sex = 'F'", "sex = 'F' and age between 18 and 64", "age between 65 and 99", None, "sex = 'F'"]
        )
        assert [one.free and one.checked for one in told] == [True] * 5
        assert told[0].people == told[0].guess == TRUE
        off = preview.free_reach
        assert told[0].interval == (max(0, TRUE - off), TRUE + off)
        assert told[3].people == PEOPLE
        assert ledger.account("clinic") == opened, "noes are paid by the opening"
        assert explorer.paid_answers_left == 2
    verify(ledger)


@pytest.mark.one_budget("answers and models do not depend on the kind")
def test_what_is_far_off_is_answered_with_fresh_noise_and_learned(clinic, ledger) -> None:
    with clinic.explorer(model=good_model(off=900), **CHECKS) as explorer:
        assert abs(explorer.count("sex = 'F'", pay=False).people - (TRUE + 900)) <= 1
        told = explorer.count("sex = 'F'", confidence="0.999999")
        assert not told.free
        assert told.interval.low <= TRUE <= told.interval.high < TRUE + 250
        assert abs(explorer.model.count(FEMALE) - told.people) <= 1, "it has learned it"
        again = explorer.count("sex = 'F'")
        assert again.free
        assert explorer.paid_answers_left == 1
    verify(ledger)


def test_closing_gives_back_what_no_answer_used_where_epsilons_are_added_up_and_nowhere_else(
    clinic, ledger, budget
) -> None:
    def left():
        return ledger.account("clinic").filters["everyone"]

    preview = clinic.preview_explorer(model=good_model(), **CHECKS)
    explorer = clinic.explorer(model=good_model(), **CHECKS)
    explorer.count("sex = 'F'")
    opened = left()
    explorer.close()
    assert preview.gives_back == (budget.name != "rho")
    if preview.gives_back:
        pure = left() if budget.delta is None else left().pure
        assert pure.spent == explorer.terms.mechanism.threshold_epsilon
        assert pure.reserved == 0
    else:
        assert left() == opened


def test_a_gaussian_charge_ends_giving_back_and_what_is_left_stays_inside(tmp_path) -> None:
    """The fence: an account with a charge that has no pure price pays the whole of a corridor at its opening."""
    promise = ApproximateDP(epsilon=Fraction(12), delta=Fraction(1, 10**6))
    with new_ledger(tmp_path, promise) as ledger:
        clinic = door(ledger, odd_tables(PEOPLE))
        clinic.publish(PATIENTS, COLUMNS, rho="0.02")
        assert not clinic.preview_explorer(model=good_model(), **CHECKS).gives_back
        before = ledger.account("clinic")
        with clinic.explorer(model=good_model(), **CHECKS) as explorer:
            opened = ledger.account("clinic").filters
            assert opened["everyone"].residue < before.filters["everyone"].residue
            explorer.count("sex = 'F'")
            bought = [explorer.buy("age >= 65"), explorer.buy("age < 18")]
            assert [one.price for one in bought] == [explorer.terms.mechanism.yes_price] * 2
            assert explorer.spent == explorer.terms.epsilon
        assert ledger.account("clinic").filters == opened, "all of it was paid, and none of it comes back"
        verify(ledger)


@pytest.mark.one_budget("answers and models do not depend on the kind")
def test_the_same_key_goes_on_in_another_process_with_what_was_learned(clinic, tmp_path) -> None:
    explorer = clinic.explorer(model=good_model(off=900), key="monday", **CHECKS)
    first = explorer.count("sex = 'F'")
    learned = explorer.model.digest
    with same_ledger(tmp_path) as again:
        other = door(again, odd_tables(PEOPLE)).explorer(model=good_model(off=900), key="monday", **CHECKS)
        assert other.name == explorer.name
        assert other.model.digest == learned != good_model(off=900).model.digest
        assert other.count("sex = 'F'").people == other.model.count(FEMALE)
        assert other.paid_answers_left == 1
        assert abs(other.model.count(FEMALE) - first.people) <= 1


@pytest.mark.one_budget("answers and models do not depend on the kind")
def test_what_is_rebuilt_is_what_was_learned_whoever_guessed(clinic) -> None:
    explorer = clinic.explorer(model=good_model(), key="a", **CHECKS)
    explorer.count_many(["city = 'here' and sex = 'F'", "sex = 'F'", "sex = 'F'"], guesses=[9, PEOPLE, PEOPLE])
    assert clinic.explorer(model=good_model(), key="a", **CHECKS).model.digest == explorer.model.digest


@pytest.mark.one_budget("answers and models do not depend on the kind")
def test_the_history_does_not_call_a_count_large_that_is_outside_its_corridor(clinic, ledger) -> None:
    with clinic.explorer(model=good_model(), **CHECKS) as explorer:
        explorer.count("sex = 'F'")
        explorer.count("sex = 'F'", guess=PEOPLE)
    told = [act.said for act in acts_of(ledger.entries("clinic"))]
    assert any(": inside the corridor that ends there, for nothing" in one for one in told)
    assert any(": outside the corridor that ends there" in one for one in told)


@pytest.mark.one_budget("answers and models do not depend on the kind")
def test_after_the_last_paid_answer_nothing_is_answered_and_nothing_is_called_free(clinic) -> None:
    with clinic.explorer(model=good_model(off=1200), yeses=1, **CHECKS) as explorer:
        told = explorer.count_many(["age between 18 and 64", "sex = 'F'", "sex = 'M'", "age between 65 and 99"])
        assert [one is None for one in told][2:] == [True, True]
        assert not told[1].free
        with pytest.raises(StreamHaltedError):
            explorer.count("age between 0 and 17")
        unchecked = explorer.count("age < 18", pay=False)
        assert (unchecked.checked, unchecked.interval) == (False, None)


@pytest.mark.one_budget("answers and models do not depend on the kind")
def test_without_consent_nothing_is_asked(clinic, ledger) -> None:
    with clinic.explorer(model=good_model(), **CHECKS) as explorer:
        before = len(ledger.entries("clinic"))
        told = explorer.count_many(["sex = 'F'", "age < 18"], pay=False)
        assert len(ledger.entries("clinic")) == before
        assert [one.interval for one in told] == [None, None]
        assert "not checked" in dict(told[0].facts())["mind"]
        checked = explorer.count("sex = 'F'")
        assert explorer.count("sex = 'F'", pay=False) == checked, "what was checked before is known"


@pytest.mark.one_budget("answers and models do not depend on the kind")
def test_cohorts_that_the_model_does_not_know_are_checked_against_a_guess_of_ones_own(clinic) -> None:
    with clinic.explorer(model=good_model(), **CHECKS) as explorer:
        with pytest.raises(BadQuestionError, match="was not published"):
            explorer.count("city = 'here'")
        assert explorer.count("city = 'here'", guess=PEOPLE).free
        told = explorer.count("city = 'here' and sex = 'F'", guess=5)
        assert not told.free
        assert abs(told.people - TRUE) < 60
        assert explorer.model.digest == good_model().model.digest, "it teaches nothing that is no box"
        learned = explorer.count("sex = 'F'", guess=PEOPLE)
        assert not learned.free
        assert abs(explorer.model.count(FEMALE) - learned.people) <= 1, "a box that it knows it learns, whoever guessed"
        with pytest.raises(BadQuestionError, match="2 guesses for 1 questions"):
            explorer.count_many(["sex = 'F'"], guesses=[1, 2])
        with pytest.raises(ParameterError, match="guess"):
            explorer.count("sex = 'F'", guess=-1)


def test_an_explorer_makes_its_own_model(clinic, budget) -> None:
    price = (
        {"rho": "0.3"}
        if budget.name == "rho"
        else {"epsilon": "3"} | ({} if budget.delta is None else {"delta": budget.delta})
    )
    preview = clinic.preview_explorer(PATIENTS, COLUMNS, questions=100, **price)
    assert preview.affordable
    assert 0 <= 100 - preview.expected_free <= 0.3
    assert set(preview.split) >= {"model", "checks"}
    assert preview.gives_back == (budget.name == "epsilon"), "a Gaussian model ends giving back before the checks open"
    with clinic.explorer(PATIENTS, COLUMNS, questions=100, key="k", **price) as explorer:
        assert explorer.terms == preview.terms
        told = explorer.count("sex = 'F' and age < 65")
        assert told.interval.low <= told.people <= told.interval.high


@pytest.mark.one_budget("what is refused is refused before anything is charged")
def test_refusals_cost_nothing(clinic, ledger) -> None:
    before = ledger.account("clinic")
    for words, error, why in (
        ({"model": good_model(), "epsilon": 1}, BadQuestionError, "a model is of its own table"),
        ({"model": good_model()}, BadQuestionError, "say what the checks"),
        ({"model": good_model(), "checks": "1"}, BadQuestionError, "half_width="),
        ({"epsilon": 1}, BadQuestionError, "name the table"),
        ({"table": PATIENTS, "columns": COLUMNS, "within": 5}, TypeError, "within"),
        ({"table": PATIENTS, "columns": COLUMNS}, BadQuestionError, "say what to pay"),
        ({"table": PATIENTS, "columns": COLUMNS, "epsilon": 1, "checks": 2}, ParameterError, "is all of the price"),
        ({"table": PATIENTS, "columns": COLUMNS, "epsilon": 1, "yeses": 0}, ParameterError, "yeses"),
        ({"table": PATIENTS, "columns": COLUMNS, "epsilon": 1, "questions": 10**6}, ParameterError, "questions"),
        ({"table": "visits", "columns": ["kind"], "epsilon": 1}, BadQuestionError, "many rows a person"),
        ({"table": PATIENTS, "columns": ["city"], "epsilon": 1}, BadQuestionError, "no declared values"),
        ({"model": replace(good_model(), versions={PATIENTS: 4}), **CHECKS}, BadQuestionError, "version 4 of patients"),
        ({"model": good_model(), "checks": "6", "half_width": 5}, BudgetExceededError, "6"),
    ):
        with pytest.raises(error, match=why):
            clinic.explorer(**words)
    assert ledger.account("clinic") == before
    with clinic.explorer(model=good_model(), **CHECKS) as explorer:
        opened = ledger.account("clinic")
        for bad in ("sex = 'F' or age > 5", "age > 20", "nobody = 3", "sex ="):
            with pytest.raises(BadQuestionError):
                explorer.count_many(["sex = 'F'", bad])
        with pytest.raises(BadQuestionError, match="takes a list of conditions"):
            explorer.count_many("sex = 'F'")
        assert ledger.account("clinic") == opened


def test_a_model_that_cannot_be_checked_is_not_paid_for(clinic, ledger, budget) -> None:
    before = ledger.account("clinic")
    price = {"rho": "5"} if budget.name == "rho" else {**budget.of("5")}
    assert not clinic.preview_explorer(PATIENTS, COLUMNS, checks="0.2", **{**price, **_more(price)}).affordable
    with pytest.raises(BudgetExceededError):
        clinic.explorer(PATIENTS, COLUMNS, checks="0.2", **_more(price))
    assert ledger.account("clinic") == before


def _more(price):
    """Return a price of which the model alone takes all of the budget."""
    return {**price, **({"rho": "5.02"} if "rho" in price else {"epsilon": "5.2"})}


@pytest.mark.one_budget("data of another version is refused alike")
def test_a_model_of_data_that_has_moved_on_checks_nothing(clinic, ledger) -> None:
    with clinic.explorer(model=good_model(), **CHECKS) as explorer:
        explorer.count("sex = 'F'")
        ledger.administration.advance_version("clinic", PATIENTS)
        with pytest.raises(BadQuestionError, match="which has version 2 now"):
            explorer.count("sex = 'M'")


@pytest.mark.one_budget("nothing is charged")
def test_prices_are_divided_exactly() -> None:
    split = ExplorerSplit.of(parse_target(epsilon="1.5", delta="1e-9"))
    assert split.model == AtEpsilon(epsilon=Fraction(5, 4), delta=Fraction(1, 10**9))
    assert split.checks == Fraction(1, 4)
    by_rho = ExplorerSplit.of(parse_target(rho="0.06"))
    assert isinstance(by_rho.model, AtRho)
    assert by_rho.model.rho + by_rho.checks**2 / 2 <= Fraction(6, 100)
    assert by_rho.checks**2 / 2 > Fraction(199, 10_000)
    terms = CorridorTerms.around(population(), PATIENTS, epsilon="0.25", yeses=2, questions=10_000, half_width=300)
    mechanism = terms.mechanism
    assert mechanism.epsilon == Fraction(1, 4)
    assert mechanism.reservation("x").whole == Fraction(1, 4)
    assert mechanism.number_price == Fraction(1, 20)
    assert CorridorTerms.read(terms.to_text()) == terms


@pytest.mark.one_budget("nothing is charged")
def test_the_corridor_is_the_narrowest_with_few_false_alarms() -> None:
    words = {"checks": Fraction(1, 4), "yeses": 2, "questions": 10_000}
    terms = corridor_for(population(), PATIENTS, **words, half_width=None, typical=30.0)
    assert expected_yeses(terms, 10_000, 30.0) <= 0.2
    narrower = corridor_for(population(), PATIENTS, **words, half_width=terms.half_width - 2, typical=None)
    assert expected_yeses(narrower, 10_000, 30.0) > 0.2
    replaced = corridor_for(population(Adjacency.REPLACE), PATIENTS, **words, half_width=None, typical=30.0)
    assert replaced.half_width > 1.3 * terms.half_width, "under replace a yes takes twice the noise"


@pytest.mark.one_budget("nothing is charged")
def test_ranges_of_one_column_are_planned_as_the_whole_condition_is() -> None:
    people, planner = population(), None
    for where in ("age >= 20 and age < 40 and sex = 'F'", "sex = 'F' and age > 3 and sex = 'F'", "age > 5 and age < 3"):
        planner = planner or CohortPlanner(people, PATIENTS)
        asked = lw.at_least(7, PATIENTS, where)
        planned, text = planner.plan(asked.where, 7)
        assert text == plan(asked, people).canonical == planned.canonical, where


@pytest.mark.one_budget("a yes is booked alike")
def test_a_yes_that_the_ledger_has_is_a_yes_in_the_account(tmp_path) -> None:
    with new_ledger(tmp_path) as ledger:
        clinic = door(ledger, FixedNumber(50_000))
        with clinic.explorer(model=good_model(), **CHECKS) as explorer:
            assert not explorer.count("sex = 'F'").free
            stream = ledger.account("clinic").streams[explorer.name]
            assert stream.given == 1
            assert YesCharge(stream=explorer.name)
            assert ledger.account("clinic").filters["everyone"].spent == explorer.spent


@pytest.mark.one_budget("a crash does not depend on the kind")
@pytest.mark.parametrize("lies", [False, True], ids=["sealed seeds", "fresh noise"])
def test_what_was_decided_before_a_crash_is_what_stands_after_it(ledger, monkeypatch, lies) -> None:
    """The liar draws fresh noise when it decides again: what was decided first is then another look at the data."""
    decided, dying, ask_many = [], [], CorridorStream.ask_many

    def spied(self, values, thresholds, *, source):
        decided.append(ask_many(self, values, thresholds, source=SYSTEM if lies else source))
        return decided[-1]

    def die(point):
        if point == "stream.decided" and dying:
            raise KeyboardInterrupt

    monkeypatch.setattr(CorridorStream, "ask_many", spied)
    monkeypatch.setattr(streams, "fault_point", die)
    clinic, same = door(ledger, FixedNumber(50_000)), []
    for number in range(4):
        explorer = clinic.explorer(model=good_model(), key=str(number), **CHECKS)
        dying.append(True)
        with pytest.raises(KeyboardInterrupt):
            explorer.count("sex = 'F'")
        dying.clear()
        again = clinic.explorer(model=good_model(), key=str(number), **CHECKS)
        same.append(decided[-1][0].number == decided[-2][0].number)
        assert again.model.count(FEMALE) > TRUE, "it has learned"
        assert again.paid_answers_left == 1
    assert all(same) is not lies


@pytest.mark.one_budget("what is guessed does not depend on the kind")
def test_the_model_is_that_of_committed_answers_only(ledger, monkeypatch) -> None:
    """An answer that was decided, and not committed, teaches nothing: its question is in flight, and decided alike."""
    dying = [True]

    def die(point):
        if point == "stream.decided" and dying:
            raise KeyboardInterrupt

    monkeypatch.setattr(streams, "fault_point", die)
    clinic = door(ledger, FixedNumber(2_000))
    explorer = clinic.explorer(model=good_model(), key="a", **CHECKS)
    with pytest.raises(KeyboardInterrupt):
        explorer.count("sex = 'F'")
    assert explorer.model.digest == good_model().model.digest
    dying.clear()
    again = clinic.explorer(model=good_model(), key="a", **CHECKS)
    assert again.model.digest != good_model().model.digest
    assert again.count("sex = 'F'").people == again.model.count(FEMALE)

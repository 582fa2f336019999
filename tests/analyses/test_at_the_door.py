"""Comparisons and survival at the door: one charge, the price of one count, refusals before it, all kinds of budget."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import lapwing as lw
from lapwing.analyses.cell_noise import CellNoise
from lapwing.analyses.compare import judge
from lapwing.analyses.simulated_draws import draws_from
from lapwing.analyses.survival import _curve, kaplan_meier
from lapwing.vocabulary.errors import BadQuestionError, BudgetExceededError, ParameterError
from lapwing.vocabulary.event import DiscreteLaplaceNoise

TABLES = {"patients": 4000}


def people(count=3000):
    """Made-up people of two arms, of whom one has more events and larger values."""
    random = np.random.default_rng(2)
    arm = random.integers(0, 2, count)
    event = random.geometric(0.03 + 0.02 * arm)
    left = random.geometric(0.02, count)
    days = np.minimum(np.minimum(event, left), 60)
    return {
        "id": np.arange(count),
        "arm": np.where(arm, "new", "old"),
        "ill": random.random(count) < 0.1 + 0.15 * arm,
        "weight": np.clip(random.normal(70 + 6 * arm, 12, count), 30, 150),
        "kind": np.array(["a", "b", "c"])[random.integers(0, 3, count)],
        "days": days,
        "died": event <= left,
    }


COLUMNS = """
[populations.trial.tables.patient.columns]
arm = { type = "category", values = ["old", "new"] }
ill = { type = "boolean" }
weight = { type = "real", low = 30, high = 150 }
kind = { type = "category", values = ["a", "b", "c"] }
days = { type = "integer", low = 0, high = 100 }
died = { type = "boolean" }
note = { type = "text", nullable = true }
"""


@pytest.fixture(scope="module")
def truth():
    return people()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory, truth, budget):
    import pandas as pd  # noqa: PLC0415 - an extra

    folder = tmp_path_factory.mktemp("trial")
    budget_line = ", ".join(f'{name} = "{amount}"' for name, amount in budget.of("15").items())
    (folder / "lapwing.toml").write_text(
        f'[populations.trial]\nperson_key = "id"\nbudget = {{ {budget_line} }}\n'
        '[populations.trial.tables.patient]\nsource = "patient.parquet"\n' + COLUMNS
    )
    frame = pd.DataFrame(truth).assign(note=pd.Series([None] * len(truth["id"]), dtype="string"))
    with lw.create(folder, frames={"patient": frame}) as made:
        yield made


@pytest.fixture
def clinic(workspace):
    return workspace.session()


def offer(budget, amount="1"):
    return budget.of(amount)


def test_a_comparison_costs_what_its_release_costs_and_is_free_again(clinic, budget) -> None:
    before = clinic.budget()
    found = clinic.compare("patient", "ill", by="arm", **offer(budget))
    plain = clinic.ask(lw.count("patient", by=["arm", "ill"]), **offer(budget))
    assert plain.free
    assert plain.numbers == found.answer.numbers
    assert str(clinic.budget()) != str(before)
    again = clinic.compare("patient", "ill", by="arm", **offer(budget))
    assert again.free
    assert (again.p, again.to_dict()["groups"]) == (found.p, found.to_dict()["groups"])


def test_a_difference_that_is_there_is_found_with_its_interval(clinic, budget, truth) -> None:
    found = clinic.compare("patient", "ill", by="arm", **offer(budget))
    shares = [truth["ill"][truth["arm"] == arm].mean() for arm in ("old", "new")]
    low, high = found.interval("0.9999")
    assert low <= shares[0] - shares[1] <= high
    assert found.p < 0.01
    assert found.ratio_interval("0.9999").low <= shares[0] / shares[1] <= found.ratio_interval("0.9999").high
    weights = clinic.compare("patient", "weight", by="arm", **offer(budget))
    means = [truth["weight"][truth["arm"] == arm].mean() for arm in ("old", "new")]
    low, high = weights.interval("0.9999")
    assert low <= means[0] - means[1] <= high
    assert weights.p < 0.01
    assert clinic.compare("patient", "weight", by="arm", method="rank", **offer(budget)).p < 0.01
    assert clinic.compare("patient", "kind", by="arm", **offer(budget)).p > 0.0005
    assert list(weights.to_pandas().columns) == ["arm", "people", "value", "value_low", "value_high"]


def test_refusals_come_before_the_charge(clinic, budget) -> None:
    before = str(clinic.budget())
    for words, problem in (
        ({"outcome": "ill", "by": "kind"}, "two groups are compared"),
        ({"outcome": "ill", "by": "kind", "groups": ["a", "x"]}, "is no group of kind"),
        ({"outcome": "ill", "by": "kind", "groups": ["a", "a"]}, "two groups are compared"),
        ({"outcome": "ill", "by": "arm", "method": "t"}, "not by t"),
        ({"outcome": "ill", "by": "arm", "method": "anova"}, "is unknown"),
        ({"outcome": "note", "by": "arm"}, "neither numbers nor declared values"),
        ({"outcome": "nothing", "by": "arm"}, "no column"),
        ({"outcome": "ill", "by": "Ill"}, "compared by itself"),
        ({"outcome": "ill", "by": "nothing"}, "no column"),
    ):
        for verb in (clinic.preview_compare, clinic.compare):
            with pytest.raises((BadQuestionError, ParameterError), match=problem):
                verb("patient", **words, **offer(budget))
    for grid in ([5], [5, 5], [9, 3], range(2000)):
        with pytest.raises(ParameterError, match="grid"):
            clinic.survival("patient", time="days", event="died", grid=grid, **offer(budget))
    for verb in (clinic.preview_survival, clinic.survival):
        with pytest.raises(BadQuestionError, match="neither true nor false"):
            verb("patient", time="days", event="kind", grid=[0, 9], **offer(budget))
    for assumed in ({"people": (5,)}, {"people": (5, 5), "shares": (0.1, 2)}, {"people": (1, 5), "shares": (0.1, 0.2)}):
        with pytest.raises(ParameterError):
            clinic.preview_compare("patient", "ill", by="arm", assume=assumed, **offer(budget))
    with pytest.raises(BudgetExceededError):
        clinic.compare("patient", "ill", by="arm", where="days > 3", **offer(budget, "20"))
    assert str(clinic.budget()) == before


def test_power_is_known_before_anything_is_paid(clinic, budget) -> None:
    before = str(clinic.budget())
    assumed = {"people": (500, 500), "shares": (0.1, 0.2)}
    little, much = (
        clinic.preview_compare("patient", "ill", by="arm", assume=assumed, **offer(budget, amount)).power
        for amount in ("0.0001", "2")
    )
    assert little < 0.5 < much
    means = {"people": (500, 500), "means": (70, 76), "deviations": (12, 12)}
    assert clinic.preview_compare("patient", "weight", by="arm", assume=means, **offer(budget, "2")).power > 0.9
    assert str(clinic.budget()) == before


def test_curves_are_those_of_the_people_and_the_test_sees_that_they_differ(clinic, budget, truth) -> None:
    grid = range(0, 61, 5)
    found = clinic.survival("patient", time="days", event="died", grid=grid, by="arm", **offer(budget))
    assert [curve.arm for curve in found] == ["old", "new"]
    assert found.p < 0.01
    for curve in found:
        exact = _by_hand(truth, curve.arm, grid)
        assert np.max(np.abs(np.array(curve.survived) - exact)) < 0.1
        assert all(low <= part <= high for low, part, high in zip(curve.low, curve.survived, curve.high, strict=True))
    everybody = clinic.survival("patient", time="days", event="died", grid=grid, **offer(budget))
    assert (everybody.p, len(everybody.curves)) == (None, 1)
    assert list(found.to_pandas().columns)[:3] == ["arm", "time", "survived"]
    with pytest.raises(ParameterError, match="confidence"):
        found.to_pandas("0.9")


def test_time_may_be_a_real_number_and_the_preview_says_the_price(clinic, budget, truth) -> None:
    words = {"time": "weight", "event": "died", "grid": [-10, 30, 60, 75, 100, 150], "by": "arm"}
    preview, before = clinic.preview_survival("patient", **words, **offer(budget)), str(clinic.budget())
    assert str(preview.before) == before
    found = clinic.survival("patient", **words, **offer(budget))
    assert (found.price, str(clinic.budget())) == (preview.price, str(preview.after))
    assert found.receipt == found.answer.receipt
    for curve in found:
        exact = _by_hand(truth, curve.arm, words["grid"], time="weight")
        assert np.max(np.abs(np.array(curve.survived) - exact)[:-1]) < 0.1


def test_no_interval_leaves_what_can_be(clinic, budget) -> None:
    same = clinic.compare("patient", "(ill)", by="ill", **offer(budget))
    assert same.interval("0.9999").low == -1
    ends = [one.interval("0.9999") for one in same.groups]
    assert (ends[0].low, ends[1].high) == (0, 1)


def _by_hand(truth, arm, grid, time="days"):
    """Go through the periods, and count who is at risk and who has the event."""
    inside, survived, found = truth["arm"] == arm, 1.0, []
    days, died = truth[time][inside], truth["died"][inside]
    edges = list(grid)
    for start, end in itertools.pairwise(edges):
        at_risk = (days >= start).sum()
        now = (days >= start) & (days < end) & died
        survived *= 1 - now.sum() / at_risk
        found.append(survived)
    return np.array(found)


def test_the_curve_and_its_spread_are_those_of_kaplan_meier_and_greenwood() -> None:
    cells = np.array([[5.0, 3.0, 20.0], [4.0, 6.0, 2.0]])
    survived, spread = kaplan_meier(cells)
    at_risk, events = np.array([40.0, 31.0, 22.0]), cells[1]
    assert survived == pytest.approx(np.cumprod(1 - events / at_risk))
    greenwood = survived * np.sqrt(np.cumsum(events / (at_risk * (at_risk - events))))
    assert spread == pytest.approx(greenwood)


def test_what_is_judged_is_what_was_released(clinic, budget) -> None:
    answer = clinic.ask(lw.count("patient", by=["arm", "ill"]), **offer(budget))
    judged = judge(answer, "proportions", outcome="ill", by="arm")
    assert judged.p == clinic.compare("patient", "ill", by="arm", **offer(budget)).p
    assert "valid under the noise" in str(judged)
    assert "p" in dict(judged.facts())
    assert judged._repr_html_().startswith("<table>")


@pytest.mark.parametrize(
    ("people", "epsilon", "hazard", "periods"), [(200, "0.2", 0.02, 20), (300, "0.05", 0.1, 24)], ids=["many", "noisy"]
)
def test_bands_hold_where_noise_is_larger_than_the_events_of_a_period(people, epsilon, hazard, periods) -> None:
    """With events cut at 0 the last one held in 18 of 100 cases."""
    noise = CellNoise(DiscreteLaplaceNoise(l1_sensitivity=1, scale=1 / Fraction(epsilon)))
    there = (1 - hazard) ** np.arange(periods)
    leaving = np.concatenate([np.zeros(periods - 1), [there[-1] * (1 - hazard)]])
    chances, truth, held, random = np.concatenate([leaving, there * hazard]), there * (1 - hazard), 0, draws_from(3)
    for number in range(25):
        cells = random.multinomial(people, chances / chances.sum(), 1).reshape(2, periods).astype(float)
        noisy = cells + noise.draw(random, cells.shape)
        curve = _curve(None, noisy, range(periods + 1), noise, draws_from(number))
        assert all(late <= early for early, late in itertools.pairwise(curve.survived))
        held += (np.array(curve.low) <= truth) & (truth <= np.array(curve.high))
    assert np.min(held) >= 18


def test_the_price_of_a_power_is_the_smallest_that_buys_it(clinic, budget) -> None:
    supposed = {"people": (2000, 2000), "shares": (0.10, 0.13)}
    words = {"table": "patient", "outcome": "ill", "by": "arm", "assume": supposed}
    found = clinic.preview_compare(**words, power="0.8")
    assert 0.79 < found.power < 0.84
    if budget.name == "epsilon":
        assert Fraction("0.15") < Fraction(found.price.epsilon) < Fraction("0.6"), "the study of the method says 0.29"
        less = clinic.preview_compare(**words, epsilon=Fraction(found.price.epsilon) * Fraction(9, 10))
        assert less.power < found.power
    few = supposed | {"people": (50, 50)}
    for wrong in ({"power": "0.8", "epsilon": 1}, {"power": "80"}, {"power": "0.99", "assume": few}):
        with pytest.raises((ParameterError, BadQuestionError)):
            clinic.preview_compare(**words | wrong)
    with pytest.raises(ParameterError, match="needs what is assumed"):
        clinic.preview_compare("patient", "ill", by="arm", power="0.8")

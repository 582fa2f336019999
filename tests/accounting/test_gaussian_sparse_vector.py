"""The bound on the Renyi divergence of a Gaussian sparse vector, against divergences computed from scratch."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp

from lapwing.accounting import gaussian_sparse_vector
from lapwing.accounting.gaussian_sparse_vector import renyi_bound
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import GaussianSparseVectorRelease


def event(*, rho=1.0, nu=2.0, questions=3, yeses=1, monotone=False, with_gap=False):
    return GaussianSparseVectorRelease(
        sensitivity=Fraction(1),
        threshold_sigma_squared=Fraction(rho) ** 2,
        query_sigma_squared=Fraction(nu) ** 2,
        questions=questions,
        yeses=yeses,
        monotone=monotone,
        with_gap=with_gap,
    )


def divergence(tree, *, questions, yeses, rho, nu, alpha):
    """The exact divergence of one adaptive strategy: answers so far -> (distance, how far the person moves it)."""
    z = np.linspace(-10 * rho, 10 * rho, 801)
    weights = -(z**2) / (2 * rho**2)
    weights -= logsumexp(weights)  # the trapezoidal rule is spectrally exact for a Gaussian
    moments = []

    def follow(answers, left, log_p, log_q):
        if len(answers) == questions or not left:
            moments.append(alpha * logsumexp(log_p) + (1 - alpha) * logsumexp(log_q))
            return
        distance, move = tree[answers]
        for sign, answer in ((1, 0), (-1, 1)):
            follow(
                (*answers, answer),
                left - answer,
                log_p + log_ndtr(sign * (z - distance) / nu),
                log_q + log_ndtr(sign * (z - distance - move) / nu),
            )

    follow((), yeses, weights, weights)
    return logsumexp(moments) / (alpha - 1)


def worst_found(*, questions, yeses, rho, nu, alpha, moves, seed):
    """Climb from a random strategy: the analyst's best of a few dozen changes."""
    rng = np.random.default_rng(seed)
    nodes = [answers for n in range(questions) for answers in itertools.product((0, 1), repeat=n)]
    tree = {node: (rng.normal(0, 3 * nu), rng.choice(moves)) for node in nodes}
    settings = {"questions": questions, "yeses": yeses, "rho": rho, "nu": nu, "alpha": alpha}
    best = divergence(tree, **settings)
    for _ in range(120):
        node = nodes[rng.integers(len(nodes))]
        before = tree[node]
        tree[node] = (before[0] + rng.normal(0, nu), rng.choice(moves))
        found = divergence(tree, **settings)
        if found >= best:
            best = found
        else:
            tree[node] = before
    return best


SETTINGS = [
    {"questions": 3, "yeses": 1, "rho": 1.0, "nu": 2.0, "alpha": 4.0},
    {"questions": 4, "yeses": 2, "rho": 1.0, "nu": 2.0, "alpha": 4.0},
    {"questions": 4, "yeses": 2, "rho": 3.0, "nu": 3.0, "alpha": 8.0},
    {"questions": 4, "yeses": 2, "rho": 0.75, "nu": 3.0, "alpha": 3.0},
    {"questions": 2, "yeses": 1, "rho": 40.0, "nu": 2.0, "alpha": 20.0},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
@pytest.mark.parametrize(
    ("monotone", "moves"), [(False, (-1.0, 1.0)), (True, (0.0, 1.0)), (True, (-1.0, 0.0))], ids=["any", "up", "down"]
)
def test_no_adaptive_analyst_gets_past_the_bound(settings, monotone, moves) -> None:
    found = worst_found(**settings, moves=moves, seed=7)
    stream = {name: value for name, value in settings.items() if name != "alpha"}
    assert found <= renyi_bound(event(**stream, monotone=monotone), settings["alpha"])


def test_the_search_refutes_a_sensitivity_that_is_four_times_too_small() -> None:
    settings = {"questions": 2, "yeses": 1, "rho": 2.0, "nu": 2.0, "alpha": 8.0}
    found = worst_found(**settings, moves=(-4.0, 4.0), seed=7)
    assert found > renyi_bound(event(rho=2.0, nu=2.0, questions=2), 8.0)


def reference_log_v(*, nu, questions, yeses, alpha, width, with_gap=False):
    """The recursion on a wide fine grid of points, with no bound in between: a hair too small, never too large."""
    x = np.linspace(-9 * nu, alpha * width + 13 * nu, 12001)
    log_no = alpha * log_ndtr((x - width) / nu) + (1 - alpha) * log_ndtr(x / nu)
    log_yes = alpha * log_ndtr((width - x) / nu) + (1 - alpha) * log_ndtr(-x / nu)
    if with_gap:
        log_yes = alpha * (alpha - 1) * width**2 / (2 * nu**2) + log_ndtr((alpha * width - x) / nu)
    log_v = np.zeros(yeses + 1)
    for _ in range(questions):
        steps = [np.max(np.logaddexp(log_yes + log_v[j - 1], log_no + log_v[j])) for j in range(1, yeses + 1)]
        log_v = np.maximum(log_v, [0.0, *steps])
    return log_v[-1]


@pytest.mark.parametrize(
    ("nu", "questions", "yeses", "alpha", "with_gap"),
    [
        (20.0, 200, 1, 8.0, False),
        (20.0, 200, 1, 8.0, True),
        (2.0, 1, 1, 20.0, False),  # the maximiser is near alpha * width: 9 deviations to the right do not see it
        (1.0, 1, 1, 8.0, False),
        (5.0, 20, 3, 4.0, False),
        (5.0, 20, 3, 4.0, True),
        (20.0, 50, 2, 1.5, False),
    ],
)
def test_the_bound_lies_above_the_recursion_and_close_to_it(nu, questions, yeses, alpha, with_gap) -> None:
    stream = event(rho=1e6, nu=nu, questions=questions, yeses=yeses, with_gap=with_gap)
    bound = renyi_bound(stream, alpha) * (alpha - 1)
    reference = reference_log_v(
        nu=nu, questions=questions, yeses=yeses, alpha=alpha, width=2.0, with_gap=with_gap
    ) + alpha * (alpha - 1) / (2 * 1e12)
    assert reference <= bound <= reference * 1.002 + 1e-9


def test_noise_that_is_rounded_to_the_lattice_is_covered() -> None:
    alpha, rho, nu = 5.0, 1.5, 1.0
    z = np.arange(-40, 41)
    log_p = np.log(np.exp(log_ndtr((z + 0.5) / rho)) - np.exp(log_ndtr((z - 0.5) / rho)) + 1e-300)

    def outcomes(first, second):
        no_no = log_p + log_ndtr((z - first - 0.5) / nu) + log_ndtr((z - second - 0.5) / nu)
        no_yes = log_p + log_ndtr((z - first - 0.5) / nu) + log_ndtr(-(z - second - 0.5) / nu)
        yes = log_p + log_ndtr(-(z - first - 0.5) / nu)
        return np.array([logsumexp(no_no), logsumexp(no_yes), logsumexp(yes)])

    found = max(
        logsumexp(alpha * outcomes(a, b) + (1 - alpha) * outcomes(a + 1, b - 1)) / (alpha - 1)
        for a in range(-12, 6)
        for b in range(-12, 6)
    )
    assert 0.5 < found <= renyi_bound(event(rho=rho, nu=nu, questions=2, yeses=1), alpha)


def test_questions_taken_in_blocks_cost_a_little_more_than_one_by_one_and_never_less(monkeypatch) -> None:
    settings = {"width": 0.05, "alpha": 6.0, "questions": 3000, "yeses": 3, "with_gap": False}
    in_blocks = gaussian_sparse_vector._log_v.__wrapped__(**settings)
    monkeypatch.setattr(gaussian_sparse_vector, "_ONE_BY_ONE", 10**9)
    monkeypatch.setattr(gaussian_sparse_vector, "_WORK", 10**9)
    one_by_one = gaussian_sparse_vector._log_v.__wrapped__(**settings)
    assert one_by_one <= in_blocks <= 1.005 * one_by_one


@pytest.mark.parametrize("with_gap", [False, True])
@pytest.mark.parametrize(("yeses", "width", "alpha"), [(33, 0.01, 6.0), (200, 0.003, 3.0), (200, 0.003, 64.0)])
def test_many_yeses_at_a_price_cost_a_little_more_than_one_by_one_and_never_less(
    yeses, width, alpha, with_gap, monkeypatch
) -> None:
    settings = {"width": width, "alpha": alpha, "questions": 5000, "yeses": yeses, "with_gap": with_gap}
    at_a_price = gaussian_sparse_vector._log_v.__wrapped__(**settings)
    monkeypatch.setattr(gaussian_sparse_vector, "_ONE_BY_ONE", 10**9)
    monkeypatch.setattr(gaussian_sparse_vector, "_WORK", 10**9)
    one_by_one = gaussian_sparse_vector._log_v.__wrapped__(**settings)
    assert one_by_one <= at_a_price <= 1.03 * one_by_one


def test_every_price_of_a_yes_gives_a_bound() -> None:
    """The search may end anywhere: what it returns is true all the same."""
    front = gaussian_sparse_vector._front(0.05, 6.0, with_gap=False)
    log_v = np.zeros(4)
    for _ in range(300):
        log_v[1:] = log_v[1:] + front.log_growth(np.exp(log_v[:-1] - log_v[1:]))
    for price in (0.0, 1e-9, 0.1, 1.0, 5.0, 6.0, 7.0, 30.0, 1000.0):
        growth = 300 * front.log_growth(np.exp([-price]))[0]
        assert price * 3 + growth >= log_v[3]
    assert log_v[3] <= gaussian_sparse_vector._at_a_price(front, np.zeros(4), 300) <= 1.2 * log_v[3]


def test_a_thousand_yeses_of_a_million_questions_and_more_are_priced() -> None:
    few, many, most = (
        renyi_bound(event(rho=500.0, nu=5000.0, questions=k, yeses=c), 33.0)
        for k, c in ((10**6, 1000), (10**9, 1000), (10**9, 10**5))
    )
    assert 0 < few < many < most < 200 * few
    counting = gaussian_sparse_vector._counting_bound(33 * 32 * (2 / 5000) ** 2 / 2, 10**6, 1000) / 32
    assert few < counting / 10, "far below what counting transcripts gives"


def test_a_million_questions_are_priced_and_cost_more_than_a_thousand() -> None:
    thousand, million = (renyi_bound(event(rho=10.0, nu=20.0, questions=10**n), 8.0) for n in (3, 6))
    assert thousand < million < 2 * thousand


def test_more_questions_more_yeses_and_a_gap_cost_more() -> None:
    base = renyi_bound(event(questions=50, yeses=2), 4.0)
    assert renyi_bound(event(questions=51, yeses=2), 4.0) > base
    assert renyi_bound(event(questions=50, yeses=3), 4.0) > base
    assert renyi_bound(event(questions=50, yeses=2, with_gap=True), 4.0) > base
    assert renyi_bound(event(questions=50, yeses=2, monotone=True), 4.0) < base


def test_hopelessly_little_noise_has_a_finite_price_that_joins_the_exact_one() -> None:
    alpha = 26.0  # with width 2, alpha (alpha - 1) width² / 2 is 1300, past what a float can hold
    huge = renyi_bound(event(rho=1e6, nu=1.0, questions=10, yeses=2), alpha)
    per_yes = alpha * 2.0**2 / 2
    assert 2 * per_yes < huge < 2 * per_yes + 1


@pytest.mark.parametrize("alpha", [1.0, 0.5, float("inf"), float("nan")])
def test_an_order_that_is_none_is_refused(alpha) -> None:
    with pytest.raises(ParameterError, match="alpha"):
        renyi_bound(event(), alpha)


@pytest.mark.parametrize("questions", [1, 10, 10**6, 10**9])
@pytest.mark.parametrize("yeses", [1, 3, 50])
def test_the_bound_by_counting_is_above_the_exact_sum_and_close_to_it(questions, yeses) -> None:
    most = min(yeses, questions)
    bound = gaussian_sparse_vector._counting_bound(601.0, questions, most)
    # e^601 as a fraction just below it: each term is then an exact integer multiple, and the logarithm is of an integer
    power = Fraction(601) / Fraction(math.log(2)) * (1 - Fraction(1, 10**14))
    total = sum(math.comb(questions, i) << math.floor(i * power) for i in range(most + 1))
    assert bound >= math.log(total)
    assert bound <= math.log(total) + most + 60


def test_more_questions_than_can_be_priced_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 1000000000 questions"):
        renyi_bound(event(questions=10**9 + 1), 2)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_slope_of_a_hazard_is_bounded_on_every_cell(sign) -> None:
    """By its derivative t (t - x) at points within; of the lower tail, t (t + x)."""

    def hazard(x):
        return gaussian_sparse_vector._hazard(x, log_ndtr(-sign * x))

    x = np.linspace(-9, 12, 212)
    bounds = gaussian_sparse_vector._hazard_slope(x, hazard(x))
    inside = x[:-1, None] + np.diff(x)[:, None] * np.linspace(0, 1, 9)
    slopes = np.abs(hazard(inside) * (hazard(inside) - sign * inside))
    assert (slopes.max(axis=1) <= bounds * (1 + 1e-9)).all()

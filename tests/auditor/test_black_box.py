"""The black box: what it can look at, what it may say, and that a true claim is not refuted."""

import json
import math
import time
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

from lapwing.auditor.black_box import FALSE_ALARM, _Trial, audit
from lapwing.auditor.finding import at_least, at_most, least_loss
from lapwing.auditor.outcomes import OutcomeReader, stacked
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, PureDP
from statistical.goodness import FALSE_ALARM as OF_A_TEST

ONE = PureDP(epsilon=1)


class Side(Enum):
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True)
class Report:
    said: str
    number: float


def coin(chance, rng):
    return bool(rng.random() < chance)


def biased(say):
    """A mechanism that says `say(True)` with probability 0.9 on one table and 0.1 on the other: epsilon is ln 9."""
    rng = np.random.default_rng(3)
    return lambda table: say(coin(0.9 if table else 0.1, rng))


WAYS_TO_SAY = {
    "truth values": bool,
    "numbers": float,
    "whole numbers": int,
    "huge numbers": lambda yes: 10**400 if yes else -(10**400),
    "fractions": lambda yes: Fraction(1, 3 if yes else 7),
    "text": lambda yes: "yes" if yes else "no",
    "bytes": lambda yes: b"1" if yes else b"0",
    "None": lambda yes: None if yes else 0,
    "members": lambda yes: Side.LEFT if yes else Side.RIGHT,
    "not a number": lambda yes: math.nan if yes else math.inf,
    "transcripts": lambda yes: ("no", "no", "yes") if yes else ("yes",),
    "lengths": lambda yes: [1] * (3 if yes else 2),
    "nested": lambda yes: {"sex": ("F", 3 if yes else 4)},
    "order of keys": lambda yes: {"a": 1, "b": 1} if yes else {"b": 1, "a": 1},
    "arrays": lambda yes: np.array([0.0, 1.0 if yes else 2.0]),
    "records": lambda yes: Report("fine", 1.5 if yes else 2.5),
}


@pytest.mark.parametrize("way", WAYS_TO_SAY)
def test_whatever_way_it_is_said_it_is_heard(way) -> None:
    finding = audit(biased(WAYS_TO_SAY[way]), claim=ONE, neighbours=(0, 1), samples=600)
    assert finding.refuted
    assert 1 < finding.achieved < math.log(9)


def test_failing_is_saying_something() -> None:
    rng = np.random.default_rng(3)

    def fails(table):
        if coin(0.9 if table else 0.1, rng):
            raise ZeroDivisionError
        return "fine"

    assert audit(fails, claim=ONE, neighbours=(0, 1), samples=600).refuted


def test_what_a_failure_says_is_heard() -> None:
    def tells(table):
        raise ValueError(f"there were {table} people")

    finding = audit(tells, claim=ONE, neighbours=(16, 17), samples=600)
    assert finding.refuted
    assert finding.suspect == "tells"


@pytest.mark.parametrize(
    ("claim", "truth"),
    [
        (PureDP(epsilon=1), math.log(9)),
        (ApproximateDP(epsilon=1, delta="0.1"), math.log(8)),
        (GaussianDP(mu_squared=1), 2 * norm.ppf(0.9)),
        (ConcentratedDP(rho="0.5"), None),
    ],
    ids=["pure", "approximate", "gaussian", "concentrated"],
)
def test_the_bound_comes_near_the_truth_and_stays_below(claim, truth) -> None:
    rng = np.random.default_rng(8)
    found = audit(
        many=lambda table, n: rng.random(n) < (0.9 if table else 0.1), claim=claim, neighbours=(0, 1), samples=50_000
    )
    assert found.refuted
    if truth is None:  # the largest of D_alpha / alpha is its limit at 1, and Kullback's divergence is in closed form
        truth = 0.8 * math.log(9)
    assert 0.6 * truth < found.achieved < truth


@pytest.mark.parametrize("n", [1, 7, 200])
@pytest.mark.parametrize("risk", [0.3, 1e-3])
def test_the_bounds_of_a_probability_are_those_of_clopper_and_pearson(n, risk) -> None:
    """By their definition: at the lower bound, that number of hits or more have just the probability `risk`."""
    for hits in {0, 1, n // 2, n}:
        low, high = float(at_least(hits, n, risk)), float(at_most(hits, n, risk))
        assert binom.sf(hits - 1, n, low) == pytest.approx(risk if hits else 1, rel=1e-5)
        assert binom.cdf(hits, n, high) == pytest.approx(risk if hits < n else 1, rel=1e-5)


def test_a_loss_grows_with_the_gap_between_the_bounds() -> None:
    low, high = np.meshgrid(np.linspace(0.01, 0.99, 50), np.linspace(0.01, 0.99, 50), indexing="ij")
    for claim in (ONE, ApproximateDP(epsilon=1, delta="0.05"), GaussianDP(mu_squared=1), ConcentratedDP(rho=1)):
        losses = least_loss(claim, low, high)
        assert (np.diff(losses, axis=0) >= -1e-12).all()
        assert (np.diff(losses, axis=1) <= 1e-12).all()
        assert (losses[low <= high] == 0).all()


def geometric(rng):
    q = math.exp(-1)
    return lambda count, n: count + rng.geometric(1 - q, n) - rng.geometric(1 - q, n)


AUDITS, LOOSE = 200, Fraction(1, 10)


def one_of_many_labels(rng):
    """Both tables say the same, in three hundred ways: among that many events some look telling."""
    names = np.array([f"label {i}" for i in range(300)])
    return lambda _, n: names[rng.integers(0, len(names), n)].tolist()


def just_at_its_delta(rng):
    """What one table never says has probability 1/2 on the other, and delta is 1/2: no claim is nearer to its edge."""
    return lambda table, n: (rng.random(n) < table / 2).astype(float)


HONEST = {
    "many events": (one_of_many_labels, PureDP(epsilon="0.001"), 400),
    "at the edge": (just_at_its_delta, ApproximateDP(epsilon="0.1", delta="0.5"), 4000),
}


def says_too_often(case) -> bool:
    """Whether these audits of a true claim refute it more often than the stated rate can explain."""
    make, claim, samples = HONEST[case]
    draw = make(np.random.default_rng(11))
    alarms = sum(
        audit(many=draw, claim=claim, neighbours=(1, 0), samples=samples, false_alarm=LOOSE).refuted
        for _ in range(AUDITS)
    )
    return bool(binom.sf(alarms - 1, AUDITS, float(LOOSE)) < OF_A_TEST)


@pytest.mark.parametrize("case", HONEST)
def test_a_true_claim_is_seldom_refuted(case) -> None:
    assert not says_too_often(case)


def test_an_auditor_that_confirms_on_the_draws_it_chose_from_is_noticed(monkeypatch) -> None:
    def again(self, pair, chosen, size, *, keep):
        del keep
        drawn = [stacked(self.learnt[pair, side])[:size] for side in range(2)]
        return [int((chosen.score.of(outcomes) >= chosen.threshold).sum()) for outcomes in drawn]

    monkeypatch.setattr(_Trial, "_confirm", again)
    assert says_too_often("many events")


def test_an_auditor_that_spends_eight_times_its_risk_is_noticed(monkeypatch) -> None:
    look = _Trial._look
    monkeypatch.setattr(_Trial, "_look", lambda self, size, risk: look(self, size, 8 * risk))
    assert says_too_often("at the edge")


def same_rows(one, other) -> bool:
    """Whether two readings by one reader are the same, beyond columns in which there is nothing."""
    width = max(one.columns, other.columns)
    one, other = one.widened(width), other.widened(width)
    return np.array_equal(one.labels, other.labels) and np.array_equal(one.numbers, other.numbers, equal_nan=True)


ROWS = {
    "numbers": [[1.5, -2.0], [0.0, -0.0], [math.nan, -0.0], [math.inf, -math.inf]],
    "whole numbers": [[1, 2], [3, 4]],
    "long whole numbers": [[2**60 + 1, 2], [3, -(2**62) - 1]],
    "truth values": [[True, False]],
    "single numbers": [1.5, -0.0, math.nan],
    "single whole numbers": [1, 2**60 + 1],
    "cubes": [[[1.0, 2.0], [3.0, -0.0]]],
    "complex numbers": [1 + 2j, 3 + 0j],
    "nothing": [[], []],
}
BESIDE = {"a missing one": None, "a fraction": Fraction(1, 3), "a ragged row": [1, 2, 3, 4], "text": "some"}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_an_output_is_read_alike_whatever_is_beside_it(rows, beside) -> None:
    """Alone in an array of its own dtype, in one of objects, in a list: the rest of the batch decides which it is."""
    reader, n = OutcomeReader(), len(rows)
    mixed = np.empty(n + 1, dtype=object)
    mixed[:] = [*rows, beside]
    expected = reader.read(rows)
    assert same_rows(reader.read(np.array(rows)), expected)
    assert same_rows(reader.read(np.array(rows, dtype=object)), expected)
    assert same_rows(reader.read(mixed)[:n], expected)
    assert same_rows(reader.read([*rows, beside])[:n], expected)


def test_text_is_read_alike_with_and_without_a_missing_one() -> None:
    reader = OutcomeReader()
    expected = reader.read(["a", "b"])
    assert same_rows(reader.read(np.array(["a", "b"])), expected)
    assert same_rows(reader.read(np.array(["a", "b", None]))[:2], expected)


def test_numbers_are_read_alike_from_arrays_of_every_kind() -> None:
    reader = OutcomeReader()
    expected = reader.read([[1, 0], [0, 1]])
    for kind in (bool, np.int8, np.uint64, np.float16, np.float32, np.float64, np.longdouble, complex, object):
        assert same_rows(reader.read(np.array([[1, 0], [0, 1]], dtype=kind)), expected)


def test_what_is_masked_is_nothing() -> None:
    reader = OutcomeReader()
    masked = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
    assert same_rows(reader.read(masked), reader.read([[1.0, None], [3.0, 4.0]]))


@pytest.mark.parametrize(
    "batches",
    [([1.5, 2.5], [1.5, "none"]), ([1.5, None], [1.5, "none"]), ([2**60 + 1, 2], [2**60 + 1, 0.5])],
    ids=["text", "objects and text", "doubles"],
)
@pytest.mark.parametrize("order", [1, -1], ids=["first", "last"])
def test_numbers_that_numpy_rewrote_in_some_batches_only_are_refused(batches, order) -> None:
    reader, (first, last) = OutcomeReader(), batches[::order]
    reader.read(np.array(first))
    with pytest.raises(ParameterError, match="the same number in the same way"):
        reader.read(np.array(last))


def test_a_rare_missing_number_is_no_difference() -> None:
    """One None in two thousand rows makes an array of objects of the whole batch; the tables are ignored."""
    rng = np.random.default_rng(0)

    def sums(_, n):
        rows = rng.normal(size=(n, 2)).round(3).tolist()
        return np.array(
            [[a, None if missing else b] for (a, b), missing in zip(rows, rng.random(n) < 5e-4, strict=True)]
        )

    found = [audit(many=sums, claim=ONE, neighbours=(0, 1), samples=2000) for _ in range(40)]
    assert not any(one.refuted for one in found)


@dataclass(frozen=True)
class Yes:
    gap: int


@dataclass(frozen=True)
class No:
    gap: int


class Named(NamedTuple):
    gap: int


CERTAIN = {
    "types": lambda table: Yes(0) if table else No(0),
    "named tuples": lambda table: Named(0) if table else (0,),
    "long integers": lambda table: 2**60 + table,
    "longer integers": lambda table: 10**400 + table,
    "fractions": lambda table: Fraction(1, 3) + Fraction(table, 10**20),
    "decimals": lambda table: Decimal("0.1") + Decimal(table) / 10**20,
    "the sign of zero": lambda table: -0.0 if table else 0.0,
    "imaginary parts": lambda table: 1 + 1j * table,
}


@pytest.mark.parametrize("say", CERTAIN.values(), ids=CERTAIN)
def test_what_a_double_does_not_hold_is_heard(say) -> None:
    assert audit(say, claim=ONE, neighbours=(0, 1), samples=100).refuted


def test_the_sign_of_zero_is_heard_in_arrays() -> None:
    found = audit(many=lambda table, n: np.full(n, -0.0 if table else 0.0), claim=ONE, neighbours=(0, 1), samples=100)
    assert found.refuted


def leaves(where, size):
    """A forest with noise in every leaf, in one of which a person counts fifty times."""
    rng = np.random.default_rng(4)

    def forest(table, n):
        counts = np.zeros(size)
        counts[where] = 50 * table
        return counts + np.round(rng.laplace(size=(n, size)), 3)

    return forest


def test_of_very_many_parts_those_that_differ_are_looked_at() -> None:
    found = audit(many=leaves(150, 200), claim=ONE, neighbours=(0, 1), samples=500)
    assert found.refuted
    assert "part 151" in found.where  # the heading is part 0


def test_parts_that_were_not_looked_at_are_told() -> None:
    many, few = (
        audit(many=leaves(0, size), claim=ONE, neighbours=(0, 0), samples=200, name="forest") for size in (90, 60)
    )
    assert "30 parts of the output vary, too, and were not looked at" in str(many)
    assert "not looked at" not in str(few)


def test_a_data_frame_is_read_by_rows() -> None:
    def frame(table, n):
        return pd.DataFrame({"fixed": np.ones(n), "count": np.full(n, table)})

    assert audit(many=frame, claim=ONE, neighbours=(0, 1), samples=100).refuted
    assert not audit(many=frame, claim=ONE, neighbours=(1, 1), samples=100).refuted


def test_the_lowest_bits_are_explained() -> None:
    """The scale is right, and the claim is false: a reader who sees only the first would not believe the second."""
    rng = np.random.default_rng(6)
    found = audit(many=lambda value, n: value + rng.laplace(size=n), claim=ONE, neighbours=(0, 1), samples=2000)
    assert found.refuted
    assert "finest bit of output" in found.where
    assert "lowest bits and no chance" in found.detail
    rounded = audit(
        many=lambda value, n: np.round((value + rng.laplace(scale=0.5, size=n)) * 8) / 8,
        claim=ONE,
        neighbours=(0, 1),
        samples=2000,
    )
    assert rounded.refuted
    assert "lowest bits" not in str(rounded)


@pytest.mark.parametrize("seconds", [None, 4], ids=["samples", "time"])
def test_the_looks_share_one_rate_of_false_alarms(seconds, monkeypatch) -> None:
    spent, clock, draw = [], [0.0], geometric(np.random.default_rng(1))
    look = _Trial._look

    def drawn(count, n):
        clock[0] += n * 1e-5
        return draw(count, n)

    monkeypatch.setattr(
        _Trial, "_look", lambda self, size, risk: (spent.append((size, risk)), look(self, size, risk))[1]
    )
    monkeypatch.setattr("lapwing.auditor.black_box.time.monotonic", lambda: clock[0])
    finding = audit(many=drawn, claim=ONE, neighbours=(0, 1), samples=100_000, seconds=seconds)
    assert len(spent) > 1
    assert [size for size, _ in spent] == sorted(size for size, _ in spent)
    assert sum(risk for _, risk in spent) <= float(FALSE_ALARM) * (1 + 1e-12)
    assert finding.confidence == 1 - Fraction(float(FALSE_ALARM))
    if seconds is not None:
        assert seconds / 2 < clock[0] <= seconds
        assert "time was over" in str(finding)


def test_time_that_is_over_ends_the_audit_and_is_told() -> None:
    found = audit(biased(lambda _: 0), claim=ONE, neighbours=(0, 1), samples=10**8, seconds=0.2)
    assert not found.refuted
    assert "time was over" in str(found)
    assert found.samples < 10**8


def test_a_mechanism_too_slow_for_the_time_it_is_given_is_not_judged() -> None:
    def slow(table):
        time.sleep(0.002)
        return table

    found = audit(slow, claim=ONE, neighbours=(0, 1), seconds=0.2)
    assert (found.refuted, found.achieved, found.where) == (False, 0, "no event stood out")
    assert found.samples == 50


def test_a_claim_that_is_not_refuted_is_not_called_private() -> None:
    found = audit(many=geometric(np.random.default_rng(1)), claim=ONE, neighbours=(0, 1), samples=1000)
    assert "not refuted" in str(found)
    assert "more draws may show more" in str(found)
    assert "private" not in str(found)


def test_the_same_draws_give_the_same_finding() -> None:
    def finding(seed):
        draw = geometric(np.random.default_rng(5))
        return audit(many=draw, claim=ONE, neighbours=(0, 1), samples=5000, seed=seed).to_json()

    assert finding(1) == finding(1)
    assert json.loads(finding(1))["claim"] == {"kind": "pure", "epsilon": "1"}
    assert len({finding(seed) for seed in range(5)}) > 1


def test_the_pair_that_shows_most_is_chosen() -> None:
    rng = np.random.default_rng(2)
    found = audit(
        many=lambda table, n: np.round(table + rng.laplace(0, 1, n), 3),
        claim=ONE,
        neighbours=[(0, 0), (5, 7), (3, 3)],
        samples=3000,
    )
    assert found.refuted
    assert "on 5 and" in found.where


def test_progress_is_told_and_ends_at_most_at_one() -> None:
    told = []
    audit(
        many=geometric(np.random.default_rng(1)),
        claim=ONE,
        neighbours=(0, 1),
        samples=20_000,
        progress=lambda done, doing: told.append((done, doing)),
    )
    assert told
    assert all(0 <= done <= 1 for done, _ in told)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


class Opaque:
    """Two of them are equal only if they are one."""


REFUSED = {
    "a number": ({"mechanism": 3}, "not one callable"),
    "nothing": ({"mechanism": None}, "not one callable"),
    "two mechanisms": ({"many": lambda _, n: [0] * n}, "not one callable"),
    "a number for a claim": ({"claim": 1.0}, "not a guarantee"),
    "a list that is not a pair": ({"neighbours": [0, 1]}, "not two neighbouring tables"),
    "three tables": ({"neighbours": (0, 1, 2)}, "not two neighbouring tables"),
    "no pair": ({"neighbours": []}, "not two neighbouring tables"),
    "too few draws": ({"samples": 3}, "out of range"),
    "negative time": ({"seconds": -1}, "negative"),
    "a sure alarm": ({"false_alarm": 2}, "not strictly between 0 and 1"),
    "a seed of text": ({"seed": "x"}, "not a number"),
    "outputs without a value": ({"mechanism": lambda _: Opaque()}, "cannot be compared"),
    "outputs without end": ({"mechanism": lambda _: [0] * 5000}, "has more than 2000"),
    "a scalar": ({"mechanism": None, "many": lambda _, _n: 3.0}, "is not a row of outputs"),
    "a generator": ({"mechanism": None, "many": lambda _, n: iter(range(n))}, "is not a row of outputs"),
    "a mapping": ({"mechanism": None, "many": lambda _, n: dict.fromkeys(range(n))}, "is not a row of outputs"),
    "one text": ({"mechanism": None, "many": lambda _, n: "x" * n}, "is not a row of outputs"),
    "an array of no dimension": ({"mechanism": None, "many": lambda _, n: np.array(n)}, "is not a row of outputs"),
    "a bar that is not there": ({"progress": True}, "cannot be called"),
    "one output short": ({"mechanism": None, "many": lambda _, n: [0] * (n - 1)}, "not the 250 asked for"),
}


@pytest.mark.parametrize(("arguments", "complaint"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_audited_is_refused(arguments, complaint) -> None:
    rest = {"mechanism": lambda _: 0, "claim": ONE, "neighbours": (0, 1), "samples": 250} | arguments
    with pytest.raises(ParameterError, match=complaint):
        audit(rest.pop("mechanism"), **rest)

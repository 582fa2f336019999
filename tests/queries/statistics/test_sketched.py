"""Sketches of different values: what they mark on average, how far a person moves them, and whether intervals hold."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

import lapwing as lw
from engines.clinic import clinic
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.queries.algebra.aggregate import LEVELS, DistinctKeys, SketchedKeys, mark
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.sketched import SketchLaw, released_between
from lapwing.vocabulary.errors import BadQuestionError, ParameterError

CLINIC = clinic()
CHANCES = [2.0 ** -(level + 1) for level in range(LEVELS - 1)] + [2.0 ** -(LEVELS - 1)]


def marked(rng, buckets, values):
    """How many places so many values mark, each thrown anew: by no hash."""
    levels = np.minimum(rng.geometric(0.5, values) - 1, LEVELS - 1)
    return np.unique(rng.integers(0, buckets, values) * LEVELS + levels).size


def test_two_values_share_a_place_as_often_as_their_chances_say() -> None:
    law = SketchLaw(buckets=64)
    assert sum(CHANCES) == 1
    together = sum(chance**2 for chance in CHANCES) / 64
    assert [law.expected(1), law.expected(2)] == pytest.approx([1, 2 - together], rel=1e-12)
    assert [law.values(marks) for marks in (-3, 0, 1)] == [0, 0, 1]
    assert all(law.values(law.expected(n)) == n for n in (1, 7, 300, 10**6))
    assert law.values(64 * LEVELS) > 10**9, "every place is marked"


def misses(between, buckets, values, runs=60):
    """How often an interval misses, where noise is geometric at epsilon 1."""
    rng, noise = np.random.default_rng(values), GeometricMechanism(l1_sensitivity=1, epsilon=1)
    margin, missed = noise.margin("0.975"), 0
    for _ in range(runs):
        two_sided = rng.geometric(1 - np.exp(-1)) - rng.geometric(1 - np.exp(-1))
        low, high = between(SketchLaw(buckets=buckets), marked(rng, buckets, values) + int(two_sided), margin, 0.025)
        missed += not low <= values <= high
    return missed


def forgetting_the_hash(law, released, margin, _risk):
    """The liar: an interval that knows of the noise only."""
    return law.values(released - margin), law.values(released + margin)


@pytest.mark.parametrize(("buckets", "values"), [(1024, 40), (256, 3000), (1024, 20_000)])
def test_the_interval_of_a_sketch_holds_and_one_that_forgets_the_hash_does_not(buckets, values) -> None:
    too_many = binom.isf(1e-9, 60, 0.05)
    assert misses(released_between, buckets, values) <= too_many
    if values > buckets:
        assert misses(forgetting_the_hash, buckets, values) > too_many


def test_an_interval_of_few_values_is_as_short_as_the_noise() -> None:
    assert released_between(SketchLaw(buckets=4096), 30, 3, 0.025) == (27, 35)


def registers(people):
    """The liar: the sum of the highest levels that were marked in each bucket (HyperLogLog), as if it moved by one."""
    highest = {}
    for bucket, level in itertools.chain(*people):
        highest[bucket] = max(level + 1, highest.get(bucket, 0))
    return sum(highest.values())


def test_one_person_makes_as_many_marks_as_values_count_and_moves_registers_by_more() -> None:
    rng = np.random.default_rng(3)
    by_marks, by_registers = 0, 0
    for salt in range(40):
        people = [{mark(salt, 8, int(one)) for one in rng.integers(0, 10**6, 2)} for _ in range(6)]
        for one in range(len(people)):
            others = people[:one] + people[one + 1 :]
            by_marks = max(by_marks, len(set().union(*people)) - len(set().union(*others)))
            by_registers = max(by_registers, registers(people) - registers(others))
    assert by_marks == 2
    assert by_registers > 2


def test_a_sketch_is_asked_for_with_its_buckets_and_has_the_sensitivity_of_the_plain_number() -> None:
    sketched = plan(lw.count_distinct("visits", "kind", max_groups=2, sketch=64), CLINIC)
    plain = plan(lw.count_distinct("visits", "kind", max_groups=2), CLINIC)
    assert sketched.aggregate.bounding == SketchedKeys(max_cells=2, buckets=64)
    assert plain.aggregate.bounding == DistinctKeys(max_cells=2)
    assert (sketched.sensitivity.l1, sketched.monotone) == (plain.sensitivity.l1, plain.monotone) == (2, True)
    assert sketched.numbers == 1


@pytest.mark.parametrize("buckets", [0, 63, 2**16 + 1, "many"])
def test_a_sketch_of_too_few_or_too_many_buckets_is_refused(buckets) -> None:
    with pytest.raises(ParameterError, match="sketch"):
        lw.count_distinct("visits", "kind", sketch=buckets)


def test_people_are_no_values_of_a_sketch() -> None:
    with pytest.raises(BadQuestionError, match="people are counted one by one"):
        plan(lw.count_distinct("visits", "pid", sketch=64), CLINIC)


def test_a_sketch_is_asked_at_the_door_on_every_kind_of_budget(tmp_path, budget) -> None:
    with lw.create(lw.make_clinic(tmp_path / "clinic", people=300, **budget.of(10))) as workspace:
        session = workspace.session()
        question = lw.count_distinct("patient", "age", sketch=1024)
        preview = session.preview(question, epsilon="1")
        assert "with 95 % confidence" in dict(preview.facts())["error"]
        with pytest.raises(BadQuestionError, match="depends on how many values there are"):
            session.preview(question, within=5)
        answer = session.ask(question, epsilon="1")
        assert "the error is about noise and the sketch only" in str(answer)
        assert answer.interval().low <= answer.value <= answer.interval().high <= 100

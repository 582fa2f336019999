"""Synthesis watched from outside, on a small domain: what is true stands, and plausible mistakes do not.

The mistakes are those that synthesizers have made, or that this one nearly did.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from lapwing.auditor.black_box import audit
from lapwing.mechanisms.screening import ScreeningMechanism
from lapwing.publishing.stages import GaussianPlan, PurePlan
from lapwing.vocabulary.event import GaussianNoise, PureRelease
from lapwing.vocabulary.guarantee import GaussianDP, PrivacyUnit, PureDP

CODES, UNIT = (2, 2, 2), PrivacyUnit(person_key="id")
FEW = np.array([[[9, 0], [7, 5]], [[8, 6], [0, 0]]])
MORE = FEW.copy()
MORE[1, 1, 1] += 1
"""One person more: the only one with these codes."""
PAID = 4
GAUSSIAN = GaussianPlan(codes=CODES, unit=UNIT, degree=3, mu_squared=Fraction(PAID))
PURE = PurePlan(codes=CODES, unit=UNIT, degree=2, epsilon=Fraction(2))
SETS = [axes for size in (1, 2, 3) for axes in itertools.combinations(range(3), size)]


def marginal(table, axes):
    return table.sum(axis=tuple(a for a in range(3) if a not in axes))


def counts(table, sets):
    return {axes: [int(one) for one in marginal(table, axes).ravel()] for axes in sets}


def synthesized(plan, table):
    """Return all that is released on the way, and what came of it."""
    stages, released = plan.stages(), []
    stage = next(stages)
    try:
        while True:
            released.append(stage.release(counts(table, stage.counted)))
            stage = stages.send(released[-1])
    except StopIteration as end:
        return released, end.value


def gaussian(mu_squared):
    return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / Fraction(mu_squared))


def screen(event, guesses=None):
    guesses = guesses or {axes: np.full([2] * len(axes), 4) for axes in SETS}
    return ScreeningMechanism(codes=CODES, guesses=guesses, unit=UNIT, event=event)


def refuted(watched, claim=None, samples=4000):
    claim = claim or GaussianDP(mu_squared=PAID)
    return audit(watched, claim=claim, neighbours=(FEW, MORE), samples=samples).refuted


def test_screens_keep_their_promise() -> None:
    whole = [tuple(range(3))]
    fair = screen(gaussian(1))
    assert not refuted(lambda table: fair.release(counts(table, whole)), GaussianDP(mu_squared=1), 1000)
    pure = screen(PureRelease(epsilon=Fraction(1)))
    assert not refuted(lambda table: pure.release(counts(table, whole)), PureDP(epsilon=1), 1000)


def test_a_screen_whose_noise_is_for_one_distance_is_seen() -> None:
    """All of them move together: noise for one is too small by the root of their number, or by their number."""
    whole = [tuple(range(3))]
    small = screen(gaussian(Fraction(len(SETS), 2)))
    assert refuted(lambda table: small.release(counts(table, whole)), GaussianDP(mu_squared=Fraction(1, 2)), 1500)
    pure = screen(PureRelease(epsilon=Fraction(2 * len(SETS))))
    assert refuted(lambda table: pure.release(counts(table, whole)), PureDP(epsilon=2), 1000)


def test_distances_of_tables_that_were_put_to_one_size_are_seen() -> None:
    """Divided by the true number of people, one person moves all cells."""
    guesses = {axes: np.zeros([2] * len(axes), int) for axes in SETS}
    for axes in SETS:
        guesses[axes].flat[0] = 400
    mechanism, whole = screen(gaussian(1), guesses), [tuple(range(3))]

    def liar(table):
        sized = np.rint(table * 1000 / table.sum()).astype(int)
        return mechanism.release(counts(sized, whole))

    assert refuted(liar, GaussianDP(mu_squared=1), 1000)


def test_a_guess_with_the_true_number_of_people_is_seen() -> None:
    """It moves with the person, so that the distance moves by two."""
    few, more = np.zeros((2, 2, 2), int), np.zeros((2, 2, 2), int)
    few[0, 0, 0] = more[0, 0, 0] = 20
    more[1, 1, 1] = 1

    def guessed(people):
        guesses = {axes: np.zeros([2] * len(axes), int) for axes in SETS}
        for axes in SETS:
            guesses[axes].flat[0] = people
        return screen(gaussian(4), guesses)

    knowing = {20: guessed(20), 21: guessed(21)}

    def liar(table):
        return knowing[int(table.sum())].release(counts(table, [tuple(range(3))]))

    assert audit(liar, claim=GaussianDP(mu_squared=4), neighbours=(few, more), samples=2000).refuted


def told(table, plan):
    """Return what somebody sees of a synthesis: numbers on the way, the model, its rows and its people."""
    released, measured = synthesized(plan, table)
    model, (first, *_) = measured.model, released
    rows = model.equal_rows(model.people)
    there = bool(((rows[0] == 1) & (rows[1] == 1) & (rows[2] == 1)).any())
    return [first[0][0], released[-1][0][0], model.people, model.count({0: [False, True], 1: [False, True]}), there]


@pytest.mark.parametrize(("plan", "claim"), [(GAUSSIAN, GaussianDP(mu_squared=PAID)), (PURE, PureDP(epsilon=2))])
def test_a_whole_synthesis_keeps_its_promise(plan, claim) -> None:
    assert not refuted(lambda table: told(table, plan), claim, 60)


FIRST = next(GAUSSIAN.stages())


def first_stage(table):
    return FIRST.release(counts(table, [tuple(range(3))]))[0][0]


def exact_gains(table):
    """Whether a triple is measured follows from its exact distance, and is seen."""
    off = [np.abs(one - one.mean(axis=2, keepdims=True)).sum() for one in (table, FEW, MORE)]
    return [first_stage(table), int(off[0] > (off[1] + off[2]) / 2)]


def own_codes(table):
    """A code is there if somebody has it."""
    return [first_stage(table), int((table > 0).sum())]


def true_size(table):
    """There are as many rows as people."""
    return [first_stage(table), int(table.sum())]


def copied_row(table):
    """One row of the data is mixed in: a canary that nobody else is like shows itself."""
    place = int(np.flatnonzero(table.ravel())[-1])
    return [first_stage(table), int(place == table.size - 1)]


def fidelity(table):
    """The usual fidelity report: how far the model's total is from the true one, which anybody then computes."""
    people = first_stage(table)
    return [people, people - abs(people - int(table.sum())) if people > table.sum() else int(table.sum())]


@pytest.mark.parametrize("liar", [exact_gains, own_codes, true_size, copied_row, fidelity])
def test_a_synthesis_that_looks_at_the_data_in_between_is_seen(liar) -> None:
    assert refuted(liar, GaussianDP(mu_squared=PAID), 300), liar.__doc__


def test_a_stage_whose_share_follows_from_the_data_is_seen() -> None:
    """A last stage takes what it needs, and no filter stands before it."""
    guesses = {(0, 1, 2): np.zeros((2, 2, 2), int)}
    greedy, modest = screen(gaussian(1), guesses), screen(gaussian(Fraction(1, 100)), guesses)

    def liar(table):
        return (greedy if table[1, 1, 1] else modest).release(counts(table, [tuple(range(3))]))[0]

    assert refuted(liar, GaussianDP(mu_squared=Fraction(1, 100)), 1000)

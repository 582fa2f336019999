"""The effect of answers on beliefs about one person: a study with her and without her, and bounds that are attained.

Alice and the study (document 004): a disease is rare or it is frequent, and nobody knows which. A study counts the sick
among Alice and some others, and publishes the number with geometric noise. An insurer who reads it comes to believe
something about Alice: most of that is about the world, and would be believed had she stayed at home.

The bounds are attained in exact fractions: twice epsilon, in its two meanings, and secrecy that keeps no secret. Where
e^epsilon is a fraction, so is every probability here, and "attained" means equal, not close.

Proof: proofs/attacks.md
"""

import math
from dataclasses import field
from fractions import Fraction
from itertools import product

from lapwing.accounting.interpretation import Worlds, belief_drift, compare_worlds
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_int, exact, positive, probability
from lapwing.vocabulary.frozen import frozen

RARE, FREQUENT = Fraction(1, 5), Fraction(3, 5)


@frozen()
class StudyBeliefs:
    """An insurer's posterior beliefs about Alice, for each possible answer of the study at this epsilon.

    `prior` is his belief beforehand that she is sick; the others are those afterwards, with her data used and left out.
    """

    epsilon: Fraction
    prior: float
    answers: tuple[int, ...]
    with_data: tuple[float, ...]
    without_data: tuple[float, ...]

    @property
    def bounds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Between what the belief with her data must lie, given the one without: the factor is e^(2 epsilon)."""
        lows, highs = zip(*(belief_drift(belief, self.epsilon) for belief in self.without_data), strict=True)
        return lows, highs

    @property
    def odds_factor(self) -> float:
        """By how much her data moves the odds at most, over all answers."""
        pairs = zip(self.with_data, self.without_data, strict=True)
        ratios = [one / (1 - one) / (other / (1 - other)) for one, other in pairs]
        return max(max(ratio, 1 / ratio) for ratio in ratios)


def study_beliefs(epsilon: Exact, *, others: int = 30, beyond: int = 15) -> StudyBeliefs:
    """Return the posterior beliefs of an insurer about Alice, who is in the study with `others`.

    The answers go as far as `beyond` below zero and above everybody.

    >>> beliefs = study_beliefs("1/2")
    >>> round(beliefs.prior, 3), round(beliefs.with_data[-1], 2), round(beliefs.without_data[-1], 2)
    (0.4, 0.71, 0.6)
    >>> round(beliefs.odds_factor, 4), round(math.exp(0.5), 4)
    (1.6487, 1.6487)
    """
    price, people = positive("epsilon", epsilon), as_int("others", others)
    prior = {
        (alice, sick): math.fsum(
            float(share if alice else 1 - share) * _binomial(people, sick, float(share)) / 2
            for share in (RARE, FREQUENT)
        )
        for alice in (0, 1)
        for sick in range(people + 1)
    }
    answers = range(-beyond, people + 2 + beyond)

    def after(told: int) -> Worlds[tuple[int, int]]:
        def likelihood(table: tuple[int, int]) -> float:
            return math.tanh(float(price) / 2) * math.exp(-float(price) * abs(told - sum(table)))

        return compare_worlds(prior, likelihood, lambda table: (0, table[1]))

    worlds = [after(told) for told in answers]
    return StudyBeliefs(
        epsilon=price,
        prior=_about_alice(prior),
        answers=tuple(answers),
        with_data=tuple(_about_alice(one.with_data) for one in worlds),
        without_data=tuple(_about_alice(one.without_data) for one in worlds),
    )


def _about_alice(beliefs: "dict[tuple[int, int], float]") -> float:
    return math.fsum(belief for (alice, _), belief in beliefs.items() if alice)


def _binomial(people: int, sick: int, share: float) -> float:
    return math.comb(people, sick) * share**sick * (1 - share) ** (people - sick)


_CELLS = range(-2, 4)
"""Noisy cells from -2 to 3: below 0 and above 1 the ratio of two geometric laws one apart no longer changes."""


@frozen()
class TwoCells:
    """Privacy loss of one person in a noisy table (sick, well), as ratios of probabilities; `ratio` is e^epsilon.

    `one_step` is the largest between the table with her and the one without her (ADD_REMOVE), `two_steps` the largest
    between the table where she is sick and the one where she is well (REPLACE). `surest` is the most that a belief of
    one half can become, about whether she is sick.
    """

    ratio: Fraction
    one_step: Fraction
    two_steps: Fraction
    surest: Fraction


def two_cells(ratio: Exact) -> TwoCells:
    """Attain twice epsilon between two records: geometric noise on the cells of a table in which everybody is once.

    Under `ADD_REMOVE` she adds one to one cell, and the table is epsilon-DP, exactly. Another record of hers takes one
    from a cell and adds one to the other, and the loss is twice epsilon, exactly. `ratio` is e^epsilon, above 1.

    >>> two_cells(2)
    TwoCells(ratio=Fraction(2, 1), one_step=Fraction(2, 1), two_steps=Fraction(4, 1), surest=Fraction(4, 5))
    """
    factor = _above_one(ratio)
    sick, well, absent = (1, 0), (0, 1), (0, 0)

    def likely(told: tuple[int, int], counts: tuple[int, int]) -> Fraction:
        return geometric(told[0] - counts[0], factor) * geometric(told[1] - counts[1], factor)

    def largest(one: tuple[int, int], other: tuple[int, int]) -> Fraction:
        told = list(product(_CELLS, _CELLS))
        return max(max(likely(t, one) / likely(t, other), likely(t, other) / likely(t, one)) for t in told)

    two_steps = largest(sick, well)
    return TwoCells(
        ratio=factor,
        one_step=max(largest(sick, absent), largest(well, absent)),
        two_steps=two_steps,
        surest=two_steps / (1 + two_steps),
    )


def with_and_without(ratio: Exact, doubt: Exact) -> Fraction:
    """Return by what factor one person's data moves a belief, in the example that attains e^(2 epsilon) in the limit.

    Two people's bits, almost surely both one; randomized response releases their exclusive or, and gives one. With the
    first person's data left out, as a zero, it is about the second alone (document 004, Theorem 2.1). `ratio` is
    e^epsilon, above 1, and `doubt` the prior belief that the second bit is zero.

    >>> with_and_without(2, "1e-9"), float(with_and_without(2, "1e-9"))
    (Fraction(3999999998, 1000000001), 3.999999994)
    """
    factor, small = _above_one(ratio), probability("doubt", doubt)
    prior = {(1, 1): 1 - small, (1, 0): small}

    def told_one(first: int, second: int) -> Fraction:
        return (factor if first ^ second else Fraction(1)) / (1 + factor)

    used = {bits: belief * told_one(*bits) for bits, belief in prior.items()}
    unused = {bits: belief * told_one(0, bits[1]) for bits, belief in prior.items()}
    return (used[1, 0] / sum(used.values())) / (unused[1, 0] / sum(unused.values()))


@frozen()
class PublishedInTheClear:
    """The effect of naming and shaming: the belief that she is sick, before and after she was named as sick.

    `additive` is the smallest delta for which it has delta-additive secrecy, exactly; `somebody` how likely it is that
    somebody is named.
    """

    additive: Fraction
    before: Fraction
    after: Fraction
    somebody: Fraction = field(repr=False)  # exact, and thousands of digits long


def name_one(*, delta: Exact, prior: Exact, people: int) -> PublishedInTheClear:
    """Publish each person's record with probability delta, and look at one that is published (Exercise 2.3).

    >>> named = name_one(delta="1/1000", prior="1/1000", people=5000)
    >>> named.additive, named.before, named.after, round(float(named.somebody), 4)
    (Fraction(1, 1000), Fraction(1, 1000), Fraction(1, 1), 0.9933)
    >>> named
    PublishedInTheClear(additive=Fraction(1, 1000), before=Fraction(1, 1000), after=Fraction(1, 1))
    """
    chance, before = probability("delta", delta), probability("prior", prior)
    sick, well = ({record: chance, None: 1 - chance} for record in ("sick", "well"))
    told = {*sick, *well}
    additive = sum((max(sick.get(t, Fraction(0)) - well.get(t, Fraction(0)), Fraction(0)) for t in told), Fraction(0))
    seen, unseen = before * sick["sick"], (1 - before) * well.get("sick", Fraction(0))
    return PublishedInTheClear(
        additive=additive,
        before=before,
        after=seen / (seen + unseen),
        somebody=1 - (1 - chance) ** as_int("people", people),
    )


def geometric(noise: int, ratio: Fraction) -> Fraction:
    """Return the probability of this two-sided geometric noise, at e^epsilon = ratio."""
    return (ratio - 1) / (ratio + 1) / ratio ** abs(noise)


def _above_one(ratio: Exact) -> Fraction:
    factor = exact("ratio", ratio)
    if factor <= 1:
        raise ParameterError("ratio", ratio, reason="is not e^epsilon of a positive epsilon", remedy="give more than 1")
    return factor

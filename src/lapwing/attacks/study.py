"""Alice and the study: what is learned about her with her data, and what is learned without it (document 004).

A disease is rare or it is frequent, and nobody knows which. A study counts the sick among Alice and some others, and
tells the number with geometric noise. An insurer who reads it comes to believe something about Alice: most of that is
about the world, and would be believed had she stayed at home.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from lapwing.accounting.interpretation import Worlds, belief_drift, compare_worlds
from lapwing.vocabulary.exact import Exact, as_int, positive

RARE, FREQUENT = Fraction(1, 5), Fraction(3, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyBeliefs:
    """What an insurer believes about Alice after each answer that the study might give.

    Parameters
    ----------
    epsilon : what the answer cost
    prior : his belief beforehand that she is sick
    answers : the answers
    with_data, without_data : his belief afterwards, if her data was used and if it was left out
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
        return max(
            max(ratio, 1 / ratio)
            for ratio in (
                _odds(one) / _odds(other) for one, other in zip(self.with_data, self.without_data, strict=True)
            )
        )


def study_beliefs(epsilon: Exact, *, others: int = 30, beyond: int = 15) -> StudyBeliefs:
    """Return what an insurer comes to believe about Alice.

    Parameters
    ----------
    epsilon : what the answer cost
    others : how many people are in the study with her
    beyond : how far the answers go below zero and above everybody

    Examples
    --------
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
        return compare_worlds(prior, lambda t: _likelihood(told - sum(t), float(price)), lambda t: (0, t[1]))

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


def _likelihood(noise: int, epsilon: float) -> float:
    return math.tanh(epsilon / 2) * math.exp(-epsilon * abs(noise))


def _binomial(people: int, sick: int, share: float) -> float:
    return math.comb(people, sick) * share**sick * (1 - share) ** (people - sick)


def _odds(belief: float) -> float:
    return belief / (1 - belief)

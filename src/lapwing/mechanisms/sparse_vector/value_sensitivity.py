"""How far one person can move the values of a stream, and which way.

The price of a yes hangs on this. If a person can only push values one way (a newcomer never lowers a count), a yes
costs half of what it costs otherwise. So the cheap case cannot be switched on: it follows from facts that are typed.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_int, exact, fill, positive
from lapwing.vocabulary.guarantee import Adjacency, checked_adjacency


@dataclass(frozen=True, slots=True, init=False)
class ValueSensitivity:
    """For one of two neighbouring tables, every value of the stream lies within [-down, +up] of the other's.

    It speaks of all questions of a stream together: of two neighbours, one and the same is the one whose values are at
    most `up` higher and at most `down` lower. It is made by the constructor that names what is asked, and by no other:
    the cheap case must follow from an adjacency. The bounds are for one of the `people` who are protected together.

    >>> ValueSensitivity.of_counts(Adjacency.ADD_REMOVE).in_steps(Fraction(1))
    (1, 1)
    >>> ValueSensitivity.of_counts(Adjacency.REPLACE).in_steps(Fraction(1))  # one may rise while another one falls
    (1, 2)
    >>> ValueSensitivity.of_anything(sensitivity=3).in_steps(Fraction(1, 2))
    (6, 12)
    >>> ValueSensitivity(up=1, down=0)
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: sensitivity = 'ValueSensitivity(...)' does not say what is asked of which
    neighbours; write ValueSensitivity.of_counts, of_sums, of_arrivals or of_anything
    """

    up: Fraction
    down: Fraction
    people: int

    def __init__(self, *_: object, **__: object) -> None:
        reason = "does not say what is asked of which neighbours"
        remedy = "write ValueSensitivity.of_counts, of_sums, of_arrivals or of_anything"
        raise ParameterError("sensitivity", "ValueSensitivity(...)", reason=reason, remedy=remedy)

    @classmethod
    def of_counts(cls, adjacency: Adjacency, *, people: int = 1) -> "ValueSensitivity":
        """Describe counts of people who fulfil a condition on their own data, asked as "at least".

        "At most 5" is not such a question; ask "at least 6" and turn the answer round. Neither is a difference of
        counts, a share of the population, or a condition on several people at once: `of_anything` serves those.
        """
        return cls.of_sums(adjacency, most=1, people=people)

    @classmethod
    def of_sums(cls, adjacency: Adjacency, *, most: Exact, people: int = 1) -> "ValueSensitivity":
        """Describe sums of one term a person, each between 0 and `most` and computed from that person's data alone."""
        return cls.of_arrivals(adjacency, up=most, down=0, people=people)

    @classmethod
    def of_arrivals(cls, adjacency: Adjacency, *, up: Exact, down: Exact, people: int = 1) -> "ValueSensitivity":
        """Describe values that an arriving person raises by at most `up` and lowers by at most `down`.

        The bounds hold whoever is there already. Replacing a person is a departure and an arrival, so under `REPLACE` a
        value moves by up to up + down, either way.
        """
        raised, lowered = exact("up", up), exact("down", down)
        if checked_adjacency(adjacency) is Adjacency.REPLACE:
            raised = lowered = raised + lowered
        return _validate(up=raised, down=lowered, people=people)

    @classmethod
    def of_anything(cls, *, sensitivity: Exact, people: int = 1) -> "ValueSensitivity":
        """Describe values of which it is only known that one person moves them by at most `sensitivity`, either way."""
        bound = positive("sensitivity", sensitivity)
        return _validate(up=bound, down=bound, people=people)

    def in_steps(self, grid: Fraction) -> tuple[int, int]:
        """Return (rise, span) for values put on the multiples of `grid`, in such multiples.

        Between neighbours, in either order, no value rises by more than `rise`, and rises and falls of two values
        together make at most `span`. Where all of them move the same way the two are equal, and a yes costs half.

        Proof: proofs/sparse_vector.md
        """
        up, down = math.ceil(self.up / grid), math.ceil(self.down / grid)
        return self.people * max(up, down), self.people * (up + down)


def _validate(*, up: Fraction, down: Fraction, people: int) -> ValueSensitivity:
    for name, bound in (("up", up), ("down", down)):
        if bound < 0:
            raise ParameterError(name, bound, reason="is negative", remedy="write how far, without a sign")
    if not up + down:
        raise ParameterError("up", 0, reason="and down are both zero", remedy="such a value needs no noise: show it")
    made = object.__new__(ValueSensitivity)
    fill(made, up=up, down=down, people=as_int("people", people))
    return made

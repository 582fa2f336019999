"""Random values to add up: columns, clipped ones, ages and days between two, and arithmetic aimed at the edges.

An engine counts in 64 bits. A term that could leave them has to be refused, however it is put together; so constants
here are near powers of two, and some terms are made to reach as far as the rules allow.
"""

from datetime import date
from fractions import Fraction

from lapwing.queries.catalogue.column import Date, Integer, Real
from lapwing.queries.language.expressions import Age, Applied, Arithmetic, Case, Clip, Compare, Literal, Name, extreme

EDGES = (2**20, 2**31, 2**51, 2**52, 2**53, 2**60, 2**61, 2**62, 2**63 - 1, 2**63, 2**64, 10**30)
SMALL = (0, 1, 2, 3, 7, 100)


def value(rng, table, *, wild=0.5):
    """Draw a value of a row of `table`, so often at the edge; None where it has no column of numbers or days."""
    numbers = [c for c in table.columns if isinstance(c.type, Integer | Real)]
    days = [Name(c.name) for c in table.columns if isinstance(c.type, Date)]
    if not numbers and not days:
        return None

    def leaf():
        if days and (not numbers or rng.random() < 0.3):
            return _elapsed(rng, days)
        return _to_the_edge(rng, numbers) if rng.random() < wild else _column(rng, numbers)

    if rng.random() < 0.2:
        return function_of(rng, leaf(), leaf() if rng.random() < 0.3 else _constant(rng, wild))
    if rng.random() < 0.6:
        return leaf()
    return _arithmetic(rng, leaf(), leaf() if rng.random() < 0.5 else _constant(rng, wild))


def function_of(rng, inside, other):
    """Draw a function of the table of a value, with widths that are small, at the edge, or none at all."""
    name = rng.choice(["abs", "sign", "floor", "ceil", "round", "//", "%", "step", "greatest", "least", "/", "/"])
    if name == "/":
        return quotient(rng, inside, other)
    if name in {"greatest", "least"}:
        return extreme(name, [inside, other])
    if name in {"//", "%", "step"}:
        return Applied(name, inside, Literal(rng.choice([1, 2, 7, 10, rng.choice(EDGES), 0, -3])))
    if name == "round":
        return Applied(name, inside, Literal(rng.choice([0, -1, -3, -18, 1])))
    share = Literal(Fraction(1, rng.choice([1, 3, 4, 2**62])))
    return Applied(name, rng.choice([inside, Arithmetic("*", inside, share)]))


def quotient(rng, above, below):
    """Draw a quotient: of what may be 0, of what is not 0, or within bounds that an infinity is moved to."""
    below = rng.choice([below, Case(((Compare("<>", below, Literal(0)), below),))])
    made = Applied("/", above, below)
    bounds = [(0, 10), (-3, 3), (Fraction(-1, 3), Fraction(7, 2)), (-(2**40), 2**40)]
    return rng.choice([made, Clip(made, *map(Literal, rng.choice(bounds)))])


def _arithmetic(rng, left, right):
    both = [left, right]
    rng.shuffle(both)
    return Arithmetic(rng.choice("+-*"), *both)


def _constant(rng, wild):
    near = rng.choice([rng.choice(SMALL), Fraction(rng.randint(1, 9), 2 ** rng.randint(1, 4))])
    return Literal(rng.choice([1, -1]) * (rng.choice(EDGES) if rng.random() < wild else near))


def _column(rng, numbers):
    column = rng.choice(numbers)
    name = Name(column.name)
    return name if rng.random() < 0.4 else Clip(name, *_limits(rng, column.type))


def _limits(rng, kind):
    """Draw bounds for a clip: of a few steps, near the declared ones, at the edges, or the wrong way round."""
    low = getattr(kind, "low", None) or 0
    at = rng.choice([0, int(low), -1, 1000])
    limits = [
        (at, at + rng.choice([0, 1, 30])),
        (-rng.choice(EDGES), rng.choice(EDGES)),
        (Fraction(1, 3), Fraction(100, 7)),
        (-(2**52), 2**52),
    ]
    return tuple(Literal(limit) for limit in rng.choice(limits))


def _to_the_edge(rng, numbers):
    """Draw 2^k * (clip(x, a, a + 1) - a), or two of them, that reach 2^61, 2^62 or 2^63 steps of their grid."""
    bits = rng.choice([61, 62, 62, 63])

    def step(at):
        column = rng.choice(numbers)
        power = 2 ** max(0, bits - max(0, getattr(column.type, "bits", 0)))
        return Literal(power) * (Clip(Name(column.name), Literal(at), Literal(at + 1)) - at)

    far, near = rng.choice([(-1, 1000), (1000, -1), (0, 0)])
    return rng.choice([step(far), step(far) - step(near), step(far) - step(near), step(far) + step(near)])


def _elapsed(rng, days):
    one, other = rng.choice(days), rng.choice([*days, Literal(date(2020, 2, 29)), Literal(date.min)])
    gap = rng.choice([Age(one), Age(one, other), Arithmetic("-", one, other)])
    if rng.random() < 0.3:
        return gap
    far = rng.choice([2**31, 2**53, 2**62, 2**63, 2**64, 10**30])
    low, high = rng.choice([(0, 30), (-9999, 9999), (-far, far), (0, far), (-far, -1), (3, 3)])
    return Clip(gap, Literal(low), Literal(high))

"""How likely each report is, as whole numbers that are fixed before anybody answers.

There are two laws, and both are one: *name `size` of `answers` numbers, your own among them with probability
heads/unit*. Subset selection names some of the answers themselves; of all laws of the local model it has the least
variance, and with size 1 it is randomized response. Where there are too many answers for that, the linear hash names
one of a few hash values (optimal local hashing, with a hash whose counts a transform can read).

Theorem: Ye, Barg, *Optimal schemes for discrete distribution estimation under locally differential privacy*, 2018;
Wang, Blocki, Li, Jha, *Locally differentially private protocols for frequency estimation*, USENIX Security 2017.
Proof: proofs/local_reports.md
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Final

from lapwing.noise.decay import exponential_bounds
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.frozen import frozen

UNIT: Final = 1 << 32  # faces of the die that decides; a browser draws so many bits at once
LARGEST_EPSILON: Final = 20
LARGEST_DOMAIN: Final = 1 << 23  # answers that are counted all at once
LARGEST_CODE: Final = 1 << 53  # whole numbers up to it are exact in every browser
_MOST_BITS: Final = 1024  # of a report that names answers; beyond, subsets are better than hashes by less than 1 %
_MOST_ANSWERS: Final = 4096  # of a hash
_MOST_PREFIXES: Final = 1 << 20  # that the first group tells apart
_MOST_EXTENSIONS: Final = 1 << 18  # of one prefix that is kept
_PRECISION: Final = 256


@frozen()
class ReportLaw:
    """The law of one report, in whole numbers.

    >>> law = ReportLaw(domain=3, answers=3, size=1, heads=2, unit=4)
    >>> law.ratio, law.truth, law.lie
    (Fraction(2, 1), Fraction(1, 2), Fraction(1, 4))
    """

    domain: int  # how many truths there are
    answers: int  # how many numbers a report can name
    size: int  # how many it names
    heads: int
    unit: int = UNIT
    prime: int = 0
    forms: int = 0
    lengths: tuple[int, ...] = ()  # how many digits each group hashes; none where answers are named as they are

    @property
    def ratio(self) -> Fraction:
        """How much likelier a report is for a truth that it names than for one that it does not."""
        return Fraction(self.heads * (self.answers - self.size), (self.unit - self.heads) * self.size)

    @property
    def truth(self) -> Fraction:
        """The probability that a report agrees with the person's own answer."""
        return Fraction(self.heads, self.unit)

    @property
    def lie(self) -> Fraction:
        """The probability that it agrees with any other answer."""
        if self.lengths:
            return Fraction(1, self.answers)
        return (self.size - self.truth) / (self.answers - 1)

    @property
    def variance(self) -> Fraction:
        """How much one person adds to the variance of the estimated count of an answer that is not theirs."""
        return self.lie * (1 - self.lie) / (self.truth - self.lie) ** 2

    @property
    def groups(self) -> int:
        """Into how many groups people divide themselves."""
        return max(1, len(self.lengths))

    def numbers(self) -> dict[str, Any]:
        """Return the numbers that a client needs."""
        names = ("answers", "size", "heads", "unit", "prime", "forms")
        return {**{name: getattr(self, name) for name in names}, "lengths": list(self.lengths)}

    def keeps(self, epsilon: Fraction) -> bool:
        """Say whether no report is more than e^epsilon times as likely for one truth as for any other.

        Compared are fractions, with a certified lower bound of e^epsilon. That the lie is not the likelier one is the
        other half: at a tiny epsilon a probability that is rounded down would make it so.
        """
        return 1 < self.ratio <= exponential_below(epsilon)

    def misfit(self, report: object) -> str | None:
        """Return what is wrong with a report, in words, or None where it is one."""
        if not isinstance(report, list) or not all(type(number) is int for number in report):
            return "is not a list of whole numbers"
        head, named = 1 + self.forms if self.lengths else 0, self.size
        if len(report) != head + named:
            return f"has {len(report)} numbers and not {head + named}"
        answers = report[head:]
        if answers != sorted(set(answers)) or not 0 <= answers[0] <= answers[-1] < self.answers:
            return f"does not name {named} different answers below {self.answers}, in order"
        if head and not 0 <= report[0] < len(self.lengths):
            return f"is of group {report[0]}, and there are {len(self.lengths)}"
        if head and not all(0 <= seed < self.prime ** self.lengths[report[0]] for seed in report[1:head]):
            return f"has a seed that is not below {self.prime ** self.lengths[report[0]]}"
        return None


def exponential_below(epsilon: Fraction) -> Fraction:
    """Return a fraction that is at most e^epsilon, and nearly that."""
    return Fraction(1 << _PRECISION, exponential_bounds(epsilon.numerator, epsilon.denominator, _PRECISION)[1])


def choose_law(domain: int, epsilon: Fraction) -> ReportLaw:
    """Return the law of least variance whose reports stay short.

    >>> choose_law(10, Fraction(1)).size, choose_law(100_000, Fraction(1)).answers
    (2, 4)
    """
    named = name_some(domain, epsilon)
    bits = min(domain, named.size * (domain - 1).bit_length())
    return named if bits <= _MOST_BITS else hash_all(domain, epsilon)


def name_some(domain: int, epsilon: Fraction) -> ReportLaw:
    """Return subset selection with the best size, at most half of all answers."""
    ideal = int(domain / (exponential_below(epsilon) + 1))
    sizes = {min(max(1, size), domain // 2) for size in (1, ideal, ideal + 1)}
    return _best(epsilon, (_with_most_truth(epsilon, domain, domain, size=size) for size in sizes))


def hash_all(domain: int, epsilon: Fraction) -> ReportLaw:
    """Return the linear hash whose counts of all answers come out of transforms of at most `LARGEST_DOMAIN` numbers."""
    fields = ((prime, forms, _digits(domain, prime)) for prime, forms in _fields(epsilon))
    return _best(
        epsilon,
        (
            _with_most_truth(epsilon, domain, prime**forms, prime=prime, forms=forms, lengths=(digits,))
            for prime, forms, digits in fields
            if prime**digits <= LARGEST_DOMAIN
        ),
    )


def hash_prefixes(domain: int, epsilon: Fraction) -> ReportLaw:
    """Return the linear hash of the first digits of codes that are too many to be counted all at once.

    People divide themselves into as few groups as let one transform read all extensions of a prefix: with more groups,
    each has fewer people, and so more noise.
    """
    laws = []
    for prime, forms in _fields(epsilon):
        digits, first, further = (_digits(one, prime) for one in (domain, _MOST_PREFIXES + 1, _MOST_EXTENSIONS + 1))
        first, further = first - 1, further - 1  # the most digits that stay within
        steps = -(-(digits - first) // further)
        lengths = tuple(first + (digits - first) * step // steps for step in range(steps + 1))
        if prime**digits <= LARGEST_CODE:
            laws.append(_with_most_truth(epsilon, domain, prime**forms, prime=prime, forms=forms, lengths=lengths))
    return _best(epsilon, laws)


def _with_most_truth(epsilon: Fraction, domain: int, answers: int, size: int = 1, **hashed: Any) -> ReportLaw:
    """Return the law of this shape with the largest `heads` that e^epsilon allows."""
    odds = exponential_below(epsilon) * Fraction(size, answers - size)
    return ReportLaw(domain=domain, answers=answers, size=size, heads=int(UNIT * odds / (1 + odds)), **hashed)


def _best(epsilon: Fraction, laws: Iterable[ReportLaw]) -> ReportLaw:
    """Return the law that keeps epsilon and estimates with the least variance, given the people that a group has."""
    kept = [law for law in laws if law.keeps(epsilon)]
    if not kept:
        reason = f"makes the lie as likely as the truth, in steps of 1/{UNIT}"
        raise ParameterError("epsilon", str(epsilon), reason=reason, remedy='write a larger one, such as "0.001"')
    return min(kept, key=lambda law: (law.groups * law.variance, law.answers, law.size))


def _fields(epsilon: Fraction) -> Sequence[tuple[int, int]]:
    """Return (prime, forms): hashes to a prime number of answers, or to a power of two, around e^epsilon + 1."""
    most = min(_MOST_ANSWERS, int(3 * exponential_below(epsilon)) + 12)
    sieve = [True] * most
    for factor in range(2, math.isqrt(most) + 1):
        sieve[factor * factor :: factor] = [False] * len(sieve[factor * factor :: factor])
    return [(prime, 1) for prime in range(2, most) if sieve[prime]] + [(2, f) for f in range(2, most.bit_length())]


def _digits(domain: int, prime: int) -> int:
    """Return how many digits of this base tell all numbers below `domain` apart."""
    digits, reach = 1, prime
    while reach < domain:
        digits, reach = digits + 1, reach * prime
    return digits

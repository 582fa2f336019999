"""No report is more than e^epsilon times as likely for one truth as for another: listed, as fractions."""

import itertools
import math
from fractions import Fraction

import pytest

import lapwing as lw
from lapwing.errors import ParameterError
from lapwing.surveys.report_law import UNIT, ReportLaw, choose_law, hash_all, hash_prefixes, name_some
from surveys.dice import exact_reports

SMALL = 24  # faces of the die that decides, so that all its throws can be listed
SHAPES = {
    "randomized response of 2": {"domain": 2, "answers": 2, "size": 1},
    "2 of 5": {"domain": 5, "answers": 5, "size": 2},
    "3 of 6": {"domain": 6, "answers": 6, "size": 3},
    "one form over 3": {"domain": 9, "answers": 3, "size": 1, "prime": 3, "forms": 1, "lengths": (2,)},
    "two forms over 2": {"domain": 7, "answers": 4, "size": 1, "prime": 2, "forms": 2, "lengths": (3,)},
    "prefixes": {"domain": 8, "answers": 2, "size": 1, "prime": 2, "forms": 1, "lengths": (1, 3)},
}
EPSILONS = [Fraction(text) for text in ("1e-6", "0.001", "0.1", "0.5", "1", "2", "3", "5", "8", "12", "20")]


def bounds_of_e(epsilon):
    """Enclose e^epsilon by its series: once terms halve, what is left out is at most the last of them."""
    terms = [Fraction(1)]
    while len(terms) < 2 * epsilon + 4 or terms[-1] > Fraction(1, 10**40):
        terms.append(terms[-1] * epsilon / len(terms))
    return sum(terms), sum(terms) + terms[-1]


def worst_ratio(law):
    """Return how much likelier any report is for one truth than for another, at most."""
    laws = [exact_reports(law, truth) for truth in range(law.domain)]
    assert {sum(one.values()) for one in laws} == {1}
    assert len({frozenset(one) for one in laws}) == 1, "some report gives a truth away"
    return max(here[said] / there[said] for here, there in itertools.permutations(laws, 2) for said in here)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("heads", [1, 7, 11, 13, 16, 19, 23])
def test_every_report_is_as_likely_as_its_law_says(shape, heads) -> None:
    law = ReportLaw(heads=heads, unit=SMALL, **shape)
    worst = worst_ratio(law)
    assert worst == max(law.ratio, 1 / law.ratio)
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
        low, high = bounds_of_e(epsilon)
        assert law.keeps(epsilon) == (1 < law.ratio <= low)
        assert not law.keeps(epsilon) or worst <= low < high


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_report_agrees_with_ones_own_answer_and_with_any_other_as_often_as_stated(shape) -> None:
    """Listed for all pairs of answers: 0, and multiples of one another, collide as others do."""
    law = ReportLaw(heads=17, unit=SMALL, **{**shape, "lengths": shape.get("lengths", ())[-1:]})
    for truth, answer in itertools.product(range(law.domain), repeat=2):
        agreeing = sum(
            chance for report, chance in exact_reports(law, truth).items() if _agrees(law, list(report), answer)
        )
        assert agreeing == (law.truth if truth == answer else law.lie)


def _agrees(law, report, answer):
    """Say whether a report agrees with an answer, from the definition."""
    if not law.lengths:
        return answer in report
    digits = [answer // law.prime**place % law.prime for place in range(law.lengths[0])]
    forms = [
        sum(seed // law.prime**place % law.prime * digit for place, digit in enumerate(digits)) % law.prime
        for seed in report[1:-1]
    ]
    return report[-1] == sum(value * law.prime**place for place, value in enumerate(forms))


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_numbers_that_surveys_take_keep_epsilon_and_no_larger_ones_do(epsilon) -> None:
    low, high = bounds_of_e(epsilon)
    laws = [name_some(answers, epsilon) for answers in (2, 3, 4, 5, 6, 7, 8, 100)]
    laws += [hash_all(domain, epsilon) for domain in (300, 70_000)] + [hash_prefixes(27**10, epsilon)]
    for law in laws:
        assert 1 < law.ratio <= low
        assert law.unit == UNIT
        more = Fraction((law.heads + 1) * (law.answers - law.size), (law.unit - law.heads - 1) * law.size)
        assert more > high, "there was room for more truth"


@pytest.mark.parametrize("epsilon", ["1e-10", "1e-12", "1e-60"])
def test_an_epsilon_so_small_that_rounding_makes_the_lie_likelier_is_refused(epsilon) -> None:
    """A study rounded down and called it "less truth, never more": at 1e-10 that turns the ratio around."""
    size, answers, price = 3, 7, Fraction(epsilon)
    odds = bounds_of_e(price)[0] * Fraction(size, answers - size)
    study = ReportLaw(domain=answers, answers=answers, size=size, heads=int(UNIT * odds / (1 + odds)))
    assert study.ratio < 1
    assert not study.keeps(price)
    assert 1 / study.ratio > bounds_of_e(price)[1], "it is not only useless: it breaks its promise"
    with pytest.raises(ParameterError, match=r"makes the lie as likely as the truth, in steps of 1/4294967296; write"):
        lw.survey(answers, epsilon=epsilon)


def test_a_probability_that_is_rounded_up_breaks_the_promise() -> None:
    law = name_some(10, Fraction(1))
    liar = ReportLaw(domain=10, answers=10, size=law.size, heads=law.heads + 1)
    assert law.keeps(Fraction(1))
    assert not liar.keeps(Fraction(1))


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "3", "4", "5"])
@pytest.mark.parametrize("answers", [2, 10, 100, 1000, 2000, 10_000, 100_000, 1_000_000])
def test_no_baseline_has_less_variance(answers, epsilon) -> None:
    """By the closed forms of randomized response (k categories) and of optimised unary encoding."""
    e = math.exp(float(epsilon))
    randomized_response, unary = (e + answers - 2) / (e - 1) ** 2, 4 * e / (e - 1) ** 2
    variance = float(choose_law(answers, Fraction(epsilon)).variance)
    assert variance <= 1.01 * min(randomized_response, unary)
    if answers == 10_000 and epsilon == "1":
        assert variance < 0.01 * randomized_response


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        ("text", "is not a list of whole numbers"),
        ([0.0, 1], "is not a list of whole numbers"),
        ([True, 2], "is not a list of whole numbers"),
        ([1], "has 1 numbers and not 2"),
        ([3, 1], "does not name 2 different answers below 7, in order"),
        ([1, 1], "does not name 2 different answers below 7, in order"),
        ([1, 7], "does not name 2 different answers below 7, in order"),
        ([-1, 2], "does not name 2 different answers below 7, in order"),
        ([1, 2], None),
    ],
)
def test_what_is_no_report_of_named_answers_is_told(report, reason) -> None:
    assert ReportLaw(domain=7, answers=7, size=2, heads=1).misfit(report) == reason


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        ([0, 4, 0, 1], "has a seed that is not below 4"),
        ([1, 15, 15, 4], "does not name 1 different answers below 4, in order"),
        ([2, 1, 1, 1], "is of group 2, and there are 2"),
        ([1, 16, 1, 1], "has a seed that is not below 16"),
        ([1, 15, 0, 3], None),
    ],
)
def test_what_is_no_report_of_a_hash_is_told(report, reason) -> None:
    law = ReportLaw(domain=16, answers=4, size=1, heads=1, prime=2, forms=2, lengths=(2, 4))
    assert law.misfit(report) == reason

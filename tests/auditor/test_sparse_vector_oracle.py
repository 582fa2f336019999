"""The oracle against integrals written out by hand in 25 digits, closed forms, and the rules of probability."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import mpmath as mp
import pytest

from auditor.exact_laws import probability, transcript_probabilities
from lapwing.auditor.noise_laws import (
    AuditedDiscreteLaplace,
    AuditedGeometric,
    Exponential,
    Gaussian,
    Laplace,
    NoNoise,
    Shifted,
)
from lapwing.auditor.outcomes import ABORT, CLEAR_YES, LOST, NO, YES, AuditedWithin, AuditedYes, Level, gap_bins
from lapwing.auditor.sparse_vector_oracle import (
    AfterCrash,
    ClearYes,
    Halting,
    Reveals,
    SparseVectorVariant,
)
from lapwing.vocabulary.errors import ParameterError

mp.mp.dps = 25
ACCURACY = 1e-12


class ByHand:
    """The three functions of a law, from its definition."""

    def __init__(self, law) -> None:
        b = self.scale = mp.mpf(law.scale)
        match law:
            case Laplace():
                self.density = lambda x: mp.e ** (-abs(x) / b) / (2 * b)
                self.at_least = lambda x: mp.e ** (-x / b) / 2 if x >= 0 else 1 - mp.e ** (x / b) / 2
                self.below = lambda x: self.at_least(-x)
            case Exponential():
                self.density = lambda x: mp.e ** (-x / b) / b if x >= 0 else mp.mpf(0)
                self.at_least = lambda x: mp.e ** (-x / b) if x >= 0 else mp.mpf(1)
                self.below = lambda x: -mp.expm1(-x / b) if x >= 0 else mp.mpf(0)
            case Gaussian():
                self.density = lambda x: mp.npdf(x, 0, b)
                self.at_least = lambda x: mp.erfc(x / b / mp.sqrt(2)) / 2
                self.below = lambda x: self.at_least(-x)


def agrees(found, threshold, factors, marks):
    """Say whether e^found is the integral of the threshold's density times the factors (of z, each with its power).

    The integrand is multiplied by e^-found, because the accuracy of the integration is absolute.
    """
    law = ByHand(threshold)

    def integrand(z):
        return mp.e ** -mp.mpf(found) * law.density(z) * mp.fprod(factor(z) ** power for factor, power in factors)

    marks = sorted({mp.mpf(mark) for mark in [0, *marks]})
    beyond = [law.scale * reach for reach in (2, 8, 30, 100)]
    edges = [*(marks[0] - b for b in reversed(beyond)), *marks, *(marks[-1] + b for b in beyond)]
    return abs(mp.log(mp.quad(integrand, edges))) < ACCURACY


LAWS = [
    (Laplace(2), Laplace(4)),
    (Laplace(2), Laplace(0.75)),
    (Exponential(2.5), Exponential(3)),
    (Gaussian(2), Gaussian(3)),
    (Exponential(2), Laplace(5)),
]
both_laws = pytest.mark.parametrize(("threshold", "query"), LAWS, ids=str)


@both_laws
@pytest.mark.parametrize("asked", [(1, 0, 1, 0), (3, 1, 2, -2), (40, -3, 1, 5), (100, 20, 3, -9)])
def test_noes_and_yeses_agree_with_the_integral_by_hand(threshold, query, asked) -> None:
    noes, a, yeses, t = asked
    variant = SparseVectorVariant(threshold=threshold, query=query, yeses=yeses)
    found = variant.log_probability([a] * noes + [t] * yeses, (NO,) * noes + (YES,) * yeses)
    nu = ByHand(query)
    assert agrees(found, threshold, [(lambda z: nu.below(z - a), noes), (lambda z: nu.at_least(z - t), yeses)], [a, t])


@both_laws
def test_gaps_agree_with_the_integral_by_hand(threshold, query) -> None:
    nu, variant = ByHand(query), SparseVectorVariant(threshold=threshold, query=query, yeses=3, reveals=Reveals.GAP)
    said = (NO, NO, AuditedYes(gap=1.5), AuditedYes(gap=AuditedWithin(1, 4)), YES)
    factors = [
        (lambda z: nu.below(z - 1), 2),
        (lambda z: nu.density(1.5 + z - 3), 1),
        (lambda z: nu.at_least(1 + z + 2) - nu.at_least(4 + z + 2), 1),
        (nu.at_least, 1),
    ]
    found = variant.log_probability([1, 1, 3, -2, 0], said)
    assert agrees(found, threshold, factors, [1, 1.5, -3, -6])


@both_laws
def test_compared_values_agree_with_the_integral_by_hand(threshold, query) -> None:
    nu = ByHand(query)
    variant = SparseVectorVariant(threshold=threshold, query=query, yeses=3, reveals=Reveals.COMPARED_VALUE)
    said = (
        NO,
        AuditedYes(compared=4.5),
        AuditedYes(compared=AuditedWithin(2, 6)),
        AuditedYes(compared=AuditedWithin(-math.inf, 5)),
    )
    factors = [
        (lambda z: nu.below(z - 1), 1),
        (lambda z: nu.density(4.5 - 3) if z <= 4.5 else mp.mpf(0), 1),
        (lambda z: nu.at_least(max(z, 2) - 1) - nu.at_least(6 - 1) if z < 6 else mp.mpf(0), 1),
        (lambda z: nu.at_least(z) - nu.at_least(5) if z < 5 else mp.mpf(0), 1),
    ]
    assert agrees(variant.log_probability([1, 3, 1, 0], said), threshold, factors, [1, 2, 3, 4.5, 5, 6])


@both_laws
def test_two_comparisons_and_a_numeric_answer_agree_with_the_integral_by_hand(threshold, query) -> None:
    nu, clear = ByHand(query), replace(query, scale=2 * query.scale)
    xi = ByHand(clear)
    variant = SparseVectorVariant(
        threshold=threshold,
        query=query,
        yeses=4,
        reveals=Reveals.GAP | Reveals.NUMERIC,
        numeric=Laplace(3),
        clear=ClearYes(clear, margin=5),
    )
    said = (
        NO,
        AuditedYes(gap=6, numeric=2, level=Level.CLEAR),
        AuditedYes(gap=0.5),
        AuditedYes(numeric=AuditedWithin(0, 3)),
        CLEAR_YES,
    )
    fresh = ByHand(Laplace(3))
    factors = [
        (lambda z: xi.below(5 + z - 1) * nu.below(z - 1), 1),
        (lambda z: xi.density(6 + z - 4) * fresh.density(2 - 4), 1),
        (lambda z: xi.below(5 + z - 1) * nu.density(0.5 + z - 1), 1),
        (lambda z: xi.below(5 + z - 2) * nu.at_least(z - 2) * (fresh.at_least(-2) - fresh.at_least(1)), 1),
        (lambda z: xi.at_least(5 + z - 8), 1),
    ]
    assert agrees(variant.log_probability([1, 4, 1, 2, 8], said), threshold, factors, [1, -4, -2, 0.5, 2, -3, 3])


@pytest.mark.parametrize("law", [AuditedGeometric, AuditedDiscreteLaplace], ids=lambda law: law.__name__)
def test_on_a_lattice_the_probability_is_a_plain_sum(law) -> None:
    """Every pair of threshold noise and query noise is looked at, one by one."""
    variant = SparseVectorVariant(threshold=law(1.5), query=law(2), yeses=1, reveals=Reveals.GAP)
    points = range(0 if law is AuditedGeometric else -90, 90)

    def weights(b):
        raw = [mp.e ** (-mp.mpf(abs(n)) / b) for n in points]
        return dict(zip(points, [w / mp.fsum(raw) for w in raw], strict=True))

    rho, nu = weights(mp.mpf(1.5)), weights(mp.mpf(2))
    no = {z: mp.fsum(w for n, w in nu.items() if 1 + n < z) for z in points}
    yes = {z: mp.fsum(w for n, w in nu.items() if n - 1 >= z) for z in points}
    half = {z: mp.fsum(w for n, w in nu.items() if n - 0.5 >= z) for z in points}
    gap = {z: nu.get(z + 3 + 1, 0) for z in points}
    for said, values, told in (
        ((NO, NO, YES), [1, 1, -1], yes),
        ((NO, NO, YES), [1, 1, -0.5], half),
        ((NO, NO, AuditedYes(gap=3)), [1, 1, -1], gap),
    ):
        expected = mp.log(mp.fsum(rho[z] * no[z] ** 2 * told[z] for z in points))
        assert variant.log_probability(values, said) == pytest.approx(float(expected), abs=ACCURACY)
    assert variant.log_probability([-1], (AuditedYes(gap=0),)) > -math.inf


@pytest.mark.parametrize("noes", [0, 1, 2, 3, 5, 10, 50, 400])
@pytest.mark.parametrize(("epsilon", "c"), [(1, 1), (Fraction(1, 2), 1), (1, 4)], ids=str)
def test_document_002_as_printed_loses_as_much_as_its_closed_form_says(noes, epsilon, c) -> None:
    """On E = (noes, then a number at most the threshold): P = 2^-(m+2) c / ((m+c)(m+c+1)), P' = e^(-(m+1)ε/2c) P."""
    printed = SparseVectorVariant(
        threshold=Laplace(2 / epsilon),
        query=Laplace(2 * c / epsilon),
        yeses=c,
        reveals=Reveals.COMPARED_VALUE,
        halting=Halting.ONE_YES_LATE,
    )
    event = (NO,) * noes + (AuditedYes(compared=AuditedWithin(-math.inf, 0)),)
    here = printed.log_probability([0] * (noes + 1), event)
    there = printed.log_probability([1] * (noes + 1), event)
    closed = math.log(c / ((noes + c) * (noes + c + 1))) - (noes + 2) * math.log(2)
    assert here == pytest.approx(closed, abs=ACCURACY)
    assert here - there == pytest.approx(float((noes + 1) * epsilon / (2 * c)), abs=ACCURACY)


def test_the_numbers_of_the_counterexample() -> None:
    printed = SparseVectorVariant(threshold=Laplace(2), query=Laplace(2), yeses=1, reveals=Reveals.COMPARED_VALUE)
    for noes, here, there in ((3, 1.5625e-3, 2.1146e-4), (10, 1.8496e-6, 7.5587e-9)):
        event = (NO,) * noes + (AuditedYes(compared=AuditedWithin(-math.inf, 0)),)
        assert probability(printed, [0] * (noes + 1), event) == pytest.approx(here, rel=5e-5)
        assert probability(printed, [1] * (noes + 1), event) == pytest.approx(there, rel=5e-5)


def test_the_positive_control_keeps_its_claim_on_a_likely_event() -> None:
    right = SparseVectorVariant(threshold=Laplace(2), query=Laplace(4), yeses=1)
    ten_noes = (NO,) * 10 + (YES,)
    here, there = (probability(right, g, ten_noes) for g in ([0] * 11, [1] * 10 + [-1]))
    assert (here, there) == (pytest.approx(4.6535e-3, rel=2e-5), pytest.approx(1.7198e-3, rel=5e-5))
    assert math.log(here / there) == pytest.approx(0.9954, abs=5e-5)
    together = probability(right, [1] * 11, ten_noes)
    assert (together, math.log(here / together)) == (pytest.approx(0.00283, abs=5e-6), pytest.approx(0.496, abs=5e-4))


def variants():
    line = {"threshold": Laplace(2), "query": Exponential(3), "yeses": 2}
    lattice = {"threshold": AuditedGeometric(2), "query": AuditedDiscreteLaplace(3), "yeses": 2}
    yield "bits", SparseVectorVariant(**line), None
    yield "lattice", SparseVectorVariant(**lattice), None
    yield "late", SparseVectorVariant(**line, halting=Halting.ONE_YES_LATE), None
    yield "endless", SparseVectorVariant(**lattice, halting=Halting.NEVER), None
    yield "gaps", SparseVectorVariant(**line, reveals=Reveals.GAP), gap_bins(0, 1, 4, math.inf)
    yield "lattice gaps", SparseVectorVariant(**lattice, reveals=Reveals.GAP), gap_bins(0, 1, 4, math.inf)
    yield "two comparisons", SparseVectorVariant(**line, clear=ClearYes(Exponential(6), margin=4)), None
    yield "no threshold noise", SparseVectorVariant(**{**lattice, "threshold": NoNoise()}), None
    yield "no query noise", SparseVectorVariant(**{**line, "query": NoNoise()}), None
    values = [AuditedWithin(low, high) for low, high in itertools.pairwise((-math.inf, -1, 0.5, 3, math.inf))]
    yield (
        "values",
        SparseVectorVariant(**line, reveals=Reveals.COMPARED_VALUE),
        [AuditedYes(compared=v) for v in values],
    )
    fresh = {"reveals": Reveals.NUMERIC, "numeric": Gaussian(2)}
    yield "numeric", SparseVectorVariant(**lattice, **fresh), [AuditedYes(numeric=v) for v in values]


@pytest.mark.parametrize(("variant", "above"), [v[1:] for v in variants()], ids=[v[0] for v in variants()])
def test_everything_a_variant_can_say_has_probability_one_together(variant, above) -> None:
    law = transcript_probabilities(variant, [-1, 2, 0, 1], above=above)
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)
    assert all(0 <= p < 1 for p in law.values())


def test_an_analyst_may_choose_the_next_question_by_the_answers() -> None:
    variant = SparseVectorVariant(threshold=AuditedGeometric(2), query=AuditedGeometric(4), yeses=2)

    def analyst(answers):
        return 5 if answers and answers[-1] == YES else -len(answers)

    law = transcript_probabilities(variant, analyst, length=3)
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-13)
    assert law[NO, YES, NO] == pytest.approx(probability(variant, [0, -1, 5], (NO, YES, NO)))


def test_a_public_shift_of_the_noise_is_a_shift_of_the_values() -> None:
    plain = SparseVectorVariant(threshold=Exponential(2), query=Exponential(6), yeses=1)
    centred = replace(plain, threshold=Shifted(Exponential(2), by=-2), query=Shifted(Exponential(6), by=-6))
    said = (NO, NO, YES)
    assert centred.log_probability([4, 5, 6], said) == pytest.approx(plain.log_probability([0, 1, 2], said), abs=1e-13)


def probability_of_yes(variant, value):
    plain = probability(variant, [value], (YES,))
    return plain + probability(variant, [value], (CLEAR_YES,)) if variant.clear else plain


def test_a_tie_counts_as_a_yes() -> None:
    """Two-sided noise at scales 2 and 4 ties in .085 of all cases; for one-sided noise there is a closed form."""
    two_sided = SparseVectorVariant(threshold=AuditedDiscreteLaplace(2), query=AuditedDiscreteLaplace(4), yeses=1)
    one_sided = SparseVectorVariant(threshold=AuditedGeometric(2), query=AuditedGeometric(4), yeses=1)
    assert probability_of_yes(two_sided, 0) == pytest.approx(0.542494, abs=5e-7)
    assert probability_of_yes(one_sided, 0) == pytest.approx(math.expm1(-1 / 2) / math.expm1(-3 / 4), abs=1e-15)


def test_continuous_query_noise_on_a_lattice_threshold_and_none_have_closed_forms() -> None:
    mixed = SparseVectorVariant(threshold=AuditedGeometric(2), query=Laplace(4), yeses=1)
    expected = sum(-math.expm1(-1 / 2) * math.exp(-n / 2 - n / 4) / 2 for n in range(200))
    assert probability_of_yes(mixed, 0) == pytest.approx(expected, abs=1e-14)
    naked = SparseVectorVariant(threshold=AuditedGeometric(2), query=NoNoise(), yeses=1)
    assert probability_of_yes(naked, 0) == pytest.approx(-math.expm1(-1 / 2), abs=1e-15)


def test_the_probability_of_a_yes_counts_clear_ones_too() -> None:
    variant = SparseVectorVariant(
        threshold=Laplace(2), query=Laplace(4), yeses=1, clear=ClearYes(Laplace(8), margin=10)
    )
    assert probability_of_yes(variant, 3) == pytest.approx(1 - probability(variant, [3], (NO,)), abs=1e-14)


def test_a_clear_yes_is_half_price_and_the_stream_halts_when_a_plain_one_cannot_be_paid() -> None:
    variant = SparseVectorVariant(
        threshold=Laplace(2), query=Laplace(4), yeses=2, clear=ClearYes(Laplace(8), margin=10)
    )
    assert not variant.is_over((CLEAR_YES, CLEAR_YES))
    assert variant.is_over((CLEAR_YES, CLEAR_YES, CLEAR_YES))
    assert variant.is_over((CLEAR_YES, YES))


TWO = {"threshold": Laplace(2), "query": Laplace(4)}


@pytest.mark.parametrize(
    ("variant", "said", "reason"),
    [
        (SparseVectorVariant(**TWO, yeses=1), (YES, NO), "goes on after the variant halted"),
        (SparseVectorVariant(**TWO, yeses=1), (AuditedYes(gap=1),), "tells Reveals.GAP"),
        (SparseVectorVariant(**TWO, yeses=1), (CLEAR_YES,), "one comparison only"),
        (SparseVectorVariant(**TWO, yeses=1), (NO, ABORT), "is an abort"),
        (SparseVectorVariant(**TWO, yeses=1, halting=Halting.ONE_YES_LATE), (YES, YES), "is an abort"),
        (SparseVectorVariant(**TWO, yeses=1, halting=Halting.ONE_YES_LATE), (YES, ABORT, NO), "goes on after"),
        (SparseVectorVariant(**TWO, yeses=1), (LOST, YES), "goes on after the variant halted"),
        (SparseVectorVariant(**TWO, yeses=2, clear=ClearYes(Laplace(8), margin=1)), (LOST,), "which of the two"),
    ],
    ids=["after halt", "gap", "clear", "abort", "no abort", "after abort", "after loss", "lost which"],
)
def test_what_a_variant_cannot_say_is_refused(variant, said, reason) -> None:
    with pytest.raises(ParameterError, match=reason):
        variant.log_probability([0] * len(said), said)


def test_a_lost_yes_is_counted_unless_the_question_is_asked_again() -> None:
    again = SparseVectorVariant(**TWO, yeses=1, after_crash=AfterCrash.ASKED_AGAIN)
    endless = SparseVectorVariant(**TWO, yeses=1, halting=Halting.NEVER)
    lost, said = (NO, LOST, LOST, YES), (NO, YES, YES, YES)
    found, expected = again.log_probability([0, 1, 1, 1], lost), endless.log_probability([0, 1, 1, 1], said)
    assert found == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"yeses": 0}, "yeses"),
        ({"reveals": Reveals.NUMERIC}, "numeric"),
        ({"numeric": Laplace(1)}, "numeric"),
        ({"reveals": Reveals.GAP | Reveals.COMPARED_VALUE}, "reveals"),
        ({"query": AuditedGeometric(2)}, "query"),
        ({"threshold": AuditedGeometric(2), "query": AuditedGeometric(2, step=Fraction(1, 2))}, "query"),
        (
            {"threshold": AuditedGeometric(2), "clear": ClearYes(AuditedGeometric(2, step=Fraction(1, 2)), margin=1)},
            "query",
        ),
        ({"query": NoNoise(), "reveals": Reveals.GAP}, "query"),
        ({"clear": ClearYes(Laplace(1), margin=1), "halting": Halting.ONE_YES_LATE}, "halting"),
    ],
    ids=[
        "no yes",
        "no law",
        "unused law",
        "threshold told",
        "mixed",
        "two lattices",
        "lattice of its own",
        "naked gap",
        "late and clear",
    ],
)
def test_a_description_without_a_meaning_is_refused(wrong, name) -> None:
    with pytest.raises(ParameterError) as refusal:
        SparseVectorVariant(**{**TWO, "yeses": 1, **wrong})
    assert refusal.value.name == name


def test_too_few_questions_and_no_number_are_refused() -> None:
    variant = SparseVectorVariant(**TWO, yeses=1)
    with pytest.raises(ParameterError, match="fewer than the 2 outcomes"):
        variant.log_probability([0], (NO, YES))
    with pytest.raises(ParameterError, match="not a number"):
        variant.log_probability([math.nan], (NO,))
    with pytest.raises(ParameterError, match="not above low"):
        AuditedWithin(2, 2)

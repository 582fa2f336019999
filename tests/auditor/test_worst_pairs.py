"""What sparse vectors really lose: the right ones at most their claim, which they attain; the printed mistakes more.

Each row is a variant that claims epsilon 1, with the most it may lose on any pair, and the loss that a search over
pairs with 1, 3, 10 and 100 noes must at least find. For Laplace noise the supremum has a closed form (see `supremum`),
which the search may come near but never exceed.
"""

import math
from fractions import Fraction

import pytest

from lapwing.auditor.noise_laws import (
    AuditedDiscreteGaussian,
    AuditedDiscreteLaplace,
    AuditedGeometric,
    Exponential,
    Gaussian,
    Laplace,
    Mirrored,
    Shifted,
)
from lapwing.auditor.sparse_vector_oracle import (
    ClearYes,
    Halting,
    Reveals,
    SparseVectorVariant,
)
from lapwing.auditor.worst_pairs import AuditedMovement, worst_loss
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import Adjacency

TOGETHER, EITHER_WAY = AuditedMovement.TOGETHER, AuditedMovement.EITHER_WAY
EXACTLY = 1e-6


def split(c, width):
    """Return the scales of the best split, 1 : (width * c)^(2/3), at epsilon 1 and sensitivity 1."""
    ratio = (width * c) ** (2 / 3)
    return 1 + ratio, width * c * (1 + ratio) / ratio


def best(law, c, width):
    threshold, query = split(c, width)
    return {"threshold": law(threshold), "query": law(query), "yeses": c}


def scales(threshold, query, yeses=1):
    return {"threshold": threshold, "query": query, "yeses": yeses}


NUMERIC = {"reveals": Reveals.NUMERIC}
GAP, VALUE = {"reveals": Reveals.GAP}, {"reveals": Reveals.COMPARED_VALUE}
LATE, ENDLESS = {"halting": Halting.ONE_YES_LATE}, {"halting": Halting.NEVER}

# name: (description, movement, bound, {noes: loss that must be found})
TABLE = {
    "AboveThreshold of 000 and 003": (
        scales(Laplace(2), Laplace(4)),
        EITHER_WAY,
        1,
        {1: 0.5, 3: 0.9951, 10: 1, 100: 1},
    ),
    "the same, counts": (scales(Laplace(2), Laplace(4)), TOGETHER, 0.75, {1: 0.25, 3: 0.7451, 10: 0.75, 100: 0.75}),
    "its scale for counts": (scales(Laplace(2), Laplace(2)), TOGETHER, 1, {1: 0.5, 3: 1, 10: 1, 100: 1}),
    "Lyu 1, c=2": (scales(Laplace(2), Laplace(8), 2), EITHER_WAY, 1, {1: 0.375, 3: 0.625, 10: 1, 100: 1}),
    "Lyu 1, c=5": (scales(Laplace(2), Laplace(20), 5), EITHER_WAY, 1, {1: 0.3, 3: 0.4, 10: 0.75, 100: 1}),
    "Lyu 7, c=2": (best(Laplace, 2, 2), EITHER_WAY, 1, {1: 0.5369, 3: 0.8949, 10: 1, 100: 1}),
    "Lyu 7, c=5": (best(Laplace, 5, 2), EITHER_WAY, 1, {1: 0.3418, 3: 0.6572, 10: 1, 100: 1}),
    "Lyu 7, counts, c=2": (best(Laplace, 2, 1), TOGETHER, 1, {1: 0.6135, 3: 0.9203, 10: 1, 100: 1}),
    "Lyu 7, counts, c=5": (best(Laplace, 5, 1), TOGETHER, 1, {1: 0.4039, 3: 0.7019, 10: 1, 100: 1}),
    "exponential, c=1": (best(Exponential, 1, 2), EITHER_WAY, 1, {1: 1, 3: 1, 10: 1, 100: 1}),
    "exponential, c=5": (best(Exponential, 5, 2), EITHER_WAY, 1, {1: 1, 3: 1, 10: 1, 100: 1}),
    "exponential, counts": (best(Exponential, 1, 1), TOGETHER, 1, {1: 1, 3: 1, 10: 1, 100: 1}),
    "exponential, gap": ({**best(Exponential, 1, 2), **GAP}, EITHER_WAY, 1, {1: 1, 10: 1, 100: 1}),
    "Laplace, gap": ({**scales(Laplace(2), Laplace(4)), **GAP}, EITHER_WAY, 1, {1: 0.5, 10: 1, 100: 1}),
    "002 mended by the gap, counts": (
        {**scales(Laplace(2), Laplace(2)), **GAP},
        TOGETHER,
        1,
        {1: 0.5, 10: 1, 100: 1},
    ),
    "002 as printed, counts": (
        {**scales(Laplace(2), Laplace(2)), **VALUE, **LATE},
        TOGETHER,
        math.inf,
        {1: 1, 3: 2, 10: 5.5, 30: 15.5},
    ),
    "Lyu 3, counts": (
        {**scales(Laplace(2), Laplace(2)), **VALUE},
        TOGETHER,
        math.inf,
        {1: 1, 3: 2, 10: 5.5, 30: 15.5},
    ),
    "002 with twice the noise, counts": (
        {**scales(Laplace(2), Laplace(4)), **VALUE},
        TOGETHER,
        math.inf,
        {1: 0.5, 3: 1, 10: 2.75, 30: 7.75},
    ),
    "002, bits only": (scales(Laplace(2), Laplace(2)), EITHER_WAY, 1.5, {1: 1, 3: 1.5, 10: 1.5, 100: 1.5}),
    "002, bits only, late": (
        {**scales(Laplace(2), Laplace(2)), **LATE},
        EITHER_WAY,
        2.5,
        {1: 1.4951, 3: 2.4951, 10: 2.5, 100: 2.5},
    ),
    "002, bits only, late, counts": (
        {**scales(Laplace(2), Laplace(2)), **LATE},
        TOGETHER,
        1.5,
        {1: 0.9947, 3: 1.4951, 10: 1.5, 100: 1.5},
    ),
    "002, bits only, late, c=5": (
        {**scales(Laplace(2), Laplace(10), 5), **LATE},
        EITHER_WAY,
        1.7,
        {1: 0.6951, 3: 0.9, 10: 1.6, 100: 1.7},
    ),
    "Lyu 4, c=1": (scales(Laplace(4), Laplace(4 / 3)), EITHER_WAY, 1.75, {1: 1.5, 3: 1.75, 10: 1.75, 100: 1.75}),
    "Lyu 4, c=2": (scales(Laplace(4), Laplace(4 / 3), 2), EITHER_WAY, 3.25, {1: 1.75, 3: 3.25, 10: 3.25, 100: 3.25}),
    "Lyu 4, c=5": (scales(Laplace(4), Laplace(4 / 3), 5), EITHER_WAY, 7.75, {1: 1.75, 3: 4.75, 10: 7.75, 100: 7.75}),
    "Lyu 6": (
        {**scales(Laplace(2), Laplace(2)), **ENDLESS},
        EITHER_WAY,
        math.inf,
        {1: 1, 3: 3, 10: 10, 100: 99.96},
    ),
    "exponential, the scale for counts": (
        scales(Exponential(2), Exponential(2)),
        EITHER_WAY,
        1.5,
        {1: 1.5, 3: 1.5, 10: 1.5, 100: 1.5},
    ),
    "exponential, wrong sign": (
        scales(Mirrored(Exponential(2)), Exponential(4)),
        EITHER_WAY,
        math.inf,
        dict.fromkeys((1, 3, 10), math.inf),
    ),
}


def supremum(variant, movement, noes):
    """Return the supremum of the loss for Laplace noise and bits: the cheapest of three couplings, which is attained.

    Between neighbours, noes rise by 1 and yeses fall by 1 (or, for counts, one of the two groups moves). Moving the
    threshold along with the noes pays 1/b_rho once and for every yes; along with the yeses, 1/b_rho and for every no;
    not at all, for everything. Proof: proofs/sparse_vector_oracle.md
    """
    yeses = {Halting.ONE_YES_LATE: variant.yeses + 1, Halting.NEVER: noes}.get(variant.halting, variant.yeses)
    once, each = 1 / variant.threshold.scale, 1 / variant.query.scale
    if movement is EITHER_WAY:
        return min(once + 2 * yeses * each, once + 2 * noes * each, (noes + yeses) * each)
    return max(min(once + yeses * each, noes * each), min(once + noes * each, yeses * each))


ROWS = [
    pytest.param(SparseVectorVariant(**description), movement, bound, noes, loss, id=f"{name}, {noes} noes")
    for name, (description, movement, bound, losses) in TABLE.items()
    for noes, loss in losses.items()
]


@pytest.mark.parametrize(("variant", "movement", "bound", "noes", "loss"), ROWS)
def test_the_loss_is_as_large_as_it_was_found_to_be_and_no_larger(variant, movement, bound, noes, loss) -> None:
    found = worst_loss(variant, movement=movement, noes=noes).loss
    assert found <= bound + EXACTLY
    if loss == bound:
        assert found == pytest.approx(bound, abs=EXACTLY)
    assert found >= loss - 5e-5
    if isinstance(variant.query, Laplace) and variant.reveals is Reveals.BIT:
        assert found == pytest.approx(supremum(variant, movement, noes), abs=4e-3)
        assert found <= supremum(variant, movement, noes) + 1e-9
    elif math.isfinite(loss):
        assert found == pytest.approx(loss, abs=5e-5)


LATTICE_LAWS = [AuditedGeometric, AuditedDiscreteLaplace]


@pytest.mark.parametrize("movement", AuditedMovement)
@pytest.mark.parametrize(
    ("threshold", "query"),
    [
        (AuditedGeometric, AuditedGeometric),
        (AuditedDiscreteLaplace, AuditedDiscreteLaplace),
        (AuditedGeometric, AuditedDiscreteLaplace),
    ],
    ids=["one-sided", "two-sided", "mixed"],
)
@pytest.mark.parametrize("c", [1, 3])
def test_on_the_integers_the_claim_is_kept_and_attained(threshold, query, c, movement) -> None:
    width = 2 if movement is EITHER_WAY else 1
    variant = SparseVectorVariant(threshold=threshold(2), query=query(2 * c * width), yeses=c)
    assert worst_loss(variant, movement=movement, noes=100).loss == pytest.approx(1, abs=EXACTLY)


@pytest.mark.parametrize("reveals", [Reveals.GAP, Reveals.NUMERIC, Reveals.GAP | Reveals.NUMERIC], ids=str)
@pytest.mark.parametrize("law", [Exponential, Laplace, *LATTICE_LAWS], ids=lambda law: law.__name__)
@pytest.mark.parametrize("c", [1, 2])
def test_what_a_yes_tells_costs_nothing_more_than_its_own_noise(law, reveals, c) -> None:
    """The gap is free; a numeric answer with fresh noise of scale c / epsilon_3 costs epsilon_3."""
    fresh = Laplace if law in (Exponential, Laplace) else AuditedDiscreteLaplace
    threshold_share, query_share = Fraction(3, 10), Fraction(5, 10)
    numeric = fresh(5 * c) if Reveals.NUMERIC in reveals else None
    variant = SparseVectorVariant(
        threshold=law(1 / threshold_share), query=law(2 * c / query_share), yeses=c, reveals=reveals, numeric=numeric
    )
    claim = 0.8 + (0.2 if numeric else 0)
    assert worst_loss(variant, noes=30).loss == pytest.approx(claim, abs=EXACTLY)
    one_yes = worst_loss(variant, noes=30, yeses=1).loss
    assert one_yes == pytest.approx(0.3 + (claim - 0.3) / c, abs=EXACTLY)


@pytest.mark.parametrize("law", [Exponential, Laplace, *LATTICE_LAWS], ids=lambda law: law.__name__)
@pytest.mark.parametrize("given", [0, 1, 2, 3])
def test_only_the_yeses_that_were_given_are_paid_for(law, given) -> None:
    """A transcript with j yeses out of c loses at most epsilon_1 + j epsilon_2 / c."""
    variant = SparseVectorVariant(threshold=law(2), query=law(12), yeses=3)
    assert worst_loss(variant, noes=200, yeses=given).loss == pytest.approx(0.5 + given / 6, abs=EXACTLY)


def adaptive(law, reveals=Reveals.BIT):
    """The adaptive sparse vector: 0.4 for the threshold, 0.3 for a plain yes and 0.15 for a clear one."""
    return SparseVectorVariant(
        threshold=law(1 / 0.4),
        query=law(2 / 0.3),
        yeses=2,
        clear=ClearYes(law(2 / 0.15), margin=38),
        reveals=reveals,
    )


@pytest.mark.parametrize("law", [Laplace, Exponential, AuditedGeometric], ids=lambda law: law.__name__)
@pytest.mark.parametrize(("clear", "plain", "claim"), [(1, 0, 0.55), (0, 1, 0.7), (1, 1, 0.85), (2, 0, 0.7)])
def test_a_clear_yes_costs_half_of_a_plain_one(law, clear, plain, claim) -> None:
    found = worst_loss(adaptive(law), noes=30, yeses=plain, clear_yeses=clear).loss
    assert found == pytest.approx(claim, abs=EXACTLY)


def test_the_gaps_of_clear_and_plain_yeses_are_free() -> None:
    found = worst_loss(adaptive(AuditedGeometric, Reveals.GAP), noes=30, yeses=1, clear_yeses=1).loss
    assert found == pytest.approx(0.85, abs=EXACTLY)


def test_real_values_with_sensitivity_one_half_do_not_fit_on_the_integers() -> None:
    """With noise scaled for 1/2 they lose twice the claim; on a lattice that divides 1/2 they lose the claim."""
    wrong = SparseVectorVariant(threshold=AuditedDiscreteLaplace(1), query=AuditedDiscreteLaplace(2), yeses=1)
    assert worst_loss(wrong, sensitivity=Fraction(1, 2), noes=30).loss == pytest.approx(2, abs=EXACTLY)
    half = {"step": Fraction(1, 8)}
    right = SparseVectorVariant(
        threshold=AuditedDiscreteLaplace(1, **half), query=AuditedDiscreteLaplace(2, **half), yeses=1
    )
    assert worst_loss(right, sensitivity=Fraction(1, 2), noes=30).loss == pytest.approx(1, abs=EXACTLY)


@pytest.mark.parametrize("reveals", [Reveals.BIT, Reveals.GAP], ids=str)
@pytest.mark.parametrize("law", LATTICE_LAWS, ids=lambda law: law.__name__)
def test_on_a_fine_grid_the_claim_is_kept_and_attained(law, reveals) -> None:
    grid = {"step": Fraction(1, 16)}
    variant = SparseVectorVariant(threshold=law(2, **grid), query=law(4, **grid), yeses=1, reveals=reveals)
    assert worst_loss(variant, noes=30).loss == pytest.approx(1, abs=EXACTLY)


def test_centring_the_noise_changes_nothing() -> None:
    centred = SparseVectorVariant(
        threshold=Shifted(AuditedGeometric(2), by=-2),
        query=Shifted(AuditedGeometric(4), by=-4),
        yeses=1,
        reveals=Reveals.GAP,
    )
    assert worst_loss(centred, noes=30).loss == pytest.approx(1, abs=EXACTLY)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_default_keeps_its_claim_under_both_adjacencies(adjacency) -> None:
    movement = AuditedMovement.of_counts(adjacency)
    width = 1 if adjacency is Adjacency.ADD_REMOVE else 2
    for c in (1, 5):
        variant = SparseVectorVariant(**best(AuditedGeometric, c, width), reveals=Reveals.GAP)
        assert worst_loss(variant, movement=movement, noes=30).loss == pytest.approx(1, abs=EXACTLY)


def test_larger_sensitivity_loses_more() -> None:
    variant = SparseVectorVariant(threshold=Exponential(2), query=Exponential(4), yeses=1)
    assert worst_loss(variant, sensitivity=3, noes=3).loss == pytest.approx(3, abs=EXACTLY)


@pytest.mark.parametrize("law", [Gaussian, AuditedDiscreteGaussian], ids=lambda law: law.__name__)
def test_gaussian_noise_makes_no_pure_claim(law) -> None:
    variant = SparseVectorVariant(threshold=law(2), query=law(4), yeses=1)
    assert worst_loss(variant, noes=10).loss > 50


def test_a_yes_without_a_no_costs_only_the_yes() -> None:
    variant = SparseVectorVariant(threshold=AuditedGeometric(2), query=AuditedGeometric(4), yeses=1)
    assert worst_loss(variant, noes=0).loss == pytest.approx(1 / 4, abs=EXACTLY)


def test_a_transcript_of_nothing_and_one_that_cannot_be_are_refused() -> None:
    variant = SparseVectorVariant(threshold=AuditedGeometric(2), query=AuditedGeometric(4), yeses=1)
    with pytest.raises(ParameterError, match="empty transcript"):
        worst_loss(variant, noes=0, yeses=0)
    with pytest.raises(ParameterError, match="goes on after the variant halted"):
        worst_loss(variant, yeses=2)

"""A stream before it is opened: what it costs, how sure it is, what would be left; and streams by wanted accuracy."""

from fractions import Fraction

import pytest
from scipy.stats import binom

from lapwing import count
from lapwing.answers.stream_terms import StreamTerms
from lapwing.mechanisms.sparse_vector.pure import SparseVector
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.vocabulary.errors import BadQuestionError, BudgetExceededError
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, PureDP
from session.clinic import FixedNumber, Unreachable, door, new_ledger, population, spent
from session.real_tables import Tables
from statistical.goodness import fits

TERMS = {"at_least": 200, "yeses": 8, "epsilon": 1}


def test_a_preview_tells_prices_margin_and_what_is_left_and_reads_nothing(ledger) -> None:
    before = ledger.head()
    preview = door(ledger, Unreachable()).preview_stream(**TERMS)
    assert (preview.opening, preview.yes_price, preview.total) == (Fraction(1, 5), Fraction(1, 10), 1)
    assert (preview.before.left, preview.after.left, preview.at_best.left) == (10, 9, Fraction(98, 10))
    assert preview.affordable
    assert preview.pays_per_yes
    assert ledger.head() == before
    assert str(preview) == (
        "at least 200 people in patients? for up to 8 yeses: costs epsilon 0.2 to open, 0.1 for each yes, nothing "
        "for a no; 1 at most; a verdict is right with 0.95 confidence for counts 22 or more away; epsilon 9 is left "
        "while it is open and after all yeses, epsilon 9.8 if it is closed after noes only."
    )


def test_a_preview_says_what_the_stream_will_do(ledger) -> None:
    clinic = door(ledger, FixedNumber(0))
    preview = clinic.preview_stream(**TERMS)
    with clinic.stream(**TERMS) as stream:
        assert spent(ledger) == preview.total
        assert stream.margin() == preview.margin
        assert stream.chance_of_yes(210) == preview.chance_of_yes(210)
        assert preview.after.left == clinic.budget().left
        assert not stream.ask("age = 1", at_least=10**6)
    assert preview.at_best.left == clinic.budget().left


def test_the_chances_rise_from_almost_never_to_almost_always(ledger) -> None:
    chances = door(ledger, Unreachable()).preview_stream(**TERMS).chances
    assert list(chances) == [178, 189, 200, 211, 222]
    assert sorted(chances.values()) == list(chances.values())
    assert chances[178] <= 0.05
    assert chances[222] >= 0.95
    assert list(door(ledger, Unreachable()).preview_stream(**{**TERMS, "at_least": 3}).chances) == [3, 14, 25]


def test_the_margin_is_the_smallest_for_which_both_errors_are_rare() -> None:
    """Against the chances of the mechanism itself, at the margin and one step before."""
    terms = StreamTerms.of(population(), **TERMS)

    def wrong(margin: int) -> float:
        return max(terms.chance_of_yes(200 - margin), 1 - terms.chance_of_yes(200 + margin))

    assert wrong(terms.margin("0.95")) <= 0.05 < wrong(terms.margin("0.95") - 1)


@pytest.mark.parametrize("questions", [2, 5, 40])
def test_the_margin_of_many_questions_holds_whichever_deserve_a_yes(questions) -> None:
    terms = StreamTerms.of(population(), **TERMS)
    margin = terms.margin("0.9", questions=questions)
    chances = [
        terms.mechanism.chance_all_right(margin, questions=questions, above=above)
        for above in range(min(questions, 8) + 1)
    ]
    assert min(chances) >= 0.9
    assert terms.mechanism.chance_all_right(margin // 2, questions=questions, above=0) < 0.9


def test_what_would_be_refused_is_previewed_with_the_reason(ledger) -> None:
    clinic = door(ledger, Unreachable())
    preview = clinic.preview_stream(**{**TERMS, "epsilon": 11})
    assert not preview.affordable
    assert not preview.pays_per_yes
    assert "refused now: epsilon 11 is asked and 10 is left" in str(preview)
    with pytest.raises(BudgetExceededError, match="epsilon 11 is asked and 10 is left"):
        door(ledger, FixedNumber(0)).stream(**{**TERMS, "epsilon": 11})


def test_an_allowance_counts(ledger) -> None:
    ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(1, 2)))
    assert not door(ledger, Unreachable()).preview_stream(**TERMS).affordable
    assert door(ledger, Unreachable(), analyst="bob").preview_stream(**TERMS).affordable


@pytest.mark.parametrize(
    ("budget", "per_yes"),
    [
        (ConcentratedDP(rho=Fraction(2)), False),
        (ApproximateDP(epsilon=Fraction(3), delta=Fraction(1, 10**6)), True),
    ],
    ids=["rho", "delta"],
)
def test_other_budgets_say_whether_they_pay_per_yes(quick_path, budget, per_yes) -> None:
    with new_ledger(quick_path, budget) as ledger:
        preview = door(ledger, Unreachable()).preview_stream(**TERMS)
        assert preview.pays_per_yes is per_yes
        assert ("whatever it answers" in str(preview)) is not per_yes


@pytest.mark.parametrize("asked_before", [False, True], ids=["fresh", "after a question without a pure epsilon"])
def test_what_a_stream_costs_an_epsilon_delta_budget_is_what_the_account_loses(quick_path, asked_before) -> None:
    """What is previewed, what is told as spent and what the sum of epsilons has lost are one number."""
    budget = ApproximateDP(epsilon=Fraction(3), delta=Fraction(1, 10**6))
    with new_ledger(quick_path, budget) as ledger:
        clinic = door(ledger, FixedNumber(-(10**4)))
        if asked_before:
            clinic.ask(count("patients"), rho="0.0001")
        terms = {**TERMS, "epsilon": "0.3"}
        preview = clinic.preview_stream(**terms)
        before = ledger.account("clinic").filters["everyone"].pure
        with clinic.stream(**terms) as stream:
            assert not stream.ask("age = 1")
        after = ledger.account("clinic").filters["everyone"].pure
        if asked_before:
            assert before is after is None
            assert stream.spent == preview.total
            assert "all of it at the opening" in str(preview)
        else:
            assert before.left - after.left == stream.spent == preview.opening
            assert "to open, " in str(preview)
        assert preview.pays_per_yes is not asked_before


def test_a_stream_that_is_paid_at_once_is_not_previewed_as_paid_by_yes(quick_path) -> None:
    with new_ledger(quick_path, ConcentratedDP(rho=Fraction(2))) as ledger:
        clinic = door(ledger, FixedNumber(-(10**4)))
        preview = clinic.preview_stream(**TERMS)
        assert "for each yes" not in str(preview)
        before = clinic.budget().left
        with clinic.stream(**TERMS) as stream:
            assert not stream.ask("age = 1")
        assert stream.spent == preview.total
        lost = before - clinic.budget().left
        assert f"costs rho {float(lost):.4g}, the price of epsilon 1, all of it at the opening" in str(preview)


def test_a_preview_is_the_same_whatever_the_tables_hold(ledger) -> None:
    worlds = [Tables(), Tables(people=0), Unreachable()]
    wishes = [TERMS, {"at_least": 50, "yeses": 2, "within": 20}]
    told = {str([str(door(ledger, data).preview_stream(**wish)) for wish in wishes]) for data in worlds}
    assert len(told) == 1


def test_accuracy_is_bought_at_the_smallest_epsilon_of_three_digits(ledger) -> None:
    clinic = door(ledger, FixedNumber(0))
    preview = clinic.preview_stream(at_least=200, yeses=8, within=20, confidence="0.95", questions=30)
    assert preview.margin <= 20
    less = preview.total * Fraction(99, 100)
    cheaper = StreamTerms.of(population(), at_least=200, yeses=8, epsilon=less, questions=30)
    assert cheaper.margin("0.95", questions=30) > 20
    with clinic.stream(at_least=200, yeses=8, within=20, confidence="0.95", questions=30) as stream:
        assert spent(ledger) == preview.total
        assert stream.terms == preview.terms


@pytest.mark.parametrize(("away", "kept"), [(20, True), (12, False)], ids=["truth", "lie"])
@pytest.mark.parametrize("above", [0, 3], ids=["all below", "three above"])
def test_accuracy_that_was_bought_is_kept(away, kept, above) -> None:
    """Ten questions, 1500 times, all right in 95 of 100 cases: measured, with counts as near as they may be."""
    mechanism = StreamTerms.of(population(), at_least=200, yeses=3, within=20, questions=10).mechanism
    counts = [200 - away] * (10 - above) + [200 + away] * above
    rounds = 1500

    def all_right() -> bool:
        with mechanism.open() as stream:
            return all(bool(stream.ask(count)) is (count > 200) for count in counts)

    right = sum(all_right() for _ in range(rounds))
    assert fits(float(binom.cdf(right, rounds, 0.95))) is kept


def test_a_stream_for_many_questions_is_placed_for_them(ledger) -> None:
    centred = StreamTerms.of(population(), **TERMS)
    placed = StreamTerms.of(population(), **TERMS, questions=1000)
    assert centred.shift == 0 < placed.shift
    assert placed.margin("0.95", questions=1000) < centred.margin("0.95", questions=1000)
    assert StreamTerms.read(placed.to_text()) == placed
    with door(ledger, FixedNumber(10_000)).stream(**TERMS, questions=1000) as stream:
        assert stream.terms == placed
        assert stream.ask("age = 1")


def test_terms_that_were_written_before_there_was_a_shift_are_read() -> None:
    now = StreamTerms.of(population(), **TERMS)
    assert StreamTerms.read(now.to_text().replace(', "shift": 0', "")) == now


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"within": 0}, "within = 0 is zero"),
        ({"within": "0.001"}, "within = 1/1000 would cost more than epsilon 20; allow 2 or more"),
        ({"within": 20, "confidence": 1}, "confidence = 1"),
        ({"within": 20, "confidence": 95}, "confidence = 95"),
        ({"within": 20, "questions": 0}, "questions = 0"),
        ({"within": 20, "questions": 10**9}, "questions"),
        ({"within": 20, "epsilon": 1}, "more than once"),
        ({}, "say what to pay"),
    ],
    ids=str,
)
def test_a_bad_wish_is_refused_with_a_remedy(ledger, wish, said) -> None:
    clinic, before = door(ledger, FixedNumber(0)), ledger.head()
    for act in (clinic.stream, clinic.preview_stream):
        with pytest.raises(BadQuestionError, match=said):
            act(at_least=200, yeses=5, **wish)
    assert ledger.head() == before


def test_the_table_must_be_clear(ledger) -> None:
    preview = door(ledger, Unreachable()).preview_stream(**TERMS, table="visits")
    assert preview.terms.table == "visits"
    with pytest.raises(BadQuestionError):
        door(ledger, Unreachable()).preview_stream(**TERMS, table="doctors")


def test_the_same_key_opens_the_same_stream(ledger) -> None:
    clinic = door(ledger, FixedNumber(0))
    first, again = (clinic.stream(**TERMS, key="monday") for _ in range(2))
    assert first.name == again.name
    assert spent(ledger) == 1
    assert door(ledger, FixedNumber(0), analyst="bob").stream(**TERMS, key="monday").name != first.name
    with pytest.raises(BadQuestionError, match="belongs to another request"):
        clinic.stream(**{**TERMS, "yeses": 7}, key="monday")


def test_groups_and_replacement_make_it_dearer() -> None:
    def epsilon(**unit) -> Fraction:
        return StreamTerms.of(population(**unit), at_least=200, yeses=5, within=30).epsilon

    alone, families, replaced = epsilon(), epsilon(protects_groups_of=2), epsilon(adjacency=Adjacency.REPLACE)
    assert families == pytest.approx(2 * float(alone), rel=0.05)
    assert alone < replaced < families * Fraction(11, 10)


def test_the_terms_are_decided_by_the_sparse_vector_they_name() -> None:
    counts = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
    decides = SparseVector(epsilon=1, yeses=8, threshold=200, sensitivity=counts)
    assert StreamTerms.of(population(), **TERMS).mechanism == decides

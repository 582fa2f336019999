"""What a plan bounds, how sensitive it is, what it is called, and what is refused before anything is charged."""

import dataclasses
import re
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given, settings

import lapwing as ask
from engines.clinic import clinic
from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson, ClippedSumPerPerson, CountPerPerson
from lapwing.queries.catalogue.column import Column, Date, Integer, Real
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.language.builders import age
from lapwing.queries.planning.plan import CanonicalQuestion, Family
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import BadQuestionError, LedgerDamagedError
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit
from queries.asked import QUESTIONS

CLINIC, REPLACED = clinic(), clinic(adjacency=Adjacency.REPLACE)
HOUSEHOLDS = clinic(groups_of=3)

SENSITIVITIES = {
    # question: (L1, L2 squared) if one person is added, (L1, L2 squared) if one replaces another
    "people": (ask.count("patients", "has(visits, kind = 'ER', 2)"), (1, 1), (1, 1)),
    "people by sex": (ask.count("patients", by="sex"), (1, 1), (2, 2)),
    "people by kind of visit": (ask.count("visits", by="kind", max_groups=2), (2, 2), (3, 3)),
    "people by ward and sex": (ask.count("patients", by=["ward", "sex"]), (1, 1), (2, 2)),
    "people by city": (ask.count("patients", by="city"), (1, 1), (2, 2)),
    "rows": (ask.count_rows("visits", max_rows=5), (5, 25), (5, 25)),
    "rows by kind": (ask.count_rows("visits", by="kind", max_rows=5, max_groups=2), (10, 50), (15, 75)),
    "rows of all kinds": (ask.count_rows("visits", by="kind", max_rows=5), (5, 25), (10, 50)),
    "rows by what is of the person": (ask.count_rows("visits", by="patients.sex", max_rows=5), (5, 25), (10, 50)),
    "total": (ask.total("visits", "nights", max_rows=2), (60, 3600), (60, 3600)),
    "signed total": (ask.total("visits", "cost", max_rows=1), (1000, 1_000_000), (1050, 1050**2)),
    "signed total by kind": (
        ask.total("visits", "cost", by="kind", max_rows=1, max_groups=3),
        (3000, 3_000_000),
        (3150, 3 * 1050**2),
    ),
    "negative total": (ask.total("visits", "-nights", max_rows=2), (60, 3600), (60, 3600)),
    "mean": (ask.mean("visits", "nights", max_rows=2), (60, 3600), (120, 7200)),
    "mean of all kinds": (ask.mean("visits", "nights", by="kind", max_rows=2), (60, 3600), (120, 7200)),
    "variance": (ask.variance("patients", "age"), (14400, 14400**2), (28800, 2 * 14400**2)),
    "covariance": (ask.covariance("visits", "nights", "nights", max_rows=1), (900, 810_000), (1800, 1_620_000)),
    "median": (ask.median("visits", "nights", max_rows=4), (4, 16), (8, 32)),
    "funnel": (ask.funnel("patients", ["smoker", "age > 3"]), (1, 1), (2, 2)),
    "total in all groups": (ask.total("visits", "nights", by="kind", max_rows=3), (90, 8100), (180, 16_200)),
    "distinct": (ask.count_distinct("visits", "note", max_groups=3), (3, 9), (3, 9)),
    "distinct of two": (ask.count_distinct("visits", "kind", max_groups=100), (3, 9), (3, 9)),
    "at least": (ask.at_least(200, "patients", "smoker"), (1, 1), (1, 1)),
}


@pytest.mark.parametrize("name", SENSITIVITIES)
def test_sensitivities_worked_out_by_hand(name) -> None:
    question, added, replaced = SENSITIVITIES[name]
    for population, expected in ((CLINIC, added), (REPLACED, replaced)):
        found = plan(question, population).sensitivity
        assert (found.l1, found.l2_squared) == expected


@settings(max_examples=60)
@given(QUESTIONS)
def test_a_group_of_three_moves_three_times_as_far(question) -> None:
    one, three = plan(question, CLINIC).sensitivity, plan(question, HOUSEHOLDS).sensitivity
    assert (three.l1, three.l2_squared, three.linf) == (3 * one.l1, 9 * one.l2_squared, 3 * one.linf)


@pytest.mark.parametrize(
    ("question", "monotone"),
    [
        (ask.count("patients"), True),
        (ask.at_least(3, "patients"), True),
        (ask.total("visits", "nights"), True),
        (ask.total("visits", "cost"), False),
        (ask.total("visits", "-nights"), False),
        (ask.mean("visits", "cost"), True),
    ],
    ids=["people", "at least", "total", "signed total", "negative total", "mean"],
)
def test_only_what_never_falls_when_someone_comes_is_monotone(question, monotone) -> None:
    assert plan(question, CLINIC).monotone is monotone
    assert plan(question, REPLACED).monotone is False


def test_a_plan_names_its_family() -> None:
    assert plan(ask.count("patients"), CLINIC).family is Family.NOISE
    assert plan(ask.count("patients", by="city"), CLINIC).family is Family.THRESHOLD
    assert plan(ask.median("patients", "age"), CLINIC).family is Family.SELECTION
    assert plan(ask.top("patients", "sex", 1), CLINIC).family is Family.SELECTION
    assert plan(ask.at_least(3, "patients"), CLINIC).family is Family.SPARSE_VECTOR


def test_rows_of_one_person_are_picked_for_means_and_clipped_for_totals() -> None:
    assert isinstance(plan(ask.mean("visits", "nights"), CLINIC).aggregate.bounding, BoundedRowsPerPerson)
    assert isinstance(plan(ask.total("visits", "nights"), CLINIC).aggregate.bounding, ClippedSumPerPerson)
    assert plan(ask.top("patients", "sex", 2), CLINIC).aggregate.bounding == CountPerPerson(max_cells=None)


def test_the_canonical_form_is_told_apart_by_all_that_matters() -> None:
    base = ask.total("visits", "nights", "kind = 'ER'", max_rows=2)
    others = [
        ask.total("visits", "nights", "kind = 'ER'", max_rows=3),
        ask.total("visits", "clip(nights, 0, 29)", "kind = 'ER'", max_rows=2),
        ask.total("visits", "nights", "kind = 'other'", max_rows=2),
        ask.total("visits", "nights", "kind = 'ER'", by="kind", max_groups=1, max_rows=2),
        ask.mean("visits", "nights", "kind = 'ER'", max_rows=2),
    ]
    texts = {plan(question, CLINIC).canonical for question in [base, *others]}
    texts |= {plan(base, population).canonical for population in (REPLACED, HOUSEHOLDS, clinic(salt=1))}
    assert len(texts) == 9
    assert (
        plan(ask.total("visits", "nights", "'ER' = kind", max_rows=2), CLINIC).canonical == plan(base, CLINIC).canonical
    )


def test_names_of_steps_are_no_part_of_a_funnel() -> None:
    one, other = (plan(ask.funnel("patients", [step, "smoker"]), CLINIC) for step in ("age > 17", "18 <= age"))
    assert one.canonical == other.canonical
    assert plan(ask.funnel("patients", ["smoker", "age > 17"]), CLINIC).canonical != one.canonical


CONDITIONS = [
    "age between 20 and 30 and sex = 'M' and not smoker",
    "sex in ('F', 'M') or has(visits, starts_with(note, 'E'), 2)",
    "sex <> 'M' and not has(visits, starts_with(note, 'x'))",
    "bmi >= 22.5 and age is null",
    "age < 0 and age > 0",
]


@pytest.mark.parametrize("where", CONDITIONS)
def test_a_question_is_read_back_as_it_was(where) -> None:
    planned = plan(ask.at_least(200, "patients", where), CLINIC)
    read = CanonicalQuestion.read(planned.canonical)
    assert (read.meaning, read.aggregate) == (planned.meaning, planned.aggregate)


@pytest.mark.parametrize(
    "text", ["", "17", "[]", "{}", '{"kind":"people"}', '{"kind":"question","population":"clinic"}'], ids=repr
)
def test_a_text_that_is_not_a_question_is_refused(text) -> None:
    with pytest.raises(LedgerDamagedError):
        CanonicalQuestion.read(text)


REFUSED = [
    (lambda: ask.total("visits", "note"), "holds no numbers; count people"),
    (lambda: ask.total("codes", "code", max_rows=1), "no declared bounds"),
    (lambda: ask.total("codes", "clip(code, 0, 10)"), "max_rows=3"),
    (lambda: ask.count("codes", by="code"), "max_groups=2"),
    (lambda: ask.total("visits", "cost", by="kind", max_rows=1), "max_groups=2"),  # which may be below zero
    (lambda: ask.total("visits", "clip(cost, 10, 0)"), "the wrong way round"),
    (lambda: ask.total("visits", "clip(cost, 0, 'x')"), "bounds and factors are numbers"),
    (lambda: ask.total("codes", "clip(code, 0, 1e30)", max_rows=1), "too wide"),
    (lambda: ask.total("visits", "cost * cost * cost * cost * cost * cost * cost"), r"more than 2\^62"),
    (lambda: ask.mean("visits", "cost * cost * cost * cost * cost * cost"), r"more than 2\^52"),
    (
        lambda: ask.mean("visits", "cost", by=ask.bins("cost", range(301)), max_rows=2**20, max_groups=300),
        "steps of the coarsest grid",
    ),
    (lambda: ask.total("visits", "nights * 0.1"), "scale the answer"),
    (lambda: ask.mean("visits", "clip(nights, 3, 3)"), "always 3"),
    (lambda: ask.median("visits", "nights", by="note"), "counts, totals and means only"),
    (lambda: ask.median("visits", "nights") and ask.top("visits", "note", 1), "declares no categories"),
    (lambda: ask.top("visits", "kind", 4), "k = 4 is out of range"),
    (lambda: ask.count("patients", by=["age", "age", "age"]), "more than 100000"),
    (lambda: ask.count("patients", by="bmi"), r"bins\('bmi'"),
    (lambda: ask.count("patients", by=ask.bins("bmi", [3, 1])), "must rise"),
    (lambda: ask.count("patients", by=ask.bins("bmi", [3])), "must rise"),
    (lambda: ask.count("patients", by=ask.bins("sex", [1, 2])), "no order to make bins of"),
    (lambda: ask.count("patients", by=ask.bins("age", ["1.2", "1.5", 3])), "holds no value"),
    (lambda: ask.count("visits", by=ask.by_year("left"), max_groups=1), "declares no first and last day"),
    (lambda: ask.count("patients", by=ask.by_year("age")), "only a column of days has years"),
    (lambda: ask.funnel("patients", []), "a funnel without steps"),
    (lambda: ask.quantiles("visits", "nights", ["1.5"]), "strictly between 0 and 1"),
    (lambda: ask.quantiles("visits", "nights", "0.5", cells=10**7), "out of range"),
    (lambda: ask.count("nowhere"), "it has codes, patients, visits"),
    (lambda: ask.count("patients", "nights > 3"), "visits has it"),
    (lambda: ask.count("patients", 3), r"this is not a condition \(int\); write it as SQL text"),
    (
        lambda: ask.count("patients", "born > '31.12.1980'"),
        "^'31.12.1980' is not a day; write a day as date '2025-01-31'",
    ),
    (lambda: ask.count("visits", max_groups=0, by="kind"), "max_groups = 0"),
    (lambda: ask.count_rows("visits", max_rows=-1), "max_rows = -1"),
    (lambda: ask.count_rows("visits", max_rows=0), "max_rows = 0"),
    (lambda: ask.count("patients", ask.has("visits", at_least=0)), "at_least = 0"),
    (lambda: ask.total("visits", "age(day, nights)"), "from one day to another"),
    (lambda: ask.total("visits", '"left" - day'), "no declared first and last day"),
]


@pytest.mark.parametrize(
    ("asked", "reason"),
    REFUSED,
    ids=[f"{i} {reason}" for i, (_, reason) in enumerate(REFUSED)],
)
def test_what_has_no_bounded_meaning_is_refused(asked, reason) -> None:
    with pytest.raises(BadQuestionError, match=reason):
        plan(asked(), CLINIC)


@pytest.mark.parametrize(
    "asked",
    [
        ask.at_least(200, "patients"),
        ask.top("patients", "sex", 1),
        ask.funnel("patients", ["smoker"]),
        ask.count_distinct("patients", "ward"),
    ],
    ids=lambda asked: type(asked).__name__,
)
def test_what_has_cells_of_its_own_is_not_grouped_besides(asked) -> None:
    plan(asked, CLINIC)
    grouped = dataclasses.replace(asked, by=ask.count("patients", by="sex").by, max_groups=1)
    with pytest.raises(BadQuestionError, match="cannot be grouped"):
        plan(grouped, CLINIC)


def test_ages_need_a_now() -> None:
    born = Table(name="p", columns=(Column(name="born", type=Date()),))
    population = Population(name="x", unit=PrivacyUnit(person_key="pid"), tables=(born,))
    for question in (ask.count("p", "age(born) > 3"), ask.mean("p", "clip(age(born), 0, 100)")):
        with pytest.raises(BadQuestionError, match='declares no "now"'):
            plan(question, population)
    assert plan(ask.mean("p", age("born", date(2020, 1, 1)).clip(0, 100)), population)


@pytest.mark.parametrize(
    "question",
    [
        ask.total("t", "y", max_rows=100),
        ask.mean("t", "y"),
        ask.variance("t", "x"),
        ask.covariance("t", "x", "y"),
        ask.correlation("t", "x", "y"),
        ask.total("t", "x * clip(y, 0, 1000000000)"),
    ],
    ids=["total", "mean", "variance", "covariance", "correlation", "product"],
)
def test_wide_values_are_put_on_coarser_grids(question) -> None:
    columns = (Column(name="x", type=Real(low=0, high=1)), Column(name="y", type=Integer(low=0, high=10**12)))
    population = Population(name="p", unit=PrivacyUnit(person_key="pid"), tables=(Table(name="t", columns=columns),))
    assert 2**20 < plan(question, population).sensitivity.l1 <= 2**28


def test_values_that_fit_keep_their_grid() -> None:
    assert plan(ask.variance("patients", "bmi"), CLINIC).meaning.scales[0].step == Fraction(1, 64)
    assert plan(ask.total("patients", "bmi"), CLINIC).meaning.step == Fraction(1, 64)


def test_plans_do_not_depend_on_the_rows_a_table_may_have() -> None:
    many = dataclasses.replace(CLINIC.table("patients"), rows=RowsPerPerson.MANY_A_PERSON)
    population = dataclasses.replace(CLINIC, tables=(many, *CLINIC.tables[1:]))
    assert plan(ask.count("patients"), population).aggregate == plan(ask.count("patients"), CLINIC).aggregate


def test_a_plan_is_explained_in_plain_english() -> None:
    asked = ask.mean(
        "visits", "cost", "day >= '2020-01-01' and not has(codes, code = 7)", by="kind", max_rows=3, max_groups=2
    )
    assert plan(asked, CLINIC).explain() == EXPLAINED


EXPLAINED = """\
Asked: the mean of cost, and with it the number of rows, in visits where the person has no row in codes where (code is \
7) and day is at least 2020-01-01, grouped by the 3 declared values of kind.
Bounded: at most 3 rows of a person count in each of at most 2 groups; a public rule picks which.
Hidden: noise hides whatever one person within these bounds can add; tighter bounds mean a more exact answer.
It is released with whole-number noise on every number: discrete Laplace or Gaussian.
Exactly: one person moves what is released by at most 6300 in all (L1), 3150 in one number (Linf) and 19845000 in \
squares (L2 squared), in whole steps; at most 3 rows count for a person in each of at most 2 cells, and a row adds at \
most 1050 grid steps; one person is added or removed."""


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        (ask.total("visits", "cost", max_rows=3), "the total of cost, in steps of"),
        (ask.variance("visits", "cost", max_rows=3), "the variance of cost, and"),
        (ask.correlation("patients", "age", "bmi"), "the correlation of age and bmi, and"),
        (ask.median("patients", "age"), "the median of age,"),
        (ask.mean("visits", "cost + nights", max_rows=3), "the mean of a value of cost and nights, and"),
        (ask.total("visits", "cost * nights", max_rows=3), "the total of a value of cost and nights,"),
        (ask.mean("patients", "2 * age"), "the mean of a value of age, and"),
    ],
    ids=["total", "variance", "correlation", "median", "a sum", "a product", "a multiple"],
)
def test_an_explanation_names_what_is_measured(question, asked) -> None:
    assert plan(question, CLINIC).explain().startswith(f"Asked: {asked}")


@settings(max_examples=60)
@given(QUESTIONS)
def test_every_plan_can_be_explained(question) -> None:
    for population in (CLINIC, REPLACED, HOUSEHOLDS):
        assert len(plan(question, population).explain().splitlines()) == 5


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("cost > 3", "cost is over 3."),
        ("cost < 7", "cost is below 7."),
        ("cost >= 3.5", "cost is at least 3.5."),
        ("cost > 3 and cost < 7", "cost is over 3 and below 7."),
        ("cost between 3 and 7", "cost is from 3 to 7."),
        ("cost > 3 and cost <= 7", "cost is over 3 and at most 7."),
    ],
    ids=lambda text: text,
)
def test_bounds_of_a_condition_are_said_as_they_were_written(written, said) -> None:
    """Inside, "over 3" is "at least the next double"; nobody writes that, so nobody reads it."""
    assert f"where {said}" in plan(ask.count("visits", written), CLINIC).explain()


def test_an_explanation_speaks_of_the_answer_first_and_of_steps_last() -> None:
    told = plan(ask.total("patients", "bmi"), CLINIC).explain().splitlines()
    assert "one person changes the total by at most 60, and noise hides that much" in told[2]
    assert not any("step" in line or "L2" in line for line in told[1:4])
    assert "(L2 squared)" in told[4]


def test_a_column_is_named_as_it_is_called_whatever_the_signs_in_its_name() -> None:
    odd = Population(
        name="clinic",
        unit=PrivacyUnit(person_key="pid"),
        tables=(
            Table(
                name="visits",
                columns=(
                    Column(name="Kosten CHF", type=Integer(low=0, high=9)),
                    Column(name="icd-10", type=Integer(low=0, high=9)),
                    Column(name="urgent?", type=Integer(low=0, high=9)),
                    Column(name="icd", type=Integer(low=0, high=9)),
                ),
            ),
        ),
    )
    for name in ("Kosten CHF", "icd-10", "urgent?"):
        quoted = ask.mean("visits", f'"{name}"')
        assert plan(ask.mean("visits", name), odd).canonical == plan(quoted, odd).canonical
        assert plan(ask.median("visits", name), odd).canonical == plan(ask.median("visits", f'"{name}"'), odd).canonical
    assert plan(ask.mean("visits", "icd - 10"), odd).canonical != plan(ask.mean("visits", "icd-10"), odd).canonical
    with pytest.raises(BadQuestionError, match="cannot be read as SQL, at 'EUR'"):
        plan(ask.mean("visits", "Kosten EUR"), odd)


@pytest.mark.parametrize(
    ("by", "refusal"),
    [
        ("month(age)", "'age' holds no days; a part of a day needs a column of days"),
        ("year(sex)", "only a column of days has years"),
        ("first_of(visits.kind)", "the first and the last are those of days or numbers"),
        ("last_of(visits.kind)", "the first and the last are those of days or numbers"),
    ],
)
def test_parts_of_days_and_first_days_need_days(by, refusal) -> None:
    with pytest.raises(BadQuestionError, match=refusal):
        plan(ask.count("patients", by=by), CLINIC)


@pytest.mark.parametrize(
    ("value", "refusal"),
    [
        ("coalesce(age, 0.5)", "what stands for a missing 'age' is a whole number below 2^52, and 1/2 is not"),
        (f"coalesce(age, {2**52})", "is a whole number below 2"),
        ("coalesce(bmi, 0.3)", "'bmi' is a multiple of 1/64, the step of its grid, below 2^52, and 3/10 is not"),
        (f"coalesce(bmi, {2**46})", "is a multiple of 1/64, the step of its grid, below 2"),
    ],
)
def test_what_stands_for_a_missing_number_lies_on_the_grid_of_its_column(value, refusal) -> None:
    with pytest.raises(BadQuestionError, match=re.escape(refusal)):
        plan(ask.total("patients", value), CLINIC)


def test_the_place_of_an_answer_is_shown_and_its_span_is_not() -> None:
    chosen = plan(ask.top("patients", "sex", 2), CLINIC)
    assert chosen.shown((1,), {}) == (1,)
    assert chosen.shown(((0, 17), "F"), {}) == ("F",)


def test_groups_are_shown_sorted_with_the_missing_last_and_places_in_their_own_order() -> None:
    assert plan(ask.count("patients", by="sex"), CLINIC).in_order([("M",), (None,), ("F",)]) == [
        ("F",),
        ("M",),
        (None,),
    ]
    assert plan(ask.top("patients", "sex", 2), CLINIC).in_order([(2,), (1,)]) == [(2,), (1,)]


def test_people_are_in_as_many_groups_as_rows_of_theirs_count_where_nobody_says_otherwise() -> None:
    unsaid, said = (plan(ask.count("visits", by="kind", max_groups=most), CLINIC) for most in (None, 2))
    assert CLINIC.table("visits").max_rows == 2
    assert unsaid == said
    assert plan(ask.count_distinct("visits", "kind"), CLINIC).sensitivity.l1 == 2
    assert plan(ask.count("visits", by="kind", max_groups=1), CLINIC).sensitivity.l1 == 1

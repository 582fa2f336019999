"""Every number that a statement makes stays within its type: what could leave it is refused before it is charged."""

from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import partial, reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as ask
from engines.clinic import clinic, row_of
from engines.rows_in_memory import RowsInMemory
from lapwing.engines.emitter import emit
from lapwing.engines.files import DUCKDB
from lapwing.engines.postgres import POSTGRES
from lapwing.engines.spark import SPARK
from lapwing.queries.algebra.aggregate import (
    Aggregate,
    BinnedKey,
    BoundedRowsPerPerson,
    ClippedSumPerPerson,
    CountPerPerson,
    GridKey,
)
from lapwing.queries.algebra.derived import Branch, CaseResult, Computed, Filled, NumberOfPerson, OnlyWhere, PersonRows
from lapwing.queries.algebra.predicate import (
    GAPS,
    AllOf,
    AnyOf,
    Gap,
    HasRows,
    InIntervals,
    InTexts,
    LacksRows,
    Ref,
    Unit,
    every,
)
from lapwing.queries.algebra.ranges import of_derived, of_term
from lapwing.queries.algebra.term import ConstantTerm, Elapsed, OnGrid, Plus, Rounded, Times, bounds
from lapwing.queries.algebra.totality import DEEPEST, MOST_CONSTANTS, check_total, constants, fits, numbers
from lapwing.queries.catalogue.column import Column, Date, Integer, Real
from lapwing.queries.catalogue.domains import DAYS, INTEGERS, TRUTHS, Domain
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.queries.language.expressions import Arithmetic
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.guarantee import PrivacyUnit
from queries.asked import QUESTIONS

CLINIC = clinic()
DIALECTS = (DUCKDB, POSTGRES, SPARK)
COUNT = plan(ask.count("patients"), CLINIC).aggregate
# It is 2^62 in every row, and its bounds say -2^62 .. 2^62: each is within 64 bits and their distance is not.
WIDE = f"{2**62} * (clip(age, -1, 0) + 1) - {2**62} * (clip(age, 1000, 1001) - 1000)"


def refused(question, match) -> None:
    with pytest.raises(BadQuestionError, match=match):
        plan(question, CLINIC)


def test_a_quantile_whose_range_is_wider_than_64_bits_is_refused() -> None:
    refused(ask.quantiles("patients", WIDE, "0.5"), "the range of the expression could reach 9.22e")


def test_bounds_that_are_no_numbers_are_refused() -> None:
    for bounds_ in ((ask.col("age"), ask.col("age")), (0, ask.col("age")), (0, "many"), (False, 9)):
        refused(ask.total("patients", ask.col("age").clip(*bounds_)), "bounds and factors are numbers")


@pytest.mark.parametrize("bounds_", [f"-{2**63}, {2**63 - 1}", "-1e30, 1e30", "0, 3652059", f"0, 1{'0' * 99}"])
def test_days_between_two_days_are_clipped_to_what_they_can_be(bounds_) -> None:
    refused(
        ask.total("visits", f'clip("left" - day, {bounds_})'), "no time between two days is longer than 3652058 days"
    )
    refused(
        ask.median("visits", f'clip("left" - day, {bounds_})'), "no time between two days is longer than 3652058 days"
    )


@pytest.mark.parametrize("bounds_", ["-1e30, 1e30", "0, 10000", "-10000, 0"])
def test_years_between_two_days_are_clipped_to_what_they_can_be(bounds_) -> None:
    refused(ask.median("patients", f"clip(age(born), {bounds_})"), "no time between two days is longer than 9999 years")


def test_the_widest_bounds_that_time_can_have_are_taken() -> None:
    assert plan(ask.median("patients", "clip(age(born), -9999, 9999)"), CLINIC)
    assert plan(ask.median("visits", 'clip("left" - day, -3652058, 3652058)'), CLINIC)


@pytest.mark.parametrize("edge", [10**30, -(10**30), 2**63, Fraction(2**65 - 1, 2)])
def test_an_edge_that_64_bits_do_not_hold_is_refused(edge) -> None:
    refused(
        ask.count("patients", by=ask.bins("age", sorted([0, edge]))),
        "an edge of 'age' is not a whole number of 64 bits",
    )


def test_too_many_calendar_years_are_refused() -> None:
    ever = Population(
        name="ever",
        unit=PrivacyUnit(person_key="pid"),
        tables=(Table(name="t", columns=(Column(name="d", type=Date(first=date.min, last=date(2100, 1, 1))),)),),
    )
    with pytest.raises(
        BadQuestionError,
        match=r"'d' covers 2100 years, more than 1000 groups; let the condition say from when to when, or give edges",
    ):
        plan(ask.count("t", by=ask.by_year("d")), ever)


def test_a_factor_that_64_bits_do_not_hold_is_refused_even_where_it_meets_zero() -> None:
    coarse = Column(name="coarse", type=Real(low=0, high=2**85, step=2**80))
    age = Column(name="age", type=Integer(low=0, high=9))
    galaxy = Population(name="g", unit=PrivacyUnit(person_key="pid"), tables=(Table(name="t", columns=(coarse, age)),))
    with pytest.raises(BadQuestionError, match=r"a constant of the expression could reach 1\.21e"):
        plan(ask.total("t", "clip(coarse, 0, 0) + age"), galaxy)


def test_a_number_of_any_length_is_refused_in_few_digits() -> None:
    refused(ask.total("patients", "age" + " * 1e99" * 5), r"the expression could reach \d\.\d\de\+\d+ grid steps")


AGE = OnGrid(column="age", bits=0, low=0, high=120)
WRONG = {
    "a key's range": replace(COUNT, keys=(GridKey(term=Plus(AGE, ConstantTerm(2**62 - 120)), width=2**63),)),
    "a width": replace(COUNT, keys=(GridKey(term=AGE, width=0),)),
    "a coarser grid": replace(COUNT, bounding=ClippedSumPerPerson(term=Rounded(AGE, 64), low=0, high=1, max_cells=1)),
    "a bin": replace(COUNT, keys=(BinnedKey(column="age", domain=INTEGERS, bins=((0, 2**63),), missing=False),)),
    "a bound": replace(COUNT, bounding=ClippedSumPerPerson(term=AGE, low=0, high=2**63, max_cells=1)),
    "a constant": replace(COUNT, bounding=ClippedSumPerPerson(term=ConstantTerm(2**63), low=0, high=1, max_cells=1)),
    "a part below zero": replace(
        COUNT, bounding=BoundedRowsPerPerson(terms=(replace(AGE, low=-1),), most=120, max_rows=1, max_cells=1)
    ),
    "a column": replace(COUNT, bounding=ClippedSumPerPerson(term=replace(AGE, high=2**53), low=0, high=1, max_cells=1)),
    "a day": replace(
        COUNT,
        bounding=ClippedSumPerPerson(
            term=Elapsed(until=DAYS.highest + 1, since="born", unit=Unit.DAYS, low=0, high=1),
            low=0,
            high=1,
            max_cells=1,
        ),
    ),
    "a grid": replace(COUNT, bounding=ClippedSumPerPerson(term=replace(AGE, bits=3), low=0, high=1, max_cells=1)),
    "a span": replace(COUNT, where=InIntervals(column="age", domain=INTEGERS, intervals=((0, 2**63),))),
    "an empty list": replace(COUNT, where=InTexts(column="age", texts=())),
    "a line": replace(COUNT, where=InIntervals(column="age", domain=TRUTHS, intervals=((0, 0),))),
    "another line": replace(COUNT, where=InIntervals(column="age", domain=Domain(0, 1), intervals=((0, 0),))),
    "a text about a number": replace(COUNT, where=InTexts(column="age", texts=("x",))),
    "a text that is none": replace(COUNT, where=InTexts(column="city", texts=("\x00",))),
    "a gap": replace(
        COUNT, where=Gap(until=Ref(column="born"), since=Ref(column="born"), unit=Unit.YEARS, intervals=((0, 10_000),))
    ),
    "a gap of numbers": replace(
        COUNT, where=Gap(until=Ref(column="age"), since=Ref(column="born"), unit=Unit.DAYS, intervals=((0, 1),))
    ),
    "a reference that leads out": replace(
        COUNT, where=Gap(until=Ref(column="born", up=1), since=Ref(column="born"), unit=Unit.DAYS, intervals=((0, 1),))
    ),
    "a number of times": replace(COUNT, where=HasRows(table="visits", where=AllOf(()), at_least=2**62)),
    "the salt": replace(COUNT, salt=2**40),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_no_planner_should_make_is_refused_all_the_same(wrong) -> None:
    with pytest.raises(BadQuestionError):
        check_total(WRONG[wrong], CLINIC)


@pytest.mark.parametrize("wrong", WRONG)
def test_what_no_planner_should_make_is_not_written_either(wrong) -> None:
    with pytest.raises(BadQuestionError):
        emit(WRONG[wrong], CLINIC, DUCKDB, {table.name: table.name for table in CLINIC.tables})


def test_every_key_is_looked_at_and_not_only_the_first() -> None:
    wide = GridKey(term=Times(ConstantTerm(2**61), OnGrid(column="age", bits=0, low=-2, high=2)), width=1)
    aggregate = replace(COUNT, keys=(GridKey(term=AGE, width=1), wide))
    assert [number.what for number in numbers(aggregate) if not fits(number)] == ["the range of the expression"]


def test_every_derived_column_is_looked_at_and_not_only_the_first() -> None:
    rows = PersonRows(table="visits", where=AllOf(()), derived=())
    few, many = (NumberOfPerson(name=f"n{most}", rows=rows, column=None, most=most) for most in (9, 2**63))
    for derived in (
        (few, many),
        (few, NumberOfPerson(name="in", rows=replace(rows, derived=(many,)), column=None, most=9)),
    ):
        found = [number.what for number in numbers(replace(COUNT, derived=derived)) if not fits(number)]
        assert found == ["the most that is counted"]


def test_numbers_of_derived_columns_are_looked_at_to_their_ends() -> None:
    rows = PersonRows(table="visits", where=AllOf(()), derived=())
    number = NumberOfPerson(name="n", rows=rows, column=None, most=1)
    old, one = Branch(where=AllOf(()), result="old"), Branch(where=AllOf(()), result=2**52)
    case = CaseResult(name="c", branches=(old, one), otherwise=None)
    computed, filled = Computed(name="t", term=AGE, bits=900), Filled(name="f", column="bmi", otherwise=3, bits=-900)
    wrong = {
        "the most that is counted": (replace(number, most=0), replace(number, most=2**62 + 1)),
        "what a case gives": tuple(replace(case, otherwise=sign * (2**52 + 1)) for sign in (1, -1)),
        "the grid of the expression": (replace(computed, bits=901), replace(computed, bits=-901)),
        "the grid of a gap": (replace(filled, bits=901), replace(filled, bits=-901)),
        "what stands for a gap, on its grid": (replace(filled, otherwise=2**52 + 1),),
    }
    assert all(fits(number) for one in (number, case, computed, filled) for number in of_derived(one))
    for what, columns in wrong.items():
        for one in columns:
            assert [number.what for number in of_derived(one) if not fits(number)] == [what]


def test_what_stands_behind_a_condition_of_a_column_is_looked_at_too() -> None:
    computed = Computed(name="t", term=AGE, bits=901)
    looks = HasRows(table="patients", where=AllOf(()), derived=(computed,))
    cases = CaseResult(name="c", branches=(Branch(where=looks, result=1),), otherwise=None)
    for derived in (cases, OnlyWhere(name="o", column="age", where=looks)):
        found = [number.what for number in numbers(replace(COUNT, derived=(derived,))) if not fits(number)]
        assert found == ["the grid of the expression"]


def test_a_person_key_is_compared_with_what_it_holds() -> None:
    integers = InIntervals(column="pid", domain=INTEGERS, intervals=((0, 5),))
    texts = InTexts(column="pid", texts=("x",))
    by_text = replace(CLINIC, tables=tuple(replace(table, key_type=KeyType.TEXT) for table in CLINIC.tables))
    check_total(replace(COUNT, where=integers), CLINIC)
    check_total(replace(COUNT, where=texts), by_text)
    for where, population in ((texts, CLINIC), (integers, by_text)):
        with pytest.raises(BadQuestionError, match="'pid'"):
            check_total(replace(COUNT, where=where), population)


def test_conditions_and_expressions_may_be_nested_so_deep_and_no_deeper() -> None:
    adult = InIntervals(column="age", domain=INTEGERS, intervals=((18, 99),))
    young = InIntervals(column="age", domain=INTEGERS, intervals=((0, 30),))
    nested = {0: adult}
    for depth in range(1, DEEPEST + 2):
        nested[depth] = (AllOf if depth % 2 else AnyOf)((nested[depth - 1], young))
    check_total(replace(COUNT, where=nested[DEEPEST]), CLINIC)
    with pytest.raises(BadQuestionError, match=f"nested deeper than {DEEPEST} levels"):
        check_total(replace(COUNT, where=nested[DEEPEST + 1]), CLINIC)
    with pytest.raises(BadQuestionError, match="levels deep, more than"):
        plan(ask.total("patients", reduce(partial(Arithmetic, "+"), [ask.col("age")] * (DEEPEST + 2))), CLINIC)


def test_a_question_may_have_so_many_constants_and_no_more() -> None:
    """A list of texts is one parameter; bounds of intervals of days are written one by one."""
    texts = tuple(str(n) for n in range(MOST_CONSTANTS))
    check_total(replace(COUNT, where=InTexts(column="city", texts=texts)), CLINIC)
    days = tuple((3 * n, 3 * n) for n in range(MOST_CONSTANTS // 2))
    check_total(replace(COUNT, where=InIntervals(column="born", domain=DAYS, intervals=days[:-100])), CLINIC)
    with pytest.raises(BadQuestionError, match=f"more than about {MOST_CONSTANTS} constants"):
        check_total(replace(COUNT, where=InIntervals(column="born", domain=DAYS, intervals=days)), CLINIC)


@given(QUESTIONS)
def test_a_statement_has_no_more_parameters_than_were_counted_and_all_within_their_types(question) -> None:
    aggregate = plan(question, CLINIC).aggregate
    for dialect in DIALECTS:
        given_ = emit(aggregate, CLINIC, dialect, {t.name: dialect.name(t.name) for t in CLINIC.tables}).parameters
        assert len(given_) <= constants(aggregate, CLINIC)
        assert all(-(2**63) <= value < 2**63 for value in given_ if isinstance(value, int))


@given(QUESTIONS)
def test_every_number_of_a_plan_fits_its_type(question) -> None:
    assert all(fits(number) for number in numbers(plan(question, CLINIC).aggregate))


VISITS = CLINIC.table("visits")


def terms():
    """Terms about a visit of any shape that can be built."""
    leaves = st.one_of(
        st.integers(-(2**40), 2**40).map(ConstantTerm),
        st.builds(
            lambda a, b: OnGrid(column="nights", bits=0, low=min(a, b), high=max(a, b)),
            *[st.integers(-(2**20), 2**20)] * 2,
        ),
        st.builds(
            lambda a, b: OnGrid(column="cost", bits=0, low=min(a, b), high=max(a, b)),
            *[st.integers(-(2**52), 2**52)] * 2,
        ),
        st.builds(
            lambda u, a, b: Elapsed(
                until="left", since="day", unit=u, low=GAPS[u].lowest + min(a, b), high=GAPS[u].lowest + max(a, b)
            ),
            st.sampled_from(Unit),
            *[st.integers(0, 19_998)] * 2,
        ),
    )

    def built(kind, *parts):
        try:
            return kind(*parts)
        except BadQuestionError:
            return parts[0]

    return st.recursive(
        leaves,
        lambda inner: (
            st.builds(built, st.sampled_from([Plus, Times]), inner, inner)
            | st.builds(built, st.just(Rounded), inner, st.integers(0, 50))
        ),
        max_leaves=6,
    )


def parts(term):
    match term:
        case Plus(left, right) | Times(left, right):
            return [term, *parts(left), *parts(right)]
        case Rounded(inner, _):
            return [term, *parts(inner)]
    return [term]


@given(terms(), row_of(VISITS))
def test_every_part_of_a_term_stays_within_its_stated_range_whatever_the_row_holds(term, row) -> None:
    assert all(fits(number) for number in of_term(term))
    for part in parts(term):
        value, (low, high) = RowsInMemory(CLINIC).value(part, VISITS, row), bounds(part)
        assert value is None or low <= value <= high
        assert (low, high) in [(number.low, number.high) for number in of_term(term)]


def test_a_count_of_people_needs_no_more_than_64_bits() -> None:
    assert isinstance(COUNT.bounding, CountPerPerson)
    assert max(number.high for number in numbers(COUNT)) < 2**63


EVENTS = Population(
    name="clinic",
    unit=PrivacyUnit(person_key="pid"),
    tables=(
        Table(name="patients", columns=(Column(name="born", type=Date()),)),
        Table(name="visits", columns=(Column(name="day", type=Date()),), rows=RowsPerPerson.MANY_A_PERSON),
        Table(name="codes", columns=(Column(name="day", type=Date()),), rows=RowsPerPerson.MANY_A_PERSON),
    ),
)


def looking_out(*seen):
    """Return a has within a has within a has, the i-th of which compares its row with those of `seen[i]` rows out."""
    predicate = AllOf(())
    for ups in reversed(seen):
        gaps = (
            Gap(until=Ref(column="day"), since=Ref(column="day", up=up), unit=Unit.DAYS, intervals=((0, 30),))
            for up in ups
        )
        predicate = HasRows(table="visits", where=every([*gaps, predicate]))
    return predicate


@pytest.mark.parametrize(
    "within",
    [
        looking_out((1,), (1,)),
        looking_out((1,), (1, 2)),
        looking_out((), (2,)),
        looking_out((), (1,), (1,)),
        looking_out((), (1,), (2,)),
    ],
)
@pytest.mark.parametrize("times", [1, 2])
def test_days_of_three_rows_of_a_person_are_not_compared_for_they_are_too_many_triples_to_go_through(
    within, times
) -> None:
    within = replace(within, at_least=times)
    for predicate in (
        within,
        LacksRows(table="codes", where=within),
        AnyOf((within, HasRows(table="codes", where=AllOf(())))),
    ):
        aggregate = Aggregate(table="visits", where=predicate, keys=(), bounding=CountPerPerson(max_cells=1), salt=0)
        with pytest.raises(BadQuestionError, match="three rows of a person"):
            check_total(aggregate, EVENTS)


@pytest.mark.parametrize(
    "text",
    [
        "has(codes, codes.day > visits.day and case when has(visits, visits.day > codes.day) then 1 else 0 end = 1)",
        "has(codes, codes.day > visits.day and 2 * case when has(visits, day > codes.day) then 1 else 0 end > 1)",
        "has(codes, codes.day > visits.day and case when has(visits, visits.day > codes.day) then 1 else 0 end in (1))",
        "has(codes, codes.day > visits.day and case when has(visits, visits.day > codes.day) then codes.day end = day)",
    ],
)
def test_a_third_row_behind_a_case_is_one_too_many_as_in_a_condition(text) -> None:
    with pytest.raises(BadQuestionError, match="three rows of a person"):
        plan(ask.count("visits", text), EVENTS)


@pytest.mark.parametrize("compared", ["codes.day > visits.day", "codes.day - visits.day < 30"])
def test_a_case_inside_of_a_has_speaks_of_its_own_row_and_says_so(compared) -> None:
    with pytest.raises(BadQuestionError, match="a case is about its own row"):
        plan(ask.count("visits", f"has(codes, case when {compared} then 1 else 0 end = 1)"), EVENTS)


@pytest.mark.parametrize(
    "text",
    [
        "case when has(codes, codes.day > visits.day) then 1 else 0 end = 1",
        "has(codes, case when has(visits, visits.day > codes.day) then 1 else 0 end = 1)",
        (
            "has(codes, case when has(visits, day > codes.day) then 1 else 0 end = 1) and "
            "has(codes, codes.day > visits.day and case when codes.day > date '2020-01-01' then 1 else 0 end = 1)"
        ),
        "has(codes, codes.day - visits.day < 30)",
        "has(codes, codes.day - visits.day < 30) and not has(codes, visits.day - codes.day < 30, 2)",
        "has(patients, patients.born < visits.day and has(codes, codes.day - patients.born > 30))",
        "has(codes, has(patients, patients.born < codes.day))",
        "has(patients, has(codes, codes.day - visits.day < 30))",
    ],
)
def test_days_of_two_rows_and_those_of_the_only_one_that_a_person_has_are_compared(text) -> None:
    plan(ask.count("visits", text), EVENTS)


def test_the_days_of_pairs_of_rows_are_compared_from_a_table_with_one_row_a_person_too() -> None:
    pair = "visits.day > patients.born and has(codes, codes.day - visits.day < 30 and codes.day > patients.born)"
    plan(ask.count("patients", f"has(visits, {pair})"), EVENTS)

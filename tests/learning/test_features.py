"""What is read of each person: by hand over people who are made to hurt, the same on every engine, and refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import lapwing as lw
from draws import drawn_for
from engines.clinic import clinic, rows_of_anyone
from engines.rows_in_memory import RowsInMemory
from engines.workbenches import ENGINES
from lapwing.engines.engine import ImpossibleError, possible_people
from lapwing.learning.features import ONE, CodedInput, NumberInput, plan_features
from lapwing.mechanisms.private_gradients import PrivateGradients
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.guarantee import PrivacyUnit
from publishing.odd_people import AGES, BMIS, SEXES, odd_tables
from session.clinic import population

OPEN = PrivateGradients(rate=Fraction(1), sigma_squared=Fraction(1), clip=1)
CLINIC = clinic()
WORDS = ["sex", "ward", "age", "bmi", "smoker", lw.bins("age", [0, 18, 65, 120]), lw.has("visits", "nights > 2")]
NULLABLE = Population(
    name="clinic",
    unit=PrivacyUnit(person_key="id"),
    tables=(
        Table(
            name="patients",
            columns=(
                Column(name="sex", type=Category(values=("F", "M")), nullable=True),
                Column(name="age", type=Integer(low=0, high=99), nullable=True),
                Column(name="bmi", type=Real(low=10, high=60, step="1/4"), nullable=True),
                Column(name="survivor", type=Boolean(), nullable=True),
                Column(name="city", type=Text()),
                Column(name="born", type=Date()),
                Column(name="code", type=Integer()),
                Column(name="always", type=Integer(low=3, high=3)),
            ),
        ),
        Table(
            name="visits",
            rows=RowsPerPerson.MANY_A_PERSON,
            columns=(Column(name="ward", type=Integer(low=1, high=20)),),
        ),
    ),
)


def opened(people):
    """Return rows as the mechanism sees them, in one order."""
    found = []
    OPEN.prepare(people, lambda rows: found.extend(map(tuple, np.asarray(rows).tolist())))
    return sorted(found)


def test_people_are_read_as_the_catalogue_says_by_hand() -> None:
    plan = plan_features("patients", ["sex", "age", "bmi"], "survivor", NULLABLE)
    tables = odd_tables(200)
    tables.population = Population(
        name="clinic", unit=NULLABLE.unit, tables=(Table(name="patients", columns=NULLABLE.tables[0].columns[:4]),)
    )
    tables.sources = {"patients": tables.sources["patients"].drop_columns(["city"])}
    codes = opened(
        tables.engine({}).people(
            plan_features("patients", ["sex", "age", "bmi"], "survivor", tables.population).aggregate
        )
    )
    survivors = [True, False, None, False, False]
    by_hand = []
    for i in range(200):
        sex, age, bmi = SEXES[(i * i) % 7], AGES[(i * 7 + i // 13) % 11], BMIS[(i // 3) % 8]
        by_hand.append(
            (
                {"F": 0, "M": 1}.get(sex, 2),
                0 if age is None else 1 + min(max(age, 0), 99),
                0 if bmi is None or math.isnan(bmi) else 1 + math.floor((min(max(bmi, 10), 60) - 10) * 4 + 0.5),
                {False: 0, True: 1}.get(survivors[(i // 5) % 5], 2),
            )
        )
    assert codes == sorted(by_hand)
    rows = plan.encode(np.array(codes))
    assert len(rows) == sum(one[-1] < 2 for one in by_hand), "whoever has no target is left out"
    assert plan.inputs == (
        *("sex = F", "sex = M", "sex other or missing", "age", "age is missing", "bmi", "bmi is missing"),
        "1",
    )
    assert set(rows[:, -2]) == {ONE}
    assert np.abs(rows[:, :-1]).max() == ONE
    assert set(rows[:, :3].sum(1)) == {ONE}
    missing = rows[:, 4] == ONE
    assert missing.any()
    assert (rows[missing, 3] == 0).all()


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "rows"])
def test_engines_read_the_same_people(name, request) -> None:
    aggregate = plan_features("patients", WORDS[:-2] + WORDS[-1:], lw.bins("age", [0, 50, 120]), CLINIC).aggregate
    with ENGINES[name](CLINIC, request) as bench:

        @drawn_for(name)
        @settings(max_examples=min(bench.corpus, 5), deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(rows_of_anyone(CLINIC))
        def agree(tables) -> None:
            bench.load(tables)
            rows = opened(bench.people(aggregate))
            people = {row["pid"] for row in tables["patients"] if row["pid"] is not None}
            assert len(rows) <= len(people), "one row each, also of whoever has two in spite of what is declared"
            added = RowsInMemory(CLINIC, tables).vector(aggregate).open_for_release()
            assert tuple(map(sum, zip(*rows, strict=True))) == added or (not rows and not any(added))

        agree()


def test_a_database_that_sends_what_cannot_be_has_failed() -> None:
    aggregate = plan_features("patients", ["age"], "survivor", NULLABLE).aggregate

    def columns(*rows):
        return [np.array(part) for part in zip(*rows, strict=True)] if rows else [np.array([], np.int64)] * 2

    assert possible_people(aggregate, columns((100, 2), (0, 0))).tolist() == [[100, 2], [0, 0]]
    assert possible_people(aggregate, columns()).shape == (0, 2)
    for wrong in ([(101, 0)], [(-1, 0)], [(5, 3)], [(5.0, 1)], [(None, 1)], [(True, 1)], [(5, 1, 1)]):
        with pytest.raises(ImpossibleError):
            possible_people(aggregate, columns(*wrong))


def test_what_is_predicted_about_is_read_as_the_data_is() -> None:
    age = NumberInput(name="age", low=Fraction(0), step=Fraction(1), extent=100, nullable=True)
    assert age.code([0, 100, 250, -3, 40.4, None, math.nan]).tolist() == [1, 101, 101, 1, 41, 0, 0]
    assert age.encode(np.array([1, 101, 51, 0])).tolist() == [[-ONE, 0], [ONE, 0], [0, 0], [0, ONE]]
    site = CodedInput(name="site", labels=("a", "b"), nullable=False)
    assert site.encode(site.code(["b", "z", None, True])).tolist() == [[0, ONE], [0, 0], [0, 0], [0, 0]]
    truth = CodedInput(name="ill", labels=(False, True), nullable=True)
    assert truth.encode(truth.code([True, False, None, np.True_, 1])).tolist() == [
        [ONE, 0], [-ONE, 0], [0, ONE], [ONE, 0], [0, ONE]
    ]  # fmt: skip
    bins = CodedInput(name="b", labels=((0, 17), (18, 64)), nullable=False)
    assert bins.code([17, 18, 65, None]).tolist() == [0, 1, 2, 2]
    with pytest.raises(BadQuestionError, match="is a number"):
        age.code(["old"])
    with pytest.raises(BadQuestionError, match="missing somewhere"):
        NumberInput(name="n", low=Fraction(0), step=Fraction(1), extent=5, nullable=False).code([None])


@pytest.mark.parametrize(
    ("features", "target", "said"),
    [
        ([], "survivor", "no feature is named"),
        (["age", "age"], "survivor", "is there twice"),
        (["age", "survivor"], "survivor", "cannot be a feature"),
        (["city"], "survivor", "holds any text"),
        (["born"], "survivor", "holds days"),
        (["code"], "survivor", "no declared bounds"),
        (["always"], "survivor", "nothing to learn from"),
        (["agee"], "survivor", "agee"),
        (["age"], "city", "holds any text"),
        ([3], "survivor", "nothing to group by"),
    ],
)
def test_features_without_declared_bounds_or_values_are_refused(features, target, said) -> None:
    with pytest.raises(BadQuestionError) as refused:
        plan_features("patients", features, target, NULLABLE)
    assert said in str(refused.value)


def test_a_table_with_many_rows_a_person_is_refused() -> None:
    with pytest.raises(BadQuestionError, match="many rows a person"):
        plan_features("visits", ["ward"], "ward > 3", NULLABLE)


def test_only_whose_rows_are_wanted_are_read() -> None:
    unit = plan_features("patients", ["age"], "survivor", population(), "sex = 'F'")
    tables = odd_tables(300)
    women = sum(SEXES[(i * i) % 7] == "F" and AGES[(i * 7 + i // 13) % 11] is not None for i in range(300))
    assert len(opened(tables.engine({}).people(unit.aggregate))) == women
    with pytest.raises(BadQuestionError, match="sexx"):
        plan_features("patients", ["age"], "survivor", population(), "sexx = 'F'")


def test_features_may_have_names_of_ones_own() -> None:
    plan = plan_features("patients", {"old": "age > 65", "weight": "bmi"}, "sex", NULLABLE)
    assert [one.name for one in plan.features] == ["old", "weight"]

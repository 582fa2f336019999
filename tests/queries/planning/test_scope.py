"""What a name means: the nearest row that has it, the person's own row elsewhere, or a refusal with what there is."""

import pytest

from lapwing.queries.algebra.derived import LookedUp
from lapwing.queries.language.expressions import Literal, Name, Now, Spelled, col
from lapwing.queries.planning.deriving import derive
from lapwing.queries.planning.scope import Scope
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError
from queries.asked import CODES, PATIENTS, POPULATION, VISITS

ROW = Scope(POPULATION, PATIENTS, "p", derive=derive)


def test_the_nearest_row_that_has_a_name_is_meant() -> None:
    inner = ROW.inner(VISITS, "v", None)
    assert inner.find(col("day")) == (0, inner)
    assert inner.find(col("age")) == (1, ROW)
    assert inner.find(col("p.pid")) == (1, ROW)
    assert inner.find(col("nothing")) is None
    assert [scope.alias for scope in inner.outwards()] == ["v", "p"]
    assert inner.alone("w", None).outer is None


def test_names_are_those_of_any_case() -> None:
    assert ROW.column(col("P.AGE")).name == "age"
    assert ROW.owns(col("PID"))
    assert ROW.is_person_key(col("p.Pid"))
    assert not ROW.is_person_key(col("v.pid"))


def test_a_row_sees_the_persons_own_row_of_another_table() -> None:
    visit = Scope(POPULATION, VISITS, "visits", derive=derive)
    column = visit.column(col("patients.age"))
    assert column.nullable
    assert visit.in_order == (LookedUp(name="patients.age", table="patients", column="age"),)
    assert visit.row.column("patients.age") == column
    assert visit.column(col("patients.age")) == column


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nothing", "table patients has no column 'nothing'"),
        ("nights", "write has"),
        ("visits.nights", "many rows"),
        ("pid", "tells people apart"),
        ("x.age", "no table 'x'"),
    ],
)
def test_what_has_no_meaning_is_refused_with_what_there_is(name, why) -> None:
    with pytest.raises(BadQuestionError, match=why):
        ROW.column(col(name))


def test_a_row_with_many_of_a_person_is_not_named_from_inside() -> None:
    inner = Scope(POPULATION, VISITS, "v", derive=derive).inner(CODES, "c", None)
    with pytest.raises(BadQuestionError, match="outside the condition"):
        inner.column(col("v.nights"))


def test_only_chosen_columns_are_there() -> None:
    chosen = Scope(POPULATION, PATIENTS, "t", columns=("age",), derive=derive)
    assert chosen.column(col("age")).name == "age"
    with pytest.raises(BadQuestionError, match="only age"):
        chosen.column(col("bmi"))
    with pytest.raises(BadQuestionError, match="no column 'nothing'"):
        Scope(POPULATION, PATIENTS, "t", columns=("nothing",))


def test_a_text_is_the_column_that_is_called_so_or_what_it_reads_as() -> None:
    assert ROW.spelled(Spelled("age", Literal(1))).name == "age"
    assert ROW.spelled(Spelled("age + 1", Literal(1))).value == 1
    assert isinstance(ROW.spelled(Name("age")), Name)
    with pytest.raises(BadQuestionError, match="because"):
        ROW.spelled(Spelled("age +", None, "because"))


def test_days_are_known_as_days() -> None:
    assert ROW.is_day(col("born"))
    assert ROW.is_day(Now())
    assert not ROW.is_day(col("age"))
    assert not ROW.is_day(Literal(3))


def test_values_within_values_are_made_once() -> None:
    row, made = Scope(POPULATION, PATIENTS, "p", derive=derive), col("age")
    for number in range(30):
        made = made.coalesce(number) - 1
    with deadline(5):
        assert row.column(made).type.low < 0

"""Streams of totals, shares and correlations: right on real tables, with the sensitivity of the planner."""

import math
from fractions import Fraction

import pyarrow as pa
import pytest

from lapwing import col
from lapwing.answers.stream_terms import StreamTerms
from lapwing.ledger.replay import verify
from lapwing.mechanisms.sparse_vector.value_sensitivity import CorrelationScreen
from lapwing.queries.statistics.streamed import RESOLUTION, StreamedValue, ValueStreamPlanner
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, PureDP
from session.clinic import door, new_ledger, population, spent
from session.real_tables import Tables

SURE = "0.99999999"
PRICE = {"yeses": 3, "epsilon": 8}
BUDGETS = (
    PureDP(epsilon=Fraction(100)),
    ConcentratedDP(rho=Fraction(100)),
    ApproximateDP(epsilon=Fraction(100), delta=Fraction(1, 10**6)),
)
STREAMS = {
    "total": {"total": "age", "at_least": 5000, "table": "patients"},
    "proportion": {"proportion": "survivor", "at_least": "0.1", "table": "patients"},
    "correlation": {"correlation": "age", "at_least": "0.3", "table": "patients"},
}


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "rho", "delta"])
def test_totals_shares_and_correlations_are_answered_on_every_kind_of_budget(quick_path, budget) -> None:
    """Ages are 0 to 99, four times each; a fifth survived; nobody older than 95 has an age that is left over by 5."""
    with new_ledger(quick_path, budget) as ledger:
        clinic = door(ledger, Tables())
        with clinic.stream(**STREAMS["total"], **PRICE) as totals:
            assert [bool(totals.ask(where)) for where in ("age >= 50", "age < 10")] == [True, False]
            assert bool(totals.ask("age < 10", at_least=-3000)), "a total may be asked for with another number"
        with clinic.stream(**STREAMS["proportion"], **PRICE) as shares:
            assert [bool(shares.ask(where)) for where in (None, "age % 5 = 1")] == [True, False]
        with clinic.stream(**STREAMS["correlation"], **PRICE) as screen:
            asked = ["age", "-age", col("age").clip(0, 60)]
            assert [bool(one) for one in screen.ask_many(asked)] == [True, False, True]
        verify(ledger)


def test_a_total_tells_its_gap_its_number_and_its_interval_in_its_unit(ledger) -> None:
    stream = door(ledger, Tables()).stream(total="bmi", at_least="5000", table="patients", number=True, **PRICE)
    answer = stream.ask(None)
    exact = sum(20 + i % 40 / 4 for i in range(1, 401))
    assert abs(answer.number - exact) <= stream.terms.number_margin(SURE)
    assert answer.interval(SURE).low <= exact <= answer.interval(SURE).high
    assert answer.number % Fraction(1, 4) == 0
    assert answer.to_dict()["at_least"] == 5000
    assert "total of bmi of at least 5,000" in dict(answer.facts())["answer"]
    again = stream.ask(None)
    assert (again.number, again.threshold, again.free) == (answer.number, 5000, True)


def test_many_answers_are_a_table_of_numbers(ledger) -> None:
    stream = door(ledger, Tables()).stream(**STREAMS["proportion"], number=True, **PRICE)
    first, second = stream.ask_many([None, "age % 5 = 1"]).to_rows()
    assert (first["at_least"], second["number"]) == (0.1, None)
    assert isinstance(first["number"], float)
    assert first["low"] <= first["high"], "what the number and the gap allow: the number itself may lie outside"
    assert door(ledger, Tables()).resume(stream.name).ask_many([None]).to_dict()["answers"][0]["free"]


def test_which_value_is_correlated_must_be_said(ledger) -> None:
    stream = door(ledger, Tables()).stream(**STREAMS["correlation"], **PRICE)
    with pytest.raises(BadQuestionError, match="name one"):
        stream.ask(None)


def test_a_share_tells_by_how_many_people_it_is_more(ledger) -> None:
    stream = door(ledger, Tables()).stream(**STREAMS["proportion"], number=True, **PRICE)
    answer = stream.ask(None)
    assert abs(answer.number - (80 - 40)) <= stream.terms.number_margin(SURE)
    assert answer.threshold == Fraction(1, 10)
    assert answer.interval(SURE).low <= 40 <= answer.interval(SURE).high


def test_rows_of_a_person_are_added_up_to_their_bound(ledger) -> None:
    """A person with three visits counts with two of them: the table says so."""
    stream = door(ledger, Tables()).stream(total="ward", at_least=3000, table="visits", number=True, **PRICE)
    of = stream.terms.streamed
    assert (of.up, of.down) == (40, 0)
    exact = sum(min(i % 4 * (1 + i % 20), 40) for i in range(1, 401))
    assert abs(stream.ask(None).number - exact) <= stream.terms.number_margin(SURE)


@pytest.mark.parametrize("people", [1, 3])
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("of", STREAMS)
def test_the_sensitivity_is_that_of_the_planner(of, adjacency, people) -> None:
    """As a total: how far a value rises is the planner's L1, for groups and for both adjacencies."""
    here = population(adjacency, people)
    terms = StreamTerms.of(here, **STREAMS[of], **PRICE)
    planned, _ = ValueStreamPlanner(here, "patients", terms.streamed).plan(["age" if of == "correlation" else None])[0]
    rise, span = terms.sensitivity.in_steps(Fraction(1))
    assert rise == planned.sensitivity.l1
    one_way = adjacency is Adjacency.ADD_REMOVE and of == "total"
    assert (span == rise) is one_way, "what can move either way costs a yes twice"


@pytest.mark.parametrize("of", STREAMS)
def test_no_person_moves_a_sum_further(of) -> None:
    """Every value that a row can have, alone in a table: the sum lies within the bounds, and reaches them or nearly."""
    here = population()
    terms = StreamTerms.of(here, **STREAMS[of], **PRICE)
    asked = {"total": None, "proportion": "age >= 0", "correlation": "bmi"}[of]
    planned, _ = ValueStreamPlanner(here, "patients", terms.streamed).plan([asked])[0]
    found = []
    extremes = [(0, 10, True), (99, 90, False), (0, 60, None), (99, 10, True), (49, 35, False), (None, None, None)]
    for age, bmi, survivor in extremes:
        row = {"id": [1], "sex": ["F"], "age": [age], "bmi": [bmi], "survivor": [survivor], "city": ["x"]}
        kinds = {"age": pa.int64(), "bmi": pa.float64(), "survivor": pa.bool_()}
        table = pa.table({name: pa.array(some, kinds.get(name)) for name, some in row.items()})
        visits = pa.table(
            {"id": pa.array([], pa.int64()), "kind": pa.array([], pa.string()), "ward": pa.array([], pa.int64())}
        )
        engine = Tables(sources={"patients": table, "visits": visits})
        found.append(engine.engine({}).number(planned.aggregate).open_for_release())
        engine.close()
    up, down = terms.streamed.up, terms.streamed.down
    assert -down <= min(found)
    assert max(found) <= up
    assert max(found) == up
    assert min(found) == -down or of == "correlation"
    assert 0 in found, "what is missing adds nothing"


def test_a_correlation_is_the_score_of_the_screen() -> None:
    """The same bounds as `CorrelationScreen`, whose proof is that of this score."""
    terms = StreamTerms.of(population(), **STREAMS["correlation"], **PRICE)
    screen = CorrelationScreen(at_least="0.3", resolution=RESOLUTION)
    assert terms.sensitivity == screen.sensitivity(Adjacency.ADD_REMOVE)


def test_declarations_that_were_widened_are_noticed() -> None:
    here = population()
    of = StreamTerms.of(here, **STREAMS["total"], **PRICE).streamed
    assert isinstance(of, StreamedValue)
    narrow = StreamedValue(
        statistic=of.statistic, value=of.value, at_least=of.at_least, max_rows=None, step=of.step, up=of.up - 1, down=0
    )
    with pytest.raises(BadQuestionError, match="open a new stream"):
        ValueStreamPlanner(here, "patients", narrow).plan([None])


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"total": "city"}, "city"),
        ({"total": "age", "proportion": "survivor"}, "more than once|exactly|both"),
        ({"total": "nothing"}, "nothing"),
        ({"proportion": "survivor", "at_least": "1.5"}, "no proportion to ask for"),
        ({"proportion": "survivor", "at_least": "0.33333"}, "few digits"),
        ({"correlation": "age", "at_least": "-0.5"}, "no correlation to ask for"),
        ({"correlation": "3", "at_least": "0.5"}, "always 3"),
        ({"max_rows": 3}, "does not go with counts of people"),
        ({"total": 7}, "neither a value nor a condition"),
        ({"total": "age", "at_least": "1e90"}, "out of reach"),
        ({"totals": "age"}, "there is no totals="),
    ],
)
def test_what_cannot_be_asked_is_refused_before_the_charge(ledger, given, match) -> None:
    offer = {"at_least": 200, "table": "patients", **PRICE, **given}
    with pytest.raises((BadQuestionError, ParameterError), match=match):
        door(ledger, Tables()).stream(**offer)
    assert spent(ledger) == 0


@pytest.mark.parametrize(
    ("of", "asked", "match"),
    [
        ("total", "no_such_column > 3", "no_such_column"),
        ("correlation", "city", "city"),
        ("correlation", "sex = 'F' and", "sex|read|ends"),
    ],
)
def test_a_bad_question_costs_nothing(ledger, of, asked, match) -> None:
    stream = door(ledger, Tables()).stream(**STREAMS[of], **PRICE)
    before = stream.record
    with pytest.raises(BadQuestionError, match=match):
        stream.ask(asked)
    assert stream.record == before
    with pytest.raises(ParameterError, match=r"another|whole|number"):
        stream.ask(None, at_least="0.7" if of != "total" else "many")


def test_previews_say_what_is_compared(ledger) -> None:
    preview = door(ledger, Tables()).preview_stream(**STREAMS["proportion"], **PRICE)
    assert "a share of at least 0.1 with survivor in patients?" in str(preview)
    assert math.isclose(preview.chance_of_yes(0), 0.5, abs_tol=0.2)
    assert preview.to_dict()["of"]["statistic"] == "proportion"

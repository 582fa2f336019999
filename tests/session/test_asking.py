"""One question: what it costs before it is asked, in which order things happen, and what is told."""

import gc
import json
import os
from fractions import Fraction

import pytest

from lapwing import bins, count, count_distinct, mean, median, quantiles, top, total, variance
from lapwing.ledger.replay import verify
from lapwing.mechanisms import PartitionSelection
from lapwing.queries.catalogue.public_tables import ConceptSet, concept_set
from lapwing.session import Session
from lapwing.vocabulary.errors import (
    BadQuestionError,
    BudgetExceededError,
    EngineError,
    RequestConflictError,
    SuspendedError,
    UnansweredError,
)
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP
from session.clinic import KEY, Broken, FixedNumber, Unreachable, door, new_ledger, population, same_ledger, spent
from session.real_tables import PEOPLE, Tables

EVERYBODY = count("patients")
MEN = count("patients", "sex = 'M'")


def test_an_answer_says_all_there_is_to_say(clinic) -> None:
    answer = clinic.ask(MEN, epsilon=20, key="first")
    assert type(answer.value) is int
    assert abs(answer.value - PEOPLE // 2) <= 3
    assert answer.margin("0.95") == 0
    assert answer.interval() == (answer.value, answer.value)
    assert answer.price.epsilon == 20
    assert (answer.versions, answer.free, answer.rehearsal) == ({"patients": 1}, False, False)
    assert answer.sentence == (
        f"the number of people, in patients where sex is 'M': {answer.value}, within 0 with 95 % confidence, "
        "for epsilon 20."
    )
    verify(clinic.ledger, receipts=[answer.receipt])


def test_a_rehearsal_is_free_has_no_receipt_and_leaves_no_trace(clinic) -> None:
    before = clinic.ledger.head()
    answer = clinic.rehearse(MEN, epsilon=1)
    assert (answer.free, answer.rehearsal, answer.receipt, dict(answer.versions)) == (True, True, None, {})
    assert clinic.ledger.head() == before


def test_a_preview_says_what_the_custodian_does_not_allow(clinic) -> None:
    limit = clinic.ledger.administration.limit_analyst
    limit("clinic", clinic.analyst, tables=["visits"], most=None)
    (warning,) = clinic.preview(EVERYBODY, epsilon=1).warnings
    assert "may ask about visits, and this is about patients" in warning
    limit("clinic", clinic.analyst, tables=None, most=PureDP(epsilon=Fraction(1, 2)))
    forbidden, allowed = (clinic.preview(EVERYBODY, epsilon=epsilon) for epsilon in (1, "0.5"))
    (warning,) = forbidden.warnings
    assert "epsilon 1 is asked at once" in warning
    assert (dict(forbidden.facts())["mind"], dict(allowed.facts())["mind"]) == (warning, None)
    assert not allowed.warnings


@pytest.fixture
def ledger(quick_path):
    """Wide enough for an answer that is nearly exact."""
    with new_ledger(quick_path, PureDP(epsilon=Fraction(1000))) as opened:
        yield opened


def test_a_session_lets_go_when_it_is_left_but_not_in_the_copy_that_a_fork_makes(ledger, monkeypatch) -> None:
    closed = []
    with Session(population(), ledger, Tables(), analyst="ana", key=KEY, on_close=lambda: closed.append(1)) as clinic:
        with monkeypatch.context() as forked:
            forked.setattr(os, "getpid", lambda: -1)
            clinic.close()
        assert not closed, "what the first process uses stays open for it"
        clinic.preview(EVERYBODY, epsilon=1)
    assert closed == [1]
    with pytest.raises(BadQuestionError, match="this session is closed"):
        clinic.ask(EVERYBODY, epsilon=1)
    assert spent(ledger) == 0


def test_the_charge_is_durable_before_data_is_read(ledger, quick_path) -> None:
    seen = []

    def look() -> None:
        with same_ledger(quick_path) as other:
            seen.append(spent(other))

    clinic = door(ledger, Tables(on_read=look))
    clinic.ask(MEN, epsilon="1/4")
    assert seen == [Fraction(1, 4)]


def test_a_preview_tells_price_margin_and_what_is_left_and_reads_nothing(ledger) -> None:
    clinic = door(ledger, Unreachable())
    preview = clinic.preview(MEN, epsilon="0.1")
    assert preview.price.epsilon == Fraction(1, 10)
    assert preview.margin == {"answer": 30}
    assert (preview.before.left, preview.after.left) == (1000, Fraction(9999, 10))
    assert preview.affordable
    assert preview.times == 1000
    assert str(preview) == (
        "the number of people, in patients where sex is 'M': costs epsilon 0.1, within 30 with 0.95 confidence; "
        "afterwards epsilon 999.9 is left."
    )
    assert spent(ledger) == 0


def test_what_would_be_refused_is_previewed_with_the_reason(ledger) -> None:
    ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(1, 5)))
    preview = door(ledger, Tables()).preview(MEN, epsilon="0.5")
    assert not preview.affordable
    assert "epsilon 0.5 is asked and 0.2 is left: ask at epsilon 0.2 or less (within 15 with" in str(preview)
    assert preview.before.left == Fraction(1, 5)


def test_a_preview_is_the_same_whatever_the_tables_hold(ledger) -> None:
    """Q22: with everybody, without one person, with nobody, and with the database down."""

    def previews(data) -> list[tuple[str, object]]:
        clinic = door(ledger, data)
        asked = [
            clinic.preview(MEN, epsilon="0.1"),
            clinic.preview(MEN, within=20, confidence="0.9"),
            clinic.preview(median("patients", "age"), epsilon="0.1"),
            clinic.preview("select sex, count(*), avg(bmi) from patients group by sex", epsilon="0.1"),
        ]
        return [(str(one), one.asked.event) for one in asked]

    worlds = [Tables(), Tables(people=PEOPLE - 1), Tables(people=0), Unreachable()]
    assert len({str(previews(data)) for data in worlds}) == 1


@pytest.mark.parametrize("people", [PEOPLE, PEOPLE - 1, 0], ids=["everybody", "one person less", "nobody"])
def test_the_charge_is_the_same_whatever_the_tables_hold(ledger, people) -> None:
    clinic = door(ledger, Tables(people=people))
    for question in (MEN, median("patients", "age"), mean("patients", "bmi"), top("patients", "sex", 1)):
        clinic.ask(question, epsilon="0.1")
    assert spent(ledger) == Fraction(4, 10)


def test_ten_tenths_are_one(ledger) -> None:
    """P25: no float is ever summed."""
    clinic = door(ledger, FixedNumber(5))
    for age in range(10):
        clinic.ask(count("patients", f"age = {age}"), epsilon="0.1")
    assert spent(ledger) == 1


def test_the_same_question_at_the_same_price_is_free_and_the_same(ledger) -> None:
    """Q15: also in other words, and for another analyst."""
    clinic, other = door(ledger, FixedNumber(1000)), door(ledger, FixedNumber(1000), analyst="bob")
    first = clinic.ask(count("patients", "sex = 'M' and age >= 18"), epsilon="0.01")
    again = clinic.ask(count("patients", "not (age < 18) and sex in ('M')"), epsilon="0.01")
    from_bob = other.ask(count("patients", "sex = 'M' and age >= 18"), epsilon="0.01")
    assert (first.free, again.free, from_bob.free) == (False, True, True)
    assert first.numbers == again.numbers == from_bob.numbers
    assert spent(ledger) == Fraction(1, 100)
    assert clinic.ask(count("patients", "sex = 'M' and age >= 18"), epsilon="0.02").free is False


def test_what_is_free_may_be_asked_under_other_names(ledger) -> None:
    """A SELECT and a count are the same question whatever their columns are called."""
    clinic = door(ledger, FixedNumber(1000))
    first = clinic.ask(MEN, epsilon="0.01")
    for text in (
        "select count(*) as n from patients where sex = 'M'",
        "select count(*) from patients where sex in ('M')",
    ):
        again = clinic.sql(text, epsilon="0.01")
        assert (again.free, again.value) == (True, first.value)
    assert spent(ledger) == Fraction(1, 100)


def test_a_funnel_may_have_the_same_step_twice(clinic) -> None:
    answer = clinic.funnel("patients", ["survivor", "survivor", "age < 50"], epsilon=20)
    assert [row.key for row in answer.rows] == [("survivor",), ("survivor (step 2)",), ("age < 50",)]


def test_a_new_data_version_is_asked_anew_and_resets_nothing(ledger) -> None:
    clinic = door(ledger, FixedNumber(1000))
    clinic.ask(MEN, epsilon="0.01")
    ledger.administration.advance_version("clinic", "patients")
    again = clinic.ask(MEN, epsilon="0.01")
    assert (again.free, again.versions) == (False, {"patients": 2})
    assert spent(ledger) == Fraction(2, 100)


def test_a_question_about_two_tables_depends_on_the_versions_of_both(ledger) -> None:
    clinic = door(ledger, FixedNumber(1000))
    asked = count("patients", "has(visits, kind = 'ER')")
    assert clinic.ask(asked, epsilon="0.01").versions == {"patients": 1, "visits": 1}
    ledger.administration.advance_version("clinic", "visits")
    assert clinic.ask(asked, epsilon="0.01").free is False


def test_a_key_brings_back_the_same_bytes_and_serves_one_question(ledger) -> None:
    clinic = door(ledger, FixedNumber(1000))
    first = clinic.ask(MEN, epsilon="0.01", key="monday")
    ledger.administration.advance_version("clinic", "patients")
    again = clinic.ask(MEN, epsilon="0.01", key="monday")
    assert (again.numbers, again.receipt, again.versions) == (first.numbers, first.receipt, {"patients": 1})
    assert spent(ledger) == Fraction(1, 100)
    with pytest.raises(RequestConflictError, match="monday"):
        clinic.ask(EVERYBODY, epsilon="0.01", key="monday")


def test_a_failure_after_the_charge_keeps_it_and_says_nothing(ledger) -> None:
    told = []
    clinic = door(ledger, Broken())
    clinic._on_failure = told.append
    with pytest.raises(EngineError) as failed:
        clinic.ask(MEN, epsilon="0.25", key="k")
    assert str(failed.value) == "the question could not be answered; the custodian can find out why"
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None
    assert "123456789" in str(told[0])
    assert spent(ledger) == Fraction(1, 4)
    assert ledger.questions.unsettled() == []
    with pytest.raises(UnansweredError, match="lost after it was charged"):
        clinic.ask(MEN, epsilon="0.25", key="k")
    with pytest.raises(EngineError):
        clinic.ask(MEN, epsilon="0.25")
    assert spent(ledger) == Fraction(1, 2)


def test_a_database_that_is_down_costs_nothing(ledger) -> None:
    with pytest.raises(EngineError):
        door(ledger, Unreachable()).ask(MEN, epsilon="0.25")
    assert spent(ledger) == 0


def test_two_analysts_together_stay_under_the_cap(quick_path) -> None:
    with new_ledger(quick_path, PureDP(epsilon=Fraction(1))) as ledger:
        doors = [door(ledger, FixedNumber(10), analyst=name) for name in ("ana", "bob")]
        for age in range(5):
            doors[age % 2].ask(count("patients", f"age = {age}"), epsilon="0.2")
        for one in doors:
            with pytest.raises(
                BudgetExceededError, match=r"epsilon 0\.2 is asked and nothing is left: ask the custodian"
            ):
                one.ask(count("patients", "age = 99"), epsilon="0.2")
        assert spent(ledger) == 1


def test_a_suspended_population_answers_only_what_it_has_told(ledger) -> None:
    clinic = door(ledger, FixedNumber(10))
    clinic.ask(MEN, epsilon="0.1")
    ledger.administration.suspend("clinic")
    assert clinic.ask(MEN, epsilon="0.1").free
    with pytest.raises(SuspendedError):
        clinic.ask(EVERYBODY, epsilon="0.1")


def test_a_select_is_one_charge_shared_equally_and_one_table(clinic) -> None:
    before = spent(clinic.ledger)
    answer = clinic.sql("select sex, count(*) as n, avg(age) from patients group by sex", epsilon=20)
    assert spent(clinic.ledger) - before == 20
    assert answer.price.epsilon == 20
    assert [release.event.l1_sensitivity / release.event.scale for release in answer.asked.sources] == [20]
    several = clinic.preview("select count(*) as n, avg(age), avg(2 * age) as b from patients", epsilon=20).asked
    assert [release.event.l1_sensitivity / release.event.scale for release in several.sources] == [10, 10]
    assert (answer.keys, answer.columns, [row.key for row in answer.rows]) == (
        ("sex",),
        ("n", "avg"),
        [("F",), ("M",)],
    )
    assert all(abs(row["n"] - PEOPLE // 2) <= 3 for row in answer.rows)
    assert abs(answer.rows[0]["avg"] - 49) < 1
    assert str(answer).splitlines()[0].split() == ["sex", "n", "avg"]
    with pytest.raises(BadQuestionError, match="2 rows and 2 columns"):
        _ = answer.value


def test_a_funnel_is_one_release_at_the_price_of_a_count(clinic) -> None:
    before = spent(clinic.ledger)
    answer = clinic.funnel("patients", ["sex = 'M'", "age < 50", "survivor"], epsilon=20)
    assert spent(clinic.ledger) - before == 20
    assert [row.key for row in answer.rows] == [("sex = 'M'",), ("age < 50",), ("survivor",)]
    truth = [200, 100, 20]
    assert all(abs(row["people"] - exact) <= 5 for row, exact in zip(answer.rows, truth, strict=True))


def test_groups_come_sorted_with_their_bounds(clinic) -> None:
    answer = clinic.ask(count("patients", by=["sex", bins("age", [0, 18, 65, 99])]), epsilon=15)
    assert [row.key for row in answer.rows] == [
        (sex, span) for sex in "FM" for span in ("from 0 to 17", "from 18 to 64", "from 65 to 99")
    ]
    assert all(row.cells["answer"].low <= row["answer"] <= row.cells["answer"].high for row in answer.rows)


def test_means_come_with_an_interval_and_moments_in_their_range(clinic) -> None:
    answer = clinic.ask(mean("patients", "bmi"), epsilon=1)
    low, high = answer.interval("0.99")
    assert 10 <= low < answer.value < high <= 60
    assert answer.margin("0.99") == pytest.approx(max(high - answer.value, answer.value - low))
    assert clinic.preview(mean("patients", "bmi"), epsilon=1).margin == {"answer": None}
    low, high = clinic.ask(variance("patients", "bmi"), epsilon=1).interval()
    assert 0 <= low <= high <= 50**2 / 4


def test_a_mean_tells_over_how_many_rows_it_was_computed_with_bounds_for_nothing(clinic) -> None:
    """Wrong once in 1e9 times."""
    answer = clinic.ask(mean("patients", "bmi", by="sex"), epsilon=1)
    sure = answer.bounded(1 - Fraction(1, 10**9))
    assert all(row.cells["answer"].rows.low <= PEOPLE // 2 <= row.cells["answer"].rows.high for row in sure)
    assert all(row.cells["answer"].rows.high - row.cells["answer"].rows.low < 100 for row in sure)
    assert str(answer).splitlines()[0].split() == ["sex", "answer", "rows"]
    assert list(answer.to_rows()[0])[-3:] == ["rows", "rows_low", "rows_high"]
    told = answer.to_dict()["rows"][0]["values"]["answer"]["rows"]
    assert told["low"] <= told["value"] <= told["high"]
    single = clinic.ask(mean("patients", "bmi"), epsilon=1)
    rows = single.rows[0].cells["answer"].rows
    assert f"over {rows.value:,} rows ({rows.low:,} to {rows.high:,})" in single.sentence
    assert clinic.ask(count("patients"), epsilon=1).counted == ()


def test_a_preview_of_a_moment_says_its_error_for_some_numbers_of_rows(clinic) -> None:
    preview = clinic.preview(mean("patients", "bmi"), epsilon=1)
    errors = preview.error_by_rows["answer"]
    assert list(errors) == [100, 1000, 10_000]
    assert errors[100] > 9 * errors[1000] > 81 * errors[10_000]
    answer = clinic.ask(mean("patients", "bmi"), epsilon=1)
    assert errors[1000] < answer.margin() < errors[100]
    assert "if 1,000 rows count" in str(preview)
    assert "in each group" not in str(preview)
    assert "if 1,000 rows count in each group" in str(clinic.preview(mean("patients", "bmi", by="sex"), epsilon=1))
    assert preview.to_dict()["error_by_rows"]["answer"]["100"] == errors[100]
    assert clinic.preview(count("patients"), epsilon=1).error_by_rows == {}


def test_quantiles_and_tops_are_chosen_among_public_values(clinic) -> None:
    answer = clinic.ask(quantiles("patients", "age", ["0.25", "0.5", "0.75"], cells=100), epsilon=20)
    assert [row.key for row in answer.rows] == [("1/4",), ("1/2",), ("3/4",)]
    assert [row["answer"] for row in answer.rows] == [pytest.approx(q, abs=3) for q in (25, 50, 75)]
    assert clinic.ask(top("visits", "kind", 2), epsilon=20).rows[0]["answer"] == "ER"


def test_answers_lie_on_their_grid(clinic) -> None:
    assert type(clinic.ask(count_distinct("visits", "kind", max_groups=2), epsilon=1).value) is int
    for epsilon in ("0.1", "0.2", "0.3"):
        answer = clinic.ask(total("patients", "bmi"), epsilon=epsilon)
        assert (Fraction(answer.value) * 4).denominator == 1
        written = json.loads(answer.to_json())["rows"][0]["values"]["answer"]["value"]
        assert Fraction(written) == answer.value


def test_mapping_an_answer_is_free_and_drops_its_margin(clinic) -> None:
    answer = clinic.ask(MEN, epsilon="0.001")
    before = spent(clinic.ledger)
    clamped = answer.map(lambda people: max(0, people)).map(lambda people: people * 2)
    assert clamped.value == 2 * max(0, answer.value)
    assert clamped.margin() is None
    assert spent(clinic.ledger) == before


def test_an_answer_survives_json(clinic) -> None:
    answer = clinic.ask(MEN, epsilon="0.1")
    record = json.loads(answer.to_json())
    told = {"value": answer.value, "low": answer.value - 30, "high": answer.value + 30}
    assert record["rows"] == [{"key": [], "values": {"answer": {**told, "rounded": told}}}]
    assert record["price"]["epsilon"] == "0.1"
    assert record["receipt"] == str(answer.receipt)


def test_a_rehearsal_reads_no_data_pays_nothing_and_says_so(ledger) -> None:
    clinic = door(ledger, Tables(on_read=lambda: pytest.fail("data was read")))
    answer = clinic.rehearse(MEN, epsilon=20)
    assert 70 < answer.value < 130
    assert (answer.rehearsal, answer.receipt) == (True, None)
    assert answer.sentence.startswith("Rehearsed on made-up rows: ")
    assert ledger.head().seq == 3


def test_no_rehearsal_of_any_question_reads_data_or_touches_the_ledger(ledger, quick_path) -> None:
    clinic = door(ledger, Tables(on_read=lambda: pytest.fail("data was read")))
    before = (quick_path / "ledger.db").read_bytes()
    for question in (MEN, mean("patients", "bmi", by="sex"), median("patients", "age"), top("visits", "kind", 1)):
        assert clinic.rehearse(question, epsilon=1).rehearsal
    assert clinic.rehearse("select sex, count(*), var_pop(bmi) from patients group by sex", epsilon=1).rehearsal
    assert (quick_path / "ledger.db").read_bytes() == before
    assert ledger.head().seq == 3


@pytest.mark.parametrize(
    ("budget", "offer", "kind"),
    [
        (PureDP(epsilon=Fraction(9)), {"epsilon": 1}, "DiscreteLaplaceNoise"),
        (ConcentratedDP(rho=Fraction(9)), {"epsilon": 1}, "DiscreteGaussianNoise"),
        (ConcentratedDP(rho=Fraction(9)), {"rho": "0.1"}, "DiscreteGaussianNoise"),
        (ConcentratedDP(rho=Fraction(9)), {"within": 10}, "DiscreteGaussianNoise"),
        (ApproximateDP(epsilon=Fraction(9), delta=Fraction(1, 10**5)), {"epsilon": 1}, "DiscreteLaplaceNoise"),
        (
            ApproximateDP(epsilon=Fraction(9), delta=Fraction(1, 10**5)),
            {"epsilon": 1, "delta": "1e-7"},
            "DiscreteLaplaceNoise",
        ),
    ],
    ids=["pure", "rho by epsilon", "rho", "rho by accuracy", "delta unused", "one number"],
)
def test_noise_is_chosen_by_the_kind_of_budget(quick_path, budget, offer, kind) -> None:
    with new_ledger(quick_path, budget) as ledger:
        assert type(door(ledger, Tables()).preview(EVERYBODY, **offer).asked.event).__name__ == kind


def test_many_numbers_of_one_person_make_gaussian_noise_the_better_one(quick_path) -> None:
    with new_ledger(quick_path, ApproximateDP(epsilon=Fraction(9), delta=Fraction(1, 10**5))) as ledger:
        clinic = door(ledger, Tables())
        few, many = (count("visits", by="ward", max_groups=groups) for groups in (1, 20))
        kinds = [type(clinic.preview(one, epsilon=1, delta="1e-7").asked.event).__name__ for one in (few, many)]
        assert kinds == ["DiscreteLaplaceNoise", "DiscreteGaussianNoise"]


def test_keys_that_only_the_data_knows_take_a_delta(quick_path) -> None:
    with new_ledger(quick_path, ApproximateDP(epsilon=Fraction(9), delta=Fraction(1, 10**5))) as ledger:
        clinic = door(ledger, Tables())
        with pytest.raises(BadQuestionError, match="the values of city are not public"):
            clinic.ask(count("patients", by="city"), epsilon=5)
        told = "groups are shown from about 37 people on, within 6 people well above that"  # as its mechanism says
        assert PartitionSelection(l1_sensitivity=1, epsilon="0.5", delta="1e-8").threshold == 37
        preview = clinic.preview(count("patients", by="city"), epsilon="0.5", delta="1e-8")
        assert preview.shown_from == {"answer": (37, 6)}
        assert told in str(preview)
        assert told in dict(preview.facts())["error"]
        assert preview.to_dict()["shown_from"] == {"answer": {"people": 37, "margin": 6}}
        assert clinic.preview(count("patients"), epsilon="0.5").shown_from == {}
        few = clinic.ask(count("patients", by="city"), epsilon="0.5", delta="1e-8")
        assert told in str(few)
        assert told in few._repr_html_()
        assert few.to_dict()["shown_from"] == {"answer": {"people": 37, "margin": 6}}
        answer = clinic.ask(count("patients", by="city"), epsilon=5, delta="1e-6")
        assert [row.key for row in answer.rows] == [("city 0",), ("city 1",), ("city 2",)]
        assert answer.price.delta == Fraction(1, 10**6)


def test_a_question_that_was_priced_before_means_what_it_means_now(clinic) -> None:
    """By the same object or the same text: another price, another catalogue and another mapping are other questions."""
    text, question = (
        "select count(*) from patients where age in concept_set('ages')",
        count("patients", "age in concept_set('ages')"),
    )
    clinic.concept_set("ages", [1])
    texts = [clinic.preview(one, epsilon="0.1").asked.text for one in (text, question)]
    asked = [clinic.preview(one, epsilon="0.1").asked for one in (text, question)]
    assert [one.text for one in asked] == texts
    assert clinic.preview(question, epsilon="0.1").asked is asked[1]
    assert clinic.preview(question, epsilon="0.2").asked.event != asked[1].event
    clinic.concept_set("ages", [2, 3])
    now = {clinic.preview(one, epsilon="0.1").asked.text for one in (text, question)}
    assert now.isdisjoint(texts)
    clinic.population = clinic.population.with_concept_set(concept_set("ages", [4]))
    assert {clinic.preview(one, epsilon="0.1").asked.text for one in (text, question)}.isdisjoint({*now, *texts})
    both = {"people": EVERYBODY}
    before = clinic.preview(both, epsilon="0.1").asked.text
    both["people"] = MEN
    assert clinic.preview(both, epsilon="0.1").asked.text != before


def test_values_that_one_session_has_a_name_for_are_not_kept_by_the_others(clinic) -> None:
    for age in range(3):  # a server has a session for each request
        session = clinic.for_analyst("ana")
        session.concept_set("kept by nobody", [age])
        session.preview(count("patients", f"age in concept_set('kept by nobody') or age = {age}"), epsilon=1)
    del session
    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, ConceptSet) and one.name == "kept by nobody"]

"""The catalogue of bad questions: each is refused before anything is charged, and says what to write instead."""

from fractions import Fraction
from pathlib import Path

import pytest

import lapwing as lw
from lapwing import at_least, bins, count, count_rows, mean, quantiles, top, total
from lapwing.vocabulary.errors import BadQuestionError, BudgetError, LapwingError
from lapwing.vocabulary.guarantee import PureDP
from session.clinic import FixedNumber, door, new_ledger, spent

PRICES = {
    "P1 zero": {"epsilon": 0},
    "P2 minus zero": {"epsilon": -0.0},
    "P3 negative": {"epsilon": -1},
    "P4 not a number": {"epsilon": float("nan")},
    "P5 written not a number": {"epsilon": "NaN"},
    "P6 infinite": {"epsilon": float("inf")},
    "P6 too large for a float": {"epsilon": "1e400"},
    "P7 true": {"epsilon": True},
    "P7 a word": {"epsilon": "much"},
    "P8 denormal": {"epsilon": 5e-324},
    "P8 tiny": {"epsilon": "1e-30"},
    "P10 huge": {"epsilon": 1e308},
    "P10 no privacy at all": {"epsilon": 50},
    "P11 delta negative": {"epsilon": 1, "delta": -1},
    "P11 delta one": {"epsilon": 1, "delta": 1},
    "P11 delta nan": {"epsilon": 1, "delta": float("nan")},
    "P12 delta zero": {"epsilon": 1, "delta": 0},
    "P12 delta on a pure budget": {"epsilon": 1, "delta": "1e-6"},
    "P12 rho on a pure budget": {"rho": 1},
    "P22 many digits": {"epsilon": "0." + "1" * 5000},
    "no price": {},
    "two prices": {"epsilon": 1, "within": 10},
    "within nothing": {"within": 0},
    "within less than nothing": {"within": -5},
    "within nan": {"within": float("nan")},
    "confidence as a percentage": {"within": 5, "confidence": 95},
    "confidence of one": {"within": 5, "confidence": 1},
    "a list": {"epsilon": [1]},
    "none": {"epsilon": None},
}

QUESTIONS = {
    "P13 bounds the wrong way round": lambda: total("patients", "clip(age, 9, 1)"),
    "P15 bounds are words": lambda: total("patients", "clip(age, 'a', 'b')"),
    "P16 bounds beyond the grid": lambda: total("patients", f"clip(age, 0, {2**63})"),
    "P18 no rows": lambda: count_rows("visits", max_rows=0),
    "P18 minus one row": lambda: count_rows("visits", max_rows=-1),
    "P18 half a row": lambda: count_rows("visits", max_rows=1.5),
    "P18 absurd rows": lambda: count_rows("visits", max_rows=10**30),
    "P18 no groups": lambda: count("visits", by="kind", max_groups=0),
    "P18 half a group": lambda: count("visits", by="kind", max_groups=1.5),
    "P18 absurd groups": lambda: count("visits", by="kind", max_groups=10**30),
    "Q2 injection in a table": lambda: count("patients; drop table patients"),
    "Q2 injection in a column": lambda: count("patients", "age; drop table patients"),
    "Q2 injection in a group": lambda: count("patients", by="sex; drop table patients"),
    "Q3 division": lambda: count("patients", "age / city > 2"),
    "Q3 cast": lambda: count("patients", "cast(city as int) = 1"),
    "Q3 remainder": lambda: count("patients", "age % bmi = 0"),
    "Q3 logarithm": lambda: count("patients", "log(age) > 1"),
    "Q3 square root": lambda: count("patients", "sqrt(age) > 1"),
    "Q3 an index": lambda: count("patients", "city[1] = 'a'"),
    "Q3 regex": lambda: count("patients", "city ~ 'a.*'"),
    "Q4 error": lambda: count("patients", "error('x')"),
    "Q4 raise_error": lambda: count("patients", "raise_error('x') = 1"),
    "Q4 assert_true": lambda: count("patients", "assert_true(age > 1)"),
    "Q4 pg_sleep": lambda: count("patients", "pg_sleep(1) is null"),
    "Q4 nextval": lambda: count("patients", "nextval('s') = 1"),
    "Q4 sleep": lambda: count("patients", "sleep_ms(100) = 1"),
    "Q4 random": lambda: count("patients", "random() < 0.5"),
    "Q4 now": lambda: count("patients", "now() > 1"),
    "Q5 file": lambda: count("patients", "age in (select * from read_csv('/etc/passwd'))"),
    "Q5 reflect": lambda: count("patients", "reflect('java.lang.System', 'exit') = 1"),
    "Q5 java_method": lambda: count("patients", "java_method('java.util.UUID', 'randomUUID') = 'a'"),
    "Q5 query": lambda: count("patients", "age in (select * from query('select 1'))"),
    "Q6 sum without bounds": lambda: total("patients", "id"),
    "Q8 totals of groups without a bound": lambda: total("visits", "cost", by="kind", max_rows=1),
    "Q10 group by the person": lambda: count("patients", by="id"),
    "Q16 a million cells": lambda: count("patients", by=["age", "sex", bins("age", range(99)), "bmi"]),
    "Q16 too many cells": lambda: count("visits", by=["kind"] * 18, max_groups=1),
    "Q19 no quantile": lambda: quantiles("patients", "age", []),
    "Q19 bins that fall": lambda: count("patients", by=bins("age", [0, 50, 20])),
    "Q19 the same edge twice": lambda: count("patients", by=bins("age", [0, 20, 20, 50])),
    "Q19 one edge": lambda: count("patients", by=bins("age", [0])),
    "Q19 a quantile of one": lambda: quantiles("patients", "age", [1]),
    "Q19 too many candidates": lambda: quantiles("patients", "age", "0.5", cells=10**7),
    "Q21 text against a number": lambda: count("patients", "age = 'old'"),
    "an unknown table": lambda: count("doctors"),
    "an unknown column": lambda: count("patients", "shoe_size > 40"),
    "a threshold outside a stream": lambda: at_least(200, "patients"),
    "more tops than there are": lambda: top("visits", "kind", 3),
    "the mean of a word": lambda: mean("patients", "city"),
    "no question at all": lambda: 17,
    "the class of one": lambda: count,
}

SELECTS = {
    "Q1 not a question": "drop table patients",
    "Q1 two statements": "select count(*) from patients; select count(*) from visits",
    "Q5 copy": "copy patients to 'out.csv'",
    "Q5 attach": "attach 'other.duckdb' as other",
    "Q5 set": "set memory_limit = '1GB'",
    "Q7 maximum": "select max(age) from patients",
    "Q7 minimum": "select min(age) from patients",
    "Q7 any": "select any_value(age) from patients",
    "Q7 first": "select first(age) from patients",
    "Q11 nested": "select count(*) from (select avg(age) from patients)",
    "Q11 aggregate of an aggregate": "select sum(count(*)) from patients",
    "Q11 order inside": "select count(*) from (select * from patients order by age limit 5)",
    "Q12 join on anything": "select count(*) from patients join visits on patients.age = visits.ward",
    "Q13 join with others": "select count(*) from patients a join patients b on a.age = b.age",
    "Q13 cross join": "select count(*) from patients cross join visits",
    "Q13 comma": "select count(*) from patients, visits",
    "Q13 union": "select count(*) from patients union select count(*) from visits",
    "Q17 correlated": "select count(*) from patients p where exists (select 1 from visits v where v.ward = p.age)",
    "Q17 scalar": "select count(*) from patients where age > (select avg(age) from patients)",
    "Q18 many literals": "select count(*) from patients where age in (" + "1, " * 100_000 + "1)",
    "Q18 deep": "select count(*) from patients where " + "(" * 5000 + "age = 1" + ")" * 5000,
    "Q24 explain": "explain select count(*) from patients",
    "Q24 summarize": "summarize patients",
    "names and rows": "select sex, age from patients",
}


@pytest.fixture
def clinic(quick_path):
    """A door behind which nothing may change: the files of the ledger are the same afterwards, byte for byte."""
    with new_ledger(quick_path, PureDP(epsilon=Fraction(2000))) as ledger:
        before = files_of(quick_path)
        yield door(ledger, NeverRead(7))
        assert spent(ledger) == 0
        assert files_of(quick_path) == before, "a refused question left a trace"


def files_of(folder: Path) -> dict[str, bytes]:
    """The database and what is written ahead of it; the third file is an index that readers mark, too."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


class NeverRead(FixedNumber):
    """Data that nobody may ask for."""

    def engine(self, versions):
        del versions
        pytest.fail("data was read")


def assert_helpful(refused: LapwingError) -> None:
    """A refusal says what is wrong, and after a semicolon what to do, in at most a few lines."""
    wrong, _, remedy = str(refused).partition("; ")
    assert wrong
    assert remedy, "a refusal says what to do"
    assert len(str(refused)) < 600


@pytest.mark.parametrize("offer", PRICES.values(), ids=PRICES)
def test_a_bad_price_is_refused_free_of_charge(clinic, offer) -> None:
    for act in (clinic.ask, clinic.preview, clinic.rehearse):
        with pytest.raises(BadQuestionError) as refused:
            act(count("patients"), **offer)
        assert_helpful(refused.value)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_bad_question_is_refused_free_of_charge(clinic, question) -> None:
    for act in (clinic.ask, clinic.preview, clinic.rehearse):
        with pytest.raises(BadQuestionError) as refused:
            act(question(), epsilon=1)
        assert_helpful(refused.value)


@pytest.mark.parametrize("text", SELECTS.values(), ids=SELECTS)
def test_a_bad_select_is_refused_free_of_charge(clinic, text) -> None:
    for act in (clinic.sql, clinic.ask, clinic.preview, clinic.rehearse):
        with pytest.raises(BadQuestionError) as refused:
            act(text, epsilon=1)
        assert_helpful(refused.value)


@pytest.mark.parametrize(
    "terms",
    [
        {"yeses": 0},
        {"yeses": -1},
        {"yeses": 10**9},
        {"yeses": 1.5},
        {"at_least": float("nan")},
        {"at_least": -1},
        {"at_least": 2**70},
        {"at_least": "2.5"},
        {"epsilon": 0},
        {"epsilon": "1e-30"},
        {"epsilon": 1e308},
        {"table": "doctors"},
    ],
    ids=str,
)
def test_a_bad_stream_is_refused_free_of_charge(clinic, terms) -> None:
    """P23 of the catalogue."""
    with pytest.raises(BadQuestionError):
        clinic.stream(**{"at_least": 200, "yeses": 5, "epsilon": 1, **terms})


def test_more_than_is_left_is_refused_free_of_charge(quick_path) -> None:
    """P9, with an allowance that is smaller than the cap."""
    with new_ledger(quick_path) as ledger:
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(1)))
        refuse_two(door(ledger, FixedNumber(7)))
        assert spent(ledger) == 0


def refuse_two(clinic) -> None:
    with pytest.raises(BudgetError, match="epsilon 2 is asked and 1 is left"):
        clinic.ask(count("patients"), epsilon=2)
    with pytest.raises(BudgetError, match="epsilon 2 is asked and 1 is left"):
        clinic.stream(at_least=200, yeses=5, epsilon=2)


def test_nobody_can_hand_in_a_sensitivity_or_a_seed(clinic) -> None:
    """P19, P21 and P24: no such words exist."""
    for word in ("sensitivity", "seed", "scale", "noise"):
        with pytest.raises(BadQuestionError, match=f"there is no {word}= here; write epsilon=, "):
            clinic.ask(count("patients"), epsilon=1, **{word: 1})


def test_a_misspelt_word_is_refused_with_the_right_one(clinic) -> None:
    for act in (clinic.ask, clinic.preview, clinic.rehearse):
        with pytest.raises(BadQuestionError, match="there is no epsilo= here; write epsilon="):
            act(count("patients"), epsilo=1)
    for act in (clinic.stream, clinic.preview_stream):
        with pytest.raises(BadQuestionError, match="there is no at_leasst= here; write at_least="):
            act(at_leasst=200, yeses=5, epsilon=1)
        with pytest.raises(BadQuestionError, match="there is no rho= here; write "):
            act(at_least=200, yeses=5, rho=1)
        with pytest.raises(BadQuestionError, match="write at_least=200, yeses=5"):
            act(yeses=5, epsilon=1)


def test_a_column_that_is_true_or_false_is_a_condition_in_python_too(clinic) -> None:
    old = lw.col("age") >= 18
    written = {
        "not survivor": ~lw.col("survivor"),
        "survivor and age >= 18": lw.col("survivor") & old,
        "survivor or age >= 18": lw.col("survivor") | old,
        "age >= 18 and survivor": old & lw.col("survivor"),
    }
    for text, condition in written.items():
        asked = [clinic.preview(count("patients", one), epsilon=1).asked.text for one in (text, condition)]
        assert asked[0] == asked[1]
    with pytest.raises(BadQuestionError, match=r"this is not a condition \(int\); write it as SQL text"):
        _ = lw.col("survivor") & 3


def test_one_person_may_be_asked_about_at_the_same_price_and_noise(clinic) -> None:
    """Q14: refusing would itself tell."""
    one, all_ = count("patients", "age = 7 and city = 'city 1'"), count("patients")
    events = {clinic.preview(question, epsilon="0.1").asked.event for question in (one, all_)}
    assert len(events) == 1


@pytest.mark.parametrize("key", ["", " " * 3, "x" * 500, "\x00", 17], ids=repr)
def test_a_bad_key_is_refused_free_of_charge(clinic, key) -> None:
    with pytest.raises(LapwingError):
        clinic.ask(count("patients"), epsilon=1, key=key)

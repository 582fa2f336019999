import pytest

from lapwing import at_least, bins, count, mean, quantiles
from lapwing.queries.planning import plan
from lapwing.queries.reading_back import read_back
from lapwing.vocabulary.errors import LedgerDamagedError
from session.clinic import population

CONDITIONS = [
    "age between 20 and 30 and sex = 'M' and not survivor",
    "age in (1, 5, 9) or city = 'Every' or starts_with(city, 'New')",
    "city <> 'Has' and not starts_with(city, 'x')",
    "bmi >= 22.5 and age is null",
    "has(visits, kind = 'ER', 2) and not has(visits, ward > 7)",
    "age < 0 and age > 0",
]


@pytest.mark.parametrize("where", CONDITIONS)
def test_a_question_of_a_stream_is_read_back_as_it_was(where) -> None:
    planned = plan(at_least(200, "patients", where), population())
    assert read_back(planned.canonical) == (planned.meaning, planned.aggregate)


@pytest.mark.parametrize(
    "question",
    [
        count("patients", by=["sex", bins("age", [0, 18, 99])]),
        mean("visits", "ward", max_rows=2),
        quantiles("patients", "bmi", ["0.5"]),
    ],
    ids=["count", "mean", "quantiles"],
)
def test_so_is_every_other_plan(question) -> None:
    planned = plan(question, population())
    assert read_back(planned.canonical) == (planned.meaning, planned.aggregate)


@pytest.mark.parametrize(
    "text", ["", "17", "[]", '["a",[],["AtLeast",1],["Drop","x"]]', '["a",[],["Open"],[]]'], ids=repr
)
def test_what_is_no_plan_is_refused(text) -> None:
    with pytest.raises(LedgerDamagedError):
        read_back(text)

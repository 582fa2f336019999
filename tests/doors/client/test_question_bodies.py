"""What is sent is read into a question that plans alike, whatever was built in Python."""

import json
from collections import Counter

import msgspec
import pytest

import lapwing as lw
from fuzz.examining import Case
from lapwing.doors.client.question_bodies import question_body
from lapwing.doors.server.questions_wire import asking_type, read_question
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import BadQuestionError, LapwingError

pytestmark = pytest.mark.one_budget("how questions are spelt does not depend on a price")


def sent_and_read(question, population):
    body = question_body(question, population, {}, {})
    wire = json.dumps({"question": body, "price": {"epsilon": "1"}})
    asked, words = read_question(msgspec.convert(json.loads(wire), asking_type()).question)
    assert words == {}
    return asked


@pytest.mark.parametrize("seed", range(12))
def test_random_questions_plan_alike_after_the_wire(seed) -> None:
    case, told = Case.drawn(seed), Counter()
    for asked in case.questions:
        try:
            planned = plan(asked, case.population)
        except LapwingError:
            continue
        try:
            read = sent_and_read(asked, case.population)
        except BadQuestionError as refused:
            told[str(refused).partition(" ")[0]] += 1
            continue
        assert plan(read, case.population).canonical == planned.canonical
        told["alike"] += 1
    assert told["alike"]
    assert not set(told) - {"alike", "1/3", "a"}  # 1/3 has no decimals, and "at least" is asked in streams alone


def test_every_statistic_keeps_its_own_words() -> None:
    case = next(one for one in map(Case.drawn, range(50)) if any(t.columns for t in one.population.tables))
    table = case.population.tables[0].name
    for asked in (
        lw.stddev(table, "a", sample=False),
        lw.quantiles(table, "a", ["0.1", "0.5"], cells=7),
        lw.median(table, "a", interval=None),
        lw.median(table, "a", interval="0.99"),
        lw.top(table, "a", 2, counts=True, max_groups=3),
        lw.funnel(table, [lw.col("a") > 1, "b = 2"], "c = 3"),
    ):
        (name, words), (again, read) = asked.called(), sent_and_read(asked, case.population).called()
        plain = {word: value for word, value in words.items() if word not in {"of", "column", "steps"}}
        assert (again, {word: read[word] for word in plain}) == (name, plain)
        assert len(read) == len(words)

"""Questions over the wire are made from the registry: each statistic has its type, and asks what its builder asks."""

import msgspec
import pytest

import lapwing as lw
from lapwing.doors.server.questions_wire import asking_type, read_question, statistic_types, type_of
from lapwing.doors.server.wire import read_body
from lapwing.queries.statistics import STATISTICS
from lapwing.vocabulary.errors import LapwingError


def asked(question: str):
    body = b'{"question": %s, "price": {"epsilon": "0.1"}}' % question.encode()
    return read_question(read_body(body, asking_type()).question)


@pytest.mark.parametrize("name", STATISTICS)
def test_a_type_has_the_columns_and_the_options_of_its_builder(name) -> None:
    statistic = STATISTICS[name]
    made = type_of(statistic)
    assert set(made.__struct_fields__) == {"table", *statistic.names, *statistic.options}
    assert made.__struct_config__.tag == name
    needed = len(made.__struct_fields__) - len(made.__struct_defaults__)
    assert needed == 1 + len(statistic.names) + len(statistic.needs)


def test_every_statistic_can_be_asked() -> None:
    assert {one.__struct_config__.tag for one in statistic_types()} == set(STATISTICS)


def test_a_body_asks_what_the_builder_asks() -> None:
    question, words = asked('{"ask": "count", "table": "p", "where": "age > 3", "by": ["sex"]}')
    assert (question, words) == (lw.count("p", "age > 3", by=["sex"]), {})
    question, _ = asked(
        '{"ask": "count", "table": "p", "where": "  ", "by": [{"column": "age", "edges": [0, 0.5, "1"]}]}'
    )
    assert question == lw.count("p", by=[lw.bins("age", ["0", "0.5", "1"])])
    question, _ = asked('{"ask": "quantiles", "table": "p", "of": "age", "at": [0.25, "1/2"]}')
    assert question == lw.quantiles("p", "age", at=["0.25", "1/2"])


def test_a_select_keeps_what_goes_with_it() -> None:
    assert asked('{"ask": "sql", "text": "select count(*) from p", "max_rows": 3}') == (
        "select count(*) from p",
        {"max_rows": 3},
    )


def test_questions_together_have_their_names() -> None:
    question, _ = asked('{"ask": "together", "questions": {"n": {"ask": "count", "table": "p"}}}')
    assert question == {"n": lw.count("p")}


@pytest.mark.parametrize(
    "question",
    [
        '{"ask": "mode", "table": "p"}',
        '{"ask": "count"}',
        '{"ask": "count", "table": "p", "at": [1]}',
        '{"ask": "count", "table": "p", "max_rows": true}',
        '{"ask": "quantiles", "table": "p", "of": "age", "at": []}',
    ],
)
def test_what_is_no_question_is_refused_by_its_type(question) -> None:
    with pytest.raises(msgspec.ValidationError):
        asked(question)


def test_more_edges_than_an_answer_can_show_are_refused_before_they_are_read() -> None:
    each = '{{"ask": "count", "table": "p", "by": [{{"column": "age", "edges": [{}]}}]}}'.format(
        ",".join(map(str, range(1000)))
    )
    many = ", ".join(f'"n{i}": {each}' for i in range(11))
    with pytest.raises(LapwingError, match="edges of bins"):
        asked(f'{{"ask": "together", "questions": {{{many}}}}}')

"""Parts of a question count themselves where they are made."""

import copy
import pickle

import pytest

from lapwing.queries.language.expressions import And, Arithmetic, Compare, Literal, Name, Not
from lapwing.queries.language.sized import measured
from lapwing.queries.limits import MOST_DEPTH, MOST_NODES
from lapwing.vocabulary.errors import BadQuestionError

OLD = Compare(">", Name("age"), Literal(40))


def test_a_part_counts_itself_and_what_is_in_it() -> None:
    assert (Name("age").size, OLD.size, Not(OLD).size, And((OLD, OLD)).size) == (1, 3, 4, 7)
    assert (Name("age").depth, OLD.depth, Not(OLD).depth, And((OLD, OLD)).depth) == (0, 1, 2, 2)
    assert measured([OLD, (OLD, Name("x"))]) == (7, 2)


def test_what_is_there_once_and_used_twice_counts_twice() -> None:
    doubled = Name("x")
    while 2 * doubled.size + 1 <= MOST_NODES:
        size = doubled.size
        doubled = Arithmetic("+", doubled, doubled)
        assert doubled.size == 2 * size + 1
    with pytest.raises(BadQuestionError, match=f"{2 * doubled.size + 1} parts, more than {MOST_NODES}"):
        Arithmetic("+", doubled, doubled)


def test_what_is_nested_too_deep_is_refused_where_it_is_made() -> None:
    deep = OLD
    while deep.depth < MOST_DEPTH:
        deep = Not(deep)
    with pytest.raises(BadQuestionError, match=f"{MOST_DEPTH + 1} levels deep, more than {MOST_DEPTH}"):
        Not(deep)


def test_a_copy_knows_its_size() -> None:
    for made in (copy.copy(OLD), copy.deepcopy(OLD), pickle.loads(pickle.dumps(OLD))):
        assert (made.size, made.depth) == (OLD.size, OLD.depth)

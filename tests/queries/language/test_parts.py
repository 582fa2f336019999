"""The parts of what is asked, and what makes two of them equal."""

from lapwing.queries.language.expressions import And, Compare, Literal, Name, OneOf, Or
from lapwing.queries.language.parts import shape, walk

OLD = Compare(">", Name("age"), Literal(40))
IN = OneOf(Name("ward"), (Literal(1), Literal(2)))


def test_a_chain_of_and_is_one_level_and_an_or_inside_is_the_next() -> None:
    chain = And((OLD, And((OLD, And((OLD,))))))
    assert {depth for part, depth in walk((chain,)) if isinstance(part, And)} == {0}
    assert {depth for part, depth in walk((And((Or((OLD,)),)),)) if isinstance(part, Or)} == {1}


def test_every_part_is_met_as_often_as_it_stands_there() -> None:
    met = [part for part, _ in walk((And((OLD, OLD, IN)),))]
    assert sum(part is OLD for part in met) == 2
    assert sum(isinstance(part, Literal) for part in met) == 4
    assert sum(isinstance(part, Name) for part in met) == 3


def test_a_shape_tells_apart_what_equality_would_make_a_condition_of() -> None:
    assert shape(OLD) == shape(Compare(">", Name("age"), Literal(40)))
    others = [
        Compare(">=", Name("age"), Literal(40)),
        Compare(">", Name("bmi"), Literal(40)),
        Compare(">", Name("age"), Literal(41)),
        And((OLD,)),
        Or((OLD,)),
    ]
    assert len({shape(OLD), *map(shape, others)}) == 1 + len(others)
    assert shape(And((OLD, IN))) != shape(And((IN, OLD)))

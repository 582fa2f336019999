"""Concept sets and vocabularies in a question: each is the list of its values, by its name, or is refused."""

from dataclasses import replace

import pytest

from engines.clinic import clinic
from lapwing.queries.catalogue.public_tables import ConceptExpression, ConceptItem, concept_set
from lapwing.queries.language.expressions import Among, Literal, Not, Truth, col
from lapwing.queries.language.joined import InConcepts, InConceptSet
from lapwing.queries.planning.public_values import told_values, with_public_values
from lapwing.vocabulary.errors import BadQuestionError

CODE = col("code")
CLINIC = replace(clinic(), concept_sets=(concept_set("two", [7, 3]),))


def test_lists_of_several_values_are_told_by_name_and_one_value_by_itself():
    code = col("code")
    asked = code.is_in(concept_set("two", [7, 3])) & code.is_in(concept_set("one", [5])) & (code != 9)
    assert told_values(asked) == {((3, 3), (7, 7)): "the 2 values of 'two'"}
    assert told_values(code.is_in(concept_set("texts", ["b", "a"]))) == {("a", "b"): "the 2 values of 'texts'"}


def test_a_concept_set_is_the_list_of_its_values_wherever_it_stands() -> None:
    inside = with_public_values(Not(InConceptSet(CODE, "two")), CLINIC)
    assert isinstance(inside.part, Among)
    assert set(inside.part.values) == {3, 7}
    without = CODE > 3
    assert with_public_values(without, CLINIC) is without


def test_a_set_that_is_not_given_is_refused_with_those_that_are() -> None:
    with pytest.raises(BadQuestionError, match="there is 'two'"):
        with_public_values(InConceptSet(CODE, "three"), CLINIC)
    with pytest.raises(BadQuestionError, match="give it first"):
        with_public_values(InConceptSet(CODE, "three"), clinic())


def item(concept, *, excluded=False, descendants=False):
    return ConceptItem(concept=concept, excluded=excluded, descendants=descendants)


def chosen(*items):
    return with_public_values(InConcepts(CODE, ConceptExpression(name="mine", items=items)), CLINIC)


def test_what_is_excluded_is_taken_out_and_nothing_left_is_never_true() -> None:
    found = chosen(item(3), item(7), item(7, excluded=True))
    assert found.values == (3,)
    nothing = chosen(item(7), item(7, excluded=True))
    assert isinstance(nothing, Truth)
    assert isinstance(nothing.value, Literal)
    assert nothing.value.value is False


def test_descendants_need_the_vocabulary_that_has_them() -> None:
    with pytest.raises(BadQuestionError, match="concept_ancestor"):
        chosen(item(3, descendants=True))

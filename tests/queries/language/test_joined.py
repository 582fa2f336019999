"""Names in what is written can be changed wherever they stand, but not where a row inside hides them."""

import pytest

from lapwing.queries.language.expressions import And, Compare, Literal, Name
from lapwing.queries.language.joined import check_table_name, joined_by_and, names_in, renamed
from lapwing.queries.language.parts import shape
from lapwing.queries.language.sql.reader import read_condition
from lapwing.vocabulary.errors import BadQuestionError

INSIDE = "p.age > 3 and has(visits, nights > p.age and kind = 'ER') and p.sex = 'F'"


def test_a_row_is_renamed_also_inside_of_others() -> None:
    found = renamed(read_condition(INSIDE), "p", "q")
    assert shape(found) == shape(read_condition(INSIDE.replace("p.", "q.")))


def test_the_names_of_a_row_are_found() -> None:
    assert names_in(read_condition(INSIDE), "p") == {"age", "sex"}
    assert names_in(read_condition("v.nights > 3"), "p") == set()


def test_a_chain_of_and_is_flat() -> None:
    one = Compare(">", Name("age"), Literal(3))
    assert [part is one for part in joined_by_and(And((one, And((one, And(()), one)))))] == [True, True, True]


@pytest.mark.parametrize("given", [None, 3, ["patients"], {"a": [1]}])
def test_a_table_is_named_by_a_text(given) -> None:
    with pytest.raises(BadQuestionError, match="a table is named by a text"):
        check_table_name(given)
    check_table_name("patients")

"""Vocabularies in files: columns with the narrowest type that fits all cells, and rows by a condition."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lapwing.engines.public_files import PublicFile
from lapwing.queries.algebra.predicate import ALWAYS, InTexts
from lapwing.queries.catalogue.column import Date, Integer, Real, Text
from lapwing.vocabulary.errors import BadQuestionError

LINES = [
    "id,code,since,name",
    "1,0042,2020-01-31,one",
    "2,7,2021-02-01,two",
    ",250.00,,",
]


@pytest.fixture
def concept(tmp_path) -> PublicFile:
    (tmp_path / "concept.csv").write_text("\n".join(LINES) + "\n")
    return PublicFile(name="concept", path=tmp_path / "concept.csv")


def test_only_what_is_named_is_looked_at_and_codes_stay_texts(concept) -> None:
    assert concept.column_names == ("id", "code", "since", "name")
    named = frozenset({"id", "code", "since"})
    kinds = {column.name: type(column.type) for column in concept.columns(named)}
    assert kinds == {"id": Integer, "code": Text, "since": Date, "name": Text}
    assert {type(column.type) for column in concept.columns(frozenset())} == {Text}


def test_rows_are_chosen_by_a_condition_and_each_comes_once(concept) -> None:
    columns = concept.columns(frozenset({"id"}))
    assert sorted(concept.select(columns, ("id", "name"), ALWAYS), key=str) == [(1, "one"), (2, "two"), (None, None)]
    where = InTexts(column="code", texts=("0042",))
    assert concept.select(columns, ("id",), where) == [(1,)]


def test_a_quote_is_a_letter_between_tabs(tmp_path) -> None:
    (tmp_path / "c.tsv").write_text('id\tname\n1\tsize 5" and more\n2\t"x"\n')
    file = PublicFile(name="c", path=tmp_path / "c.tsv")
    found = file.select(file.columns(frozenset()), ("name",), ALWAYS)
    assert sorted(found) == [('"x"',), ('size 5" and more',)]


def test_parquet_says_its_types_itself(tmp_path) -> None:
    pq.write_table(pa.table({"id": [1], "share": [0.5], "code": ["0042"]}), tmp_path / "c.parquet")
    file = PublicFile(name="c", path=tmp_path / "c.parquet")
    assert [type(column.type) for column in file.columns(frozenset())] == [Integer, Real, Text]


def test_a_file_that_changed_is_read_anew(concept) -> None:
    concept.columns(frozenset({"code"}))
    concept.path.write_text("id,code\n1,42\n")
    assert [type(one.type) for one in concept.columns(frozenset({"code"}))] == [Text, Integer]


def test_what_cannot_be_read_is_the_custodians_to_mend(tmp_path, concept) -> None:
    concept.path.write_text("id,ID\n1,2\n")
    with pytest.raises(BadQuestionError, match="2 columns called 'id', whatever their case"):
        concept.columns(frozenset())
    with pytest.raises(BadQuestionError, match="let the custodian bring the file back"):
        PublicFile(name="x", path=tmp_path / "x.csv").columns(frozenset())
    (tmp_path / "bad.parquet").write_text("no parquet")
    with pytest.raises(BadQuestionError, match="cannot be read"):
        PublicFile(name="bad", path=tmp_path / "bad.parquet").columns(frozenset())

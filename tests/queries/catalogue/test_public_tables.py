"""Values under one name: what a file of them says, and what is refused."""

import pytest

from lapwing.queries.catalogue.public_tables import concept_set
from lapwing.vocabulary.errors import ParameterError


@pytest.mark.parametrize("words", ["110\n111\n", '"id"\n"110"\n"111"\n', "id\tname\n110\ta\n111\tb\n", "﻿110\n111"])
def test_the_first_column_of_a_file_is_the_concept_set(tmp_path, words):
    (tmp_path / "ids.csv").write_text(words, encoding="utf-8")
    assert concept_set("x", tmp_path / "ids.csv").values == (110, 111)


def test_codes_with_leading_zeros_are_texts_and_zero_is_a_number(tmp_path):
    for codes in (("0042", "0043"), ("-01", "-02"), ("²", "³"), ("7", "x7")):  # of Python, ² is a digit and no number
        (tmp_path / "codes.csv").write_text("\n".join(codes), encoding="utf-8")
        assert concept_set("x", str(tmp_path / "codes.csv")).values == codes
    (tmp_path / "ids.csv").write_text("0\n-7\n110\n", encoding="utf-8")
    assert sorted(concept_set("x", str(tmp_path / "ids.csv")).values) == [-7, 0, 110]


@pytest.mark.parametrize(
    ("name", "ids", "says"),
    [
        ("", [1], "is not a name"),
        ("x", [], "from 1 to 100,000 values"),
        ("x", [1, "a"], "all whole numbers or all texts"),
        ("x", [1.5], "all whole numbers or all texts"),
        ("x", range(100_001), "from 1 to 100,000 values"),
        ("x", "nowhere.csv", "is not there"),
        ("x", [2**63], "ids = 9223372036854775808"),
    ],
)
def test_what_is_no_concept_set_is_refused(name, ids, says):
    with pytest.raises(ParameterError, match=says):
        concept_set(name, ids)

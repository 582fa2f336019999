"""The catalogue of bad inputs: parameters (P), data (D), questions (Q), streams (V); each has a test, or a reason.

A test says which items it is for at the beginning of its docstring, or of the id of a case.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parents[1]

ITEMS: Final = {
    "P1": "epsilon zero",
    "P2": "epsilon minus zero",
    "P3": "epsilon negative",
    "P4": "epsilon not a number",
    "P5": "NaN as text",
    "P6": "infinity, and numbers beyond a float",
    "P7": "words and truth values for numbers",
    "P8": "epsilon so small that it was a slip",
    "P9": "more than is left",
    "P10": "epsilon so large that it protects nobody",
    "P11": "delta negative, one, or no number",
    "P12": "no delta where one is needed, or one where none can be paid",
    "P13": "bounds the wrong way round",
    "P14": "bounds that are equal: allowed",
    "P15": "bounds that are not numbers",
    "P16": "bounds so wide that sums overflow",
    "P17": "a grid of step zero, negative, or no power of two",
    "P18": "rows and groups a person: none, negative, halves, absurdly many",
    "P19": "a sensitivity handed in",
    "P20": "the same word twice in a request",
    "P21": "unknown words",
    "P22": "numbers of thousands of digits",
    "P23": "streams for no yes, a billion yeses, a threshold that is not a number",
    "P24": "a seed handed in",
    "P25": "ten tenths are one",
    "D1": "an empty table",
    "D2": "one person",
    "D3": "missing values",
    "D4": "NaN and infinities",
    "D5": "minus zero",
    "D6": "rows of nobody",
    "D7": "the same row many times",
    "D8": "a person with very many rows",
    "D9": "the smallest and the largest integers",
    "D10": "numbers as text",
    "D11": "odd text in group keys",
    "D12": "a declared key that no row has",
    "D13": "a key that was not declared",
    "D14": "a key declared twice",
    "D15": "days at the ends of the calendar",
    "D16": "rows in another order",
    "D17": "a table that changed after it was registered",
    "D18": "a table that changes while it is read",
    "D19": "a column that is gone",
    "D20": "a person key that is neither an integer nor a text",
    "D21": "every value at its bound",
    "D22": "a bad cell in a CSV file",
    "Q1": "text that is no SELECT",
    "Q2": "injection, in names and in values",
    "Q3": "operations that can fail",
    "Q4": "functions that raise, sleep, count or roll dice",
    "Q5": "functions that reach out of the table",
    "Q6": "a sum without bounds",
    "Q7": "minimum, maximum, any, first",
    "Q8": "distinct values with no bound a person",
    "Q9": "groups that only the data knows, without a delta",
    "Q10": "groups of one person",
    "Q11": "aggregates of aggregates, HAVING, ORDER and LIMIT inside",
    "Q12": "joins",
    "Q13": "joins with itself, cross joins, unions",
    "Q14": "a condition that one person meets: allowed, at the same price and noise",
    "Q15": "the same question twice: answered as before, free",
    "Q16": "a million cells",
    "Q17": "subqueries",
    "Q18": "very deep and very long questions",
    "Q19": "quantiles and bins: none, falling, twice, too many",
    "Q20": "a number that no value of the column can be",
    "Q21": "text compared with numbers",
    "Q22": "a price is the same whatever the data, and with the engine down",
    "Q23": "a mean over fewer than no rows",
    "Q24": "EXPLAIN and its like",
    "V1": "a question after the halt",
    "V2": "questions at the same time",
    "V3": "a restart: the stream goes on, with its own noise",
    "V4": "a question that one person moves by more than one",
    "V5": "the stream of another analyst",
    "V6": "a no tells one bit, a yes its gap as well",
    "V7": "very many noes",
    "V8": "values that move both ways take twice the noise",
}

EXCLUDED: Final = {
    "P20": "a Python call and lapwing.toml cannot say a word twice; requests in JSON are the server's",
}

ELSEWHERE: Final = {
    "P17": ("workspace/test_settings.py", "test_what_is_wrong_is_refused_with_its_line"),
    "D10": ("engines/test_duckdb.py", "test_a_column_of_another_type_is_refused_at_registration"),
    "D14": ("workspace/test_settings.py", "test_what_is_wrong_is_refused_with_its_line"),
    "D15": ("contracts/test_engine.py", "test_days_outside_the_calendar_are_missing"),
    "D16": ("contracts/test_engine.py", "test_the_order_of_rows_does_not_matter"),
    "D17": ("workspace/test_workspace.py", "test_data_that_changed_unannounced_is_refused_before_anything_is_charged"),
    "D18": ("engines/test_duckdb.py", "test_a_data_frame_is_copied_when_it_is_registered"),
    "D20": ("engines/test_duckdb.py", "test_float_person_keys_are_refused"),
    "D22": ("workspace/test_workspace.py", "test_data_of_the_wrong_type_is_for_the_custodian"),
}
"""Items whose test does not go through a session."""

_ITEM = re.compile(r"[PDQV]\d+\b")


@cache
def items_tested_here() -> frozenset[str]:
    """Return the items that a docstring of a test, or the id of a case, in this folder begins with."""
    found: set[str] = set()
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        for text in _beginnings(ast.parse(file.read_text(encoding="utf-8"))):
            found |= set(_ITEM.findall(re.match(r"(?:[PDQV]\d+(?:, | and |\b))*", text).group()))
    return frozenset(found)


def _beginnings(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield ast.get_docstring(node) or ""
        if isinstance(node, ast.Dict):
            yield from (key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def names_of_tests(file: str) -> set[str]:
    """Return the names of the tests in a file."""
    module = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(module) if isinstance(node, ast.FunctionDef)}

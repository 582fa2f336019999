"""What people who know pandas write about the houses of `visitors_statements`: 26 questions, written before any try.

Each has the same in SQL behind it, of which DuckDB says the numbers. All of them were answered when they were first
tried: hours, quotients and pairs of values had just been given words in Python.
"""

from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import lapwing as lw
from queries.natural_statements import statements_of
from queries.visitors_statements import HOUSES

NAMES: dict[str, Any] = {
    "lw": lw,
    "col": lw.col,
    "date": date,
    "datetime": datetime,
    "time": time,
    "timedelta": timedelta,
}
QUESTIONS = [(house, *text.split(" ## ")) for house, text in statements_of(Path(__file__).with_suffix(".txt"), HOUSES)]

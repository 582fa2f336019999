"""How large a question may be, counted while it is built: before the work that it bounds is done.

Reading, planning and previewing are free, so whoever asks could otherwise keep everybody waiting with a few hundred
characters. The numbers are far above what people write and far below what takes a fifth of a second; what no number
bounds, such as the search for a price, ends at a deadline (`vocabulary/deadline.py`). Parts of a question count
themselves as they are made (`sized`), so that whoever builds them cannot forget it.
"""

LONGEST_TEXT = 20_000
"""Characters of a text, and of all constants and names of a question that was built in Python."""
MOST_TOKENS = 3_000
"""Words, numbers and signs of a text."""
MOST_BRACKETS = 20
"""Brackets within brackets in a text: the parser needs two dozen calls for each."""
MOST_DEPTH = 100
"""Parts within parts of a syntax tree or of a condition, with what WITH names put in its place."""
MOST_NODES = 5_000
"""Parts of a question, with what WITH names put in its place; and again with what its joins mean."""
MOST_CONDITIONS = 200
"""Conditions that are joined by and, or, not in a question."""
MOST_UNKNOWNS = 4
"""Times that it is asked within one another whether a condition is unknown, `(...) is null`: each doubles it."""
MOST_VALUES = 1_000
"""Values of all IN lists of a question."""
MOST_AMONG = 100_000
"""Values of one concept set, or of one selection from a vocabulary."""
MOST_OPERATIONS = 50
"""Sums, differences and products in a question."""
MOST_DIGITS = 100
"""Digits of a number."""
MOST_NAMED = 20
"""What one WITH names."""
MOST_STATISTICS = 20
"""Statistics that are asked together."""
MOST_KEYS = 10
"""What is grouped by at once."""
MOST_FRACTIONS = 100
"""Quantiles of one value, and steps of one funnel."""
MOST_NUMBERS = 100_000
"""Numbers that a question releases in all: terms times cells, of all its statistics."""
MOST_CANONICAL = 4_000_000
"""Characters of the canonical text of a question, which the ledger keeps with the charge."""
MOST_TOGETHER_CANONICAL = 16_000_000
"""The same of all questions that are asked at once."""

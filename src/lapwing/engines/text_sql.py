"""Patterns of texts as SQL: comparisons of characters at places, which no text can make fail or slow.

LIKE itself is not used. Databases differ in its escapes, and some try every way to fit a pattern, which a long text can
make last for hours. Lengths and places are counted in characters, the same on every database.
"""

from string import ascii_lowercase, ascii_uppercase

from lapwing.engines.dialect import Writer
from lapwing.queries.pattern import End, pieces
from lapwing.queries.predicate import Like, NotLike


def like_sql(writer: Writer, column: str, like: Like | NotLike) -> str:
    """Return whether the text of a column fits one of the patterns."""
    text = f"trim(BOTH ' ' FROM {column})" if like.trimmed else column
    text = f"translate({text}, '{ascii_uppercase}', '{ascii_lowercase}')" if like.any_case else text
    taken = [(pattern, pieces(pattern).exact) for pattern in like.patterns]
    whole = tuple(exact for _, exact in taken if exact is not None)
    tests = [writer.one_of(text, whole)] if whole else []
    tests += [_fits(writer, text, pattern) for pattern, exact in taken if exact is None]
    return f"({' OR '.join(tests)})"


def _fits(writer: Writer, text: str, pattern: str) -> str:
    start, middle, end = pieces(pattern)
    if end is None:
        return f"(length({text}) = {start.length}{_at(writer, text, start)})"
    if start.text is not None and not middle and not end.length:
        return writer.dialect.starts_with.format(text, writer.value(start.text))
    outside = start.length + end.length
    tests = f"length({text}) >= {outside}{_at(writer, text, start)}"
    if end.length:
        tests += _at(writer, f"right({text}, {end.length})", end)
    inside = f"substr({text}, {start.length + 1}, GREATEST(length({text}) - {outside}, 0))" if outside else text
    for piece in middle:
        place = f"position({writer.value(piece)} IN {inside})"
        tests += f" AND {place} > 0"
        if piece is not middle[-1]:
            place = f"position({writer.value(piece)} IN {inside})"
            inside = f"substr({inside}, {place} + {len(piece)})"
    return f"({tests})"


def _at(writer: Writer, text: str, end: End) -> str:
    """Return that the characters of one end stand at their places, as tests that follow others."""
    return "".join(f" AND substr({text}, {place + 1}, {len(run)}) = {writer.value(run)}" for place, run in end.runs)

"""What is public and holds nobody: vocabularies, and concept sets, which are many values under one name.

Fifty thousand ids of diagnoses do not fit into a condition that people read; their name and their number do.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from lapwing.queries.catalogue.column import INT64_HIGHEST, INT64_LOWEST, Column, check_text
from lapwing.queries.limits import MOST_AMONG
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.frozen import frozen


@frozen(kw_only=False)
class ConceptSet:
    """Values under a name, all whole numbers or all texts; a sentence tells their name and number, and none of them.

    >>> ConceptSet(name="diabetes", values=(201826, 443238)).told
    "the 2 values of 'diabetes'"
    """

    name: str
    values: tuple[int, ...] | tuple[str, ...]

    @property
    def told(self) -> str:
        """What it is called in a sentence."""
        return f"the {len(self.values):,} values of {self.name!r}"

    def __repr__(self) -> str:
        return f"<concept set {self.name!r}: {len(self.values):,} values>"


def concept_set(name: str, ids: Iterable[int] | Iterable[str] | str | Path) -> ConceptSet:
    """Give many values one name, to be used in conditions and told by it.

    Parameters
    ----------
    name : what sentences call them
    ids : the values, all whole numbers or all texts; or the path of a file with one on each line (of several columns
        the first counts, and a first line that names the column is left out)

    >>> from lapwing.queries.language.expressions import col
    >>> diabetes = concept_set("diabetes", [201826, 443238])
    >>> diabetes
    <concept set 'diabetes': 2 values>
    >>> col("condition_concept_id").is_in(diabetes).told
    "the 2 values of 'diabetes'"
    """
    if not isinstance(name, str) or not name.strip():
        raise ParameterError("name", name, reason="is not a name", remedy="write concept_set('diabetes', [201826])")
    check_text("name", name)
    given: list[object] = list(_read_ids(Path(ids))) if isinstance(ids, str | Path) else list(ids)
    kinds = {type(one) for one in given}
    if kinds not in ({int}, {str}) or len(given) > MOST_AMONG:
        raise ParameterError(
            "ids",
            f"{len(given):,} of them",
            reason="are not the values of a concept set",
            remedy=f"give from 1 to {MOST_AMONG:,} values, all whole numbers or all texts",
        )
    if kinds == {str}:
        return ConceptSet(name=name, values=tuple(sorted({check_text("ids", str(one)) for one in given})))
    numbers = {as_int("ids", one, least=INT64_LOWEST, most=INT64_HIGHEST) for one in given}
    return ConceptSet(name=name, values=tuple(sorted(numbers)))


def _read_ids(path: Path) -> list[int] | list[str]:
    """Return the values in a file: whole numbers if all are."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        reason = "is not there" if isinstance(failure, FileNotFoundError) else "cannot be read as text"
        raise ParameterError("ids", path.name, reason=reason, remedy="name a file with one id a line") from None
    separator = next((mark for mark in "\t,;|" if lines and mark in lines[0]), None)
    cells = (line.split(separator)[0].strip().strip('"') for line in lines)
    found = [cell for cell in cells if cell]
    if len(found) > 1 and not _is_whole(found[0]) and all(map(_is_whole, found[1:])):
        found = found[1:]  # the name of the column
    return [int(one) for one in found] if all(map(_is_whole, found)) else found


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and (digits == "0" or not digits.startswith("0"))


@frozen()
class ConceptItem:
    """A concept that belongs to a set, or is `excluded` from it, alone or with all `descendants`: the kinds of it."""

    concept: int
    descendants: bool = False
    excluded: bool = False


@frozen()
class ConceptExpression:
    """A set of concepts that a vocabulary spells out: some with the kinds of them, without others."""

    name: str
    items: tuple[ConceptItem, ...]

    @property
    def included(self) -> bool:
        """Whether it has any concept."""
        return any(not item.excluded for item in self.items)


class Vocabulary(Protocol):
    """A public table, with nobody in it: what diagnoses are called, which ones are kinds of others.

    Whatever is selected from it is as public as the table itself, so conditions use it for nothing.
    """

    @property
    def name(self) -> str:
        """What questions call it."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns that it has."""

    def columns(self, named: frozenset[str]) -> tuple[Column, ...]:
        """Return its columns; those that are named, in small letters, have their types, and the others are text."""

    def select(self, columns: tuple[Column, ...], names: tuple[str, ...], where: Any) -> list[tuple[Any, ...]]:
        """Return the different rows of what is named, of these columns, for which `where`, a predicate, is true."""

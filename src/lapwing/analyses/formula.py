"""Formulas of regressions: "sbp ~ age/10 + sex + age:smoker". Names, +, : and / by a number; nothing is evaluated.

A name is that of a column. `a:b` is the product of two columns, an interaction. `age/10` is the same column, with its
coefficient told for ten years in place of one. An intercept is always there.
"""

import re
from fractions import Fraction
from typing import Final

from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

_LONGEST: Final = 2000
_FACTOR: Final = re.compile(r"(?P<name>[^\W\d][\w.]*)(?:\s*/\s*(?P<per>[0-9]{1,9}(?:\.[0-9]{1,9})?))?")
_MOST_FACTORS: Final = 2


@frozen()
class FormulaFactor:
    """A column by its name; its coefficient is told for `per` of its units."""

    name: str
    per: Fraction = Fraction(1)

    def __str__(self) -> str:
        return self.name if self.per == 1 else f"{self.name}/{_number(self.per)}"


@frozen()
class Formula:
    """An outcome, and the terms that it is explained by, each a column or the product of two."""

    outcome: str
    terms: tuple[tuple[FormulaFactor, ...], ...]

    def __str__(self) -> str:
        return f"{self.outcome} ~ {' + '.join(':'.join(map(str, term)) for term in self.terms)}"


def read_formula(text: str) -> Formula:
    """Return the formula that a text is, or refuse it and say which part is none.

    >>> str(read_formula("sbp ~ age/10 + sex + age : smoker"))
    'sbp ~ age/10 + sex + age:smoker'
    >>> read_formula("sbp ~ log(age)")
    Traceback (most recent call last):
    ...
    lapwing.errors.BadQuestionError: 'log(age)' is no term of a formula; write names of columns, a:b and age/10: ...
    """
    if not isinstance(text, str) or len(text) > _LONGEST or text.count("~") != 1:
        raise BadQuestionError('a formula is an outcome, one ~ and what explains it: write "sbp ~ age + sex"')
    left, right = (side.strip() for side in text.split("~"))
    outcome = _factor(left, left)
    if outcome.per != 1:
        raise BadQuestionError(f"the outcome {left!r} is a column by its name; write {outcome.name}")
    terms: dict[frozenset[str], tuple[FormulaFactor, ...]] = {}
    for written in right.split("+"):
        if written.strip() == "1":
            continue  # the intercept, which is always there
        factors = tuple(_factor(one.strip(), written.strip()) for one in written.split(":"))
        names = frozenset(one.name.casefold() for one in factors)
        if len(factors) > _MOST_FACTORS or len(names) < len(factors):
            raise BadQuestionError(f"{written.strip()!r} is not the product of two different columns; write a:b")
        if names in terms:
            raise BadQuestionError(f"{written.strip()!r} is there twice, so that no data could tell them apart")
        if outcome.name.casefold() in names:
            raise BadQuestionError(f"{outcome.name!r} is the outcome, and cannot explain itself; leave it out")
        terms[names] = factors
    if not terms:
        raise BadQuestionError('nothing explains the outcome; write "sbp ~ age + sex", or ask for its mean')
    return Formula(outcome=outcome.name, terms=tuple(terms.values()))


def _factor(text: str, term: str) -> FormulaFactor:
    match = _FACTOR.fullmatch(text)
    if not text:
        raise BadQuestionError('a part of the formula is empty; write "sbp ~ age + sex", and a:b for a product')
    if match is None:
        raise BadQuestionError(
            f"{term[:60]!r} is no term of a formula; write names of columns, a:b and age/10: "
            "what is to be computed first is a column that the custodian declares"
        )
    per = Fraction(match["per"] or 1)
    if per <= 0:
        raise BadQuestionError(f"{text!r} divides by nothing; write a number above 0, such as {match['name']}/10")
    return FormulaFactor(name=match["name"], per=per)


def _number(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else str(float(number))

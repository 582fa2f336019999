"""What is asked, at which price, and by which law reports are drawn: public, and fixed before anybody answers."""

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction
from math import exp
from typing import Any, Final

from lapwing.surveys.phone import encode_word
from lapwing.surveys.report_law import (
    LARGEST_CODE,
    LARGEST_DOMAIN,
    LARGEST_EPSILON,
    ReportLaw,
    choose_law,
    hash_prefixes,
)
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, exactly_one_of, float_above, fraction_above
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import decimal_above

_GAP: Final = "·"  # stands where no letter does, in a code that is no word


@frozen()
class Questionnaire:
    """A question, its possible answers, the price of a report, and the law that follows from them.

    `answers` are listed, or as many numbers as an int says; else they are words of up to `length` of the `letters`.
    """

    question: str
    round: str
    epsilon: Fraction
    answers: tuple[str, ...] | int | None
    length: int | None
    letters: str
    law: ReportLaw

    @property
    def key(self) -> str:
        """The name of this round, the same wherever the same is asked: devices and collectors know it by this."""
        text = json.dumps(self._terms(), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def to_dict(self) -> dict[str, Any]:
        """Return what a client must know, as JSON values."""
        return {"key": self.key, **self._terms(), "promise": self.promise}

    @property
    def promise(self) -> str:
        """What a report gives away at most, in words for the person who sends it; its numbers are rounded up."""
        factor = decimal_above(fraction_above(exp(float_above(self.epsilon))))
        return (
            f"No report is more than {factor} times as likely for your answer as for any other "
            f"(epsilon {decimal_above(self.epsilon)}; {factor} is e to that power, rounded up)."
        )

    def _terms(self) -> dict[str, Any]:
        answers = list(self.answers) if isinstance(self.answers, tuple) else self.answers
        words = {"length": self.length, "letters": self.letters}
        asked = {"question": self.question, "round": self.round, "epsilon": str(self.epsilon)}
        return {**asked, "answers": answers, **words, "law": self.law.numbers()}

    def code(self, answer: str | int) -> int:
        """Return the number of an answer."""
        if self.length is not None:
            return encode_word(self.letters, self.length, str(answer))
        if isinstance(self.answers, tuple) and answer in self.answers:
            return self.answers.index(str(answer))
        if isinstance(self.answers, int) and type(answer) is int and 0 <= answer < self.answers:
            return answer
        listed = f"0 to {self.law.domain - 1}" if isinstance(self.answers, int) else ", ".join(self.answers or ())
        raise ParameterError("answer", answer, reason="is no answer of this survey", remedy=f"choose among {listed}")

    def spell(self, code: int) -> str:
        """Return the answer that a number stands for."""
        if self.length is None:
            return self.answers[code] if isinstance(self.answers, tuple) else str(code)
        places = []
        for _ in range(self.length):
            code, place = divmod(code, len(self.letters) + 1)
            places.append((_GAP + self.letters)[place])
        return "".join(reversed(places)).rstrip(_GAP)


def ask(
    answers: Sequence[str] | int | None,
    *,
    epsilon: Fraction,
    words: int | None,
    letters: str,
    question: str,
    round: str,  # noqa: A002 - rounds are called rounds
) -> Questionnaire:
    """Return the questionnaire, or refuse it."""
    if epsilon > LARGEST_EPSILON:
        remedy = f"stay at or below {LARGEST_EPSILON}"
        raise ParameterError("epsilon", str(epsilon), reason="promises nothing", remedy=remedy)
    exactly_one_of("answers", {"answers": answers, "words": words}, ("answers",), ("words",))
    listed, length = None, None
    if words is None:
        listed, domain = _listed(answers)
    else:
        length, domain = _words(words, letters)
    law = choose_law(domain, epsilon) if domain <= LARGEST_DOMAIN else hash_prefixes(domain, epsilon)
    return Questionnaire(
        question=question, round=round, epsilon=epsilon, answers=listed, length=length, letters=letters, law=law
    )


def _listed(answers: object) -> tuple[tuple[str, ...] | int, int]:
    if isinstance(answers, int):
        number = as_int("answers", answers, least=2, most=LARGEST_DOMAIN)
        return number, number
    if isinstance(answers, str) or not isinstance(answers, Sequence) or not all(type(one) is str for one in answers):
        raise ParameterError("answers", answers, reason="are not a list of texts", remedy='write ["yes", "no"]')
    if not all(one.strip() for one in answers):
        raise ParameterError("answers", answers, reason="have an empty text", remedy="give each answer a text")
    if len(set(answers)) != len(answers):
        raise ParameterError("answers", answers, reason="are not all different", remedy="name each answer once")
    as_int("the number of answers", len(answers), least=2, most=LARGEST_DOMAIN)
    return tuple(answers), len(answers)


def _words(words: object, letters: str) -> tuple[int, int]:
    small = letters == letters.lower() and letters.isprintable() and max(letters, default=_GAP) <= "\uffff"
    if not small or not letters or len(set(letters)) != len(letters) or _GAP in letters:
        remedy = "write each letter once, in small letters that are one character in every language"
        raise ParameterError("letters", letters, reason="are not an alphabet", remedy=remedy)
    most = 1
    while (len(letters) + 1) ** (most + 1) < LARGEST_CODE >> 4:  # so that the digits of every base fit
        most += 1
    length = as_int("words", words, most=most)
    return length, (len(letters) + 1) ** length

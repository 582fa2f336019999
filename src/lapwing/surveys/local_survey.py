"""`lw.survey`: a survey in the local model, from the plan to the estimates."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from lapwing.noise.coins_and_dice import uniform_below
from lapwing.surveys.agreements import candidates
from lapwing.surveys.client_file import client_text
from lapwing.surveys.collector import Collector
from lapwing.surveys.estimates import KEPT, ROWS
from lapwing.surveys.intervals import AgreementLaw
from lapwing.surveys.phone import draw_report
from lapwing.surveys.questionnaire import Questionnaire, ask
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.exact import Exact, as_confidence, as_int, as_written, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Result

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def survey(
    answers: Sequence[str] | int | None = None,
    *,
    epsilon: Exact,
    words: int | None = None,
    letters: str = _LETTERS,
    question: str = "",
    round: str = "1",  # noqa: A002 - rounds are called rounds
) -> "Survey":
    """Return a survey whose reports are private before they leave a person's device.

    Parameters
    ----------
    answers : the possible answers, or how many numbers there are to choose from
    epsilon : what one report costs the person who sends it
    words : in place of `answers`, for words that cannot be listed: how many letters of a word count
    letters : of which letters words are made; others are left out
    question : what people are asked
    round : which time it is asked; each device answers once a round, and pays for each

    >>> smoking = survey(["never", "sometimes", "daily"], epsilon=1, question="Do you smoke?")
    >>> print(smoking.plan(people=10_000))
    with 10000 people at epsilon 1 each, an answer is seen if at least 3.4 % give it (339 people); the estimate of a
    rare answer is off by at most about 221 people, with probability 0.95

    Proof: proofs/local_reports.md
    """
    price = positive("epsilon", as_written(epsilon))
    return Survey(asked=ask(answers, epsilon=price, words=words, letters=letters, question=question, round=round))


@frozen()
class SurveyPlan(Result):
    """What will be seen, computed without data.

    `smallest` is how many people must give an answer for it to be seen with probability `power`, at a confidence that
    holds for all answers at once; None where even everybody is too few. `margin` is about how far off the estimate of
    an answer may be that few people give; of more than a thousand answers, for all of them at once.
    """

    people: int
    epsilon: Fraction
    smallest: int | None
    margin: int
    confidence: Fraction
    power: Fraction

    @property
    def share(self) -> float | None:
        """The smallest share that is seen."""
        return None if self.smallest is None else self.smallest / self.people

    def __str__(self) -> str:
        crowd = f"with {self.people} people at epsilon {self.epsilon} each, "
        sees = "no answer is seen, even if everybody gives it"
        if self.share is not None:
            sees = f"an answer is seen if at least {100 * self.share:.2g} % give it ({self.smallest} people)"
        sure = f"with probability {float(self.confidence):.4g}"
        return f"{crowd}{sees}; the estimate of a rare answer is off by at most about {self.margin} people, {sure}"

    def facts(self) -> list[tuple[str, str | None]]:
        """Return what a person is told about it."""
        share = None if self.share is None else f"{100 * self.share:.2g} % ({self.smallest} people)"
        return [("people", str(self.people)), ("smallest share seen", share), ("margin", str(self.margin))]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        exact_ones = {name: str(getattr(self, name)) for name in ("epsilon", "confidence", "power")}
        return {"people": self.people, "smallest": self.smallest, "margin": self.margin, **exact_ones}


@frozen()
class Survey:
    """A survey in the local model. Plan it, hand its client out, collect the reports, read the estimates."""

    asked: Questionnaire

    @property
    def event(self) -> PureRelease:
        """What one report costs the person who sends it, under REPLACE: that somebody took part is not hidden."""
        return PureRelease(epsilon=self.asked.epsilon)

    def plan(self, *, people: int, confidence: Exact = "0.95", power: Exact = "0.8") -> SurveyPlan:
        """Return what so many people will show. Of words that cannot be listed, it is what the last group shows."""
        law, sure, sought = self.asked.law, as_confidence(confidence), probability("power", as_written(power))
        crowd = AgreementLaw.of(law, as_int("people", people, most=10**9) // law.groups)
        risk = float(1 - sure)
        for_all = risk / candidates(law, KEPT)
        smallest = crowd.smallest_seen(for_all, float(sought))
        return SurveyPlan(
            people=people,
            epsilon=self.asked.epsilon,
            smallest=None if smallest is None else smallest * law.groups,
            margin=crowd.margin(risk if law.domain <= ROWS else for_all) * law.groups,
            confidence=sure,
            power=sought,
        )

    def client(self, kind: str = "py") -> str:
        """Return the client as the text of one file: "py" is a program for Python, "html" a page for a browser."""
        return client_text(self.asked.to_dict(), kind)

    def write_client(self, path: str | Path) -> Path:
        """Write the client to a file whose name ends in .py or .html, and return its path."""
        place = Path(path)
        text = self.client(place.suffix[1:])
        try:
            place.write_text(text, encoding="utf-8")
        except OSError as refused:
            reason, remedy = f"cannot be written ({refused.strerror})", "name a file in a folder that is there"
            raise ParameterError("path", str(place), reason=reason, remedy=remedy) from None
        return place

    def report(self, answer: str | int) -> list[int]:
        """Draw one report, as a client does: for trials with made-up people. Each call draws anew."""
        return draw_report(self.asked.law.numbers(), self.asked.code(answer), uniform_below)

    def collect(self, path: str | Path, *, most_per_person: Exact | None = None) -> Collector:
        """Open the file that keeps the reports, and make it if there is none.

        `most_per_person` is how much epsilon a person may spend over all rounds of the file: at least what one report
        costs.
        """
        most = None if most_per_person is None else positive("most_per_person", as_written(most_per_person))
        return Collector(path, self.asked, most_per_person=most)

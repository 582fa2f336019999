"""The page that plans a survey in the local model: what so many people will show, and the client that is handed out.

Nothing of it is kept here, and no budget is touched: each person's own device pays. Reports are collected elsewhere.
"""

import json
import re
from typing import Any, Final
from urllib.parse import urlencode

from starlette.responses import Response

from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit
from lapwing.doors.server.pages.publication_page import file_of
from lapwing.surveys.local_survey import Survey, survey
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.frozen import frozen

_LONGEST: Final = 4000
_MOST_ANSWERS: Final = 200
_MOST_PEOPLE: Final = 10**9
_FILES: Final = {"json": "application/json", "html": "text/html; charset=utf-8", "py": "text/x-python; charset=utf-8"}
_FEW: Final = "never\nsometimes\ndaily"


@frozen()
class SurveyDraft:
    """All that the form says, as it was typed; answers stand one on a line."""

    question: str
    answers: str
    round: str
    epsilon: str
    people: str

    @property
    def terms(self) -> dict[str, Any]:
        """What is asked, as the file of a survey has it."""
        lines = [line.strip() for line in self.answers.splitlines() if line.strip()]
        return {"epsilon": self.epsilon, "question": self.question, "round": self.round, "answers": lines}

    @property
    def words(self) -> str:
        """The words of an address that show this draft."""
        names = ("question", "answers", "round", "epsilon", "people")
        return urlencode({name: getattr(self, name) for name in names})

    def survey(self) -> Survey:
        """Return the survey, or say what is wrong with it."""
        terms = self.terms
        if len(terms["answers"]) > _MOST_ANSWERS:
            reason, remedy = f"are more than {_MOST_ANSWERS}", "lapwing survey new takes more of them"
            raise ParameterError("answers", len(terms["answers"]), reason=reason, remedy=remedy)
        return survey(**terms)

    def crowd(self) -> int:
        """Return how many people are asked."""
        given = self.people.replace(",", "").strip()
        if not given.isascii() or not given.isdecimal() or not 0 < int(given) <= _MOST_PEOPLE:
            raise ParameterError("people", self.people, reason="is no number of people", remedy="write 10000, say")
        return int(given)


def _draft(visit: PageVisit) -> SurveyDraft:
    begun = bool(visit.asked("answers"))
    return SurveyDraft(
        question=visit.asked("question", "" if begun else str(visit.say("survey.question_example")))[:_LONGEST],
        answers=visit.asked("answers", _FEW)[:_LONGEST],
        round=visit.asked("round", "1")[:60],
        epsilon=visit.asked("epsilon", "2")[:20],
        people=visit.asked("people", "10000")[:20],
    )


async def show_survey(visit: PageVisit) -> Response:
    """Show the form, and what so many people will show."""
    draft, plan, promise, problem = _draft(visit), None, "", ""
    try:
        plan, promise = await visit.in_thread(
            lambda: ((made := draft.survey()).plan(people=draft.crowd()), made.asked.promise)
        )
    except PageRefusedError as refused:
        problem = refused.sentence
    return visit.show(
        "survey.html",
        draft=draft,
        plan=plan,
        promise=promise,
        problem=problem,
        files=[f"/surveys/{kind}?{draft.words}" for kind in _FILES],
        name=_name(draft),
    )


async def save_survey_file(visit: PageVisit) -> Response:
    """Save the file of the survey, or its client as a page or as a program."""
    draft, kind = _draft(visit), visit.part("kind")
    if kind not in _FILES:
        raise PageRefusedError(404, {"code": "not_there"})
    made = await visit.in_thread(draft.survey)
    told = json.dumps(draft.terms, ensure_ascii=False) + "\n" if kind == "json" else made.client(kind)
    return file_of(told, _FILES[kind], f"{_name(draft)}.{kind}")


def _name(draft: SurveyDraft) -> str:
    """Return a name for the files: of letters and digits, whatever was asked."""
    return "survey-" + (re.sub(r"[^a-z0-9]+", "-", draft.round.casefold()).strip("-") or "1")


PAGES: Final = (
    Page(path="/surveys", show=show_survey),
    Page(path="/surveys/{kind}", show=save_survey_file),
)

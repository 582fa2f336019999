"""From a question, as it is put, to what it would cost: planned, with the release of each plan, and remembered."""

from collections.abc import Hashable, Mapping
from typing import Final, NamedTuple, TypeAlias

from lapwing.answers.releases import PricedQuestion
from lapwing.answers.target import Target, release_together, ways_to_pay
from lapwing.queries.catalogue import Population
from lapwing.queries.planning import Question, plan_together
from lapwing.queries.sql import Selection, read_sql
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.guarantee import Guarantee

QuestionLike: TypeAlias = Question | Mapping[str, Question] | str
"""How a question is put: as itself, as several that are charged as one, or as the text of a SELECT."""

_REMEMBERED: Final = 2000


class OfferedTerms(NamedTuple):
    """What a price depends on besides the question and the catalogue."""

    target: Target
    budget: Guarantee
    max_rows: int | None
    max_groups: int | None


class Pricing:
    """Prices questions, each once: whoever looks at the price of one and then asks it does not wait for it twice.

    A question is known by the object that it is, which cannot change and is kept, and a SELECT by its text. A mapping
    of questions may change, and is priced anew.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[QuestionLike, Population, list[PricedQuestion]]] = {}

    def price(self, question: QuestionLike, population: Population, terms: OfferedTerms) -> list[PricedQuestion]:
        """Return a question in each way to pay, the cheapest first, or refuse it; all that is in it shares equally."""
        asked: Hashable = question if isinstance(question, str) else id(question)
        key = (asked, terms.target, type(terms.budget), *terms[2:])  # releases depend on the kind of budget alone
        _, catalogue, ways = self._known.get(key, (None, None, None))
        if ways is not None and catalogue is population:
            return ways
        ways = _priced(question, population, terms)
        if not isinstance(question, Mapping):
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = (question, population, ways)
        return ways


def _priced(question: QuestionLike, population: Population, terms: OfferedTerms) -> list[PricedQuestion]:
    if isinstance(question, str):
        question = read_sql(question, max_rows=terms.max_rows, max_groups=terms.max_groups)
    elif terms.max_rows is not None or terms.max_groups is not None:
        raise BadQuestionError(
            "max_rows and max_groups beside a question are for a SELECT; write them into the question itself: "
            "count(..., max_groups=3)"
        )
    asked = question if isinstance(question, Mapping) else {"answer": question}
    plans = plan_together(asked, population)
    arrangement = next((one.arranged(name) for name, one in asked.items()), None)
    if isinstance(question, Selection):
        arrangement = question.arrangement
    ways = dict[Event, PricedQuestion]()
    for way in ways_to_pay(terms.target, terms.budget):
        releases = release_together(asked, plans, population, way, terms.budget)
        priced = PricedQuestion(releases=releases, arrangement=arrangement)
        ways.setdefault(priced.event, priced)
    return list(ways.values())

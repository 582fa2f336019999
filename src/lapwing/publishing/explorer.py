"""An explorer: a model answers counts for nothing as long as they are near enough, and learns where they are not.

For each count the model guesses. A corridor around the guess (two streams, opened together) says whether the count is
near it: if so, the guess is the answer, with an interval that is sure, and it costs nothing. If not, the answer is the
count with fresh noise, which was paid for when the explorer was opened; and the model learns it.

An explorer has no secret and no state of its own. Its streams are in the ledger, and what its model is follows from the
model that it began with and the answers that are committed, in their order: so it goes on after a crash where it was.

Warm starts of multiplicative weights behind a sparse vector, as a cache, are those of Turbo (Kostopoulou and others,
SOSP 2023, arXiv 2306.16163) and CacheDP (Mazmudar and others, arXiv 2211.15732). Intervals that hold for all free
answers at once, whatever their number, are not in them. Proof: proofs/explorer.md
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Self, TypeGuard

from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.stream_terms import StoredVerdict, StreamAnswer
from lapwing.publishing.boxes import box_of_bound
from lapwing.publishing.certificate import Modelled, require_data_version
from lapwing.publishing.explorer_learning import taught, taught_all
from lapwing.queries.algebra.predicate import AllOf, Predicate
from lapwing.queries.language.builders import ConditionLike, as_condition
from lapwing.queries.language.expressions import Condition
from lapwing.queries.planning.plan import CanonicalQuestion
from lapwing.queries.statistics.cohort_grid import Cohort
from lapwing.vocabulary.codec import from_text
from lapwing.vocabulary.errors import BadQuestionError, StreamHaltedError
from lapwing.vocabulary.exact import Exact, as_confidence, as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Interval, Result
from lapwing.vocabulary.wording import format_exact, format_short, percent, several

if TYPE_CHECKING:
    from lapwing.session import Session
    from lapwing.streams import QuestionStream

_CONFIDENCE: Final = Fraction(95, 100)
_TOGETHER: Final = 2000
"""Questions that the model guesses before it looks at what they taught it; as many as a stream commits together."""
_FAR: Final = 2**60
"""A guess that no count is near: a question about it is answered with a number, for the price of one."""
_PAGE: Final = 500

Box = Mapping[int, Sequence[bool]]


@frozen()
class ExplorerCount(Result):
    """The number of people in a cohort, where it lies, and what was paid.

    `checked` is false for what the model says without a check: it has no interval then.
    """

    people: int
    interval: Interval | None
    confidence: Fraction
    price: Fraction
    checked: bool
    guess: int

    @property
    def free(self) -> bool:
        """Whether it cost nothing."""
        return not self.price

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        low, high = self.interval or (None, None)
        return {
            "people": self.people,
            "low": low,
            "high": high,
            "confidence": format_exact(self.confidence),
            "price": format_exact(self.price),
            "free": self.free,
            "checked": self.checked,
            "guess": self.guess,
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        if self.interval is None:
            return [("people", f"{self.people:,}"), ("mind", "the model says so, and it was not checked")]
        low, high = (format_short(round(end)) for end in self.interval)
        sure = f"{low} to {high}, as all answers of the explorer at once with {percent(self.confidence)} confidence"
        paid = "nothing" if self.free else f"epsilon {format_short(self.price)}, which was set apart at the opening"
        return [("people", f"{self.people:,}"), ("lies", sure), ("cost", paid)]


class Explorer(Result):
    """Counts of cohorts, free as long as the model is right about them. Use it in a `with`, or close it.

    `terms` are those of its corridor; `people` is what it began with. See `clinic.explorer`.
    """

    def __init__(self, session: "Session", people: Modelled, stream: "QuestionStream", terms: CorridorTerms) -> None:
        self.people, self.terms, self._session, self._stream = people, terms, session, stream
        self._boxes = dict[Predicate, dict[int, list[bool]]]()
        self.model = taught_all(people.model, self._paid_before())

    @property
    def name(self) -> str:
        """The name of its stream in the ledger."""
        return self._stream.name

    @property
    def paid_answers_left(self) -> int:
        """How many answers it can still pay for."""
        return self._stream.yeses_left

    @property
    def spent(self) -> Fraction:
        """The epsilon that its checks have cost the account; without the model."""
        return self._stream.spent

    def reach(self, confidence: Exact = _CONFIDENCE) -> int:
        """Return how far free answers are from the truth at most, all of them at once."""
        return self.terms.mechanism.reach(as_confidence(confidence))

    def count(
        self,
        where: ConditionLike = None,
        *,
        guess: int | None = None,
        pay: bool = True,
        confidence: Exact = _CONFIDENCE,
    ) -> ExplorerCount:
        """Return how many people there are for whom `where` is true.

        It is free if the guess of the model is near enough; if not, one of the answers that were paid for is used, and
        the model learns it. Which of the two it is, only the data knows: so consent comes before.

        Parameters
        ----------
        where : which people; a box of codes of the model, if there is no `guess`
        guess : a number of your own, for cohorts that the model does not know
        pay : if not, nothing is checked that was not checked before: the answer is what the model says, without an
            interval
        """
        (counted,) = self.count_many(
            [where], guesses=None if guess is None else [guess], pay=pay, confidence=confidence
        )
        if counted is None:
            raise StreamHaltedError(yeses=self.terms.yeses)
        return counted

    def count_many(
        self,
        wheres: Iterable[ConditionLike | Cohort],
        *,
        guesses: Sequence[int] | None = None,
        pay: bool = True,
        confidence: Exact = _CONFIDENCE,
        progress: Callable[[int, int], object] | None = None,
    ) -> list[ExplorerCount | None]:
        """Return the same for many cohorts, in their order; None for those after the last answer that was paid for.

        All are read before the first is asked, so that a bad one costs nothing. The model learns after each 2,000.
        """
        sure = as_confidence(confidence)
        if isinstance(wheres, str):
            raise BadQuestionError("count_many takes a list of conditions; for one write count(...)")
        asked = [one.where if isinstance(one, Cohort) else as_condition(one) for one in wheres]
        boxes: list[Box | None] = [None] * len(asked)
        if guesses is None:
            boxes = [self._box(bound) for bound in self._stream.bound(asked)]
        if guesses is not None and len(guesses) != len(asked):
            raise BadQuestionError(f"there are {len(guesses)} guesses for {len(asked)} questions; give one for each")
        given = None if guesses is None else [as_int("guess", one, least=0, most=2**53) for one in guesses]
        told = list[ExplorerCount | None]()
        for start in range(0, len(asked), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            told += self._count_part(asked[part], boxes[part], None if given is None else given[part], pay, sure)
            if progress is not None:
                progress(len(told), len(asked))
        return told

    def buy(self, where: ConditionLike = None, *, confidence: Exact = _CONFIDENCE) -> ExplorerCount:
        """Return the count of a cohort with fresh noise, for one of the answers that were paid for, and learn it.

        For what is wanted more exactly than a free answer says, and for using up what closing would not give back.
        """
        condition = as_condition(where)
        answer = self._stream.ask(condition, at_least=_FAR)
        if not answer:
            raise AssertionError  # pragma: no cover - 2^60 people, or noise of that size
        box = self._box_or_none(condition)
        guess = 0 if box is None else self.model.count(box)
        if box is not None and _is_new(answer):
            self.model = taught(self.model, box, _number(answer))
        return self._counted(answer, guess, as_confidence(confidence))

    def _count_part(
        self,
        asked: Sequence[Condition],
        boxes: Sequence[Box | None],
        guesses: Sequence[int] | None,
        pay: bool,  # noqa: FBT001 - as it was given
        sure: Fraction,
    ) -> list[ExplorerCount | None]:
        known = [box for box in boxes if box is not None]
        guessed = [int(one) for one in self.model.counts(known)] if guesses is None else list(guesses)
        upper = [guess + self.terms.half_width for guess in guessed]
        if not pay:
            stored = [self._stream.stored([one], at_least=most) for one, most in zip(asked, upper, strict=True)]
            return [
                _unchecked(guess, sure) if one is None or one[0] is None else self._counted(one[0], guess, sure)
                for one, guess in zip(stored, guessed, strict=True)
            ]
        require_data_version(self._session, self.people)
        try:
            answers = self._stream.ask_many(asked, at_least=upper)
        except StreamHaltedError:
            return [None] * len(asked)
        new = {one.question: (where, _number(one)) for one, where in zip(answers, asked, strict=True) if _is_new(one)}
        known_now = ((self._box_or_none(where), people) for where, people in new.values())
        self.model = taught_all(self.model, ((box, people) for box, people in known_now if box is not None))
        return [
            None if answer is None else self._counted(answer, guess, sure)
            for answer, guess in zip(answers, guessed, strict=True)
        ]

    def _counted(self, answer: StreamAnswer, guess: int, sure: Fraction) -> ExplorerCount:
        free, paid = _reaches(self.terms, sure)
        people, off = (_number(answer), paid) if answer else (guess, free)
        return ExplorerCount(
            people=max(0, people),
            interval=Interval(max(0, people - off), max(0, people + off)),
            confidence=sure,
            price=Fraction(0) if answer.free else answer.price,
            checked=True,
            guess=guess,
        )

    def _box_or_none(self, where: Condition) -> Box | None:
        try:
            (bound,) = self._stream.bound([where])
            return self._box(bound)
        except BadQuestionError:
            return None

    def _box(self, bound: Predicate) -> Box:
        """Return the codes that a condition means, from those of its parts, which come again and again."""
        box = dict[int, list[bool]]()
        for part in bound.parts if isinstance(bound, AllOf) else (bound,):
            if part not in self._boxes:
                self._boxes[part] = box_of_bound(part, self.people.columns)
            for place, meant in self._boxes[part].items():
                before = box.get(place)
                box[place] = meant if before is None else [a and b for a, b in zip(before, meant, strict=True)]
        return box

    def _paid_before(self) -> Iterator[tuple[Box, int]]:
        """Yield what was answered at a price so far, in the order in which it was committed: of boxes of the model."""
        for question, verdict in _paid(self._session, self.name):
            bound = CanonicalQuestion.read(question).aggregate.where
            try:
                yield box_of_bound(bound, self.people.columns), verdict.threshold + (verdict.gap or 0)
            except BadQuestionError:
                continue

    def close(self) -> None:
        """End it. Where epsilons are added up, what was not used goes back to the account; elsewhere nothing does."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "explorer": self.name,
            "table": self.terms.table,
            "half_width": self.terms.half_width,
            "reach": self.reach(),
            "number_reach": self.terms.mechanism.number_reach(_CONFIDENCE),
            "paid_answers": self.terms.yeses,
            "paid_answers_left": self.paid_answers_left,
            "checks": format_exact(self.terms.epsilon),
            "spent": format_exact(self.spent),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        mechanism = self.terms.mechanism
        left = f"{self.paid_answers_left} of {several(self.terms.yeses, 'paid answer')} left"
        return [
            ("free answers", f"off by {mechanism.reach(_CONFIDENCE):,} at most"),
            ("paid answers", f"off by {mechanism.number_reach(_CONFIDENCE):,} at most; {left}"),
            ("sure", f"all of them at once, with {percent(_CONFIDENCE)} confidence"),
        ]

    def __repr__(self) -> str:
        left = f"{self.paid_answers_left} of {several(self.terms.yeses, 'paid answer')} left"
        return f"<explorer of {self.terms.table}: free answers within {self.reach():,}, {left}>"


def _paid(session: "Session", stream: str) -> Iterator[tuple[str, StoredVerdict]]:
    """Yield the questions of a stream that were answered at a price, with what was answered, in their order."""
    asked, after = dict[int, list[str]](), None
    while True:
        page = session.ledger.entries(
            session.population.name, stream=stream, kinds=("intent", "outcome"), after=after, limit=_PAGE
        )
        for entry in page:
            if entry["kind"] == "intent":
                asked[entry["seq"]] = entry["questions"] if "questions" in entry else [entry["question"]]
                continue
            questions = asked.pop(entry["settles"])
            answers = entry["answers"] if "answers" in entry else [[entry["outcome"], entry.get("answer")]]
            for question, (outcome, answer) in zip(questions, answers, strict=False):
                if outcome == "yes":
                    yield question, from_text(StoredVerdict, answer)
        if len(page) < _PAGE:
            return
        after = page[-1]["seq"]


@lru_cache(maxsize=64)  # found by a search, and the same for thousands of answers
def _reaches(terms: CorridorTerms, sure: Fraction) -> tuple[int, int]:
    return terms.mechanism.reach(sure), terms.mechanism.number_reach(sure)


def _is_new(answer: StreamAnswer | None) -> TypeGuard[StreamAnswer]:
    """Say whether an answer was paid for just now; the model has learned what was paid for before."""
    return answer is not None and bool(answer) and not answer.free


def _number(answer: StreamAnswer) -> int:
    return int(answer.threshold + (answer.gap or 0))


def _unchecked(guess: int, sure: Fraction) -> ExplorerCount:
    return ExplorerCount(
        people=max(0, guess), interval=None, confidence=sure, price=Fraction(0), checked=False, guess=guess
    )

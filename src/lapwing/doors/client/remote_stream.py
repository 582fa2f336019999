"""A stream at a distance: the methods of `QuestionStream`, asked of a server over HTTP.

Each question is planned here, and sent with what it means: a server to which it means something else asks nothing.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, NamedTuple, Self

from lapwing.answers.stream_answers import StreamAnswers
from lapwing.answers.stream_terms import StreamAnswer, StreamTerms, Verdict, told
from lapwing.doors.client.connection import PopulationDoor, key_of
from lapwing.doors.client.decode_errors import disagreement
from lapwing.doors.client.decode_population import as_told, told_list, told_name, told_number, told_truth
from lapwing.doors.client.question_bodies import condition_text, with_sets
from lapwing.ledger.entries import Receipt
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import ConditionLike, as_value
from lapwing.queries.language.expressions import Condition, Value
from lapwing.queries.language.speller import Speller, ValueSets
from lapwing.queries.planning.plan import Plan, plain_number
from lapwing.queries.statistics.cohort_grid import Cohort
from lapwing.queries.statistics.counts import AtLeastQuestion
from lapwing.queries.statistics.streamed import StreamedKind, asked_for
from lapwing.streams import planner_of
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import StreamHaltedError
from lapwing.vocabulary.exact import Exact, exact
from lapwing.vocabulary.lifetime import Lifetime
from lapwing.vocabulary.results import Interval

MOST_AT_ONCE: Final = 2000
"""How many conditions are sent in one request, and committed, read and decided together there."""
_MOST_TEXT: Final = 500_000
_MOST_PEOPLE: Final = 2**62


class RemoteStream:
    """A stream at the door of a server; all of its state is there, so that it can be gone on with by its `name`.

    Leaving a `with` closes it, which gives back what no yes has used. `terms` are what was agreed when it was opened.
    """

    def __init__(
        self, door: PopulationDoor, population: Population, told: Any, lifetime: Lifetime, *, name: str | None
    ) -> None:
        self._door, self._population, self._lifetime = door, population, lifetime
        self._path = f"/streams/{key_of(told['stream'])}"
        self.name: str = name or told_name(told["stream"])
        self.terms = StreamTerms.read(told["terms"])
        self._planner = planner_of(population, self.terms)

    @property
    def spent(self) -> Fraction:
        """The epsilon that it has cost so far: its opening and its yeses, or all of it where that was paid at once."""
        told = self._told()
        return as_told("a stream", lambda: self._spent(told["spent"]))

    @property
    def yeses_left(self) -> int:
        """How many yeses it can still give."""
        told = self._told()
        return as_told("a stream", lambda: told_number(told["yeses_left"], least=0, most=self.terms.yeses))

    def _spent(self, told: Any) -> Fraction:
        spent = exact("spent", told)
        if not 0 <= spent <= self.terms.epsilon:
            raise ValueError
        return spent

    def chance_of_yes(self, people: Exact) -> float:
        """Return the probability of a yes if there were really `people`. It is free: no data is involved."""
        return self.terms.chance_of_yes(people)

    def margin(self, questions: int = 1, confidence: Exact = "0.95") -> int | Fraction:
        """Return how far counts must be from the threshold for all of these questions to be decided right."""
        return self.terms.margin(confidence, questions=questions)

    def interval(self, answer: StreamAnswer, confidence: Exact = "0.95") -> Interval | None:
        """Return where the count of a yes lies; None for a no. It is free. See `QuestionStream.interval`."""
        return answer.interval(confidence)

    def ask(
        self, where: ConditionLike | AtLeastQuestion, *, at_least: Exact | None = None, key: str | None = None
    ) -> StreamAnswer:
        """Say, after noise, whether at least a number of people have a row for which `where` is true."""
        self._lifetime.require()
        ((planned, text),) = self._planner.plan([where], at_least)
        people = self._asked_for(planned)
        sets: ValueSets = {}
        said = {"at_least": told(people)}
        body = {"where": self._text(where, sets), **said, **with_sets(sets), "means": [digest([text])]}
        return self._read(self._door.charge(f"{self._path}/questions", body, key=key), people)

    def ask_many(
        self,
        wheres: Iterable[ConditionLike | AtLeastQuestion | Cohort],
        *,
        at_least: Exact | None = None,
        key: str | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> StreamAnswers:
        """Say the same for many conditions, in their order, until they or the yeses of the stream are used up."""
        self._lifetime.require()
        people = list(wheres)
        asked = [one.where if isinstance(one, Cohort) else one for one in people]
        planned = self._planner.plan(asked, at_least)
        sets: ValueSets = {}
        different = {
            text: _Sent(self._text(one, sets), self._asked_for(plan))
            for one, (plan, text) in zip(asked, planned, strict=True)
        }
        told, chosen = dict[str, StreamAnswer | None](), key_of(key)
        for number, texts in enumerate(_parts(different, _MOST_TEXT - len(json.dumps(with_sets(sets))))):
            told |= self._ask_together(texts, different, sets, f"{chosen} {number}" if number else chosen)
            if progress is not None:
                progress(len(told), len(different))
        if told and not any(one is not None for one in told.values()):
            raise StreamHaltedError(yeses=self.terms.yeses - self.yeses_left)
        labels = tuple(one.labels if isinstance(one, Cohort) else {} for one in people)
        return StreamAnswers(answers=tuple(told[text] for _, text in planned), labels=labels if any(labels) else ())

    def recover(self) -> None:
        """Look at the stream; what a dead process left in flight the server settles by itself."""
        self._told()

    def close(self) -> None:
        """End the stream: its secrets are destroyed, and what no yes has used is given back."""
        self._lifetime.require()
        self._door.charge(self._path, None, key=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<stream {self.name!r}: {self.terms.yeses - self.yeses_left} of {self.terms.yeses} yeses given>"

    def _told(self) -> Any:
        self._lifetime.require()
        return self._door.get(self._path)

    def _asked_for(self, planned: Plan) -> int | Fraction:
        """Return the number that a question asks for, in its unit."""
        of = self.terms.streamed
        by_share = of is not None and of.statistic is not StreamedKind.TOTAL
        return self.terms.wanted if by_share else self.terms.amount(asked_for(planned.meaning))

    def _text(self, where: ConditionLike | AtLeastQuestion, sets: ValueSets) -> str:
        if self.terms.streamed is not None and self.terms.streamed.statistic is StreamedKind.CORRELATION:
            if not isinstance(where, Value | Condition):
                return where if isinstance(where, str) else ""
            return Speller(self._population, self._population.table(self.terms.table), sets).part(as_value(where))
        such = where.where if isinstance(where, AtLeastQuestion) else where
        return condition_text(such, self._population, self.terms.table, sets)

    def _ask_together(
        self, texts: Sequence[str], sent: Mapping[str, "_Sent"], sets: ValueSets, key: str
    ) -> dict[str, StreamAnswer | None]:
        """Ask some conditions with the same number of people as one; after the halt there are no answers."""
        people = sent[texts[0]].people
        wheres = [sent[text].where for text in texts]
        body = {"wheres": wheres, "at_least": told(people), **with_sets(sets), "means": [digest(list(texts))]}
        try:
            reply = self._door.charge(f"{self._path}/batches", body, key=key)
        except StreamHaltedError:
            return dict.fromkeys(texts)
        answers = as_told("answers of a stream", lambda: told_list(reply["answers"]))
        if len(answers) != len(texts):
            raise disagreement(f"it tells {len(answers)} answers to {len(texts)} conditions")
        read = [None if one is None else self._read(one, people) for one in answers]
        self._require_order([one for one in read if one is not None and not one.free])
        return dict(zip(texts, read, strict=True))

    def _require_order(self, new: Sequence[StreamAnswer]) -> None:
        """Refuse yeses that were given just now, if they are not numbered one after the other, or are too many."""
        if any(after.question <= before.question for before, after in pairwise(new)):
            raise disagreement("it numbers its answers otherwise than they come")
        if new and len(new) + new[-1].yeses_left > self.terms.yeses:
            raise disagreement("it gives more yeses than the stream has")

    def _read(self, told: Any, people: int | Fraction) -> StreamAnswer:
        """Return the answer in a reply to whether there are at least N people."""

        def read() -> StreamAnswer:
            return StreamAnswer(
                verdict=Verdict(told["verdict"]),
                threshold=_amount(told["at_least"]),
                gap=None if told["gap"] is None else _amount(told["gap"]),
                number=None if told.get("number") is None else _amount(told["number"]),
                price=exact("price", told["price"]),
                question=told_number(told["question"], least=1, most=_MOST_PEOPLE),
                yeses_left=told_number(told["yeses_left"], least=0, most=self.terms.yeses),
                receipt=Receipt.parse(told["receipt"]),
                stream=self.name,
                terms=self.terms,
                free=told_truth(told["free"]),
            )

        answer = as_told("an answer of a stream", read)
        if answer.threshold != people or answer.price != (self.terms.mechanism.yes_price if answer else 0):
            raise disagreement("it answered another question, or at another price")
        if answer and answer.yeses_left == self.terms.yeses:
            raise disagreement("it gives more yeses than the stream has")
        if not answer and not answer.free:
            raise disagreement("it charged for a no, which is free")
        return answer


class _Sent(NamedTuple):
    """A condition as it is sent, and for how many people."""

    where: str
    people: int | Fraction


def _amount(told: Any) -> int | Fraction:
    """Return a number of people, or of steps of a sum, that a server tells: a whole one, or any other as text."""
    if isinstance(told, str):
        return plain_number(exact("number", told))
    return told_number(told, least=-_MOST_PEOPLE, most=_MOST_PEOPLE)


def _parts(sent: Mapping[str, _Sent], most: int) -> Iterator[list[str]]:
    """Cut conditions, in their order, into parts of `most` bytes at most that ask for the same number of people."""
    part, size = list[str](), 0
    for text, one in sent.items():
        size += len(one.where.encode()) + 8
        if part and (len(part) == MOST_AT_ONCE or size > most or sent[part[0]].people != one.people):
            yield part
            part, size = [], len(one.where.encode())
        part.append(text)
    if part:
        yield part

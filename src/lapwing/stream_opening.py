"""Where streams begin: what one would cost, opening it, and going on with it in another process."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Unpack

from lapwing.answers.budget import BudgetStatus
from lapwing.answers.releases import CONFIDENCE
from lapwing.answers.stream_preview import StreamPreview
from lapwing.answers.stream_terms import StreamOffer, StreamTerms
from lapwing.engines.reading import CancelGroup
from lapwing.ledger.ledger import Ledger
from lapwing.noise.randomness import fresh_name
from lapwing.queries.catalogue import Population
from lapwing.streams import QuestionStream
from lapwing.tables import Tables
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.lifetime import Lifetime
from lapwing.vocabulary.results import shows_words


class StreamOpener:
    """The part of a session that is about streams: `Session` has the rest, and says what its fields mean."""

    population: Population
    ledger: Ledger
    analyst: str
    _tables: Tables
    _running: CancelGroup
    _key: bytes
    _on_failure: Callable[[Exception], None]
    _lifetime: Lifetime

    @shows_words(StreamOffer, confidence="0.95")
    def preview_stream(self, **terms: Unpack[StreamOffer]) -> StreamPreview:
        """Say what a stream would cost, how sure its verdicts would be, and what would be left. It is free.

        The terms are those of `stream`. The margin is for `questions` verdicts, one if it is not said.
        """
        agreed = StreamTerms.of(self.population, **terms)
        confidence, questions = terms.get("confidence", CONFIDENCE), terms.get("questions", 1)
        self._lifetime.require()
        snapshot = self.ledger.snapshot(self.population.name, self.analyst)
        status = BudgetStatus.of(snapshot, self.analyst, None, agreed.reservation("preview"), [agreed.table])
        return StreamPreview.of(agreed, status, confidence, questions)

    @shows_words(StreamOffer, confidence="0.95")
    def stream(
        self, *, name: str | None = None, key: str | None = None, **terms: Unpack[StreamOffer]
    ) -> QuestionStream:
        """Open a stream of "at least N people?" questions that is paid per yes; use it in a `with`, or close it.

        Parameters
        ----------
        name : what to call it, to go on with it in another process
        key : the idempotency key
        terms : `at_least=`, the number of people that is asked for, where a question does not say another; `yeses=`,
            after which it halts; `table=`, which may be left out where there is one table with a row a person; and
            `epsilon=`, what it costs when all yeses are given, or `within=` at a `confidence=`, for the smallest one at
            which the verdicts of `questions=` (one, if not said) are right for counts that are so far away. With
            `epsilon=` and `questions=` the threshold is placed for these questions; more may be asked
        """
        self._lifetime.require()
        agreed = StreamTerms.of(self.population, **terms)
        given = fresh_name() if key is None else key
        stream = self._stream(name_of_key(self.population.name, self.analyst, given) if name is None else name, agreed)
        with self._tables.hold(self.ledger.population(self.population.name).tables):
            return stream.open(self.analyst, given)

    def resume(self, name: str) -> QuestionStream:
        """Go on with a stream of this analyst that was opened before, here or in another process.

        A question that a dead process left in flight is settled first.
        """
        self._lifetime.require()
        record = self.ledger.streams.stream(name)
        if record.analyst != self.analyst or record.population != self.population.name:
            raise ParameterError("stream", name, reason="is not in this ledger", remedy="open it first")
        return self._stream(name, StreamTerms.read(record.terms), record.tables).settle(record)

    def _stream(self, name: str, terms: StreamTerms, opened_for: Collection[str] | None = None) -> QuestionStream:
        """Return a stream whose conditions are about tables that are allowed and that its intents have versions of."""
        people, may = self.population, self.ledger.population(self.population.name).analyst(self.analyst).tables
        for allowed in (may, opened_for):
            if allowed is not None:
                people = replace(people, tables=tuple(table for table in people.tables if table.name in allowed))
        return QuestionStream(
            name,
            terms,
            population=people,
            ledger=self.ledger,
            tables=self._tables,
            running=self._running,
            key=self._key,
            on_failure=self._on_failure,
            lifetime=self._lifetime,
        )


def name_of_key(population: str, analyst: str, key: object) -> str:
    """Return the name of a stream that was given a key only, so that the same key opens the same stream again."""
    return digest(["stream", population, analyst, str(key)])[:32]

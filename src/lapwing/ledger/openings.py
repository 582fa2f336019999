"""How a stream begins and ends: it is charged and its secret kept, or what no yes has used is given back."""

from lapwing.accounting.filters.charge import StreamClosing, YesCharge
from lapwing.ledger.states import RefusedError
from lapwing.ledger.stream_states import Opening, StreamOutcome, StreamRecord, StreamStatus
from lapwing.ledger.streams import STATE, StreamQuestions, drop_secrets, keep_secret, state_fields, stream_in
from lapwing.ledger.transaction import Transaction
from lapwing.vocabulary.errors import ParameterError, StreamBusyError


class Streams(StreamQuestions):
    """Opening, asking and closing streams."""

    def open(self, opening: Opening) -> StreamRecord:
        """Charge a stream and store its secret, together. The same key again returns the stream as it stands.

        If an account says no, nothing was charged, and the secret is to be thrown away.
        """
        try:
            return self._store.change("open", lambda transaction: _open(transaction, opening))
        except RefusedError as refused:
            raise refused.explained() from None

    def close(self, stream: str) -> StreamRecord:
        """End a stream with no question in flight: its secrets are destroyed, what no yes has used is given back."""
        return self._end(stream, "close")

    def forfeit(self, stream: str) -> StreamRecord:
        """End a stream that cannot go on: all that was reserved is spent, and a question in flight is lost.

        For a stream whose key is gone or whose seal is broken, and for one whose noise is not priced for lost answers.
        """
        return self._end(stream, "forfeit")

    def _end(self, stream: str, act: str) -> StreamRecord:
        def change(transaction: Transaction) -> StreamRecord:
            known = stream_in(transaction, stream)
            if known.status is StreamStatus.OPEN:
                _end(transaction, known, forfeit=act == "forfeit")
            return stream_in(transaction, stream)

        ended = self._store.change(act, change)
        self._store.shred()
        return ended


def _open(transaction: Transaction, opening: Opening) -> StreamRecord:
    """Charge a stream and store its secret; return it as it stands, also where the same key opened it before."""
    population = transaction.population(opening.population)
    if transaction.request(population.name, opening.analyst, request=opening.key, digest=opening.digest):
        return stream_in(transaction, opening.stream)
    if transaction.stream(opening.stream):
        reason = "is a stream of this ledger already"
        raise ParameterError("stream", opening.stream, reason=reason, remedy="choose a new name")
    population.versions(opening.tables)
    changes = transaction.accounts(population, opening.analyst)
    changes.admit(opening.charge, opening.tables)
    transaction.append_changes(
        "opening",
        changes,
        request=opening.key,
        digest=opening.digest,
        stream=opening.stream,
        tables=sorted(opening.tables),
        terms=opening.terms,
        units=opening.units,
        dearest=opening.dearest,
        questions=opening.questions,
        status=StreamStatus.OPEN.value,
        asked=0,
        used=0,
        seals=1,
    )
    keep_secret(transaction, opening.stream, STATE, opening.sealed)
    return stream_in(transaction, opening.stream)


def _end(transaction: Transaction, stream: StreamRecord, *, forfeit: bool) -> None:
    """Close a stream with nothing in flight, or forfeit it with all that it has reserved."""
    if stream.in_flight and not forfeit:
        raise StreamBusyError(stream.name, number=stream.in_flight.number)
    unused = stream.units - stream.used
    changes = transaction.accounts(transaction.population(stream.population), stream.analyst)
    changes.settle(*[YesCharge(stream=stream.name)] * (unused * forfeit), StreamClosing(stream=stream.name))
    lost = {"settles": stream.in_flight.seq, "outcome": StreamOutcome.LOST.value} if stream.in_flight else {}
    transaction.append_changes(
        "closing",
        changes,
        forfeit=forfeit,
        number=stream.asked,
        **lost,
        **state_fields(stream, used=stream.units if forfeit else stream.used, status=StreamStatus.CLOSED.value),
    )
    drop_secrets(transaction, stream.name)

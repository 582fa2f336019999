"""Releases of entries that a ledger has lost, reconstructed from what people kept; and charging them.

A ledger that goes on from an older copy lacks the charges made since. People may have kept

- an export: its chain goes on from an entry that the ledger still has, and shows every charge up to its end;
- an answer, as JSON: it has its price, and its receipt shows that it was in an entry which is lost;
- a receipt: it shows how many entries there were at least, and not what they charged.

What these show is charged, each lost entry once. Only an export explains a loss: one whose chain reaches the last
entry that the ledger is known to have had. An answer determines neither the hash of its lost entry nor whether the
charge before it is lost, too: so an answer, true, wrong or invented, adds a charge and explains nothing. For entries
that no export shows, the custodian names an amount, or all that is left, or declares that it was nothing. A stream that
was open may have been asked meanwhile: it is ended, and all that it had reserved is spent, unless exports explain the
whole loss and show that it was not asked.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, Final

from lapwing.accounting.filters.account import Account, Admission
from lapwing.accounting.filters.charge import SingleRelease, cost_of
from lapwing.ledger.entries import Receipt, Record, text
from lapwing.ledger.entries import name as named
from lapwing.ledger.export import is_export, read_export
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.reservations import end_in, reservation_in
from lapwing.ledger.states import PopulationRecord, RefusedError
from lapwing.ledger.transaction import Transaction
from lapwing.vocabulary.codec import from_record
from lapwing.vocabulary.errors import LedgerRolledBackError, ParameterError
from lapwing.vocabulary.event import ApproximateRelease, Composed, Event, GaussianNoise, PureRelease
from lapwing.vocabulary.exact import positive
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import several

_CHARGES: Final = frozenset({"charge", "opening", "write-off"})
_RECEIPT: Final = re.compile(r"lapwing:[^\s\"']+:[0-9]{1,19}:[0-9a-f]{64}")
_NOTES: Final = "where record ->> 'kind' = 'note' order by seq"
_WRITTEN_OFF: Final = """where record ->> 'population' = ? and record ->> 'account' is not null
    and record ->> 'kind' = 'write-off' and record ->> 'lost' is not null"""
_RESTS: Final = """where record ->> 'population' = ? and record ->> 'account' is not null
    and record ->> 'kind' = 'write-off' and record ->> 'rest_of' is not null"""
_DIGITS: Final = 10**12
_LEAST: Final = Fraction(1, _DIGITS)


@frozen()
class LostRelease:
    """The release of one lost entry, or of the charge that it answers; `analyst` got the answer, if that is known.

    `is_shown` is true if the hash chain of an export shows it; otherwise it comes from an answer. Its receipt
    identifies it: after a second loss there may be two lost entries of one number.
    """

    receipt: Receipt
    charge: SingleRelease
    analyst: str | None
    is_shown: bool

    @property
    def seq(self) -> int:
        """The number of the entry."""
        return self.receipt.seq


@frozen()
class Losses:
    """What is known of the entries that a ledger has lost.

    `after` is the last entry that it still had, and `until` the last that is known to be lost, if that is known.
    `releases` are the lost releases that are not charged yet, and `known` how many were charged by now. `unexplained`
    is the number of lost entries that no export shows, None if unknown. `streams` are to be ended. `noted` is the entry
    that records the last loss, and `rest` what the custodian has named and charged for it.
    """

    after: int
    until: int | None
    releases: tuple[LostRelease, ...]
    known: int
    unexplained: int | None
    streams: tuple[str, ...]
    noted: int
    rest: tuple[SingleRelease, ...] = ()

    def has_charged(self, rest: Event) -> bool:
        """Return whether at least this `rest` was charged before: the same rest, named twice, is charged once."""
        return any(_covers(one, SingleRelease(event=rest)) for one in self.rest)

    @property
    def are_explained(self) -> bool:
        """Whether the charges of all lost entries are known."""
        return self.unexplained == 0

    def __str__(self) -> str:
        lost = f"entries {self.after + 1} to {self.until}" if self.until else f"entries from {self.after + 1} on"
        if self.until == self.after:
            return "no entry is known to be lost"
        if self.are_explained:
            return f"{lost} are lost, and what all of them charged is known"
        missing = "nobody knows how many" if self.unexplained is None else f"{self.unexplained:,}"
        said = sum(not one.is_shown for one in self.releases)
        answers = (
            f" ({several(said, 'release')} of them {'is' if said == 1 else 'are'} said by answers)" if said else ""
        )
        return f"{lost} are lost, and what {missing} of them charged is shown by no export{answers}"


@dataclass(slots=True)
class _Kept:
    """The kept material, merged: exports by their entries, answers by their receipts."""

    ledger: str
    hashes: dict[int, str] = field(default_factory=dict)
    covered: dict[int, str] = field(default_factory=dict)  # the hashes of lost entries that exports show
    notes: list[Record] = field(default_factory=list)  # of earlier losses, that are lost themselves
    ends: dict[int, str] = field(default_factory=dict)  # the receipt of what settles a charge that an export shows
    asked: set[str] = field(default_factory=set)  # streams that an export shows to have been asked
    releases: dict[int, LostRelease] = field(default_factory=dict)
    answers: list[LostRelease] = field(default_factory=list)
    until: int = 0


def find_losses(ledger: Ledger, population: str, kept: Iterable[Path | str | Receipt] = ()) -> Losses:
    """Return what is known of lost entries: from the ledger itself, and from what people `kept`.

    That is files (exports, answers as JSON, texts with receipts in them), receipts, or their texts. Entries that the
    ledger still has are skipped; material of another ledger, or that contradicts the chain, is refused.
    """
    given = list(kept)
    with ledger.chains.store(population).reading() as transaction:
        return _find(transaction, transaction.population(population), given)


def write_off_losses(
    ledger: Ledger,
    population: str,
    kept: Iterable[Path | str | Receipt] = (),
    *,
    reason: str,
    rest: Event | None = None,
    nothing_more: bool = False,
    everything: bool = False,
    by: str = "custodian",
) -> Losses:
    """Charge what lost entries have released, each in an entry of its own, and end the streams that were open.

    `rest` is what may have been released besides by entries that no export shows; without one it is refused where
    there are such entries, unless the custodian knows that it was `nothing_more`. With `everything`, all that is left
    is charged instead. All of it is written, or nothing, also while spending is stopped. What was charged by this
    before is not charged again, the rest included; a larger rest than before is refused, because it is not known
    whether the smaller is a part of it.
    """
    said = {"by": named("by", by), "reason": text("reason", reason)}
    given = list(kept)
    try:
        with ledger.chains.store(population).writing("policy") as transaction:
            known = transaction.population(population)
            losses = _find(transaction, known, given)
            if not (losses.are_explained or rest or nothing_more or everything or losses.rest):
                remedy = "name what they may have charged, all that is left, or say that it was nothing"
                raise ParameterError("rest", None, reason=f"is not said: {losses}", remedy=remedy)
            if rest is not None and losses.rest and not losses.has_charged(rest):
                remedy = "charge what is missing by itself, as a write-off by hand"
                raise ParameterError("rest", rest, reason="is more than was named and charged before", remedy=remedy)
            for stream in losses.streams:
                end_in(transaction, reservation_in(transaction, stream), forfeit=True)
            if everything:
                rest = all_left(transaction.account(population))
            for one in () if everything else losses.releases:
                _charge(transaction, known, one.charge, analyst=one.analyst, lost=str(one.receipt), **said)
            if rest is not None and (everything or not losses.rest):
                _charge(transaction, known, SingleRelease(event=rest), analyst=None, rest_of=losses.noted, **said)
    except RefusedError as refused:
        raise refused.explained() from None
    if losses.streams:
        ledger.chains.store(population).shred()
    return losses


def all_left(account: Account) -> Event | None:
    """Return one release after which nothing can be asked any more, if anything can be now."""
    left = account.remaining()
    if left.gaussian:  # a release with a rho ends the sum of epsilons, too
        return _with_rho(left.gaussian / 2)
    return PureRelease(epsilon=left.pure) if left.pure else None


def _with_rho(rho: Fraction) -> Event:
    return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / (2 * rho))


def _charge(
    transaction: Transaction,
    population: PopulationRecord,
    charge: SingleRelease,
    *,
    analyst: str | None,
    **said: object,
) -> None:
    """Write a charge off: also from the allowance of the analyst who got the answer, unless it has too little left."""
    for whose in dict.fromkeys([analyst or "", ""]):
        changes = transaction.accounts(population, whose)
        try:
            changes.write_off(charge)
        except RefusedError:
            if not whose:
                raise
            continue
        transaction.append_changes("write-off", changes, **said)
        return


def _find(transaction: Transaction, population: PopulationRecord, kept: Sequence[Path | str | Receipt]) -> Losses:
    notes = [entry.record for entry in transaction.some(_NOTES)]
    if not notes:
        raise ParameterError(
            "ledger", transaction.ledger, reason="has lost no entries", remedy="a write-off by hand names an amount"
        )
    after = min(note["seq"] for note in notes) - 1
    found = _Kept(ledger=transaction.ledger)
    for one in kept:
        _read(transaction, population, after, one, found)
    until = max([found.until, *(note.get("lost_until", 0) for note in [*notes, *found.notes])]) or None
    done = [_written_off(entry.record) for entry in transaction.some(_WRITTEN_OFF, population.name)]
    answers = [one for one in dict.fromkeys(found.answers) if one.seq not in found.covered]
    told = sorted([*found.releases.values(), *answers], key=lambda one: one.seq)
    releases = tuple(
        one
        for one in told
        if not any(
            receipt in {str(one.receipt), found.ends.get(one.seq)} and _covers(charge, one.charge)
            for receipt, charge in done
        )
    )
    unexplained = _unexplained(notes, found)
    noted = max(note["seq"] for note in notes)
    rests = [entry.record for entry in transaction.some(_RESTS, population.name)]
    streams = tuple(
        stream
        for stream in sorted(transaction.open_reservations())
        if _was_open(transaction, population, stream, after) and not (unexplained == 0 and stream not in found.asked)
    )
    return Losses(
        after=after,
        until=until,
        releases=releases,
        known=len(told) - len(releases),
        unexplained=unexplained,
        streams=streams,
        noted=noted,
        rest=tuple(_charged(one) for one in rests if one["rest_of"] == noted),
    )


def _unexplained(notes: Sequence[Record], found: _Kept) -> int | None:
    """Return how many lost entries no export shows; None, if it is not known how many are lost.

    An export explains a loss if it has the last entry that was promised, by its hash. One that ends before that
    explains what it has; one with another entry in that place is of another loss, and explains nothing of this one.
    """
    every = [*notes, *found.notes]
    if any("lost_until" not in note for note in every):
        return None
    unexplained: int = max(0, found.until - max([*found.covered, *(note["lost_until"] for note in every)]))
    for note in every:
        first, until = note["seq"], note["lost_until"]
        if until < first or found.covered.get(until, "") == note.get("lost_head"):
            continue
        goes_on_here = note in notes and first - 1 not in found.covered and until not in found.covered
        shown = sum(first <= seq <= until for seq in found.covered) if goes_on_here else 0
        unexplained += until - first + 1 - shown
    return unexplained


def _written_off(record: Record) -> tuple[str, SingleRelease]:
    """Return the receipt of the lost entry that a write-off names, and its charge."""
    return record["lost"], _charged(record)


def _charged(record: Record) -> SingleRelease:
    (line,) = from_record(tuple[Admission, ...], record["account"]["lines"])
    return SingleRelease(event=line.charge.event, segments=line.charge.segments)


def _covers(charged: SingleRelease, due: SingleRelease) -> bool:
    """Return whether `charged` is no less than `due`: an answer may have a smaller price than an export shows."""
    if charged == due:
        return True
    had, cost = cost_of(charged), cost_of(due)
    pairs = [(had.delta, cost.delta), (had.rho, cost.rho) if cost.epsilon is None else (had.epsilon, cost.epsilon)]
    is_enough = all(one is not None and other is not None and one >= other for one, other in pairs)
    return is_enough and charged.segments in {None, due.segments}


def _was_open(transaction: Transaction, population: PopulationRecord, stream: str, after: int) -> bool:
    """Return whether a stream of a population was opened before entries were lost."""
    opened = transaction.some("where record ->> 'stream' = ? order by seq limit 1", stream)
    return any(one.seq <= after and one.record["population"] == population.name for one in opened)


def _read(
    transaction: Transaction, population: PopulationRecord, after: int, kept: Path | str | Receipt, found: _Kept
) -> None:
    """Add the evidence of one kept file or receipt to `found`."""
    if isinstance(kept, str) and _RECEIPT.fullmatch(kept.strip()):
        kept = Receipt.parse(kept)
    if isinstance(kept, Receipt):
        _is_lost(transaction, after, kept, found)
        return
    path = Path(kept)
    try:
        if is_export(path):
            _read_export(transaction, population, after, path, found)
            return
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError("kept", str(path), reason=f"cannot be read ({error})", remedy="name a file") from None
    answers = list(_answers(content))
    receipts = [Receipt.parse(one) for one in dict.fromkeys(_RECEIPT.findall(content))]
    if not receipts:
        remedy = "name an export of the ledger, an answer as --json prints it, or a text with receipts"
        raise ParameterError("kept", str(path), reason="holds no receipt", remedy=remedy)
    for receipt in receipts:
        _is_lost(transaction, after, receipt, found)
    for answer in answers:
        receipt = Receipt.parse(answer["receipt"])
        if _is_lost(transaction, after, receipt, found):
            tables = set(answer.get("versions") or ())
            if not tables <= set(population.tables):
                reason = f"is about {', '.join(sorted(tables))}, which {population.name!r} does not have"
                raise ParameterError("kept", str(path), reason=reason, remedy="name its population")
            charge = SingleRelease(event=_event(path, answer["price"]))
            found.answers.append(LostRelease(receipt=receipt, charge=charge, analyst=None, is_shown=False))


def _is_lost(transaction: Transaction, after: int, receipt: Receipt, found: _Kept) -> bool:
    """Return whether a receipt is of a lost entry; refuse one of another ledger, or that contradicts what is known."""
    here = transaction.hash_of(receipt.seq) if receipt.seq <= transaction.last else None
    if receipt.ledger == found.ledger and here is not None and here.hex() == receipt.hash:
        return False
    shown = found.hashes.get(receipt.seq, receipt.hash)
    if receipt.ledger != found.ledger or receipt.seq <= after or shown != receipt.hash:
        reason = f"receipt {receipt} is not of what this ledger has lost"
        remedy = "leave it out, or look in the workspace that gave it"
        raise LedgerRolledBackError(reason, seq=receipt.seq, last=transaction.last, remedy=remedy)
    found.hashes[receipt.seq] = receipt.hash
    found.until = max(found.until, receipt.seq)
    return True


def _read_export(transaction: Transaction, population: PopulationRecord, after: int, path: Path, found: _Kept) -> None:
    """Take the charges from an export whose chain goes on from what the ledger has."""
    ends = []
    for end, entries in read_export(path):
        ends.append(end)
        for entry in entries:  # of another population they are only followed
            receipt = Receipt(ledger=end.ledger, seq=entry.seq, hash=entry.hash.hex())
            if end.ledger == found.ledger and _is_lost(transaction, after, receipt, found):
                found.covered[entry.seq] = receipt.hash
                _take(population, receipt, entry.record, found)
    if found.ledger not in {end.ledger for end in ends}:
        _is_lost(transaction, after, ends[0], found)


def _take(population: PopulationRecord, receipt: Receipt, record: Record, found: _Kept) -> None:
    if record["kind"] == "note" and record not in found.notes:
        found.notes.append(record)
    if record.get("population") != population.name:
        return
    if "stream" in record:
        found.asked.add(record["stream"])
    if "settles" in record:
        found.ends[record["settles"]] = str(receipt)
    if record["kind"] in _CHARGES:
        (line,) = from_record(tuple[Admission, ...], record["account"]["lines"])
        charge = SingleRelease(event=line.charge.event, segments=line.charge.segments)
        analyst = record.get("analyst")
        found.releases[receipt.seq] = LostRelease(receipt=receipt, charge=charge, analyst=analyst, is_shown=True)


def _answers(content: str) -> Iterator[Mapping[str, Any]]:
    """Yield the answers of a text: one as JSON, a list of them, or one on each line; what costs nothing is none."""
    try:
        said = json.loads(content)
    except ValueError:
        said = [one for line in content.splitlines() if (one := _parsed(line)) is not None]
    for one in said if isinstance(said, list) else [said]:
        if isinstance(one, dict) and isinstance(one.get("price"), dict) and isinstance(one.get("receipt"), str):
            yield one


def _parsed(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _event(path: Path, price: Mapping[str, Any]) -> Event:
    """Return a release that costs no less than a price."""
    try:
        epsilon, rho = price.get("epsilon"), price.get("rho")
        delta = Fraction(str(price.get("delta") or 0))
        if epsilon is not None:
            amount = positive("epsilon", str(epsilon))
            return ApproximateRelease(epsilon=amount, delta=delta) if delta else PureRelease(epsilon=amount)
        amount = Fraction(ceil(positive("rho", str(rho)) * _DIGITS), _DIGITS)
        noise = _with_rho(amount)
        return Composed(parts=(noise, ApproximateRelease(epsilon=_LEAST, delta=delta))) if delta else noise
    except (ValueError, ArithmeticError):
        reason = f"has a price that cannot be read: {price}"
        raise ParameterError("kept", str(path), reason=reason, remedy="charge it by hand") from None

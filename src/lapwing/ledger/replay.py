"""Replay: an independent second implementation of the rules of a ledger, given its entries in order.

The hash chain shows that entries are as they were written. The replay shows that they were right: each charge is put
before the filters again, each yes is looked for in the accounts, and the state that an entry claims must be the state
that follows. Residues and some prices are floats, and another build of a numerical library may find another last digit:
the next entry starts from the claimed state, once that was checked to be no larger than, or equal to, the recomputed.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any, Final, NamedTuple, TypeAlias

from lapwing.accounting.filters.account import (
    Account,
    Admission,
    Booking,
    CapChange,
    charge_anew,
    open_account,
    raise_cap,
)
from lapwing.accounting.filters.charge import Charge, Reservation, SingleRelease, StreamClosing, YesCharge, cost_of
from lapwing.accounting.filters.remaining import Refusal
from lapwing.ledger.chain import Chain
from lapwing.ledger.chains import Chains, leaf, merkle_root
from lapwing.ledger.claims import (
    OpenRequests,
    Record,
    ReplayError,
    accounts_agree,
    agreed_event,
    agreed_price,
    offered_event,
    prices_agree,
    require,
    require_fields,
    require_same_question,
    require_told,
    steps_agree,
    units_of_one,
    units_of_round,
)
from lapwing.ledger.database import Database
from lapwing.ledger.entries import Entry, Receipt, check_chain, genesis, recall_digest
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.processes import spawned
from lapwing.ledger.reservation_states import MOST_ROUNDS, STREAM, IfLost, ReservationKind, kind_of
from lapwing.ledger.states import Analyst, PopulationRecord
from lapwing.ledger.store import Store
from lapwing.vocabulary.codec import canonical, digest, from_record, to_record
from lapwing.vocabulary.errors import LapwingError, LedgerDamagedError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Result


@dataclass(slots=True)
class _Reserved:
    opening: Record
    charge: Charge
    kind: ReservationKind
    status: str = "open"
    asked: int = 0
    used: int = 0
    in_flight: Record | None = None


class _Told(NamedTuple):
    """An answer: of which population, to whom, and the digest of its request; none for one of a stream.

    A stream may be asked for several answers at once, under one key, and the entry that recalls them names the last.
    """

    population: str
    analyst: str
    digest: str | None = None


@dataclass(slots=True)
class Replay:
    """The ledger as it must be after the entries that were read."""

    populations: dict[str, PopulationRecord] = field(default_factory=dict)
    accounts: dict[tuple[str, str | None], Account] = field(default_factory=dict)
    lines: dict[str, list[tuple[str | None, Booking]]] = field(default_factory=lambda: defaultdict(list))
    reservations: dict[str, _Reserved] = field(default_factory=dict)
    unsettled: dict[int, Record] = field(default_factory=dict)
    answers: dict[int, _Told] = field(default_factory=dict)
    """The entries that hold answers which can be recalled."""
    recalls: set[tuple[str, int, int]] = field(default_factory=set)
    requests: set[tuple[str, str, str]] = field(default_factory=set)
    touched: set[tuple[str, str]] = field(default_factory=set)
    """The tables that any question was charged or intended to read, each with its population."""
    written_off: set[str] = field(default_factory=set)
    today: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    """For each analyst, the last day of questions to streams and their number, where that has a limit."""
    has_lost_entries: bool = False
    noted: int = 0
    """The last entry that notes a loss."""
    is_directory: bool = False
    ledger: str = ""
    home: str = ""
    """The name of the chain, and of the ledger in which it goes on: where it began, or arrived last."""
    founded: dict[str, int] = field(default_factory=dict)
    heads: dict[int, str] = field(default_factory=dict)
    """Of the directory: the chains of populations, and the ends of chains as they were sealed last."""
    budget_requests: OpenRequests = field(default_factory=OpenRequests)

    def __post_init__(self) -> None:
        self.home = self.ledger.partition("/")[0]

    def read(self, entry: Entry) -> None:
        """Follow one entry, or refuse it if it cannot follow on those before it."""
        rules = self._rules()
        try:
            record = entry.record
            require(canonical(record) == entry.body and record["seq"] == entry.seq, "is not in canonical form")
            require_fields(record)
            self._require_here(record)
            self._once(record)
            rules[record["kind"]](record)
        except ReplayError as wrong:
            raise LedgerDamagedError(str(wrong), seq=entry.seq) from wrong
        except (LapwingError, KeyError, TypeError, ValueError, AttributeError) as error:
            said = str(error) if isinstance(error, LapwingError) else "a part of it is missing, or not what it must be"
            raise LedgerDamagedError(f"makes no sense ({said})", seq=entry.seq) from error

    def _rules(self) -> dict[str, Callable[[Record], None]]:
        if self.is_directory:
            return {"founding": self._founding, "heads": self._heads, "note": self._note}
        return {
            "population": self._population,
            "policy": self._policy,
            "charge": self._charge,
            "write-off": self._write_off,
            "answer": self._answer,
            "lost": self._lost,
            "recall": self._recall,
            "opening": self._opening,
            "intent": self._intent,
            "outcome": self._outcome,
            "closing": self._closing,
            "note": self._note,
            "request": self._request,
            "refusal": self.budget_requests.refuse,
        }

    def _require_here(self, record: Record) -> None:
        """Refuse what comes after a population has moved, but for its arrival and notes of what was lost."""
        moved = any(one.moved_to for one in self.populations.values())
        require(not moved or record.get("change") == "arrival" or record["kind"] == "note", "comes after it has moved")

    def _once(self, record: Record) -> None:
        if "request" in record:
            request = (record["population"], record["analyst"], record["request"])
            require(request not in self.requests, "uses an idempotency key for the second time")
            self.requests.add(request)

    def _note(self, record: Record) -> None:
        require(isinstance(record["remark"], str), "notes nothing")
        self.has_lost_entries, self.noted = True, record["seq"]

    def _founding(self, record: Record) -> None:
        require(isinstance(record["founds"], str), "founds nothing")
        require(record["founds"] not in self.founded, "founds a population for the second time")
        require(("chain" in record) == ("since" in record), "founds a chain that came from nowhere")
        self.founded[record["founds"]], self.heads[record["seq"]] = record["seq"], leaf(0)

    def _heads(self, record: Record) -> None:
        require(record["heads"], "seals nothing")
        for number, end in record["heads"].items():
            seq, _, hash_ = end.partition(":")
            require(int(number) in self.heads, "seals a chain that there is not")
            before, _, _ = self.heads[int(number)].partition(":")
            is_later = int(seq) > int(before) or (self.noted == record["seq"] - 1 and end != self.heads[int(number)])
            size = len(genesis("")) if int(seq) else 0
            require(is_later and len(bytes.fromhex(hash_)) == size, "seals no later end")
            self.heads[int(number)] = end
        require(record["root"] == merkle_root(self.heads).hex(), "has another root than that of the ends it seals")

    def _population(self, record: Record) -> None:
        name = record["population"]
        require(not self.populations, "creates a second population in one chain")
        require(name not in self.populations, "creates a population that exists")
        population = from_record(PopulationRecord, record["policy"])
        require(population.name == name, "describes another population")
        claimed = from_record(Account, record["account"]["after"])
        require(not population.tables and not population.analysts, "creates a population that has a past")
        self._require_fresh(claimed, population)
        self.populations[name], self.accounts[name, None] = population, claimed

    def _request(self, record: Record) -> None:
        self.budget_requests.add(record, self.populations[record["population"]])

    def _policy(self, record: Record) -> None:
        before = self.populations[record["population"]]
        after = from_record(PopulationRecord, record["policy"])
        if "budget_request" in record:
            self.budget_requests.grant(record, before, self.accounts[before.name, None].budget)
        due = self._decided(record, before, after)
        require(due == after, f"decides more than the {record['change']} it names")
        self.populations[before.name] = after
        analyst: str = record.get("analyst", "")
        if record["change"] == "correction":
            self._reopen(record, after)
            return
        for column, holder in (("account", None), ("allowance", analyst)):
            if column in record:
                self._recapped(record, column, holder)

    def _decided(self, record: Record, before: PopulationRecord, after: PopulationRecord) -> PopulationRecord:
        """Return the state after a decision, in which all that the decision does not name is unchanged."""
        analyst: str = record.get("analyst", "")
        if analyst:
            return _decided_about(analyst, record["change"], before, after.analysts[analyst])
        match record["change"]:
            case "table":
                require(record["table"] not in before.tables, "adds a table for the second time")
                due = before.with_table(record["table"], 1)
                key = after.keys.get(record["table"])
                return due.with_key(record["table"], key) if key else due
            case "version":
                return before.with_table(record["table"], before.tables[record["table"]] + 1)
            case "suspension" | "admission" | "limits" as change:
                return replace(before, **{name: getattr(after, name) for name in _SWITCHED[change]})
            case "moved" | "arrival":
                return self._moved(record, before, after)
            case "correction":
                return self._corrected(record, before, after)
            case _:
                require(record["change"] == "budget", "changes nothing that can be changed")
                return before

    def _moved(self, record: Record, before: PopulationRecord, after: PopulationRecord) -> PopulationRecord:
        """Return the state after a population has moved away, or gone on in the ledger to which it moved."""
        if record["change"] == "arrival":
            require(before.moved_to, "arrives, and has not moved")
            self.home = before.moved_to or ""
            return replace(before, moved_to=None)
        is_quiet = not self.unsettled and all(one.status != "open" for one in self.reservations.values())
        require(before.suspended and is_quiet, "moves while something is going on")
        require(isinstance(after.moved_to, str) and after.moved_to != self.home, "moves nowhere")
        return replace(before, moved_to=after.moved_to)

    def _corrected(self, record: Record, before: PopulationRecord, after: PopulationRecord) -> PopulationRecord:
        """Return the state after a correction; refuse it after a release, or where entries are lost or written off."""
        name, table = before.name, record.get("table")
        booked = any(isinstance(line, Admission) for _, line in self.lines[name])
        released = booked if table is None else (name, table) in self.touched
        unrecorded = self.has_lost_entries or name in self.written_off
        require(not released and not unrecorded, "corrects what was released from already")
        tables = before.tables if table is None else {table: before.tables[table]}
        due = before if table else replace(before, unit=after.unit)
        for one, version in tables.items():
            due = due.with_table(one, version + 1).with_key(one, after.keys[one])
        return due

    def _reopen(self, record: Record, after: PopulationRecord) -> None:
        """Follow the accounts of a population that was corrected: all are fresh, under the new terms."""
        require("allowance" not in record, "corrects an allowance, too")
        require(("account" in record) != ("table" in record), "corrects a table and its population, or neither")
        if "table" in record:
            return
        (line,) = from_record(tuple[CapChange, ...], record["account"]["lines"])
        require(record["account"]["after"] == to_record(line.account), "opens no account")
        self._require_fresh(line.account, after)
        self.accounts[after.name, None] = line.account
        self.lines[after.name].append((None, line))
        for analyst, decided in after.analysts.items():
            if decided.allowance:
                self.accounts[after.name, analyst] = open_account(
                    decided.allowance,
                    segments=line.account.filters,
                    adjacency=line.account.adjacency,
                    shares=line.account.shares,
                )

    def _require_fresh(self, claimed: Account, population: PopulationRecord) -> None:
        fresh = open_account(
            claimed.budget, segments=claimed.filters, adjacency=population.unit.adjacency, shares=claimed.shares
        )
        alone = population.unit.protects_groups_of == 1
        require(alone or len(claimed.filters) == 1, "divides people who are protected together")
        require(accounts_agree(claimed, fresh), "opens an account that is not fresh")

    def _recapped(self, record: Record, column: str, holder: str | None) -> None:
        name = record["population"]
        (line,) = from_record(tuple[CapChange, ...], record[column]["lines"])
        require(record[column]["after"] == to_record(line.account), "changes no cap")
        past = [booking for who, booking in self.lines[name] if holder in {None, who}]
        before, budget = self.accounts[name, None], line.account.budget
        if holder is None:
            due = raise_cap(before, budget, past)
        else:
            fresh = open_account(budget, segments=before.filters, adjacency=before.adjacency, shares=before.shares)
            due = charge_anew(fresh, past)
        require(accounts_agree(line.account, due.account), "does not charge the whole history under the new cap")
        self.accounts[name, holder] = line.account
        if holder is None:
            self.lines[name].append((None, line))

    def _charge(self, record: Record) -> None:
        charge = self._admitted(record, SingleRelease)
        offered = offered_event(record["question"])
        require(offered is None or offered == charge.event, "was charged another price than its question says")
        self._versions(record)
        asked = [record["question"], sorted(record["versions"]), to_record(charge)]
        require(record["digest"] == digest(asked), "has the digest of another request")
        self.unsettled[record["seq"]] = record

    def _write_off(self, record: Record) -> None:
        require(isinstance(record["reason"], str), "writes off without a reason")
        self.written_off.add(record["population"])
        self._quoted(record, SingleRelease)

    def _answer(self, record: Record) -> None:
        require(record["settles"] in self.unsettled, "answers what was not charged, or for the second time")
        charge = self.unsettled.pop(record["settles"])
        require(record["population"] == charge["population"], "answers in another population")
        require_same_question(record, charge, f"population {charge['population']}")
        self.answers[record["seq"]] = _Told(charge["population"], charge["analyst"], charge["digest"])

    def _lost(self, record: Record) -> None:
        require(record["settles"] in self.unsettled, "gives up what was not charged, or was answered")
        charge = self.unsettled.pop(record["settles"])
        require(record["population"] == charge["population"], "gives up in another population")

    def _recall(self, record: Record) -> None:
        self.populations[record["population"]].require_admitted(record["analyst"])
        told = self.answers.get(record["recalls"])
        require(told, "recalls what was never answered")
        if told is None:
            return
        require(told.population == record["population"], "recalls what another population answered")
        if told.digest is None:
            require(told.analyst == record["analyst"], "recalls what a stream of another analyst answered")
        else:
            require(told.digest == record["digest"], "has the digest of another request")

    def _opening(self, record: Record) -> None:
        require(record["stream"] not in self.reservations, "opens a stream that exists")
        charge, kind = self._admitted(record, SingleRelease, Reservation), kind_of(record)
        named = {"reserves", "if_lost"} & record.keys()
        require(len(named) == (0 if kind == STREAM else 2), "names the kind of a stream, or half of another kind")
        if isinstance(charge, Reservation):
            reserved = (charge.stream, charge.yeses)
            require(reserved == (record["stream"], record["units"]), "reserves for another stream")
            agreed = agreed_price(record["terms"])
            require(agreed in {None, charge.whole}, "was charged another price than its terms say")
        if kind != STREAM:
            event = agreed_event(record["terms"])
            require(isinstance(charge, SingleRelease), "pays by yeses for what has none")
            require(event in {None, charge.event}, "was charged another price than its terms say")
            require((record["units"], record["dearest"]) == (0, 0), "has units for what has none")
            require(0 < record["questions"] <= MOST_ROUNDS, "has no number of rounds")
        self.reservations[record["stream"]] = opened = _Reserved(opening=record, charge=charge, kind=kind)
        self._require_state(record, opened)
        require(record["digest"] == _digest_of_opening(record, charge, kind), "has the digest of another request")

    def _intent(self, record: Record) -> None:
        stream = self._opened(record)
        require(stream.status == "open", f"asks a stream that is {stream.status}")
        require(stream.in_flight is None, "asks while another question is in flight")
        require(record["number"] == stream.asked + 1, "is not the next question of its stream")
        self._versions(record)
        require(sorted(record["versions"]) == stream.opening["tables"], "reads other tables than were agreed")
        self._require_allowed(record, record["versions"])
        require(("question" in record) != ("questions" in record), "asks one question and many, or none")
        questions = record["questions"] if "questions" in record else [record["question"]]
        require(questions and len(set(questions)) == len(questions), "asks nothing, or the same twice")
        if stream.kind == STREAM:
            self._count_today(record, len(questions))
        else:
            require(not {"request", "digest", "today"} & record.keys(), "is a round, and asked like a question")
            require(len(questions) == 1, "begins a round before the one before it has ended")
            require(record["number"] <= stream.opening["questions"], "is more than the rounds that were charged")
        stream.asked, stream.in_flight = record["number"] + len(questions) - 1, record
        self._require_state(record, stream)

    def _opened(self, record: Record) -> _Reserved:
        """Return the reservation that an entry is about: it may not change whose it is, or what it is for."""
        opened = self.reservations[record["stream"]]
        require(record.get("reserves") == opened.opening.get("reserves"), "changes what a reservation is for")
        same = all(record[name] == opened.opening[name] for name in ("population", "analyst"))
        require(same, "is of another population or analyst than its reservation")
        return opened

    def _count_today(self, record: Record, questions: int) -> None:
        """Count what an analyst asks of streams in a day, where that has a limit."""
        population, analyst = self.populations[record["population"]], record["analyst"]
        require(("today" in record) == (population.noes_a_day is not None), "counts what has no limit, or does not")
        if "today" in record:
            day, asked = record["today"]
            last, before = self.today.get((population.name, analyst), (day, 0))
            require(asked == (before if last == day else 0) + questions, "does not count what was asked today")
            population.require_noes(analyst, day, asked)
            self.today[population.name, analyst] = (day, asked)
        else:
            self.today.pop((population.name, analyst), None)

    def _outcome(self, record: Record) -> None:
        stream = self._opened(record)
        opening, intent = stream.opening, stream.in_flight
        require(intent and record["settles"] == intent["seq"], "decides a question that is not in flight")
        if intent is None:
            return
        require(record["number"] == intent["number"], "has the number of another question")
        many = "questions" in intent
        if stream.kind != STREAM:
            taken = units_of_round(record)
        else:
            taken = self._units_of_many(record, intent, stream) if many else units_of_one(record, opening["dearest"])
        require_told(record, is_stream=stream.kind == STREAM, many=many)
        require(record["units"] == taken, f"takes {record['units']} units for what was decided")
        stream.used, stream.in_flight = stream.used + taken, None
        ends = record.get("outcome") == "lost" and stream.kind.if_lost is IfLost.ENDS
        halted = ends or opening["units"] - stream.used < opening["dearest"] or stream.asked == opening["questions"]
        stream.status = "halted" if halted else "open"
        require(halted or stream.asked == intent["asked"], "leaves questions undecided without a halt")
        self._require_state(record, stream)
        self._settle(record, yeses=taken, ends=halted)
        if stream.kind == STREAM and not many and "answer" in record:
            require_same_question(record, intent, f"stream {record['stream']}")
        if "versions" in record:
            require(record["versions"] == intent["versions"], "answers from other data versions")
            if stream.kind == STREAM:
                self.answers[record["seq"]] = _Told(record["population"], record["analyst"])

    def _units_of_many(self, record: Record, intent: Record, stream: _Reserved) -> int:
        """Return the units that the outcomes of a batch take, and note where its stream stands after them."""
        questions, dearest = intent["questions"], stream.opening["dearest"]
        require(dearest == 1, "asks questions together whose yeses have different prices")
        if record.get("outcome") == "lost":
            require("answers" not in record, "holds answers and is lost")
            return int(min(len(questions), (stream.opening["units"] - stream.used) // dearest) * dearest)
        outcomes = [outcome for outcome, _ in record["answers"]]
        require(0 < len(outcomes) <= len(questions), "answers other questions than were asked")
        require(set(outcomes) <= {"yes", "no"}, "has outcomes that there are not")
        digests = [recall_digest(f"stream {record['stream']}", question) for question in questions[: len(outcomes)]]
        require(record["recalls"] == digests, "answers a question that was not charged")
        self.recalls |= {(digest, record["seq"], place) for place, digest in enumerate(digests)}
        stream.asked = intent["number"] + len(outcomes) - 1
        yeses = outcomes.count("yes")
        before = stream.opening["units"] - stream.used - yeses + (outcomes[-1] == "yes")
        require(before >= dearest, "answers questions after the halt")
        return yeses

    def _closing(self, record: Record) -> None:
        stream = self._opened(record)
        require(stream.status == "open", f"closes a stream that is {stream.status}")
        require(record["forfeit"] or stream.in_flight is None, "closes a stream with a question in flight")
        left = stream.in_flight["seq"] if stream.in_flight else None
        require(record.get("settles") == left, "forgets the question in flight")
        require(record.get("outcome") == ("lost" if left else None), "decides a question by the closing")
        require(record["number"] == stream.asked, "has the number of another question")
        given_up = (stream.opening["units"] - stream.used) * record["forfeit"]
        stream.used, stream.status, stream.in_flight = stream.used + given_up, "closed", None
        self._require_state(record, stream)
        self._settle(record, yeses=given_up, ends=True)

    def _require_state(self, record: Record, stream: _Reserved) -> None:
        claimed = (record["status"], record["asked"], record["used"])
        require(claimed == (stream.status, stream.asked, stream.used), "does not say where its stream stands")

    def _versions(self, record: Record) -> None:
        tables = self.populations[record["population"]].tables
        same = all(tables[table] == version for table, version in record["versions"].items())
        require(same and record["versions"], "has other data versions, or none")
        self.touched |= {(record["population"], table) for table in record["versions"]}

    def _admitted(self, record: Record, *kinds: type[Charge]) -> Charge:
        self._require_allowed(record, record["versions"] if "versions" in record else record["tables"])
        before = self.accounts[record["population"], None]
        charge = self._quoted(record, *kinds)
        self.populations[record["population"]].require_price(record["analyst"], charge, before)
        return charge

    def _require_allowed(self, record: Record, tables: Iterable[str]) -> None:
        """Refuse a charge that the policy of that time did not allow."""
        population = self.populations[record["population"]]
        population.require_spending(record["analyst"])
        population.require_tables(record["analyst"], tables)

    def _quoted(self, record: Record, *kinds: type[Charge]) -> Charge:
        """Put a charge before the accounts again, and book it there."""
        charges: list[Charge] = []
        for column, whose in self._concerned(record):
            (line,) = from_record(tuple[Admission, ...], record[column]["lines"])
            require(isinstance(line.charge, kinds), "charges something else")
            require(prices_agree(line.cost, cost_of(line.charge)), "was charged another price")
            quoted = self.accounts[whose].quote(line.charge, line.cost)
            if isinstance(quoted, Refusal):
                raise ReplayError(f"was charged, but the account refuses it: {quoted}")
            require(steps_agree(line, quoted), "was charged less than the filters say")
            self._book(record, column, whose, [line])
            charges.append(line.charge)
        require(all(charge == charges[0] for charge in charges), "charges the analyst for something else")
        return charges[0]

    def _settle(self, record: Record, *, yeses: int, ends: bool) -> None:
        stream: str = record["stream"]
        due = [*[YesCharge(stream=stream)] * yeses, *[StreamClosing(stream=stream)] * ends]
        for column, whose in self._concerned(record):
            if due and stream in self.accounts[whose].streams:
                require(record[column]["lines"] == to_record(due), "does not book what it must")
                self._book(record, column, whose, due)
            else:
                require(column not in record, "books what it must not")

    def _concerned(self, record: Record) -> list[tuple[str, tuple[str, str | None]]]:
        name, analyst = record["population"], record.get("analyst", "")
        limited = self.populations[name].analyst(analyst).allowance
        require(limited or "allowance" not in record, "charges an allowance that there is not")
        return [("account", (name, None)), *([("allowance", (name, analyst))] if limited else [])]

    def _book(self, record: Record, column: str, whose: tuple[str, str | None], lines: list[Any]) -> None:
        account = self.accounts[whose]
        for line in lines:
            account = account.book(line)
        require(record[column]["after"] == to_record(account), "does not add up")
        self.accounts[whose] = account
        if column == "account":
            self.lines[whose[0]] += [(record.get("analyst"), line) for line in lines]


def _digest_of_opening(record: Record, charge: Charge, kind: ReservationKind) -> str:
    limits = [record["units"], record["dearest"], record["questions"]]
    named = [] if kind == STREAM else [kind.name, kind.if_lost.value]
    return digest([record["stream"], to_record(charge), limits, record["tables"], record["terms"], *named])


def _decided_about(analyst: str, change: str, before: PopulationRecord, after: Analyst) -> PopulationRecord:
    """Return the state after a decision about one analyst."""
    fields = {"suspension": ("suspended",), "limits": ("tables", "most"), "allowance": ("allowance",)}
    require(change in fields, "changes nothing that can be changed")
    return before.with_analyst(analyst, **{field: getattr(after, field) for field in fields[change]})


_SWITCHED: Final = {"suspension": ("suspended",), "admission": ("only_named",), "limits": ("most", "noes_a_day")}
"""What a decision about everybody changes, by its name."""

Progress = Callable[[int, int], None]


@frozen(repr=False)
class Verification(Result):
    """Result of a verification: the ledger is sound up to `head`, and contains the entries of `receipts` receipts."""

    entries: int
    head: Receipt
    receipts: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"sound": True, "entries": self.entries, "receipts": self.receipts, "head": str(self.head)}

    def facts(self) -> list[tuple[str, str | None]]:
        """Return what was found and what to keep, in words."""
        return [("sound", str(self)), ("keep", str(self.head))]

    def __repr__(self) -> str:
        return f"<verification: {self}>"

    def __str__(self) -> str:
        agree = "the receipt agrees" if self.receipts == 1 else f"all {self.receipts} receipts agree"
        return f"{self.entries:,} entries{f', and {agree}' if self.receipts else ''}"


def verify(
    ledger: Ledger, receipts: Iterable[Receipt] = (), progress: Progress | None = None, *, cores: int = 1
) -> Verification:
    """Check everything there is to check, or fail with the number of the first entry that is wrong.

    `receipts` were kept outside the ledger: it must contain the entry of each, so it is neither older nor has another
    past. `progress` is called with the number of entries checked so far and the number of all. With several `cores`
    the chains of populations are divided among as many processes. A ledger that is open at one population is checked
    there.
    """
    as_int("cores", cores)
    shown, chains = list(receipts), ledger.chains
    for receipt in shown:
        ledger.require(receipt)
    chains.directory.store.inspect(deep=True)
    chains.directory.store.inspect()
    directory = chains.directory.head()
    if ledger.is_whole and cores > 1:  # each is opened by the process that follows it
        populations = chains.unopened(directory.seq)
    else:
        populations = [(chain, chain.head()) for chain in ledger.chosen() if chain is not chains.directory]
    followed = replay_chain(chains.directory.store, directory, is_directory=True)
    whole = sum(end.seq for _, end in populations)
    parts = _parts(populations, cores)
    with ExitStack() as stack:
        beside = _beside(parts[1:], ledger.name, stack) if len(parts) > 1 else []
        told = progress and partial(_further, progress, whole)
        _all([*(partial(_replayed, part, ledger.name, told) for part in parts[:1]), *beside])
    chains.require_arrived()
    if ledger.is_whole:
        _require_founded(followed, chains, until=directory.seq)
    return Verification(entries=whole, head=ledger.head(), receipts=len(shown))


def _further(progress: Progress, whole: int, done: int) -> None:
    progress(done, whole)


Part: TypeAlias = list[tuple[Chain, Receipt]]
"""Chains that one process follows, each up to an entry."""


def _parts(chains: Sequence[tuple[Chain, Receipt]], cores: int) -> list[Part]:
    """Divide chains, by their entries, among processes."""
    parts: list[tuple[int, Part]] = [(0, []) for _ in range(min(cores, len(chains)))]
    for one in sorted(chains, key=lambda one: -one[1].seq):
        least = min(range(len(parts)), key=lambda place: parts[place][0])
        parts[least] = parts[least][0] + one[1].seq, [*parts[least][1], one]
    return [part for _, part in parts]


def _replayed(part: Part, ledger: str, progress: Callable[[int], None] | None) -> None:
    done = 0
    for chain, end in part:
        chain.store.inspect()
        replay = replay_chain(chain.store, end, progress=progress and partial(_after, progress, done))
        if ledger != replay.home and not any(one.moved_to for one in replay.populations.values()):
            raise LedgerDamagedError(f"chain {end.ledger} goes on in ledger {replay.home}, and this is ledger {ledger}")
        done += end.seq
        chain.store.rest()


def _after(progress: Callable[[int], None], before: int, seq: int) -> None:
    progress(before + seq)


def replay_chain(
    store: Store, end: Receipt, *, is_directory: bool = False, progress: Callable[[int], None] | None = None
) -> Replay:
    """Follow a chain up to its `end`, do again all that it says was done, and return what is there then."""
    replay = Replay(is_directory=is_directory, ledger=end.ledger)
    with store.reading() as transaction:
        entries = takewhile(lambda entry: entry.seq <= end.seq, transaction.entries())
        for entry in check_chain(end.ledger, entries, last=end.seq, head=bytes.fromhex(end.hash)):
            replay.read(entry)
            if progress:
                progress(entry.seq)
        if set(transaction.all("select digest, seq, place from recalls where seq <= ?", end.seq)) != replay.recalls:
            raise LedgerDamagedError("the index of the answers of batches says something else than the entries")
    return replay


def _beside(parts: Sequence[Part], ledger: str, stack: ExitStack) -> list[Callable[[], None]]:
    """Begin a process for each part; return what waits for the end of each."""
    pool = stack.enter_context(spawned(len(parts)))
    said = [[(chain.store.database, end, chain.store.called) for chain, end in part] for part in parts]
    return [pool.submit(replay_elsewhere, one, ledger).result for one in said]


def replay_elsewhere(part: Sequence[tuple[Database, Receipt, str]], ledger: str) -> None:
    """Do chains of a ledger again, each with its end and its name for people, in a process of its own."""
    for database, end, called in part:
        store = Store(database, name=end.ledger, called=called)
        try:
            _replayed([(Chain(store), end)], ledger, None)
        finally:
            store.close()


def _all(parts: Iterable[Callable[[], None]]) -> None:
    """Wait for all parts; if some are damaged, fail with the first entry that is wrong in any of them."""
    wrong = list[LedgerDamagedError]()
    for part in parts:
        try:
            part()
        except LedgerDamagedError as error:
            wrong.append(error)
    if wrong:
        raise min(wrong, key=lambda error: error.seq or float("inf"))


def _require_founded(directory: Replay, chains: Chains, *, until: int) -> None:
    """Refuse chains that are right by themselves, where the directory, followed `until` an entry, says something else.

    One that was founded since then is checked the next time.
    """
    if unknown := {name for name, one in chains.founded().items() if one.number <= until} - {*directory.founded}:
        raise LedgerDamagedError(f"population {min(unknown)!r} was never founded")
    chains.require(chains.directory.head())

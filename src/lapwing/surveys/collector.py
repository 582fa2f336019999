"""Reports as they come in: each device once a round, durably, with an account of what each person has spent.

The collector is the one whom the local model does not trust, so nothing here protects anybody: what protects a person
is drawn on their device, and drawn once. What the collector keeps is honest counting. A report that comes again, word
for word, is one whose connection was lost; another report of the same device is refused, for it would count a person
twice.

The account is each person's own: the sum of epsilon over the rounds in which their device was heard. No population's
budget is charged, because no table of people is asked.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np

from lapwing.surveys.agreements import Integers
from lapwing.surveys.estimates import ROWS, SurveyEstimates, estimate_answers
from lapwing.surveys.questionnaire import Questionnaire
from lapwing.vocabulary.errors import BadQuestionError, BudgetError, ParameterError, SettingsError
from lapwing.vocabulary.exact import Exact, as_confidence, as_int
from lapwing.vocabulary.wording import format_exact

_APPLICATION: Final = 0x6C617073  # "laps": what makes this SQLite file a collector's
_TABLES: Final = """
create table rounds (key text primary key, epsilon text not null, asked text not null) strict, without rowid;
create table reports (device text not null, key text not null references rounds, report text not null,
    primary key (device, key)) strict, without rowid;
create index by_round on reports (key);
"""
_LONGEST: Final = 1 << 16  # characters of a report
_DEVICE: Final = 32
_AT_ONCE: Final = 1 << 16  # reports that are read


class Collector:
    """The reports of one round, in a file that may hold those of other rounds, too. Safe to share between processes."""

    def __init__(self, path: str | Path, asked: Questionnaire, *, most_per_person: Fraction | None = None) -> None:
        if most_per_person is not None and most_per_person < asked.epsilon:
            price = format_exact(asked.epsilon)
            reason = f"is less than the epsilon {price} of one report, so that no report would be kept"
            remedy = f"allow {price} or more, or ask at a lower epsilon"
            raise ParameterError("most_per_person", format_exact(most_per_person), reason=reason, remedy=remedy)
        self.asked, self._most, self._key = asked, most_per_person, asked.key
        try:
            self._database = sqlite3.connect(path, isolation_level=None)
            try:
                self._prepare()
            except sqlite3.DatabaseError:
                self.close()
                raise
        except sqlite3.DatabaseError as refused:
            raise SettingsError(
                str(path), 0, reason=f"cannot be used ({refused})", remedy="name another file"
            ) from None

    def _prepare(self) -> None:
        run = self._database.execute
        for setting in ("busy_timeout = 30000", "journal_mode = wal", "synchronous = full", "foreign_keys = on"):
            run(f"pragma {setting}").fetchall()
        with self._transaction():
            (application,) = run("pragma application_id").fetchone()
            (tables,) = run("select count(*) from sqlite_master").fetchone()
            if not application and not tables:
                for statement in _TABLES.split(";"):
                    run(statement)
                run(f"pragma application_id = {_APPLICATION}")
            elif application != _APPLICATION:
                raise sqlite3.DatabaseError("it is an SQLite file, but not of a collector")
            text = json.dumps(self.asked.to_dict())
            run("insert or ignore into rounds values (?, ?, ?)", (self._key, str(self.asked.epsilon), text))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._database.execute("rollback")
            raise
        self._database.execute("commit")

    def take(self, line: str) -> bool:
        """Keep one report as a client printed it; return whether it is new. It is on disk when this returns."""
        with self._transaction():
            return self._take(line)

    def take_all(self, lines: Iterable[str]) -> list[str]:
        """Keep many reports, and return why others were refused, a sentence for each; refused ones change nothing."""
        refused = []
        with self._transaction():
            for place, line in enumerate(lines, 1):
                try:
                    self._take(line)
                except (BadQuestionError, BudgetError) as error:
                    refused.append(f"line {place}: {error}")
        return refused

    def _take(self, line: str) -> bool:
        device, report = self._read(line)
        text = json.dumps(report, separators=(",", ":"))
        row = self._database.execute(
            "select report from reports where device = ? and key = ?", (device, self._key)
        ).fetchone()
        if row is not None:
            if row[0] == text:
                return False
            raise BadQuestionError(
                f"device {device} has sent another report in round {self.asked.round}; a device is heard once a round, "
                "and a client that draws a second report spends twice: send the first one again"
            )
        after = self.spent(device) + self.asked.epsilon
        if self._most is not None and after > self._most:
            raise BudgetError(
                f"device {device} would have spent epsilon {after}, more than the {self._most} that a person may spend "
                "here; it was not kept: leave this person out of the round"
            )
        self._database.execute("insert into reports values (?, ?, ?)", (device, self._key, text))
        return True

    def _read(self, line: str) -> tuple[str, list[int]]:
        """Return the device and the report, or refuse the line."""
        remedy = "send the line that the client printed, unchanged"
        if len(line) > _LONGEST:
            raise BadQuestionError(f"the report has {len(line)} characters, more than {_LONGEST}; {remedy}")
        try:
            sent = json.loads(line)
        except (ValueError, RecursionError):
            sent = None
        if not isinstance(sent, dict) or {"survey", "device", "report"} - sent.keys():
            raise BadQuestionError(f"the report is no JSON object with survey, device and report; {remedy}")
        if sent["survey"] != self._key:
            raise BadQuestionError(
                f"the report is of another survey, price or round than {self._key}; give it to its own collector"
            )
        device = sent["device"]
        if not isinstance(device, str) or len(device) != _DEVICE or not set(device) <= set("0123456789abcdef"):
            raise BadQuestionError(f"the device is not {_DEVICE} hexadecimal digits; {remedy}")
        misfit = self.asked.law.misfit(sent["report"])
        if misfit is not None:
            raise BadQuestionError(f"the report {misfit}; {remedy}")
        return device, sent["report"]

    @property
    def people(self) -> int:
        """How many devices were heard in this round."""
        query = "select count(*) from reports where key = ?"
        return int(self._database.execute(query, (self._key,)).fetchone()[0])

    def spent(self, device: str) -> Fraction:
        """Return what a person has spent: epsilon, added up over all rounds of this file in which they were heard."""
        query = "select epsilon from reports join rounds using (key) where device = ?"
        return sum((Fraction(epsilon) for (epsilon,) in self._database.execute(query, (device,))), Fraction(0))

    def estimates(self, *, confidence: Exact = "0.95", most: int = ROWS) -> SurveyEstimates:
        """Return how many people gave each answer; free, as everybody has paid already."""
        return estimate_answers(
            self.asked.law,
            self._reports(),
            self.asked.spell,
            epsilon=self.asked.epsilon,
            confidence=as_confidence(confidence),
            most=as_int("most", most),
        )

    def _reports(self) -> Integers:
        query, parts = "select report from reports where key = ?", []
        with closing(self._database.execute(query, (self._key,))) as rows:
            while texts := rows.fetchmany(_AT_ONCE):
                parts.append(np.array(json.loads(f"[{','.join(text for (text,) in texts)}]"), np.int64))
        if not parts:
            raise BadQuestionError(f"no report of round {self.asked.round} has come in; take some first")
        return np.concatenate(parts)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

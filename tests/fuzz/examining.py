"""One case: a catalogue, two neighbouring populations of it, and questions; and what is wrong with the answers.

For each question the exact whole numbers on both tables, before noise, are held against what the question is priced by,
against the oracle, and against each other: shapes, failures, and the same cohorts asked as a stream asks them.
"""

import json
import random
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from fractions import Fraction

from engines.clinic import as_stored
from engines.rows_in_memory import RowsInMemory
from fuzz.bounds import exceeded, exceeded_by_stream, is_tight
from fuzz.catalogues import catalogue
from fuzz.questions import question, row_of_person
from fuzz.spelling import in_sql
from fuzz.tables import neighbours
from lapwing.answers.target import AtEpsilon, release_of, release_together
from lapwing.engines.engine import is_cohort
from lapwing.queries.catalogue.population import RowsPerPerson
from lapwing.queries.language.builders import as_condition
from lapwing.queries.planning.plan import Family
from lapwing.queries.planning.planner import Question, plan
from lapwing.queries.statements.select import read_sql
from lapwing.queries.statistics.counts import CountRows
from lapwing.queries.statistics.shared_releases import share
from lapwing.vocabulary.errors import EngineError, LapwingError, RegistrationError
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import ApproximateDP, PureDP

QUESTIONS = 20
"""How many questions are drawn for one pair of tables."""
SHARED = 6
"""Beside how many of them others are asked, which may share a release."""
_DELTA = Fraction(1, 10**6)


@dataclass(frozen=True)
class Case:
    """A catalogue, two neighbouring populations of it, and questions about them."""

    seed: int
    population: object
    pair: object
    questions: tuple

    @staticmethod
    def drawn(seed):
        rng = random.Random(seed)
        population = catalogue(rng)
        pair = neighbours(rng, population)
        return Case(seed, population, pair, tuple(question(rng, population) for _ in range(QUESTIONS)))


@dataclass(frozen=True)
class Finding:
    """Something that must not be: of which kind, in which words, about which question (all, where it is None)."""

    kind: str
    words: str
    question: object = None


class Found(Exception):  # noqa: N818 - it is what is looked for
    """Raised where a finding is made."""

    def __init__(self, kind, words):
        super().__init__(kind, words)
        self.kind, self.words = kind, words


def examined(case, place, servers, tally=None):
    """Ask every question of a case on both tables, and return the findings, at most one for each question."""
    tally = Counter() if tally is None else tally
    try:
        with ExitStack() as stack:
            sides = [
                stack.enter_context(_Side(case.population, tables, place, servers))
                for tables in (case.pair.before, case.pair.after)
            ]
            return _asked(replace(case, questions=case.questions[: place.questions]), sides, tally)
    except RegistrationError as refused:
        tally["tables refused"] += 1
        return [] if place.is_refused else [Finding("registration", f"the tables were refused: {refused}")]


def _asked(case, sides, tally):
    findings, cohorts = [], {}
    for asked in case.questions:
        try:
            planned = _planned(asked, case.population)
            tally["asked" if planned else "refused"] += 1
            if planned:
                before, after = _on_both(planned, sides)
                if planned.shown_by is not None:
                    tally["shown"] += 1
                    _by_people(asked, planned, (before, after), sides, case)
                tally["tight"] += is_tight(planned, before, after)
                if is_cohort(planned.aggregate):
                    cohorts[planned.aggregate] = (before[0], after[0])
        except Found as found:
            findings.append(Finding(found.kind, found.words, asked))
    findings += _shared(case, sides, tally)
    findings += _rows_of_people(case, sides, tally)
    return [*findings, *(_as_stream(case, sides, cohorts) if cohorts else ())]


def _shared(case, sides, tally):
    """Ask some questions beside others of the same rows, and of all rows: what is released together is priced, too."""
    for asked in case.questions[:SHARED]:
        common = {field.name: getattr(asked, field.name) for field in fields(Question)}
        beside = {"asked": asked, "all": replace(asked, where=as_condition(None)), "rows": CountRows(**common)}
        try:
            plans = {name: plan(one, case.population) for name, one in beside.items()}
        except LapwingError:
            continue
        for one in share(beside, plans, case.population):
            tally["shared"] += 1
            try:
                _on_both(one.plan, sides)
            except Found as found:
                yield Finding(found.kind, f"shared with {', '.join(one.readings)}: {found.words}", asked)


def _rows_of_people(case, sides, tally):
    """Read the one row of each person, as a regression and an estimate do: a neighbour has one other a person."""
    asked = row_of_person(random.Random(case.seed + 1), case.population)
    try:
        planned = None if asked is None else plan(asked, case.population)
    except LapwingError:
        planned = None
    tally["rows" if planned else "rows refused"] += 1
    if planned is None:
        return
    read = [side.people(planned.aggregate) for side in sides]
    failures = [side.failure for side in sides if side.failure]
    if failures:
        yield Finding("rows", f"fails after the charge: {failures}", asked)
        return
    most, (before, after) = case.population.unit.protects_groups_of, read
    if max((before - after).total(), (after - before).total()) > most:
        yield Finding("rows", f"more than {most} rows of people are others: {before - after}, {after - before}", asked)
    for side, found in zip(sides, read, strict=True):
        expected = _counted(side.oracle, planned.aggregate)
        if found != expected:
            yield Finding("rows", f"differ from the oracle: {found - expected}, not {expected - found}", asked)


def _counted(engine, aggregate):
    """Return how often each row of a person is there."""
    return Counter(map(tuple, engine.people(aggregate).open_for_release().tolist()))


def _planned(asked, population):
    """Return the plan of a question, the same for its spelling in SQL; or None where it is refused."""
    try:
        planned = plan(asked, population)
    except LapwingError:
        return None
    except Exception as failure:
        raise Found("planning", f"planning fails with {failure!r}") from failure
    text = in_sql(asked, population)
    if text is not None and _read(text, asked, population) != planned.canonical:
        raise Found("SQL", f"means something else in SQL: {text}")
    return planned


def _read(text, asked, population):
    """Return the canonical form of a SELECT."""
    try:
        (spelled,) = read_sql(text, max_rows=asked.max_rows, max_groups=asked.max_groups).questions.values()
        return plan(spelled, population).canonical
    except Exception as failure:
        raise Found("SQL", f"cannot be asked in SQL, {failure!r}: {text}") from failure


def _on_both(planned, sides):
    before, after = (side.numbers(planned.aggregate) for side in sides)
    failures = [side.failure for side in sides]
    if any(failures):
        which = "both tables" if all(failures) else "one of the tables only"
        raise Found("failure", f"fails after the charge, on {which}: {failures}")
    wrong = exceeded(planned, before, after)
    if wrong:
        raise Found("bound", f"exceeds {', '.join(wrong)}: {planned.sensitivity}; {_shown(before)}, {_shown(after)}")
    for side, numbers in zip(sides, (before, after), strict=True):
        expected = _opened(side.oracle, planned.aggregate)
        if _typed(numbers) != _typed(expected):
            raise Found("oracle", f"differs from the oracle: {_shown(numbers)}, not {_shown(expected)}")
        _release(planned, numbers)
    return before, after


def _by_people(asked, planned, numbers, sides, case):
    """Look at the people by whom groups are shown, of which there are some in each group that has a number.

    Who has several rows where one was declared shows one group with them, and may have the number in another: it is
    not told then, which costs the number and no privacy.
    """
    population = case.population
    people = _on_both(planned.shown_by, sides)
    for some, counts, tables in zip(numbers, people, (case.pair.before, case.pair.after), strict=True):
        if not some.keys() <= counts.keys() and _as_declared(population, tables):
            raise Found("bound", f"groups of nobody: {_shown(some)}, {_shown(counts)}")
        target, budget = AtEpsilon(epsilon=Fraction(1), delta=_DELTA), ApproximateDP(epsilon=Fraction(1), delta=_DELTA)
        try:
            told = release_together({"asked": asked}, {"asked": planned}, population, target, budget)["asked"]
        except LapwingError:
            return
        try:
            released = told.source.release([Sensitive(counts), Sensitive(some)])
            told.values(json.loads(json.dumps(released)), Fraction(95, 100))
        except Exception as failure:
            raise Found("release", f"cannot be released: {failure!r}; {_shown(some)}") from failure


def _as_declared(population, tables):
    """Say whether nobody has several rows in a table that was declared to have one a person."""
    for table in population.tables:
        if table.rows is RowsPerPerson.ONE_A_PERSON:
            rows = Counter(row[population.person_key(table)] for row in tables[table.name])
            if any(most > 1 for most in rows.values()):
                return False
    return True


def _release(planned, numbers):
    """Draw a release as a session does it: once a question is priced, nothing about its numbers may fail."""
    keyed, one = planned.family is Family.THRESHOLD, Fraction(1)
    budget = ApproximateDP(epsilon=one, delta=_DELTA) if keyed else PureDP(epsilon=one)
    try:
        release = release_of(planned, AtEpsilon(epsilon=one, delta=_DELTA if keyed else None), budget)
    except LapwingError:
        return
    try:
        json.dumps(release.release(numbers))
    except Exception as failure:
        raise Found("release", f"cannot be released: {failure!r}; {_shown(numbers)}") from failure


def _as_stream(case, sides, cohorts):
    """Ask all cohorts at once, as a stream does: they are counted another way, and move together."""
    for place, side in enumerate(sides):
        found = side.cohorts(list(cohorts))
        expected = [numbers[place] for numbers in cohorts.values()]
        if found != expected:
            yield Finding("stream", f"a stream counts {found}, and single questions {expected}")
    wrong = exceeded_by_stream(case.population.unit, *zip(*cohorts.values(), strict=True))
    if wrong:
        yield Finding("stream", f"exceeds {', '.join(wrong)}")


class _Side:
    """An engine on one of the two tables, and the oracle beside it."""

    def __init__(self, population, tables, place, servers):
        self.failure, self._population = None, population
        stored = place.stored(population, tables)
        self.oracle = RowsInMemory(population, stored)
        self._opening = place.opened(as_stored(population), stored, servers, self._failed)

    def __enter__(self):
        self._engine = self._opening.__enter__()
        return self

    def __exit__(self, *failure):
        return self._opening.__exit__(*failure)

    def _failed(self, reason):
        self.failure = f"{type(reason).__name__}: {reason}"

    def numbers(self, aggregate):
        """Return what the engine answers; None, and the reason in `failure`, where it fails."""
        self.failure = None
        try:
            return _opened(self._engine, aggregate)
        except EngineError:
            return None
        except Exception as failure:
            raise Found("failure", f"an error that is not the constant one: {failure!r}") from failure

    def people(self, aggregate):
        """Return how often each row of a person is there; None, and the reason in `failure`, where it fails."""
        self.failure = None
        try:
            return _counted(self._engine, aggregate)
        except EngineError:
            return None

    def cohorts(self, aggregates):
        versions = {table.name: 1 for table in self._population.tables}
        return [number.open_for_release() for number in self._engine.numbers(aggregates, versions=versions)]


def _opened(engine, aggregate):
    """Return the exact numbers: a tuple where the cells are public, a dict by cell where they are not."""
    if aggregate.cells is None:
        return dict(engine.keyed(aggregate).open_for_release())
    return engine.vector(aggregate).open_for_release()


def _typed(numbers):
    """Return the numbers such that 1 and True are not the same."""
    named = numbers.items() if isinstance(numbers, dict) else enumerate(numbers)
    return {(cell, repr(cell)): repr(number) for cell, number in named}


def _shown(numbers):
    """Return the numbers that are not zero, and not too many of them."""
    named = numbers.items() if isinstance(numbers, dict) else enumerate(numbers)
    some = [f"{cell}: {number}" for cell, number in named if number]
    return "{" + ", ".join(some[:20]) + (", ..." if len(some) > 20 else "") + "}"

"""The terms of a stream, fixed when it is opened, and its answers under these terms.

The terms are public, and so is all that follows from them: prices, the chance of a yes, margins. An answer is a
verdict, and on a yes how far above it was, after noise; where that was agreed, with the number itself, which has
noise of its own that the yes pays for. The value that was compared is never shown.

A stream is about counts of people, or about sums of another value (`queries.statistics.streamed`), in whose steps the
mechanism works.

Proof: proofs/streamed_values.md
"""

import math
from abc import ABC
from dataclasses import field, replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Required, TypedDict

from lapwing.accounting.filters.account import Account
from lapwing.accounting.filters.approximate import ApproximateFilter
from lapwing.accounting.filters.charge import ConcentratedFilter, Reservation
from lapwing.answers.target import FINEST, LARGEST_EPSILON, plausible_price, require_price
from lapwing.ledger.entries import Receipt
from lapwing.ledger.reservation_states import Decision
from lapwing.mechanisms.sparse_vector.corridor import Corridor
from lapwing.mechanisms.sparse_vector.law_probabilities import reach
from lapwing.mechanisms.sparse_vector.pure import SparseVector, YesReveals
from lapwing.mechanisms.sparse_vector.rule import SparseVectorAnswer as Decided
from lapwing.mechanisms.sparse_vector.stream_mechanism import best_share, failure_probability
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.queries.catalogue.population import Population, RowsPerPerson
from lapwing.queries.language.builders import ConditionLike, ValueLike
from lapwing.queries.planning.plan import plain_number
from lapwing.queries.statistics.streamed import StreamedKind, StreamedValue
from lapwing.vocabulary.codec import from_record, from_text, parse, stored, to_text
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import (
    Exact,
    as_confidence,
    as_int,
    as_written,
    ceil_to_grid,
    exact,
    exactly_one_of,
    positive,
    require_words,
)
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency
from lapwing.vocabulary.results import Interval, Result
from lapwing.vocabulary.search import decimals
from lapwing.vocabulary.wording import Setting, format_exact, format_short

_MOST_YESES: Final = 10_000
_MOST_QUESTIONS: Final = 10**6
_MOST_PEOPLE: Final = 2**62


class StreamOffer(TypedDict, total=False):
    """The words for a stream: what it asks, and `epsilon`, or `within` at a `confidence` for all `questions`.

    It asks for people, or for a `total`, a `proportion` or a `correlation`. With `number` a yes comes with a number.
    """

    at_least: Required[Exact]
    yeses: Required[int]
    epsilon: Exact
    within: Exact
    confidence: Exact
    questions: int
    table: str | None
    number: bool
    total: ValueLike
    proportion: ConditionLike
    correlation: ValueLike
    max_rows: int


class AgreedTerms(ABC):  # noqa: B024 - the codec reads whichever kind of terms was stored
    """The terms of a stream of any kind."""


@stored("stream-terms")
class StreamTerms(AgreedTerms):
    """The terms of a stream, fixed when it is opened.

    Parameters
    ----------
    table : the table it asks about
    at_least : how many people are asked for, where a question does not say
    yeses : how many it gives
    epsilon : what it costs when all of them are given
    adjacency, people : who is protected: the neighbours, and the size of the groups
    shift : a public number that is added to every threshold, so that both kinds of error are balanced
    opening : the part of epsilon that the first answer costs; the best one, to its last digit, if it was not agreed
    """

    table: str
    at_least: int
    yeses: int
    epsilon: Fraction
    adjacency: Adjacency
    people: int
    shift: int = 0
    opening: Fraction | None = None

    @staticmethod
    def of(
        population: Population,
        *,
        at_least: object = None,
        yeses: object = None,
        epsilon: Exact | None = None,
        within: Exact | None = None,
        confidence: Exact = "0.95",
        questions: object = None,
        table: str | None = None,
        number: object = False,
        max_rows: int | None = None,
        **others: object,
    ) -> "StreamTerms":
        """Return the terms of a stream about `population`, or refuse them.

        Parameters
        ----------
        at_least, yeses, table : what is asked, and how many yeses there are to give
        number : whether a yes comes with the number, with noise of its own that the yes pays for
        max_rows : how many rows of one person count, where rows are added up
        others : `total=`, `proportion=` or `correlation=`, where something else than people is asked for
        epsilon : what it may cost; the threshold is placed for `questions` if they are given
        within, confidence, questions : for the smallest epsilon (of three digits) at which all `questions`, one by
            default, are answered right with this probability, if all counts are `within` or more away
        """
        asked = {kind.value: others.pop(kind.value, None) for kind in StreamedKind}
        require_words(others, StreamOffer.__annotations__)
        if at_least is None or yeses is None:
            raise BadQuestionError(
                "a stream needs a number of people to ask for and a number of yeses; write ",
                Setting("at_least", 200),
                ", ",
                Setting("yeses", 5),
            )
        require_price({"epsilon": epsilon, "within": within})
        way = exactly_one_of("price", {"epsilon": epsilon, "within": within}, ("epsilon",), ("within",))
        confidence = as_confidence(confidence)
        if not isinstance(number, bool):
            remedy = "write True for a number with each yes, or leave it out"
            raise ParameterError("number", number, reason="is neither true nor false", remedy=remedy)
        name = population.table(table or _only_table(population)).name
        of: StreamedValue | None = None
        if any(one is not None for one in asked.values()):
            of = StreamedValue.of(population, name, at_least=at_least, max_rows=max_rows, **asked)
        elif max_rows is not None:
            remedy = "leave it out: of people each counts once"
            raise ParameterError("max_rows", max_rows, reason="does not go with counts of people", remedy=remedy)
        terms = _terms(
            number=number,
            streamed=of,
            table=name,
            at_least=as_int("at_least", at_least, most=_MOST_PEOPLE) if of is None else of.threshold,
            yeses=as_int("yeses", yeses, most=_MOST_YESES),
            epsilon=LARGEST_EPSILON if epsilon is None else plausible_price("epsilon", epsilon),
            adjacency=population.unit.adjacency,
            people=population.unit.protects_groups_of,
        )
        many = None if questions is None else as_int("questions", questions, most=_MOST_QUESTIONS)
        if way == ("within",):
            return terms.for_margin(positive("within", as_written(within)), many or 1, confidence)
        terms = terms.at(terms.epsilon)
        return terms if many is None else terms.placed_for(many, confidence)

    def at(self, epsilon: Fraction) -> "StreamTerms":
        """Return the terms at another price, of which the opening and every yes cost parts with few digits.

        The price of a yes is the best one, rounded down, and the opening gets the rest: together they are `epsilon`.
        """
        best, deciding = best_share(self.sensitivity.in_steps(Fraction(1)), self.yeses), epsilon * self.deciding_share
        yes = math.floor((epsilon - deciding * best) / self.yeses / FINEST) * FINEST
        if yes * self.yeses <= epsilon - deciding:
            raise ParameterError(
                "epsilon",
                epsilon,
                reason=f"is too little for {self.yeses} yeses",
                remedy="offer more, or open the stream for fewer",
            )
        return replace(self, epsilon=epsilon, opening=epsilon - self.yeses * yes)

    @property
    def gives_number(self) -> bool:
        """Whether a yes comes with the number, with noise of its own."""
        return False

    @property
    def streamed(self) -> StreamedValue | None:
        """What is added up for a question; None where people are counted."""
        return None

    @property
    def deciding_share(self) -> Fraction:
        """The part of epsilon that decides; the rest is for numbers."""
        return Fraction(1, 2) if self.gives_number else Fraction(1)

    @property
    def number_price(self) -> Fraction:
        """The part of the price of a yes that is for its number."""
        return self.mechanism.number_price

    @property
    def step(self) -> Fraction:
        """What one step of the mechanism stands for: one person, or a step of the sum."""
        return Fraction(1) if self.streamed is None else self.streamed.step

    @property
    def wanted(self) -> int | Fraction:
        """The number that is asked for, where a question does not say another."""
        return self.at_least if self.streamed is None else plain_number(self.streamed.at_least)

    @property
    def asks(self) -> str:
        """What is asked, in words."""
        return f"at least {self.at_least:,} people?" if self.streamed is None else self.streamed.asks

    def amount(self, steps: int | Fraction) -> int | Fraction:
        """Return a number of steps as what they stand for."""
        return plain_number(Fraction(steps) * self.step)

    def number_margin(self, confidence: Exact = "0.95") -> int | Fraction:
        """Return how far off the numbers of all yeses are at most, all at once; 0 where there are none."""
        noise = self.mechanism.rule.fresh_noise
        if noise is None:
            return 0
        return self.amount(reach(noise, failure_probability(as_confidence(confidence)) / self.yeses / 2))

    @property
    def sensitivity(self) -> ValueSensitivity:
        """How far the protected people move a count, or a sum in its steps."""
        if self.streamed is None:
            return ValueSensitivity.of_counts(self.adjacency, people=self.people)
        return ValueSensitivity.of_arrivals(
            self.adjacency, up=self.streamed.up, down=self.streamed.down, people=self.people
        )

    @property
    def mechanism(self) -> SparseVector | Corridor:
        """The sparse vector that decides."""
        return _mechanism_of(self)

    def reservation(self, name: str) -> Reservation:
        """Return the reservation that an account makes for a stream of this name."""
        return self.mechanism.reservation(name)

    def spent(self, yeses: int, account: Account) -> Fraction:
        """Return the epsilon that it has cost an account after these yeses; all of it where that was paid at once."""
        if not paid_by_yes(account):
            return self.epsilon
        return self.mechanism.threshold_epsilon + yeses * self.mechanism.yes_price

    def chance_of_yes(self, people: Exact, *, at_least: int | None = None) -> float:
        """Return the probability of a yes if there were really `people`, or if the sum were really so much.

        Of a share or a correlation it is the score that decides, which is asked to be at least 0.
        """
        if self.streamed is None:
            return self.mechanism.chance_of_yes(as_int("people", people, least=0, most=_MOST_PEOPLE), at_least)
        steps = round(exact("people", as_written(people)) / self.step)
        return self.mechanism.chance_of_yes(steps, at_least)

    def margin(self, confidence: Exact = "0.95", *, questions: int = 1) -> int | Fraction:
        """Return how far counts must be from the threshold for all of these verdicts to be right, whichever they are.

        Of `k` questions any may deserve a yes, up to the yeses there are. The event that k counts below and as many
        counts above as there are yeses are *all* classified right is less likely than any such case, so its margin is
        an upper bound. Of one question both cases are computed. Of sums it is in their unit; see `StreamedValue`.
        """
        return self.amount(self._margin(confidence, questions))

    def _margin(self, confidence: Exact, questions: int) -> int:
        return _margin_of(self, as_confidence(confidence), as_int("questions", questions, most=_MOST_QUESTIONS))

    def to_text(self) -> str:
        """Return the terms as the ledger keeps them."""
        return to_text(self)

    @staticmethod
    def read(text: str) -> "StreamTerms":
        """Return the terms that were written as `text`."""
        read: StreamTerms = from_text(AgreedTerms, text)  # type: ignore[assignment] # all are
        return read

    def write_answer(self, answer: Decided) -> str:
        """Return an answer as the ledger keeps it."""
        return verdict_text(answer)

    def placed_for(self, questions: int, confidence: Exact) -> "StreamTerms":
        """Return the terms with the shift at which the margin for these questions is smallest."""
        return replace(self, shift=_best_shift(replace(self, shift=0), as_confidence(confidence), questions))

    def for_margin(self, within: Fraction, questions: int, confidence: Exact) -> "StreamTerms":
        """Return the terms at the smallest epsilon (of three digits) whose margin for these questions is `within`."""

        def at(epsilon: Fraction) -> "StreamTerms":
            return self.at(ceil_to_grid(epsilon, FINEST)).placed_for(questions, confidence)

        def suffices(epsilon: Fraction) -> bool:
            try:
                return at(epsilon).margin(confidence, questions=questions) <= within
            except ParameterError:  # so little epsilon that its noise cannot be drawn
                return False

        if not suffices(LARGEST_EPSILON):  # a confidence that is none is refused by name here
            least = at(LARGEST_EPSILON).margin(confidence, questions=questions)
            raise ParameterError(
                "within",
                within,
                reason=f"would cost more than epsilon {LARGEST_EPSILON}",
                remedy=f"allow {format_short(least)} or more, ask fewer questions, or open the stream for fewer yeses",
            )
        search = decimals(digits=3)
        while search.open:
            search.tell(suffices(search.guess))
        return at(plausible_price("epsilon", search.above))


@stored("stream-terms-with-more")
class FurtherTerms(StreamTerms):
    """The terms of a stream that gives numbers, or that is about something else than people.

    Parameters
    ----------
    number : whether a yes comes with the number
    value : what is added up; None where people are counted
    """

    number: bool
    value: StreamedValue | None

    @property
    def gives_number(self) -> bool:
        """Whether a yes comes with the number, with noise of its own."""
        return self.number

    @property
    def streamed(self) -> StreamedValue | None:
        """What is added up for a question; None where people are counted."""
        return self.value


def _terms(*, number: bool, streamed: StreamedValue | None, **agreed: Any) -> StreamTerms:
    """Return terms; those of counts without numbers are written as they always were."""
    return (
        FurtherTerms(number=number, value=streamed, **agreed)
        if number or streamed is not None
        else StreamTerms(**agreed)
    )


def _parsed(text: str) -> object:
    try:
        return parse(text)
    except (ValueError, RecursionError):
        return text  # which is no record, and refused as that


def paid_by_yes(account: Account) -> bool:
    """Say whether streams are paid yes by yes: where epsilons are added up, and not where rho is.

    An (epsilon, delta) budget adds them up as long as nothing was charged that has no pure epsilon. In its Gaussian
    account, the residue, all of a stream is paid at the opening.
    """
    return not any(
        isinstance(one, ConcentratedFilter) or (isinstance(one, ApproximateFilter) and one.pure is None)
        for one in account.filters.values()
    )


def _all_of(questions: int, yeses: int) -> tuple[int, int]:
    """Return the hardest case, `questions` noes and besides as many yeses as there can be: their sum, and the yeses."""
    above = min(questions, yeses)
    return questions + above, above


def _only_table(population: Population) -> str:
    tables = [table.name for table in population.tables if table.rows is RowsPerPerson.ONE_A_PERSON]
    if len(tables) != 1:
        raise BadQuestionError(
            "which table the stream asks about is not clear; say ",
            Setting("table"),
            f", one of {', '.join(table.name for table in population.tables)}",
        )
    return tables[0]


@lru_cache(maxsize=1024)  # public, slow to find, and looked at again with every preview of the same stream
def _margin_of(terms: StreamTerms, confidence: Exact, questions: int) -> int:
    cases = [(1, 0), (1, 1)] if questions == 1 else [_all_of(questions, terms.yeses)]
    return max(int(terms.mechanism.margin(confidence, questions=asked, above=above)) for asked, above in cases)


@lru_cache(maxsize=1024)  # as above
def _best_shift(centred: StreamTerms, confidence: Exact, questions: int) -> int:
    asked, above = _all_of(questions, centred.yeses)
    return int(centred.mechanism.best_lift(asked, confidence, above=above))


@lru_cache(maxsize=64)  # every question of a stream, and every look at its account, wants it
def _mechanism_of(terms: StreamTerms) -> SparseVector:
    return SparseVector(
        epsilon=terms.epsilon,
        yeses=terms.yeses,
        threshold=terms.at_least,
        sensitivity=terms.sensitivity,
        shift=terms.shift,
        reveals=YesReveals.NUMBER if terms.gives_number else YesReveals.GAP,
        threshold_share=None if terms.opening is None else terms.opening / (terms.epsilon * terms.deciding_share),
    )


class Verdict(Enum):
    """The answer of a stream to a question."""

    BELOW = "below"
    ABOVE = "above"
    INSIDE = "inside"  # of a corridor around a guess
    OUTSIDE = "outside"

    @property
    def is_yes(self) -> bool:
        """Whether it is one that is paid for."""
        return self in {Verdict.ABOVE, Verdict.OUTSIDE}


@frozen(repr=False)
class StreamAnswer(Result):
    """Whether there are, after noise, at least the number of people asked for.

    Parameters
    ----------
    gap : on a yes, a noisy distance from the threshold. A yes was given for a large one, so it errs upwards
    number : on a yes of a stream that gives numbers, the number with noise of its own, which errs neither way
    price : what this answer cost when it was given; a no costs nothing beyond the opening of the stream
    question : which question of the stream it was, counting from 1
    free : whether it had been given before, so that nothing was charged this time
    """

    verdict: Verdict
    threshold: int | Fraction
    gap: int | Fraction | None
    price: Fraction
    question: int
    yeses_left: int
    receipt: Receipt
    stream: str
    terms: StreamTerms = field(compare=False)
    free: bool = field(default=False, compare=False)
    number: int | Fraction | None = None

    def __post_init__(self) -> None:
        if (self.number is not None) is not (bool(self) and self.terms.gives_number):
            raise ParameterError("number", self.number, reason="does not go with its terms", remedy="see terms")
        if (self.gap is None) is bool(self):
            raise ParameterError("gap", self.gap, reason=f"does not go with {self.verdict.value}", remedy="see verdict")

    def __bool__(self) -> bool:
        return self.verdict.is_yes

    def __str__(self) -> str:
        if self.verdict is Verdict.OUTSIDE and self.gap is not None:
            return f"OUTSIDE, about {self.threshold + self.gap}"
        if self.number is not None:
            return f"ABOVE, {_short(self.number)}"
        return f"ABOVE, by about {_short(self.gap or 0)}" if self else self.verdict.name

    def __repr__(self) -> str:
        paid = "free" if self.free or not self.price else f"epsilon {format_short(self.price)}"
        return f"<stream answer: {self}, {paid}>"

    def interval(self, confidence: Exact = "0.95") -> Interval | None:
        """Return where the count, or the sum, of a yes lies; None for a no. It is free.

        All intervals of the stream hold at once with this probability, so that it does not matter which of them is
        looked at; they are much wider than the noise of one answer, because a yes was given *for* a large gap. Where
        the number was paid for, the interval is what both it and the gap allow.
        """
        terms, of = self.terms, self.terms.streamed
        decided = Decided(
            above=bool(self),
            question=self.question,
            threshold=Fraction(self.threshold if of is None else of.threshold_of(Fraction(self.threshold))),
            price=self.price,
            gap=None if self.gap is None else self.gap / terms.step,
            number=None if self.number is None else self.number / terms.step,
        )
        lies = terms.mechanism.interval(decided, confidence)
        return None if lies is None else Interval(*map(terms.amount, lies))

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values, with the interval that holds with 95 % confidence."""
        lies = self.interval() if self else None
        return {
            "stream": self.stream,
            "verdict": self.verdict.value,
            "at_least": told(self.threshold),
            "gap": told(self.gap),
            **({"number": told(self.number)} if self.terms.gives_number else {}),
            "interval": None if lies is None else {"low": format_exact(lies.low), "high": format_exact(lies.high)},
            "price": format_exact(self.price),
            "free": self.free or not self.price,
            "question": self.question,
            "yeses_left": self.yeses_left,
            "receipt": str(self.receipt),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the verdict in words, the number if there is one, and where the count of a yes lies."""
        label, of = "people", self.terms.streamed
        if self.verdict in {Verdict.INSIDE, Verdict.OUTSIDE}:
            told = "NO, not near the guess" if self else "YES, near the guess"
        elif of is None:
            told = f"YES, at least {self.threshold:,}" if self else f"NO, fewer than {self.threshold:,}"
        else:
            told, label = f"{'YES' if self else 'NO'}: {of.asks}", of.unit
        number = None if self.number is None else f"{format_short(self.number)} ± {self._number_margin}"
        return [("answer", f"{told} (after noise)"), (label, self._whereabouts), ("number", number)]

    @property
    def _number_margin(self) -> str:
        sure = "all numbers of the stream at once, " if self.terms.yeses > 1 else ""
        return f"{format_short(self.terms.number_margin())} ({sure}with 95 % confidence, noise of its own)"

    @property
    def _whereabouts(self) -> str | None:
        """Say where the count of a yes lies; a stream of one yes has no others to speak of."""
        lies = self.interval()
        if lies is None:
            return None
        all_of_them = "" if self.terms.yeses == 1 else ": all yeses of the stream at once"
        return f"from {format_short(lies.low)} to {format_short(lies.high)}{all_of_them}, with 95 % confidence"


def _short(number: int | Fraction) -> str:
    return str(number) if isinstance(number, int) else format_short(number)


def told(number: int | Fraction | None) -> int | str | None:
    """Return a number as JSON has it: whole as it is, and any other as text."""
    return number if number is None or isinstance(number, int) else format_exact(number)


def told_amount(told: int | str | None) -> int | Fraction | None:
    """Return the number that JSON tells: whole as it is, and any other as text."""
    return plain_number(Fraction(told)) if isinstance(told, str) else told


@stored("verdict")
class StoredVerdict:
    """A verdict as the ledger keeps it."""

    verdict: Verdict
    threshold: int
    gap: int | None
    price: Fraction


@stored("verdict-with-number")
class StoredNumber(StoredVerdict):
    """A yes with its number as the ledger keeps it."""

    number: int


_VERDICTS: Final[Any] = StoredVerdict | StoredNumber


def verdict_text(answer: Decided) -> str:
    """Return the text of a verdict for the ledger; its numbers are steps."""
    threshold = int(answer.threshold)
    if not answer:
        return _no_text(threshold)
    gap = None if answer.gap is None else int(answer.gap)
    yes: dict[str, Any] = {"verdict": Verdict.ABOVE, "threshold": threshold, "gap": gap, "price": answer.price}
    if answer.number is not None:
        return to_text(StoredNumber(**yes, number=int(answer.number)))
    return to_text(StoredVerdict(**yes))


@lru_cache(maxsize=1024)  # thousands of noes are alike
def _no_text(threshold: int) -> str:
    return to_text(StoredVerdict(verdict=Verdict.BELOW, threshold=threshold, gap=None, price=Fraction(0)))


@lru_cache(maxsize=1024)
def stored_verdict(told: str) -> StoredVerdict:
    """Return the verdict that was written as a text."""
    kept: StoredVerdict = from_record(_VERDICTS, _parsed(told))
    return kept


def read_verdict(decision: Decision, terms: StreamTerms, *, free: bool = False) -> StreamAnswer:
    """Return the answer that a committed verdict stands for; `free` if it was given before."""
    return answer_of(
        stored_verdict(decision.answer or ""),
        terms,
        question=decision.number,
        yeses_left=decision.units_left,
        receipt=decision.receipt,
        stream=decision.reservation,
        free=free,
    )


def answer_of(kept: StoredVerdict, terms: StreamTerms, **known: Any) -> StreamAnswer:
    """Return a verdict as an answer, its numbers in the unit of what is asked."""
    of = terms.streamed
    by_share = of is not None and of.statistic is not StreamedKind.TOTAL  # which is compared as a score, with 0
    return StreamAnswer(
        verdict=kept.verdict,
        threshold=terms.wanted if by_share else terms.amount(kept.threshold),
        gap=None if kept.gap is None else terms.amount(kept.gap),
        number=terms.amount(kept.number) if isinstance(kept, StoredNumber) else None,
        price=kept.price,
        terms=terms,
        **known,
    )

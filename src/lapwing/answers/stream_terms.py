"""The terms of a stream, fixed when it is opened, and its answers under these terms.

The terms are public, and so is all that follows from them: prices, the chance of a yes, margins. An answer is a
verdict, and on a yes how far above it was, after noise.
"""

import math
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
from lapwing.mechanisms.sparse_vector.pure import SparseVector
from lapwing.mechanisms.sparse_vector.rule import SparseVectorAnswer as Decided
from lapwing.mechanisms.sparse_vector.stream_mechanism import best_share
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.queries.catalogue.population import Population, RowsPerPerson
from lapwing.queries.planning.plan import plain_number
from lapwing.vocabulary.codec import from_text, stored, to_text
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import (
    Exact,
    as_confidence,
    as_int,
    as_written,
    ceil_to_grid,
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
    """The words for a stream: what it asks, and `epsilon`, or `within` at a `confidence` for all `questions`."""

    at_least: Required[int]
    yeses: Required[int]
    epsilon: Exact
    within: Exact
    confidence: Exact
    questions: int
    table: str | None


@stored("stream-terms")
class StreamTerms:
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
        **others: object,
    ) -> "StreamTerms":
        """Return the terms of a stream about `population`, or refuse them.

        Parameters
        ----------
        at_least, yeses, table : what is asked, and how many yeses there are to give
        epsilon : what it may cost; the threshold is placed for `questions` if they are given
        within, confidence, questions : for the smallest epsilon (of three digits) at which all `questions`, one by
            default, are answered right with this probability, if all counts are `within` or more away
        """
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
        terms = StreamTerms(
            table=population.table(table or _only_table(population)).name,
            at_least=as_int("at_least", at_least, most=_MOST_PEOPLE),
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
        best = best_share(self.sensitivity.in_steps(Fraction(1)), self.yeses)
        yes = math.floor(epsilon * (1 - best) / self.yeses / FINEST) * FINEST
        if not yes:
            raise ParameterError(
                "epsilon",
                epsilon,
                reason=f"is too little for {self.yeses} yeses",
                remedy="offer more, or open the stream for fewer",
            )
        return replace(self, epsilon=epsilon, opening=epsilon - self.yeses * yes)

    @property
    def sensitivity(self) -> ValueSensitivity:
        """How far the protected people move a count."""
        return ValueSensitivity.of_counts(self.adjacency, people=self.people)

    @property
    def mechanism(self) -> SparseVector:
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

    def chance_of_yes(self, people: int, *, at_least: int | None = None) -> float:
        """Return the probability of a yes if there were really `people`."""
        return self.mechanism.chance_of_yes(as_int("people", people, least=0, most=_MOST_PEOPLE), at_least)

    def margin(self, confidence: Exact = "0.95", *, questions: int = 1) -> int:
        """Return how far counts must be from the threshold for all of these verdicts to be right, whichever they are.

        Of `k` questions any may deserve a yes, up to the yeses there are. The event that k counts below and as many
        counts above as there are yeses are *all* classified right is less likely than any such case, so its margin is
        an upper bound. Of one question both cases are computed.
        """
        return _margin_of(self, as_confidence(confidence), as_int("questions", questions, most=_MOST_QUESTIONS))

    def to_text(self) -> str:
        """Return the terms as the ledger keeps them."""
        return to_text(self)

    @staticmethod
    def read(text: str) -> "StreamTerms":
        """Return the terms that were written as `text`."""
        return from_text(StreamTerms, text)

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
                remedy=f"allow {least} or more, ask fewer questions, or open the stream for fewer yeses",
            )
        search = decimals(digits=3)
        while search.open:
            search.tell(suffices(search.guess))
        return at(plausible_price("epsilon", search.above))


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
        threshold_share=None if terms.opening is None else terms.opening / terms.epsilon,
    )


class Verdict(Enum):
    """The answer of a stream to a question."""

    BELOW = "below"
    ABOVE = "above"


@frozen(repr=False)
class StreamAnswer(Result):
    """Whether there are, after noise, at least the number of people asked for.

    Parameters
    ----------
    gap : on a yes, a noisy distance from the threshold. A yes was given for a large one, so it errs upwards
    price : what this answer cost when it was given; a no costs nothing beyond the opening of the stream
    question : which question of the stream it was, counting from 1
    free : whether it had been given before, so that nothing was charged this time
    """

    verdict: Verdict
    threshold: int
    gap: int | None
    price: Fraction
    question: int
    yeses_left: int
    receipt: Receipt
    stream: str
    terms: StreamTerms = field(compare=False)
    free: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if (self.gap is None) is bool(self):
            raise ParameterError("gap", self.gap, reason=f"does not go with {self.verdict.value}", remedy="see verdict")

    def __bool__(self) -> bool:
        return self.verdict is Verdict.ABOVE

    def __str__(self) -> str:
        return f"ABOVE, by about {self.gap}" if self else "BELOW"

    def __repr__(self) -> str:
        paid = "free" if self.free or not self.price else f"epsilon {format_short(self.price)}"
        return f"<stream answer: {self}, {paid}>"

    def interval(self, confidence: Exact = "0.95") -> Interval | None:
        """Return where the count of a yes lies; None for a no. It is free.

        All intervals of the stream hold at once with this probability, so that it does not matter which of them is
        looked at; they are much wider than the noise of one answer, because a yes was given *for* a large gap.
        """
        decided = Decided(
            above=bool(self),
            question=self.question,
            threshold=Fraction(self.threshold),
            price=self.price,
            gap=None if self.gap is None else Fraction(self.gap),
        )
        lies = self.terms.mechanism.interval(decided, confidence)
        return None if lies is None else Interval(*map(plain_number, lies))

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values, with the interval that holds with 95 % confidence."""
        lies = self.interval() if self else None
        return {
            "stream": self.stream,
            "verdict": self.verdict.value,
            "at_least": self.threshold,
            "gap": self.gap,
            "interval": None if lies is None else {"low": format_exact(lies.low), "high": format_exact(lies.high)},
            "price": format_exact(self.price),
            "free": self.free or not self.price,
            "question": self.question,
            "yeses_left": self.yeses_left,
            "receipt": str(self.receipt),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the verdict in words, and where the count of a yes lies."""
        told = f"YES, at least {self.threshold:,}" if self else f"NO, fewer than {self.threshold:,}"
        return [("answer", f"{told} (after noise)"), ("people", self._whereabouts)]

    @property
    def _whereabouts(self) -> str | None:
        """Say where the count of a yes lies; a stream of one yes has no others to speak of."""
        lies = self.interval()
        if lies is None:
            return None
        all_of_them = "" if self.terms.yeses == 1 else ": all yeses of the stream at once"
        return f"from {format_short(lies.low)} to {format_short(lies.high)}{all_of_them}, with 95 % confidence"


@stored("verdict")
class StoredVerdict:
    """A verdict as the ledger keeps it."""

    verdict: Verdict
    threshold: int
    gap: int | None
    price: Fraction


def verdict_text(answer: Decided) -> str:
    """Return the text of a verdict for the ledger."""
    threshold = int(answer.threshold)
    if not answer:
        return _no_text(threshold)
    gap = None if answer.gap is None else int(answer.gap)
    return to_text(StoredVerdict(verdict=Verdict.ABOVE, threshold=threshold, gap=gap, price=answer.price))


@lru_cache(maxsize=1024)  # thousands of noes are alike
def _no_text(threshold: int) -> str:
    return to_text(StoredVerdict(verdict=Verdict.BELOW, threshold=threshold, gap=None, price=Fraction(0)))


@lru_cache(maxsize=1024)
def _stored_verdict(told: str) -> StoredVerdict:
    return from_text(StoredVerdict, told)


def read_verdict(decision: Decision, terms: StreamTerms, *, free: bool = False) -> StreamAnswer:
    """Return the answer that a committed verdict stands for; `free` if it was given before."""
    kept = _stored_verdict(decision.answer or "")
    return StreamAnswer(
        verdict=kept.verdict,
        threshold=kept.threshold,
        gap=kept.gap,
        price=kept.price,
        question=decision.number,
        yeses_left=decision.units_left,
        receipt=decision.receipt,
        stream=decision.reservation,
        terms=terms,
        free=free,
    )

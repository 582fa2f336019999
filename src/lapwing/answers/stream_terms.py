"""What is agreed when a stream is opened, and all that follows from it before anything is asked.

All of it is public: prices, the chance of a yes, margins and what would be left follow from the terms and the account
alone, with no data and no engine.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Required, TypedDict

from lapwing.accounting.filters.account import Account
from lapwing.accounting.filters.approximate import ApproximateFilter
from lapwing.accounting.filters.charge import ConcentratedFilter, Reservation, StreamClosing, cost_of
from lapwing.accounting.filters.remaining import Refusal
from lapwing.answers.answer import CONFIDENCE
from lapwing.answers.preview import BudgetStatus, Forecast
from lapwing.answers.target import FINEST, LARGEST_EPSILON, as_confidence, plausible_price, require_price, require_words
from lapwing.mechanisms.sparse_vector.pure import SparseVector
from lapwing.mechanisms.sparse_vector.stream_mechanism import best_share
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.queries.catalogue import Population, RowsPerPerson
from lapwing.vocabulary.codec import from_text, stored, to_text
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import Exact, as_int, as_written, ceil_to_grid, exactly_one_of, positive
from lapwing.vocabulary.guarantee import Adjacency, ConcentratedDP, PureDP
from lapwing.vocabulary.search import decimals
from lapwing.vocabulary.wording import Setting, format_exact, format_short, percent, several

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
    """What is agreed when a stream is opened.

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
        epsilon : what it may cost; the threshold is placed for `questions` if they are said
        within, confidence, questions : for the smallest epsilon (of three digits) at which all `questions`, one if it
            is not said, are answered right with this probability, if all counts are `within` or more away
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
        """Return what the account must hold for a stream of this name."""
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

        Of `k` questions any may deserve a yes, up to the yeses there are. That k counts which deserve a no, and as many
        as there are yeses which deserve one, are *all* told apart is less likely than any such case, so that its
        margin is enough. Of one question both cases are looked at.
        """
        many = as_int("questions", questions, most=_MOST_QUESTIONS)
        cases = [(1, 0), (1, 1)] if many == 1 else [_all_of(many, self.yeses)]
        return max(int(self.mechanism.margin(confidence, questions=asked, above=above)) for asked, above in cases)

    def to_text(self) -> str:
        """Return the terms as the ledger keeps them."""
        return to_text(self)

    @staticmethod
    def read(text: str) -> "StreamTerms":
        """Return the terms that were written as `text`."""
        return from_text(StreamTerms, text)

    def placed_for(self, questions: int, confidence: Exact) -> "StreamTerms":
        """Return the terms with the shift at which the margin for these questions is smallest."""
        asked, above = _all_of(questions, self.yeses)
        centred = replace(self, shift=0)
        return replace(self, shift=int(centred.mechanism.best_lift(asked, confidence, above=above)))

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


_PREVIEWED = "a stream that is being previewed"
_SEARCHES: Final = (10, 100, 1000)
"""How many questions one may want all to be answered right."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StreamPreview(Forecast):
    """A stream before it is opened. Nothing of it depends on data.

    All `questions` are answered right, with probability `confidence`, if each true count is `margin` or more
    away from the number that is asked for. `after` is while the stream is open, and after all its yeses; `at_best` if
    it were closed after noes only.
    """

    terms: StreamTerms
    questions: int
    margin: int
    at_best: BudgetStatus | Refusal

    @staticmethod
    def of(
        terms: StreamTerms, status: BudgetStatus, confidence: Exact = CONFIDENCE, questions: int = 1
    ) -> "StreamPreview":
        """Compute the preview of a stream."""
        after = status.after(terms.reservation(_PREVIEWED))
        return StreamPreview(
            terms=terms,
            confidence=as_confidence(confidence),
            questions=questions,
            margin=terms.margin(as_confidence(confidence), questions=questions),
            before=status,
            after=after,
            at_best=after if isinstance(after, Refusal) else after.booked(StreamClosing(stream=_PREVIEWED)),
        )

    @property
    def opening(self) -> Fraction:
        """The epsilon of opening it, whatever it answers."""
        return self.terms.mechanism.threshold_epsilon

    @property
    def yes_price(self) -> Fraction:
        """The epsilon of each yes; a no is free."""
        return self.terms.mechanism.yes_price

    @property
    def total(self) -> Fraction:
        """The epsilon of the opening and of all yeses."""
        return self.terms.epsilon

    @property
    def pays_per_yes(self) -> bool:
        """Whether closing gives back what no yes has used, which depends on the kind of the budget."""
        match self.after, self.at_best:
            case BudgetStatus(account=after), BudgetStatus(account=at_best):
                return dict(after.filters) != dict(at_best.filters)
            case _:
                return False

    def chance_of_yes(self, people: int) -> float:
        """Return the probability of a yes if there were really `people`."""
        return self.terms.chance_of_yes(people)

    @property
    def chances(self) -> dict[int, float]:
        """The probability of a yes at a few true counts, from a margin below what is asked for to a margin above."""
        middle, step = self.terms.at_least, max(1, self.margin // 2)
        counts = (middle + place * step for place in (-2, -1, 0, 1, 2))
        return {people: self.chance_of_yes(people) for people in counts if people >= 0}

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        return {
            **terms_record(self.terms, self.before.account),
            "confidence": format_exact(self.confidence),
            "questions": self.questions,
            "margin": self.margin,
            "chance_of_yes": {str(people): chance for people, chance in self.chances.items()},
            "affordable": self.affordable,
            "left": self.before.to_dict(),
            "left_afterwards": None if isinstance(self.after, Refusal) else self.after.to_dict(),
            "left_at_best": None if isinstance(self.at_best, Refusal) else self.at_best.to_dict(),
            "refusal": None if self.refusal is None else self.refusal.to_dict(),
            "warnings": list(self.before.warnings),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        best = f", or {self.at_best} if it is closed after noes only" if self.pays_per_yes else ", whatever it answers"
        left = f"{self.after}{best}" if self.affordable else f"it would be refused now: {self.after}"
        mind = "; ".join(self.before.warnings) or None
        return [*terms_facts(self.terms, self.confidence, self.before.account), ("left then", left), ("mind", mind)]

    def __repr__(self) -> str:
        asks = f"at least {self.terms.at_least:,}, {several(self.terms.yeses, 'yes')}"
        return f"<stream preview: {asks}, epsilon {format_short(self.total)}, {self._can}>"

    def __str__(self) -> str:
        terms = self.terms
        asks = f"at least {terms.at_least:,} people in {terms.table}? for up to {several(terms.yeses, 'yes')}"
        price = f"costs {cost_in_words(terms, self.before.account)}"
        verdicts = "a verdict is" if self.questions == 1 else f"{self.questions:,} verdicts are all"
        sure = f"{verdicts} right with {float(self.confidence):.4g} confidence for counts {self.margin:,} or more away"
        if isinstance(self.after, Refusal):
            return f"{asks}: {price}; {sure}; refused now: {self.after}."
        end = f"{self.after} is left while it is open and after all yeses"
        end += f", {self.at_best} if it is closed after noes only" if self.pays_per_yes else ", whatever it answers"
        return f"{asks}: {price}; {sure}; {'; '.join([end, *self.before.warnings])}."


def cost_in_words(terms: StreamTerms, account: Account) -> str:
    """Say what a stream costs an account, and when: for previews, openings and closings alike."""
    if not paid_by_yes(account):
        rho = cost_of(terms.reservation(_PREVIEWED)).rho
        priced = f"rho {format_short(rho)}, the price of " if rho and isinstance(account.budget, ConcentratedDP) else ""
        price = f"{priced}epsilon {format_short(terms.epsilon)}"
        return f"{price}, all of it at the opening: this budget is not paid yes by yes"
    opening, yes = terms.mechanism.threshold_epsilon, terms.mechanism.yes_price
    by_yes = (
        f"epsilon {format_short(opening)} to open, {format_short(yes)} for each yes, "
        f"nothing for a no; {format_short(terms.epsilon)} at most"
    )
    return by_yes if isinstance(account.budget, PureDP) else f"{by_yes} ({GAUSSIAN_SIDE})"


GAUSSIAN_SIDE = "the Gaussian account of an (epsilon, delta) budget is charged for all of it at the opening"


def terms_record(terms: StreamTerms, account: Account) -> dict[str, Any]:
    """Return the terms of a stream as JSON values, and whether an account pays for it yes by yes."""
    mechanism = terms.mechanism
    return {
        "table": terms.table,
        "at_least": terms.at_least,
        "yeses": terms.yeses,
        "price": {
            "opening": format_exact(mechanism.threshold_epsilon),
            "each_yes": format_exact(mechanism.yes_price),
            "no": "0",
            "all": format_exact(terms.epsilon),
            "paid_by_yes": paid_by_yes(account),
        },
    }


def terms_facts(terms: StreamTerms, confidence: Exact, account: Account) -> list[tuple[str, str | None]]:
    """Return the terms of a stream in words, and what they cost an account."""
    many = ", ".join(f"{n:,} if {terms.margin(confidence, questions=n):,} away" for n in _SEARCHES)
    return [
        ("asked", f'"at least {terms.at_least:,} people?", in {terms.table}, up to {several(terms.yeses, "yes")}'),
        ("cost", cost_in_words(terms, account)),
        (
            "error",
            (
                f"with {percent(as_confidence(confidence))} confidence an answer is right if the true count is "
                f"{terms.margin(confidence):,} or more away from {terms.at_least:,}; all of {many}"
            ),
        ),
    ]

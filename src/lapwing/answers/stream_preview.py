"""A stream before it is opened: its terms in words, what it costs an account, and what would be left.

All of it is public: it follows from the terms and the account alone, with no data and no engine.
"""

from fractions import Fraction
from typing import Any, Final

from lapwing.accounting.filters.account import Account
from lapwing.accounting.filters.charge import StreamClosing, cost_of
from lapwing.accounting.filters.remaining import Refusal
from lapwing.answers.budget import BudgetStatus
from lapwing.answers.preview import Forecast
from lapwing.answers.releases import CONFIDENCE
from lapwing.answers.stream_terms import StreamTerms, paid_by_yes
from lapwing.vocabulary.exact import Exact, as_confidence
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ConcentratedDP, PureDP
from lapwing.vocabulary.wording import format_exact, format_short, percent, several

_PREVIEWED = "a stream that is being previewed"
_SEARCHES: Final = (10, 100, 1000)
"""Numbers of questions for which the margin of all verdicts at once is shown."""


@frozen(repr=False)
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
        """The epsilon of opening the stream, independent of its answers."""
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
        left = f"it would be refused now: {self.after}" if self.refusal else f"{self.after}{best}"
        mind = "; ".join(self.before.warnings) or None
        return [*terms_facts(self.terms, self.confidence, self.before.account), ("left then", left), ("mind", mind)]

    def __repr__(self) -> str:
        asks = f"at least {self.terms.at_least:,}, {several(self.terms.yeses, 'yes')}"
        return (
            f"<stream preview: {asks}, {spent_words(self.terms, self.terms.yeses, self.before.account)}, {self._can}>"
        )

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
        rho = spent_rho(terms, account)
        priced = "" if rho is None else f"rho {format_short(Fraction(rho))}, the price of "
        price = f"{priced}epsilon {format_short(terms.epsilon)}"
        return f"{price}, all of it at the opening: this budget is not paid yes by yes"
    opening, yes = terms.mechanism.threshold_epsilon, terms.mechanism.yes_price
    by_yes = (
        f"epsilon {format_short(opening)} to open, {format_short(yes)} for each yes, "
        f"nothing for a no; {format_short(terms.epsilon)} at most"
    )
    return by_yes if isinstance(account.budget, PureDP) else f"{by_yes} ({GAUSSIAN_SIDE})"


def spent_words(terms: StreamTerms, yeses: int, account: Account) -> str:
    """Say what a stream has cost an account after these yeses, in the account's own currency."""
    rho = spent_rho(terms, account)
    return (
        f"epsilon {format_short(terms.spent(yeses, account))}" if rho is None else f"rho {format_short(Fraction(rho))}"
    )


def spent_rho(terms: StreamTerms, account: Account) -> str | None:
    """Return the rho that is charged when a stream is opened; None where the budget is not one of rho."""
    is_rho = isinstance(account.budget, ConcentratedDP)
    return format_exact(cost_of(terms.reservation(_PREVIEWED)).rho) if is_rho else None


GAUSSIAN_SIDE = "the Gaussian account of an (epsilon, delta) budget is charged for all of it at the opening"


def terms_record(terms: StreamTerms, account: Account) -> dict[str, Any]:
    """Return the terms of a stream as JSON values, and whether an account pays for it yes by yes; if not, its rho."""
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
            "rho": spent_rho(terms, account),
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

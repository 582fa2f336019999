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
from lapwing.answers.stream_terms import StreamTerms, paid_by_yes, told
from lapwing.queries.statistics.streamed import StreamedKind
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
    margin: int | Fraction
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
    def number_price(self) -> Fraction:
        """The part of the price of a yes that is for its number; 0 where none comes with it."""
        return self.terms.number_price

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

    def chance_of_yes(self, people: Exact) -> float:
        """Return the probability of a yes if there were really `people`, or if the sum were really so much."""
        return self.terms.chance_of_yes(people)

    @property
    def chances(self) -> dict[int | Fraction, float]:
        """The probability of a yes at a few true counts, from a margin below what is asked for to a margin above.

        Of a share or a correlation they are scores, around the 0 that is asked for.
        """
        terms = self.terms
        middle, step = terms.at_least, max(1, int(self.margin / terms.step) // 2)
        counts = (terms.amount(middle + place * step) for place in (-2, -1, 0, 1, 2))
        return {count: self.chance_of_yes(count) for count in counts if count >= 0 or terms.streamed is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        return {
            **terms_record(self.terms, self.before.account),
            "confidence": format_exact(self.confidence),
            "questions": self.questions,
            "margin": told(self.margin),
            "number_margin": told(self.terms.number_margin(self.confidence)) if self.terms.gives_number else None,
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
        wanted = self.terms.streamed.asks[:-1] if self.terms.streamed else f"at least {self.terms.at_least:,}"
        asks = f"{wanted}, {several(self.terms.yeses, 'yes')}"
        return (
            f"<stream preview: {asks}, {spent_words(self.terms, self.terms.yeses, self.before.account)}, {self._can}>"
        )

    def __str__(self) -> str:
        terms = self.terms
        asks = f"{terms.asks[:-1]} in {terms.table}? for up to {several(terms.yeses, 'yes')}"
        price = f"costs {cost_in_words(terms, self.before.account)}"
        verdicts = "a verdict is" if self.questions == 1 else f"{self.questions:,} verdicts are all"
        counts = f"{_compared(terms)}s"
        sure = f"{verdicts} right with {float(self.confidence):.4g} confidence for {counts} {format_short(self.margin)}"
        sure += " or more away" + (f"; {_number_words(terms, self.confidence)}" if terms.gives_number else "")
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
    number = f" ({format_short(terms.number_price)} of it for its number)" if terms.gives_number else ""
    by_yes = (
        f"epsilon {format_short(opening)} to open, {format_short(yes)} for each yes{number}, "
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


def _compared(terms: StreamTerms) -> str:
    """Return what is compared: a count, a sum, or the score that decides about a share or a correlation."""
    of = terms.streamed
    return "count" if of is None else "sum" if of.statistic is StreamedKind.TOTAL else "score"


def _number_words(terms: StreamTerms, confidence: Exact) -> str:
    """Say how far off the numbers of yeses are."""
    sure = percent(as_confidence(confidence))
    return (
        f"the number of a yes is within {format_short(terms.number_margin(confidence))}, all of them at once with "
        f"{sure} confidence"
    )


GAUSSIAN_SIDE = "the Gaussian account of an (epsilon, delta) budget is charged for all of it at the opening"


def terms_record(terms: StreamTerms, account: Account) -> dict[str, Any]:
    """Return the terms of a stream as JSON values, and whether an account pays for it yes by yes; if not, its rho."""
    mechanism, of = terms.mechanism, terms.streamed
    return {
        "table": terms.table,
        "at_least": told(terms.wanted),
        "of": None if of is None else {"statistic": of.statistic.value, "value": of.value, "asks": of.asks},
        "number": terms.gives_number,
        "yeses": terms.yeses,
        "price": {
            "opening": format_exact(mechanism.threshold_epsilon),
            "each_yes": format_exact(mechanism.yes_price),
            "number": format_exact(terms.number_price),
            "no": "0",
            "all": format_exact(terms.epsilon),
            "paid_by_yes": paid_by_yes(account),
            "rho": spent_rho(terms, account),
        },
    }


def terms_facts(terms: StreamTerms, confidence: Exact, account: Account) -> list[tuple[str, str | None]]:
    """Return the terms of a stream in words, and what they cost an account."""
    many = ", ".join(f"{n:,} if {format_short(terms.margin(confidence, questions=n))} away" for n in _SEARCHES)
    what, away = _compared(terms), format_short(terms.amount(terms.at_least))
    return [
        ("asked", f'"{terms.asks}", in {terms.table}, up to {several(terms.yeses, "yes")}'),
        ("cost", cost_in_words(terms, account)),
        (
            "error",
            (
                f"with {percent(as_confidence(confidence))} confidence an answer is right if the true {what} is "
                f"{format_short(terms.margin(confidence))} or more away from {away}; all of {many}"
            ),
        ),
        ("number", _number_words(terms, confidence) if terms.gives_number else None),
    ]

"""The price of a question and the budget left after it: computed from question and account, with no engine."""

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeAlias

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.accounting.filters.remaining import Refusal
from lapwing.answers.budget import MOST_TIMES, BudgetStatus
from lapwing.answers.releases import ChosenOnes, Price, PricedQuestion, shown_record, shown_words
from lapwing.answers.target import Target, TargetWords, Within, accuracy_at, release_together, ways_to_pay
from lapwing.queries.catalogue.population import Population
from lapwing.queries.planning.plan import Number
from lapwing.queries.planning.planner import Question, plan_together
from lapwing.queries.planning.presentation import arranged_together, with_steps
from lapwing.queries.statements.select import Selection, read_sql
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError, BudgetExceededError, PolicyError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import Exact, as_confidence
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Guarantee, currency_of
from lapwing.vocabulary.results import Result
from lapwing.vocabulary.wording import decimal_below, format_exact, format_short, percent, rounded

ROWS = (100, 1_000, 10_000)
"""Numbers of rows for which a preview shows the error of a mean or a moment, which depends on that number."""


@frozen(repr=False)
class Forecast(Result):
    """The status of an account `before` a charge, and `after` it; a refusal where the charge would not be admitted."""

    confidence: Fraction
    before: BudgetStatus
    after: BudgetStatus | Refusal

    @property
    def affordable(self) -> bool:
        """Whether the charge would be admitted now: by the account, and by the policy."""
        return not isinstance(self.after, Refusal) and self.before.suspension is None

    @property
    def refusal(self) -> BudgetExceededError | None:
        """Why the account would refuse the charge now; a refusal by policy is in `before.suspension`."""
        return self.after.error() if isinstance(self.after, Refusal) else None

    @property
    def _can(self) -> str:
        if isinstance(self.before.suspension, PolicyError):
            return "not allowed"
        return "suspended" if self.before.suspension else "affordable" if self.affordable else "refused now"


@frozen(repr=False)
class Preview(Forecast):
    """A question before it is asked, at its price, with what the account has left `before` and `after`.

    `margin` says by column how far off its numbers would be at this `confidence`; None where it depends on the answer.
    Where it depends on how many rows there are, `error_by_rows` says how far for a few numbers of rows.
    """

    asked: PricedQuestion
    price: Price
    margin: Mapping[str, Number | None]
    rows: int | None = None

    @staticmethod
    def of(asked: PricedQuestion, status: BudgetStatus, confidence: Exact, rows: int | None = None) -> "Preview":
        """Compute the preview of a question, of which the analyst supposes this number of rows."""
        return Preview(
            rows=rows,
            asked=asked,
            price=asked.price,
            confidence=as_confidence(confidence),
            margin=asked.margin(as_confidence(confidence)),
            before=status,
            after=status.after(SingleRelease(event=asked.event)),
        )

    @property
    def error_by_rows(self) -> Mapping[str, Mapping[int, Number]]:
        """By column, about how far off it would be if 100, 1,000 or 10,000 rows counted whose values fill their range.

        Only columns whose error depends on the number of rows are in it: means, variances, correlations. Where there
        are groups, this many rows count in each of them.
        """
        found = {
            name: {rows: one.error_if(rows, self.confidence) for rows in sorted({*ROWS, *filter(None, [self.rows])})}
            for name, one in self.asked.releases.items()
            if name in self.asked.columns
        }
        return {
            name: {rows: error for rows, error in errors.items() if error is not None}
            for name, errors in found.items()
            if None not in errors.values()
        }

    @property
    def shown_from(self) -> Mapping[str, tuple[int, int]]:
        """By column whose groups only the data knows: from about how many people on one is shown, and its margin.

        The margin is that of a group well above. One near the threshold may be much smaller than it is shown.
        """
        return self.asked.shown_from(self.confidence)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks on the price: that spending is suspended, or its effect on an (epsilon, delta) budget."""
        stopped = self.before.warnings
        if isinstance(self.after, Refusal) or self.before.left is not None:
            return stopped
        before, after = (one.remaining.pure for one in (self.before, self.after))
        largest = f"the largest epsilon that one question may have is {decimal_below(before)} now"
        told = [f"{largest} and {decimal_below(after)} afterwards"]
        share, rest = self.before.for_open_groups, self.after.for_open_groups
        if share is not None and rest is not None and rest < share:
            told.append(
                f"delta {decimal_below(share)} is there for groups whose keys only the data knows, and "
                f"{decimal_below(rest)} afterwards"
            )
        return (*stopped, *told)

    @property
    def refusal(self) -> BudgetExceededError | None:
        """Why the account would refuse it now, and how exact it would be at what fits."""
        if not isinstance(self.after, Refusal):
            return None
        refused = self.after.error()
        accurate = accuracy_at(self.asked.releases, refused.fits, self.before.account.budget)
        return refused.about(accuracy=accurate, price=self.price)

    @property
    def times(self) -> int:
        """How many questions like this one would be admitted, counting no further than 1000."""
        return 0 if self.before.suspension else self.before.times(SingleRelease(event=self.asked.event))

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        refusal = self.refusal
        return {
            **self.offer(),
            "affordable": self.affordable,
            "times": self.times,
            "left": self.before.to_dict(),
            "left_afterwards": None if isinstance(self.after, Refusal) else self.after.to_dict(),
            "refusal": None if refusal is None else refusal.to_dict(),
            "warnings": list(self.warnings),
        }

    def offer(self) -> dict[str, Any]:
        """Return as JSON values what follows from the question and its price alone, and not from the account."""
        return {
            "asked": self.asked.words,
            "bounding": self.asked.bounding,
            "price": self.price.to_dict(),
            "confidence": format_exact(self.confidence),
            "margin": {name: format_exact(margin) for name, margin in self.margin.items()},
            "margin_rounded": {name: rounded(margin) for name, margin in self.margin.items()},
            "error_by_rows": {
                name: {str(rows): rounded(error) for rows, error in errors.items()}
                for name, errors in self.error_by_rows.items()
            },
            "unit": dict(self.asked.units),
            **shown_record(self.shown_from),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        errors = self._errors("known with the answer only, because it depends on how many there are")
        times, refusal = self.times, self.refusal
        more = f"over {MOST_TIMES:,}" if times >= MOST_TIMES else f"{times - 1:,}"
        end = f"{self.after}, for {more} more like it" if times > 1 else str(self.after)
        return [
            ("asked", self.asked.words),
            ("bounded", self.asked.bounding_remark),
            ("cost", str(self.price)),
            ("error", f"{errors}, with {percent(self.confidence)} confidence"),
            ("left then", end if refusal is None else f"it would be refused now: {refusal}"),
            ("mind", "; ".join(self.warnings) or None),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]

    def _usual(self, name: str) -> str:
        """Say about how far off a column is for most data, where its margin is one for all data, and much more."""
        release = self.asked.releases.get(name)
        known = isinstance(release, ChosenOnes) and release.meaning.usual(release.mechanism, self.confidence)
        return f"; about {format_short(known)} where values lie evenly" if known else ""

    def _errors(self, unknown: str) -> str:
        """Say how far off each column would be."""
        by_rows, shown = self.error_by_rows, self.shown_from

        def of(name: str, margin: Number | None) -> str:
            if margin is not None:
                return self.asked.plan_of(name).meaning.accuracy(margin) + self._usual(name)
            told = [shown_words(*shown[name])] if name in shown else []
            each = " in each group" if name in by_rows and self.asked.releases[name].plan.key_names else ""
            errors = by_rows.get(name, {})
            if len(set(errors.values())) == 1:  # of a total in a group, however many rows are in it
                told.append(f"within {format_short(next(iter(errors.values())))}{each}")
            elif errors:
                several = (f"{format_short(error)} if {rows:,} rows count{each}" for rows, error in errors.items())
                told.append(f"about {', '.join(several)}")
            return ", ".join(told) or unknown

        alone = len(self.margin) == 1
        return ", ".join(("" if alone else f"{name} ") + of(name, margin) for name, margin in self.margin.items())

    def __repr__(self) -> str:
        return f"<preview: {self.price}, {self._can}>"

    def __str__(self) -> str:
        errors = self._errors("within a margin that comes with the answer")
        sure = f"{errors} with {float(self.confidence):.4g} confidence"
        end = f"afterwards {self.after} is left" if self.refusal is None else f"refused now: {self.refusal}"
        end = "; ".join([end, *self.warnings])
        return f"{self.asked.bounded_words}: costs {self.price}, {sure}; {end}."


QuestionLike: TypeAlias = Question | Mapping[str, Question] | str
"""A question, several that are charged as one, or the text of a SELECT."""

_REMEMBERED: Final = 2000
_HEAVIEST: Final = 20_000_000  # characters, of all that are remembered


class QuestionWords(TargetWords, total=False):
    """The target of a question and, for a SELECT, its contribution bounds: rows and groups of one person.

    `rows` is about how many rows there are, for a mean that is wanted `within` a margin.
    """

    max_rows: int | None
    max_groups: int | None
    rows: int | None


class OfferedTerms(NamedTuple):
    """The terms that a price depends on besides the question and the catalogue."""

    target: Target
    budget: Guarantee
    max_rows: int | None
    max_groups: int | None


class Pricing:
    """A cache of priced questions: one that is previewed and then asked is priced once.

    The key of a question is the identity of its object, which is immutable and kept alive; that of a SELECT is its
    text. A mapping of questions is mutable, and is priced anew.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[QuestionLike, Population, list[PricedQuestion]]] = {}
        self._weight = 0

    def price(self, question: QuestionLike, population: Population, terms: OfferedTerms) -> list[PricedQuestion]:
        """Return a question in each way to pay, the cheapest first, or refuse it; all that is in it shares equally."""
        asked: Hashable = question if isinstance(question, str) else id(question)
        key = (asked, terms.target, type(terms.budget), *terms[2:])  # releases depend on the kind of budget alone
        _, catalogue, ways = self._known.get(key, (None, None, None))
        if ways is not None and catalogue is population:
            return ways
        with deadline():
            ways = _priced(question, population, terms)
        if not isinstance(question, Mapping):
            weight = sum(len(way.text) for way in ways)  # a short SELECT may name thousands of concepts
            if len(self._known) >= _REMEMBERED or self._weight + weight > _HEAVIEST:
                self._known.clear()
                self._weight = 0
            self._known[key] = (question, population, ways)
            self._weight += weight
        return ways


def _priced(question: QuestionLike, population: Population, terms: OfferedTerms) -> list[PricedQuestion]:
    if isinstance(question, str):
        question = read_sql(question, max_rows=terms.max_rows, max_groups=terms.max_groups)
    elif terms.max_rows is not None or terms.max_groups is not None:
        raise BadQuestionError(
            "max_rows and max_groups beside a question are for a SELECT; write them into the question itself: "
            "count(..., max_groups=3)"
        )
    asked = question if isinstance(question, Mapping) else {"answer": question}
    plans = plan_together(asked, population)
    said = [one for name, each in asked.items() if (one := each.arranged(name)) is not None]
    arrangement = question.arrangement if isinstance(question, Selection) else arranged_together(said) if said else None
    arrangement = with_steps(arrangement, next(iter(asked.values())).by) if asked else arrangement
    if arrangement is not None:
        arrangement.check_having(next(iter(plans.values())).grouped_by)
    if arrangement is not None and isinstance(terms.target, Within):
        arrangement.check_within(terms.target.margin)
    ways = dict[Event, PricedQuestion]()
    for way in ways_to_pay(terms.target, terms.budget):
        releases = release_together(asked, plans, population, way, terms.budget)
        priced = PricedQuestion(releases=releases, arrangement=arrangement, currency=currency_of(terms.budget))
        ways.setdefault(priced.event, priced)
    return list(ways.values())

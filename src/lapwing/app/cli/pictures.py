"""From answers, previews, streams and accounts to the plain numbers that pictures are drawn from."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from lapwing.accounting.filters.account import Account
from lapwing.accounting.interpretation import belief_range
from lapwing.answers.answer import Answer
from lapwing.answers.preview import Preview, amounts
from lapwing.answers.target import FINEST, LARGEST_EPSILON, SMALLEST_EPSILON, TargetWords
from lapwing.app.plots.answers import draw_bars, draw_burn_down, draw_chance_of_yes, draw_error_by_price, draw_funnel
from lapwing.app.plots.meaning import draw_belief
from lapwing.queries.plan import Family
from lapwing.queries.statistics.funnel import Steps
from lapwing.vocabulary.codec import from_record
from lapwing.vocabulary.decimals import named, percent
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, ceil_to_grid, probability
from lapwing.vocabulary.guarantee import ConcentratedDP

_A_DECADE: Final = 6
_MOST_ENTRIES: Final = 400
_SURE: Final = 0.95
_CERTAIN: Final = 1e-3
_POINTS: Final = 160


def draw_prices(path: Path, preview_at: Callable[..., Preview], chosen: Preview, offer: TargetWords) -> None:
    """Draw the error of a question against its price, a hundred times up and down from the price that was offered."""
    column, margin = next(iter(chosen.margin.items()))
    in_rho = "rho" in offer or chosen.price.epsilon is None
    currency = "rho" if in_rho else "epsilon"
    price = chosen.price.rho if in_rho else chosen.price.epsilon
    if margin is None or price is None:
        raise BadQuestionError("how far off this answer is depends on the answer, so there is no curve to draw")
    prices = [one for one in _around(price) if SMALLEST_EPSILON <= one <= LARGEST_EPSILON]
    rest = {word: given for word, given in offer.items() if word in {"delta", "confidence"} and not in_rho}
    margins = {one: preview_at(**{currency: one, **rest}).margin[column] for one in prices}
    curve = {one: other for one, other in margins.items() if other}  # no error has no place on a logarithmic axis
    draw_error_by_price(
        path,
        prices=[float(one) for one in curve],
        margins=[float(one) for one in curve.values()],
        chosen=(float(price), float(margin)),
        currency=currency,
        confidence=percent(chosen.confidence),
    )


def _around(price: Fraction) -> list[Fraction]:
    """Return prices from a hundredth to a hundred times as high, evenly spread as people see prices."""
    factors = (Fraction(10 ** (step / _A_DECADE)).limit_denominator(10**4) for step in range(-12, 13))
    return [ceil_to_grid(price * factor, FINEST) for factor in factors]


def draw_answer(path: Path, answer: Answer, confidence: Exact) -> None:
    """Draw the numbers of an answer, each with its error bar."""
    rows, column = answer.bounded(confidence), answer.columns[0]
    cells = [row.cells[column] for row in rows if column in row.cells]
    values = [float(cell.value) for cell in cells]
    bounds = {
        "lows": [None if cell.low is None else float(cell.low) for cell in cells],
        "highs": [None if cell.high is None else float(cell.high) for cell in cells],
    }
    labels = [", ".join(named(part) for part in row.key) if row.key else column for row in rows]
    sure = percent(probability("confidence", confidence))
    plan = next(answer.asked.several()).plan
    if isinstance(plan.meaning, Steps):
        draw_funnel(path, steps=labels, values=values, **bounds, confidence=sure)
        return
    words = answer.asked.words
    title = f"{'Made up: ' if answer.rehearsal else ''}{words[0].upper()}{words[1:]}"
    several = "bounds that all hold at once" if len(cells) > 1 else "bounds that hold"
    if plan.family is Family.THRESHOLD:
        several = "bounds that hold for each that is shown"
    x = f"{column}, with {several} with {sure} confidence" if any(low is not None for low in bounds["lows"]) else column
    draw_bars(path, labels=labels, values=values, **bounds, title=title, x=x)


def draw_stream(path: Path, chance: Callable[[int], float], at_least: int) -> None:
    """Draw how likely a yes is by how many there really are, as far as that changes."""
    reach = 1
    while chance(at_least + reach) < 1 - _CERTAIN or (reach < at_least and chance(at_least - reach) > _CERTAIN):
        reach *= 2
    low, high = max(at_least - reach, 0), at_least + reach
    people = sorted({low + (high - low) * step // _POINTS for step in range(_POINTS + 1)})
    chances = [chance(count) for count in people]
    unsure = [count for count, one in zip(people, chances, strict=True) if 1 - _SURE < one < _SURE]
    ends = (unsure[0], unsure[-1]) if unsure else (at_least, at_least)
    draw_chance_of_yes(path, people=people, chances=chances, at_least=at_least, unsure=ends)


def draw_account(path: Path, history: Sequence[Mapping[str, Any]]) -> None:
    """Draw what was left of a budget after each entry."""
    states = [(entry["seq"], entry["account"]["after"]) for entry in history if "account" in entry]
    every = -(-len(states) // _MOST_ENTRIES)
    kept = [*states[:-1:every], states[-1]]
    accounts: list[Account] = [from_record(Account, after) for _, after in kept]
    points = [_left_and_held(account) for account in accounts]
    budget = accounts[-1].budget
    in_rho = isinstance(budget, ConcentratedDP)
    draw_burn_down(
        path,
        entries=[seq for seq, _ in kept],
        left=[left for left, _ in points],
        held=[held for _, held in points],
        cap=float(budget.rho if isinstance(budget, ConcentratedDP) else getattr(budget, "epsilon", 0)),
        currency="rho" if in_rho else "epsilon",
    )


def _left_and_held(account: Account) -> tuple[float, float]:
    """Return what is left and what is held; of an (epsilon, delta) budget, the largest pure release that fits."""
    _, held, left = amounts(account)
    return float(account.remaining().pure if left is None else left), float(held or 0)


def draw_meaning(path: Path, epsilon: Exact, prior: Exact) -> None:
    """Draw how far a belief about one person can move at an epsilon."""
    priors = [Fraction(step, 200) for step in range(1, 200)]
    ranges = [belief_range(one, epsilon) for one in priors]
    draw_belief(
        path,
        priors=[0.0, *(float(one) for one in priors), 1.0],
        lows=[0.0, *(low for low, _ in ranges), 1.0],
        highs=[0.0, *(high for _, high in ranges), 1.0],
        epsilon=float(Fraction(str(epsilon))),
        example=(float(probability("prior", prior)), *belief_range(prior, epsilon)),
    )

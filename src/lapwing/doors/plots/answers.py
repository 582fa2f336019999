"""Pictures for analysts and custodians: answers with bounds, errors by price, chances of a yes, a budget over time."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeAlias

from lapwing.accounting.filters.account import Account
from lapwing.answers.answer import Answer
from lapwing.answers.budget import amounts
from lapwing.answers.pictures import panels_of
from lapwing.answers.preview import Preview
from lapwing.answers.target import FINEST, LARGEST_EPSILON, SMALLEST_EPSILON, TargetWords
from lapwing.queries.statistics.funnel import Steps
from lapwing.show.canvas import ACCENT, INK, QUIET, SECOND, canvas, put_label
from lapwing.show.panels import Panel
from lapwing.vocabulary.codec import from_record
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_confidence, ceil_to_grid
from lapwing.vocabulary.guarantee import ConcentratedDP
from lapwing.vocabulary.wording import decimal_below, named, percent

Ends: TypeAlias = Sequence[float | None]


def draw_funnel(
    path: Path, *, steps: Sequence[str], values: Sequence[float], lows: Ends, highs: Ends, confidence: str = "95 %"
) -> None:
    """Draw how many people pass one condition after the other."""
    from lapwing.show.figures import draw_panels  # noqa: PLC0415 - half a second, and an extra

    labels = [step if i == 0 else f"and {step}" for i, step in enumerate(steps)]
    title = f"About {max(values[-1], 0):,.0f} people pass all {len(steps)} conditions"
    panel = Panel("people", labels, values, lows, highs, from_zero=True, over_time=False)
    draw_panels([panel], title=title, caption=f"bounds that all hold at once with {confidence} confidence", path=path)


def draw_error_by_price(
    path: Path, curve: Mapping[float, float], chosen: tuple[float, float], *, currency: str, confidence: str
) -> None:
    """Draw the margin of error against the price, on logarithmic axes, with the price that was offered marked."""
    prices, margins, (price, margin) = [*curve], [*curve.values()], chosen
    title = f"{currency} {price:.3g} buys an answer within {margin:,.4g}"
    with canvas(path, title=title, x=f"{currency} paid", y=f"off by at most, with {confidence} confidence") as axes:
        axes.plot(prices, margins, color=ACCENT, linewidth=2)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.plot([price, price, prices[0]], [min(margins), margin, margin], color=QUIET, linestyle="--", linewidth=1)
        axes.plot([price], [margin], "o", color=SECOND, markersize=8)
        put_label(axes, f"within {margin:,.4g}", (price, margin), (10, 8), color=SECOND)
        for axis in (axes.xaxis, axes.yaxis):  # ticks as a person would write them: 0.01, not ten to a power
            axis.set_major_formatter(lambda number, _: f"{number:,.4g}")
        axes.set_xlim(prices[0], prices[-1])


def draw_chance_of_yes(
    path: Path, *, people: Sequence[int], chances: Sequence[float], at_least: int, unsure: tuple[int, int]
) -> None:
    """Draw the probability of a yes against the true count."""
    low, high = unsure
    title = f'"At least {at_least:,}?" is right 95 times in 100 below {low:,} and above {high:,}'
    with canvas(path, title=title, x="how many people there really are", y="probability of a yes") as axes:
        axes.axvspan(low, high, color=QUIET, alpha=0.18, label="may go either way (wrong in over 5 of 100)")
        axes.axvline(at_least, color=INK, linestyle="--", linewidth=1, label=f"asked for: {at_least:,}")
        axes.plot(people, chances, color=ACCENT, linewidth=2, label="probability of a yes")
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlim(people[0], people[-1])


def draw_burn_down(
    path: Path, *, entries: Sequence[int], left: Sequence[float], reserved: Sequence[float], cap: float, currency: str
) -> None:
    """Draw what was left after each entry of the ledger, and what was reserved for open streams."""
    title = f"{decimal_below(Fraction(left[-1]))} of {currency} {cap:.4g} is left"
    with canvas(path, title=title, x="entry of the ledger", y=f"{currency} left") as axes:
        together = [a + b for a, b in zip(left, reserved, strict=True)]
        axes.axhline(cap, color=INK, linestyle="--", linewidth=1, label="the cap")
        if any(reserved):
            area = axes.fill_between(entries, left, together, step="post", color=SECOND, alpha=0.3, linewidth=0)
            area.set_label("reserved for streams")
        axes.fill_between(entries, 0, left, step="post", color=ACCENT, alpha=0.15, linewidth=0)
        axes.step(entries, left, where="post", color=ACCENT, linewidth=2, label="left")
        axes.plot(entries[-1:], left[-1:], "o", color=ACCENT)
        axes.axhline(0, color=QUIET, linewidth=1)
        axes.set_ylim(0, max(cap, *together) * 1.08)
        axes.locator_params(axis="x", integer=True)


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
    # No error has no place on a logarithmic axis.
    curve = {float(one): float(other) for one, other in margins.items() if other}
    sure = percent(chosen.confidence)
    draw_error_by_price(path, curve, (float(price), float(margin)), currency=currency, confidence=sure)


def _around(price: Fraction) -> list[Fraction]:
    """Return prices from a hundredth to a hundred times as high, evenly spread as people see prices."""
    factors = (Fraction(10 ** (step / _A_DECADE)).limit_denominator(10**4) for step in range(-12, 13))
    return [ceil_to_grid(price * factor, FINEST) for factor in factors]


def draw_answer(path: Path, answer: Answer, confidence: Exact) -> None:
    """Draw the numbers of an answer, each with its bounds; a funnel has a picture of its own."""
    plan = next(answer.asked.several()).plan
    if not isinstance(plan.meaning, Steps):
        answer.plot(path, confidence=confidence)
        return
    rows, (panel, *_) = answer.bounded(confidence), panels_of(answer.asked, answer.bounded(confidence))
    steps, sure = [named(row.key[0]) for row in rows], percent(as_confidence(confidence))
    values = [value or 0.0 for value in panel.values]
    draw_funnel(path, steps=steps, values=values, lows=panel.lows, highs=panel.highs, confidence=sure)


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
    left, reserved = zip(*map(_left_and_reserved, accounts), strict=True)
    currency = "rho" if isinstance(accounts[-1].budget, ConcentratedDP) else "epsilon"
    cap = float(getattr(accounts[-1].budget, currency, 0))
    draw_burn_down(path, entries=[seq for seq, _ in kept], left=left, reserved=reserved, cap=cap, currency=currency)


def _left_and_reserved(account: Account) -> tuple[float, float]:
    """Return the amounts left and reserved; of an (epsilon, delta) budget, the largest pure release that fits."""
    _, reserved, left = amounts(account)
    return float(account.remaining().pure if left is None else left), float(reserved or 0)

"""Answers, previews and accounts in words and in JSON; docs/command_line.md lists the fields, and they are stable."""

from fractions import Fraction
from typing import Any

from lapwing.accounting.filters.account import Account
from lapwing.accounting.filters.remaining import Refusal
from lapwing.accounting.filters.sums import ConcentratedFilter, PureFilter
from lapwing.accounting.rounding import float_above
from lapwing.answers.answer import MOST_SHOWN, Answer, Row
from lapwing.answers.preview import BudgetStatus, Preview
from lapwing.answers.priced_question import Price, PricedQuestion
from lapwing.app.cli.commands import failure_record
from lapwing.app.cli.terminal import facts, named, spoken, table
from lapwing.queries.plan import ChosenMeaning, Family
from lapwing.vocabulary.decimals import format_exact, rounded
from lapwing.vocabulary.exact import Exact, probability
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, Guarantee, PureDP


def answer_record(answer: Answer, left: BudgetStatus, confidence: Exact) -> dict[str, Any]:
    """Return an answer as JSON values."""
    return {**answer.record(confidence), "left": left_record(left)}


def answer_blocks(answer: Answer, left: BudgetStatus, confidence: Exact) -> tuple[str, str]:
    """Return an answer in words: what was told, then what about it."""
    rows, sure = answer.bounded(confidence), percent(confidence)
    single = len(rows) == 1 and len(answer.columns) == 1 and not answer.keys
    told = _single(rows[0], answer.columns[0], sure) if single else _table(answer, rows, sure)
    about = facts(
        ("error", _error(answer, confidence, sure)),
        ("asked", answer.asked.words),
        ("bounded", _bounded(answer.asked)),
        ("cost", _cost(answer)),
        ("left", str(left)),
        ("receipt", None if answer.receipt is None else str(answer.receipt)),
    )
    return told, about


def _single(row: Row, column: str, sure: str) -> str:
    cell = row.cells[column]
    if cell.low is None or cell.high is None:
        return spoken(cell.value)
    return f"{spoken(cell.value)}   (with {sure} confidence from {spoken(cell.low)} to {spoken(cell.high)})"


def _table(answer: Answer, rows: tuple[Row, ...], sure: str) -> str:
    header, bounded = list(answer.keys), {}
    for column in answer.columns:
        bounded[column] = any(column in row.cells and row.cells[column].low is not None for row in rows)
        header += [column, f"from ({sure})", "to"] if bounded[column] else [column]
    lines = []
    for row in rows[:MOST_SHOWN]:
        line = [named(part) for part in row.key]
        for column in answer.columns:
            cell = row.cells.get(column)
            line.append("" if cell is None else spoken(cell.value))
            if bounded[column]:
                line += [
                    "" if cell is None or bound is None else spoken(bound)
                    for bound in (cell and cell.low, cell and cell.high)
                ]
        lines.append(line)
    return "\n".join([table(header, lines, left=len(answer.keys)), *answer.beyond])


def _error(answer: Answer, confidence: Exact, sure: str) -> str | None:
    plan = next(answer.asked.several()).plan
    if plan.family is Family.THRESHOLD:
        return "bounds are those of each group for itself, given that it is shown; one barely shown may be small"
    margin = answer.margin(confidence)
    if margin is None or not isinstance(plan.meaning, ChosenMeaning):
        return None
    return f"{plan.meaning.told_margin(margin)}, with {sure} confidence"


def _bounded(asked: PricedQuestion) -> str | None:
    return f"{asked.bounding}; the error is about noise only" if asked.bounding else None


def _cost(answer: Answer) -> str:
    if answer.rehearsal:
        return "nothing: it was rehearsed on made-up rows, and is about nobody"
    return f"nothing: it was asked before, for {answer.price}" if answer.free else str(answer.price)


def preview_record(preview: Preview) -> dict[str, Any]:
    """Return a preview as JSON values."""
    after = preview.after
    return {
        "asked": preview.asked.words,
        "bounding": preview.asked.bounding,
        "price": price_record(preview.price),
        "confidence": format_exact(preview.confidence),
        "margin": {name: format_exact(margin) for name, margin in preview.margin.items()},
        "margin_rounded": {name: rounded(margin) for name, margin in preview.margin.items()},
        "unit": dict(preview.asked.units),
        "affordable": preview.affordable,
        "times": preview.times,
        "left": left_record(preview.before),
        "left_afterwards": None if isinstance(after, Refusal) else left_record(after),
        "refusal": None if preview.refusal is None else failure_record(preview.refusal)["error"],
        "warnings": list(preview.warnings),
    }


def preview_facts(preview: Preview) -> list[tuple[str, str | None]]:
    """Return a preview in words."""
    sure = percent(preview.confidence)
    errors = [
        ("" if len(preview.margin) == 1 else f"{name} ")
        + (
            "known with the answer only, because it depends on how many there are"
            if margin is None
            else release.plan.meaning.accuracy(margin)
        )
        for (name, margin), release in zip(preview.margin.items(), preview.asked.several(), strict=True)
    ]
    if preview.refusal is not None:
        end = f"it would be refused now: {preview.refusal}"
    else:
        end = f"{preview.after}, for {_times(preview.times)} more like it" if preview.times > 1 else str(preview.after)
    return [
        ("asked", preview.asked.words),
        ("bounded", _bounded(preview.asked)),
        ("cost", str(preview.price)),
        ("error", f"{', '.join(errors)}, with {sure} confidence"),
        ("left then", end),
        ("mind", "; ".join(preview.warnings) or None),
        ("paid", "nothing: this is a preview, and no data was read"),
    ]


def _times(times: int) -> str:
    most = 1000  # where counting ends
    return f"over {most:,}" if times > most - 1 else f"{times - 1:,}"


def left_record(standing: BudgetStatus) -> dict[str, Any]:
    """Return what is left as JSON values: in the budget's currency where it has one, and what would fit."""
    fits = standing.remaining
    return {
        "amount": format_exact(standing.left),
        "rounded": rounded(standing.left),
        "currency": "rho" if isinstance(standing.account.budget, ConcentratedDP) else "epsilon",
        "fits": {"pure_epsilon": float(fits.pure), "gaussian_mu_squared": float(fits.gaussian)},
        "delta_for_open_groups": format_exact(standing.for_open_groups),
    }


def amounts(account: Account) -> tuple[Fraction | None, Fraction | None, Fraction | None]:
    """Return what is spent, held and left of the fullest segment; None where a budget has no such numbers."""
    match min(account.filters.values(), key=lambda one: getattr(one, "left", 0)):
        case PureFilter(realised=spent, reserved=held, left=left):
            return spent, held, left
        case ConcentratedFilter(spent=spent, left=left):
            return spent, Fraction(0), left
        case _:
            return None, None, None


def price_record(price: Price) -> dict[str, Any]:
    """Return a price as JSON values."""
    rho = None if price.rho is None else float_above(price.rho)
    return {"epsilon": format_exact(price.epsilon), "delta": format_exact(price.delta), "rho": rho}


def budget_record(budget: Guarantee) -> dict[str, Any]:
    """Return a budget as it is written in lapwing.toml."""
    match budget:
        case PureDP(epsilon=epsilon):
            return {"epsilon": format_exact(epsilon)}
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return {"epsilon": format_exact(epsilon), "delta": format_exact(delta)}
        case ConcentratedDP(rho=rho):
            return {"rho": format_exact(rho)}
        case _:  # pragma: no cover - no account has another
            return {}


def budget_words(budget: Guarantee) -> str:
    """Return a budget in words."""
    return ", ".join(f"{name} {value}" for name, value in budget_record(budget).items())


def percent(confidence: Exact) -> str:
    """Return a confidence as people say it.

    >>> percent("0.95"), percent("0.999")
    ('95 %', '99.9 %')
    """
    return f"{float(probability('confidence', confidence) * 100):.6g} %"

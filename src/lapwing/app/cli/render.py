"""Answers, previews and streams as a person reads them at a terminal; their JSON is their own `to_dict`."""

from lapwing.answers.answer import MOST_SHOWN, Answer, Row
from lapwing.answers.preview import BudgetStatus
from lapwing.app.cli.terminal import facts, table
from lapwing.vocabulary.decimals import named, percent, spoken
from lapwing.vocabulary.exact import Exact, probability


def answer_blocks(answer: Answer, left: BudgetStatus, confidence: Exact) -> tuple[str, str]:
    """Return an answer in words: what was told, then what about it."""
    rows, sure = answer.bounded(confidence), percent(probability("confidence", confidence))
    single = len(rows) == 1 and len(answer.columns) == 1 and not answer.keys
    told = _single(rows[0], answer.columns[0], sure) if single else _table(answer, rows, sure)
    receipt = None if answer.receipt is None else str(answer.receipt)
    return told, facts(*answer.facts(confidence), ("left", str(left)), ("receipt", receipt))


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

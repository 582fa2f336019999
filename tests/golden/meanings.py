"""What questions mean, before and after a change that should alter nothing: canonical text, event, margins and words.

    PYTHONPATH=src:tests python -m golden.meanings before.json                  # on the one commit
    PYTHONPATH=src:tests python -m golden.meanings after.json before.json       # on the other: what differs

Asked are every statement of docs/sql.md, thousands that the fuzzer of truths makes, and the fuzzer's questions in
Python, under all three kinds of budget, by price and by accuracy. No data is involved.
"""

import json
import sys
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from fuzz.questions import question
from fuzz.truth import BOUNDS, CLINIC, Texts
from lapwing.session import Session
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP
from queries import sql_page
from queries.omop import omop
from session.clinic import KEY, FixedNumber, new_ledger

STATEMENTS, QUESTIONS = 2_000, 1_000
BUDGETS = {
    "epsilon": (PureDP(epsilon=Fraction(1000)), {"epsilon": "1"}),
    "delta": (ApproximateDP(epsilon=Fraction(100), delta=Fraction(1, 1000)), {"epsilon": "1", "delta": "1e-9"}),
    "rho": (ConcentratedDP(rho=Fraction(100)), {"rho": "1/10"}),
}


def meanings() -> dict[str, Any]:
    """Return what every question means, or why it is refused."""
    random, found = Random(1), dict[str, Any]()
    texts = Texts(Random(1))
    asked: list[tuple[Any, Any, dict[str, int]]] = [
        *((omop(), one.text, sql_page.BOUNDS) for one in sql_page.statements()),
        *((CLINIC, texts.text(), BOUNDS) for _ in range(STATEMENTS)),
        *((CLINIC, question(random, CLINIC), {}) for _ in range(QUESTIONS)),
    ]
    with TemporaryDirectory() as folder, ExitStack() as stack:
        ledgers = {}
        for name, (budget, offer) in BUDGETS.items():
            place = Path(folder) / name
            place.mkdir()
            ledgers[name] = (stack.enter_context(new_ledger(place, budget)), offer)
        for (population, what, bounds), (name, (ledger, offer)) in zip(asked, cycle(ledgers.items()), strict=False):
            session = Session(_as_clinic(population, ledger), ledger, FixedNumber(5), analyst="ana", key=KEY)
            for price in (offer, {"within": 50}):
                found[f"{name} {price}: {what}"] = _meaning(session, what, {**bounds, **price})
    return found


def _as_clinic(population: Any, ledger: Any) -> Any:
    known = ledger.population("clinic")
    for table in population.tables:
        if table.name not in known.tables:
            ledger.administration.add_table("clinic", table.name, key=("pid", "integer"))
    return replace(population, name="clinic")


def _meaning(session: Session, what: Any, words: dict[str, Any]) -> Any:
    try:
        looked = session.preview(what, **words)
    except LapwingError as refused:
        return [type(refused).__name__, str(refused)]
    return [looked.asked.text, str(looked), json.dumps(looked.to_dict(), default=str, sort_keys=True)]


def main(after: str, before: str | None = None) -> int:
    """Write what everything means now, and say what of it meant something else before."""
    now = meanings()
    Path(after).write_text(json.dumps(now, indent=1), encoding="utf-8")
    refused = sum(len(one) == 2 for one in now.values())
    sys.stdout.write(f"{len(now):,} looked at, {refused:,} of them refused\n")
    if before is None:
        return 0
    then = json.loads(Path(before).read_text(encoding="utf-8"))
    differ = [name for name in now if then.get(name) != now[name]]
    for name in differ[:20]:
        sys.stdout.write(f"{name}\n  before {then.get(name)}\n  after  {now[name]}\n")
    sys.stdout.write(f"{len(differ):,} differ\n")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

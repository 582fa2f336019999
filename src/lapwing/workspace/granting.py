"""The custodian's yes to a request for more budget, in lapwing.toml and in the ledger."""

import tomllib

from lapwing.answers.preview import budget_record
from lapwing.ledger.budget_requests import BudgetRequest
from lapwing.vocabulary.errors import ParameterError
from lapwing.workspace.changing import decide
from lapwing.workspace.settings import FILE
from lapwing.workspace.workspace import Workspace


def grant(workspace: Workspace, population: str, number: int, *, by: str = "custodian") -> BudgetRequest:
    """Raise the allowance of whoever asked, or the budget where they have none: in both places, or in neither.

    Settings that do not agree with the ledger are refused first: an update, on purpose, comes before a yes.
    """
    workspace.reload()
    requests = workspace.ledger.budget_requests
    request = requests.find(population, number)
    effect = requests.effect_of(request)
    if effect is None:
        reason = f"is {request.state}" if request.by else "is in another currency than the account"
        raise ParameterError("request", number, reason=reason, remedy="refuse it, or ask for a new one")
    path: tuple[str, ...] = ("budget",) if effect.analyst is None else ("analysts", effect.analyst)
    written = tomllib.loads((workspace.folder / FILE).read_text(encoding="utf-8"))["populations"][population]
    for name in path:
        written = written[name]
    entry = {path: {**written, **budget_record(effect.after)}}  # with the tables and the most of the analyst, if any
    decide(workspace, population, entry, by=by, act=lambda: requests.grant(population, number, effect=effect, by=by))
    return requests.find(population, number)

"""Requests for more budget: an analyst makes one, and the custodian sees and decides them."""

from typing import TYPE_CHECKING, Any

import click

from lapwing.accounting.interpretation import budget_concerns
from lapwing.answers.budget import budget_words, read_budget, request_record
from lapwing.doors.cli.commands import facts, table
from lapwing.doors.cli.options import Door, at_the_door, for_the_custodian

if TYPE_CHECKING:
    from lapwing.ledger.budget_requests import BudgetRequest, BudgetRequests, Raise
    from lapwing.workspace.workspace import Workspace


@click.group(no_args_is_help=True)
def requests() -> None:
    """Ask for more budget; or, as the custodian, see who asked, and say yes or no.

    A yes raises the allowance of whoever asked, or the budget where they have none, in lapwing.toml and in the ledger.
    Yes and no stay in the ledger, with who said it.

    \b
    lapwing requests make --epsilon 2 --for "asthma in the north"
    lapwing requests list
    lapwing requests grant 1

    It costs nothing.
    """


@requests.command("list")
@click.option("--all", "every", is_flag=True, help="Those that were decided, too.")
@for_the_custodian
def list_requests(door: Door, *, every: bool) -> None:
    """See the requests that wait, and what a yes would change.

    \b
    lapwing requests list
    lapwing requests list --all

    It costs nothing.
    """
    with door.workspace() as workspace:
        kept = workspace.ledger.budget_requests
        found = [one for one in kept.all(_population(workspace, door)) if every or one.by is None]
        effects = [kept.effect_of(one) for one in found]
    rows = [_row(one, effect) for one, effect in zip(found, effects, strict=True)]
    listed = table(["number", "who", "more", "what for", "a yes"], rows, left=5) if rows else "no request waits"
    door.tell({"requests": [request_record(*pair) for pair in zip(found, effects, strict=True)]}, listed)


def _population(workspace: "Workspace", door: Door) -> str:
    return workspace.settings.declared(door.population).population.name


def _row(one: "BudgetRequest", effect: "Raise | None") -> list[str]:
    if effect is None:
        end = f"was {one.state}{f' by {one.by}' if one.by else ''}"
    else:
        what = "the budget" if effect.analyst is None else "the allowance"
        end = f"raises {what} from {budget_words(effect.before)} to {budget_words(effect.after)}"
    return [str(one.number), one.analyst, budget_words(one.more), one.purpose, end]


@requests.command()
@click.option("--epsilon", metavar="NUMBER", help="How much more.")
@click.option("--delta", metavar="NUMBER", help="With --epsilon, of a budget that has a delta.")
@click.option("--rho", metavar="NUMBER", help="How much more, of a budget in rho.")
@click.option("--for", "purpose", metavar="TEXT", required=True, help="What it is for, in a sentence.")
@at_the_door
def make(door: Door, *, purpose: str, **more: str | None) -> None:
    """Ask the custodian for more budget.

    \b
    lapwing requests make --epsilon 2 --for "asthma in the north"

    It costs nothing.
    """
    wanted = read_budget(**more)
    with door.session() as session:
        made = session.ledger.budget_requests.make(session.population.name, session.analyst, wanted, purpose=purpose)
    door.tell(
        request_record(made),
        facts(("request", f"{made.number}: {budget_words(made.more)} more"), ("next", "the custodian says yes or no")),
    )


@requests.command()
@click.argument("number", type=click.IntRange(1))
@for_the_custodian
def grant(door: Door, *, number: int) -> None:
    """Say yes to a request: what it asks for is raised.

    \b
    lapwing requests grant 1

    It costs nothing. A budget that was raised is never lowered again.
    """
    from lapwing.workspace.changing import grant as granted

    with door.workspace() as workspace:
        effect = _known(workspace.ledger.budget_requests, _population(workspace, door), number)
        done = granted(workspace, _population(workspace, door), number)
    raised = f"from {budget_words(effect.before)} to {budget_words(effect.after)}" if effect else ""
    whose = f"the allowance of {effect.analyst}" if effect and effect.analyst else "the budget of everybody"
    advice = budget_concerns(effect.after) if effect and effect.analyst is None else ()
    door.tell(
        {**request_record(done, effect), "advice": list(advice)},
        facts(
            ("granted", f"request {number}"),
            ("raised", f"{whose} {raised}"),
            *(("advice", one) for one in advice),
        ),
    )


def _known(kept: "BudgetRequests", population: str, number: int) -> "Raise | None":
    return kept.effect_of(kept.find(population, number))


@requests.command()
@click.argument("number", type=click.IntRange(1))
@click.option("--reason", metavar="TEXT", default="", help="What the analyst is told.")
@for_the_custodian
def refuse(door: Door, *, number: int, reason: str) -> None:
    """Say no to a request: nothing changes.

    \b
    lapwing requests refuse 1 --reason "the study has ended"

    It costs nothing.
    """
    with door.workspace() as workspace:
        kept, population = workspace.ledger.budget_requests, _population(workspace, door)
        kept.refuse(population, number, reason=reason)
        done: Any = kept.find(population, number)
    door.tell(request_record(done), facts(("refused", f"request {number}"), ("reason", reason or None)))

"""Commands to look before asking: the tables, the budget that is left, and misfits in the data."""

import shlex
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from lapwing.accounting.composition import PlannedTotal
from lapwing.accounting.filters.account import Account, open_account
from lapwing.answers.budget import BudgetStatus, amounts, budget_record, budget_words
from lapwing.doors.cli.commands import facts, paragraph, table, waiting
from lapwing.doors.cli.commands import table as drawn
from lapwing.doors.cli.options import Door, at_the_door, complete_tables, for_the_custodian, plot_option
from lapwing.doors.plots.answers import draw_account
from lapwing.ledger.states import Analyst
from lapwing.queries.catalogue.population import COLUMN_LINE, Population, Table, vocabulary_records, vocabulary_words
from lapwing.session import Session
from lapwing.vocabulary.guarantee import PureDP
from lapwing.vocabulary.wording import decimal_below, format_exact, several
from lapwing.workspace.misfits import Misfit

_EMPTY = "There is no table yet. The custodian adds one: lapwing add TABLE --source FILE"


@click.command()
@click.argument("name", metavar="[TABLE]", required=False, shell_complete=complete_tables)
@at_the_door
def tables(door: Door, name: str | None) -> None:
    """Say what may be asked about: tables, columns, bounds.

    All of this was declared by the custodian and none of it was read from the data, so anyone may see it. Values beyond
    the bounds are clipped to them where they are added up. Columns that are not listed do not exist for you.

    \b
    lapwing tables
    lapwing tables patients

    It costs nothing.
    """
    with door.sessions() as sessions:
        every = [(one.population, one.ledger.population(one.population.name).tables) for one in sessions]
    if name is not None:
        every = [one for one in every if name in one[1]] or [every[0]]
    records, blocks = [], []
    for population, versions in every:
        shown = population.tables if name is None else (population.table(name),)
        records.append(_population_record(population, shown, versions))
        blocks += [facts(("population", population.name))] if len(every) > 1 else []
        blocks += [_block(table, versions[table.name]) for table in shown] or [_EMPTY]
        public = population.vocabularies if name is None else ()
        blocks += [facts(*((one.name, vocabulary_words(one)) for one in public))] if public else []
    door.tell_each(records, *blocks)


def _population_record(population: Population, shown: tuple[Table, ...], versions: Mapping[str, int]) -> dict[str, Any]:
    unit = population.unit
    return {
        "population": population.name,
        "person_key": unit.person_key,
        "adjacency": unit.adjacency.value,
        "protects_groups_of": unit.protects_groups_of,
        "tables": [_table_record(table, versions[table.name]) for table in shown],
        "vocabularies": vocabulary_records(population.vocabularies),
    }


def _table_record(table: Table, version: int) -> dict[str, Any]:
    record = table.to_dict()
    columns = record.pop("columns")
    return {**record, "version": version, "columns": columns}


def _block(table: Table, version: int) -> str:
    head, lines = facts((table.name, f"{table.rows_in_words}; data version {version}")), table.lines()
    return f"{head}\n{drawn(COLUMN_LINE, lines, left=len(COLUMN_LINE))}" if lines else head


@click.command()
@plot_option
@at_the_door
def budget(door: Door, plot: Path | None) -> None:
    """Say what was spent, what is reserved, and what is left.

    The budget is a promise to the people in the tables: everything that is ever answered about them, to all analysts
    together, costs no more than this. It does not come back, not next year and not when the data changes. An analyst's
    allowance is a part of it, not more of it.

    \b
    lapwing budget
    lapwing budget --plot burn_down.svg

    It costs nothing. --plot draws what was left after every act. Where the population has a public partition, each
    segment has the whole budget and a line of its own; a question about everybody needs it in every segment.
    """
    if plot is None:
        with door.sessions() as sessions:
            shown = [_describe_account(session) for session in sessions]
    else:
        with door.session() as session:
            shown = [_describe_account(session)]
            draw_account(plot, session.ledger.history(session.population.name))
    blocks = [block for _, *of_one in shown for block in of_one]
    door.tell_each([record for record, *_ in shown], *blocks, facts(("picture", plot)))


def _describe_account(session: Session) -> tuple[dict[str, Any], str, str]:
    """Return the account of a population as JSON values, as a table, and what to say about it."""
    name, left, planned = session.population.name, session.budget(), session.planned_total()
    decided, history = session.ledger.population(name), session.ledger.history(name)
    own = {analyst: session.ledger.snapshot(name, analyst).allowance for analyst in sorted(decided.analysts)}
    allowances = {
        analyst: BudgetStatus(account=left.account, allowance=account.within(session.population.touched))
        for analyst, account in own.items()
        if account is not None
    }
    asking = decided.analysts.get(session.analyst, Analyst())
    stopped = sorted(analyst for analyst, one in decided.analysts.items() if one.suspended)
    kinds = [entry["kind"] for entry in history]
    segments = {segment: left.account.within(frozenset({segment})) for segment in left.account.filters}
    segments = segments if len(segments) > 1 else {}
    record = {
        "population": name,
        "segment": session.population.segment,
        **_account_record(left.account),
        "segments": {segment: _account_record(account) for segment, account in segments.items()},
        "analysts": {
            analyst: {
                **_account_record(status.allowance or status.account),
                "left": status.to_dict(),
                "suspended": decided.suspended or decided.analyst(analyst).suspended,
            }
            for analyst, status in allowances.items()
        },
        "unnamed_analysts": "refused" if decided.only_named else "allowed",
        "answers": kinds.count("answer"),
        "streams": sum(entry["kind"] == "opening" and "reserves" not in entry for entry in history),
        "reservations": sum(entry["kind"] == "opening" and "reserves" in entry for entry in history),
        "suspended": decided.suspended or asking.suspended,
        "suspended_analysts": stopped,
        "planned_total": planned.to_dict(),
    }
    of_everybody = name if session.population.segment is None else f"{name}, {session.population.segment}"
    whose = {
        of_everybody: BudgetStatus(account=left.account),
        **{f"  segment {segment}": BudgetStatus(account=account) for segment, account in segments.items()},
        **{f"  {analyst}": status for analyst, status in allowances.items()},
    }
    header = ["whose", "budget", "spent", "reserved", "left"]
    rows = [[one, *_columns(status)] for one, status in whose.items()]
    fits = None if left.left is not None else f"{left.remaining} fits; see docs/ledger.md"
    share, rounds = left.for_open_groups, record["reservations"]
    about = facts(
        ("answered", f"{several(record['answers'], 'question')} and {several(record['streams'], 'stream')}"),
        ("paid for", f"{several(rounds, 'reservation')}: regressions, dashboards and the like" if rounds else None),
        ("stopped", "spending of everybody; lapwing suspend --end allows it again" if decided.suspended else None),
        *(
            ("stopped", f"spending of {one}; lapwing suspend {shlex.quote(one)} --end allows it again")
            for one in stopped
        ),
        ("others", "analysts who are not named here are refused" if decided.only_named else None),
        ("now", fits),
        ("delta", None if share is None else f"{decimal_below(share)} is left for groups with undeclared keys"),
        *(planned.facts() if {"charge", "opening"} & set(kinds) and _tells_more(planned, left.account) else ()),
    )
    return record, table(header, rows, left=2), about


def _tells_more(planned: PlannedTotal, account: Account) -> bool:
    """Say whether a planned total is below what a pure budget has spent, in four digits: else it only confuses."""
    spent, _, _ = amounts(account)
    if spent is None or planned.epsilon is None or not isinstance(account.budget, PureDP):
        return True
    return float(f"{planned.epsilon:.4g}") < float(f"{float(spent):.4g}")


def _account_record(account: Account) -> dict[str, Any]:
    spent, reserved, _ = amounts(account)
    return {
        "budget": budget_record(account.budget),
        "spent": format_exact(spent),
        "reserved": format_exact(reserved),
        "left": BudgetStatus(account=account).to_dict(),
    }


def _columns(status: BudgetStatus) -> list[str]:
    """Return the budget, what is spent, reserved and really left: of an allowance no more than the cap leaves.

    Of an (epsilon, delta) budget it is the largest epsilon of one question that is left. What is spent of it is the sum
    of epsilons or, once that does not count any more, the rho that the Gaussian account has taken.
    """
    account = status.allowance or status.account
    spent, reserved, _ = amounts(account)
    taken = f"rho {_rho_taken(account):.4g}" if spent is None else _format(spent)
    in_one = f"epsilon {decimal_below(status.remaining.pure)} in one" if status.left is None else ""
    return [budget_words(account.budget), taken, _format(reserved), in_one or decimal_below(status.left or Fraction(0))]


def _rho_taken(account: Account) -> float:
    """Return the spending of the Gaussian account of an (epsilon, delta) budget, as a rho."""
    fresh = open_account(
        account.budget, segments=account.filters, adjacency=account.adjacency, shares=account.shares
    ).remaining()
    return float(fresh.gaussian - account.remaining().gaussian) / 2


def _format(amount: Fraction | None) -> str:
    return "-" if amount is None else f"{float(amount):.6g}"


MISLEADING = frozenset({"empty", "missing_keys", "several_rows", "one_row", "all_missing", "no_value_occurs"})
"""Kinds of misfits that a custodian is warned of when a table is added or declared anew."""

_NOT_PRIVATE = "For the custodian's eyes: these numbers are exact and not private. Do not pass them on to analysts."


@click.command()
@click.option("--table", "name", help="Look at this table alone.")
@for_the_custodian
def check(door: Door, *, name: str | None) -> None:
    """Tell what does not fit in the tables. Not private.

    You own the data, so the numbers are exact: people with several rows in a table of one row a person, values that are
    not declared, missing person keys, numbers and days outside of their bounds, empty tables. It is printed here, and
    written into no log. Do not choose bounds or categories by it that you would not have chosen without looking: what
    you declare is public.

    \b
    lapwing check
    lapwing check --table patients

    It costs nothing, and answers no question of an analyst.
    """
    with door.workspace() as workspace:
        names = list(workspace.settings.populations) if door.population is None else [door.population]
        if name is not None:
            names = [one for one in names if name in workspace.settings.populations[one].sources] or names[:1]
        with waiting("reading the data"):
            found = {one: workspace.misfits(one, table=name) for one in names}
    every = [(whose, one) for whose, all_ in found.items() for one in all_]
    inner = len(names) > 1
    lines = [(f"{whose}.{label}" if inner else label, said) for whose, one in every for label, said in one.facts()]
    door.tell(
        {"private": False, "findings": [{"population": whose, **one.to_dict()} for whose, one in every]},
        paragraph(_NOT_PRIVATE),
        facts(*lines) if lines else "All that is declared fits.",
    )


def hints(found: Iterable[Misfit], folder: Path) -> list[tuple[str, str]]:
    """Return warnings of the misleading misfits, and where the rest is shown."""
    every = list(found)
    told = [("note", str(one)) for one in every if one.kind in MISLEADING]
    rest = len(every) - len(told)
    where = "" if folder == Path() else f" -w {folder}"
    return [*told, *([("check", f"{several(rest, 'thing')} more: lapwing check{where}")] if rest else [])]

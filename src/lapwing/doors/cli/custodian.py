"""Commands of the custodian: update, advance, suspend, write-off, recover."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import click

from lapwing.answers.budget import BudgetStatus, budget_words, most_words
from lapwing.answers.releases import Price
from lapwing.doors.cli.commands import exit_code, facts, json_option, tell, waiting
from lapwing.doors.cli.ledger import require_known_analyst
from lapwing.doors.cli.options import Door, complete_tables, folder_option, for_the_custodian
from lapwing.doors.cli.overview import hints
from lapwing.ledger import ledger
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.lost_entries import all_left, find_losses, write_off_losses
from lapwing.ledger.reservation_states import ReservationStatus
from lapwing.ledger.states import Analyst
from lapwing.vocabulary.errors import BadQuestionError, LapwingError
from lapwing.vocabulary.event import Event, GaussianNoise, PureRelease
from lapwing.vocabulary.exact import positive
from lapwing.vocabulary.guarantee import Guarantee, currency_of
from lapwing.vocabulary.wording import several
from lapwing.workspace.creating import create
from lapwing.workspace.settings import read_settings
from lapwing.workspace.workspace import HEAD, KEY_FILE, open_workspace, renew_key

_REMOVAL = "lapwing remove TABLE; the account goes on as it stands"


@click.command()
@folder_option
@json_option
def update(folder: Path, *, as_json: bool) -> None:
    """Bring the account to what lapwing.toml says after an edit.

    Nothing changes by itself: until you say so, a lapwing.toml that differs from the ledger answers no questions. New
    populations and tables are added, budgets rise, allowances change. What was spent stays spent, and who is protected
    never changes. The first time it makes the ledger and the key. Every table is opened: a new one that cannot be read
    is refused. A table whose section you delete can no longer be asked about, and what it cost stays spent.

    \b
    lapwing update

    It costs nothing.
    """
    settings = read_settings(folder)
    fresh = not (folder / KEY_FILE).exists() and not Path(settings.ledger).exists()
    before: dict[tuple[str, ...], str] = {}
    with waiting("opening the data"), create(folder) if fresh else open_workspace(folder) as workspace:
        unreadable: Mapping[str, LapwingError] = {}
        if not fresh:
            before = _snapshot(workspace.ledger)
            unreadable = workspace.update()
        found = [] if unreadable else [one for name in settings.populations for one in workspace.misfits(name)]
        after = _snapshot(workspace.ledger)
        budgets = {
            name for kind, name in after if kind == "population" and after[kind, name] != before.get((kind, name))
        }
        advice = [one for name, said in workspace.advice.items() if name in budgets for one in said]
    changes = [
        {"what": " ".join(what), "from": before.get(what), "to": after.get(what)}
        for what in {**before, **after}
        if before.get(what) != after.get(what) and (what in before or what[0] in _NEWS)
    ]
    lines = [(str(one["what"]), _describe(one)) for one in changes]
    failures = [str(failure) for failure in unreadable.values()]
    but = [("but", f"no question is answered: {failure}. To do without it: {_REMOVAL}") for failure in failures]
    tell(
        {
            "created": fresh,
            "changes": changes,
            "advice": advice,
            "unreadable": failures,
            "several_rows": [one.table for one in found if one.kind == "several_rows"],
            "findings": [one.to_dict() for one in found],
        },
        facts(*lines, *(("advice", one) for one in advice))
        if lines
        else "Nothing to do: the ledger is as lapwing.toml says.",
        facts(*hints(found, folder)) if found else "",
        facts(*but) if but else "",
        as_json=as_json,
    )


_NEWS: Final = {"population", "table", "analyst"}
"""Kinds of facts that are reported when they are new; all others only when they change."""


def _snapshot(ledger: Ledger) -> dict[tuple[str, ...], str]:
    """Return the custodian's decisions in words."""
    snapshot: dict[tuple[str, ...], str] = {}
    for name in ledger.populations():
        decided = ledger.population(name)
        snapshot["person key of", name] = decided.unit.person_key
        snapshot["adjacency of", name] = decided.unit.adjacency.value
        snapshot["groups protected in", name] = str(decided.unit.protects_groups_of)
        snapshot["segments of", name] = ", ".join(sorted(ledger.account(name).filters))
        snapshot["analysts without an allowance in", name] = "refused" if decided.only_named else "allowed"
        budget = ledger.account(name).budget
        snapshot["most of one question in", name] = most_words(decided.most, budget)
        snapshot["questions of streams a day in", name] = str(decided.noes_a_day or "any")
        snapshot |= {("limits of", f"{name}.{who}"): _limits(one, budget) for who, one in decided.analysts.items()}
        snapshot |= {("person key of", f"{name}.{table}"): " ".join(key) for table, key in decided.keys.items()}
        snapshot["population", name] = budget_words(budget)
        snapshot |= {("table", f"{name}.{table}"): f"version {version}" for table, version in decided.tables.items()}
        snapshot |= {
            ("analyst", f"{name}.{analyst}"): budget_words(one.allowance)
            for analyst, one in decided.analysts.items()
            if one.allowance
        }
    return snapshot


def _limits(one: Analyst, budget: Guarantee) -> str:
    about = "all tables" if one.tables is None else ", ".join(one.tables) or "no table"
    return about if one.most is None else f"{about}, {most_words(one.most, budget)} at most for one question"


def _describe(change: dict[str, Any]) -> str:
    if change["from"] is None:
        return f"new: {change['to']}"
    return f"{change['from']}, now {change['to'] or 'none'}"


@click.command()
@click.argument("tables", nargs=-1, metavar="[TABLE]...", shell_complete=complete_tables)
@click.option("--all", "every", is_flag=True, help="All tables of the population.")
@click.option("--changed", is_flag=True, help="All files whose content is not what it was at their version.")
@for_the_custodian
def advance(door: Door, *, tables: tuple[str, ...], every: bool, changed: bool) -> None:
    """Say publicly that the data of a table, or a vocabulary, changed.

    Answers that were given stay with the version they were given about, and new questions are about the new data. Data
    that changed while its version did not is refused: two answers under one version are about the same people. The
    budget goes on as it stands, because the people are the same.

    \b
    lapwing advance patients
    lapwing advance --all
    lapwing advance --changed

    It costs nothing, and gives nothing back.
    """
    if (bool(tables), every, changed).count(True) != 1:
        raise click.UsageError("Name the tables, or write --all or --changed.")
    with door.workspace() as workspace:
        population = workspace.settings.declared(door.population).population
        if not tables:
            tables = tuple(workspace.changed(door.population) if changed else [one.name for one in population.tables])
        public = workspace.settings.vocabularies
        named = [  # all are known before one advances
            table if table in public else population.table(table).name for table in dict.fromkeys(tables)
        ]
        versions = {table: workspace.advance(table, door.population) for table in named}
        with waiting("opening the data"):
            unreadable = workspace.unreadable(door.population)
            still = [] if unreadable else workspace.changed(door.population)
            if not unreadable and not still:
                workspace.check(door.population)
    too = f"{' and '.join(still)} {'has' if len(still) == 1 else 'have'} changed too: lapwing advance {' '.join(still)}"
    table, version = next(iter(versions.items())) if len(versions) == 1 else (None, None)
    door.tell(
        {
            "table": table,
            "version": version,
            "readable": not unreadable,
            "versions": versions,
            "changed": still,
            "unreadable": {table: str(failure) for table, failure in unreadable.items()},
        },
        facts(
            *((table, f"data version {version}") for table, version in versions.items()),
            ("advanced", None if versions else "nothing: no file has changed since its version was seen"),
            ("but", too if still else None),
            *(("but", f"no question is answered: {failure}") for failure in unreadable.values()),
        ),
    )


@click.command()
@click.argument("analyst", required=False)
@click.option("--end", is_flag=True, help="Allow it again.")
@for_the_custodian
def suspend(door: Door, analyst: str | None, *, end: bool) -> None:
    """Stop all spending, or one analyst's; or allow it again.

    Answers that were given before are still given, and everything that costs is refused with exit code 3. It takes
    effect at once, in every process.

    \b
    lapwing suspend
    lapwing suspend ana
    lapwing suspend ana --end

    It costs nothing.
    """
    with door.workspace() as workspace:
        name = workspace.settings.declared(door.population).population.name
        switch = workspace.ledger.administration.resume if end else workspace.ledger.administration.suspend
        if analyst is not None:
            declared = workspace.settings.declared(door.population).analysts
            require_known_analyst(analyst, {*workspace.ledger.analysts(name), *declared})
        switch(name, analyst)
    whose = name if analyst is None else f"{analyst} on {name}"
    door.tell(
        {"population": name, "analyst": analyst, "suspended": not end},
        facts(("spending", f"of {whose} is {'allowed' if end else 'suspended'}")),
    )


@click.command("write-off")
@click.option("--epsilon", metavar="NUMBER", help="What was released, as an epsilon.")
@click.option("--rho", metavar="NUMBER", help="Or as a rho, of a budget that has rho or delta.")
@click.option("--all", "every", is_flag=True, help="All that is left: nothing can be asked any more.")
@click.option("--lost", is_flag=True, help="What entries charged that the ledger has lost, as far as that is known.")
@click.option(
    "--kept",
    multiple=True,
    metavar="FILE",
    help="What somebody kept of it: an export, answers as --json prints them, or receipts. May be repeated.",
)
@click.option(
    "--nothing-more", is_flag=True, help="Entries that no export shows have charged nothing but what answers say."
)
@click.option("--reason", required=True, help="Why, for those who read the ledger.")
@click.option("--analyst", help="Who was told: their allowance is charged, too.")
@click.option("--yes", is_flag=True, help="Do not ask whether that may be done.")
@for_the_custodian
def write_off(
    door: Door,
    *,
    epsilon: str | None,
    rho: str | None,
    every: bool,
    lost: bool,
    kept: tuple[str, ...],
    nothing_more: bool,
    reason: str,
    analyst: str | None,
    yes: bool,
) -> None:
    """Charge what was released and is not in the ledger.

    Where an older copy of the ledger is all there is (lapwing recover --accept-rollback), what was answered since then
    is charged nowhere. --lost charges what can be shown of it: all that an export shows by its chain, and the price of
    each answer that somebody kept. Streams that were open are ended, with all that they had set aside. It says what how
    many entries charged no export shows: name what these may have charged beyond the answers, --all, or --nothing-more.

    \b
    lapwing write-off --lost --kept nightly.jsonl --epsilon 0.4 --yes \\
        --reason "the disk of 3 May"

    Without --lost it charges one amount by hand.

    \b
    lapwing write-off --epsilon 0.4 --yes \\
        --reason "four answers that were told on paper"

    It costs what it says, at once, also while spending is stopped, and never comes back.
    """
    amounts = [epsilon is not None, rho is not None, every]
    if lost:
        if [*amounts, nothing_more].count(True) > 1 or analyst is not None:
            raise click.UsageError(
                "With --lost say at most one of --epsilon, --rho, --all, --nothing-more, and no --analyst."
            )
        with door.workspace() as workspace:
            _write_off_losses(
                door,
                workspace.ledger,
                kept=kept,
                epsilon=epsilon,
                rho=rho,
                every=every,
                nothing_more=nothing_more,
                reason=reason,
                yes=yes,
            )
        return
    if kept or nothing_more:
        raise click.UsageError("--kept and --nothing-more say something about what was lost: add --lost.")
    if amounts.count(True) != 1:
        raise click.UsageError("Say how much: --epsilon NUMBER, --rho NUMBER, --all, or --lost.")
    with door.workspace() as workspace:
        name = workspace.settings.declared(door.population).population.name
        if analyst is not None:
            require_known_analyst(analyst, workspace.ledger.analysts(name))
        event = _released(workspace.ledger, name, epsilon, rho)
        price = str(Price.of(event, currency_of(workspace.ledger.account(name).budget)))
        if not yes:
            click.confirm(f"Charge {price} to {name}, for ever?", abort=True, err=True)
        receipt = workspace.ledger.administration.write_off(name, event, reason=reason, analyst=analyst)
        left = BudgetStatus(account=workspace.ledger.account(name))
    door.tell(
        {"population": name, "analyst": analyst, "price": Price.of(event).to_dict(), "left": left.to_dict()},
        facts(("written off", f"{price} of {name}"), ("left", left), ("keep", receipt)),
    )


def _released(account: Ledger, population: str, epsilon: str | None, rho: str | None) -> Event:
    """Return the event of a release at a price; without a price, the largest one that the account would admit now."""
    if epsilon is not None:
        return PureRelease(epsilon=positive("epsilon", epsilon))
    if rho is not None:
        amount = positive("rho", rho)
        return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / (2 * amount))
    everything = all_left(account.account(population))
    if everything is None:
        raise BadQuestionError(f"nothing is left of {population}; there is nothing to write off")
    return everything


def _write_off_losses(
    door: Door,
    opened: Ledger,
    *,
    kept: tuple[str, ...],
    epsilon: str | None,
    rho: str | None,
    every: bool,
    nothing_more: bool,
    reason: str,
    yes: bool,
) -> None:
    """Charge what lost entries charged, as far as something was kept of it, and what the custodian names."""
    name = read_settings(door.folder).declared(door.population).population.name
    losses = find_losses(opened, name, kept)
    is_named = epsilon is not None or rho is not None or every
    if not (losses.are_explained or is_named or nothing_more or losses.rest):
        words = "say what they may have charged besides (--epsilon, --rho or --all), or --nothing-more if you know that"
        raise BadQuestionError(f"{losses}; {words}. Nothing was charged")
    shown = [] if every else list(losses.releases)
    currency = currency_of(opened.account(name).budget)
    prices = [Price.of(one.charge.event, currency) for one in shown]
    rest = _released(opened, name, epsilon, rho) if is_named and not every else None
    before = " and ".join(str(Price.of(one.event, currency)) for one in losses.rest)
    if rest is not None and losses.rest:
        if not losses.has_charged(rest):
            remedy = "to charge more, name what is missing alone: lapwing write-off without --lost"
            raise BadQuestionError(
                f"{before} was charged already for what no export shows; {remedy}. Nothing was charged"
            )
        rest = None
    what = f"{several(len(shown), 'release')} of lost entries" + (
        f", {Price.of(rest, currency)} besides" if rest else ""
    )
    what = f"all that is left of {name}" if every else what
    ended = f", and end {several(len(losses.streams), 'open stream')} at full price" if losses.streams else ""
    if not yes:
        click.echo(f"{losses}.", err=True)
        click.confirm(f"Charge {what} to {name}, for ever{ended}?", abort=True, err=True)
    done = write_off_losses(opened, name, kept, reason=reason, rest=rest, nothing_more=nothing_more, everything=every)
    left = BudgetStatus(account=opened.account(name))
    door.tell(
        {
            "population": name,
            "lost": {"after": done.after, "until": done.until, "unexplained": done.unexplained},
            "written_off": [
                {"entry": one.seq, "analyst": one.analyst, "shown": one.is_shown, "price": price.to_dict()}
                for one, price in zip(shown, prices, strict=True)
            ],
            "known_before": done.known,
            "rest": None if rest is None else Price.of(rest).to_dict(),
            "rest_before": [Price.of(one.event).to_dict() for one in losses.rest],
            "streams_ended": list(done.streams),
            "left": left.to_dict(),
        },
        facts(
            ("lost", str(done)),
            *(
                (
                    "written off",
                    f"{price}, {'shown by an export' if one.is_shown else 'said by an answer'}, entry {one.seq}",
                )
                for one, price in zip(shown, prices, strict=True)
            ),
            ("written off before", several(done.known, "release") if done.known else None),
            ("written off before", f"{before}, for what no export shows: not charged again" if before else None),
            ("written off", what if every else None),
            ("written off", f"{Price.of(rest, currency)}, for what no export shows" if rest else None),
            ("ended", f"streams {', '.join(done.streams)}, at full price" if done.streams else None),
            ("left", left),
            ("keep", opened.head()),
            ("then", "allow spending again: lapwing suspend --end" if opened.population(name).suspended else None),
        ),
    )


_STOPPED: Final = (
    "all spending is stopped, until lapwing suspend --end; before that charge what was lost: lapwing write-off --lost"
)


@click.command()
@click.option(
    "--new-key",
    is_flag=True,
    help="Make a new stream.key first: open streams are closed at full price when next asked.",
)
@click.option(
    "--accept-rollback",
    is_flag=True,
    help="Go on with a ledger that lost entries, after the newest backup was put back; all spending is stopped.",
)
@click.option("--yes", is_flag=True, help="Do not ask whether that may be done.")
@for_the_custodian
def recover(door: Door, *, new_key: bool, accept_rollback: bool, yes: bool) -> None:
    """Settle what a crash left behind, while nobody is asking.

    A process that died between the charge and the answer leaves a question without one. It is lost and stays charged:
    noise is never drawn twice for one charge, because the crash may have depended on the first draw. A question of a
    stream is decided with the noise that was sealed for it.

    \b
    lapwing recover

    Where an older copy of the ledger is all there is, --accept-rollback goes on with it. What was answered since then
    counts as spent, and nobody knows how much it was: all spending is stopped, until lapwing suspend --end. Charge what
    was lost before that: lapwing write-off --lost.

    It costs nothing beyond what was charged already.
    """
    if accept_rollback:
        _accept_rollback(door, yes=yes)
    with door.workspace() as workspace:
        if new_key:
            still_open = _open_streams(workspace.ledger)
            if still_open and not yes:
                what = f"{several(len(still_open), 'open stream')} ({', '.join(still_open)})"
                click.confirm(
                    f"Under a new key {what} can be asked no more: a question closes it at full price. Go on?",
                    abort=True,
                    err=True,
                )
            renew_key(door.folder)
        with waiting("settling"):
            recovered = workspace.recover()
    end = "made; streams that the old one sealed are closed at full price when they are next asked" if new_key else None
    left = {name: str(failure) for name, failure in recovered.unsettled.items()}
    unread = {name: str(failure) for name, failure in recovered.unread.items()}
    door.tell(
        {
            "settled": recovered.settled,
            "unsettled": left,
            "unread": unread,
            "new_key": new_key,
            "accepted_rollback": accept_rollback,
        },
        facts(
            ("older copy", f"accepted; {_STOPPED}" if accept_rollback else None),
            ("settled", several(recovered.settled, "question")),
            *(("not settled", f"stream {name}: {reason}") for name, reason in left.items()),
            *(("not read", f"population {name}: {reason}") for name, reason in unread.items()),
            ("key", end),
        ),
    )
    if recovered.unread:
        click.get_current_context().exit(max(map(exit_code, recovered.unread.values())))


def _accept_rollback(door: Door, *, yes: bool) -> None:
    if not yes:
        click.confirm(
            "Answers that were given since this copy of the ledger are charged nowhere any more. Stop all spending, "
            "and go on without them?",
            abort=True,
            err=True,
        )
    settings = read_settings(door.folder)
    ledger.accept_rollback(settings.ledger, head=door.folder / HEAD)


def _open_streams(account: Ledger) -> list[str]:
    streams = (one for name in account.populations() for one in account.of(name).reservations.all(name))
    return [one.name for one in streams if one.status is ReservationStatus.OPEN]

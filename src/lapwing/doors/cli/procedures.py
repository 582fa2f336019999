"""`lapwing procedure`: k-means, principal components, a decision tree and a sample, from the command line."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from lapwing.doors.cli.commands import facts
from lapwing.doors.cli.options import Door, at_the_door, complete_tables, priced, where_option

if TYPE_CHECKING:
    from lapwing.answers.target import TargetWords


@click.group(no_args_is_help=True)
def procedure() -> None:
    """Find clusters, components or a tree from noisy sums, each for one price.

    \b
    lapwing procedure k-means patients --column age --clusters 2 --epsilon 1
    lapwing procedure tree patients --outcome cancer_survivor --column sex \\
        --depth 1 --epsilon 1 --dry-run

    It costs the epsilon you offer, whatever comes out.
    """


def _asked(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a procedure its table, its people, its key and its price."""
    for option in (
        at_the_door,
        priced,
        click.option("--dry-run", is_flag=True, help="Say price and error, and ask nothing: free."),
        click.option("--key", help="An idempotency key: the same key brings back the same result, free, for ever."),
        where_option,
        click.argument("table", shell_complete=complete_tables),
    ):
        command = option(command)
    return command


@procedure.command(name="k-means")
@click.option("--column", "columns", required=True, multiple=True, metavar="COLUMN", help="Numbers; once for each.")
@click.option("--clusters", required=True, metavar="N", help="How many.")
@click.option("--rounds", metavar="N", help="How often centres are moved.  [default: 5]")
@_asked
def k_means(door: Door, *, clusters: str, rounds: str | None, columns: tuple[str, ...], **said: Any) -> None:
    """Find clusters of people by columns of numbers, in several rounds.

    \b
    lapwing procedure k-means patients --column age --clusters 2 \\
        --epsilon 1 --dry-run

    All rounds together cost the epsilon you offer.
    """
    from lapwing.doors.cli.questions import whole_or_none

    times = {} if rounds is None else {"rounds": whole_or_none("rounds", rounds)}
    _run(door, "k_means", said, columns=columns, clusters=whole_or_none("clusters", clusters), **times)


@procedure.command()
@click.option("--column", "columns", required=True, multiple=True, metavar="COLUMN", help="Numbers; once for each.")
@_asked
def components(door: Door, *, columns: tuple[str, ...], **said: Any) -> None:
    """Find the directions in which people differ most.

    \b
    lapwing procedure components friend --column one --column other --epsilon 1

    It costs the epsilon you offer.
    """
    _run(door, "principal_components", said, columns=columns)


@procedure.command()
@click.option("--outcome", required=True, metavar="COLUMN", help="What is told: a column, bins(...) or a condition.")
@click.option("--column", "columns", required=True, multiple=True, metavar="COLUMN", help="From what; once for each.")
@click.option("--depth", metavar="N", help="How many columns are asked for one after the other.  [default: 2]")
@_asked
def tree(door: Door, *, outcome: str, columns: tuple[str, ...], depth: str | None, **said: Any) -> None:
    """Grow a tree that tells an outcome from columns with declared values.

    \b
    lapwing procedure tree patients --outcome cancer_survivor --column sex \\
        --column "bins(age, 0, 40, 65, 100)" --epsilon 1

    All levels together cost the epsilon you offer.
    """
    from lapwing.doors.cli.questions import whole_or_none

    deep = {} if depth is None else {"depth": whole_or_none("depth", depth)}
    _run(door, "decision_tree", said, outcome=outcome, columns=columns, **deep)


@procedure.command()
@click.option("--rate", required=True, metavar="NUMBER", help="The chance of everybody to be in the sample: 1/10.")
@_asked
def sample(door: Door, *, rate: str, **said: Any) -> None:
    """Count people of a secret sample, in which everybody is by chance.

    \b
    lapwing procedure sample patients --rate 1/2 --epsilon 0.1 --dry-run

    It costs the epsilon you offer, and never pays for a count: it says so.
    """
    _run(door, "sample_count", said, rate=rate)


def _run(door: Door, name: str, said: dict[str, Any], **words: Any) -> None:
    table, where, key, dry_run = (said[word] for word in ("table", "where", "key", "dry_run"))
    offer: TargetWords = said["offer"]
    with door.session() as session:
        if dry_run:
            told = getattr(session, f"preview_{name}")(table, where=where, **words, **offer)
        else:
            told = getattr(session, name)(table, where=where, key=key, **words, **offer)
        left = {} if dry_run else {"left": session.budget().to_dict()}
    door.tell({**told.to_dict(), **left}, facts(*told.facts()))

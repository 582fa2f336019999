"""`lapwing recover`."""

from typing import Final

import click

from lapwing.app.cli.options import Door, for_the_custodian
from lapwing.app.cli.showing import facts, several, waiting
from lapwing.ledger import ledger
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.stream_records import StreamStatus
from lapwing.vocabulary.errors import LapwingError
from lapwing.workspace.settings import read_settings
from lapwing.workspace.workspace import HEAD, renew_key

_STOPPED: Final = "all spending is stopped, until lapwing suspend --end"


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
    counts as spent, and nobody knows how much it was: all spending is stopped, until lapwing suspend --end.

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
            unsettled: dict[str, LapwingError] = {}
            settled = workspace.recover(unsettled)
    end = "made; streams that the old one sealed are closed at full price when they are next asked" if new_key else None
    left = {name: str(failure) for name, failure in unsettled.items()}
    door.tell(
        {"settled": settled, "unsettled": left, "new_key": new_key, "accepted_rollback": accept_rollback},
        facts(
            ("older copy", f"accepted; {_STOPPED}" if accept_rollback else None),
            ("settled", several(settled, "question")),
            *(("not settled", f"stream {name}: {reason}") for name, reason in left.items()),
            ("key", end),
        ),
    )


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
    streams = (one for name in account.populations() for one in account.streams.streams(name))
    return [one.name for one in streams if one.status is StreamStatus.OPEN]

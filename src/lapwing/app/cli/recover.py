"""`lapwing recover`."""

import click

from lapwing.app.cli.options import Door, for_the_custodian
from lapwing.app.cli.showing import facts, several, waiting
from lapwing.app.workspace import renew_key


@click.command()
@click.option(
    "--new-key", is_flag=True, help="Make a new stream.key first: open streams are then closed, at full price."
)
@for_the_custodian
def recover(door: Door, *, new_key: bool) -> None:
    """Settle what a crash left behind, while nobody is asking.

    A process that died between the charge and the answer leaves a question without one. It is lost and stays charged:
    noise is never drawn twice for one charge, because the crash may have depended on the first draw. A question of a
    stream is decided with the noise that was sealed for it.

    \b
    lapwing recover

    It costs nothing beyond what was charged already.
    """
    with door.workspace() as workspace, waiting("settling"):
        if new_key:
            renew_key(door.folder)
        settled = workspace.recover()
    door.tell({"settled": settled, "new_key": new_key}, facts(("settled", several(settled, "question"))))

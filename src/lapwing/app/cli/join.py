"""`lapwing join`: a workspace on a second host, for a ledger in PostgreSQL."""

from pathlib import Path

import click

from lapwing.app.cli.terminal import facts, json_option, tell
from lapwing.workspace.joining import join as join_ledger


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--ledger", required=True, metavar="ADDRESS", help="Where the account is: postgresql://user@host/database"
)
@click.option(
    "--key", "key_file", required=True, type=click.Path(path_type=Path), help="A copy of the first host's stream.key."
)
@click.option(
    "--like", "settings", type=click.Path(path_type=Path, exists=True), help="A copy of the first host's lapwing.toml."
)
@json_option
def join(folder: Path, *, ledger: str, key_file: Path, settings: Path | None, as_json: bool) -> None:
    """Make a workspace on a second host, for a ledger in PostgreSQL.

    All hosts share one account, whatever each of them asks about. They must also share the key of streams: a host with
    another key would close the streams of the others at full price. Copy stream.key from the first host by a way that
    nobody else can read (scp, say), name the copy here, and delete the copy afterwards.

    With --like, the settings are those of the first host, which must find its tables here, too: in PostgreSQL, or in
    files at the same places. Without it they are written from the ledger, and you add this host's own tables.

    \b
    scp first:clinic/stream.key .
    lapwing join clinic --ledger postgresql://lapwing@db/ledger --key stream.key

    It costs nothing. Where it fails, it leaves nothing behind.
    """
    with join_ledger(folder, ledger, key_file=key_file, settings=settings) as workspace:
        names = list(workspace.settings.populations)
        tables = [table for one in workspace.settings.populations.values() for table in one.sources]
        head = workspace.ledger.head()
    after = "lapwing check" if tables else "lapwing add TABLE --source FILE"
    tell(
        {"workspace": str(folder), "populations": names, "tables": tables, "ledger": head.ledger, "entries": head.seq},
        facts(
            ("joined", f"ledger {head.ledger}, which has {head.seq:,} entries"),
            ("people", ", ".join(names)),
            ("made", f"{folder}, with its settings and a copy of the key: delete {key_file}"),
            ("next", f"{after} -w {folder}"),
        ),
        as_json=as_json,
    )

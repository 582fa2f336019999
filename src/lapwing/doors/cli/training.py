"""`lapwing train`: private gradient descent from the command line, into a file."""

from pathlib import Path
from typing import Any

import click

from lapwing.doors.cli.commands import facts
from lapwing.doors.cli.options import Door, at_the_door, complete_tables, where_option
from lapwing.vocabulary.errors import BadQuestionError, ParameterError


@click.command()
@click.argument("table", shell_complete=complete_tables)
@click.option("--target", required=True, metavar="COLUMN", help="What is learned: a column, bins(...) or a condition.")
@click.option("--feature", "features", required=True, multiple=True, metavar="COLUMN", help="What from; once for each.")
@click.option("--people", required=True, metavar="N", help="About how many people there are, as far as is public.")
@where_option
@click.option("--model", metavar="NAME", help='linear, logistic, softmax, or "dense(64, 32)".  [default: what fits]')
@click.option("--epsilon", metavar="NUMBER", help="What all steps cost together, under a budget that has a delta.")
@click.option("--delta", metavar="NUMBER", help="With --epsilon.  [default: that of the budget]")
@click.option("--rho", metavar="NUMBER", help="Pay in rho.")
@click.option("--epochs", metavar="NUMBER", help="How often each person is in a step, on average.  [default: 20]")
@click.option("--rate", metavar="NUMBER", help="The chance of each person to be in a step.  [default: 1/20]")
@click.option("--clip", metavar="NUMBER", help="The longest gradient of a person.  [default: 0.5]")
@click.option("--step-size", metavar="NUMBER", help="How far the weights move.  [default: 0.5]")
@click.option("--momentum", metavar="NUMBER", help="How far they go on.  [default: 0.9]")
@click.option("--device", metavar="NAME", help="Where PyTorch computes, such as cuda.  [default: NumPy does]")
@click.option("--save", type=click.Path(path_type=Path), help="The file of the model, as JSON.")
@click.option("--key", help="An idempotency key: the same key trains nothing twice.")
@click.option("--dry-run", is_flag=True, help="Say price, steps and noise, and train nothing: free.")
@at_the_door
def train(
    door: Door, *, table: str, features: tuple[str, ...], save: Path | None, key: str | None, dry_run: bool, **said: Any
) -> None:
    """Train a model of people by private gradient descent.

    Many small steps, each on a fresh secret sample of the people, each with noise: all of them are one charge, before
    the first. What the model says afterwards is free. A training that was interrupted goes on if it is asked for again;
    the same training on the same data costs nothing.

    \b
    lapwing train patients --target cancer_survivor --feature age --feature sex \\
        --people 2000 --epsilon 1 --dry-run
    lapwing train patients --target cancer_survivor --feature age --feature sex \\
        --people 2000 --epsilon 1 --save m.json

    It costs what you say, whether the model is good or not. A budget of a pure epsilon cannot pay for it.
    """
    words = {word: value for word, value in said.items() if value is not None}
    if save is None and not dry_run:
        raise BadQuestionError("say where the model goes, --save model.json, or look first, --dry-run")
    if save is not None and not save.absolute().parent.is_dir():
        reason = "is in a folder that is not there"
        raise ParameterError("save", str(save), reason=reason, remedy="make the folder first; nothing was charged")
    with door.session() as session:
        if save is None or dry_run:
            preview = session.preview_train(table, features=features, **words)
            door.tell(preview.to_dict(), facts(*preview.facts()))
            return
        model = session.train(table, features=features, key=key, **words)
        left = session.budget()
    place = model.save(save)
    record = {**model.to_dict(), "saved": str(place), "left": left.to_dict()}
    door.tell(record, facts(*model.facts(), ("saved", place), ("left", left)))

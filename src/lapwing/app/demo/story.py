"""The story, act by act. Every number is computed while it is told, and the few exact ones are marked as such."""

import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from lapwing.accounting.interpretation import belief_range
from lapwing.app.clinic import make_clinic
from lapwing.app.demo import analyst
from lapwing.app.demo.cast import ALLOWANCES, BUDGET, Cast, shortened
from lapwing.app.demo.mallory import attack
from lapwing.app.demo.sceptic import sceptic
from lapwing.app.demo.stage import Stage
from lapwing.app.front import create
from lapwing.ledger.verify import verify

PEOPLE: Final = 100_000
_PRIOR: Final = "0.01"


def run(people: int = PEOPLE, *, folder: str | Path | None = None) -> None:
    """Tell the story.

    Parameters
    ----------
    people : how large the clinic is
    folder : where to keep it; it is thrown away if it is not said
    """
    started, stage = time.perf_counter(), Stage()
    stage.title("lapwing: the door in front of a table of people")
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="lapwing-"))) if folder is None else Path(folder)
        workspace = stack.enter_context(create(_clinic(stage, place, people)))
        ana, mallory = (workspace.session(analyst=name) for name in ALLOWANCES)
        cast = Cast(stage=stage, workspace=workspace, ana=ana, mallory=mallory, people=people)
        cast.show_account()
        for act in (analyst.look_first, analyst.stream, analyst.funnel, analyst.statistics, attack, _account, sceptic):
            act(cast)
    _next(stage, folder, time.perf_counter() - started)


def _clinic(stage: Stage, folder: Path, people: int) -> Path:
    started = time.perf_counter()
    with stage.progress("Making up a clinic", people) as progress:
        place = make_clinic(folder, people, epsilon=BUDGET, allowances=ALLOWANCES, progress=progress)
    stage.say(
        f"A clinic of {people:,} people, made up in {time.perf_counter() - started:.1f} s and the same on every "
        "machine: who they are, what they have, when they came. Its custodian has opened an account. Every answer "
        "gives a little away about everybody; epsilon says how much, and all that is ever given away adds up here."
    )
    return place


def _account(cast: Cast) -> None:
    stage, ledger = cast.stage, cast.workspace.ledger
    stage.act("The account: what was given away, and who can prove it")
    cast.show_account()
    spent = BUDGET - (cast.workspace.session(analyst="custodian").standing().left or 0)
    checked = verify(ledger)
    stage.say(
        f"{checked.entries} entries, each chained to the one before; chain and sums were just checked from the first "
        f"one on. What it means: whoever knew everything about everybody else, and gave it {float(_PRIOR):.0%} that "
        f"you are in this clinic at all, is now at most {belief_range(_PRIOR, spent)[1]:.0%} sure, whatever was asked."
    )
    stage.remark(f"receipt of the whole ledger {shortened(checked.head)}")


def _next(stage: Stage, folder: str | Path | None, took: float) -> None:
    stage.title(f"Where to go from here (that was {took:.0f} s)")
    kept = f"lapwing budget --workspace {folder}" if folder else "lapwing demo --folder clinic"
    stage.table(
        ["", ""],
        [
            [kept, "look around" if folder else "keep the clinic, and look around in it"],
            ["README.md", "five minutes of use, in Python and the shell"],
            ["docs/using.md", "workspaces, questions, streams, errors"],
            ["docs/questions.md", "everything that can be asked"],
            ["docs/sparse_vector.md", "why a no is free"],
            ["docs/guarantee.md", "what is promised, and what is not"],
        ],
        left=2,
    )

"""The story, act by act. Every number is computed while it is told, and the few exact ones are marked as such."""

import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from lapwing.accounting.interpretation import belief_range
from lapwing.app.cli.demo import analyst
from lapwing.app.cli.demo.cast import ALLOWANCES, BUDGET, POPULATION, Cast, shortened
from lapwing.app.cli.demo.mallory import attack
from lapwing.app.cli.demo.sceptic import sceptic
from lapwing.app.cli.demo.stage import Stage
from lapwing.app.cli.pictures import draw_account, draw_meaning
from lapwing.app.clinic import make_clinic
from lapwing.ledger.verify import verify
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import whole
from lapwing.workspace.front import create

_PRIOR: Final = "0.01"
_FEWEST, _MOST = 2000, 10**8
"""In a smaller clinic Mallory does not know enough people."""


def run(people: int, *, folder: Path | None = None, plots: Path | None = None) -> None:
    """Tell the story.

    Parameters
    ----------
    people : how large the clinic is, 2,000 at least
    folder : where to keep it; it is thrown away if it is not said
    plots : where to draw pictures, if they are wanted
    """
    whole("people", people, least=_FEWEST, most=_MOST)
    started, stage = time.perf_counter(), Stage()
    if plots is not None:
        plots.mkdir(parents=True, exist_ok=True)
    stage.title("lapwing: the door in front of a table of people")
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="lapwing-"))) if folder is None else Path(folder)
        workspace = stack.enter_context(create(_clinic(stage, place, people)))
        ana, mallory = (workspace.session(analyst=name) for name in ALLOWANCES)
        cast = Cast(stage=stage, workspace=workspace, ana=ana, mallory=mallory, people=people, plots=plots)
        cast.show_account()
        for act in (analyst.look_first, analyst.stream, analyst.funnel, analyst.statistics, attack, _account, sceptic):
            act(cast)
    _next(stage, time.perf_counter() - started)


def make_workspace(people: int, folder: Path | None) -> None:
    """Make a clinic with an account of its own, to play with."""
    if folder is None:
        raise ParameterError("folder", None, reason="is not said", remedy="write lapwing demo --make --folder clinic")
    with Stage().progress("Making up a clinic", people) as progress:
        create(make_clinic(folder, people, progress=progress)).close()
    print(f"{folder}: {people:,} made-up people, and an account of epsilon 10.")


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
    stage.remark(f"receipt of the whole ledger: {shortened(checked.head)}")
    cast.draw("account", lambda file: draw_account(file, ledger.history(POPULATION)))
    cast.draw("meaning", lambda file: draw_meaning(file, spent, _PRIOR))


def _next(stage: Stage, took: float) -> None:
    stage.title(f"Where to go from here (that was {took:.0f} s)")
    stage.table(
        ["", ""],
        [
            ["lapwing demo --make --folder clinic", "a clinic of your own to play with"],
            ["source .venv/bin/activate", "so that the shell finds lapwing"],
            ["lapwing --help", "what there is to play with"],
            ["lapwing attack", "more of Mallory, in five scenes"],
            ["README.md", "five minutes in Python and the shell"],
            ["docs/using.md", "workspaces, questions and streams"],
            ["docs/questions.md", "everything that can be asked"],
            ["docs/sparse_vector.md", "why a no is free"],
            ["docs/guarantee.md", "what is promised, and what is not"],
        ],
        left=2,
    )

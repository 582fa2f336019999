"""Synthesis beside AIM as private-pgm ships it, in an environment of its own, on columns so few that it finishes.

At full size it takes hours: every new set of tables is a new program that JAX compiles. So four of the columns of
`health` are taken. What cannot be had here (the peer, its table, or synthesis itself) is said, and counts as not met.
"""

import json
import resource
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np

from _publishing_tables import health
from _report import clock, table

HERE = Path(__file__).parent
COLUMNS = (0, 1, 4, 6)
DELTA = Fraction(1, 10**9)
GOALS = {
    "3-way total variation, of that of private-pgm's AIM (goal <= 0.9x)": 0.9,
    "CPU seconds, of those of private-pgm's AIM (goal <= 0.02x)": 0.02,
    "memory, of that of private-pgm's AIM (goal <= 0.1x)": 0.1,
}


def compared_with_private_pgm(goals, epsilon=1, seed=1):
    """Run both, print what they took and how far off their rows are, and hold ours against theirs."""
    try:
        people = health().some(COLUMNS)
        theirs = private_pgm(people, epsilon, seed)
        ours = synthesized(people, epsilon)
    except (ImportError, FileNotFoundError) as missing:
        for goal in GOALS:
            goals.not_measured(goal, f"not here: {missing}")
        return
    rows = [
        [name, *(f"{people.off(made, size):.4f}" for size in (2, 3)), f"{cpu:.1f}", f"{mb:.0f}"]
        for name, (made, cpu, mb) in (("lapwing", ours), ("private-pgm, AIM", theirs))
    ]
    table(f"Four columns of health, epsilon {epsilon}, delta 1e-9", ["", "2-way", "3-way", "CPU s", "MB"], rows)
    pairs = [(people.off(ours[0], 3), people.off(theirs[0], 3)), (ours[1], theirs[1]), (ours[2], theirs[2])]
    for (goal, most), (mine, peer) in zip(GOALS.items(), pairs, strict=True):
        goals.at_most(goal.partition(" (")[0], mine / peer, most)


def private_pgm(people, epsilon, seed):
    """Return the rows of private-pgm's AIM, its CPU seconds and the megabytes it took beyond its imports."""
    python = HERE.parent / ".venv-private-pgm" / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError("private-pgm is not installed")
    with tempfile.TemporaryDirectory() as made:
        held, kept = Path(made) / "people.npz", Path(made) / "rows.npy"
        np.savez(held, rows=people.rows, sizes=np.array(people.sizes))
        command = [python, HERE / "_publishing_private_pgm.py", held, str(epsilon), str(seed), kept]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a peer's own Python
        if ended.returncode:
            raise FileNotFoundError(f"private-pgm does not run: {ended.stderr.strip().splitlines()[-1:]}")
        told = json.loads(ended.stdout.strip().splitlines()[-1])
        return np.load(kept), told["cpu"], told["mb"]


def synthesized(people, epsilon):
    """Return the rows of a synthesis, its CPU seconds and the megabytes it took."""
    from lapwing.publishing.covers import maximal  # noqa: PLC0415
    from lapwing.publishing.noise_for_target import rho_for  # noqa: PLC0415
    from lapwing.publishing.stages import GaussianPlan  # noqa: PLC0415 - a version without synthesis says so
    from lapwing.vocabulary.guarantee import PrivacyUnit  # noqa: PLC0415

    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, clock()
    price, unit = 2 * rho_for(Fraction(epsilon), DELTA), PrivacyUnit(person_key="id")
    stages = GaussianPlan(codes=tuple(people.sizes), unit=unit, degree=3, mu_squared=price).stages()
    stage = next(stages)
    try:
        while True:
            counted = {axes: people.marginal(axes).ravel().tolist() for axes in maximal(stage.sets)}
            stage = stages.send(stage.release(counted))
    except StopIteration as end:
        made = end.value.model.equal_rows(len(people.rows)).T
    took = max(1, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return made, clock() - start, took

"""Synthesis beside AIM as private-pgm ships it, in an environment of its own, on columns so few that it finishes.

At full size it takes hours: every new set of tables is a new program that JAX compiles. So four of the columns of
`health` are taken. What cannot be had here (the peer, its table, or synthesis itself) is said, and counts as not met.
"""

import itertools
import json
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np

from _aim_rules import AimRules, rho_of
from _publishing_tables import crashes, health, marginal_of
from _report import PeakMemory, clock, table

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

    peak, start = PeakMemory(), clock()
    price, unit = 2 * rho_for(Fraction(epsilon), DELTA), PrivacyUnit(person_key="id")
    stages = GaussianPlan(codes=tuple(people.sizes), unit=unit, degree=3, mu_squared=price).stages()
    stage = next(stages)
    try:
        while True:
            counted = {axes: people.marginal(axes).ravel().tolist() for axes in maximal(stage.sets)}
            stage = stages.send(stage.release(counted))
    except StopIteration as end:
        made = end.value.model.equal_rows(len(people.rows)).T
    return made, clock() - start, peak.megabytes()


def compared_with_aims_rules(goals):
    """Run synthesis and the rules of AIM on the other two tables of the study, and hold one against the other."""
    rows = []
    for name, made in (("crashes", crashes), ("health", health)):
        for epsilon, most in ((Fraction(1, 10), 0.95), (Fraction(1), 0.9), (Fraction(10), 0.9)):
            goal = f"{name} at epsilon {float(epsilon):g}: total variation of triples, of that of AIM's rules"
            try:
                people = made()
            except ImportError as missing:
                goals.not_measured(f"{goal} (goal <= {most}x)", f"not here: {missing}")
                continue
            ours, cpu, _ = synthesized(people, epsilon)
            start, sizes = clock(), tuple(people.sizes)
            aim = AimRules(sizes, people.marginal, len(people.rows), seed=1).run(rho_of(float(epsilon), float(DELTA)))
            theirs = [_off(people, aim.marginal, size) for size in (2, 3)]
            seconds, mine = clock() - start, [people.off(ours, size) for size in (2, 3)]
            shown = [f"{one:.4f}" for one in (*mine, *theirs)]
            rows.append(
                [name, f"{float(epsilon):g}", *shown, f"{mine[1] / theirs[1]:.2f}", f"{cpu:.1f}", f"{seconds:.1f}"]
            )
            goals.at_most(goal, mine[1] / theirs[1], most)
    header = ["table", "epsilon", "2-way", "3-way", "AIM's 2-way", "3-way", "ratio, 3-way", "CPU s", "AIM's CPU s"]
    table("Rows of two more tables: mean total variation, delta 1e-9", header, rows)


def _off(people, marginal, size):
    """Return the mean total variation of all tables of so many columns, of another model."""
    found = []
    for axes in itertools.combinations(range(len(people.sizes)), size):
        true, made = marginal_of(people.rows, people.sizes, axes), marginal(axes)
        found.append(0.5 * np.abs(true / true.sum() - made / made.sum()).sum())
    return float(np.mean(found))

"""A made-up table for attacks, its doors, doors that are broken on purpose, and what chance is."""

import json
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import hypergeom

import lapwing as lw
from lapwing.answers.answer import Answer
from lapwing.attacks.campaigns import AttackedDoor, AttackTarget
from lapwing.session import Session

FALSE_ALARM = 1e-9
SETTINGS = """
[populations.clinic]
person_key = "id"
budget = {{ epsilon = "{budget}" }}

[populations.clinic.tables.patients]
source = "patients.csv"
columns.number = {{ type = "integer" }}
columns.ill = {{ type = "boolean" }}
"""


def half_of(people: int) -> np.ndarray:
    """Secrets that nobody knows, not even who reads the test: a random half has the trait."""
    return np.random.default_rng().permutation(people) < people // 2


def target_of(trait: np.ndarray) -> AttackTarget:
    return AttackTarget(names=tuple(range(1000, 1000 + len(trait))), trait=trait)


class Unaccounted(Session):
    """A door that is broken on purpose: no charge, no stored answer, fresh noise each time."""

    def _charge_and_answer(self, asked, keys, snapshot, held):
        del keys, snapshot
        (one,) = asked
        with self._tables.lease(held) as engine:
            numbers = {name: part.release(part.read(engine)) for name, part in one.releases.items()}
        return [Answer(asked=one, numbers=json.loads(json.dumps(numbers)), receipt=None, versions={}, free=False)]


class MadeUpDoors:
    """Doors to the made-up table, each with a ledger of its own; of sessions of this kind."""

    def __init__(self, folder: Path, budget: Fraction = Fraction(1), kind: type[Session] = Session) -> None:
        self.budget, self._folder, self._kind, self._stack = budget, folder, kind, ExitStack()
        self.opened: list[AttackedDoor] = []
        self.ledgers = []

    def open(self, target: AttackTarget, epsilon: Fraction) -> AttackedDoor:
        folder = Path(self._stack.enter_context(TemporaryDirectory(dir=self._folder)))
        rows = zip(target.names, target.trait, strict=True)
        text = "id,number,ill\n" + "".join(f"{i},{name},{bool(ill)}\n" for i, (name, ill) in enumerate(rows))
        (folder / "patients.csv").write_text(text)
        workspace = self._stack.enter_context(lw.create(folder, SETTINGS.format(budget=self.budget)))
        session = self._stack.enter_context(workspace.session(analyst="mallory"))
        session.__class__ = self._kind
        self.ledgers.append(session.ledger)
        self.opened.append(
            AttackedDoor(session, table="patients", column="number", names=target.names, trait="ill", epsilon=epsilon)
        )
        return self.opened[-1]

    def spent(self, which: int = -1) -> Fraction:
        return self.ledgers[which].account("clinic").filters["everyone"].spent

    def close(self) -> None:
        self._stack.close()


def leeway(cohorts: np.ndarray, trait: np.ndarray, epsilon: Fraction) -> float:
    """How much likelier, at most, the answers are than those of a door that knows nothing of the trait (as a log).

    That door answers with the same noise on half the size of the cohort. One answer of geometric noise is likelier by
    at most e^(epsilon |count - half|), and the noise of answers is independent.
    """
    counts, halves = cohorts @ trait.astype(int), cohorts.sum(axis=1) // 2
    return float(np.abs(counts - halves).sum() * epsilon)


def most_by_chance(people: int, leeway: float) -> int:
    """How many of `people` are guessed right at most, but for a probability of FALSE_ALARM/2.

    Against the door that knows nothing, guesses do not depend on the trait. A random half has it, so with g guesses of
    "ill" the hits among them are hypergeometric, and people/2 - g + 2 hits guesses are right. The worst g counts; and
    the real door's answers are likelier by a factor of at most e^leeway.
    """
    guessed, right = np.arange(people + 1)[:, None], np.arange(people + 1)[None, :]
    hits = np.ceil((right - people / 2 + guessed) / 2)
    tail = hypergeom.sf(hits - 1, people, people // 2, guessed).max(axis=0)
    return int(np.flatnonzero(np.exp(leeway) * tail > FALSE_ALARM / 2).max())


def at_chance(guesses: np.ndarray, trait: np.ndarray, leeway: float) -> bool:
    """Whether guesses are as good as chance, two-sided: whoever is always wrong knows everything, too."""
    most = most_by_chance(len(trait), leeway)
    assert most < 0.85 * len(trait), "the bound must be worth something"
    return len(trait) - most <= np.count_nonzero(guesses == trait) <= most

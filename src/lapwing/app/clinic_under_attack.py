"""The made-up clinic as an attacker sees it: he knows when each patient was born, and wants to know what they have."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import numpy as np

from lapwing.app.clinic import SEED, make_clinic
from lapwing.app.clinic.made_up_people import make_block
from lapwing.attacks.campaigns import AttackTarget
from lapwing.attacks.door import AttackedDoor
from lapwing.vocabulary.errors import ParameterError
from lapwing.workspace.workspace import create

PEOPLE: Final = 4000
TABLE: Final = "patient"
PUBLIC: Final = "born"
ATTACKER: Final = "mallory"


@dataclass(kw_only=True)
class ClinicUnderAttack:
    """Doors to the clinic, each with a ledger and a budget of its own, and the people behind them.

    Parameters
    ----------
    trait : the secret column
    budget : the epsilon of each account
    """

    trait: str
    budget: Fraction
    _opened: ExitStack = field(default_factory=ExitStack)

    def target(self, people: int, *, ages: range) -> AttackTarget:
        """Return the first so many patients of these ages who share their date of birth with nobody in the clinic."""
        patients = make_block(SEED, 0, PEOPLE)[TABLE]
        born, age, trait = (_masked(patients[column]) for column in (PUBLIC, "age", self.trait))
        _, which, times = np.unique(born.filled(np.datetime64("NaT")), return_inverse=True, return_counts=True)
        known = ~np.ma.getmaskarray(born) & (times[which] == 1)
        places = np.flatnonzero(known & (age.filled(-1) >= ages.start) & (age.filled(-1) < ages.stop))[:people]
        if places.size < people:
            raise ParameterError(
                "people", people, reason=f"are more than the {places.size} there are", remedy="attack fewer"
            )
        names: tuple[date, ...] = tuple(born.data[places].tolist())
        return AttackTarget(names=names, trait=trait.data[places].astype(bool))

    def open(self, target: AttackTarget, epsilon: Fraction) -> AttackedDoor:
        """Make the clinic anew, with an account that nobody has spent from, and let the attacker in."""
        folder = Path(self._opened.enter_context(TemporaryDirectory(prefix="lapwing-"))) / "clinic"
        workspace = self._opened.enter_context(create(make_clinic(folder, PEOPLE, epsilon=self.budget)))
        session = workspace.session(analyst=ATTACKER)
        return AttackedDoor(session, table=TABLE, column=PUBLIC, names=target.names, trait=self.trait, epsilon=epsilon)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def _masked(column: Any) -> "np.ma.MaskedArray[Any, np.dtype[Any]]":
    return np.ma.masked_array(column)

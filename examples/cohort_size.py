"""A researcher looks for cohorts: are there at least 200 such patients? The clinic answers, and no one is found out.

This is the problem of the lecture on the sparse vector technique: dozens of questions, of which a few deserve a yes,
and only those are paid for. The lecture's own algorithm returns the noisy count that it compared, which is not private;
here a yes comes with an interval for the count instead, from the free gap.

    python examples/cohort_size.py
"""

from dataclasses import dataclass
from hashlib import shake_256
from itertools import product

from lapwing import Adjacency
from lapwing.mechanisms import Sensitive, SparseVector, ValueSensitivity

AT_LEAST, PATIENTS = 200, 20_000


@dataclass(frozen=True)
class Patient:
    """What the clinic knows about one person."""

    sex: str
    age: int
    survivor: bool
    surgery: bool


@dataclass(frozen=True)
class Cohort:
    """Cancer survivors of one sex and one decade of age, with or without an admission for surgery."""

    sex: str
    decade: int
    surgery: bool

    def __str__(self) -> str:
        return f"{self.sex}, {self.decade} to {self.decade + 9}, survivor{', surgery' if self.surgery else ''}"

    def size(self, patients: list[Patient]) -> Sensitive[int]:
        """Count them: a condition on each patient's own record, so that one patient moves the count by one."""
        return Sensitive(sum(self._holds(patient) for patient in patients))

    def _holds(self, patient: Patient) -> bool:
        of_age = self.decade <= patient.age < self.decade + 10
        return patient.survivor and patient.sex == self.sex and of_age and (patient.surgery or not self.surgery)


COHORTS = [Cohort(sex, decade, surgery) for surgery, sex, decade in product((False, True), "MF", range(20, 90, 10))]


def clinic() -> list[Patient]:
    """Return a made-up population, always the same. Survival and surgery are more frequent at a higher age."""
    dice = shake_256(b"a clinic").digest(4 * PATIENTS)
    return [
        Patient(
            sex="MF"[dice[i] % 2],
            age=(age := 18 + dice[i + 1] % 72),
            survivor=dice[i + 2] * 400 < age * 256,
            surgery=dice[i + 3] * 120 < age * 256,
        )
        for i in range(0, len(dice), 4)
    ]


def stream() -> SparseVector:
    """Return the mechanism: counts of people who come or go, asked as "at least", five yeses for epsilon 1."""
    counts = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
    return SparseVector(epsilon=1, yeses=5, threshold=AT_LEAST, sensitivity=counts, questions=len(COHORTS))


def main() -> None:
    """Ask until the questions or the yeses are used up, and show what was learned and paid."""
    patients, mechanism = clinic(), stream()
    margin = mechanism.margin(questions=len(COHORTS))
    print(f"Before asking: a yes costs epsilon {float(mechanism.yes_price):.3f}, a no nothing;")
    print(f"all {len(COHORTS)} answers are right with 95 % if all counts are {margin} or more from {AT_LEAST};")
    print(f"a cohort of 190 would get a yes with probability {mechanism.chance_of_yes(190):.2f}.\n")
    with mechanism.open(name="surgery study") as answers:
        for cohort in COHORTS:
            if not answers.reserved:
                print("The yeses are used up.")
                break
            answer = answers.ask(cohort.size(patients))
            where = mechanism.interval(answer)
            said = f"yes: {int(where.low)} to {int(where.high)} patients" if where else "no"
            print(f"at least {AT_LEAST}?  {cohort!s:34} {said}")
        print(f"\n{answers.asked} questions, {answers.yeses} yeses, epsilon {float(answers.spent or 0):.3f} spent")


if __name__ == "__main__":
    main()

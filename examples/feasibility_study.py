"""A study needs patients; an analyst finds out which disease has enough of them, and how many remain.

It is a whole session on the made-up clinic. She searches with a stream, where only a yes is paid, follows a disease
down the criteria of the study with a funnel, and asks for a mean with its bounds.

    python examples/feasibility_study.py
"""

import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import lapwing as lw

ENOUGH = 1000
DISEASES = (
    "testicular cancer",
    "lung cancer",
    "melanoma",
    "leukaemia or lymphoma",
    "stroke",
    "heart failure",
    "chronic kidney disease",
)


def criteria(disease: str) -> list[str]:
    """Return who could take part, criterion by criterion."""
    return [
        f"has(condition, concept = '{disease}')",
        "age between 40 and 80",
        "has(visit, kind = 'inpatient', 1)",
        "not has(condition, concept = 'depression')",
    ]


def search(clinic: lw.Session) -> Iterator[str]:
    """Find the diseases with enough patients, until the stream has given the two yeses it was opened for."""
    with clinic.stream(at_least=ENOUGH, yeses=2, epsilon="0.5") as stream:
        unsure = stream.margin(questions=len(DISEASES))
        print(f"right with 95 % about every disease that is {unsure} or more patients away from {ENOUGH:,}")
        for disease in DISEASES:
            answer = stream.ask(criteria(disease)[0])
            print(f"  {disease:24} {'yes' if answer else 'no':4} epsilon {float(answer.price):.3f}")
            if answer:
                yield disease
            if not answer.yeses_left:
                break


def follow(clinic: lw.Session, disease: str) -> lw.Answer:
    """Follow a disease down the criteria, for the price of one count."""
    funnel = clinic.funnel("patient", criteria(disease), epsilon="0.5")
    for row in funnel.rows:
        cell = row.cells["people"]
        print(f"  {row.key[0]:52} {cell.value:>6,}  ({cell.low:,} to {cell.high:,})")
    return funnel


def burden(clinic: lw.Session, disease: str) -> Fraction:
    """Return how many nights a stay of such a patient takes on average; of each patient two stays count."""
    of_them = f"kind = 'inpatient' and has(condition, concept = '{disease}')"
    answer = clinic.ask(lw.mean("visit", "clip(nights, 0, 30)", of_them, max_rows=2), epsilon="0.5")
    low, high = answer.interval("0.95")
    print(f"  a stay takes {float(answer.value):.1f} nights on average ({float(low):.1f} to {float(high):.1f})")
    return Fraction(answer.value)


def main() -> None:
    """Plan the study."""
    with tempfile.TemporaryDirectory() as folder:
        lw.create(lw.make_clinic(Path(folder) / "clinic", people=60_000, epsilon=3)).close()
        with lw.open(Path(folder) / "clinic", analyst="ana") as clinic:
            print(f"At least {ENOUGH:,} patients?")
            found = list(search(clinic))
            for disease in found[:1]:
                print(f"\nWho could take part, of those with {disease}")
                follow(clinic, disease)
                burden(clinic, disease)
            print(f"\n{clinic.budget()} of 3 is left for other studies")


if __name__ == "__main__":
    main()

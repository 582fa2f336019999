"""Certificates and the explorer, on a clinic of 100,000 made-up people: how exact, how sure and how fast.

Each run makes a model of sixteen columns at epsilon 1.25 and delta 1e-9, and asks 10,000 cohorts of one to four
conditions through the door, at epsilon 1.5 in all; true counts are taken from the files, beside it. Then all boxes of
up to four columns are certified for epsilon 0.05: with a model planned for tables, at epsilon 1.3 in all.
"""

import itertools
import sys
import tempfile

import numpy as np
from pyarrow import compute, parquet

import lapwing as lw
from _report import Goals, clock, table
from lapwing.publishing.public_draws import PublicDraws

PEOPLE, COHORTS, MOST = 100_000, 10_000, 4
SEEDS = (1, 2, 3)
EDGES = {
    "age": [*range(0, 100, 10), 110],
    "bmi": [10, 18.5, 25, 30, 35, 40, 60],
    "admissions": [0, 1, 2, 3, 6, 40],
    "visits": [0, 1, 3, 6, 11, 21, 40],
}
ILLNESSES = ("asthma", "chronic obstructive lung disease", "depression", "heart failure", "stroke")
TRUTHS = ("smoker", "hypertension", "diabetes", "cancer_survivor", "admitted_for_surgery")


def columns():
    found = {name: name for name in ("sex", "site", *TRUTHS)}
    found |= {name: lw.bins(name, [str(one) for one in edges]) for name, edges in EDGES.items()}
    return found | {one: lw.has("condition", f"concept = '{one}'") for one in ILLNESSES}


class Truth:
    """True counts of cohorts, by bitmaps over the files."""

    def __init__(self, folder):
        patients = parquet.read_table(folder / "patient.parquet")
        self.masks, self.people = {}, patients.num_rows
        for name in ("sex", "site"):
            values = patients[name]
            for one in sorted(set(values.to_pylist())):
                self._keep(name, f"{name} = '{one}'", compute.equal(values, one))
        for name in TRUTHS:
            yes = patients[name]
            self._keep(name, name, yes)
            self._keep(name, f"not {name}", compute.invert(yes))
        for name, edges in EDGES.items():
            values = patients[name].to_numpy().astype(float)
            for low, high in itertools.combinations(edges, 2):
                last = high == edges[-1]
                inside = (values >= low) & ((values <= high) if last else (values < high))
                self._keep(name, f"{name} >= {low} and {name} {'<=' if last else '<'} {high}", inside)

    def _keep(self, name, where, mask):
        filled = mask if isinstance(mask, np.ndarray) else compute.fill_null(mask, False).to_numpy()  # noqa: FBT003
        self.masks.setdefault(name, {})[where] = np.packbits(np.asarray(filled, bool))

    def cohorts(self, seed):
        """Return cohorts of one to four random conditions, with their true counts."""
        drawn, found = iter(PublicDraws(str(seed)).take(20 * COHORTS).tolist()), []

        def any_of(several):
            return several[int(next(drawn) * len(several))]

        for _ in range(COHORTS):
            names, chosen = list(self.masks), {}
            for _ in range(1 + int(next(drawn) * MOST)):
                name = any_of(names)
                names.remove(name)
                chosen[name] = any_of(list(self.masks[name]))
            bits = np.bitwise_and.reduce([self.masks[name][where] for name, where in chosen.items()])
            found.append((" and ".join(chosen.values()), int(np.bitwise_count(bits).sum())))
        return found


def explored(clinic, truth, seed, goals, rows):
    asked = truth.cohorts(seed)
    start = clock()
    explorer = clinic.explorer("patient", columns(), questions=COHORTS, epsilon="1.5", delta="1e-9", key=f"{seed}")
    opened = clock() - start
    start = clock()
    told = explorer.count_many([where for where, _ in asked])
    rate = COHORTS / (clock() - start)
    pairs = [(one, true) for one, (_, true) in zip(told, asked, strict=True) if one is not None]
    errors = np.array([abs(one.people - true) for one, true in pairs])
    inside = sum(one.interval.low <= true <= one.interval.high for one, true in pairs)
    near, paid = 100 * np.sum(errors <= truth.people / 1000) / COHORTS, sum(not one.free for one, _ in pairs)
    figures = [f"{np.median(errors):.0f}", f"{np.quantile(errors, 0.95):.0f}", f"{errors.max()}", f"{near:.1f} %"]
    counts = [len(pairs) - paid, paid, COHORTS - len(pairs)]
    rows.append([seed, *counts, *figures, explorer.reach(), len(pairs) - inside, f"{rate:.0f}", f"{opened:.1f}"])
    goals.at_least(f"seed {seed}: cohorts within 0.1 % of the people", near, 98, " %")
    goals.at_most(f"seed {seed}: answers outside their interval", len(pairs) - inside, 0, "")
    goals.at_least(f"seed {seed}: cohorts a CPU second at the door", rate, 2000, "")
    explorer.close()


def certified(clinic, truth, seed, rows):
    people = clinic.synthesize("patient", columns(), epsilon="1.25", delta="1e-9", key=f"certified {seed}")
    start = clock()
    certificate = people.certify(up_to=MOST, epsilon="0.05")
    seconds, share = clock() - start, 100 * certificate.bound() / truth.people
    rows.append([seed, f"{certificate.boxes.boxes:,}", certificate.bound(), f"{share:.2f} %", f"{seconds:.1f}"])
    return share, seconds


def explorer_and_certificates(goals, seeds=SEEDS):
    """Print how exact, sure and fast both are, and hold them against their goals."""
    with tempfile.TemporaryDirectory() as place:
        folder = lw.make_clinic(f"{place}/clinic", people=PEOPLE, epsilon=20, delta="1e-9")
        truth, free, sure = Truth(folder), [], []
        with lw.create(folder) as workspace:
            clinic = workspace.session()
            for seed in seeds:
                explored(clinic, truth, seed, goals, free)
            figures = [certified(clinic, truth, seed, sure) for seed in seeds]
    header = ["seed", "free", "paid", "unanswered", "median error", "95 %", "worst", "within 0.1 %"]
    header += ["interval", "outside", "a CPU second", "opened in"]
    table(f"Explorer: {COHORTS:,} cohorts, epsilon 1.5, delta 1e-9", header, free)
    table("Certificate: all boxes, epsilon 1.3 in all", ["seed", "boxes", "off by at most", "of the people", "s"], sure)
    share, seconds = np.mean(figures, axis=0)
    goals.at_most(f"certificate of all boxes of up to {MOST} columns, of the people", share, 0.5, " %")
    goals.at_most("CPU seconds of a certificate", seconds, 10, " s")


if __name__ == "__main__":
    told = Goals()
    explorer_and_certificates(told, [int(one) for one in sys.argv[1:]] or SEEDS)
    told.close()

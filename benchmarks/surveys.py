"""Surveys in the local model: error beside other laws at the same epsilon, the time of all counts, words found.

    make bench-surveys                      two minutes

Peers are packages, in an environment of their own: pure-ldp (optimal local hashing, which hashes every answer for every
report, unary encoding, Hadamard response, and PEM, which finds words) and multi-freq-ldpy (subset selection). Laws are
also written here by their definitions, in NumPy: with them, many people can be asked. Error is measured over all
answers, in the same run; the variances that laws state are compared besides.
"""

import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

import lapwing as lw
from _report import Goals, clock, table
from lapwing.surveys.agreements import count_agreements, find_prefixes
from lapwing.surveys.intervals import AgreementLaw, nearest_counts
from lapwing.surveys.report_law import choose_law

RNG = np.random.default_rng(7)  # noqa: TID251 - made-up people, and whoever is compared
PEOPLE = 20_000
HERE = Path(__file__).resolve().parent
PACKAGES = HERE.parent / ".venv-ldp" / "bin" / "python"


def zipf(answers, people, power=1.0):
    weights = 1 / np.arange(1, answers + 1) ** power
    return RNG.choice(answers, people, p=weights / weights.sum())


def ours(law, truths):
    """Return the reports of many people at once, by the law of the client."""
    if not law.lengths:
        tells = RNG.integers(0, law.unit, truths.size) < law.heads
        order = RNG.random((truths.size, law.answers))
        order[np.arange(truths.size), truths] = np.where(tells, -1, 2)
        return np.argpartition(order, law.size - 1, axis=1)[:, : law.size]
    group = RNG.integers(0, law.groups, truths.size)
    prefix = truths // np.array([law.prime ** (law.lengths[-1] - one) for one in law.lengths])[group]
    sizes = np.array([law.prime**one for one in law.lengths])[group]
    seeds = RNG.integers(0, sizes[:, None], (truths.size, law.forms))
    value = np.zeros(truths.size, np.int64)
    for form in range(law.forms):
        rest, seed, total = prefix, seeds[:, form], np.zeros(truths.size, np.int64)
        while rest.any():
            total = total + seed % law.prime * (rest % law.prime)
            seed, rest = seed // law.prime, rest // law.prime
        value += total % law.prime * law.prime**form
    lies = RNG.integers(0, law.unit, truths.size) >= law.heads
    other = (value + RNG.integers(1, law.answers, truths.size)) % law.answers
    return np.column_stack([group, seeds, np.where(lies, other, value)])


def unary(truths, answers, epsilon):
    """Return what optimised unary encoding estimates: a bit for each answer, one's own kept by a fair coin."""
    counts, lie = np.bincount(truths, minlength=answers), 1 / (math.exp(epsilon) + 1)
    ones = RNG.binomial(counts, 0.5) + RNG.binomial(truths.size - counts, lie)
    return (ones - truths.size * lie) / (0.5 - lie)


def randomized_response(truths, answers, epsilon):
    e = math.exp(epsilon)
    said = np.where(
        RNG.random(truths.size) < e / (e + answers - 1),
        truths,
        (truths + RNG.integers(1, answers, truths.size)) % answers,
    )
    lie = 1 / (e + answers - 1)
    return (np.bincount(said, minlength=answers) - truths.size * lie) / ((e - 1) * lie)


def hash_each(reports, answers, buckets):
    """Return the counts of optimal local hashing: a hash for each report and answer, in NumPy."""
    numbers, hits = np.arange(answers, dtype=np.uint64), np.zeros(answers, np.int64)
    for seed, said in reports:
        mixed = (numbers ^ np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
        hits += (mixed >> np.uint64(33)) % np.uint64(buckets) == said
    return hits


def variances_of_peers(answers, epsilon):
    """Return how much one person adds to the variance of a rare answer, by the laws that packages have."""
    e = math.exp(epsilon)
    size, buckets = max(1, round(answers / (e + 1))), round(e) + 1
    whole = size * e + answers - size
    laws = {
        "direct": (e / (e + answers - 1), 1 / (e + answers - 1)),
        "OUE": (1 / 2, 1 / (e + 1)),
        "OLH": (e / (e + buckets - 1), 1 / buckets),
        "subset selection": (
            size * e / whole,
            ((size - 1) * size * e + (answers - size) * size) / ((answers - 1) * whole),
        ),
    }
    return {name: lie * (1 - lie) / (kept - lie) ** 2 for name, (kept, lie) in laws.items()}


def compare_laws(goals):
    rows, worst = [], 0.0
    for answers in (10, 100, 1000, 10_000, 100_000, 1_000_000):
        row = [f"{answers:,} answers"]
        for epsilon in ("0.5", "1", "2", "3", "4", "5"):
            own = float(choose_law(answers, Fraction(epsilon)).variance)
            best = min(variances_of_peers(answers, float(epsilon)).values())
            worst = max(worst, own / best)
            row.append(f"{own / best:.4f}")
        rows.append(row)
    header = ["stated variance over the best peer's", *(f"epsilon {one}" for one in ("0.5", 1, 2, 3, 4, 5))]
    table("Variance of the count of a rare answer, by the laws as they are stated", header, rows)
    goals.at_most("variance over that of the best law of the packages, worst of 36 cells", worst, 1.01)


def ask_packages(*words, told=None):
    """Return what the packages say, or None where they are not installed."""
    command = [str(PACKAGES), str(HERE / "_surveys_peers.py"), *map(str, words)]
    if not PACKAGES.exists():
        return None
    ended = subprocess.run(command, capture_output=True, text=True, check=False, input=told)  # noqa: S603 - its own Python
    return json.loads(ended.stdout) if ended.returncode == 0 else None


def compare_packages(goals):
    answers, epsilon, people = 1000, 2, 2000
    told = ask_packages(answers, epsilon, people)
    if told is None:
        goals.not_measured("beside pure-ldp and multi-freq-ldpy", "they cannot be run here")
        return
    law, found = choose_law(answers, Fraction(epsilon)), []
    for _ in range(5):
        truths = zipf(answers, people)
        raw = AgreementLaw.of(law, people).estimate(count_agreements(law, ours(law, truths)).astype(float))
        found.append(((raw - np.bincount(truths, minlength=answers)) ** 2).mean())
    own = float(np.mean(found))
    rows = [["lw.survey", f"{own**0.5:.1f}"], *([name, f"{one**0.5:.1f}"] for name, one in told["squared"].items())]
    header = [f"{people:,} people, {answers:,} answers, epsilon {epsilon}", "root of the mean squared error"]
    table("Packages, by their own clients and servers", header, rows)
    goal = "measured squared error over the best package's, 1,000 answers (chance is some 0.06)"
    goals.at_most(goal, own / min(told["squared"].values()), 1.15)
    hashed, reports = choose_law(5000, Fraction(epsilon)), 100_000
    sent = ours(hashed, zipf(5000, reports))
    start = clock()
    count_agreements(hashed, sent)
    ratio = told["a report"] * reports / (clock() - start)
    goals.at_least("collecting, times as fast as OLH of pure-ldp (1,000 answers, ours 5,000)", ratio, 100)


def prefixes_extended(truths, bits, step, epsilon, *, keep=32):
    """Return the words that PEM finds: groups tell longer and longer prefixes by OLH, and the best are extended."""
    e, group = math.exp(epsilon), RNG.integers(0, bits // step, truths.size)
    buckets = round(e) + 1
    kept, lie, found = e / (e + buckets - 1), 1 / buckets, np.zeros(1, np.int64)
    for place in range(bits // step):
        left = bits - step * (place + 1)
        found = (found[:, None] * 2**step + np.arange(2**step)).ravel()
        told = truths[group == place] >> left
        counts = np.bincount(told, minlength=1 << (bits - left))[found]
        hits = RNG.binomial(counts, kept) + RNG.binomial(told.size - counts, lie)
        found = found[np.argsort(-hits)[:keep]]
    return found


def compare_words(goals, runs=300):
    """Find the 16 most frequent of 4,096 words of 12 bits among 32, beside PEM: by its law, and a few by the package.

    One run finds a tenth more or less than another, so that few runs say nothing about a goal of 0.05.
    """
    rows, people = [], 10_000
    for epsilon in (2, 4):
        law, shares = choose_law(4096, Fraction(epsilon)), {name: [] for name in ("ours", 2, 3, 4, 6, "package")}
        for run in range(runs):
            words = RNG.permutation(4096)
            truths = words[zipf(4096, people, 1.2)]
            hits = count_agreements(law, ours(law, truths)) if run < runs // 10 else agreeing(law, truths)
            found = {"ours": np.argsort(-hits)[:32]}
            found |= {step: prefixes_extended(truths, 12, step, epsilon) for step in (2, 3, 4, 6)}
            told = ask_packages("words", 12, epsilon, told=json.dumps(truths.tolist())) if run < 3 else None
            found |= {} if told is None else {"package": told}
            for name, some in found.items():
                shares[name].append(np.isin(words[:16], some).mean())
        mean = {name: float(np.mean(several)) if several else math.nan for name, several in shares.items()}
        best = max(mean[step] for step in (2, 3, 4, 6))
        rows.append([f"epsilon {epsilon}", *(f"{mean[name]:.3f}" for name in mean)])
        goals.at_least(f"words of 12 bits found, more than by PEM, at epsilon {epsilon}", mean["ours"] - best, 0.05, "")
    steps = [f"PEM, {step} bits a step" for step in (2, 3, 4, 6)]
    header = [f"of 16 words of 12 bits, {people:,} people", "lw.survey", *steps, "pure-ldp (3 runs)"]
    table(f"Words found among 32, {runs} runs", header, rows)


def agreeing(law, truths):
    """Return with how many reports each answer agrees, by the law of that number."""
    counts = np.bincount(truths, minlength=law.domain)
    kept, lie = float(law.truth), float(law.lie)
    return RNG.binomial(counts, kept) + RNG.binomial(truths.size - counts, lie)


def compare_errors(goals):
    rows = []
    for answers, epsilon, rounds in (
        (10, 1, 60),
        (100, 1, 20),
        (1000, 1, 4),
        (1000, 5, 4),
        (10_000, 2, 3),
        (100_000, 1, 2),
    ):
        law, sums = choose_law(answers, Fraction(epsilon)), np.zeros(5)
        for _ in range(rounds):
            truths = zipf(answers, PEOPLE)
            counts = np.bincount(truths, minlength=answers)
            raw = AgreementLaw.of(law, PEOPLE).estimate(count_agreements(law, ours(law, truths)).astype(float))
            others = unary(truths, answers, epsilon), randomized_response(truths, answers, epsilon)
            found = [raw, *others, nearest_counts(raw, PEOPLE), nearest_counts(others[0], PEOPLE)]
            sums += [((one - counts) ** 2).mean() for one in found]
        root = (sums / rounds) ** 0.5
        rows.append([f"{answers:,} answers, epsilon {epsilon}", *(f"{one:.1f}" for one in root)])
        goals.at_most(f"squared error over OUE's, {answers} answers at epsilon {epsilon}", sums[0] / sums[1], 1.1)
    header = [f"{PEOPLE:,} people", "lw.survey", "OUE", "randomized response", "lw.survey, adding up", "OUE, adding up"]
    table("Root of the mean squared error of a count, in people", header, rows)


def compare_collectors(goals):
    rows = []
    for answers, few in ((1000, 2000), (100_000, 50)):
        law = choose_law(answers, Fraction(3)) if answers > 1000 else choose_law(5000, Fraction(3))
        reports = ours(law, zipf(answers, 100_000))
        start = clock()
        count_agreements(law, reports)
        spent = clock() - start
        start = clock()
        hash_each([(RNG.integers(1 << 62), 3) for _ in range(few)], answers, 21)
        hashed = (clock() - start) / few * 100_000
        rows.append([f"{answers:,} answers", f"{spent:.2f}", f"{hashed:.1f}", f"{hashed / spent:.0f}"])
        goals.at_least(f"collecting, times as fast as hashing each of {answers} answers", hashed / spent, 5)
    table(
        "CPU seconds for all counts of 100,000 reports", ["", "transform", "a hash for each (in NumPy)", "ratio"], rows
    )


def find_words(goals, runs=4):
    rows = []
    for people, epsilon in ((100_000, 4), (1_000_000, 2)):
        law, recall, spent = lw.survey(words=10, epsilon=epsilon).asked.law, [], []
        for _ in range(runs):
            words = RNG.integers(0, law.domain, 100_000)
            reports = ours(law, words[zipf(100_000, people, 1.2)])
            start = clock()
            found = set(find_prefixes(law, reports, keep=128)[0][:32].tolist())
            spent.append(clock() - start)
            recall.append(np.mean([int(word) in found for word in words[:16]]))
        rows.append([f"{people:,} people, epsilon {epsilon}", f"{np.mean(recall):.2f}", f"{np.mean(spent):.1f}"])
    goals.at_least("share of the top 16 words found by a million people at epsilon 2", float(np.mean(recall)), 0.9, "")
    goals.at_most("time for it", float(np.mean(spent)), 15, " s")
    table("The 16 most frequent of 100,000 words (Zipf 1.2) among the 32 best", ["", "found", "CPU s"], rows)


def main():
    goals = Goals()
    compare_laws(goals)
    compare_errors(goals)
    compare_collectors(goals)
    compare_packages(goals)
    compare_words(goals)
    find_words(goals, int(sys.argv[1]) if len(sys.argv) > 1 else 4)
    goals.close()


if __name__ == "__main__":
    main()

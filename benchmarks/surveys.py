"""Surveys in the local model: error beside other laws at the same epsilon, the time of all counts, words found.

    make bench-surveys                      two minutes

The peers are written here by their definitions, in NumPy, and are quicker than the libraries that have them: randomized
response (k categories), optimised unary encoding (OUE), and optimal local hashing (OLH), which hashes every answer
for every report. Error is measured over all answers, in the same run; what a law states is not taken for it.
"""

import math
import sys
from fractions import Fraction

import numpy as np

import lapwing as lw
from _report import Goals, clock, table
from lapwing.surveys.agreements import count_agreements, find_prefixes
from lapwing.surveys.intervals import AgreementLaw, nearest_counts
from lapwing.surveys.report_law import choose_law

RNG = np.random.default_rng(7)  # noqa: TID251 - made-up people, and whoever is compared
PEOPLE = 20_000


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
    goals.at_least("share of the top 16 words found by a million people at epsilon 2", float(np.mean(recall)), 0.85, "")
    goals.at_most("time for it", float(np.mean(spent)), 15, " s")
    table("The 16 most frequent of 100,000 words (Zipf 1.2) among the 32 best", ["", "found", "CPU s"], rows)


def main():
    goals = Goals()
    compare_errors(goals)
    compare_collectors(goals)
    find_words(goals, int(sys.argv[1]) if len(sys.argv) > 1 else 4)
    goals.close()


if __name__ == "__main__":
    main()

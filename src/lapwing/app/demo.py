"""What lapwing does, shown on a clinic that is made up here: every number printed is computed while it runs."""

import time
from collections.abc import Iterator
from fractions import Fraction
from hashlib import shake_256
from itertools import product

from lapwing import GeometricMechanism, Movement, Sensitive, SparseVector
from lapwing.accounting.filters.charge import OneShot
from lapwing.accounting.filters.opening import open_account
from lapwing.auditor.known_liars import DOCUMENT_002
from lapwing.auditor.noise_laws import Geometric as GeometricNoise
from lapwing.auditor.sparse_vector_oracle import Reveals, SparseVectorVariant
from lapwing.auditor.worst_pairs import Movement as Moves
from lapwing.auditor.worst_pairs import worst_loss
from lapwing.noise.laws import DiscreteLaplace, Geometric, Law
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.guarantee import ApproximateDP, PureDP

PATIENTS, AT_LEAST = 50_000, 200
_BYTES_EACH, _YEARS = 4, 3
_COUNTS = Movement.of_counts(Adjacency.ADD_REMOVE)


def run() -> None:
    """Print the demonstration."""
    clinic = _clinic()
    parts = (_a_count(clinic), _a_stream(clinic), _the_sceptic(), _the_account(), _the_noise())
    for number, part in enumerate(parts, 1):
        print(f"\n{number}. {next(part)}")
        for line in part:
            print(f"   {line}")
    print("\nNext: README.md, docs/sparse_vector.md, examples/cohort_size.py. Benchmarks beside the peers: make bench.")


def _a_count(clinic: list[tuple[str, int, bool]]) -> Iterator[str]:
    yield f"A count out of {PATIENTS:,} patients: its price and its error before it is asked"
    yield "The question: male, 20 to 30, cancer survivor"
    cheap = GeometricMechanism(l1_sensitivity=1, epsilon="0.1")
    precise = GeometricMechanism(l1_sensitivity=1, within=10, confidence="0.95")
    yield f"  at epsilon 0.1 the answer is within {cheap.margin('0.95')} of the truth, 95 times in 100;"
    yield f"  to be within 10, 95 times in 100, costs epsilon {float(precise.loss.pure_epsilon or 0):.3f}"
    size = Sensitive(sum(sex == "M" and age in range(20, 31) and survivor for sex, age, survivor in clinic))
    yield f"What the engine counted, as Python shows it: {size!r}"
    yield f"The answer at epsilon 0.1: {cheap.release(size)} patients, give or take {cheap.margin('0.95')}"


def _a_stream(clinic: list[tuple[str, int, bool]]) -> Iterator[str]:
    questions = list(product("MF", range(18, 90, _YEARS)))
    yield f'"At least {AT_LEAST}?", {len(questions)} times over: only a yes is paid'
    mechanism = SparseVector(epsilon=1, yeses=5, threshold=AT_LEAST, moves=_COUNTS, questions=len(questions))
    opening, price = float(mechanism.epsilon - 5 * mechanism.yes_price), float(mechanism.yes_price)
    yield f"A no is free. The opening costs epsilon {opening:.3f}, each yes {price:.3f}; five yeses at most."
    with mechanism.open(name="demonstration") as stream:
        for sex, age in questions:
            if not stream.reserved:
                break
            of_age = range(age, age + _YEARS)
            size = Sensitive(sum(s == sex and a in of_age and survivor for s, a, survivor in clinic))
            answer = stream.ask(size)
            if where := mechanism.interval(answer):
                size_range = f"{int(where.low)} to {int(where.high)} patients"
                yield f"  yes: {sex}, {age} to {age + _YEARS - 1}, survivor: {size_range}"
        spent, noes = float(stream.spent or 0), stream.asked - stream.yeses
        yield f"{stream.asked} questions, {noes} of them answered no for nothing; epsilon {spent:.3f} spent"


def _the_sceptic() -> Iterator[str]:
    yield "The sceptic: what do two algorithms that both claim epsilon 1 give away? (exact, by quadrature)"
    rule = SparseVector(epsilon=1, yeses=1, threshold=0, moves=_COUNTS).rule
    described = SparseVectorVariant(
        threshold=GeometricNoise(_scale(rule.threshold_noise)),
        query=GeometricNoise(_scale(rule.comparisons[0].noise)),
        yeses=1,
        reveals=Reveals.GAP,
    )
    printed = {noes: worst_loss(DOCUMENT_002.variant, movement=Moves.TOGETHER, noes=noes).loss for noes in (3, 10, 30)}
    honest = {noes: worst_loss(described, movement=Moves.TOGETHER, noes=noes).loss for noes in (3, 10, 30)}
    for name, losses in (("as printed in a lecture", printed), ("lapwing", honest)):
        yield f"  {name:24}" + ", ".join(f"{loss:.2f} after {noes} noes" for noes, loss in losses.items())


def _the_account() -> Iterator[str]:
    yield "The account: how many releases of epsilon 0.01 fit, whatever is asked after whatever was answered"
    charge = OneShot(event=PureRelease(epsilon=Fraction(1, 100)))
    for name, budget in (
        ("epsilon 1", PureDP(epsilon=Fraction(1))),
        ("epsilon 1, delta 1e-6", ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6))),
    ):
        yield f"  a budget of {name:22} {open_account(budget).how_many(charge)}"


def _the_noise() -> Iterator[str]:
    yield "The noise: exact whole numbers from a cryptographic source"
    law, times = DiscreteLaplace(Fraction(10)), []
    for _ in range(5):
        start = time.perf_counter()
        law.draw_many(1_000_000)
        times.append(1000 * (time.perf_counter() - start))
    yield f"  a million draws of discrete Laplace noise in {min(times):.1f} ms (the best of five)"


def _scale(noise: Law) -> float:
    if not isinstance(noise, Geometric):
        raise TypeError(f"{noise} is not the default noise of a stream")
    return float(noise.scale)


def _clinic() -> list[tuple[str, int, bool]]:
    """Return (sex, age, cancer survivor) of each patient, always the same; survivors are more frequent at high age."""
    dice = shake_256(b"lapwing").digest(_BYTES_EACH * PATIENTS)
    ages = [18 + dice[i + 1] % 72 for i in range(0, len(dice), _BYTES_EACH)]
    return [
        ("MF"[dice[i] % 2], age, dice[i + 2] * 200 < age * 128)
        for i, age in zip(range(0, len(dice), _BYTES_EACH), ages, strict=True)
    ]

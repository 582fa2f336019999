"""How fast exact noise is drawn, beside OpenDP, diffprivlib and NumPy's generator, which is neither exact nor secure.

All draws per second are CPU time, best of several interleaved rounds. OpenDP's vectors have 100,000 entries, since a
million take it ten seconds and more; its rate does not rise with length.
"""

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from _report import Goals, rates, table
from lapwing.mechanisms import (
    DiscreteGaussianMechanism,
    GaussianMechanism,
    GeometricMechanism,
    LaplaceMechanism,
    RandomizedResponse,
)
from lapwing.noise.coins_and_dice import UNIT_BITS, choose_exponential, exponential_lattice
from lapwing.noise.laws import DiscreteGaussian, DiscreteLaplace, Geometric, RoundedGaussian, RoundedLaplace

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what the peers' own dependencies have to say
    import opendp.prelude as dp
    from diffprivlib import mechanisms as ibm

dp.enable_features("contrib")

MILLION = 1_000_000
PEER_VECTOR = 100_000
INSECURE = np.random.default_rng()  # noqa: TID251 - a competitor


def opendp_scalar(kind: str, scale: float) -> Callable[[], object]:
    distance = dp.absolute_distance(T=float if kind == "gaussian" else int)
    measurement = getattr(dp.m, f"make_{kind}")(dp.atom_domain(T=int), distance, scale=scale)
    return lambda: measurement(0)


def opendp_vector(kind: str, scale: float, length: int) -> Callable[[], object]:
    distance = dp.l2_distance(T=float) if kind == "gaussian" else dp.l1_distance(T=int)
    measurement = getattr(dp.m, f"make_{kind}")(dp.vector_domain(dp.atom_domain(T=int)), distance, scale=scale)
    zeros = [0] * length
    return lambda: measurement(zeros)


def vectors(goals: Goals) -> None:
    labels = {10: "10", 10**6: "1e6"}
    laws = {
        f"{name}, scale {label}": law(scale)
        for scale, label in labels.items()
        for name, law in (
            ("discrete Laplace", DiscreteLaplace),
            ("discrete Gaussian", lambda s: DiscreteGaussian(s**2)),
            ("geometric", Geometric),
            ("rounded Laplace", RoundedLaplace),
            ("rounded Gaussian", RoundedGaussian),
        )
    }
    insecure = {
        "laplace": (lambda: INSECURE.laplace(0, 10.0, MILLION), MILLION),
        "normal": (lambda: INSECURE.normal(0, 10.0, MILLION), MILLION),
    }
    ours = rates({name: (partial(law.draw_many, MILLION), MILLION) for name, law in laws.items()} | insecure)
    peers = {
        f"discrete {kind.title()}, scale {label}": (opendp_vector(kind, float(scale), PEER_VECTOR), PEER_VECTOR)
        for scale, label in labels.items()
        for kind in ("laplace", "gaussian")
    }
    opendp = rates(peers, rounds=2)
    rows = []
    for name in laws:
        rate, numpy_rate = ours[name], ours["normal" if "Gaussian" in name else "laplace"]
        rows.append([name, millions(rate), *beside(rate, opendp.get(name)), *beside(rate, numpy_rate)])
    table(
        f"Vectors of {MILLION:,} (OpenDP {PEER_VECTOR:,}), millions of draws a second",
        ["law", "lapwing", "OpenDP", "ratio", "NumPy, insecure", "ratio"],
        rows,
    )
    for name in peers:
        bound = 500 if name.endswith(" 10") else 100
        goals.at_least(f"{name}, a million draws, against OpenDP", ours[name] / opendp[name], bound)
    for label in labels.values():
        name = f"discrete Laplace, scale {label}"
        goals.at_least(f"{name}, a million draws, against NumPy's insecure Laplace", ours[name] / ours["laplace"], 1)


def scalars() -> None:
    measured = rates(
        {
            "lapwing discrete Laplace": (DiscreteLaplace(10).draw, 1),
            "lapwing discrete Gaussian": (DiscreteGaussian(100).draw, 1),
            "lapwing geometric": (Geometric(10).draw, 1),
            "OpenDP discrete Laplace": (opendp_scalar("laplace", 10.0), 1),
            "OpenDP discrete Gaussian": (opendp_scalar("gaussian", 10.0), 1),
            "diffprivlib Laplace (floats)": (partial(ibm.Laplace(epsilon=0.1, sensitivity=1.0).randomise, 0.0), 1),
            "diffprivlib Geometric (floats)": (partial(ibm.Geometric(epsilon=0.1, sensitivity=1).randomise, 0), 1),
            "diffprivlib GaussianDiscrete (floats)": (ibm_discrete_gaussian(), 1),
            "NumPy laplace (insecure floats)": (partial(INSECURE.laplace, 0, 10.0), 1),
        },
        rounds=5,
    )
    ours = measured["lapwing discrete Laplace"]
    table(
        "One draw a call, thousands of calls a second (OpenDP's and diffprivlib's are whole mechanism calls)",
        ["call", "thousands", "lapwing is"],
        [[name, f"{rate / 1e3:,.1f}", f"{ours / rate:,.1f}x"] for name, rate in measured.items()],
    )


def first_draws(goals: Goals) -> None:
    """Measure a scale that was never used: nothing is cached, and a mechanism is made for one release."""
    fresh = (Fraction(i, 10**9) for i in count(1))

    def make_and_call(kind: str) -> None:
        opendp_scalar(kind, 10 + float(next(fresh)))()

    measured = rates(
        {
            "lapwing discrete Laplace, scale near 10": (lambda: DiscreteLaplace(10 + next(fresh)).draw(), 1),
            "lapwing discrete Laplace, scale near 100": (lambda: DiscreteLaplace(100 + next(fresh)).draw(), 1),
            "lapwing discrete Laplace, scale near 1e6": (lambda: DiscreteLaplace(10**6 + next(fresh)).draw(), 1),
            "lapwing discrete Gaussian, sigma near 10": (lambda: DiscreteGaussian(100 + next(fresh)).draw(), 1),
            "lapwing discrete Gaussian, sigma near 1e6": (lambda: DiscreteGaussian(10**12 + next(fresh)).draw(), 1),
            "lapwing rounded Gaussian, any sigma": (lambda: RoundedGaussian(10 + next(fresh)).draw(), 1),
            "OpenDP discrete Laplace, made and called": (partial(make_and_call, "laplace"), 1),
            "OpenDP discrete Gaussian, made and called": (partial(make_and_call, "gaussian"), 1),
        },
        rounds=3,
    )
    for law, near in (("Laplace", "scale near 10"), ("Gaussian", "sigma near 10")):
        ours, theirs = measured[f"lapwing discrete {law}, {near}"], measured[f"OpenDP discrete {law}, made and called"]
        goals.at_most(f"first draw of a discrete {law} at a new scale, beside OpenDP", theirs / ours, 1)
    table(
        "The first draw at a new scale, microseconds",
        ["call", "microseconds"],
        [[name, f"{1e6 / rate:,.0f}"] for name, rate in measured.items()],
    )


def selection() -> None:
    header = ["permute-and-flip", "exponential", "OpenDP flip", "OpenDP exponential", "diffprivlib exponential"]
    rows = []
    for candidates in (100, 1000, PEER_VECTOR):
        scores = INSECURE.integers(0, 50, candidates)
        offsets = (scores - scores.max()) << (UNIT_BITS - 3)
        floats = scores.astype(float).tolist()
        domain = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
        calls = [
            partial(noisy_max, offsets),
            partial(choose_exponential, offsets),
            partial(dp.m.make_noisy_max(*domain, dp.max_divergence(), scale=8.0), floats),
            partial(dp.m.make_noisy_max(*domain, dp.zero_concentrated_divergence(), scale=8.0), floats),
            partial(ibm_exponential, floats),
        ]
        if candidates > 1000:
            calls.pop()  # it takes minutes
        measured = rates({name: (call, 1) for name, call in zip(header, calls, strict=False)}, rounds=3)
        rows.append(
            [f"{candidates:,}", *(f"{1e6 / rate:,.0f}" for rate in measured.values()), *[""] * (5 - len(calls))]
        )
    table("Choosing one of many, microseconds (scores already on the lattice)", ["candidates", *header], rows)


def noisy_max(offsets: NDArray[np.int64]) -> int:
    return int((offsets + exponential_lattice(offsets.size).view(np.int64)).argmax())


def ibm_exponential(utility: list[float]) -> object:
    return ibm.Exponential(epsilon=0.25, sensitivity=1.0, utility=utility).randomise()


def ibm_discrete_gaussian() -> Callable[[], object]:
    return partial(ibm.GaussianDiscrete(epsilon=0.5, delta=1e-6, sensitivity=1).randomise, 0)


def randomized_response() -> None:
    ours, bits = RandomizedResponse(epsilon=1), INSECURE.integers(0, 2, MILLION)
    measured = rates(
        {
            "lapwing, a million bits": (partial(ours.release, bits), MILLION),
            "lapwing, one bit": (partial(ours.release, 1), 1),
            "OpenDP, one bit": (partial(dp.m.make_randomized_response_bool(0.75), arg=True), 1),
            "diffprivlib, one bit": (partial(ibm.Binary(epsilon=1.0, value0="0", value1="1").randomise, "1"), 1),
        },
        rounds=5,
    )
    table(
        "Randomized response, thousands of bits a second",
        ["call", "thousands"],
        [[name, f"{rate / 1e3:,.1f}"] for name, rate in measured.items()],
    )


def timing(goals: Goals) -> None:
    """Ask whether the time of a draw betrays its size: without an effect, 95 % of these lie below 0.014 or 0.03."""
    pooled = {
        "lapwing discrete Laplace, pooled": DiscreteLaplace(10).draw,
        "lapwing discrete Gaussian, pooled": DiscreteGaussian(100).draw,
        "lapwing geometric of scale 1e6, pooled": Geometric(10**6).draw,
    }
    peers = {
        "OpenDP discrete Laplace": opendp_scalar("laplace", 10.0),
        "diffprivlib GaussianDiscrete": ibm_discrete_gaussian(),
    }
    found = {name: rank_correlation(draw, 20_000) for name, draw in pooled.items()}
    found |= {name: rank_correlation(draw, 4_000) for name, draw in peers.items()}
    table(
        "Rank correlation of the time of a draw with its size",
        ["draw", "Spearman"],
        [[name, f"{correlation:+.3f}"] for name, correlation in found.items()],
    )
    for name in pooled:
        goals.at_most(f"{name}: Spearman(time, |noise|), absolute", abs(found[name]), 0.05, unit="")


def rank_correlation(draw: Callable[[], Any], draws: int) -> float:
    for _ in range(200):
        draw()
    clock, times, sizes = time.perf_counter_ns, [], []
    for _ in range(draws):
        start = clock()
        value = draw()
        times.append(clock() - start)
        sizes.append(abs(value))
    return float(spearmanr(times, sizes).statistic)


def imports(goals: Goals) -> None:
    code = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"
    spent: dict[str, list[float]] = {"lapwing": [], "numpy": []}
    for _ in range(7):
        for name, times in spent.items():
            run = [sys.executable, "-c", code.format(name)]
            times.append(float(subprocess.run(run, check=True, capture_output=True, text=True).stdout))  # noqa: S603
    best = {name: min(times) for name, times in spent.items()}
    table("Import, milliseconds", ["module", "ms"], [[name, f"{1e3 * each:.1f}"] for name, each in best.items()])
    goals.at_most("import lapwing against import numpy", best["lapwing"] / best["numpy"], 1.3)


def end_to_end(goals: Goals) -> None:
    """Time a whole release, from the value handed in to the answer, as a caller sees it."""
    whole = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    real = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    pairs = {
        "Laplace, integer": (GeometricMechanism(l1_sensitivity=1, scale=10), whole >> dp.m.then_laplace(scale=10.0)),
        "Laplace, real": (LaplaceMechanism(l1_sensitivity=1, scale=10), real >> dp.m.then_laplace(scale=10.0)),
        "Gaussian, integer": (
            DiscreteGaussianMechanism(l2_sensitivity=1, sigma_squared=100),
            whole >> dp.m.then_gaussian(scale=10.0),
        ),
        "Gaussian, real": (GaussianMechanism(l2_sensitivity=1, sigma=10), real >> dp.m.then_gaussian(scale=10.0)),
    }
    calls: dict[str, tuple[Callable[[], object], int]] = {}
    for name, (ours, theirs) in pairs.items():
        value = 17.5 if "real" in name else 17
        calls[f"lapwing {name}"] = partial(ours.release, value), 1
        calls[f"OpenDP {name}"] = partial(theirs, value), 1
    found = rates(calls)
    ratios = {name: found[f"lapwing {name}"] / found[f"OpenDP {name}"] for name in pairs}
    rows = [
        [name, f"{1e6 / found[f'lapwing {name}']:.2f}", f"{1e6 / found[f'OpenDP {name}']:.1f}", f"{ratio:.0f}x"]
        for name, ratio in ratios.items()
    ]
    table("One release, end to end, microseconds", ["mechanism", "lapwing", "OpenDP", "ratio"], rows)
    goals.at_least("one release, end to end, against OpenDP (worst of four)", min(ratios.values()), 20)


def millions(rate: float) -> str:
    return f"{rate / 1e6:,.1f}"


def beside(rate: float, peer: float | None) -> list[str]:
    return ["", ""] if peer is None else [f"{peer / 1e6:,.3g}", f"{rate / peer:,.1f}x"]


if __name__ == "__main__":
    goals = Goals()
    vectors(goals)
    scalars()
    first_draws(goals)
    selection()
    randomized_response()
    timing(goals)
    imports(goals)
    end_to_end(goals)
    goals.close()

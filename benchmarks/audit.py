"""The black box pointed at mechanisms of OpenDP and diffprivlib, and at ours beside them: `make bench-audit`.

Each suspect claims what its own library says it costs. Nothing here can show that a mechanism is private; a line that
says "refuted" shows that it is not, with a false alarm once in a million such lines. See docs/audit.md.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import diffprivlib.mechanisms as dpl
import numpy as np
import opendp.prelude as dp

import lapwing as lw
from _report import Goals, table
from lapwing.accounting import GaussianDP, Guarantee
from lapwing.auditor import audit
from lapwing.mechanisms import (
    DiscreteGaussianMechanism,
    ExponentialMechanism,
    GaussianMechanism,
    GeometricMechanism,
    LaplaceMechanism,
    PartitionSelection,
    PermuteAndFlip,
    Sensitive,
)

dp.enable_features("contrib")
warnings.simplefilter("ignore")  # diffprivlib warns of numbers that it then takes

SAMPLES = 20_000
ONE, ONE_WITH_DELTA = lw.PureDP(epsilon=1), lw.ApproximateDP(epsilon=1, delta="1e-5")
REALS = dp.vector_domain(dp.atom_domain(T=float, nan=False))
INTEGERS = dp.vector_domain(dp.atom_domain(T=int))
NEAR, FAR = (0.0, 1.0), (10, 11)
SCORES = [([0, 3], [1, 2]), ([0, 2], [1, 1]), ([0, 1], [1, 0])]


@dataclass(frozen=True)
class Suspect:
    """A mechanism, the neighbours it is drawn on, and what its library says it costs."""

    many: Callable[[Any, int], Any]
    neighbours: Any
    claim: Guarantee = ONE


def each(build) -> Callable[[Any, int], Any]:
    """Draw one after the other from a mechanism that is built for a table."""

    def many(given, n):
        draw = build(given)
        return [draw() for _ in range(n)]

    return many


def of_vectors(measurement) -> Callable[[Any, int], Any]:
    """Return many outputs at once: a coordinate each, which has noise of its own."""
    return lambda value, n: np.array(measurement([value] * n))


def randomised(mechanism) -> Callable[[Any, int], Any]:
    return lambda value, n: [mechanism.randomise(value) for _ in range(n)]


def opendp() -> dict[str, Suspect]:
    laplace = dp.m.make_laplace(REALS, dp.l1_distance(T=float), scale=1.0)
    discrete = dp.m.make_laplace(INTEGERS, dp.l1_distance(T=int), scale=1.0)
    geometric = dp.m.make_geometric(INTEGERS, dp.l1_distance(T=int), scale=1.0)
    gaussian = dp.m.make_gaussian(REALS, dp.l2_distance(T=float), scale=2.0)
    discrete_gaussian = dp.m.make_gaussian(INTEGERS, dp.l2_distance(T=float), scale=2.0)
    coin = dp.m.make_randomized_response_bool(prob=0.75)
    maximum = dp.m.make_noisy_max(INTEGERS, dp.linf_distance(T=int), dp.max_divergence(), scale=2.0)
    concentrated = dp.m.make_noisy_max(INTEGERS, dp.linf_distance(T=int), dp.zero_concentrated_divergence(), scale=1.0)
    counts = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    keys = dp.m.make_laplace_threshold(counts, dp.l01inf_distance(dp.absolute_distance(T=int)), scale=1.0, threshold=5)
    epsilon, delta = keys.map((1, 1, 1))

    def pure(measurement, distance):
        return lw.PureDP(epsilon=measurement.map(distance))

    def rho(measurement, distance):
        return lw.ConcentratedDP(rho=measurement.map(distance))

    return {
        "Laplace, floats": Suspect(of_vectors(laplace), NEAR, pure(laplace, 1.0)),
        "Laplace, integers": Suspect(of_vectors(discrete), FAR, pure(discrete, 1)),
        "geometric": Suspect(of_vectors(geometric), FAR, pure(geometric, 1)),
        "Gaussian, floats": Suspect(of_vectors(gaussian), NEAR, rho(gaussian, 1.0)),
        "Gaussian, integers": Suspect(of_vectors(discrete_gaussian), FAR, rho(discrete_gaussian, 1.0)),
        "randomized response": Suspect(each(lambda bit: lambda: coin(bit)), (True, False), pure(coin, 1)),
        "noisy max": Suspect(each(lambda scores: lambda: maximum(scores)), SCORES, pure(maximum, 1)),
        "noisy max, rho": Suspect(each(lambda scores: lambda: concentrated(scores)), SCORES, rho(concentrated, 1)),
        "keys above a threshold": Suspect(
            each(lambda counted: lambda: tuple(sorted(keys(counted).items()))),
            ({"a": 1}, {}),
            lw.ApproximateDP(epsilon=epsilon, delta=delta),
        ),
    }


def diffprivlib() -> dict[str, Suspect]:
    shared = {"epsilon": 1, "sensitivity": 1}
    with_delta = shared | {"delta": 1e-5}
    inside = shared | {"lower": 0, "upper": 20}
    return {
        "Laplace": Suspect(randomised(dpl.Laplace(**shared)), NEAR),
        "LaplaceTruncated": Suspect(randomised(dpl.LaplaceTruncated(**inside)), (10.0, 11.0)),
        "LaplaceFolded": Suspect(randomised(dpl.LaplaceFolded(**inside)), (10.0, 11.0)),
        "LaplaceBoundedDomain": Suspect(randomised(dpl.LaplaceBoundedDomain(**inside)), (0.0, 1.0)),
        "LaplaceBoundedNoise": Suspect(
            randomised(dpl.LaplaceBoundedNoise(**shared, delta=0.1)), NEAR, lw.ApproximateDP(epsilon=1, delta="0.1")
        ),
        "Snapping": Suspect(randomised(dpl.Snapping(**inside)), (10.0, 11.0)),
        "Staircase": Suspect(randomised(dpl.Staircase(**shared)), NEAR),
        "Geometric": Suspect(randomised(dpl.Geometric(**shared)), FAR),
        "GeometricTruncated": Suspect(randomised(dpl.GeometricTruncated(**inside)), FAR),
        "Gaussian": Suspect(randomised(dpl.Gaussian(**with_delta)), NEAR, ONE_WITH_DELTA),
        "GaussianAnalytic": Suspect(randomised(dpl.GaussianAnalytic(**with_delta)), NEAR, ONE_WITH_DELTA),
        "GaussianDiscrete": Suspect(randomised(dpl.GaussianDiscrete(**with_delta)), FAR, ONE_WITH_DELTA),
        "Binary": Suspect(randomised(dpl.Binary(epsilon=1, value0="a", value1="b")), ("a", "b")),
        "Exponential": Suspect(each(lambda scores: dpl.Exponential(**shared, utility=scores).randomise), SCORES),
        "PermuteAndFlip": Suspect(each(lambda scores: dpl.PermuteAndFlip(**shared, utility=scores).randomise), SCORES),
    }


def ours() -> dict[str, Suspect]:
    def many(build, kind):
        return lambda value, n: build(n).release(Sensitive(np.full(n, value, kind)))

    def chosen(mechanism):
        return each(lambda scores: lambda: mechanism.release(Sensitive(scores)))

    keys = PartitionSelection(l1_sensitivity=1, epsilon=1, delta="0.01")
    return {
        "Laplace": Suspect(
            many(lambda n: LaplaceMechanism(l1_sensitivity=1, epsilon=1, dimension=n), np.float64), NEAR
        ),
        "geometric": Suspect(many(lambda _: GeometricMechanism(l1_sensitivity=1, epsilon=1), np.int64), FAR),
        "Gaussian": Suspect(
            many(lambda n: GaussianMechanism(l2_sensitivity=1, rho="1/8", dimension=n), np.float64),
            NEAR,
            GaussianDP(mu_squared="1/4"),
        ),
        "discrete Gaussian": Suspect(
            many(lambda n: DiscreteGaussianMechanism(l2_sensitivity=1, rho="1/8", dimension=n), np.int64),
            FAR,
            lw.ConcentratedDP(rho="1/8"),
        ),
        "exponential": Suspect(chosen(ExponentialMechanism(sensitivity=1, candidates=2, epsilon=1)), SCORES),
        "permute and flip": Suspect(chosen(PermuteAndFlip(sensitivity=1, candidates=2, epsilon=1)), SCORES),
        "keys above a threshold": Suspect(
            each(lambda counted: lambda: tuple(keys.release(Sensitive(counted)).items())),
            ({"a": (1,)}, {}),
            lw.ApproximateDP(epsilon=1, delta="0.01"),
        ),
    }


def half_the_noise(count, n):
    return LaplaceMechanism(l1_sensitivity=1, epsilon=2, dimension=n).release(np.full(n, float(count)))


def main() -> None:
    libraries = {
        f"opendp {version('opendp')}": opendp(),
        f"diffprivlib {version('diffprivlib')}": diffprivlib(),
        f"lapwing {version('lapwing')}": ours(),
    }
    refuted = {}
    for library, suspects in libraries.items():
        rows = []
        for name, suspect in suspects.items():
            found = audit(
                many=suspect.many, claim=suspect.claim, neighbours=suspect.neighbours, samples=SAMPLES, name=name
            )
            sys.stderr.write(f"{library}: {found}\n")
            verdict = "REFUTED" if found.refuted else "not refuted"
            bound = f"{found.currency} >= {found.achieved:.3g}"
            rows.append([name, f"{found.claimed:.4g}", bound, verdict, f"{found.samples:,}"])
        refuted[library] = sum(row[3] == "REFUTED" for row in rows)
        table(library, ["mechanism", "claimed", "found", "verdict", "draws"], rows)
    control = audit(many=half_the_noise, claim=ONE, neighbours=(0, 1), samples=1_000)
    goals = Goals()
    goals.at_most("claims of lapwing that were refuted", refuted[f"lapwing {version('lapwing')}"], 0, "")
    goals.at_least("the control, half the noise, is refuted", float(control.refuted), 1, "")
    goals.close()


if __name__ == "__main__":
    main()

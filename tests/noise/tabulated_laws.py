"""The laws whose tables are audited entry by entry: scales from 0.1 to 1e9, tables and strips, awkward rationals."""

from fractions import Fraction

from lapwing.noise.decay import Decay

SMALL = {
    "discrete Laplace 1/10": Decay.exponential(Fraction(1, 10), sides=2),
    "discrete Laplace float 0.3": Decay.exponential(Fraction(0.3), sides=2),
    "discrete Laplace 1": Decay.exponential(Fraction(1), sides=2),
    "discrete Laplace 22/7": Decay.exponential(Fraction(22, 7), sides=2),
    "discrete Laplace 100": Decay.exponential(Fraction(100), sides=2),
    "geometric 1/10": Decay.exponential(Fraction(1, 10), sides=1),
    "geometric 10/3": Decay.exponential(Fraction(10, 3), sides=1),
    "geometric 100": Decay.exponential(Fraction(100), sides=1),
    "discrete Gaussian 1/400": Decay.gaussian(Fraction(1, 400), sides=2),
    "discrete Gaussian 1/4": Decay.gaussian(Fraction(1, 4), sides=2),
    "discrete Gaussian 7/3": Decay.gaussian(Fraction(7, 3), sides=2),
    "discrete Gaussian 100²": Decay.gaussian(Fraction(10**4), sides=2),
}
LARGE = {
    "discrete Laplace 1000 + 1/7": Decay.exponential(1000 + Fraction(1, 7), sides=2),
    "discrete Laplace 1e9": Decay.exponential(Fraction(10**9), sides=2),
    "geometric 1e6": Decay.exponential(Fraction(10**6), sides=1),
    "discrete Gaussian 600²": Decay.gaussian(Fraction(600**2), sides=2),
    "discrete Gaussian 1e12 + 1/3": Decay.gaussian(10**12 + Fraction(1, 3), sides=2),
    "discrete Gaussian 1e9²": Decay.gaussian(Fraction(10**18), sides=2),
}

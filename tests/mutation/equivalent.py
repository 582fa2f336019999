"""Mistakes that are none: what they write does the same, or errs towards more noise and more cost.

Each is named by how its title begins in a run, and has the reason why no test can or need see it.
"""

EQUIVALENT: dict[str, str] = {
    "Aggregate.counted: every([self.where, *needed]) if needed else self.where -> every([self.where, *needed])": (
        "the conjunction of one canonical condition is that condition"
    ),
    "BoundedRangeLaw._member: np.linspace(low, high, 4)": "chords dominate whatever their number; more are tighter",
    "LossChain.infinite_mass: family.infinite_mass * times -> times": "a larger mass errs towards more cost",
    "_Grid.missing: self.step ** 6 / 46000": "46000 is below 6! 64 = 46080; a smaller number leaves more in doubt",
    "_SLACKS: ": "how much of the slack a certificate takes: whatever it is, it is booked",
    "CorrelationScreen.scores: len(opened) > _MOST_PEOPLE -> len(opened) >= _MOST_PEOPLE": (
        "refuses one person sooner, who would be the last of very many"
    ),
    "SparseVector.for_margin: self._priced(Fraction(1)": "made for its refusals only, which no epsilon changes",
    "_sums_from_above: 2 * (isqrt(int(sigma_squared)) + 2).bit_length()": (
        "how many digits are carried: with fewer the bounds lie farther apart, and still hold"
    ),
    "renyi_curve: np.minimum(-np.expm1(left) + np.exp(left) * heights[:0:-1], 1.0)": (
        "profiles are at most 1 but for round-off; a larger one errs towards more cost"
    ),
    "Transaction.append_changes: self.remember(population, one.holder, one.account) -> pass": (
        "an account that is not remembered is read from the entry that was just appended"
    ),
    "_mirrored: np.full(max(0, reach + 1 - len(heights)), heights[-1])": (
        "any earlier height is larger than the last one: errs towards more cost"
    ),
    "SampledLaw._binomial: float(gammaln(alpha + 1))": "the reach only scales an allowance for round-off",
}


def is_no_mistake(title: str) -> bool:
    """Whether a mistake with this title is one of them."""
    return title.startswith(tuple(EQUIVALENT))

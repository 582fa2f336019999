"""Mistakes that are none: what they write does the same, or errs towards more noise and more cost.

Each is named by how its title begins in a run, or by all of it and the end of its line, and has the reason why no test
can or need see it.
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
    "_to_whole: np.exp(-np.maximum(x, 1.0)) -> np.exp(-np.maximum(x, 0.5))": "up to 1 the other form is taken",
    "amplified_epsilon: if e > LARGEST_EXPONENT: -> if e >= LARGEST_EXPONENT:": (
        "at the last exponent no amplification is claimed: errs towards more cost"
    ),
    "AtomicLaw.cumulant_above: 8 + len(self.pair.losses)": "an allowance for round-off, too small for tests to see",
    "_OLDEST: ": "an older SQLite lacks the sign ->> and fails at its first statement, in other words",
    "_cells: from_below = below[1:] < above[:-1] -> from_below = below[1:] <= above[:-1]": (
        "where both tails are equal either gives the mass of a cell with the same error"
    ),
    "SampledLaw.delta: self.sampling is Sampling.WITHOUT_REPLACEMENT and x < 0 -> "
    "self.sampling is Sampling.WITHOUT_REPLACEMENT and x <= 0": "at 0 both forms of the profile are the same number",
    "_one_coordinate: np.arange(-reach, reach + 1, dtype=np.float64) -> np.arange(-reach, reach + 0": (
        "what is left out lies beyond 15 deviations, and its mass is booked at infinity"
    ),
    "Spectrum._include: low, high = law.span(1e-30)": "the reach only scales an allowance for round-off",
    "terms_of: return 0": "the number of roundings only scales an allowance for round-off",
    "Transaction.population: self.news.populations.get(name) or self._cache.populations.get(name) or (0, None) -> "
    "self.news.populations.get(name) or self._cache.populations.get(name) or (": "without a state nothing is compared",
    "Transaction.reservation: self.news.reservations.get(name) or self._cache.reservations.get(name) or (0, None) -> "
    "self.news.reservations.get(name) or self._cache.reservations.get(name) or (": "without one nothing is compared",
    "Transaction._state: self.news.accounts.get(whose) or self._cache.accounts.get(whose) or (0, None) -> "
    "self.news.accounts.get(whose) or self._cache.accounts.get(whose) or (": "without a state nothing is compared",
    "_log_peak: np.log(2 * np.pi * far) / 2 -> np.log(2 * far) / 2": "a larger bound: margins are wider",
    "PureStreamMechanism.reservation: if opening is None: -> if False:": "every such stream has an opening price",
    "_PRECISIONS: ": "with how many bits it is tried: in doubt a count stays plausible, and bounds are wider",
    "_DELTAS_OF_PAIR: ": "where a pair is looked at closely: whatever they are, the least of the bounds is one",
    "Spectrum.epsilon: (high, 1.25 * high + 1e-09)": "how a search goes on: what it returns was found to be enough",
    "GaussianLaw.members: low, high = self.span(1e-32)": "what lies outside goes to the lowest point or to infinity",
    "_epsilon: _CLOSE * target.epsilon < found < math.inf -> _CLOSE * target.epsilon <= found < math.inf": (
        "whether it is tried once more: the least of two bounds is one"
    ),
    "_Conditions.__init__: self.constants = 0 -> self.constants = 1": "one of twenty thousand parameters fewer",
    "_may_be_as_far: max(0, shown_low - near_high) -> max(-1, shown_low - near_high)": (
        "a lower bound that is lower by one unit: in doubt a count stays plausible"
    ),
    "Window.epsilon: cell == 0 and start == 0 and (losses[0] > 0) -> cell == 0 and start == 0 and (losses[0] >= 0)": (
        "it is looked at once more with a gentler tilt, which gives a bound as well"
    ),
    "short: stacklevel=": "which line of the caller a warning names",
    "TopCounts._counts_people: planner.one_a_person or isinstance(self.counted, CountPeople) -> isinstance(": (
        "rows of a table with one row a person are people, and the plan of their count is the same"
    ),
    "allow_in: transaction.remember(known.name, analyst, change.account) -> pass": (
        "an account that is not remembered is read from the entry that was just appended"
    ),
    "raise_in: transaction.remember(known.name, None, change.account) -> pass": (
        "an account that is not remembered is read from the entry that was just appended"
    ),
    "of_derived: Number('the day of a week'": "the numbers of all days, a week more or less, are within 64 bits",
    "LazyConnection.undo: self._connection is not None and self._begun -> self._begun": (
        "what has begun has a connection: whoever drops it says that nothing has begun"
    ),
    "_of_bounding: _sum('the total', rows * low, rows * high, rows=MOST_ROWS) -> _sum('the total', low, ": (
        "a part that is below zero was refused on the line before"
    ),
    "PricedLoss.is_attained: all((law.is_attained for law, _ in self.factors)) -> any(": (
        "fewer bounds are looked at, of which the least is taken: errs towards more cost"
    ),
    "LEAST: ": "nothing lies below minus infinity, on whichever side of it",
    "_case_type: any((isinstance(result, bool) for result in results)) -> all(": "a case gives results of one kind",
    "Table.__post_init__: most=2 ** 20 -> most=2 ** 21": "how many rows may be declared: another limit is as good",
    "_is_absurd: max(map(abs, law.span(_RARE))) -> min(map(abs, law.span(_RARE)))": (
        "a law with one end that lies far away is composed all the same, which gives a bound as well"
    ),
    "_line: raise BadQuestionError(": "a column of text is refused on every way that leads there",
    "spoiling: if len(group) == 1: -> if False:": "what fails alone is tried once more alone, and fails as before",
    "_replanned: (aggregate.cell_count or 0) * aggregate.terms -> (aggregate.cell_count or 0) + aggregate.terms": (
        "a larger release is shared than one question may have: more work, at the same price"
    ),
    "_in_each_cell: plan.aggregate.cells or () -> plan.aggregate.cells\n": "what is shared has groups that are public",
    "StddevQuestion.called: {'of': self.values[0], 'sample': self.sample} -> {'of': self.values[-1]": (
        "a deviation is that of one value"
    ),
    "Store.known_population: self._cache.populations.get(name, (0, None)) -> self._cache.populations.get(name, (": (
        "of what is not known there is no number to compare"
    ),
    "Reservations.seen: replace(known, versions=decided.tables) if known and decided else None -> "
    "replace(known, versions=decided.tables) if known else": "whoever reads a stream reads its population with it",
    "in_each_way: default=0 -> default=-1": "a range to -1 is as empty as one to 0",
    "_SLOW: ": "about how long a price takes: whatever it is, it only decides whether a total is computed",
    "StateCache.heed: if record['kind'] == 'charge': -> if False:": "a charge that is not kept is read from its entry",
}


def is_no_mistake(title: str) -> bool:
    """Whether a mistake with this title is one of them."""
    return f"{title}\n".startswith(tuple(EQUIVALENT))

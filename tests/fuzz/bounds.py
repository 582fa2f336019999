"""How far a plan may move between two neighbours, by its price; and what exceeds it, in words.

Noise is priced by the sensitivity of the plan. A choice is priced by its lattice: what decides is how far two
candidates move apart there. Keys that only the data knows are priced by how many one person has. A stream is priced by
its movement, which speaks of all its questions together.
"""

from fractions import Fraction
from itertools import accumulate

from engines.neighbours import excess
from lapwing.answers.target import AtEpsilon, release_of
from lapwing.mechanisms.enclosed_quantiles import EnclosedQuantiles
from lapwing.mechanisms.histogram_selection import ranks
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.queries.planning.plan import Family
from lapwing.queries.statistics.quantiles import Quantiles
from lapwing.vocabulary.guarantee import PureDP

_EPSILON = Fraction(1)


def exceeded(plan, before, after):
    """Return what `plan` says about two neighbours that is not true of its numbers, or nothing.

    The numbers are a tuple where the cells are public, and a dict by cell where they are not.
    """
    if len(before) != len(after) and plan.aggregate.cells is not None:
        return ["its shape"]
    found = excess(plan.sensitivity, _moves(before, after))
    match plan.family:
        case Family.THRESHOLD:
            return found + _excess_of_keys(plan, before, after)
        case Family.SELECTION:
            return found + _excess_of_choice(plan, before, after)
        case _:
            return found


def is_tight(plan, before, after):
    """Say whether one person moved the numbers just as far as the price allows: then the bound has been tried."""
    return sum(map(abs, _moves(before, after))) == plan.sensitivity.l1


def _moves(before, after):
    if isinstance(before, tuple):
        return [b - a for a, b in zip(before, after, strict=True)]
    cells = before.keys() | after.keys()
    terms = max((len(numbers) for numbers in (*before.values(), *after.values())), default=0)
    none = (0,) * terms
    return [b - a for cell in cells for a, b in zip(before.get(cell, none), after.get(cell, none), strict=True)]


def _excess_of_keys(plan, before, after):
    """Compare the keys: a person brings no more than the bound, and one of theirs alone counts no more than they do."""
    people, changed = plan.unit.protects_groups_of, before.keys() ^ after.keys()
    alone = max((count for cell in changed for count in (*before.get(cell, ()), *after.get(cell, ()))), default=0)
    found = {"how many keys change": len(changed) > plan.sensitivity.l1, "a key of their own": alone > people}
    return [name for name, is_so in found.items() if is_so]


def _excess_of_choice(plan, before, after):
    """Compare the scores where they meet the noise: no two candidates move apart by more than the price allows."""
    release = release_of(plan, AtEpsilon(epsilon=_EPSILON), PureDP(epsilon=_EPSILON))
    choice = getattr(release.mechanism, "choice", release.mechanism)  # where what is chosen is counted, too
    for number, one in enumerate(_choosers(choice)):
        scores = [_scores(plan, choice, number, numbers) for numbers in (before, after)]
        a, b = (one.lattice.offsets(each) for each in scores)
        apart = int((b - a).max() - (b - a).min())
        if apart > one.event.epsilon * 2**one.lattice.unit_bits:
            return [f"the scores of choice {number}"]
        if not isinstance(plan.meaning, Quantiles):
            break  # the next choices are among fewer of the same counts
    return []


def _choosers(choice):
    """Return what makes each choice; around an enclosed quantile both cells are chosen by the same."""
    if isinstance(choice, EnclosedQuantiles):
        return [one for one in choice.choosers for _ in range(2)]
    return choice.selectors


def _scores(plan, choice, number, counts):
    if not isinstance(plan.meaning, Quantiles):
        return list(counts)
    place, shift = number, 0
    if isinstance(choice, EnclosedQuantiles):
        place, side = divmod(number, 2)
        shift = (-choice.shifts[place][0], choice.shifts[place][1])[side]
    return ranks(list(accumulate(counts, initial=0)), choice.at[place], shift)


def exceeded_by_stream(unit, before, after):
    """Return what the numbers of many cohorts, asked in one stream, exceed of its movement, or nothing."""
    moves = [b - a for a, b in zip(before, after, strict=True)] or [0]
    rise, span = ValueSensitivity.of_counts(unit.adjacency, people=unit.protects_groups_of).in_steps(Fraction(1))
    up, down = max(*moves, 0), max(*(-move for move in moves), 0)
    found = {"the rise of a stream": max(up, down) > rise, "the span of a stream": up + down > span}
    return [name for name, is_so in found.items() if is_so]

"""A table that was counted by stratum, taken apart: for each stratum the counts of it, as secret as they came.

Proof: proofs/published_marginals.md
"""

from collections.abc import Sequence

from lapwing.mechanisms.noise_mechanism import wrong_size
from lapwing.vocabulary.exact import Sensitive


def by_stratum(counts: "Sensitive[tuple[int, ...]]", strata: int) -> list["Sensitive[tuple[int, ...]]"]:
    """Return the counts of each stratum, of a table whose strata come one after the other, with as many cells each.

    >>> by_stratum(Sensitive((1, 2, 3, 4)), 2)
    [<sensitive>, <sensitive>]
    """
    opened: Sequence[int] = counts.open_for_release()
    size, rest = divmod(len(opened), strata)
    if rest:
        del opened
        raise wrong_size(strata, "hand in as many cells for each stratum")
    return [Sensitive(tuple(opened[place * size : (place + 1) * size])) for place in range(strata)]

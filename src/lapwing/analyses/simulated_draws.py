"""Draws that protect nobody: simulations of public laws, from a seed that everybody may know.

Noise that protects people comes from `lapwing.noise` and from nowhere else, and no guest may import that. What is drawn
here decides no release: it says how wide an interval is, or how often a null would look like what was released.
"""

from typing import TypeAlias

import numpy as np

SimulatedDraws: TypeAlias = np.random.Generator  # noqa: TID251 - of simulations, which see released numbers only


def draws_from(seed: int) -> SimulatedDraws:
    """Return draws that are the same for the same seed."""
    return np.random.default_rng(seed)  # noqa: TID251 - see above

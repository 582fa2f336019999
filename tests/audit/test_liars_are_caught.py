"""Watching is enough: every liar that sampling can catch is caught, with as few draws as are stated.

An honest twin of each passes elsewhere: `test_shipped_mechanisms.py`. Those that need millions of draws are left to
`make audit` (`subtle.py`), and what no sample shows, to the exact computation.
"""

import numpy as np
import pytest

from audit.broken_mechanisms import LIARS, PLAIN_LIARS, on_a_grid
from lapwing.auditor.black_box import audit
from lapwing.auditor.liars import STREAM_LIARS

SUBTLE = {"returns_the_value_it_compared_with_twice_the_noise"}
DRAWS = {
    "leaves_the_questions_without_noise": 1_000,
    "tells_the_gap_of_values_off_the_lattice": 1_000,
    "asks_again_with_fresh_noise_after_a_crash": 2_000,
    "never_stops": 12_500,
    "leaves_the_threshold_without_noise": 12_500,
    "pushes_the_threshold_down_with_one_sided_noise": 12_500,
}
"""Of each table, to confirm what was chosen; 100,000 for all others."""


def columns(transcripts):
    """What was said, and the numbers, whose lowest bits must not be what gives the liar away."""
    return np.hstack([transcripts.said, on_a_grid(transcripts.told)])


@pytest.mark.parametrize("liar", PLAIN_LIARS.values(), ids=PLAIN_LIARS)
def test_a_false_release_is_caught(liar) -> None:
    rng = np.random.default_rng(7)
    found = audit(
        many=lambda table, n: liar.draw(table, rng, n),
        claim=liar.claim,
        neighbours=liar.neighbours,
        samples=liar.samples,
    )
    assert found.refuted, found


@pytest.mark.parametrize("liar", [one for one in STREAM_LIARS if one.name not in SUBTLE], ids=lambda liar: liar.name)
def test_a_false_sparse_vector_is_caught(liar) -> None:
    rng = np.random.default_rng(7)
    found = audit(
        many=lambda values, n: columns(LIARS[liar.name](values, rng, n)),
        claim=liar.claim,
        neighbours=tuple(tuple(map(float, side)) for side in (liar.pair.here, liar.pair.there)),
        samples=DRAWS.get(liar.name, 100_000),
    )
    assert found.refuted, found

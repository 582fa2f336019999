"""How far a ladder reaches, against its law number by number, and what its mechanism is built of."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from lapwing.mechanisms.graphs.graph_releases import LadderMechanism, _reach
from lapwing.mechanisms.graphs.ladders import Stars, Triangles
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ExponentialSelection
from lapwing.vocabulary.exact import Sensitive

LADDERS = [([1, 2, 3], Fraction(1, 10)), ([4, 0, 7], Fraction(1)), ([0, 0, 5], Fraction(1, 3)), ([9], Fraction(1, 50))]


def chances_within(widths, rate, far=30_000):
    """Return the probability to be at most 0, 1, ... away, from the definition."""
    rungs = [0]
    for rung in itertools.count(1):
        rungs += [rung] * widths[min(rung, len(widths)) - 1]
        if len(rungs) > far:
            break
    weights = np.exp(-float(rate) * np.array(rungs[: far + 1])) * np.where(np.arange(far + 1) == 0, 1, 2)
    return np.cumsum(weights / weights.sum())


@pytest.mark.parametrize(("widths", "rate"), LADDERS, ids=str)
@pytest.mark.parametrize("confidence", ["0.05", "0.5", "0.95", "0.9999"])
def test_a_reach_holds_with_its_confidence_and_is_not_a_rung_too_long(widths, rate, confidence) -> None:
    chances, wanted = chances_within(widths, rate), Fraction(confidence)
    reach = _reach(widths, rate, wanted)
    assert chances[reach] >= float(wanted)
    assert reach <= max(widths) or chances[reach - max(widths) - 1] < float(wanted)


def test_a_ladder_without_width_reaches_nowhere() -> None:
    assert LadderMechanism(shape=Stars(points=5), people=4, epsilon=1).margin_if(3) == 0


def test_a_mechanism_pays_for_as_many_edges_as_are_hidden_together() -> None:
    one, three = (LadderMechanism(shape=Triangles(), people=9, epsilon=1, edges=edges) for edges in (1, 3))
    assert one.event == three.event == ExponentialSelection(epsilon=1)
    assert (one.rate, three.rate) == (Fraction(1, 2), Fraction(1, 6))


def test_wrapped_pairs_and_a_mapping_of_pairs_are_opened() -> None:
    mechanism = LadderMechanism(shape=Triangles(), people=4, epsilon=20)
    pairs = {(1, 2): (1,), (2, 3): (1,), (3, 1): (4,)}
    assert abs(mechanism.release(Sensitive(pairs)) - 1) < 40


@pytest.mark.parametrize(
    "wrong", [{"people": 2}, {"epsilon": 0}, {"edges": 0}, {"epsilon": 41}, {"epsilon": "1e-9", "edges": 200}]
)
def test_a_mechanism_refuses_what_is_no_graph_and_no_price(wrong) -> None:
    with pytest.raises(ParameterError):
        LadderMechanism(**({"shape": Triangles(), "people": 5, "epsilon": 1} | wrong))

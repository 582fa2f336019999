"""The pairs of a graph are the same on every engine, whatever the rows hold."""

from dataclasses import replace

import pytest

from engines.rows_in_memory import RowsInMemory
from engines.workbenches import ENGINES
from graphs.friends import EDGES, ROWS, population
from lapwing.graphs.pair_tables import plan_pairs, read_pair_table

TOWN = replace(population(), tables=population().tables[:1])


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "rows"])
def test_engines_agree_on_the_edges(name, request) -> None:
    aggregate = plan_pairs(TOWN, read_pair_table(TOWN, "friend", ("one", "other"))).aggregate
    rows = [{"edge": i, "one": one, "other": other, "year": 2000} for i, (one, other) in enumerate(ROWS)]
    rows += [{"edge": 3, "one": 1, "other": 2, "year": 2000}, {"edge": None, "one": 1, "other": 2, "year": 2000}]
    with ENGINES[name](TOWN, request) as bench:
        bench.load({"friend": rows})
        found = bench.keyed(aggregate).open_for_release()
        assert found == RowsInMemory(TOWN, {"friend": rows}).keyed(aggregate).open_for_release()
        edges = {frozenset(pair) for pair in found}
        assert len(edges ^ {frozenset(pair) for pair in EDGES}) <= 2, "one key has two pairs, of which one is picked"

"""Statements of the whole language, always the same, are answered as DuckDB answers them; `make fuzz` has others."""

import math
from collections import Counter
from contextlib import closing
from random import Random

from fuzz.truth import BOUNDS, CLINIC, PLACES, Place, run
from lapwing.queries.planning.planner import plan_together
from lapwing.queries.statements.select import read_sql

TEXTS, SEED = 1_400, 20_261_118


def test_no_number_is_another_than_that_of_the_database() -> None:
    tally = run(math.inf, SEED, most=TEXTS)
    assert tally["drawn"] == TEXTS
    assert tally["compared"] >= TEXTS * 3 // 4, tally


CORRELATION = """
select year(day), corr(t.nights, t.cost - 1) from visits t
where t."left" >= date '2000-09-15' - interval 14 month group by year(day)
"""


def test_a_correlation_is_off_by_what_the_grid_of_its_products_allows() -> None:
    """The nine terms of a row may sum to 30^2 * 1050^2, and have 7,751,953 steps together: 128 to a step.

    So each average of values from 0 to 1 is moved by less than 9/(7,751,953 - 9), three of them make a covariance or a
    variance, and a correlation is moved by at most 6 * 1.2e-6 over the least spread of the two values (`allowed`).
    """
    (plan,) = plan_together(read_sql(CORRELATION, **BOUNDS).questions, CLINIC).values()
    assert plan.aggregate.bounding.most == 30**2 * 1050**2 // 2**7 == 7_751_953
    with closing(Place(Random("77 0"), *PLACES[0])) as place:
        tally = Counter[str]()
        place.look(CORRELATION, tally, shared=True)
        assert tally["numbers"] == 5
        assert max(sorted(place.moved(plan).values())[:5]) < 2e-3  # in the other groups there is nobody

"""Pictures have the scale of what is known, and time goes to the right."""

import math

import pytest

from lapwing.answers.frames import is_time
from lapwing.queries.algebra.aggregate import DeclaredKey
from lapwing.show.figures import draw_panels
from lapwing.show.panels import Panel

YEARS = [str(year) for year in range(2000, 2008)]
MEANS = [50.0, 51.0, None, None, 52.0, None, 53.0, 54.0]


def panel(*, over_time: bool) -> Panel:
    lows = [0.0 if mean is None else mean - 1 for mean in MEANS]
    highs = [1e6 if mean is None else mean + 1 for mean in MEANS]
    return Panel("mean", YEARS, MEANS, lows, highs, from_zero=False, over_time=over_time)


@pytest.mark.parametrize("over_time", [True, False])
def test_groups_of_whom_nothing_is_known_do_not_rule_the_scale(over_time) -> None:
    (axes,) = draw_panels([panel(over_time=over_time)], title="t", caption="").axes
    low, high = axes.get_ylim() if over_time else axes.get_xlim()
    assert 45 < low < 50
    assert 54 < high < 60


def test_a_line_does_not_lead_over_what_is_not_known() -> None:
    (axes,) = draw_panels([panel(over_time=True)], title="t", caption="").axes
    line = next(one for one in axes.lines if one.get_linestyle() == "-")
    assert [None if math.isnan(value) else value for value in line.get_ydata()] == MEANS


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ((1999, 2000, 2001), True),
        ((1999, 2001, 2002), False),
        ((1999, 2000), False),
        ((1, 2, 3), False),
        (("1999", "2000", "2001"), False),
        ((True, False), False),
    ],
)
def test_whole_numbers_that_people_write_for_years_are_years(values, wanted) -> None:
    assert is_time(DeclaredKey(column="c", values=values, missing=False)) is wanted

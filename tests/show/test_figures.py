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


def small(name: str, means: list[float | None], *, over_time: bool) -> Panel:
    return Panel(name, YEARS, means, means, means, from_zero=False, over_time=over_time, alike=[40.0, 60.0])


@pytest.mark.parametrize("over_time", [True, False])
def test_several_keys_are_small_pictures_on_one_scale(over_time) -> None:
    panels = [small(name, [50.0 + i] * 8, over_time=over_time) for i, name in enumerate("abcde")]
    axes = draw_panels(panels, title="t", caption="").axes
    shown = [one for one in axes if one.get_visible()]
    assert [one.get_title() or one.get_title("left") for one in shown] == list("abcde")
    scales = {one.get_ylim() if over_time else one.get_xlim() for one in shown}
    assert len(scales) == 1
    assert shown[2].xaxis.get_tick_params()["labelbottom"], "below it there is none"
    assert panels[0].extent == (39.2, 60.8), "also where it is drawn as SVG"

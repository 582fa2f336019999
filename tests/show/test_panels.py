"""What is drawn by hand: the scale of what is known, no line over what is not, and no word that is not escaped."""

import itertools
import re
from dataclasses import replace

import pytest
from markupsafe import Markup, escape

from lapwing.show.maps import GridCell, draw_grid
from lapwing.show.panels import Panel, are_periods, draw_panel
from lapwing.show.strokes import Drawing

YEARS = [str(year) for year in range(2000, 2008)]
MEANS = [50.0, 51.0, None, None, 52.0, None, 53.0, 54.0]


def means(*, over_time: bool) -> Panel:
    lows = [0.0 if mean is None else mean - 1 for mean in MEANS]
    highs = [1e6 if mean is None else mean + 1 for mean in MEANS]
    return Panel("mean", YEARS, MEANS, lows, highs, from_zero=False, over_time=over_time)


def counts(*values: float, low: float = 0, high: float = 0) -> Panel:
    lows, highs = [value - low for value in values], [value + high for value in values]
    return Panel("n", [*map(str, range(len(values)))], values, lows, highs, from_zero=True, over_time=False)


def numbers(drawn: str, stroke: str, *names: str) -> list[tuple[float, ...]]:
    """Return the attributes of all strokes of a kind, in their order."""
    return [
        tuple(float(re.search(rf'\b{name}="([-\d.]+)"', one)[1]) for name in names)
        for one in re.findall(rf"<[^>]*{stroke}[^>]*>", drawn)
    ]


@pytest.mark.parametrize("over_time", [True, False])
def test_groups_of_whom_nothing_is_known_do_not_rule_the_scale(over_time) -> None:
    low, high = means(over_time=over_time).extent
    assert 48 < low < 49
    assert 55 < high < 56


def test_a_line_does_not_lead_over_what_is_not_known() -> None:
    drawn = draw_panel(means(over_time=True), "t")
    runs = [one.count("L") + 1 for one in re.findall(r'd="(M[^"]*)" class="c-line"', drawn)]
    assert runs == [2, 1, 2]
    assert drawn.count("×") == MEANS.count(None)


def test_amounts_begin_at_zero_and_others_do_not() -> None:
    drawn = draw_panel(counts(10, 20, low=2, high=2), "t")
    (first, half), (second, whole) = numbers(drawn, "c-fill", "x", "width")
    assert first == second == 12
    assert whole == pytest.approx(2 * half, abs=0.2)
    assert "c-fill" not in draw_panel(means(over_time=False), "t")


def test_an_amount_below_zero_goes_to_the_left_of_zero() -> None:
    (below, width), (above, _) = numbers(draw_panel(counts(-10, 10), "t"), "c-fill", "x", "width")
    assert below + width == pytest.approx(above, abs=0.2)


def test_an_interval_that_reaches_below_zero_is_drawn_whole_and_to_scale() -> None:
    panel = counts(10, 50, low=40, high=40)
    assert panel.extent == (-30, 90)
    ends = [(a, b) for a, b in numbers(draw_panel(panel, "t"), "c-err", "x1", "x2") if a != b]
    (bar, width), _ = numbers(draw_panel(panel, "t"), "c-fill", "x", "width")
    assert ends[0][1] - ends[0][0] == pytest.approx(ends[1][1] - ends[1][0], abs=0.2), "both margins are 40"
    assert ends[0][0] + ends[0][1] == pytest.approx(2 * (bar + width), abs=0.3), "the value is in the middle"


def test_an_interval_over_time_that_reaches_below_zero_is_drawn_whole() -> None:
    panel = Panel("t", ["2000", "2001"], [10, 50], [-30, 10], [50, 90], True, True)  # noqa: FBT003
    area = re.search(r'd="M([^"]*)Z" class="c-area"', draw_panel(panel, "t"))[1]
    heights = [float(point.split()[1]) for point in area.split("L")]
    assert heights[0] - heights[3] == pytest.approx(heights[1] - heights[2], abs=0.2), "both margins are 40"


def test_amounts_that_are_all_below_zero_have_zero_on_their_scale() -> None:
    panel = counts(-30, -20, low=5, high=5)
    assert panel.extent == (-35, 0)
    bars, words = (
        numbers(draw_panel(panel, "t"), *one) for one in (("c-fill", "x", "width"), ("t-strong-s", "x", "y"))
    )
    assert all(at > left + width for (left, width), (at, _) in zip(bars, words, strict=True)), "no number is on its bar"


def test_a_period_that_was_not_over_stands_apart_and_is_no_fall() -> None:
    values = [40.0, 42.0, 41.0, 3.0]
    panel = Panel("n", ["2021", "2022", "2023", "2024"], values, values, values, from_zero=True, over_time=True)
    whole, apart = draw_panel(panel, "n"), draw_panel(replace(panel, unfinished=("2024",)), "n")
    (longer,), (shorter,) = (re.findall(r'd="([^"]*)" class="c-line"', one) for one in (whole, apart))
    assert longer.count("L") == shorter.count("L") + 1
    assert (apart.count("c-soon"), apart.count("c-no"), apart.count(">incomplete<")) == (1, 1, 1)
    assert (whole.count("c-soon"), whole.count("incomplete")) == (0, 0)


def test_rows_without_a_day_have_no_place_in_time() -> None:
    panel = Panel("n", ["2000", "2001", "(missing)"], [5, 6, 900], [4, 5, 890], [6, 7, 910], True, True)  # noqa: FBT003
    assert panel.extent[1] == 7
    assert draw_panel(panel, "t").count("c-todo") == 1


def test_of_nothing_that_is_known_there_is_no_picture() -> None:
    assert draw_panel(Panel("m", ["a"], [None], [0], [9], False, False), "t") == ""  # noqa: FBT003
    without_days = Panel("n", ["2000", "2001", "(missing)"], [None, None, 5], [0, 0, 4], [9, 9, 6], True, True)  # noqa: FBT003
    assert draw_panel(without_days, "t") == ""


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        (["2024-01", "2024-02"], True),
        (["1999", "2000", "(missing)"], True),
        (["2000", "1999"], False),
        (["2000", "2000"], False),
        (["20", "40"], False),
        (["north", "south"], False),
        (["2024", "(missing)"], False),
    ],
)
def test_labels_are_time_where_they_are_periods_in_their_order(labels, wanted) -> None:
    assert are_periods(labels) is wanted


def test_every_word_is_escaped_once() -> None:
    panel = Panel("n", ["<b> & 'c'"], [1], [0], [2], True, False)  # noqa: FBT003
    drawn = draw_panel(panel, Markup("x &amp; y"))
    assert "&lt;b&gt; &amp; &#x27;c&#x27;" in drawn
    assert 'aria-label="x &amp; y"' in drawn
    assert escape(drawn) == Markup().join([drawn]) == drawn, "a template takes it as it is"


def test_a_notebook_gets_the_colours_that_a_page_has_in_its_style_sheet() -> None:
    for drawn in (
        draw_panel(counts(10, 20, low=2, high=2), "t"),
        draw_panel(means(over_time=True), "t"),
        draw_panel(means(over_time=False), "t"),
        draw_grid(
            [GridCell({"sex": one}, above, "") for one, above in zip("FMX", (True, False, None), strict=True)], "t"
        ),
    ):
        assert isinstance(drawn, Drawing)
        assert "fill=" not in drawn.replace("fill-opacity", "")
        shown = drawn._repr_svg_()
        assert re.findall(r'class="(?:[ct]-|quiet|t")', shown) == []
        assert shown.startswith('<svg xmlns="http://www.w3.org/2000/svg"')


def test_a_grid_says_yes_no_and_nothing() -> None:
    cells = [GridCell({"a": a, "b": b}, {"11": True, "12": False}.get(a + b), "") for a in "12" for b in "123"]
    drawn = draw_grid(cells, "t")
    assert re.findall(r'class="t-cell"[^>]*>([^<]*)<', drawn) == ["yes", "no", "–", "–", "–", "–"]
    assert drawn.count('class="c-cell-unsure"') == 4


@pytest.mark.parametrize(("labels", "most"), [(YEARS * 5, 8), ([f"{y}-Q{q}" for y in YEARS for q in (1, 2, 3, 4)], 4)])
def test_labels_of_time_do_not_run_into_each_other(labels, most) -> None:
    ones = [1.0] * len(labels)
    drawn = draw_panel(Panel("n", labels, ones, ones, ones, True, True), "t")  # noqa: FBT003
    shown = [one for one in labels if f">{one}</text>" in drawn]
    places = [at for at, _ in numbers(drawn, 'text-anchor="middle"', "x", "y")]
    assert 2 <= len(places) <= most
    assert min(b - a for a, b in itertools.pairwise(places)) > 10 * len(shown[0])

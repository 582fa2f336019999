"""An answer by several keys is drawn as small pictures, one for each of what the other keys are."""

from datetime import date

import pytest

import lapwing as lw
from lapwing.answers.pictures import multiples_of, panels_of

pytestmark = pytest.mark.one_budget("a picture is drawn from an answer, whatever it was paid from")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    lines = "".join(f"{i},{'AB'[i % 2]},{date(2020 + i % 4, 1, 1)},{i % 3 == 0}\n" for i in range(400))
    (folder / "people.csv").write_text(f"id,kind,day,ill\n{lines}")
    (folder / "lapwing.toml").write_text("""
[populations.clinic]
person_key = "id"
budget = { epsilon = "100" }
[populations.clinic.tables.people]
source = "people.csv"
[populations.clinic.tables.people.columns]
kind = { type = "category", values = ["A", "B"] }
day = { type = "date", first = 2020-01-01, last = 2023-12-31 }
ill = { type = "boolean" }
""")
    with lw.create(folder) as workspace:
        yield workspace.session()


def drawn(clinic, text):
    answer = clinic.sql(text, epsilon=4)
    return answer, multiples_of(answer.asked, answer.bounded("0.95"))


def test_time_goes_along_and_the_other_keys_have_a_picture_each(clinic) -> None:
    answer, panels = drawn(clinic, "select year(day) as y, kind, count(*) as n from people group by 1, 2")
    assert [panel.name for panel in panels] == ["A", "B"]
    assert all(panel.over_time and panel.labels == ["2020", "2021", "2022", "2023"] for panel in panels)
    told = {(row.key[1], str(row.key[0])): row["n"] for row in answer.rows}
    for panel in panels:
        assert [told[panel.name, label] for label in panel.labels] == panel.values
    assert panels[0].extent == panels[1].extent
    assert answer._repr_html_().count("inline-block") == 2


def test_without_a_time_the_last_key_goes_down(clinic) -> None:
    _, panels = drawn(clinic, "select kind, ill, count(*) as n from people group by 1, 2")
    assert [(panel.name, list(panel.labels), panel.over_time) for panel in panels] == [
        ("A", ["false", "true"], False),
        ("B", ["false", "true"], False),
    ]


def test_what_having_leaves_out_has_its_place_in_time(clinic) -> None:
    _, panels = drawn(
        clinic, "select kind, year(day) as y, count(*) as n from people group by 1, 2 having count(*) > 50"
    )
    assert all(list(panel.labels) == ["2020", "2021", "2022", "2023"] for panel in panels)
    assert [value is None for value in panels[0].values] == [False, True, False, True], (
        "A is even, and came in even years"
    )


@pytest.mark.parametrize(
    "text",
    [
        "select kind, count(*) as n from people group by 1",
        "select kind, ill, count(*) as n, avg(case when ill then 1 else 0 end) as share from people group by 1, 2",
    ],
)
def test_one_key_and_several_statistics_are_as_they_were(clinic, text) -> None:
    answer, panels = drawn(clinic, text)
    assert panels == panels_of(answer.asked, answer.bounded("0.95"))

"""A number of all beside those of groups: a question of its own, whose noise is in the interval of every group."""

import lapwing as lw
from budgets import KindOfBudget

SHARE = (
    "select kind, count(*) * 100.0 / (select count(*) from people) as share, (select count(*) from people) as n "
    "from people group by kind"
)


def test_each_group_is_told_with_the_one_number_of_all(budget: KindOfBudget, tmp_path) -> None:
    rows = "\n".join(f"{n},{'ab'[n % 4 == 0]}" for n in range(2000))
    (tmp_path / "people.csv").write_text(f"id,kind\n{rows}\n")
    settings = f"""
[populations.town]
person_key = "id"
budget = {budget.toml(90)}
[populations.town.tables.people]
source = "people.csv"
[populations.town.tables.people.columns]
kind = {{ type = "category", values = ["a", "b"] }}
"""
    with lw.create(tmp_path, settings) as workspace:
        session = workspace.session()
        answer = session.sql(SHARE, **{budget.currency: "20"})
        (a, b) = answer.rows
        assert a["n"] == b["n"]
        assert (a.cells["n"].low, a.cells["n"].high) == (b.cells["n"].low, b.cells["n"].high)
        assert abs(a["share"] - 75) < 1
        assert abs(b["share"] - 25) < 1
        for row, exactly in ((a, 75), (b, 25)):
            assert row.cells["share"].low <= exactly <= row.cells["share"].high, "noise is nearly nothing here"
        assert session.sql(SHARE, **{budget.currency: "20"}).free
        few = session.sql(f"{SHARE} having count(*) > 1000 order by share", **{budget.currency: "20"})
        assert [row["kind"] for row in few.rows] == ["a"]

"""Planning a survey by page: what will be seen, and the files that are handed out. Nothing is kept or charged."""

import json

import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run
from doors.server.pages.visitors import text_of, title_of

pytestmark = pytest.mark.one_budget("a survey touches no budget: each device pays by itself")

ASKED = {
    "question": "Do you smoke?",
    "answers": "never\nsometimes\n\ndaily",
    "epsilon": "1",
    "round": "June",
    "people": "10,000",
}


def test_the_plan_is_that_of_python(pages) -> None:
    page = pages.browser("gina").get("/surveys", params=ASKED)
    plan = lw.survey(["never", "sometimes", "daily"], epsilon=1).plan(people=10_000)
    told = text_of(page)
    assert f"{100 * plan.share:.2g} % {plan.smallest} people" in told
    assert f"± {plan.margin} people, for a rare answer" in told
    assert "2.719 times as likely" in told
    assert title_of(pages.browser("ana").get("/surveys", headers={"Accept-Language": "de"})) == "Eine Umfrage planen"


def test_the_files_are_those_of_the_prompt(pages, tmp_path) -> None:
    ana = pages.browser("ana")
    kept = ana.get("/surveys/json", params=ASKED)
    assert kept.headers["content-disposition"] == 'attachment; filename="survey-june.json"'
    (tmp_path / "survey-june.json").write_text(kept.text)
    asked = lw.survey(["never", "sometimes", "daily"], epsilon=1, question="Do you smoke?", round="June")
    for kind in ("py", "html"):
        assert ana.get(f"/surveys/{kind}", params=ASKED).text == asked.client(kind)
    assert json.loads(kept.text)["round"] == "June"
    planned = run(tmp_path, "survey", "plan", str(tmp_path / "survey-june.json"), "--people", "10000")
    assert planned.code == 0, planned
    assert ana.get("/surveys/exe", params=ASKED).status_code == 404


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"epsilon": "0"}, "epsilon"),
        ({"people": "many"}, "is no number of people"),
        ({"answers": "only one"}, "answers"),
        ({"answers": "\n".join(map(str, range(300)))}, "are more than 200"),
    ],
)
def test_what_cannot_be_asked_says_why(pages, changed, says) -> None:
    page = pages.browser("ana").get("/surveys", params={**ASKED, **changed})
    assert page.status_code == 200
    assert "Not ready yet" in text_of(page)
    assert says in text_of(page)
    assert "Hand it out" not in text_of(page)

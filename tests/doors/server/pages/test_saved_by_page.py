"""Saved questions and boards under every kind of budget: no number before it is paid for, one price, all or none."""

import html
import re

import pytest

import lapwing as lw
from doors.server.pages.visitors import MEN, P, field_of, pages_of, text_of
from lapwing.doors.server.pages.saved_pages import total_text

ASKED = {
    "men": {**MEN, "kind": "count", "within": "30"},
    "by year": {"kind": "time", "day": "visit.day", "step": "year", "within": "100"},
    "mean": {"kind": "value", "stat": "mean", "of": "patient.bmi", "epsilon": "0.2", "rho": "0.01"},
}
STATEMENT = {"q": "select sex, count(*) as n from patient group by sex", "pay": "within", "within": "40"}


def save(browser, fields, name, folder="asthma", place="ask"):
    return browser.post(f"{P}/saved/{place}", {**fields, "saved_name": name, "saved_folder": folder})


def charges(pages) -> int:
    with lw.open_workspace(pages.door.folder) as workspace:
        return len(workspace.ledger.entries("clinic", kinds=["charge"], limit=500))


def paid_last(pages, times: int, currency: str) -> str:
    """Return what the last charges cost together, as pages show it."""
    with lw.open_workspace(pages.door.folder) as workspace:
        found = workspace.ledger.entries("clinic", kinds=["charge"], newest_first=True, limit=times)
    costs = [one["account"]["lines"][0]["cost"] for one in found]
    return total_text([{"delta": "0", **one} for one in costs], currency)


def board_of(browser, **words):
    return browser.get(f"{P}/saved/board", params={"folder": "asthma", **words})


def press(browser, board):
    sent = {name: field_of(board, name) for name in ("key", "folder", "shown")}
    return browser.post(f"{P}/saved/board", sent)


def test_a_board_has_one_price_and_is_asked_by_one_button(pages, budget) -> None:
    ana, before = pages.browser("ana"), charges(pages)
    for name, fields in ASKED.items():
        assert save(ana, fields, name).status_code == 303
    assert save(ana, STATEMENT, "by <sex>", place="sql").status_code == 303
    listed = ana.get(f"{P}/saved")
    assert "Open the board of 4 questions" in text_of(listed)
    assert "<sex>" not in listed.text
    links = [html.unescape(one) for one in re.findall(rf'<td><a href="({P}/[^"]*)"', listed.text)]
    assert len(links) == 4
    for link in links:
        opened = ana.get(link)
        assert "Show the answer" not in text_of(opened)
        assert re.search(r'<button id="ask"[^>]*>[^<]*[ερ] ', opened.text), text_of(opened)
    board = board_of(ana, answers="1")
    assert "4 questions have to be paid for" in text_of(board)
    assert 'class="hero"' not in board.text
    assert charges(pages) == before, "looking is free"
    assert re.search(r"Ask all · [ερ] [\d.]+", text_of(board)), text_of(board)
    asked = press(ana, board)
    assert asked.status_code == 303, text_of(asked)
    assert f"Ask all · {paid_last(pages, 4, budget.currency)}" in text_of(board), "what is shown is what is charged"
    assert charges(pages) == before + 4
    shown = ana.get(asked.headers["location"])
    assert "all were asked before" in text_of(shown)
    assert shown.text.count('class="hero"') == 2
    assert "<svg" in shown.text
    assert "Ask all" not in text_of(shown)
    assert "hero" not in board_of(ana).text, "the link of a board shows no number"
    assert charges(pages) == before + 4


def test_saved_questions_are_their_analysts_alone_and_can_be_deleted(pages) -> None:
    ana, cleo = pages.browser("ana"), pages.browser("cleo")
    save(ana, ASKED["men"], "mine", folder="")
    assert "mine" not in text_of(cleo.get(f"{P}/saved"))
    place = re.findall(rf'action="({P}/saved/[^"]*/delete)"[^>]*>', ana.get(f"{P}/saved").text)[0]
    assert cleo.post(place).status_code == 404
    assert ana.post(place).status_code == 303
    assert "mine" not in text_of(ana.get(f"{P}/saved"))


@pytest.mark.one_budget("what is refused here has no price")
def test_what_cannot_be_saved_is_refused(pages) -> None:
    ana = pages.browser("ana")
    assert "needs a name" in text_of(save(ana, ASKED["men"], " "))
    assert save(ana, {"kind": "enough", **MEN}, "a stream").status_code == 422
    assert save(ana, {"kind": "count"}, "nobody").status_code == 422
    assert save(ana, {"q": ""}, "nothing", place="sql").status_code == 422
    assert save(ana, ASKED["men"], "n" * 101).status_code == 422
    save(ana, {"q": "select secret from patient", "within": "9"}, "wrong", folder="odd", place="sql")
    odd = ana.get(f"{P}/saved/board", params={"folder": "odd"})
    assert "1 question cannot be asked as it is" in text_of(odd)


@pytest.mark.one_budget("a changed board is shown again under every budget alike")
def test_a_board_that_changed_after_its_price_was_shown_is_not_asked(pages) -> None:
    ana, before = pages.browser("ana"), charges(pages)
    save(ana, {**ASKED["men"], "within": "10"}, "fine", folder="asthma")
    board = board_of(ana)
    save(ana, {**ASKED["men"], "within": "custom", "custom": "11"}, "finer", folder="asthma")
    assert press(ana, board).status_code == 409
    assert charges(pages) == before


@pytest.mark.one_budget("a new version makes answers of before old under every budget alike")
def test_what_was_free_when_the_price_was_shown_is_not_charged_after_the_data_changed(pages) -> None:
    ana = pages.browser("ana")
    for custom in ("41", "42"):
        save(ana, {**ASKED["men"], "within": "custom", "custom": custom}, custom, folder="two")
        board = ana.get(f"{P}/saved/board", params={"folder": "two"})
        assert custom == "42" or press(ana, board).status_code == 303
    assert "1 question has to be paid for" in text_of(board)
    before = charges(pages)
    assert pages.browser("cleo").post(f"{P}/custody/tables/patient/versions").status_code == 303
    assert press(ana, board).status_code == 409
    assert charges(pages) == before


def test_a_board_that_does_not_fit_is_refused_as_a_whole(quick_path, budget) -> None:
    with pages_of(quick_path, budget, "0.3" if budget.currency == "epsilon" else "0.005", people=50) as pages:
        ana = pages.browser("ana")
        for age in (20, 30, 40, 50):
            fields = {"p0.include": "in", "p0.c0.of": "patient.age", "p0.c0.age.low": str(age)}
            save(ana, {**fields, "kind": "count", "within": "30"}, f"from {age}")
        refused = press(ana, board_of(ana))
        assert refused.status_code == 402, text_of(refused)
        assert "Nothing was asked" in text_of(refused)
        assert charges(pages) == 0

"""Which of several saved questions has the largest answer, by page: a price first, one name, one charge."""

import re

import pytest

import lapwing as lw
from doors.server.pages.test_saved_by_page import charges, save
from doors.server.pages.visitors import MEN, P, pressed, text_of

WOMEN = {**MEN, "p0.c0.sex.in": "F"}
CHOOSE = f"{P}/saved/choose"
FEW = {"p0.include": "in", "p0.c0.of": "patient.age", "p0.c0.age.low": "99"}


def test_one_name_is_released_for_the_price_of_one_question(pages, budget) -> None:
    ana, before = pages.browser("ana"), charges(pages)
    assert "two saved questions or more" in text_of(ana.get(CHOOSE, params={"folder": "which"}))
    for name, fields in (("men", MEN), ("women", WOMEN), ("very old", FEW)):
        assert save(ana, {**fields, "kind": "count", "within": "30"}, name, "which").status_code == 303
    assert save(ana, {**MEN, "kind": "groups", "by": "site", "within": "30"}, "sites", "which").status_code == 303
    assert "Only which is the largest" in text_of(ana.get(f"{P}/saved/board", params={"folder": "which"}))
    told = {"folder": "which", "epsilon": "1", "use": ["men", "very old"]}
    page = ana.get(CHOOSE, params=told)
    assert "sites" not in text_of(page), "what has groups has no one number"
    assert re.search(rf"Choose · {budget.sign} [\d.]+", text_of(page)), text_of(page)
    assert charges(pages) == before
    sent = ana.post(CHOOSE, {**told, **pressed(page)})
    assert sent.status_code == 303, text_of(sent)
    assert charges(pages) == before + 1
    answer = ana.get(sent.headers["location"])
    assert answer.status_code == 200
    assert "No other of them has an answer that is over" in text_of(answer)
    assert "±" not in text_of(answer), "a name is off by nothing"
    with lw.open(pages.door.folder, analyst="ana") as session:
        asked = {"men": lw.count("patient", "sex = 'M'"), "very old": lw.count("patient", "age >= 99")}
        assert str(session.choose(asked, epsilon="1").value) in text_of(answer)
    assert "Show the answer · free" in text_of(ana.get(CHOOSE, params=told))
    assert charges(pages) == before + 1
    again = ana.post(CHOOSE, {**told, "use": ["men", "women"], **pressed(page)})
    assert again.status_code == 409, "what was changed after its price was shown is not paid for"
    assert charges(pages) == before + 1


@pytest.mark.one_budget("words are the same under every kind")
def test_what_is_no_price_says_so(pages) -> None:
    ana = pages.browser("ana")
    for name, fields in (("men", MEN), ("women", WOMEN)):
        save(ana, {**fields, "kind": "count", "within": "30"}, name, "words")
    assert "is no epsilon" in text_of(ana.get(CHOOSE, params={"folder": "words", "epsilon": "much"}))
    german = ana.get(CHOOSE, params={"folder": "words"}, headers={"Accept-Language": "de"})
    assert "Wählen · ε" in text_of(german)

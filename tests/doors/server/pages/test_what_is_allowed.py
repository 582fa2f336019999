"""Pages offer what will be answered: in the way to pay that the rules allow, and again for nothing."""

import re
import tomllib

import pytest

from doors.server.pages.visitors import MEN, pages_of, text_of

COUNT = {**MEN, "kind": "count", "within": "custom", "custom": "30"}
STREAM = {"kind": "enough", "at_least": "100", "stream": "new", "yeses": "2", "sure": "30"}


def button_of(page):
    return re.search(r'<button id="ask"[^>]*>', page.text)[0]


def declared(pages):
    return tomllib.loads((pages.door.folder / "lapwing.toml").read_text())["populations"]["clinic"]


def with_rule(declared: str, amount: str, currency: str) -> str:
    rule = f'policy.most = {{ {currency} = "{amount}" }}'
    return re.sub(r"(?m)^(budget = .*)$", rf"\1\n{rule}", declared, count=1)


def test_a_count_is_offered_in_the_way_that_the_rules_allow(quick_path, budget) -> None:
    """A rule in epsilon alone is meant at the delta of an (epsilon, delta) budget: noise of Gauss is allowed by it."""
    with pages_of(quick_path, budget, declared=lambda text: with_rule(text, "1", budget.currency)) as pages:
        ana = pages.browser("ana")
        drawn = ana.draft(COUNT)
        assert "disabled" not in button_of(drawn)
        assert "at most" not in text_of(drawn)
        assert ana.ask(COUNT).status_code == 303


@pytest.mark.one_budget("the rule is refused in the words of each kind in tests/session/test_affordable.py")
def test_what_no_rule_allows_is_not_offered(quick_path, budget) -> None:
    with pages_of(quick_path, budget, declared=lambda text: with_rule(text, "1e-6", budget.currency)) as pages:
        ana = pages.browser("ana")
        drawn = ana.draft(COUNT)
        assert "disabled" in button_of(drawn)
        assert re.search(rf"of population 'clinic' at most {budget.currency} \S+ may be", text_of(drawn))
        assert ana.ask(COUNT).status_code == 403


def test_what_a_stream_was_asked_before_is_shown_again_for_nothing(pages) -> None:
    ana = pages.browser("ana")
    first = ana.answer({**MEN, **STREAM})
    stream = re.search(r'/ask\?[^"]*stream=(\w+)', first.text)[1]
    entries = len(ana.get(f"{pages.address}/populations/clinic/streams").text)
    again = ana.answer({**MEN, **STREAM, "stream": stream})
    assert "Yes there are at least 100, after noise" in text_of(again)
    assert re.search(r"lapwing:[0-9a-f:]+", first.text)[0] == re.search(r"lapwing:[0-9a-f:]+", again.text)[0]
    assert len(ana.get(f"{pages.address}/populations/clinic/streams").text) == entries, "it has answered one question"


def test_the_most_of_a_question_is_kept_as_it_was_written_when_something_else_is_saved(quick_path, budget) -> None:
    """Also a delta of more digits than are shown, and an epsilon under a budget in rho."""
    third = "1/3000000"
    written = {"epsilon": "1/2"} | ({} if budget.delta is None else {"delta": third})
    rule = ", ".join(f'{name} = "{given}"' for name, given in written.items())

    def with_it(text: str) -> str:
        text = text.replace('delta = "1e-6"', f'delta = "{third}"')
        return f"{text}\n[populations.clinic.policy]\nmost = {{ {rule} }}\n"

    with pages_of(quick_path, budget, declared=with_it) as pages:
        cleo, place = pages.browser("cleo"), "/populations/clinic/custody/policy"
        shown = cleo.get(place).text
        fields = dict(re.findall(r'<input name="(budget|delta|most|most_delta)"[^>]*? value="([^"]*)"', shown))
        assert fields["most"] == "0.5"
        assert ("most_delta" in fields) is (budget.delta is not None)
        before = declared(pages)
        assert cleo.post(place, {**fields, "noes": "7"}).status_code == 303
        after = declared(pages)
        assert after["policy"].pop("noes_a_day") == 7
        assert after == before


@pytest.mark.parametrize("at_page", ["/custody/policy", "/custody/policy/analysts"])
def test_the_most_of_a_question_has_a_delta_where_the_budget_has_one(quick_path, budget, at_page) -> None:
    with pages_of(quick_path, budget) as pages:
        cleo, place = pages.browser("cleo"), f"/populations/clinic{at_page}"
        given = {"most": "0.5", "analyst": "ana", "allowance": "2", "delta": budget.delta or ""}
        most = {budget.currency: "0.5"} | ({} if budget.delta is None else {"delta": "1e-8"})
        sent = cleo.post(place, {**given, "most_delta": most.get("delta", "")})
        assert sent.status_code == 303
        kept = declared(pages)
        assert (kept["analysts"]["ana"] if at_page.endswith("analysts") else kept["policy"])["most"] == most
        alone = cleo.post(place, {**given, "most": "", "most_delta": "1e-8"})
        assert (alone.status_code, "This is not a budget" in text_of(alone)) == (422, True)

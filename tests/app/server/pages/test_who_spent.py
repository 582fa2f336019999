"""What a custodian finds out when a budget is used up: who spent what, and what more would mean."""

import re
from datetime import UTC, datetime
from fractions import Fraction

import lapwing as lw
from app.server.pages.visitors import MEN, P, pages_of, text_of
from lapwing.accounting.filters.account import Account, open_account
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.app.server.pages.accounts import spent_words
from lapwing.app.server.pages.frame import above
from lapwing.app.server.pages.page_words import words_of
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.guarantee import ApproximateDP


def test_a_custodian_finds_out_who_spent_what_and_decides_a_request(pages) -> None:
    ana, cleo = pages.browser("ana"), pages.browser("cleo")
    assert ana.ask({**MEN, "kind": "count", "within": "25"}).status_code == 303
    fields = {**MEN, "kind": "enough", "at_least": "100", "stream": "new", "sure": "30", "yeses": "2"}
    assert ana.ask(fields).status_code == 303
    assert "nothing waits for you" in text_of(cleo.get(P))
    assert ana.post(f"{P}/account/requests", {"wanted": "1", "purpose": "asthma"}).status_code == 303
    assert "1 request for more budget waits for you" in text_of(cleo.get(P))
    assert "waits for you" not in text_of(ana.get(P))
    seen = text_of(cleo.get(f"{P}/custody"))
    assert "becomes 99.6 % at most under the budget of now, and 99.8 % after a yes" in seen  # e^10 / 99, e^11 / 99
    assert re.search(r"It buys one of these: Rough counts, within 100 people \d+ Usual", seen)
    with lw.open_workspace(pages.door.folder) as workspace:
        own = workspace.ledger.spent_by("clinic")["ana"].filters["everyone"]
    day = datetime.now(UTC).date().isoformat()
    assert f"ana ε {above(own.spent)} ε {above(own.reserved)} – 2 {day}" in seen
    assert cleo.post(f"{P}/custody/requests/1", {"granted": "no"}).status_code == 303
    ledger = text_of(cleo.get("/custody/ledger"))
    assert "cleo request refused (request 1 of ana) clinic" in ledger
    assert re.search(r"ana charged clinic ε [\d.]+", ledger)
    assert re.search(r"ana stream opened clinic ε [\d.]+ and ε [\d.]+ set aside", ledger)


def test_custody_counts_in_the_currency_of_the_budget(tmp_path) -> None:
    with pages_of(tmp_path, declared=lambda text: re.sub(r"budget = .*", 'budget = { rho = "1" }', text)) as pages:
        ana, cleo = pages.browser("ana"), pages.browser("cleo")
        assert ana.ask({**MEN, "kind": "count", "within": "25"}).status_code == 303
        assert ana.post(f"{P}/account/requests", {"wanted": "1", "purpose": "asthma"}).status_code == 303
        seen = text_of(cleo.get(f"{P}/custody"))
        assert re.search(r"ana ρ [\d.]+ – – 1 20", seen)
        assert "It buys one of these" in seen
        assert re.search(r"ana charged clinic ρ [\d.]+", text_of(cleo.get("/custody/ledger")))


def test_what_an_epsilon_delta_budget_cannot_add_up_is_said_as_what_would_fit() -> None:
    fresh = open_account(ApproximateDP(epsilon=Fraction(3), delta=Fraction(1, 10**6)))
    noise = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(100))
    charged = fresh.admit(SingleRelease(event=noise))
    assert isinstance(charged, Account)
    assert spent_words(fresh, words_of("en")) == ("ε 0", "")
    assert spent_words(charged, words_of("en"))[0] == f"has no sum here; alone they would leave {charged.remaining()}"

"""What a custodian finds out when a budget is used up: who spent what, and what more would mean."""

import re
from datetime import UTC, datetime
from fractions import Fraction

import pytest

import lapwing as lw
from budgets import PURE, RHO, WITH_DELTA
from doors.server.pages.visitors import MEN, P, pages_of, text_of
from lapwing.accounting.filters.account import Account, open_account
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.doors.server.pages.accounts import spent_words
from lapwing.doors.server.pages.frame import above
from lapwing.vocabulary.event import GaussianNoise


def test_a_custodian_finds_out_who_spent_what_and_decides_a_request(pages, budget) -> None:
    ana, cleo = pages.browser("ana"), pages.browser("cleo")
    assert ana.ask({**MEN, "kind": "count", "within": "25"}).status_code == 303
    fields = {**MEN, "kind": "enough", "at_least": "100", "stream": "new", "sure": "30", "yeses": "2"}
    assert ana.ask(fields).status_code == 303
    assert "nothing waits for you" in text_of(cleo.get(P))
    assert ana.post(f"{P}/account/requests", {"wanted": "1", "purpose": "asthma"}).status_code == 303
    assert "1 request for more budget waits for you" in text_of(cleo.get(P))
    assert "waits for you" not in text_of(ana.get(P))
    seen = text_of(cleo.get(f"{P}/custody"))
    assert "of somebody who knows everybody else's data, a belief of 1 % that she is in the table" in seen
    beliefs = "becomes 99.6 % at most under the budget of now, and 99.8 % after a yes"  # e^10 / 99, e^11 / 99
    assert (beliefs in seen) is (budget.name == "epsilon"), "only an epsilon alone bounds every belief"
    assert re.search(r"It buys one of these: Rough counts, within 100 people [\d,]+ Usual", seen)
    with lw.open_workspace(pages.door.folder) as workspace:
        (own,) = workspace.ledger.spent_by("clinic")["ana"].filters.values()
        shares = workspace.ledger.account("clinic").shares
    day = datetime.now(UTC).date().isoformat()
    if budget.name == "epsilon":
        assert f"ana ε {above(own.spent)} ε {above(own.reserved)} – 2 {day}" in seen
    elif budget.name == "rho":
        assert f"ana ρ {above(own.spent)} – – 2 {day}" in seen
    else:
        whole = open_account(budget.promise(10), shares=shares).remaining().gaussian
        assert f"ana {above(100 - 100 * Fraction(own.residue) / whole)} % – – 2 {day}" in seen
    assert cleo.post(f"{P}/custody/requests/1", {"granted": "no"}).status_code == 303
    ledger = text_of(cleo.get("/custody/ledger"))
    assert "cleo request refused (request 1 of ana) clinic" in ledger
    sign = {"epsilon": "ε", "rho": "ρ"}[budget.currency]
    assert re.search(rf"ana charged clinic the number of people, in patient where sex is 'M' {sign} [\d.]+", ledger)
    aside = r" and ε [\d.]+ set aside" if budget.name == "epsilon" else r" ana"
    opened = "A stream for “at least 100\\?”, with up to 2 yeses\\."
    assert re.search(rf"ana stream opened clinic {opened} {sign} [\d.]+{aside if aside != ' ana' else ''}", ledger)


@pytest.mark.parametrize(
    ("kind", "amount", "said"),
    [
        (PURE, "1", "becomes 2.7 % at most"),  # e/99 in odds
        (WITH_DELTA, "1", "becomes 3.0 % (but for one case in 100,000) at most"),  # e/99 * 10/9
        (RHO, "0.125", "becomes 13.7 % (but for one case in 1,000,000) at most"),  # 1/8 + 2 sqrt(ln(10^6)/8)
    ],
)
def test_custody_says_whose_belief_a_budget_bounds_and_how_rarely_it_does_not(quick_path, kind, amount, said) -> None:
    whose = "of somebody who knows everybody else's data, a belief of 1 % that she is in the table"
    with pages_of(quick_path, kind, amount, people=50) as pages:
        ana, cleo = pages.browser("ana"), pages.browser("cleo")
        assert ana.post(f"{P}/account/requests", {"wanted": "1", "purpose": "asthma"}).status_code == 303
        assert f"{whose} {said} under the budget of now" in text_of(cleo.get(f"{P}/custody"))
        shown = text_of(cleo.get(f"{P}/custody/policy"))
        loud = text_of(cleo.post(f"{P}/custody/policy/draft", {"budget": "50"}))
    assert "Somebody knows everybody else's data." in shown
    assert ("But for one case in" in shown) == ("but for" in said)
    assert "lets an attacker's odds grow" in loud
    assert "lets an attacker's odds grow" not in shown


def test_what_an_epsilon_delta_budget_cannot_add_up_is_said_as_a_part_of_it(budget) -> None:
    fresh = open_account(budget.promise(3))
    noise = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(100))
    charged = fresh.admit(SingleRelease(event=noise))
    assert spent_words(fresh) == ("0", "")
    if budget.name == "epsilon":
        assert not isinstance(charged, Account), "it has no pure epsilon"
    elif budget.name == "rho":
        assert spent_words(charged) == ("ρ 0.005", "")
    else:
        part = Fraction(1, 100) / fresh.remaining().gaussian
        assert spent_words(charged) == (f"{above(100 * part)} %", "")

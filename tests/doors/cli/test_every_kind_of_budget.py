"""Every command that shows or spends a budget, under every kind of budget: what it says agrees with the ledger."""

from fractions import Fraction
from math import tanh

import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run
from lapwing.answers.budget import amounts
from lapwing.vocabulary.wording import format_exact

ASKS = {
    "count at an epsilon": ("count", "patients", "--where", "age > 40", "--epsilon", "0.1"),
    "count within": ("count", "patients", "--where", "age > 41", "--within", "40"),
    "count by groups": ("count", "patients", "--by", "sex", "--within", "40"),
    "mean": ("ask", "mean", "patients", "age", "--epsilon", "0.2"),
    "median": ("ask", "median", "patients", "age", "--epsilon", "0.2"),
    "select": ("sql", "select sex, count(*) as n, avg(age) as a from patients group by 1", "--epsilon", "0.2"),
    "funnel": ("funnel", "patients", "--step", "sex = 'M'", "--step", "age > 60", "--within", "50"),
    "at least": ("ask", "--at-least", "500", "patients", "--epsilon", "0.2"),
}
LOOKS = {
    "budget": ("budget",),
    "tables": ("tables",),
    "history": ("history",),
    "ledger": ("ledger", "show"),
    "verify": ("ledger", "verify"),
    "requests": ("requests", "list"),
    "check": ("check",),
    "streams": ("stream", "list"),
}


def status_of(folder, analyst: str = "ana"):
    with lw.open(folder, analyst=analyst) as session:
        return session.budget()


@pytest.fixture
def used(clinic):
    """A workspace in which something was asked in every way, with a stream that is open and a request that waits."""
    for name, words in ASKS.items():
        told = run(clinic, *words)
        assert told.code == 0, (name, told)
    opened = run(clinic, "stream", "open", "--name", "s", "--at-least", "900", "--yeses", "2", "--epsilon", "0.5")
    assert opened.code == 0, opened
    assert run(clinic, "stream", "ask", "s", "age > 90").code == 0
    return clinic


def test_what_is_asked_is_told_in_the_same_words_everywhere_and_charged(clinic, budget) -> None:
    for name, words in ASKS.items():
        before = status_of(clinic)
        looked = run(clinic, *words, "--dry-run", "--json")
        assert looked.code == 0, (name, looked)
        assert status_of(clinic).account == before.account, name
        told = run(clinic, *words, "--json")
        assert told.code == 0, (name, told)
        after = status_of(clinic).account
        assert after != before.account, name
        if budget.currency == "rho":
            took = amounts(after)[0] - amounts(before.account)[0]
            price = told.json.get("price") or told.json["cost"]
            if isinstance(price, dict) and price.get("rho") is not None:
                assert took == pytest.approx(Fraction(price["rho"])), (name, price)


def test_every_look_agrees_with_the_ledger(used, budget) -> None:
    asked = run(used, "requests", "make", f"--{budget.currency}", "1", "--for", "more")
    assert asked.code == 0, asked
    for name, words in LOOKS.items():
        told = run(used, *words)
        assert told.code == 0, (name, told)
    status = status_of(used)
    spent, reserved, left = (format_exact(one) for one in amounts(status.account))
    shown = run(used, "budget", "--json").json
    assert (shown["spent"], shown["reserved"]) == (spent, reserved)
    assert shown["left"] == status.to_dict()
    assert shown["left"]["amount"] == left
    assert shown["left"]["currency"] == budget.currency


def test_a_custodian_decides_in_the_currency_of_the_budget(used, budget) -> None:
    made = run(used, "requests", "make", f"--{budget.currency}", "1", "--for", "more", "--json").json
    assert made["more"] == {budget.currency: "1"}
    granted = run(used, "requests", "grant", str(made["id"]), "--json")
    assert granted.code == 0, granted
    assert status_of(used).account.budget == budget.promise(31)
    foreign = "epsilon" if budget.currency == "rho" else "rho"
    assert run(used, "requests", "make", f"--{foreign}", "1", "--for", "more").code != 0
    for words in (("suspend",), ("suspend", "--end"), ("advance", "patients"), ("ledger", "verify")):
        told = run(used, *words)
        assert told.code == 0, (words, told)


def test_history_and_ledger_tell_prices_in_the_currency_of_the_account(used, budget) -> None:
    for words in (("history", "--all"), ("ledger", "show")):
        told = run(used, *words, columns=400).out
        assert ("epsilon" in told.replace("epsilon 30", "")) is (budget.currency == "epsilon"), told
        assert ("rho" in told) is (budget.currency == "rho"), told
        assert ("reserved" in told) is (budget.currency == "epsilon"), "only sums of epsilon set something aside"


def test_every_price_is_said_in_the_currency_of_the_account(clinic, budget) -> None:
    """Also that of noise, of a choice or of a stream that has an epsilon, where the account is in rho."""
    asked = {name: run(clinic, *words, columns=400).out for name, words in ASKS.items()}
    opened = run(clinic, "stream", "open", "--name", "s", "--at-least", "9", "--yeses", "2", "--epsilon", "0.5")
    assert ("set aside" in opened.out) is (budget.name == "epsilon")
    asked |= {"stream show": run(clinic, "stream", "show", "s", columns=400).out.partition("so far")[2]}
    asked |= {"stream list": run(clinic, "stream", "list").out, "stream close": run(clinic, "stream", "close", "s").out}
    for name, told in asked.items():
        costs = "\n".join(line for line in told.splitlines() if not line.startswith("left"))
        assert ("rho" in costs and "epsilon" not in costs) or budget.currency == "epsilon", (name, told)
        assert "epsilon" in costs or budget.name != "epsilon", (name, told)
    once = run(clinic, "ask", "--at-least", "501", "patients", "--epsilon", "0.2", "--json").json
    rho = once["spent_rho"]
    assert (rho is not None) is (budget.currency == "rho")
    assert rho is None or float(Fraction(rho)) == pytest.approx(0.2 * tanh(0.1), rel=1e-6)

"""Every command that shows or spends a budget, under every kind of budget: what it says agrees with the ledger."""

from fractions import Fraction
from math import tanh

import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run, start, write_patients
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


def test_a_look_says_the_price_and_what_would_be_left_and_costs_nothing(used, budget) -> None:
    before = status_of(used)
    for words in (
        ("preview", "count", "patients", "--where", "age > 50", "--within", "40"),
        ("preview", "select avg(age) from patients where age > 50", "--epsilon", "0.2"),
        ("preview", "patients", "--at-least", "200", "--yeses", "2", "--epsilon", "0.5"),
    ):
        told = run(used, *words, "--json").json
        assert (told["affordable"], told["left"]) == (True, before.to_dict()), words
        assert told["left_afterwards"]["fits"]["pure_epsilon"] < told["left"]["fits"]["pure_epsilon"], words
        assert told["left_afterwards"]["currency"] == budget.currency
        lines = dict(line.split(maxsplit=1) for line in run(used, *words, columns=400).out.splitlines())
        assert budget.currency in lines["cost"], words
        assert budget.currency in lines["left"], words
    assert run(used, "explain", "mean", "patients", "age").code == 0
    assert run(used, "add", "again", "--source", str(used / "patients.csv"), "--integer", "age=0..120").code == 0
    assert status_of(used).account == before.account


def test_a_budget_rises_in_its_currency_and_what_was_spent_stays_spent(used, budget) -> None:
    spent = amounts(status_of(used).account)[0]
    settings = used / "lapwing.toml"
    settings.write_text(settings.read_text().replace(budget.toml(30), budget.toml(40)))
    told = run(used, "update", columns=400)
    assert f"{budget.currency} 40" in told.out, told
    account = status_of(used).account
    assert (account.budget, amounts(account)[0]) == (budget.promise(40), spent)
    settings.write_text(settings.read_text().replace(budget.toml(40), budget.toml(30)))
    assert run(used, "update").code == 2


def test_what_was_told_elsewhere_is_written_off_in_the_currency_of_the_budget(used, budget) -> None:
    before = status_of(used)
    words = ("write-off", "--reason", "told on paper", "--yes", "--json")
    told = run(used, *words, f"--{budget.currency}", "0.4").json
    after = status_of(used)
    assert told["left"] == after.to_dict() == run(used, "budget", "--json").json["left"]
    assert after.remaining.pure < before.remaining.pure
    if budget.adds_up:
        assert amounts(after.account)[0] - amounts(before.account)[0] == Fraction("0.4")
    assert run(used, *words, f"--{budget.currency}", "40").code == 3
    assert status_of(used).account == after.account
    assert run(used, *words, "--all").code == 0
    assert run(used, "count", "patients", "--where", "age > 70", "--within", "40").code == 3


def test_what_a_crash_left_stays_charged_and_is_settled(clinic) -> None:
    died = start(clinic, *ASKS["count within"], LAPWING_FAULT="ask.charged:kill")
    assert died.code == -9
    charged = status_of(clinic).account
    assert amounts(charged)[0] > 0
    assert run(clinic, "recover", "--json").json["settled"] == 1
    assert status_of(clinic).account == charged


def test_a_second_host_shares_the_account(database, quick_path, budget) -> None:
    place = dict(part.split("=") for part in database.split())
    address = f"postgresql:///{place['dbname']}?host={place['host']}&user={place['user']}"
    first, second = quick_path / "first", quick_path / "second"
    made = run(first, "init", str(first), "--person-key", "patient_id", *budget.options(3), "--ledger", address)
    assert made.code == 0, made
    write_patients(first)
    assert run(first, "add", "patients", "--source", str(first / "patients.csv"), "--integer", "age=0..120").code == 0
    assert run(first, "count", "patients", "--within", "40").code == 0
    joined = run(second, "join", str(second), "--ledger", address, "--key", str(first / "stream.key"))
    assert joined.code == 0, joined
    assert status_of(second).account.budget == budget.promise(3)
    told, own = (run(one, "budget", "--json").json for one in (second, first))
    assert (told["spent"], told["left"]) == (own["spent"], own["left"])
    assert told["spent"] != "0"

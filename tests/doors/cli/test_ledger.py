"""What a sceptic sees: everything, checked from the first entry on, and again from an export."""

import json

import duckdb
import pytest

import lapwing as lw
from accounting import reference
from doors.cli.at_the_prompt import RECEIPT, run

pytestmark = pytest.mark.one_budget(
    "what is said under an epsilon, to the letter; test_every_kind_of_budget has every command under every kind"
)


@pytest.fixture
def used(clinic):
    run(clinic, "count", "patients", "--epsilon", "1")
    run(clinic, "stream", "open", "--at-least", "9", "--yeses", "1", "--epsilon", "2", "--name", "s")
    run(clinic, "stream", "ask", "s", "age < 90")
    return clinic


def test_the_entries_are_shown(used) -> None:
    told = run(used, "ledger", "show", "--last", "5")
    lines = [line.split() for line in told.out.splitlines()]
    assert lines[0] == ["entry", "at", "kind", "by", "what"]
    assert [line[3] if "-" in line[1] else line[1] for line in lines[1:]] == [
        *("charge", "answer", "opening", "intent", "outcome"),
    ]
    assert "epsilon 1" in told.out
    record = run(used, "ledger", "show", "--last", "2", "--json").json
    assert (record["shown"], record["all"]) == (2, 7)
    assert [entry["kind"] for entry in record["entries"]] == ["intent", "outcome"]
    assert run(used, "ledger", "show", "--population", "school").code == 2


def test_questions_that_a_stream_was_asked_together_are_told_together(clinic) -> None:
    (clinic / "conditions.txt").write_text("age < 0\nage >= 0\n")
    run(clinic, "stream", "open", "--at-least", "90", "--yeses", "2", "--epsilon", "10", "--name", "x")
    assert run(clinic, "stream", "ask", "x", "--file", str(clinic / "conditions.txt")).code == 0
    shown = run(clinic, "ledger", "show", "--last", "2").out.splitlines()[1:]
    assert [line.partition(" x ")[2] for line in shown] == ["questions 1 to 2", "questions 1 to 2 1 yes, 1 no"]


def test_a_sound_ledger_is_found_sound(used) -> None:
    told = run(used, "ledger", "verify")
    assert told.out.startswith("Sound: 7 entries.\n")
    (receipt,) = RECEIPT.findall(told.out)
    assert run(used, "ledger", "verify", "--receipt", receipt, "--json").json == {
        "sound": True,
        "entries": 7,
        "receipts": 1,
        "head": receipt,
    }


def test_an_older_copy_is_found_out_by_a_receipt(used, made_once) -> None:
    receipt = run(used, "count", "patients", "--where", "age < 4", "--epsilon", "1", "--json").json["receipt"]
    told = run(made_once, "ledger", "verify", "--receipt", receipt, "--json")
    assert (told.code, told.json["error"]["code"]) == (5, "ledger_rolled_back")
    assert told.json["error"]["seq"] == 9


def test_an_export_can_be_checked_by_anyone(used, quick_path) -> None:
    path = quick_path / "ledger.json"
    head = run(used, "ledger", "export", str(path), "--json").json["head"]
    assert path.stat().st_mode & 0o777 == 0o600  # who asked what is for the custodian
    elsewhere = quick_path / "elsewhere"
    assert run(elsewhere, "ledger", "verify", "--export", str(path), "--receipt", head, "--json").json["sound"]
    lines = path.read_text().splitlines()
    assert len(lines) == 8
    path.write_text("\n".join([*lines[:3], lines[3].replace('"kind":"charge"', '"kind":"charhe"'), *lines[4:]]))
    told = run(elsewhere, "ledger", "verify", "--export", str(path), "--json")
    assert (told.code, told.json["error"]["code"], told.json["error"]["seq"]) == (5, "ledger_damaged", 3)


def test_an_export_never_overwrites(used, quick_path) -> None:
    path = quick_path / "ledger.parquet"
    assert run(used, "ledger", "export", str(path)).code == 0
    with duckdb.connect() as bare:
        assert len(bare.read_parquet(str(path)).fetchall()) == 7
    assert "is there already" in run(used, "ledger", "export", str(path)).err
    assert "a folder that is not there" in run(used, "ledger", "export", str(quick_path / "no" / "l.json")).err


def test_the_budget_counts_what_was_answered(used) -> None:
    told = run(used, "budget", "--json").json
    assert (told["population"], told["answers"], told["streams"], told["suspended"]) == ("clinic", 1, 1, False)
    assert told["spent"] == "3"
    assert told["left"]["amount"] == "27"
    assert [line.split() for line in run(used, "budget").out.splitlines()[:2]] == [
        ["whose", "budget", "spent", "reserved", "left"],
        ["clinic", "epsilon", "30", "3", "0", "27"],
    ]


def test_the_budget_tells_what_everything_would_cost_had_it_been_fixed_in_advance(used) -> None:
    """Forty counts at 1/20 beside a count and a stream at 1 and 2: more than the forty alone, less than the sum.

    Before them it is the sum itself, in all digits that would be shown, and nothing is said.
    """
    before = run(used, "budget", "--json").json["planned_total"]
    assert f"{before['epsilon']:.4g}" == "3"
    assert "planned" not in run(used, "budget").out
    with lw.open(used, analyst="ana") as session:
        for age in range(40):
            session.ask(lw.count("patients", f"age > {age}"), epsilon="0.05")
        assert session.planned_total().to_dict() == run(used, "budget", "--json").json["planned_total"]
        tighter, looser = session.planned_total(delta="1e-9"), session.planned_total(delta="1e-3")
    told = run(used, "budget", "--json").json
    forty = float(reference.solve(lambda e: reference.optimal_delta(40, 0.05, e), 1e-6, 5))
    assert told["spent"] == "5"
    assert max(forty, before["epsilon"]) < told["planned_total"]["epsilon"] < before["epsilon"] + forty + 0.01
    assert looser.epsilon < told["planned_total"]["epsilon"] < tighter.epsilon < 5
    assert told["planned_total"]["delta"] == "0.000001"
    sentence = " ".join(run(used, "budget").out.split())
    assert f"planned {told['planned_total']['says']}" in sentence
    assert "had everything been fixed in advance and every yes been given; it decides nothing" in sentence


def test_an_explanation_of_a_question_and_of_an_epsilon(used) -> None:
    told = run(used, "explain", "select sex, count(*) as n, avg(age) from patients group by sex", "--json").json
    assert set(told["columns"]) == {"n", "avg"}
    assert "one person moves what is released by at most 1 in all" in told["columns"]["n"]
    words = run(used, "explain", "count", "patients", "--where", "age < 4").out
    assert words.startswith("Asked: the number of people, in patients where age is at most 3.\n")
    meaning = run(used, "explain", "epsilon", "1", "--prior", "0.01", "--json").json
    assert 0.0266 < meaning["belief"]["high"] < 0.0268  # e / (e + 99)
    assert 0.1359 < meaning["membership_attack"]["true_positive_rate"] < 0.1360  # e / 20
    words = " ".join(run(used, "explain", "epsilon", "1").out.split())
    assert (
        "somebody who knows everybody else's data, and is 50 % sure that one person is in it, will be 26.9 %" in words
    )
    assert "somebody who would be 50 % sure of anything without a person's data will be 6.77 % to 93.2 % sure" in words
    assert "tell a patient the second" in words
    for too_much in ("This holds whatever", "nobody's belief", "whatever they knew"):
        assert too_much not in words


def test_an_epsilon_with_a_delta_is_explained_by_its_profile(used) -> None:
    words = " ".join(run(used, "explain", "epsilon", "1", "--delta", "1e-6").out.split())
    assert "2.718 times as likely with any one person as without them, and 1e-6 more" in words
    assert "somebody who knows everybody else's data" in words
    assert "but for one case in 100,000" in words
    assert "exceeds it in one case of 49,751, 20.1 times delta" in words
    told = run(used, "explain", "epsilon", "0.1", "--delta", "1e-6", "--json").json
    assert told["gaussian_exceeds_epsilon"] == pytest.approx(149e-6, rel=2e-3)


@pytest.mark.parametrize(
    ("epsilon", "people", "advice"),
    [
        ("1", (), None),
        ("100", (), "lets an attacker's odds grow by a factor of e^100"),
        ("1000", (), "lets an attacker's odds grow by a factor of e^1000"),
        ("1e-7", (), "even exchanging all 1,000,000 people changes no probability by more than a factor of 1.11"),
        ("0.001", ("--people", "500"), "even exchanging all 500 people"),
        ("0.001", ("--people", "50000"), None),
    ],
)
def test_an_epsilon_of_little_promise_or_little_use_is_explained_with_advice(used, epsilon, people, advice) -> None:
    told = run(used, "explain", "epsilon", epsilon, *people, "--json").json
    assert len(told["advice"]) == (advice is not None)
    words = " ".join(run(used, "explain", "epsilon", epsilon, *people).out.split())
    assert ("advice" in words) is (advice is not None)
    assert advice is None or (advice in words and advice in told["advice"][0])


def test_explanations_of_any_epsilon_can_be_drawn(used, tmp_path) -> None:
    for epsilon in ("1e-9", "1000"):
        assert run(used, "explain", "epsilon", epsilon, "--plot", str(tmp_path / f"{epsilon}.svg")).code == 0


def test_the_tables_are_described(used) -> None:
    told = run(used, "tables", "--json").json
    assert told["person_key"] == "patient_id"
    (table,) = told["tables"]
    assert json.dumps(table["columns"][1]) == json.dumps(
        {"column": "age", "type": "integer", "low": 0, "high": 120, "nullable": False}
    )
    assert run(used, "tables", "patients").out.splitlines() == [
        "patients  one row a person; data version 1",
        "column           type      values    may be missing",
        "sex              category  F, M",
        "age              integer   0 to 120",
        "cancer_survivor  boolean",
    ]


def test_a_receipt_of_another_workspace_is_told_from_a_ledger_that_was_put_back(clinic) -> None:
    told = run(clinic, "ledger", "verify", "--receipt", f"lapwing:0123456789abcdef:3:{'ab' * 32}")
    assert told.code == 5
    assert "the receipt was issued by ledger 0123456789abcdef" in told.err
    assert "look in the workspace that gave the receipt" in told.err


def test_a_suspension_says_of_whom(clinic) -> None:
    run(clinic, "count", "patients", "--epsilon", "0.1")
    for words in (["ana"], ["ana", "--end"], [], ["--end"]):
        assert run(clinic, "suspend", *words).code == 0
    shown = run(clinic, "ledger", "show", "--last", "4").out.splitlines()[1:]
    ends = ["of ana", "of ana ended", "of everybody", "of everybody ended"]
    assert [line.partition("suspension ")[2] for line in shown] == ends


def test_a_name_that_nobody_has_is_refused_with_those_that_are_known(clinic) -> None:
    told = run(clinic, "suspend", "nobody")
    assert (told.code, told.err) == (2, "lapwing: --analyst nobody is not known here; these are: nobody yet\n")
    run(clinic, "count", "patients", "--epsilon", "0.1")
    assert run(clinic, "suspend", "nobody").err.endswith("these are: ana\n")
    assert run(clinic, "suspend", "ana").code == 0

"""What a custodian sees and does at the prompt: who asked what, who is stopped, what is left, what was written off."""

import pytest

from doors.cli.at_the_prompt import run, start, write_patients

DECLARED = ("--integer", "age=0..120", "--category", "sex=F,M")


@pytest.fixture
def shared(quick_path):
    """A cap of 3; ana may spend 1, bo 2.5."""
    folder = quick_path / "clinic"
    allowed = ("--allow", "ana=1", "--allow", "bo=2.5")
    run(folder, "init", str(folder), "--person-key", "patient_id", "--epsilon", "3", *allowed)
    write_patients(folder)
    run(folder, "add", "patients", "--source", str(folder / "patients.csv"), *DECLARED)
    return folder


def ask(folder, analyst: str, epsilon: str, *more: str):
    return run(folder, "count", "patients", "--epsilon", epsilon, "--analyst", analyst, *more)


def test_a_refusal_names_the_caps_that_say_no_and_what_it_proposes_is_accepted(shared) -> None:
    assert ask(shared, "ana", "0.4").code == ask(shared, "bo", "2.4").code == 0
    told = ask(shared, "bo", "0.3", "--where", "age > 3")
    assert (told.code, told.out) == (3, "")
    assert "epsilon 0.3 is asked and 0.1 is left: ask at epsilon 0.1 or less" in told.err
    assert told.err.endswith("raise the cap of population 'clinic' and of analyst 'bo'\n")
    previewed = ask(shared, "bo", "0.3", "--where", "age > 3", "--dry-run", "--json").json
    assert previewed["refusal"]["settings"] == {"epsilon": "0.1"}
    assert ask(shared, "bo", "0.1", "--where", "age > 3").code == 0
    told = ask(shared, "bo", "0.1", "--where", "age > 4")
    assert "nothing is left: ask the custodian to raise the cap of analyst 'bo'\n" in told.err


def test_the_budget_shows_what_is_really_left_to_each_analyst(shared) -> None:
    ask(shared, "bo", "2.3")
    told = run(shared, "budget", "--json").json
    assert {who: one["left"]["amount"] for who, one in told["analysts"].items()} == {"ana": "0.7", "bo": "0.2"}
    assert {who: one["spent"] for who, one in told["analysts"].items()} == {"ana": "0", "bo": "2.3"}
    rows = [line.split() for line in run(shared, "budget").out.splitlines()[1:4]]
    assert [(row[0], row[-1]) for row in rows] == [("clinic", "0.7"), ("ana", "0.7"), ("bo", "0.2")]


def test_an_epsilon_delta_budget_says_what_was_spent(quick_path) -> None:
    folder = quick_path / "clinic"
    budget = ("--epsilon", "3", "--delta", "1e-6")
    run(folder, "init", str(folder), "--person-key", "patient_id", *budget)
    write_patients(folder)
    run(folder, "add", "patients", "--source", str(folder / "patients.csv"), *DECLARED)
    ask(folder, "ana", "0.4")
    assert run(folder, "budget", "--json").json["spent"] == "0.4"
    assert run(folder, "budget").out.splitlines()[1].split()[-6:] == ["0.4", "0", "epsilon", "2.6", "in", "one"]
    run(folder, "count", "patients", "--rho", "0.05")
    spent = run(folder, "budget").out.splitlines()[1].partition("rho ")[2].split()[0]
    assert 0.05 < float(spent) < 0.2, "the sum has ended, and what the Gaussian account took is told"
    told = run(folder, "write-off", "--all", "--reason", "nobody knows", "--yes", "--json").json
    assert told["left"]["fits"]["gaussian_mu_squared"] == 0
    assert ask(folder, "ana", "0.01").code == 3
    assert run(folder, "ledger", "verify").code == 0


def test_who_is_stopped_is_seen_and_a_slip_of_the_keys_stops_nobody(shared) -> None:
    told = run(shared, "suspend", "bob")
    assert (told.code, told.err) == (2, "lapwing: --analyst bob is not known here; these are: ana, bo\n")
    assert run(shared, "suspend", "bo").code == 0
    told = run(shared, "budget", "--json").json
    assert told["suspended_analysts"] == ["bo"]
    assert {who: one["suspended"] for who, one in told["analysts"].items()} == {"ana": False, "bo": True}
    assert "stopped   spending of bo; lapwing suspend bo --end allows it again" in run(shared, "budget").out
    assert ask(shared, "bo", "0.1").code == 3


def test_the_custodian_sees_the_streams_of_everybody(shared) -> None:
    run(
        shared,
        "stream",
        "open",
        "--at-least",
        "9",
        "--yeses",
        "2",
        "--epsilon",
        "0.5",
        "--name",
        "s",
        "--analyst",
        "bo",
    )
    own = run(shared, "stream", "list")
    assert own.out.startswith("No stream of ana is open.")
    assert "Others have 1 stream: lapwing stream list --everybody" in own.out
    told = run(shared, "stream", "list", "--everybody", "--json").json["streams"]
    assert [(one["stream"], one["analyst"], one["status"]) for one in told] == [("s", "bo", "open")]
    assert run(shared, "stream", "list", "--everybody").out.splitlines()[1].split()[:3] == ["bo", "s", "open"]


def test_the_history_is_told_in_sentences(shared) -> None:
    ask(shared, "ana", "0.4", "--where", "age >= 65", "--key", "k")
    run(shared, "stream", "open", "--at-least", "9", "--yeses", "1", "--epsilon", "0.5", "--name", "s")
    run(shared, "stream", "ask", "s", "age < 90")
    died = start(shared, "count", "patients", "--epsilon", "0.1", LAPWING_FAULT="ask.charged:kill")
    assert died.code == -9
    run(shared, "suspend", "bo")
    said = [one["said"] for one in run(shared, "history", "--all", "--json").json["acts"]]
    assert said == [
        "the custodian opened the account, with a budget of epsilon 3",
        "the custodian allowed epsilon 1 to ana",
        "the custodian allowed epsilon 2.5 to bo",
        "the custodian added table patients",
        "ana asked for the number of people, in patients where age is at least 65, for epsilon 0.4: answered",
        'ana opened stream s, "at least 9 people?" in patients, up to 1 yes, for epsilon 0.25, 0.25 reserved',
        (
            "ana asked stream s whether there are at least 9 people, in patients where age is at most 89: yes, at the "
            "price of its yeses"
        ),
        "ana asked for the number of people, in patients, for epsilon 0.1: it has no answer yet",
        "the custodian stopped the spending of bo",
    ]
    shown = run(shared, "history", "--last", "1", "--analyst", "bo")
    assert shown.out.splitlines()[0].endswith("  the custodian stopped the spending of bo.")
    assert "1 act before these: lapwing history --all" in shown.out
    assert run(shared, "history", "--analyst", "nobody").code == 2


def test_every_decision_has_its_sentence(shared) -> None:
    settings = shared / "lapwing.toml"
    text = settings.read_text().replace('epsilon = "3"', 'epsilon = "2"')
    settings.write_text(text.replace('ana = { epsilon = "1" }\n', ""))
    run(shared, "update")
    text = settings.read_text().replace('epsilon = "2" }', 'epsilon = "4" }\nunnamed_analysts = "refused"')
    settings.write_text(text)
    run(shared, "update")
    run(shared, "advance", "patients")
    run(shared, "suspend")
    run(shared, "suspend", "--end")
    run(shared, "write-off", "--epsilon", "0.5", "--reason", "told on paper", "--analyst", "bo", "--yes")
    assert ask(shared, "ana", "0.1").code == 3
    said = [one["said"].removeprefix("the custodian ") for one in run(shared, "history", "--json").json["acts"]][4:]
    assert said == [
        "corrected who is protected: person key patient_id, a budget of epsilon 2",
        "allowed epsilon 1 to ana",
        "allowed epsilon 2.5 to bo",
        "took away the allowance of ana",
        "raised the budget to epsilon 4",
        "refused analysts without an allowance",
        "said that table patients has new data, version 3",
        "stopped the spending of everybody",
        "allowed the spending of everybody",
        "wrote off epsilon 0.5 of bo: told on paper",
    ]
    assert "others" in run(shared, "budget").out


def test_what_was_lost_with_a_ledger_is_written_off(shared) -> None:
    old = (shared / "ledger.db").read_bytes()
    ask(shared, "ana", "0.4")
    for file in shared.glob("ledger.db*"):
        file.unlink()
    (shared / "ledger.db").write_bytes(old)
    assert run(shared, "recover", "--accept-rollback", "--yes").code == 0
    words = ("write-off", "--epsilon", "0.4", "--reason", "the answer of Monday", "--analyst", "ana")
    assert run(shared, *words, stdin="n\n").code == 130
    told = run(shared, *words, "--yes", "--json").json
    assert (told["price"]["epsilon"], told["left"]["amount"], told["analyst"]) == ("0.4", "2.6", "ana")
    run(shared, "suspend", "--end")
    assert "0.6 is left" in ask(shared, "ana", "0.7").err
    for wrong in ((), ("--epsilon", "1", "--rho", "1"), ("--all", "--epsilon", "1")):
        assert run(shared, "write-off", "--reason", "x", *wrong, "--yes").code == 2
    assert run(shared, "write-off", "--epsilon", "9", "--reason", "x", "--yes").code == 3
    assert run(shared, "ledger", "verify").code == 0


BUDGETS = {
    "epsilon": (("--epsilon", "3"), ("--epsilon", "0.4")),
    "delta": (("--epsilon", "3", "--delta", "1e-6"), ("--epsilon", "0.4")),
    "rho": (("--rho", "3"), ("--rho", "0.4")),
}


@pytest.mark.parametrize("kind", BUDGETS)
def test_what_was_lost_is_written_off_by_what_was_kept(quick_path, kind) -> None:
    folder, (budget, price) = quick_path / "clinic", BUDGETS[kind]
    run(folder, "init", str(folder), "--person-key", "patient_id", *budget)
    write_patients(folder)
    run(folder, "add", "patients", "--source", str(folder / "patients.csv"), *DECLARED)
    old = (folder / "ledger.db").read_bytes()

    def count(*more: str):
        return run(folder, "count", "patients", *price, "--analyst", "ana", *more)

    count("--where", "age > 1")
    run(folder, "ledger", "export", str(quick_path / "nightly.jsonl"))
    (quick_path / "answer.json").write_text(count("--where", "age > 2", "--json").out)
    count("--where", "age > 3")
    before = run(folder, "budget", "--json").json["left"]
    for file in folder.glob("ledger.db*"):
        file.unlink()
    (folder / "ledger.db").write_bytes(old)
    assert "lapwing write-off --lost" in run(folder, "recover", "--accept-rollback", "--yes").out
    kept = ("--kept", str(quick_path / "nightly.jsonl"), "--kept", str(quick_path / "answer.json"))
    lost = ("write-off", "--lost", *kept, "--reason", "the disk of 3 May")
    told = run(folder, *lost, "--yes")
    assert told.code == 2
    assert "entries 3 to 8 are lost, and what 4 of them charged is shown by no export" in told.err
    assert "(1 release of them is said by answers); say what they may have charged besides" in told.err
    asked = run(folder, *lost, *price, stdin="n\n")
    assert asked.code == 130
    assert "Charge 2 releases of lost entries" in asked.err
    told = run(folder, *lost, *price, "--yes", "--json").json
    assert [(one["entry"], one["shown"]) for one in told["written_off"]] == [(3, True), (6, False)]
    assert told["lost"] == {"after": 2, "until": 8, "unexplained": 4}
    assert told["left"] == before
    again = run(folder, *lost, "--nothing-more", "--yes")
    assert "2 releases" in again.out
    named = run(folder, *lost, *price, "--yes")
    said = f"written off before {price[0].removeprefix('--')} {price[1]}, for what no export shows: not charged again"
    assert said in " ".join(named.out.split())
    double = run(folder, *lost, price[0], str(2 * float(price[1])), "--yes")
    assert (double.code, "name what is missing alone" in " ".join(double.err.split())) == (2, True)
    for words in (("history", "--all"), ("ledger", "show")):
        told = run(folder, *words, columns=400)
        assert "entries after 2 are lost" in told.out, told
    (noted,) = [one for one in run(folder, "ledger", "show", "--json").json["entries"] if one["kind"] == "note"]
    assert noted["lost_until"] == 8
    assert "lapwing suspend --end" in again.out
    assert run(folder, "budget", "--json").json["left"] == before
    assert run(folder, *lost, "--all", "--yes").code == 0
    run(folder, "suspend", "--end")
    assert count("--where", "age > 4").code == 3
    assert run(folder, "ledger", "verify").code == 0
    for wrong in (
        ("--kept", "x"),
        ("--nothing-more",),
        ("--lost", "--all", "--nothing-more"),
        ("--lost", "--analyst", "a"),
    ):
        assert run(folder, "write-off", "--reason", "x", *wrong, "--yes").code == 2


def test_a_question_to_a_stream_of_another_key_says_that_it_is_closed(shared) -> None:
    run(shared, "stream", "open", "--at-least", "9", "--yeses", "2", "--epsilon", "0.5", "--name", "s")
    run(shared, "recover", "--new-key", "--yes")
    told = run(shared, "stream", "ask", "s", "age < 90")
    assert told.code == 2
    assert "the stream is closed at its full price; open a new stream to ask on" in told.err
    assert run(shared, "stream", "show", "s", "--json").json["status"] == "closed"


def test_check_tells_what_does_not_fit_and_nobody_else_hears_of_it(shared) -> None:
    (shared / "visits.csv").write_text("patient_id,kind,day\n1,x,2020-01-01\n1,x,1890-01-01\n,x,2020-01-01\n9999,,\n")
    declared = ("--category", "kind=a,b", "--date", "day=1900-01-01..2025-12-31", "--nullable", "day")
    told = run(shared, "add", "visits", "--source", str(shared / "visits.csv"), *declared)
    notes = " ".join(told.out.split())
    assert "note visits: 1 person has several rows (up to 2)" in notes
    assert "note visits.kind: none of the 2 declared texts occurs; it holds 'x' (3)" in notes
    assert "check 2 things more: lapwing check" in notes
    assert run(shared, "add", "again", "--source", str(shared / "patients.csv"), *DECLARED).out.count("note") == 0
    found = run(shared, "check", "--json").json
    assert found["private"] is False
    assert [(one["table"], one["column"], one["kind"], one["number"]) for one in found["findings"]] == [
        ("visits", None, "missing_keys", 1),
        ("visits", None, "several_rows", 1),
        ("visits", "kind", "missing", 1),
        ("visits", "kind", "no_value_occurs", 3),
        ("visits", "day", "out_of_bounds", 1),
    ]
    shown = run(shared, "check", "--table", "visits").out
    assert shown.startswith("For the custodian's eyes: these numbers are exact and not private.")
    assert "visits.day in 1 of 4 rows it is outside of the bounds" in " ".join(shown.split())
    assert "All that is declared fits." in run(shared, "check", "--table", "patients").out
    assert run(shared, "check", "--table", "nowhere").code == 2
    log = shared / "failures.log"
    assert not log.exists() or "'x'" not in log.read_text()
    for words in (("tables",), ("budget",), ("history",), ("ledger", "show")):
        assert "several rows" not in run(shared, *words).out


def test_the_history_of_a_funnel_has_as_many_conditions_as_were_asked(shared) -> None:
    steps = ("--step", "sex = 'M'", "--step", "age > 20", "--epsilon", "0.1")
    assert run(shared, "funnel", "patients", *steps, "--analyst", "ana").code == 0
    (act,) = run(shared, "history", "--last", "1", "--json").json["acts"]
    assert "how many people pass 2 conditions, one after the other" in act["said"]


def test_the_custodian_says_yes_or_no_to_who_asks_for_more(shared) -> None:
    """The settings follow with all that they say besides, and the ledger knows who decided what."""
    settings = shared / "lapwing.toml"
    written = settings.read_text().replace('ana = { epsilon = "1" }', 'ana = { epsilon = "1", tables = ["patients"] }')
    settings.write_text(written)
    assert run(shared, "update").code == 0
    make = ("requests", "make", "--analyst", "ana", "--epsilon", "0.5", "--for", "asthma")
    assert [run(shared, *make, "--json").json["id"] for _ in range(2)] == [1, 2]
    (listed, _) = run(shared, "requests", "list", "--json").json["requests"]
    assert listed["raises"] == {"what": "allowance", "from": {"epsilon": "1"}, "to": {"epsilon": "1.5"}}
    assert "raises the allowance from epsilon 1" in run(shared, "requests", "list").out
    assert "the allowance of ana from epsilon 1 to epsilon 1.5" in run(shared, "requests", "grant", "1").out
    assert 'ana = { epsilon = "1.5", tables = ["patients"] }' in settings.read_text()
    assert run(shared, "requests", "refuse", "2", "--reason", "enough").code == 0
    again = run(shared, "requests", "grant", "2")
    assert (again.code, "is refused" in again.err) == (2, True)
    assert run(shared, "requests", "list").out == "no request waits\n"
    assert len(run(shared, "requests", "list", "--all", "--json").json["requests"]) == 2
    assert ask(shared, "ana", "1.4").code == 0
    more = run(shared, "requests", "make", "--analyst", "eve", "--epsilon", "1", "--for", "all")
    assert more.code == 0
    assert "the budget of everybody from epsilon 3 to epsilon 4" in run(shared, "requests", "grant", "3").out
    assert "ana asked the custodian for epsilon 0.5 more, asthma: refused by custodian" in " ".join(
        run(shared, "history", "--all").out.split()
    )
    assert run(shared, "ledger", "verify").code == 0
    run(shared, "requests", "make", "--analyst", "eve", "--epsilon", "1", "--for", "all")
    settings.write_text(settings.read_text().replace('epsilon = "1.5"', 'epsilon = "1.6"'))
    assert "lapwing update" in run(shared, "requests", "grant", "4").err, "an edit that waits comes first"

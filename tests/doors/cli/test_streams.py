"""Streams at the command line: each question in a process of its own, if need be, and only a yes is paid."""

from fractions import Fraction

import pytest

from doors.cli.at_the_prompt import masked, run, spent, start

pytestmark = pytest.mark.one_budget(
    "what is said under an epsilon, to the letter; test_every_kind_of_budget has every command under every kind"
)

OPEN = ("stream", "open", "--at-least", "200", "--yeses", "2", "--epsilon", "8", "--name", "cohorts")
FEW, MANY = "age = 20", "age < 90"  # 20 people, and 1800


def test_a_stream_lives_across_processes(clinic) -> None:
    opened = start(clinic, *OPEN, "--json").json
    opening, each = Fraction(opened["price"]["opening"]), Fraction(opened["price"]["each_yes"])
    assert opening + 2 * each == 8
    assert opened["left"]["amount"] == "22"  # all of it is reserved
    no = start(clinic, "stream", "ask", "cohorts", FEW, "--json").json
    assert (no["verdict"], no["price"], no["gap"], no["question"]) == ("below", "0", None, 1)
    yes = run(clinic, "stream", "ask", "cohorts", MANY, "--json").json
    assert (yes["verdict"], yes["yeses_left"], yes["question"]) == ("above", 1, 2)
    assert Fraction(yes["price"]) == each
    assert abs(yes["gap"] - 1600) < 100
    assert float(yes["interval"]["low"]) < 1800 + 100
    assert no["interval"] is None
    closed = run(clinic, "stream", "close", "cohorts", "--json").json
    assert Fraction(closed["spent"]) == opening + each == Fraction(spent(clinic))


def test_a_question_asked_before_is_free(clinic) -> None:
    run(clinic, *OPEN)
    first = run(clinic, "stream", "ask", "cohorts", MANY, "--json").json
    again = run(clinic, "stream", "ask", "cohorts", MANY, "--json").json
    assert (first["free"], again) == (False, {**first, "free": True})
    assert again["yeses_left"] == 1
    assert "cost nothing: it was asked before, as question 1" in masked(
        run(clinic, "stream", "ask", "cohorts", MANY).out
    )


def test_a_stream_in_words(clinic) -> None:
    opened = run(clinic, *OPEN)
    assert opened.out.splitlines()[0] == "stream  cohorts"
    assert "nothing for a no; 8 at most" in " ".join(opened.out.split())
    assert opened.out.splitlines()[-1] == 'next    lapwing stream ask cohorts "CONDITION"'
    no = run(clinic, "stream", "ask", "cohorts", FEW)
    assert masked(no.out).splitlines()[1:] == ["", "cost nothing", "left epsilon 22", "receipt RECEIPT"]
    assert no.out.startswith("NO, fewer than 200 (after noise)\n")
    yes = run(clinic, "stream", "ask", "cohorts", MANY)
    assert yes.out.startswith("YES, at least 200 (after noise)\n")
    assert "people from # to #: all yeses of the stream at once, with 95 % confidence" in " ".join(
        masked(yes.out).split()
    )
    assert "it can give 1 more yes\n" in yes.out
    shown = run(clinic, "stream", "show", "cohorts")
    assert "2 questions, 1 yes, epsilon" in shown.out


def test_streams_are_listed_for_their_analyst_only(clinic) -> None:
    assert run(clinic, "stream", "list").out.startswith("No stream of ana is open.")
    run(clinic, *OPEN)
    assert [one["stream"] for one in run(clinic, "stream", "list", "--json").json["streams"]] == ["cohorts"]
    assert run(clinic, "stream", "list", "--analyst", "bob", "--json").json["streams"] == []
    stranger = run(clinic, "stream", "ask", "cohorts", FEW, "--analyst", "bob", "--json")
    assert (stranger.code, stranger.json["error"]["reason"]) == (2, "is not in this ledger")
    assert run(clinic, "stream", "show", "cohorts", "--analyst", "bob").code == 2
    run(clinic, "stream", "close", "cohorts")
    assert run(clinic, "stream", "list", "--json").json["streams"] == []
    header, line = run(clinic, "stream", "list", "--all").out.splitlines()
    assert header.split() == ["stream", "status", "table", "at", "least", "asked", "yeses", "epsilon"]
    assert line.split()[:5] == ["cohorts", "closed", "patients", "200", "0"]


def test_a_stream_that_gave_its_last_yes_is_halted(clinic) -> None:
    run(clinic, *OPEN)
    run(clinic, "stream", "ask", "cohorts", MANY)
    assert "it was the last yes" in run(clinic, "stream", "ask", "cohorts", "age < 91").out
    halted = run(clinic, "stream", "ask", "cohorts", "age < 92", "--json")
    assert (halted.code, halted.json["error"]["code"], halted.json["error"]["yeses"]) == (2, "stream_halted", 2)
    assert "has ended already" in run(clinic, "stream", "close", "cohorts").err
    assert spent(clinic) == "8"


def test_another_number_may_be_asked_for(clinic) -> None:
    run(clinic, *OPEN)
    told = run(clinic, "stream", "ask", "cohorts", MANY, "--at-least", "2500", "--json").json
    assert (told["verdict"], told["at_least"]) == ("below", 2500)


def test_a_preview_of_a_stream_opens_nothing(clinic) -> None:
    told = run(clinic, *OPEN, "--dry-run", "--json").json
    assert told["price"]["all"] == "8"
    assert told["affordable"]
    assert told["left_afterwards"]["amount"] == "22"
    assert Fraction(told["left_at_best"]["amount"]) == 30 - Fraction(told["price"]["opening"])
    chances = [chance for _, chance in sorted(told["chance_of_yes"].items(), key=lambda pair: int(pair[0]))]
    assert chances == sorted(chances)
    same = run(clinic, "preview", "patients", "--at-least", "200", "--yeses", "2", "--epsilon", "8", "--json").json
    assert same == told
    assert run(clinic, "stream", "list", "--all", "--json").json["streams"] == []
    assert spent(clinic) == "0"


def test_a_stream_may_be_bought_by_its_accuracy(clinic) -> None:
    words = ("--at-least", "200", "--yeses", "5", "--within", "40", "--questions", "100", "--dry-run", "--json")
    told = run(clinic, "stream", "open", *words).json
    assert told["margin"] <= 40
    assert Fraction("0.5") < Fraction(told["price"]["all"]) < 1


def test_the_same_key_opens_nothing_twice(clinic) -> None:
    run(clinic, *OPEN, "--key", "k")
    assert run(clinic, *OPEN, "--key", "k").code == 0
    assert len(run(clinic, "stream", "list", "--json").json["streams"]) == 1
    other = run(clinic, *OPEN, "--json")
    assert (other.code, other.json["error"]["remedy"]) == (2, "choose a new name")


def test_the_same_key_opens_nothing_twice_without_a_name(clinic) -> None:
    first, second = (run(clinic, *OPEN[:-2], "--key", "k", "--json").json for _ in range(2))
    assert first["stream"] == second["stream"]
    (only,) = run(clinic, "stream", "list", "--json").json["streams"]
    assert only["stream"] == first["stream"]
    assert run(clinic, "stream", "ask", first["stream"], FEW).code == 0


def test_a_stream_that_does_not_fit_is_refused_for_nothing(clinic) -> None:
    run(clinic, "count", "patients", "--epsilon", "19")
    told = run(clinic, "stream", "open", "--at-least", "5", "--yeses", "1", "--epsilon", "12", "--json")
    assert (told.code, told.json["error"]["code"]) == (3, "budget_exceeded")
    assert (told.json["error"]["asked"], told.json["error"]["left"]) == ("12", "11")
    assert spent(clinic) == "19"


@pytest.mark.parametrize("words", [("--delta", "1e-6"), ("--rho", "1")], ids=["delta", "rho"])
def test_a_stream_is_not_bought_by_what_buys_none(clinic, words) -> None:
    told = run(clinic, "preview", "patients", "--at-least", "5", "--epsilon", "1", *words)
    assert told.code == 2
    assert "cannot pay for a stream" in told.err


def test_what_cannot_be_settled_is_named_and_the_rest_is_settled(clinic) -> None:
    settings = clinic / "lapwing.toml"
    only = settings.read_text()
    other = only.replace("populations.clinic", "populations.other").replace("patients.csv", "others.csv")
    (clinic / "others.csv").write_text("".join((clinic / "patients.csv").read_text().splitlines(keepends=True)[:-1]))
    settings.write_text(only + other[other.index("[populations.other]") :])
    assert run(clinic, "update").code == 0
    for population in ("clinic", "other"):
        door = ("--population", population)
        run(clinic, *OPEN[:-1], population, *door)
        start(clinic, "stream", "ask", population, MANY, *door, LAPWING_FAULT="stream.decided:kill")
    settings.write_text(only.replace("populations.clinic", "populations.other").replace("patients.csv", "others.csv"))
    told = run(clinic, "recover", "--json").json
    assert (told["settled"], list(told["unsettled"])) == (1, ["clinic"])
    assert "is not declared in this workspace" in told["unsettled"]["clinic"]
    assert "stream clinic" in run(clinic, "recover").out
    settings.write_text(only)
    told = run(clinic, "recover", "--json").json
    assert told == {"settled": 1, "unsettled": {}, "unread": {}, "new_key": False, "accepted_rollback": False}


def test_a_crashed_question_is_settled_with_its_own_noise(clinic) -> None:
    run(clinic, *OPEN)
    died = start(clinic, "stream", "ask", "cohorts", MANY, LAPWING_FAULT="stream.decided:kill")
    assert died.code == -9
    assert run(clinic, "stream", "show", "cohorts", "--json").json["given"] == 0  # looking settles nothing
    assert run(clinic, "stream", "list", "--json").json["streams"][0]["asked"] == 1
    assert run(clinic, "recover", "--json").json == {
        "settled": 1,
        "unsettled": {},
        "unread": {},
        "new_key": False,
        "accepted_rollback": False,
    }
    assert run(clinic, "stream", "show", "cohorts", "--json").json["given"] == 1


def test_a_yes_brings_its_number_at_the_prompt(clinic) -> None:
    opened = run(clinic, *OPEN, "--number")
    assert "of it for its number" in " ".join(opened.out.split())
    yes = run(clinic, "stream", "ask", "cohorts", MANY, "--json").json
    assert abs(yes["number"] - 1800) < 100
    words = " ".join(run(clinic, "stream", "ask", "cohorts", MANY).out.split())
    assert f"number {yes['number']:,} ± " in words
    assert run(clinic, "stream", "show", "cohorts", "--json").json["number"] is True
    assert (
        "with 95 % confidence"
        in run(clinic, "preview", "patients", "--at-least", "200", "--epsilon", "1", "--number").out
    )


def test_totals_shares_and_correlations_at_the_prompt(clinic) -> None:
    words = ("--yeses", "2", "--epsilon", "4")
    shares = run(clinic, "stream", "open", "--proportion", "age < 50", "--at-least", "0.3", *words, "--name", "shares")
    assert '"a share of at least 0.3 with age < 50?"' in " ".join(shares.out.split())
    assert run(clinic, "stream", "ask", "shares", "age < 60").out.startswith("YES: a share of at least 0.3")
    assert run(clinic, "stream", "ask", "shares", "age > 60").out.startswith("NO: a share")
    run(clinic, "stream", "open", "--correlation", "age", "--at-least", "0.5", *words, "--name", "screen")
    assert run(clinic, "stream", "ask", "screen", "0 - age", "--json").json["verdict"] == "below"
    assert "a correlation of at least 0.5" in run(clinic, "stream", "list").out
    assert "a correlation of at least 0.5 with age?" in " ".join(run(clinic, "history").out.split())
    before = spent(clinic)
    refused = run(clinic, "stream", "open", "--total", "nothing", "--at-least", "5", *words)
    assert (refused.code, spent(clinic)) == (2, before)
    plotted = run(clinic, "stream", "show", "screen", "--plot", "yes.svg")
    assert "is for streams of people" in plotted.err

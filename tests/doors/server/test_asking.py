"""Analysts ask over HTTP: previews, questions, rehearsals, jobs, and what they find again."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import httpx
import pytest

from doors.server.doors import P, code_of, count
from lapwing.noise.randomness import fresh_name


def test_whoever_calls_is_told_who_they_are_and_what_they_may_do(door) -> None:
    me = door.get("ana", "/api/v1/me").json()
    assert (me["id"], me["role"], me["rights"]) == ("ana", "analyst", ["ask", "preview", "read"])


def test_a_question_is_previewed_asked_and_found_again(door, budget) -> None:
    before = door.taken()
    body = count("age > 30", "0.25")
    preview = door.call("ana", "POST", f"{P}/previews", body).json()
    price = budget.amount(preview["price"])
    assert price == Fraction("0.25") if budget.currency == "epsilon" else 0.9 / 32 < price <= Fraction(1, 32)
    key = fresh_name()
    told = door.call("ana", "POST", f"{P}/questions", body, key=key)
    assert told.status_code == 200
    answer = told.json()
    assert answer["question"] == preview["question"]
    assert door.taken() - before == pytest.approx(budget.amount(preview["price"]))
    assert door.call("ana", "POST", f"{P}/questions", body, key=key).content == told.content
    assert door.get("ana", f"{P}/jobs/{key}").json()["state"] == "answered"
    listed = door.get("ana", f"{P}/answers").json()
    assert (listed[0]["key"], listed[0]["body"]) == (key, body)
    (row,) = answer["answer"]["rows"]
    assert answer["released"] == [[row["values"]["answer"]["value"]]]


def test_a_price_may_be_written_as_a_number_or_as_text(door) -> None:
    texts = [
        door.call("ana", "POST", f"{P}/previews", count("age > 5", price)).json() for price in (0.1, "0.1", "1/10")
    ]
    assert len({one["question"] for one in texts}) == 1


QUESTIONS = {
    "count by": {"ask": "count", "table": "patient", "by": ["sex"]},
    "count in bins": {"ask": "count", "table": "patient", "by": [{"column": "age", "edges": [0, 18.5, "65", 120]}]},
    "bins as text": {"ask": "count", "table": "patient", "by": ["bins(age, 0, 18, 65)"]},
    "mean": {"ask": "mean", "table": "patient", "of": "age", "where": "sex = 'F'"},
    "total": {"ask": "total", "table": "patient", "of": "clip(age, 0, 50)"},
    "variance": {"ask": "variance", "table": "patient", "of": "age"},
    "correlation": {"ask": "correlation", "table": "patient", "x": "age", "y": "age * 2"},
    "quantiles": {"ask": "quantiles", "table": "patient", "of": "age", "at": [0.25, "0.5"]},
    "median": {"ask": "median", "table": "patient", "of": "age"},
    "top": {"ask": "top", "table": "patient", "column": "sex", "k": 1},
    "top with counts": {"ask": "top", "table": "patient", "column": "sex", "k": 1, "counts": True},
    "distinct": {"ask": "distinct", "table": "patient", "column": "sex"},
    "proportion": {"ask": "proportion", "table": "patient", "of": "age > 50"},
    "funnel": {"ask": "funnel", "table": "patient", "steps": ["sex = 'M'", "age > 50"]},
    "sql": {"ask": "sql", "text": "select sex, count(*) as n, avg(age) as a from patient group by sex"},
    "together": {
        "ask": "together",
        "questions": {
            "n": {"ask": "count", "table": "patient"},
            "m": {"ask": "mean", "table": "patient", "of": "age"},
        },
    },
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_kind_of_question_can_be_previewed_rehearsed_and_asked(door, name) -> None:
    body = {"question": QUESTIONS[name], "price": {"epsilon": "0.01"}}
    preview = door.call("ana", "POST", f"{P}/previews", body)
    assert preview.status_code == 200, preview.text
    rehearsed = door.call("ana", "POST", f"{P}/rehearsals", body)
    assert rehearsed.status_code == 200, rehearsed.text
    assert rehearsed.json()["answer"]["rehearsal"] is True
    told = door.call("ana", "POST", f"{P}/questions", body, key=fresh_name())
    assert told.status_code == 200, told.text
    assert told.json()["question"] == preview.json()["question"] == rehearsed.json()["question"]


def test_four_presses_at_once_are_one_charge_and_one_answer(door, budget) -> None:
    before, key = door.taken(), fresh_name()
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda _: door.ask("ana", "age = 77", "0.125", key), range(4)))
    assert {one.status_code for one in told} == {200}
    assert len({one.content for one in told}) == 1
    assert door.taken() - before == pytest.approx(budget.amount(told[0].json()["answer"]["price"]))


def test_a_key_stands_for_one_request(door) -> None:
    key = fresh_name()
    assert door.ask("ana", "age = 11", "0.01", key).status_code == 200
    crossed = door.ask("ana", "age = 12", "0.01", key)
    assert (crossed.status_code, code_of(crossed)) == (409, "request_conflict")
    assert door.ask("ben", "age = 12", "0.01", key).status_code == 200  # another person's key is another key


def test_what_was_asked_before_is_told_to_others_for_nothing(door) -> None:
    first = door.ask("ana", "age = 21", "0.05").json()
    left = door.left()
    again = door.ask("ben", "age = 21", "0.05").json()
    assert again["released"] == first["released"]
    assert again["answer"]["free"] is True
    assert door.left() == left


def test_a_job_is_looked_for_where_it_says(door) -> None:
    key = fresh_name()
    told = door.call("ana", "POST", f"{P}/questions", count("age = 31"), key=key, headers={"Prefer": "wait=0"})
    assert told.status_code in {200, 202}
    if told.status_code == 202:
        assert told.headers["Location"] == f"{P}/jobs/{key}"
    for _ in range(200):
        job = door.get("ana", f"{P}/jobs/{key}").json()
        if job["state"] == "answered":
            break
    assert job["outcome"]["key"] == key
    assert door.get("ben", f"{P}/jobs/{key}").status_code == 404


def test_the_dictionary_has_a_tag(door) -> None:
    told = door.get("gina", P)
    assert [table["table"] for table in told.json()["tables"]] == ["patient"]
    again = door.get("gina", P, headers={"If-None-Match": told.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_stream_is_opened_asked_and_closed(door) -> None:
    terms = {"at_least": 100, "yeses": 2, "epsilon": "1", "title": "asthma"}
    preview = door.call("ana", "POST", f"{P}/stream-previews", terms).json()
    assert preview["price"]["all"] == "1"
    opened = door.call("ana", "POST", f"{P}/streams", terms, key=fresh_name())
    assert opened.status_code == 200, opened.text
    place = f"{P}/streams/{opened.json()['stream']}"
    assert [one["title"] for one in door.get("ana", f"{P}/streams").json()][-1] == "asthma"
    others = door.call("ben", "POST", f"{P}/streams", {**terms, "epsilon": "0.01"}, key=fresh_name())
    assert others.json()["title"] == "asthma", "that somebody has taken a title is told to nobody"
    key = fresh_name()
    yes = door.call("ana", "POST", f"{place}/questions", {"where": "age >= 0"}, key=key)
    assert yes.status_code == 200, yes.text
    assert yes.json()["verdict"] == "above"
    assert (
        door.call("ana", "POST", f"{place}/questions", {"where": "age >= 0"}, key=key).json()["receipt"]
        == (yes.json()["receipt"])
    )
    many = door.call("ana", "POST", f"{place}/batches", {"wheres": ["age = 1", "age = 2"]}, key=fresh_name())
    assert [one["verdict"] for one in many.json()["answers"]] == ["below", "below"]
    assert door.get("ana", place).json()["given"] == 1
    assert door.get("ben", place).status_code == 404
    assert door.call("ben", "POST", f"{place}/questions", {"where": "age = 3"}, key=fresh_name()).status_code == 404
    closed = door.call("ana", "DELETE", place, key=fresh_name())
    assert closed.json()["status"] == "closed"
    assert code_of(door.call("ana", "POST", f"{place}/questions", {}, key=fresh_name())) == "stream_closed"


def test_absent_and_foreign_streams_answer_alike(door) -> None:
    opened = door.call("ana", "POST", f"{P}/streams", {"at_least": 9, "yeses": 1, "epsilon": "0.01"}, key=fresh_name())
    name = opened.json()["stream"]
    assert door.get("ben", f"{P}/streams/{name}").content == door.get("ben", f"{P}/streams/{'0' * 32}").content


def test_a_receipt_is_checked(door) -> None:
    receipt = door.ask("ana", "age = 41", "0.01").json()["answer"]["receipt"]
    assert door.get("ben", f"/api/v1/receipts/{receipt}").json()["agrees"] is True
    other = f"{receipt[:-4]}{'0000' if receipt[-4:] != '0000' else '1111'}"
    assert door.get("ben", f"/api/v1/receipts/{other}").status_code == 404


def test_history_tells_what_was_done(door) -> None:
    door.ask("ben", "age = 51", "0.01")
    acts = door.get("ben", f"{P}/history", params={"limit": 1}).json()
    assert acts[0]["kind"] == "charge"
    assert "age" in acts[0]["said"]


def test_more_budget_is_asked_for_and_decided(door, budget) -> None:
    cap, taken = cap_of(door, budget), door.taken()
    asked = {"more": {budget.currency: "0.5"}, "purpose": "asthma"}
    made, other = (door.call("ana", "POST", f"{P}/requests", asked).json() for _ in range(2))
    assert [one["id"] for one in door.get("ana", f"{P}/requests").json()] == [other["id"], made["id"]]
    assert door.get("ben", f"{P}/requests").json() == []
    waiting = door.get("otto", f"{P}/all-requests").json()[0]
    assert (waiting["state"], waiting["raises"]["what"]) == ("open", "budget")
    place = f"{P}/requests/{made['id']}/decision"
    told = door.call("cleo", "POST", place, {"granted": True}).json()
    assert (told["state"], told["decided_by"]) == ("granted", "cleo")
    assert (cap_of(door, budget), door.taken()) == (cap + Fraction("0.5"), taken)
    assert door.call("cleo", "POST", place, {"granted": False}).status_code == 409
    refused = door.call("cleo", "POST", f"{P}/requests/{other['id']}/decision", {"granted": False, "reason": "no"})
    assert (refused.json()["state"], refused.json()["reason"]) == ("refused", "no")
    assert door.call("cleo", "POST", f"{P}/requests/none/decision", {"granted": True}).status_code == 404
    assert (cap_of(door, budget), door.taken()) == (cap + Fraction("0.5"), taken)
    foreign = {"epsilon" if budget.currency == "rho" else "rho": "1"}
    assert door.call("ana", "POST", f"{P}/requests", {**asked, "more": foreign}).status_code == 422
    assert door.call("otto", "POST", "/api/v1/ledger/verifications", {}).json()["sound"] is True


def cap_of(door, budget) -> Fraction:
    """Return the budget of everybody, in its currency."""
    return Fraction(door.get("ana", f"{P}/policy").json()["budget"][budget.currency])


def test_each_request_is_decided_once_by_many_custodians_at_a_time(door, budget) -> None:
    cap, taken = cap_of(door, budget), door.taken()
    asked = {"more": {budget.currency: "0.5"}, "purpose": "asthma"}
    made = [door.call("ana", "POST", f"{P}/requests", asked).json()["id"] for _ in range(3)]

    def decide(number: int) -> httpx.Response:
        return door.call("cleo", "POST", f"{P}/requests/{number}/decision", {"granted": True})

    with ThreadPoolExecutor(9) as custodians:
        told = list(custodians.map(decide, made * 3))
        asked_meanwhile = door.ask("ben", "age = 52", "0.01")
    assert asked_meanwhile.status_code == 200
    assert sorted(one.status_code for one in told) == [200] * 3 + [409] * 6
    assert {code_of(one) for one in told if one.status_code == 409} == {"decided"}
    assert cap_of(door, budget) == cap + Fraction("1.5")
    assert door.taken() - taken == pytest.approx(budget.amount(asked_meanwhile.json()["answer"]["price"]))


def test_a_refusal_has_the_sentence_and_the_numbers(door, budget) -> None:
    left, status = door.left(), door.get("ana", f"{P}/budget").json()["left"]
    told = door.ask("ana", "age = 61", "15")
    assert (told.status_code, code_of(told)) == (402, "budget_exceeded")
    assert told.json()["error"]["currency"] == budget.currency
    free = status["amount"] if budget.adds_up else status["fits"]["pure_epsilon"]
    assert Fraction(told.json()["error"]["left"]) == pytest.approx(Fraction(free))
    wrong = door.ask("ana", "agee = 61", "0.1")
    assert wrong.status_code == 422
    assert "age" in wrong.json()["error"]["message"]
    assert door.left() == left


def test_a_question_with_a_concept_set_is_found_again(door) -> None:
    key, asked = fresh_name(), count("age in concept_set('mine')")
    told = door.call("ana", "POST", f"{P}/questions", {**asked, "concept_sets": {"mine": [30, 31]}}, key=key).json()
    assert door.get("ana", f"{P}/answers/{key}").json()["released"] == told["released"]

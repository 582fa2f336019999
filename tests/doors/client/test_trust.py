"""A client believes nothing that it can find out, sends its token to nobody else, and asks again what was lost."""

import copy
import logging
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pytest

import lapwing as lw
from doors.client.between import between
from doors.server.certificates import make_certificate
from doors.server.doors import UNLIMITED, serving
from lapwing import errors
from lapwing.doors.client.decode_errors import error_of
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.rates import Rate

pytestmark = pytest.mark.one_budget("lies of a server are found before anything is paid")

COUNT = lw.count("patient", "age >= 65")
TERMS = {"at_least": 100, "yeses": 2, "epsilon": "1"}


@pytest.fixture
def way(door):
    with between(door.port) as way:
        yield way


def changed(told, *path, to):
    told = copy.deepcopy(told)
    inner = told
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = to
    return told


LIES = {
    "the question": ("/previews", lambda told: changed(told, "question", to=told["question"].replace("65", "66"))),
    "its price": ("/previews", lambda told: changed(told, "price", "epsilon", to="0.001")),
    "its event": ("/previews", lambda told: changed(told, "question", to=told["question"].replace("event", "other"))),
    "its error": ("/previews", lambda told: changed(told, "margin", "answer", to=1)),
    "no text": ("/previews", lambda told: {**told, "question": None}),
    "nothing": ("/previews", lambda _: []),
    "no JSON": ("/previews", lambda _: b"<html>"),
    "nested": ("/previews", lambda _: b"[" * 100_000),
}


@pytest.mark.parametrize("name", LIES)
def test_who_lies_about_a_question_is_refused_before_it_is_asked(way, door, name) -> None:
    path, lie = LIES[name]
    with lw.connect(way.url, door.tokens["ana"]) as ana:
        before = door.left()
        way.change = lambda asked, told: lie(told) if asked.endswith(path) else told
        with pytest.raises(errors.ServerError) as refused:
            ana.preview(COUNT, epsilon="0.1")
        assert isinstance(refused.value, errors.DisagreementError) or name in {
            "no text",
            "nothing",
            "no JSON",
            "nested",
        }
        if name not in {"its price", "its error"}:  # which are not what is asked: the client computes its own
            with pytest.raises(errors.ServerError):
                ana.ask(COUNT, epsilon="0.1")
            assert not any(asked.endswith("/questions") for _, asked, _ in way.seen)
    assert door.left() == before


LIES_ABOUT_PEOPLE = {
    "salt": lambda told: changed(told, "salt", to=told["salt"] + 1),
    "groups": lambda told: changed(told, "unit", "protects_groups_of", to=2),
    "neighbours": lambda told: changed(told, "unit", "adjacency", to="replace"),
    "name": lambda told: changed(told, "population", to="others"),
    "bounds": lambda told: changed(told, "tables", 1, "max_rows", to=9),
    "less": lambda told: {name: value for name, value in told.items() if name != "unit"},
}


@pytest.mark.parametrize("name", LIES_ABOUT_PEOPLE)
def test_who_lies_about_the_population_is_refused_before_anything_is_asked(way, door, name) -> None:
    def connect_and_ask():
        with lw.connect(way.url, door.tokens["ana"]) as ana:
            ana.ask(lw.count_rows("visit"), epsilon="0.1")

    before, lie = door.left(), LIES_ABOUT_PEOPLE[name]
    way.change = lambda path, told: lie(told) if path.endswith("/populations/clinic") else told
    with pytest.raises(errors.ServerError):
        connect_and_ask()
    assert door.left() == before


def test_who_lies_about_a_vocabulary_is_refused_before_anything_is_asked(way, door) -> None:
    asked, before = "select count(*) from visit where code in (select code from kinds where of = 1)", door.left()
    way.change = lambda path, told: told.replace(b"1,4\n", b"1,5\n") if path.endswith("/kinds") else told
    with lw.connect(way.url, door.tokens["ana"]) as ana, pytest.raises(errors.DisagreementError):
        ana.ask(asked, epsilon="0.1")
    way.change = lambda path, told: b"\xff" if path.endswith("/kinds") else told
    with lw.connect(way.url, door.tokens["ana"]) as ana, pytest.raises(errors.ServerError):
        ana.ask(asked, epsilon="0.1")
    way.change = lambda path, told: told[:200] if path.endswith("/packed") else told
    with lw.connect(way.url, door.tokens["ana"]) as ana, pytest.raises(errors.LapwingError):
        ana.ask(asked.replace("kinds where of", "packed where kind"), epsilon="0.1")
    assert door.left() == before
    assert door.get("gina", "/api/v1/populations/clinic/vocabularies/kinds").status_code == 404
    assert door.get("ana", "/api/v1/populations/clinic/vocabularies/sexes.csv").status_code == 404


def test_a_server_that_means_something_else_asks_nothing(door) -> None:
    """It is the server that finds out, where both are honest and one is older than the other."""
    body = {"question": {"ask": "count", "table": "patient", "where": "age = 91"}, "price": {"epsilon": "0.1"}}
    before = door.taken()
    for path in ("questions", "batches"):
        sent = {**body, "means": ["0" * 64]}
        if path == "batches":
            sent = {"questions": [body["question"]], "price": body["price"], "means": ["0" * 64]}
        told = door.call("ana", "POST", f"/api/v1/populations/clinic/{path}", sent, key=f"another-{path}")
        assert (told.status_code, told.json()["error"]["code"]) == (409, "disagreement")
    with lw.connect(door.url, door.tokens["ana"]) as ana, ana.stream(**TERMS) as stream:
        place = f"/api/v1/populations/clinic/streams/{stream.name}"
        for path, sent in (("questions", {"where": "age >= 0"}), ("batches", {"wheres": ["age >= 0"]})):
            told = door.call("ana", "POST", f"{place}/{path}", {**sent, "means": ["0" * 64]}, key=f"other-{path}")
            assert (told.status_code, told.json()["error"]["code"]) == (409, "disagreement")
        assert stream.yeses_left == 2
        opening = stream.spent
    assert door.taken() - before == opening


def test_who_lies_in_an_answer_is_not_believed(way, door) -> None:
    with lw.connect(way.url, door.tokens["ana"]) as ana:
        way.change = lambda path, told: {**told, "question": "[]"} if path.endswith("/questions") else told
        with pytest.raises(errors.DisagreementError, match="answered another question"):
            ana.ask(lw.count("patient", "age = 31"), epsilon="0.01")
        way.change = lambda path, told: {**told, "released": [["x"]]} if path.endswith("/questions") else told
        with pytest.raises(errors.ServerError, match="does not tell an answer"):
            ana.ask(lw.count("patient", "age = 32"), epsilon="0.01")
        way.change = lambda _, told: {**told, "terms": told["terms"].replace("100", "99")} if "terms" in told else told
        with pytest.raises(errors.DisagreementError, match="another stream"):
            ana.stream(**TERMS)


def test_a_lost_answer_is_asked_for_again_and_charged_once(way, door) -> None:
    with lw.connect(way.url, door.tokens["ana"]) as ana:
        lost = iter([None, None])
        way.change = lambda path, told: next(lost, told) if path.endswith("/questions") else told
        before = door.taken()
        answer = ana.ask(lw.count("patient", "age = 41"), epsilon="0.125")
        assert door.taken() - before == Fraction("0.125")
        assert len({head["Idempotency-Key"] for _, path, head in way.seen if path.endswith("/questions")}) == 1
        assert answer.rows == ana.ask(lw.count("patient", "age = 41"), epsilon="0.125").rows
        lost = iter([None])
        way.change = lambda path, told: next(lost, told) if path.endswith("/batches") else told
        with ana.stream(**TERMS) as stream:
            assert [bool(one) for one in stream.ask_many(["age >= 0", "age > 120"])] == [True, False]
            assert stream.yeses_left == 1


def test_a_server_that_was_restarted_goes_on(folder, door) -> None:
    with between(door.port) as way, lw.connect(way.url, door.tokens["ana"], timeout=30) as ana:
        stream = ana.stream(name="across", **TERMS)
        first = ana.ask(lw.count("patient", "age = 51"), epsilon="0.01", key="before the end")
        with serving(folder, tokens=door.tokens) as other:
            way.port = other.port
            again = ana.ask(lw.count("patient", "age = 51"), epsilon="0.01", key="before the end")
            assert again.rows == first.rows
            assert stream.ask("age >= 0").question == 1
        way.port = door.port  # the other one is gone, and its connections are dead
        assert stream.ask("age > 120").question == 2
        assert ana.resume("across").yeses_left == 1
        stream.close()


def test_who_is_not_there_is_said_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(errors.ServerError, match="no server is reached"):
        lw.connect(f"http://127.0.0.1:{port}", "lw_token")


TOKEN = "lw_a_secret_that_nobody_may_see"  # noqa: S105 - it lets nobody in


def test_a_token_is_never_shown(way, door, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    told = []
    for url, token in (
        (way.url, TOKEN),
        ("http://clinic.example.org", TOKEN),
        (f"https://ana:{TOKEN}@clinic.example.org", "x"),
        ("clinic.example.org", TOKEN),
        (way.url, f"{TOKEN}\r\nX-Evil: 1"),
        (f"https://127.0.0.1:{door.port}", TOKEN),
    ):
        with pytest.raises(errors.LapwingError) as refused:
            lw.connect(url, token)
        told += [str(refused.value), repr(refused.value), str(refused.value.to_dict())]
    with lw.connect(way.url, door.tokens["ana"]) as ana:
        told += [repr(ana), str(vars(ana)), repr(ana._door.connection)]
        assert door.tokens["ana"] not in "".join(told)
    assert "secret_that" not in "".join([*told, caplog.text])


def test_a_token_goes_through_tls_or_nowhere(way) -> None:
    with pytest.raises(errors.ParameterError, match="would show the token to everybody on the way; write https://"):
        lw.connect("http://clinic.example.org", TOKEN)
    with pytest.raises(errors.ServerError) as refused:
        lw.connect(way.url, TOKEN)
    assert refused.value.status == 401
    assert not any("Cookie" in head for _, _, head in way.seen)


def test_a_certificate_is_verified(door, quick_path) -> None:
    certificate, key = make_certificate(quick_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with between(door.port, tls) as way:
        url = f"https://localhost:{way.server_address[1]}"
        with pytest.raises(errors.ServerError, match="the certificate of localhost is not trusted"):
            lw.connect(url, door.tokens["ana"])
        assert way.seen == []  # the token was not sent
        with lw.connect(url, door.tokens["ana"], authorities=str(certificate)) as ana:
            assert ana.analyst == "ana"
            ana.preview(COUNT, epsilon="0.1")


def test_who_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        since = time.monotonic()
        with pytest.raises(errors.ServerError, match="no server is reached"):
            lw.connect(f"http://127.0.0.1:{silent.getsockname()[1]}", TOKEN, timeout=0.5)
    assert time.monotonic() - since < 10


@pytest.mark.parametrize("status", [202, 429])
def test_who_says_for_ever_that_it_takes_longer_is_given_up_and_not_asked_without_a_pause(status, way, door) -> None:
    with lw.connect(way.url, door.tokens["ana"], timeout=1) as ana:
        way.seen.clear()
        way.lie, since = (status, {"Retry-After": "0"}), time.monotonic()
        with pytest.raises(errors.ServerError) as refused:
            ana.ask(lw.count("patient", "age = 61"), epsilon="0.01")
        way.lie = None
    assert refused.value.status == status
    assert 1 <= time.monotonic() - since < 10
    assert 2 <= len(way.seen) <= 6


def test_who_asks_too_often_waits(folder, door) -> None:
    slowly = DoorSettings(limits=replace(UNLIMITED, looks=Rate(burst=4, a_second=20)), tick=0.02)
    with (
        serving(folder, slowly, tokens=door.tokens) as slow,
        lw.connect(f"http://127.0.0.1:{slow.port}", door.tokens["ana"]) as ana,
    ):
        told = [ana.preview(lw.count("patient", f"age = {age}"), epsilon="0.1") for age in range(4)]
    assert len({one.asked.text for one in told}) == 4


def test_many_threads_share_a_session(door) -> None:
    def ask(age):
        return ana.ask(lw.count("patient", f"age = {age // 2}"), epsilon="0.01")

    with lw.connect(door.url, door.tokens["ana"]) as ana, ThreadPoolExecutor(8) as pool:
        before = door.taken()
        answers = list(pool.map(ask, range(40, 56)))
    assert door.taken() - before == Fraction("0.08")
    assert [one.rows for one in answers[::2]] == [one.rows for one in answers[1::2]]


def test_an_account_that_cannot_be_kept_is_the_same_error() -> None:
    raised = error_of(503, {"error": {"code": "ledger", "message": "the account cannot be kept just now"}})
    assert type(raised) is errors.LedgerError
    assert type(error_of(503, {"error": {"code": "busy", "message": "later"}})) is errors.ServerError
    for kind in (errors.EngineError, errors.UnavailableError):
        told = error_of(500, {"error": kind().to_dict()})
        assert (type(told), str(told)) == (kind, str(kind()))


def test_a_redirection_is_not_followed(door) -> None:
    with between(door.port) as evil, between(door.port) as way:
        way.elsewhere = f"{evil.url}/api/v1/me"
        with pytest.raises(errors.ServerError, match="says what no server of lapwing says"):
            lw.connect(way.url, door.tokens["ana"])
        assert (len(way.seen), evil.seen) == (1, [])


def test_what_a_server_tells_of_an_error_is_data(way, door) -> None:
    evil = {
        "code": "suspended",
        "message": "\x1b[2J" * 3_000,
        "who": ["a"],
        "__class__": "y",
        "to_dict": "z",
        "args": 1,
    }
    with lw.connect(way.url, door.tokens["ana"]) as ana:
        way.change = lambda path, told: {**told, "stopped": evil} if path.endswith("/previews") else told
        preview = ana.preview(COUNT, epsilon="0.1")
        stopped = preview.before.suspension
        assert type(stopped) is errors.SuspendedError
        assert (len(str(stopped)), stopped.who, callable(stopped.to_dict)) == (4000, None, True)
        assert str(stopped).isprintable()


def test_a_malicious_client_gains_nothing_by_planning_itself(door) -> None:
    """What is sent is words; prices, plans and meanings are the server's own."""
    place, key = "/api/v1/populations/clinic/questions", "plans-itself-1"
    cheap = {"question": {"ask": "count", "table": "patient", "plan": "{}"}, "price": {"epsilon": "0.1"}}
    assert door.call("ana", "POST", place, cheap, key=key).status_code == 422
    wrong = {"question": {"ask": "count", "table": "patient"}, "price": {"epsilon": "0.1"}, "means": ["no digest"]}
    assert door.call("ana", "POST", place, wrong, key=key).status_code == 422


def test_a_number_that_would_fill_the_memory_is_not_computed() -> None:
    told = {"code": "budget_exceeded", "message": "too dear", "asked": "1e99999999", "left": "1/3"}
    raised = error_of(402, {"error": told})
    assert isinstance(raised, errors.BudgetExceededError)
    assert (raised.asked, raised.left) == (None, Fraction(1, 3))

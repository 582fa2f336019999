"""What is lost on the way is asked for again: an answer is whole, in time, and not too large, or there is none."""

import itertools
import json
import socket
import threading
import time
from contextlib import closing, contextmanager
from fractions import Fraction

import pytest

import lapwing as lw
from doors.client.between import between
from lapwing import errors
from lapwing.doors.client.connection import ServerConnection

OF_KIND = "code in (select code from kinds where of = {})"
PLACE = "/api/v1/populations/clinic"
TERMS = {"at_least": 100, "yeses": 2, "epsilon": "1"}


@pytest.fixture
def way(door):
    with between(door.port) as way:
        yield way


def cutting(way, path, places):
    """Let one reply about a path after the other end at the next place, each once; return those that were cut."""
    left, was_cut = iter(places), []

    def cut(asked, whole):
        place = next(left, None) if asked.endswith(path) and (not was_cut or was_cut[-1] is None) else None
        was_cut.append(None if place is None else place(whole))
        return None if place is None else iter([whole[: was_cut[-1]]])

    way.cut = cut
    return was_cut


@pytest.mark.one_budget("nothing is charged here")
def test_a_vocabulary_that_is_cut_is_fetched_again_and_never_looked_into(way, door) -> None:
    """Half of a vocabulary is another question: about fewer codes, and paid for."""
    question, whole = lw.count("visit", OF_KIND.format(1)), door.get("ana", f"{PLACE}/vocabularies/kinds").content
    size = len(whole)
    with lw.connect(door.url, door.tokens["ana"]) as ana:
        meant = ana.preview(question, epsilon="0.1").asked.text
    with lw.connect(way.url, door.tokens["ana"]) as ana:
        fetched = ana.population.vocabulary("kinds")
        for place in [*range(0, 130, 7), *range(130, size, size // 40), size + 60]:
            was_cut = cutting(way, "/vocabularies/kinds", [lambda _, place=place: place])
            fetched.forget()
            assert fetched._file().path.read_bytes() == whole
            assert place in was_cut
        fetched.forget()
        was_cut = cutting(way, "/vocabularies/kinds", [lambda sent: len(sent) // 2])
        assert ana.preview(question, epsilon="0.1").asked.text == meant
        assert was_cut[0] > 0


@pytest.mark.one_budget("nothing is charged here")
def test_a_vocabulary_that_is_another_one_than_the_dictionary_says_is_not_looked_into(way, door) -> None:
    before = door.left()
    for name, question in (
        ("kinds", OF_KIND.format(1)),
        ("packed", "code in (select code from packed where kind = 1)"),
    ):
        way.change = lambda path, told, name=name: told[: len(told) // 2] if path.endswith(name) else told
        with lw.connect(way.url, door.tokens["ana"]) as ana:
            for ask in (ana.ask, ana.preview):
                with pytest.raises(errors.DisagreementError, match=r"not the one of the dictionary.*nothing was asked"):
                    ask(lw.count("visit", question), epsilon="0.1")
            way.change = lambda _, told: told
            assert ana.preview(lw.count("visit", question), epsilon="0.1").affordable, "it is fetched again"
    assert door.left() == before


def test_an_answer_that_is_cut_is_asked_for_again_under_its_key(way, door, budget) -> None:
    price = {budget.currency: "0.125"}
    with lw.connect(way.url, door.tokens["ana"]) as ana:
        question = lw.count("patient", "age = 42")
        ana.preview(question, **price)
        cuts = [lambda whole, part=part: len(whole) * part // 40 for part in range(40)]
        was_cut = cutting(way, "/questions", cuts)
        way.seen.clear()
        before = door.taken()
        answers = [ana.ask(question, **price) for _ in range(len(cuts))]
        assert sum(one is not None for one in was_cut) == len(cuts)
        assert door.taken() - before == Fraction("0.125")
        assert len({str(one.rows) for one in answers}) == 1
        keys = [head["Idempotency-Key"] for _, path, head in way.seen if path.endswith("/questions")]
        assert all(keys.count(key) == 2 for key in keys)
        was_cut = cutting(way, "/batches", [lambda whole: len(whole) - 1])
        with ana.stream(**TERMS) as stream:
            assert [bool(one) for one in stream.ask_many(["age >= 0", "age > 120"])] == [True, False]
            assert stream.yeses_left == 1
        assert len(was_cut) > 1


@pytest.mark.one_budget("nothing is charged here")
def test_a_server_that_never_tells_it_whole_is_given_up(way, door) -> None:
    with lw.connect(way.url, door.tokens["ana"], timeout=1) as ana:
        way.cut = lambda _, whole: iter([whole[:-1]])
        with pytest.raises(errors.ServerError, match=r"does not arrive whole.*charged once"):
            ana.preview(lw.count("patient"), epsilon="0.1")


@contextmanager
def saying(pieces):
    """Say something to whoever connects, piece by piece, until they hang up."""

    def serve():
        while True:
            try:
                line, _ = listening.accept()
            except OSError:
                return
            with line:
                try:
                    line.recv(65536)
                    for piece in pieces():
                        line.sendall(piece)
                except OSError:
                    continue

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def get(url, **words):
    with closing(ServerConnection(url, "lw_token", **words)) as connection:
        return connection.get("/me")


def slowly(head, piece, seconds):
    yield head
    while True:
        time.sleep(seconds)
        yield piece


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DRIPS = {
    "a body": lambda: slowly(HEAD + b"Content-Length: 1000000\r\n\r\n", b" ", 0.1),
    "a head": lambda: slowly(HEAD, b"X", 0.1),
    "chunks": lambda: slowly(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", 0.1),
    "continues": lambda: slowly(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.05),
    "without a length": lambda: slowly(HEAD + b"\r\n", b" ", 0.1),
}


@pytest.mark.parametrize("drip", DRIPS)
def test_a_server_that_drips_is_given_up_in_time(drip) -> None:
    with saying(DRIPS[drip]) as url:
        since = time.monotonic()
        with pytest.raises(errors.ServerError, match=r"no server is reached.*in time.*longer timeout"):
            get(url, timeout=0.4)
        assert time.monotonic() - since < 15


MANY = b"[" + b"[]," * 5_000_000 + b"[]]"
LARGE = {
    "many values": lambda: iter([HEAD + b"Content-Length: %d\r\n\r\n" % len(MANY), MANY]),
    "a length": lambda: iter([HEAD + b"Content-Length: 99999999999\r\n\r\n"]),
    "no length": lambda: itertools.chain([HEAD + b"\r\n"], itertools.repeat(b" " * 1_000_000, 64)),
    "infinity": lambda: iter([HEAD + b"Content-Length: 8\r\n\r\nInfinity"]),
}


@pytest.mark.parametrize("large", LARGE)
def test_what_is_too_large_to_work_on_is_refused_before_it_is_read(large) -> None:
    with saying(LARGE[large]) as url:
        spent = time.process_time()
        with pytest.raises(errors.ServerError, match=r"more than|says what no server of lapwing says"):
            get(url, timeout=20)
        assert time.process_time() - spent < 2


def test_what_has_no_length_is_whole_if_it_is_json() -> None:
    told = json.dumps({"id": "ana"}).encode()
    with saying(lambda: iter([HEAD + b"\r\n" + told])) as url:
        assert get(url, timeout=5) == {"id": "ana"}
    with saying(lambda: iter([HEAD + b"\r\n" + told[:-1]])) as url, pytest.raises(errors.ServerError, match=r"whole"):
        get(url, timeout=0.3)

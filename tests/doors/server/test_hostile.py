"""What no friendly program sends. Nothing of it is answered with a failure, and nothing is charged."""

import json
import socket
import time

import pytest

from doors.server.doors import P, count, read_response
from lapwing.noise.randomness import fresh_name

pytestmark = pytest.mark.one_budget("what is hostile is refused before it has a price")

DEEP = b'{"question":' + b'{"a":' * 200 + b"1" + b"}" * 200 + b',"price":{"epsilon":"0.1"}}'


def priced(price: str) -> bytes:
    question = '{"ask":"count","table":"patient","where":"sex = \'M\'"}'
    return f'{{"question":{question},"price":{price}}}'.encode()


def where(text: str) -> bytes:
    return json.dumps(count(text, "0.001")).encode()


BODIES = {
    "NaN": (priced('{"epsilon":NaN}'), 400),
    "Infinity": (priced('{"epsilon":Infinity}'), 400),
    "-Infinity": (priced('{"epsilon":-Infinity}'), 400),
    "1e400": (priced('{"epsilon":1e400}'), 400),
    "5000 digits": (priced('{"epsilon":' + "1" * 5000 + "}"), 400),
    "5000 digits as text": (priced('{"epsilon":"' + "1" * 5000 + '"}'), 422),
    "0": (priced('{"epsilon":0}'), 422),
    "-0.0": (priced('{"epsilon":-0.0}'), 422),
    "-1": (priced('{"epsilon":-1}'), 422),
    "'nan'": (priced('{"epsilon":"nan"}'), 422),
    "'inf'": (priced('{"epsilon":"inf"}'), 422),
    "'1/0'": (priced('{"epsilon":"1/0"}'), 422),
    "true": (priced('{"epsilon":true}'), 422),
    "null": (priced('{"epsilon":null}'), 422),
    "a list": (priced('{"epsilon":[0.1]}'), 422),
    "5e-324": (priced('{"epsilon":5e-324}'), 422),
    "1e308": (priced('{"epsilon":1e308}'), 422),
    "1e-12": (priced('{"epsilon":1e-12}'), 422),
    "two prices": (priced('{"epsilon":"0.1","within":20}'), 422),
    "no price": (priced("{}"), 422),
    "delta 1": (priced('{"epsilon":"0.1","delta":1}'), 422),
    "delta -1": (priced('{"epsilon":"0.1","delta":-1}'), 422),
    "a confidence of 2": (priced('{"within":20,"confidence":2}'), 422),
    "sensitivity given": (priced('{"epsilon":"0.1","sensitivity":0}'), 422),
    "a key twice": (priced('{"epsilon":"0.001","epsilon":"5"}'), 400),
    "a seed": (b'{"seed":1,' + priced('{"epsilon":"0.1"}')[1:], 422),
    "200 deep": (DEEP, 400),
    "no JSON": (b"hello", 400),
    "empty": (b"", 400),
    "null alone": (b"null", 422),
    "bad UTF-8": (b'{"question":"\xff"}', 400),
    "a byte order mark": (b"\xef\xbb\xbf" + priced('{"epsilon":"0.1"}'), 400),
    "an unknown table": (
        json.dumps({"question": {"ask": "count", "table": "x"}, "price": {"epsilon": 1}}).encode(),
        422,
    ),
    "SQL injection": (where("sex = 'M'; drop table patient"), 422),
    "a union": (where("sex = 'M' union select 1"), 422),
    "sleep": (where("sleep_ms(1000) = 1"), 422),
    "read_csv": (where("age in (select age from read_csv('/etc/passwd'))"), 422),
    "NUL in a literal": (where("sex = 'a\0b'"), 422),
    "half a surrogate pair": (where("x").replace(b'"x"', b"\"sex = '\\ud800'\""), 400),
    "1,500 or": (where(" or ".join(f"age = {i}" for i in range(1500))), 422),
    "9,000 parentheses": (where("(" * 9000 + "true" + ")" * 9000), 422),
    "3,900 parentheses": (where("(" * 3900 + "true" + ")" * 3900), 422),
    "1,900 not": (where("not " * 1900 + "true"), 422),
    "a million cells": (
        json.dumps(
            {
                "question": {
                    "ask": "count",
                    "table": "patient",
                    "by": [{"column": "age", "edges": list(range(999))}] * 3,
                },
                "price": {"epsilon": "0.001"},
            }
        ).encode(),
        422,
    ),
    "a table name of 10 kB": (
        json.dumps({"question": {"ask": "count", "table": "x" * 10_000}, "price": {"epsilon": "1"}}).encode(),
        422,
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_bad_body_is_refused_with_a_sentence_and_nothing_is_charged(door, name) -> None:
    body, status = BODIES[name]
    left = door.left()
    for path in ("previews", "questions"):
        told = door.call("ana", "POST", f"{P}/{path}", body, key=fresh_name())
        assert told.status_code == status, told.text
        assert set(told.json()) == {"error"}
    assert door.left() == left


def request(method: str, path: str, *lines: str, host: str = "127.0.0.1", body: bytes = b"") -> bytes:
    head = [f"{method} {path} HTTP/1.1", f"Host: {host}", *lines]
    if body:
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


ASKED = where("age = 3")
JSON = "Content-Type: application/json"
KEY = "Idempotency-Key: abcdefgh-1"
QUESTIONS = f"{P}/questions"
REQUESTS = {
    "foreign host": (request("GET", "/api/v1/me", host="evil.example"), 421),
    "no host": (b"GET /api/v1/me HTTP/1.0\r\n\r\n", 421),
    "two hosts": (b"GET /api/v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n", 400),
    "absolute form": (request("GET", "http://evil.example/api/v1/me"), 400),
    "asterisk form": (request("OPTIONS", "*"), 400),
    "foreign origin": (request("POST", QUESTIONS, "Origin: https://evil.example", JSON, KEY, body=ASKED), 403),
    "no origin at all": (request("POST", QUESTIONS, "Origin: null", JSON, KEY, body=ASKED), 403),
    "cross-site": (request("POST", QUESTIONS, "Sec-Fetch-Site: cross-site", JSON, KEY, body=ASKED), 403),
    **{
        f"two of {first.partition(':')[0]}": (request("POST", QUESTIONS, *others, first, second, body=ASKED), 400)
        for first, second, others in (
            ("Authorization: Bearer lw_a", "Authorization: Bearer lw_b", (JSON, KEY)),
            (KEY, "Idempotency-Key: abcdefgh-2", (JSON,)),
            ("Origin: https://evil.example", "Origin: http://127.0.0.1", (JSON, KEY)),
            ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: none", (JSON, KEY)),
            ("Content-Type: text/plain", JSON, (KEY,)),
            ("Cookie: a=1", "Cookie: a=2", (JSON, KEY)),
        )
    },
    "length and chunks": (
        request("POST", QUESTIONS, JSON, KEY, "Transfer-Encoding: chunked", "Content-Length: 5") + b"0\r\n\r\n",
        400,
    ),
    "two lengths": (request("POST", QUESTIONS, JSON, KEY, "Content-Length: 5", "Content-Length: 6") + b"abcdef", 400),
    "a negative length": (request("POST", QUESTIONS, JSON, KEY, "Content-Length: -1"), 400),
    "10 MB": (request("POST", QUESTIONS, JSON, KEY, "Content-Length: 10000000"), 413),
    "a packed body": (request("POST", QUESTIONS, JSON, KEY, "Content-Encoding: gzip", body=b"\x1f\x8b"), 415),
    "a form": (request("POST", QUESTIONS, "Content-Type: application/x-www-form-urlencoded", KEY, body=b"a=b"), 415),
    "no type": (request("POST", QUESTIONS, KEY, body=ASKED), 415),
    "no key": (request("POST", QUESTIONS, JSON, body=ASKED), 400),
    "a short key": (request("POST", QUESTIONS, JSON, "Idempotency-Key: abc", body=ASKED), 400),
    "a long key": (request("POST", QUESTIONS, JSON, "Idempotency-Key: " + "k" * 500, body=ASKED), 400),
    "a key with a slash": (request("POST", QUESTIONS, JSON, "Idempotency-Key: ../../etc/passwd", body=ASKED), 400),
    "GET on questions": (request("GET", QUESTIONS), 405),
    "HEAD on questions": (request("HEAD", QUESTIONS, "Connection: close"), 405),
    "OPTIONS": (request("OPTIONS", QUESTIONS), 405),
    "TRACE": (request("TRACE", QUESTIONS), 405),
    "an unknown method": (request("FETCH", QUESTIONS), 405),
    "an override": (request("GET", f"{P}/streams", "X-HTTP-Method-Override: DELETE"), 200),
    "an upgrade": (request("GET", "/api/v1/me", "Connection: Upgrade", "Upgrade: websocket"), 200),
    "an unknown word": (request("GET", "/api/v1/me?admin=1"), 422),
    "a limit of letters": (request("GET", f"{P}/answers?limit=ten"), 422),
    "a limit twice": (request("GET", f"{P}/answers?limit=1&limit=2"), 422),
    "a huge limit": (request("GET", f"{P}/answers?limit=" + "9" * 400), 422),
    "markup in a path": (request("GET", f"{P}/streams/%3Cimg%20src=x%3E"), 404),
    "NUL in a path": (request("GET", f"{P}/streams/a%00b"), 400),
    "an unknown population": (request("GET", "/api/v1/populations/other/budget"), 404),
    "20 kB of headers": (request("GET", "/api/v1/me", *(f"X-{i}: {'a' * 100}" for i in range(200))), 431),
    "garbage": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    **{
        f"traversal {path}": (request("GET", f"/api/v1/{path}"), 404)
        for path in ("../door.db", "%2e%2e/door.db", "..%2fdoor.db", "..\\door.db", "/etc/passwd", "static/../door.db")
    },
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_strange_request_is_refused_and_nothing_is_charged(door, name) -> None:
    data, status = REQUESTS[name]
    left = door.left()
    token = f"Authorization: Bearer {door.tokens['ana']}\r\n".encode()
    head, _, rest = data.partition(b"\r\n")
    found, answer = door.raw(head + b"\r\n" + (token if b"HTTP/" in head else b"") + rest)
    assert found == status, answer
    assert door.left() == left


def test_what_is_absent_and_what_is_for_others_are_told_in_the_same_bytes(door) -> None:
    places = ("/api/v1/people", "/api/v1/nothing", f"{P}/account", f"{P}/nothing", "/api/v1/populations/none/budget")
    told = [door.get("ana", place) for place in places]
    assert {(one.status_code, one.content) for one in told} == {(404, told[0].content)}
    assert len({tuple(sorted(one.headers)) for one in told}) == 1


def test_the_same_words_for_no_token_and_a_dead_one(door) -> None:
    told = [
        door.call(None, "GET", "/api/v1/me", headers=headers)
        for headers in (
            {},
            {"Authorization": "Bearer lw_" + "A" * 43},
            {"Authorization": "Bearer '; drop table tokens; --"},
            {"Authorization": "Basic YW5hOmFuYQ=="},
            {"Cookie": f"lapwing={door.tokens['ana']}"},
            {"Authorization": "Bearer " + "x" * 5000},
        )
    ]
    assert {one.status_code for one in told} == {401}
    assert len({one.content for one in told}) == 1


def test_every_answer_carries_the_headers_that_protect_a_browser(door) -> None:
    for told in (door.get("ana", "/api/v1/me"), door.get(None, "/nothing"), door.get(None, "/api/v1/me")):
        assert told.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in told.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in told.headers["Content-Security-Policy"]
        assert told.headers["Cache-Control"] == "no-store"
        assert told.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert told.headers["Referrer-Policy"] == "same-origin"
        assert "Server" not in told.headers
        assert "Access-Control-Allow-Origin" not in told.headers


def test_endless_chunks_are_cut_off(door) -> None:
    with socket.create_connection(("127.0.0.1", door.port), 5) as line:
        line.settimeout(20)
        head = request(
            "POST", QUESTIONS, f"Authorization: Bearer {door.tokens['ana']}", JSON, KEY, "Transfer-Encoding: chunked"
        )
        line.sendall(head)
        try:
            for _ in range(100):
                line.sendall(b"4000\r\n" + b"a" * 0x4000 + b"\r\n")
        except OSError:
            return
        assert read_response(line)[0] == 413


def test_ten_thousand_keys_of_json_are_read_or_refused_quickly(door) -> None:
    body = json.dumps({f"k{i}": i for i in range(5000)}).encode()[:65_000]
    begun = time.perf_counter()
    assert door.call("ana", "POST", f"{P}/previews", body).status_code in {400, 422}
    assert time.perf_counter() - begun < 5

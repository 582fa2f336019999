"""Identity from a proxy: its word counts from its address and with its secret, and nobody else's does."""

import ipaddress
import json
import socket
from dataclasses import replace

import httpx
import pytest

from doors.server.doors import AUTHORITIES, UNLIMITED, add_people, make_folder, read_response, serving
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.door_file import FILE, read_door
from lapwing.doors.server.trusted_proxy import TrustedProxy, Unknown
from lapwing.vocabulary.errors import SettingsError

pytestmark = pytest.mark.one_budget("who comes in by a proxy has nothing to do with what is spent")

SECRET = "s3cret-of-the-proxy-" + "0123456789abcdef"
PROXY = TrustedProxy(peers=(ipaddress.ip_network("127.0.0.1"),), secret=SECRET, sign_out="/oauth2/sign_out")
PROVEN = {"X-Lapwing-Proxy": SECRET}


def settings_with(proxy: TrustedProxy | None) -> DoorSettings:
    return DoorSettings(limits=UNLIMITED, tick=0.02, proxy=proxy)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, budget):
    place = make_folder(tmp_path_factory.mktemp("proxy") / "clinic", budget)
    add_people(place)
    return place


@pytest.fixture(scope="module")
def door(folder):
    with serving(folder, settings_with(PROXY), tokens={}) as door:
        yield door


def visitor(door, **more) -> httpx.Client:
    address = f"http://127.0.0.1:{door.port}"
    return httpx.Client(base_url=address, trust_env=False, verify=AUTHORITIES, headers={"Accept": "text/html"}, **more)


def who(door, *headers: tuple[str, str | bytes], client: httpx.Client | None = None) -> str:
    """Return the name that the top of a page shows; "nobody" for who is sent to sign in; else the status."""
    with client or visitor(door) as browser:
        page = browser.get("/epsilon", headers=list(headers))
    if page.status_code == 200:
        return page.text.partition('<span class="name">')[2].partition("<")[0]
    return "nobody" if page.headers.get("location", "").startswith("/login") else str(page.status_code)


def test_the_proxy_says_who_comes(door) -> None:
    assert who(door, ("X-Remote-User", "ana"), *PROVEN.items()) == "Ana"
    assert who(door, ("x-remote-USER", "ben"), *PROVEN.items()) == "Ben"
    assert who(door, *PROVEN.items()) == "nobody"
    assert who(door) == "nobody"


LIES = {
    "no secret": [("X-Remote-User", "cleo")],
    "an empty secret": [("X-Remote-User", "cleo"), ("X-Lapwing-Proxy", "")],
    "a wrong secret": [("X-Remote-User", "cleo"), ("X-Lapwing-Proxy", SECRET[:-1] + "0")],
    "a part of the secret": [("X-Remote-User", "cleo"), ("X-Lapwing-Proxy", SECRET[:-1])],
    "the secret and more": [("X-Remote-User", "cleo"), ("X-Lapwing-Proxy", SECRET + "0")],
    "the secret in capitals": [("X-Remote-User", "cleo"), ("X-Lapwing-Proxy", SECRET.upper())],
    "a wrong secret alone": [("X-Lapwing-Proxy", "guess")],
    "two people": [("X-Remote-User", "ana"), ("X-Remote-User", "cleo"), *PROVEN.items()],
    "the same person twice": [("X-Remote-User", "ana"), ("x-remote-user", "ana"), *PROVEN.items()],
    "two secrets": [("X-Remote-User", "ana"), ("X-Lapwing-Proxy", "x"), *PROVEN.items()],
    "two people in one header": [("X-Remote-User", "ana, cleo"), *PROVEN.items()],
    "nobody by name": [("X-Remote-User", ""), *PROVEN.items()],
    "other letters": [("X-Remote-User", "Cleo"), *PROVEN.items()],
    "a Cyrillic letter": [("X-Remote-User", "сleo".encode()), *PROVEN.items()],
    "Latin-1": [("X-Remote-User", b"cl\xe9o"), *PROVEN.items()],
    "a Kelvin sign": [("X-Remote-User", "\u212aarl".encode()), *PROVEN.items()],
    "no-break space": [("X-Remote-User", "cleo\u00a0".encode()), *PROVEN.items()],
    "a tab": [("X-Remote-User", "cl\teo"), *PROVEN.items()],
    "SQL": [("X-Remote-User", "cleo' or 1=1 --"), *PROVEN.items()],
    "61 letters": [("X-Remote-User", "a" * 61), *PROVEN.items()],
    "an address for the peer": [("X-Remote-User", "cleo"), ("X-Forwarded-For", "127.0.0.1")],
    "Forwarded for the peer": [("X-Remote-User", "cleo"), ("Forwarded", "for=127.0.0.1;by=127.0.0.1")],
}


@pytest.mark.parametrize("lie", LIES)
def test_whoever_else_says_it_is_refused(door, lie) -> None:
    with visitor(door) as browser:
        for path in ("/epsilon", "/api/v1/health", "/api/v1/me", "/login", "/static/lapwing.css"):
            told = browser.get(path, headers=LIES[lie])
            assert (told.status_code, told.json()["error"]["code"]) == (400, "proxy"), (path, told.text)
            assert "set-cookie" not in told.headers


@pytest.mark.parametrize("name", ["X_Remote_User", "Remote-User", "X-Remote-User-", "X-Forwarded-User", "Remote_User"])
def test_a_header_that_is_nearly_ours_means_nothing(door, name) -> None:
    assert who(door, (name, "cleo"), *PROVEN.items()) == "nobody"


def test_the_secret_from_another_address_is_worth_nothing(door) -> None:
    elsewhere = httpx.HTTPTransport(local_address="127.0.0.2")
    for header in (("X-Forwarded-For", "127.0.0.1"), ("X-Real-IP", "127.0.0.1"), ("Via", "1.1 127.0.0.1")):
        client = visitor(door, transport=httpx.HTTPTransport(local_address="127.0.0.2"))
        assert who(door, ("X-Remote-User", "cleo"), header, *PROVEN.items(), client=client) == "400"
    assert who(door, client=visitor(door, transport=elsewhere)) == "nobody"


@pytest.mark.parametrize("broken", [b"cleo\r\n X-Lapwing-Proxy: x", b"cl\r\neo", b"cleo\0", b"cl\neo", b"\x7fcleo"])
def test_line_ends_and_control_characters_name_nobody(door, broken) -> None:
    head = b"GET /epsilon HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Lapwing-Proxy: " + SECRET.encode()
    with socket.create_connection(("127.0.0.1", door.port), 5) as line:
        line.sendall(head + b"\r\nX-Remote-User: " + broken + b"\r\nConnection: close\r\n\r\n")
        status, told = read_response(line)
    assert status == 400, told


def test_programs_come_by_token_also_through_the_proxy(door) -> None:
    told = door.get(None, "/api/v1/me", headers={"X-Remote-User": "ana", **PROVEN})
    assert (told.status_code, told.json()["error"]["code"]) == (401, "token")


def test_a_cookie_that_the_proxy_gave_is_worth_nothing_without_it_nor_for_anybody_else(door) -> None:
    with visitor(door) as browser:
        first = browser.get("/epsilon", headers={"X-Remote-User": "ana", **PROVEN})
        cookie = first.cookies["lapwing"]
        assert "HttpOnly" in first.headers["set-cookie"]
        again = browser.get("/epsilon", headers={"X-Remote-User": "ana", **PROVEN})
        assert (again.status_code, again.headers.get("set-cookie")) == (200, None)
        other = browser.get("/epsilon", headers={"X-Remote-User": "ben", **PROVEN})
        assert ">Ben<" in other.text
        assert other.cookies["lapwing"] != cookie
    for stolen in (cookie, cookie.removeprefix("v~"), "v~" + cookie):
        assert who(door, client=visitor(door, cookies={"lapwing": stolen})) == "nobody"


def test_forms_need_their_token_and_who_signs_out_goes_to_the_proxy(door) -> None:
    vouched = {"X-Remote-User": "ana", **PROVEN}
    with visitor(door) as browser:
        assert browser.post("/logout", data={"csrf": "0" * 64}, headers=vouched).status_code == 403
        form = browser.get("/epsilon", headers=vouched).text.partition('name="csrf" value="')[2].partition('"')[0]
        evil = browser.post("/logout", data={"csrf": form}, headers={**vouched, "Origin": "https://evil.example"})
        assert evil.status_code == 403
        out = browser.post("/logout", data={"csrf": form}, headers=vouched)
        assert (out.status_code, out.headers["location"]) == (303, "/oauth2/sign_out")


def test_somebody_who_is_not_known_or_not_any_more_is_refused_and_nobody_is_made(door) -> None:
    assert who(door, ("X-Remote-User", "zoe"), *PROVEN.items()) == "403"
    with visitor(door) as browser:
        page = browser.get("/", headers={"X-Remote-User": "zoe", "Accept-Language": "de", **PROVEN})
    assert "Sie sind hier nicht bekannt" in page.text
    assert "set-cookie" not in page.headers
    audit = door.audit(lambda lines: {one["status"] for one in lines} >= {400, 403})
    assert not any(SECRET in json.dumps(one) for one in audit)


def test_the_address_in_the_audit_is_the_one_that_the_proxy_saw(door) -> None:
    forwarded = {"X-Forwarded-For": "127.0.0.1, 6.6.6.6, 192.0.2.7"}
    with visitor(door) as browser:
        browser.get("/custody/people", headers={"X-Remote-User": "otto", **PROVEN, **forwarded})
        browser.get("/custody/nothing", headers=forwarded)
    assert door.audit(lambda lines: [one["from"] for one in lines[-2:]] == ["192.0.2.7", "127.0.0.1"])


def test_unknown_people_become_guests_where_it_is_said_so(folder) -> None:
    open_house = replace(PROXY, unknown=Unknown.GUEST, fold_case=True)
    with serving(folder, settings_with(open_house), tokens={}) as door:
        for name in ("Zoe@Hospital.Example", "zoe@hospital.example"):
            assert who(door, ("X-Remote-User", name), *PROVEN.items()) == "zoe@hospital.example"
        with visitor(door) as browser:
            vouched = {"X-Remote-User": "zoe@hospital.example", **PROVEN}
            assert browser.get("/populations/clinic/ask", headers=vouched).status_code == 404
            assert browser.get("/custody/people", headers=vouched).status_code == 404
        assert who(door, ("X-Remote-User", "\u212aarl".encode()), *PROVEN.items()) == "400"


def test_without_a_proxy_the_headers_mean_nothing(folder) -> None:
    with serving(folder, settings_with(None), tokens={}) as door:
        assert who(door, ("X-Remote-User", "cleo"), *PROVEN.items(), ("X-Forwarded-For", "10.0.0.5")) == "nobody"


def test_door_toml_declares_the_proxy(tmp_path) -> None:
    (tmp_path / "proxy.secret").write_text(SECRET + "\n")
    (tmp_path / FILE).write_text(
        """
        [proxy]
        peers = ["10.0.0.5", "2001:db8::/64"]
        secret_file = "proxy.secret"
        identity_header = "X-Auth-Request-User"
        unknown = "guest"
        """
    )
    found = read_door(tmp_path).door.proxy
    assert found is not None
    assert (found.secret, found.identity_header, found.unknown) == (SECRET, "x-auth-request-user", Unknown.GUEST)
    assert [str(one) for one in found.peers] == ["10.0.0.5/32", "2001:db8::/64"]


@pytest.mark.parametrize(
    "wrong",
    [
        'peers = []\nsecret_file = "proxy.secret"',
        'peers = ["proxy.example.org"]\nsecret_file = "proxy.secret"',
        'peers = ["10.0.0.5/8"]\nsecret_file = "proxy.secret"',
        'peers = ["10.0.0.5"]',
        'peers = ["10.0.0.5"]\nsecret_file = "absent"',
        'peers = ["10.0.0.5"]\nsecret_file = "short"',
        'peers = ["10.0.0.5"]\nsecret_file = "proxy.secret"\nidentity_header = "Host"',
        'peers = ["10.0.0.5"]\nsecret_file = "proxy.secret"\nidentity_header = "X-Lapwing-Proxy"',
        'peers = ["10.0.0.5"]\nsecret_file = "proxy.secret"\nidentity_header = "X User"',
        'peers = ["10.0.0.5"]\nsecret_file = "proxy.secret"\nunknown = "custodian"',
        'peers = ["10.0.0.5"]\nsecret_file = "proxy.secret"\nsign_out = "https://evil.example"',
        'peers = ["10.0.0.5"]\nsecret = "inline"',
    ],
)
def test_a_slip_about_the_proxy_is_refused_with_its_line(tmp_path, wrong) -> None:
    (tmp_path / "proxy.secret").write_text(SECRET)
    (tmp_path / "short").write_text("guess")
    (tmp_path / FILE).write_text(f"[proxy]\n{wrong}\n")
    with pytest.raises(SettingsError, match=f"{FILE}, line") as told:
        read_door(tmp_path)
    assert SECRET not in str(told.value)

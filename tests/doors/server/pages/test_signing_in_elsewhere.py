"""Signing in with a provider of OpenID Connect that runs on loopback; and every way to cheat that we know of."""

import base64
import hmac
import json
import ssl
import time
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from doors.server.certificates import make_certificate
from doors.server.doors import UNLIMITED, add_people, make_folder, serving
from doors.server.loopback_provider import CLIENT, SECRET, provider_on_loopback
from lapwing.doors.server import sign_in_provider
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.door_file import FILE, read_door
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.id_tokens import LEEWAY
from lapwing.doors.server.identities import BEGUN_FOR, Identities
from lapwing.doors.server.people import Directory
from lapwing.doors.server.rates import Limits, Rate
from lapwing.doors.server.roles import Role
from lapwing.doors.server.sign_in_provider import Provider, Subject
from lapwing.doors.server.trusted_proxy import Unknown
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.errors import SettingsError

pytestmark = pytest.mark.one_budget("signing in has nothing to do with what is spent")

CALLBACK = "http://127.0.0.1:8431/sign-in/return"
ROLES = {"keepers": Role.CUSTODIAN, "askers": Role.ANALYST}


@pytest.fixture(scope="module")
def running():
    with provider_on_loopback() as provider:
        provider.callback = CALLBACK
        yield provider


@pytest.fixture
def provider(running):
    """The provider as it was at first, whatever the test before has done to it."""
    before = dict(vars(running))
    running.signs_in = {"sub": fresh_name(), "name": "Zoe", "groups": ["askers"]}
    running.about, running.twist = {}, lambda _header, _claims: None
    yield running
    vars(running).update(before)


def settings(issuer: str, **more: Any) -> DoorSettings:
    known = {"name": "the Hospital", "issuer": issuer, "client": CLIENT, "secret": SECRET, "callback": CALLBACK}
    return DoorSettings(limits=UNLIMITED, tick=0.02, provider=Provider(**known | {"roles": ROLES} | more))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, budget):
    place = make_folder(tmp_path_factory.mktemp("provider") / "clinic", budget)
    add_people(place)
    return place


@pytest.fixture(scope="module")
def door(folder, running):
    with serving(folder, settings(running.issuer), tokens={}) as door:
        yield door


class Traveller(httpx.Client):
    """A browser without a script that goes to the provider and back."""

    def __init__(self, door) -> None:
        address = f"http://127.0.0.1:{door.port}"
        super().__init__(base_url=address, trust_env=False, headers={"Accept": "text/html"}, timeout=60)

    def away(self, goal: str = "/epsilon") -> str:
        """Begin, and return where the browser is sent."""
        begun = self.get("/sign-in", params={"next": goal})
        assert begun.status_code == 303, begun.text
        return begun.headers["location"]

    def consented(self, place: str) -> dict[str, str]:
        """Go to the provider, and return what it answers with."""
        back = httpx.get(place, trust_env=False)
        assert back.status_code == 302, back.text
        assert back.headers["location"].startswith(f"{CALLBACK}?")
        return {name: values[0] for name, values in parse_qs(urlsplit(back.headers["location"]).query).items()}

    def back(self, answer: dict[str, str]) -> httpx.Response:
        return self.get("/sign-in/return", params=answer)

    def sign_in(self, goal: str = "/epsilon") -> httpx.Response:
        return self.back(self.consented(self.away(goal)))

    def name(self) -> str:
        page = self.get("/epsilon")
        return page.text.partition('<span class="name">')[2].partition("<")[0] if page.status_code == 200 else "nobody"


def refused(answer: httpx.Response) -> bool:
    """Say whether nobody came in, and no reason was told."""
    told = "Signing in with the Hospital did not work." in answer.text
    return answer.status_code == 401 and told and "lapwing=" not in str(answer.headers.get_list("set-cookie"))


@pytest.mark.usefixtures("provider")
def test_somebody_signs_in_and_goes_where_they_wanted_to(door) -> None:
    with Traveller(door) as zoe:
        assert 'href="/sign-in?next=/populations/clinic/ask"' in zoe.get("/login?next=/populations/clinic/ask").text
        came = zoe.sign_in("/populations/clinic/ask")
        assert (came.status_code, came.headers["location"]) == (303, "/populations/clinic/ask")
        assert zoe.name() == "Zoe"
        assert zoe.get(came.headers["location"]).status_code == 200
        assert "lapwing-begun" not in zoe.cookies
    with Traveller(door) as again:
        again.sign_in()
        assert again.name() == "Zoe"
    people = [one for one in door_people(door) if one.name == "Zoe"]
    assert [one.role for one in people] == [Role.ANALYST]
    assert people[0].id.startswith("sso-")


def door_people(door):
    store = open_store(door.folder)
    try:
        return Directory(store).everybody()
    finally:
        store.close()


@pytest.mark.usefixtures("provider")
def test_what_the_provider_is_asked(door) -> None:
    with Traveller(door) as zoe:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(zoe.away()).query).items()}
        cookie = zoe.cookies["lapwing-begun"]
    assert asked | {"state": "", "nonce": "", "code_challenge": ""} == {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": CALLBACK,
        "scope": "openid profile",
        "code_challenge_method": "S256",
        "state": "",
        "nonce": "",
        "code_challenge": "",
    }
    secrets = [asked["state"], asked["nonce"], asked["code_challenge"], cookie]
    assert len(set(secrets)) == 4
    assert all(len(one) >= 43 for one in secrets)


@pytest.mark.usefixtures("provider")
@pytest.mark.parametrize("goal", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_nobody_is_sent_to_another_site_in_the_end(door, goal) -> None:
    with Traveller(door) as zoe:
        assert zoe.sign_in(goal).headers["location"] == "/"


def packed(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")


def unsigned(header: dict[str, Any], claims: Any) -> str:
    return f"{packed(json.dumps(header).encode())}.{packed(json.dumps(claims).encode())}."


def keyed_with(secret: bytes, header: dict[str, Any], claims: dict[str, Any]) -> str:
    key = OctKey.import_key(secret)
    return jwt.encode({**header, "alg": "HS256"}, claims, key, algorithms=["HS256"])


OWN = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})


def changed(**claims: Any):
    def twist(_: dict[str, Any], told: dict[str, Any]) -> None:
        told.update(claims)
        for name in [name for name, value in claims.items() if value is ...]:
            del told[name]

    return twist


NOW = int(time.time())
LIES = {
    "another audience": changed(aud="another"),
    "no audience": changed(aud=...),
    "an audience with others that asked for it": changed(aud=[CLIENT, "another"], azp="another"),
    "several audiences and nobody who asked": changed(aud=[CLIENT, "another"]),
    "for us, and asked for by another": changed(azp="another"),
    "an audience that begins alike": changed(aud=CLIENT + "2"),
    "another issuer": changed(iss="http://127.0.0.1:1/hospital"),
    "no issuer": changed(iss=...),
    "it has ended": changed(iat=NOW - 4000, exp=NOW - LEEWAY - 5),
    "no end": changed(exp=...),
    "an end in words": changed(exp="tomorrow"),
    "not yet": changed(nbf=NOW + 4000),
    "made tomorrow": changed(iat=NOW + 86_400),
    "no time": changed(iat=...),
    "another nonce": changed(nonce="0" * 64),
    "no nonce": changed(nonce=...),
    "a nonce that is no text": changed(nonce=[1]),
    "nobody": changed(sub=...),
    "a subject of nothing": changed(sub=""),
    "a subject that is a number": changed(sub=7),
    "a subject of 300 letters": changed(sub="s" * 300),
    "a subject with a line end": changed(sub="s\n1"),
    "alg none": lambda header, claims: unsigned({**header, "alg": "none"}, claims),
    "alg None": lambda header, claims: unsigned({**header, "alg": "None"}, claims),
    "no alg": lambda header, claims: unsigned({"kid": header["kid"]}, claims),
    "the client's secret as the key": lambda header, claims: keyed_with(SECRET.encode(), header, claims),
    "another's key by the same name": lambda header, claims: jwt.encode(header, claims, OWN, algorithms=["RS256"]),
    "its own key inside": lambda _, claims: jwt.encode(
        {"alg": "RS256", "jwk": OWN.as_dict(private=False)}, claims, OWN, algorithms=["RS256"]
    ),
    "a key elsewhere": lambda header, claims: jwt.encode(
        {**header, "jku": "http://127.0.0.1:1/keys"}, claims, OWN, algorithms=["RS256"]
    ),
    "no token": lambda *_: "x",
    "five parts": lambda *_: "a.b.c.d.e",
    "a list": lambda header, claims: unsigned({**header, "alg": "RS256"}, [claims]),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_token_that_does_not_hold_lets_nobody_in(door, provider, lie) -> None:
    provider.twist = LIES[lie]
    with Traveller(door) as mallory:
        given = provider.asked.count("given")
        answer = mallory.sign_in()
        assert refused(answer), (lie, answer.status_code, answer.headers)
        assert provider.asked.count("given") == given + 1  # the provider did make such a token
        assert mallory.name() == "nobody"
    assert not any(one.id == provider.signs_in["sub"] for one in door_people(door))


@pytest.mark.parametrize("form", ["pem", "der", "jwk"])
def test_a_public_key_is_never_taken_for_a_shared_secret(door, provider, form) -> None:
    public = provider.key
    secret = {
        "pem": public.as_pem(private=False),
        "der": public.as_der(private=False),
        "jwk": json.dumps(public.as_dict(private=False)).encode(),
    }[form]

    def confused(header: dict[str, Any], claims: dict[str, Any]) -> str:
        said = unsigned({**header, "alg": "HS256"}, claims).rstrip(".")
        return f"{said}.{packed(hmac.digest(secret, said.encode(), 'sha256'))}"

    provider.twist = confused
    with Traveller(door) as mallory:
        given = provider.asked.count("given")
        assert refused(mallory.sign_in())
        assert provider.asked.count("given") == given + 1


def test_a_signature_of_another_token_is_worth_nothing(door, provider) -> None:
    def swapped(header: dict[str, Any], claims: dict[str, Any]) -> str:
        signed = jwt.encode(header, claims, provider.key)
        other = jwt.encode(header, {**claims, "sub": "cleo", "groups": ["keepers"]}, provider.key)
        return ".".join([*other.split(".")[:2], signed.split(".")[2]])

    provider.twist = swapped
    with Traveller(door) as mallory:
        assert refused(mallory.sign_in())


@pytest.mark.usefixtures("provider")
def test_an_answer_is_good_once_and_in_the_browser_that_began(door) -> None:
    with Traveller(door) as zoe, Traveller(door) as mallory:
        place = zoe.away()
        answer, another = zoe.consented(place), zoe.consented(place)
        assert refused(mallory.back(answer))  # no cookie at all
        mallory.away()
        assert refused(mallory.back(answer))  # a cookie of another beginning
        begun = zoe.cookies["lapwing-begun"]
        assert zoe.back(answer).status_code == 303
        zoe.cookies.set("lapwing-begun", begun)
        assert refused(zoe.back(answer))  # the state, again
        zoe.cookies.set("lapwing-begun", begun)
        assert refused(zoe.back(another))  # and with a code that was never used


def test_a_code_that_was_used_or_is_another_s_is_refused(door, provider) -> None:
    with Traveller(door) as zoe, Traveller(door) as mallory:
        theirs, own = zoe.consented(zoe.away()), mallory.consented(mallory.away())
        assert refused(mallory.back({**own, "code": theirs["code"]}))  # the verifier is not theirs
        assert zoe.back(theirs).status_code == 401  # and the code is used up
        own = mallory.consented(mallory.away())
        provider.codes.pop(own["code"])
        assert refused(mallory.back(own))


def test_a_nonce_of_another_sign_in_is_refused(door, provider) -> None:
    with Traveller(door) as zoe:
        first = parse_qs(urlsplit(zoe.away()).query)["nonce"][0]
        provider.twist = changed(nonce=first)
        assert refused(zoe.sign_in())


def test_the_answer_must_say_which_provider_it_is_from_and_say_it_once(door, provider) -> None:
    with Traveller(door) as zoe:
        for issuer in ("https://evil.example", provider.issuer + "/", provider.issuer.upper(), ""):
            answer = zoe.consented(zoe.away())
            asked = len(provider.asked)
            assert refused(zoe.back({**answer, "iss": issuer}))
            assert provider.asked[asked:] == []  # no code is told to anybody
        answer = zoe.consented(zoe.away())
        assert refused(zoe.back({name: answer[name] for name in ("code", "state")}))
        answer = zoe.consented(zoe.away())
        assert refused(zoe.get("/sign-in/return", params=[*answer.items(), ("code", "another")]))
        assert refused(zoe.get("/sign-in/return", params=[*answer.items(), ("state", "another")]))


@pytest.mark.usefixtures("provider")
@pytest.mark.parametrize("words", [{}, {"state": "x"}, {"error": "access_denied"}, {"code": "x", "state": "\u2603"}])
def test_whoever_comes_back_without_an_answer_is_refused(door, words) -> None:
    with Traveller(door) as zoe:
        state = parse_qs(urlsplit(zoe.away()).query)["state"][0]
        assert refused(zoe.back(words))
        zoe.away()
        assert refused(zoe.back({"state": state, **words}))


def test_a_new_key_of_the_provider_is_found_and_the_old_one_is_worth_nothing(folder, provider, monkeypatch) -> None:
    monkeypatch.setattr(sign_in_provider, "_NEW_KEYS_AFTER", 0.0)
    with serving(folder, settings(provider.issuer), tokens={}) as door, Traveller(door) as zoe:
        zoe.sign_in()
        provider.rotate()
        assert zoe.sign_in().status_code == 303
        fetched = provider.asked.count("keys")
        assert zoe.sign_in().status_code == 303
        assert provider.asked.count("keys") == fetched  # they are not looked up each time
        provider.rotate(publish=False)
        assert refused(zoe.sign_in())


def test_made_up_key_names_do_not_make_us_ask_the_provider_again_and_again(door, provider) -> None:
    provider.twist = lambda header, claims: jwt.encode({**header, "kid": fresh_name()}, claims, provider.key)
    with Traveller(door) as mallory:
        mallory.sign_in()
        fetched = provider.asked.count("keys")
        for _ in range(3):
            assert refused(mallory.sign_in())
        assert provider.asked.count("keys") == fetched


@pytest.mark.filterwarnings("ignore:Key size")
def test_a_key_that_is_too_small_or_for_something_else_is_not_used(folder, provider) -> None:
    small = RSAKey.generate_key(1024, {"kid": "small", "use": "sig"})
    sealing = RSAKey.generate_key(2048, {"kid": "sealing", "use": "enc"})
    provider.published = [provider.key, small, sealing, OctKey.generate_key(256, {"kid": "shared"})]
    with serving(folder, settings(provider.issuer), tokens={}) as door, Traveller(door) as mallory:
        assert mallory.sign_in().status_code == 303
        for key in (small, sealing):
            provider.twist = lambda _, claims, key=key: jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)
            assert refused(mallory.sign_in())


@pytest.mark.parametrize(
    "about",
    [
        {"issuer": "http://127.0.0.1:1/other"},
        {"authorization_endpoint": "http://login.example.org/authorize"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
    ],
)
def test_a_provider_that_describes_itself_wrongly_is_not_gone_to(folder, provider, about) -> None:
    provider.about = about
    with serving(folder, settings(provider.issuer), tokens={}) as door, Traveller(door) as zoe:
        told = zoe.get("/sign-in", headers={"Accept-Language": "de"})
        assert told.status_code == 503
        assert "the Hospital ist gerade nicht zu erreichen" in told.text
        assert "set-cookie" not in told.headers


NONSENSE = {
    "another place": RedirectResponse("http://127.0.0.1:1/elsewhere", 302),
    "a page": HTMLResponse("<h1>Welcome</h1>"),
    "a list": JSONResponse(["issuer"]),
    "two megabytes": JSONResponse({"issuer": "x" * 2_000_000}),
    "very deep": Response("[" * 100_000, media_type="application/json"),
    "a failure": JSONResponse({"error": "server_error"}, 500),
    "no UTF-8": Response(b"\xff\xfe{}", media_type="application/json"),
}


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_a_provider_that_says_nonsense_is_not_gone_to_and_nothing_fails(folder, provider, nonsense) -> None:
    provider.instead = NONSENSE[nonsense]
    with serving(folder, settings(provider.issuer), tokens={}) as door, Traveller(door) as zoe:
        assert zoe.get("/sign-in").status_code == 503
        provider.instead = None
        assert zoe.sign_in().status_code == 303  # it is asked again, and nothing was kept


def test_a_provider_by_tls_is_believed_with_a_certificate_of_those_that_are_trusted(folder, tmp_path) -> None:
    certificate, key = make_certificate(tmp_path)
    other, _ = make_certificate(tmp_path, "other")
    with provider_on_loopback(certificate, key) as provider:
        provider.callback, provider.signs_in = CALLBACK, {"sub": fresh_name(), "groups": "askers"}
        for trusted, status in ((certificate, 303), (other, 503), (None, 503)):
            known = settings(provider.issuer, authorities=trusted)
            with serving(folder, known, tokens={}) as door, Traveller(door) as zoe:
                begun = zoe.get("/sign-in")
                assert begun.status_code == status
                if status == 303:
                    back = httpx.get(begun.headers["location"], verify=ssl.create_default_context(cafile=certificate))
                    answer = parse_qs(urlsplit(back.headers["location"]).query)
                    assert zoe.back({name: values[0] for name, values in answer.items()}).status_code == 303


def test_roles_follow_from_the_claim_at_every_sign_in(door, provider) -> None:
    with Traveller(door) as zoe:
        zoe.sign_in()
        assert zoe.get("/custody/people").status_code == 404
        provider.signs_in["groups"] = ["others", "askers", "keepers"]
        zoe.sign_in()
        assert zoe.get("/custody/people").status_code == 200
        old = dict(zoe.cookies)
        provider.signs_in["groups"] = "others"
        answer = zoe.sign_in()
        assert (answer.status_code, "You are not known here" in answer.text) == (403, True)
    with Traveller(door) as left:
        left.cookies.update(old)
        assert left.name() == "nobody"  # the sign-ins of before ended with the role
    for groups in ({"keepers": True}, ["Keepers"], [["keepers"]], None, 7):
        provider.signs_in |= {"sub": fresh_name(), "groups": groups}
        with Traveller(door) as other:
            assert other.sign_in().status_code == 403


def test_a_name_or_a_mail_address_of_somebody_else_makes_nobody_that_person(door, provider) -> None:
    provider.signs_in |= {
        "name": "<img src=x onerror=alert(1)>\n\u202ecleo",
        "email": "cleo",
        "preferred_username": "cleo",
    }
    with Traveller(door) as mallory:
        mallory.sign_in()
        page = mallory.get("/epsilon").text
        assert "&lt;img src=x" in page
        assert "<img src=x" not in page
        assert "\u202e" not in page
        assert mallory.get("/custody/people").status_code == 404
    provider.signs_in |= {"sub": "cleo"}
    with Traveller(door) as mallory:
        mallory.sign_in()
        assert mallory.get("/custody/people").status_code == 404


def test_who_was_linked_before_comes_in_with_the_role_they_have_here(folder, provider) -> None:
    store = open_store(folder)
    people = Directory(store)
    identities = Identities(store, people)
    identities.link("otto", provider.issuer, "otto-at-home")
    identities.link("cleo", "http://127.0.0.1:1/other", "s-2")
    with serving(folder, settings(provider.issuer, roles=None), tokens={}) as door, Traveller(door) as browser:
        provider.signs_in = {"sub": "otto-at-home", "name": "Somebody"}
        browser.sign_in()
        assert browser.name() == "Otto"
        assert browser.get("/custody/ledger").status_code == 200
        provider.signs_in = {"sub": "s-2"}  # the same subject at another provider is somebody else
        assert browser.sign_in().status_code == 403
        people.change("otto", disabled=True)
        provider.signs_in = {"sub": "otto-at-home"}
        assert browser.sign_in().status_code == 403
        people.change("otto", disabled=False)
    store.close()


def test_the_same_subject_at_two_providers_is_two_people(folder) -> None:
    store = open_store(folder)
    identities = Identities(store, Directory(store))
    known = Provider(name="H", issuer="a", client=CLIENT, callback=CALLBACK, unknown=Unknown.GUEST)
    found = [identities.let_in(Subject(issuer, "same", "Same", None), known) for issuer in ("a", "b", "a")]
    store.close()
    assert all(found)
    assert [found[0] == found[1], found[0] == found[2]] == [False, True]


def test_somebody_new_may_become_a_guest(folder, provider) -> None:
    with serving(folder, settings(provider.issuer, unknown=Unknown.GUEST), tokens={}) as door, Traveller(door) as new:
        provider.signs_in["groups"] = []
        new.sign_in()
        assert new.name() == "Zoe"
        assert new.get("/populations/clinic/ask").status_code == 404


def test_signing_out_here_offers_to_sign_out_there(door, provider) -> None:
    with Traveller(door) as zoe:
        zoe.sign_in()
        form = zoe.get("/epsilon").text.partition('name="csrf" value="')[2].partition('"')[0]
        out = zoe.post("/logout", data={"csrf": form})
        assert out.headers["location"] == "/login?left=1"
        assert zoe.name() == "nobody"
        assert 'href="/sign-in/out"' in zoe.get("/login?left=1").text
        place = urlsplit(zoe.get("/sign-in/out").headers["location"])
        assert f"{place.scheme}://{place.netloc}{place.path}" == f"{provider.issuer}/logout"
        assert parse_qs(place.query)["post_logout_redirect_uri"] == ["http://127.0.0.1:8431/login"]


def test_a_sign_in_that_takes_too_long_is_begun_anew(folder) -> None:
    store, moment = open_store(folder), [1000.0]
    identities = Identities(store, Directory(store), clock=lambda: moment[0])
    identities.begin("a", "/here")
    identities.begin("b", "/there")
    moment[0] += BEGUN_FOR
    assert (identities.take("a"), identities.take("a")) == ("/here", None)
    moment[0] += 1
    assert identities.take("b") is None
    store.close()


@pytest.mark.usefixtures("provider")
def test_no_secret_of_a_sign_in_is_kept_or_written_down(door) -> None:
    with Traveller(door) as zoe:
        answer = zoe.consented(zoe.away())
        begun = zoe.cookies["lapwing-begun"]
        zoe.back({**answer, "iss": "https://evil.example"})
        zoe.sign_in()
        secrets = [begun, answer["state"], answer["code"], zoe.cookies["lapwing"], SECRET]
    for path in door.folder.iterdir():
        if path.is_file():
            assert not [one for one in secrets if one.encode() in path.read_bytes()], path
    assert "another provider answered" in (door.folder / "failures.log").read_text()


def test_one_address_cannot_keep_others_from_signing_in(folder, provider) -> None:
    few = replace(settings(provider.issuer), limits=Limits(looks=Rate(burst=3, a_second=0.01)))
    with serving(folder, few, tokens={}) as door, Traveller(door) as mallory:
        assert [mallory.get("/sign-in").status_code for _ in range(4)] == [303, 303, 303, 429]
        elsewhere = httpx.HTTPTransport(local_address="127.0.0.2")
        with httpx.Client(base_url=mallory.base_url, transport=elsewhere) as zoe:
            assert zoe.get("/sign-in").status_code == 303


def test_without_a_provider_there_is_no_such_page(folder) -> None:
    with serving(folder, DoorSettings(limits=UNLIMITED), tokens={}) as door, Traveller(door) as nobody:
        for path in ("/sign-in", "/sign-in/return", "/sign-in/out"):
            assert nobody.get(path).status_code == 404
        assert "/sign-in" not in nobody.get("/login").text


GOOD = """
name = "the Hospital"
issuer = "https://login.example.org/realms/hospital"
client = "lapwing"
secret_file = "provider.secret"
callback = "https://clinic.example.org/sign-in/return"
"""


def test_door_toml_declares_the_provider(tmp_path) -> None:
    (tmp_path / "provider.secret").write_text("told by the provider".replace(" ", "-"))
    more = 'claim = "realm_access.roles"\n[sign_in.roles]\nlapwing-keepers = "custodian"\nlapwing = "analyst"\n'
    (tmp_path / FILE).write_text(f'hosts = ["clinic.example.org"]\n[sign_in]\n{GOOD}{more}')
    found = read_door(tmp_path).door.provider
    assert found is not None
    assert (found.secret, found.unknown) == ("told-by-the-provider", Unknown.REFUSED)
    assert found.role_of({"realm_access": {"roles": ["x", "lapwing", "lapwing-keepers"]}}) is Role.CUSTODIAN
    assert found.role_of({"realm_access.roles": "lapwing"}) is Role.ANALYST
    assert found.role_of({"realm_access": ["lapwing"]}) is None


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("https://login.example.org", "http://login.example.org"),
        ("https://clinic.example.org/", "http://clinic.example.org/"),
        ("https://clinic.example.org/sign-in", "https://evil.example/sign-in"),
        ("/sign-in/return", "/elsewhere"),
        ('secret_file = "provider.secret"', 'secret_file = "absent"'),
        ('secret_file = "provider.secret"', 'secret = "inline"'),
        ('client = "lapwing"', ""),
        ('client = "lapwing"', 'client = "lapwing"\nscope = "profile"'),
        ('client = "lapwing"', 'client = "lapwing"\nauthorities = "absent.pem"'),
        ('client = "lapwing"', 'client = "lapwing"\nauthorities = "provider.secret"'),
        ('client = "lapwing"', 'client = "lapwing"\nunknown = "analyst"'),
        ('client = "lapwing"', 'client = "lapwing"\nroles = { a = "emperor" }'),
    ],
)
def test_a_slip_about_the_provider_is_refused_with_its_line(tmp_path, good, bad) -> None:
    (tmp_path / "provider.secret").write_text("secret")
    text = f'hosts = ["clinic.example.org"]\n[sign_in]\n{GOOD}'
    (tmp_path / FILE).write_text(text)
    read_door(tmp_path)
    (tmp_path / FILE).write_text(text.replace(good, bad))
    with pytest.raises(SettingsError, match=f"{FILE}, line"):
        read_door(tmp_path)

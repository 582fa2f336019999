"""Nobody keeps somebody else from signing in, and nobody guesses a password for it."""

import threading
from contextlib import closing
from dataclasses import replace

import httpx
import pytest

from doors.server.doors import AUTHORITIES, UNLIMITED
from doors.server.pages.visitors import PASSWORD, pages_of
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.people import Directory
from lapwing.doors.server.rates import Buckets, Limits, Rate
from lapwing.doors.server.roles import Role
from lapwing.doors.server.sign_in_limits import SignInLimits

pytestmark = pytest.mark.one_budget("nothing is charged here")

FEW = Rate(burst=Limits().sign_ins.burst, a_second=0.001)
"""As many tries at once as usual, and next to none after them, however slow a machine is."""


@pytest.fixture
def pages(quick_path, budget):
    few = DoorSettings(limits=replace(UNLIMITED, sign_ins=FEW), tick=0.02)
    with pages_of(quick_path, budget, people=50, settings=few) as pages:
        yield pages


def sign_in(pages, address, password=PASSWORD, cookies=None, name="cleo"):
    way = httpx.HTTPTransport(local_address=address, verify=AUTHORITIES)
    with httpx.Client(base_url=pages.address, transport=way, trust_env=False, timeout=60, cookies=cookies) as browser:
        return browser.post("/login", data={"name": name, "password": password})


def test_wrong_passwords_from_elsewhere_keep_nobody_out(pages) -> None:
    """Before, one address with some thirty a second kept the custodian out, 14 times of 14, from anywhere."""
    ends, looked_at, refused = threading.Event(), [], []

    def attack():
        number = 0
        while not ends.is_set():
            number += 1
            name = "cleo" if number % 2 else f"made-up-{number}"
            told = sign_in(pages, "127.0.7.1", "wrong wrong wrong", name=name)
            (refused if told.status_code == 429 else looked_at).append(told.status_code)

    attacker = threading.Thread(target=attack)
    attacker.start()
    try:
        while len(refused) < 20:
            ends.wait(0.05)
        told = [sign_in(pages, "127.0.0.1").status_code for _ in range(14)]
    finally:
        ends.set()
        attacker.join(60)
    assert told == [303] * 14
    assert len(looked_at) < 30
    assert set(looked_at) == {401}


def test_a_browser_in_which_somebody_signed_in_has_tries_of_its_own(pages) -> None:
    known = dict(sign_in(pages, "127.0.7.1").cookies)
    assert {"lapwing", "lapwing-known"} == known.keys()
    del known["lapwing"]
    while sign_in(pages, "127.0.7.1", "wrong wrong wrong").status_code != 429:
        pass
    assert sign_in(pages, "127.0.7.1").status_code == 429
    assert sign_in(pages, "127.0.7.1", cookies=known).status_code == 303
    for other in ("ben", "nobody"):  # it is a browser of cleo
        assert sign_in(pages, "127.0.7.1", cookies=known, name=other).status_code == 429
    forged = {"lapwing-known": known["lapwing-known"][:-4] + "0000"}
    assert sign_in(pages, "127.0.7.1", cookies=forged).status_code == 429
    tries = [sign_in(pages, "127.0.7.1", "wrong wrong wrong", known).status_code for _ in range(12)]
    assert tries[:7] == [401] * 7
    assert tries[-1] == 429, "a stolen one guesses no faster"


def test_a_known_browser_is_forgotten_with_the_password(quick_path) -> None:
    with closing(open_store(quick_path, "ledger.db")) as store:
        directory = Directory(store)
        directory.add("ana", "Ana", Role.ANALYST, password=PASSWORD)
        directory.add("ben", "Ben", Role.ANALYST)
        known = directory.know_browser("ana")
        name = directory.browser_of("ana", known)
        assert name
        assert [directory.browser_of(one, known) for one in ("ben", "nobody", "")] == [""] * 3
        assert [directory.browser_of("ana", one) for one in ("", ".", name, f"{name}.", f"x{known}", "\ud800.")] == [
            ""
        ] * 6
        assert directory.browser_of("ben", directory.know_browser("ben")) == "", (
            "who has no password has no such browser"
        )
        store.do("update people set password = ? where id = ?", "scrypt$another", "ana")
        assert directory.browser_of("ana", known) == ""


def test_names_that_are_made_up_push_nobody_out() -> None:
    limits = SignInLimits(Rate(burst=2, a_second=1e-9), lambda _, rate, most: Buckets(rate, most_names=most))
    tried = [limits.wait(f"2001:db8:0:{place:x}::1", name="cleo") for place in range(30)]
    assert [wait == 0 for wait in tried] == [True] * 8 + [False] * 22, "of one network, whatever address it takes"
    for place in range(30, 12_000):
        limits.wait(f"2001:db8:0:{place:x}::1", name=f"made-up-{place}")
    assert limits.wait("2001:db8:0:ffff::1", name="cleo") > 0
    assert limits.wait("2001:db8:1::1", name="cleo") == 0
    assert limits.wait("192.0.2.1", name="cleo") == 0
    before = limits.wait("192.0.2.1", name="cleo"), limits.wait("192.0.2.1", name="cleo")
    assert before[0] == 0 < before[1], "two tries of an address"
    limits.give_back("192.0.2.1", name="cleo")
    assert limits.wait("192.0.2.1", name="cleo") == 0, "with the right password a try is none"

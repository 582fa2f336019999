"""A real browser goes to a provider on another site and back: no policy of ours stands in its way."""

import pytest
from playwright.sync_api import expect

from doors.server.doors import UNLIMITED, add_people, make_folder, serving
from doors.server.loopback_provider import CLIENT, SECRET, provider_on_loopback
from doors.server.pages.browsers import Looker
from doors.server.pages.visitors import Pages
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.roles import Role
from lapwing.doors.server.sign_in_provider import Provider

pytestmark = pytest.mark.one_budget("signing in has nothing to do with what is spent")


@pytest.mark.parametrize("script", [True, False])
def test_somebody_signs_in_elsewhere_and_out_again(chromium, quick_path, script, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)
    add_people(folder)
    with provider_on_loopback() as provider:
        provider.host = "localhost"  # another site than 127.0.0.1, so that cookies and policies count
        provider.signs_in = {"sub": "s-1", "name": "Zoe", "groups": "askers"}
        known = Provider(
            name="the Hospital",
            issuer=provider.issuer,
            client=CLIENT,
            secret=SECRET,
            callback="http://127.0.0.1:0/sign-in/return",
            roles={"askers": Role.ANALYST},
        )
        with serving(folder, DoorSettings(limits=UNLIMITED, tick=0.02, provider=known), tokens={}) as door:
            provider.callback = f"http://127.0.0.1:{door.port}/sign-in/return"
            looker = Looker(chromium, Pages(door, {}), None, java_script_enabled=script)
            page = looker.go("/ask")
            expect(page.get_by_role("heading")).to_have_text("Sign in")
            page.get_by_role("link", name="Sign in with the Hospital").click()
            page.wait_for_url("**/populations/clinic/ask")
            expect(page.locator(".me .name")).to_have_text("Zoe")
            page.get_by_role("button", name="Sign out").click()
            page.wait_for_url("**/login?left=1")
            page.get_by_role("link", name="Sign out at the Hospital, too").click()
            page.wait_for_url("**/login")
            looker.go("/ask")
            expect(page.get_by_role("heading")).to_have_text("Sign in")
            looker.close()

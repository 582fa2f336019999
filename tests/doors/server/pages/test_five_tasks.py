"""Five tasks of every role, done in three ways: with the keyboard alone, without a script, and by touch on a phone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest
from playwright.sync_api import Locator, Page, expect

from doors.server.pages.visitors import P

pytestmark = pytest.mark.one_budget(
    "forms are the same under every kind; test_every_kind_of_budget has what they say and charge under each"
)

SMOKERS = "add=patient.smoker%7Csmoker%7Ctrue"
MOST_TABS = 70
FOCUSED = """() => {
    const at = document.activeElement;
    return [at.name || "", (at.ariaLabel || at.textContent || "").trim()];
}"""


@dataclass(frozen=True)
class Task:
    """Where it begins, what is filled in, pressed and seen on the way, in this order, and what is seen at the end.

    Each way has a number of its own, {n}, so that nothing is free or there already because another was first.
    """

    name: str
    place: str
    steps: Sequence[tuple[str, str]]
    seen: str


TASKS = {
    "ana": (
        Task(
            "count",
            f"{P}/ask?kind=count&within=custom&custom={{n}}&{SMOKERS}",
            [("press", "Count · ε")],
            "What it cost",
        ),
        Task("publish", f"{P}/publish?within={{n}}", [("press", "Publish · ε")], "Published tables"),
        Task(
            "save",
            f"{P}/ask?kind=count&{SMOKERS}",
            [("open", "Save this question"), ("saved_name", "smokers {n}"), ("press", "Save")],
            "smokers {n}",
        ),
        Task("find", f"{P}/dictionary", [("q", "asthma"), ("press", "Find")], "found for “asthma”"),
        Task(
            "more",
            f"{P}/account",
            [("wanted", "1"), ("purpose", "the yearly report"), ("press", "Send to the custodian")],
            "waits for the custodian",
        ),
    ),
    "cleo": (
        Task("grant", f"{P}/custody", [("press", "Grant")], "Who spent what"),
        Task(
            "stop",
            f"{P}/custody",
            [("press", "Stop all spending"), ("see", "has stopped spending"), ("press", "Allow spending again")],
            "Stop all spending",
        ),
        Task("raise", f"{P}/custody/policy", [("budget", "{n}"), ("press", "Save")], "It holds from now on."),
        Task("password", "/custody/people", [("press", "New password link")], "/invitations/"),
        Task(
            "invite",
            "/custody/people",
            [("id", "dora{n}"), ("name", "Dora Lee"), ("press", "Make a link")],
            "/invitations/",
        ),
    ),
    "otto": (
        Task("who", f"{P}/custody", [("press", "ana")], "only ana"),
        Task("verify", "/custody/ledger", [("press", "Verify")], "The ledger is sound"),
        Task("policy", f"{P}/custody", [("press", "Policy")], "For everybody"),
        Task("dictionary", f"{P}/dictionary", [("q", "stroke"), ("press", "Find")], "found for “stroke”"),
        Task("epsilon", "/epsilon", [("e", "2"), ("press", "Show")], "epsilon"),
    ),
}


class Keyboard:
    """Somebody who has no mouse: goes on with Tab until what is wanted has the focus."""

    context: ClassVar = {"viewport": {"width": 1280, "height": 900}}

    def fill(self, page: Page, name: str, text: str) -> None:
        self._to(page, lambda named, _: named == name, name)
        page.keyboard.press("Control+A")
        page.keyboard.type(text)

    def press(self, page: Page, text: str) -> None:
        self._to(page, lambda _, told: begins(text).search(told), text)
        page.keyboard.press("Enter")

    def _to(self, page: Page, is_it, what: str) -> None:
        for _ in range(MOST_TABS):
            if is_it(*page.evaluate(FOCUSED)):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"not reached: {what}")


class Pointer:
    """Somebody who points at things; without a script, or with a finger."""

    def fill(self, page: Page, name: str, text: str) -> None:
        page.locator(f'[name="{name}"]:visible').first.fill(text)

    def press(self, page: Page, text: str) -> None:
        self._point(shown(page, text))

    def _point(self, at: Locator) -> None:
        at.click()


class NoScript(Pointer):
    context: ClassVar = {"viewport": {"width": 1280, "height": 900}, "java_script_enabled": False}


class Phone(Pointer):
    context: ClassVar = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}

    def _point(self, at: Locator) -> None:
        at.tap()


def begins(text: str) -> re.Pattern[str]:
    """Return what the words of a button are matched by: all of them, or, of a price, those before its number."""
    return re.compile(rf"^\s*{re.escape(text)}" + ("" if text.endswith("ε") else r"\s*$"))


def shown(page: Page, text: str) -> Locator:
    """Return what can be pressed and says this."""
    return page.locator("main :is(button, a, summary):visible").filter(has_text=begins(text)).first


@pytest.mark.parametrize("hand", [Keyboard(), NoScript(), Phone()], ids=["keyboard", "no script", "phone"])
@pytest.mark.parametrize("who", TASKS)
def test_five_tasks_of_a_role(look, who, hand) -> None:
    looker = look(who, **hand.context)
    page, n = looker.page, 40 + [Keyboard, NoScript, Phone].index(type(hand))
    for task in TASKS[who]:
        looker.visit(task.place.format(n=n))
        for what, text in task.steps:
            if what == "press":
                with page.expect_navigation():
                    hand.press(page, text)
            elif what == "open":
                hand.press(page, text)
            elif what == "see":
                expect(page.locator("main"), task.name).to_contain_text(text)
            else:
                hand.fill(page, what, text.format(n=n))
        expect(page.locator("main"), task.name).to_contain_text(task.seen.format(n=n))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{task.name} is too wide"

"""For those who doubt: what epsilon means, what an attack gets, what the audit finds, whether a receipt holds.

And for programs: all that they may do, from the table of operations.
"""

import re
from fractions import Fraction
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from lapwing.accounting.interpretation import belief_drift, belief_range, best_true_positive_rate
from lapwing.accounting.pricing import price
from lapwing.doors.server.calls import API
from lapwing.doors.server.operations import OPERATIONS
from lapwing.doors.server.pages.charts import ShareBar, belief_curve, share_bars
from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit
from lapwing.doors.server.roles import Role
from lapwing.show.strokes import Drawing, percent
from lapwing.vocabulary.event import PureRelease

_EPSILON: Final = re.compile(r"\d{1,2}(\.\d{1,3})?")
_FALSE_ALARMS: Final = Fraction(1, 20)
_SHADES: Final = {"exact": "c-todo", "ad hoc": "c-held", "lapwing": "c-fill"}


async def show_epsilon(visit: PageVisit) -> Response:
    """Show what epsilon means: a belief before, and where it may be afterwards."""
    return visit.show("epsilon.html", **_meaning(visit, visit.asked("e", "1"), visit.asked("prior", "10")))


async def draw_epsilon(visit: PageVisit) -> Response:
    """Draw what epsilon means anew, while it is chosen."""
    return visit.show("epsilon_means.html", **_meaning(visit, visit.field("e"), visit.field("prior")))


def _meaning(visit: PageVisit, given: str, believed: str) -> dict[str, Any]:
    epsilon = given if _EPSILON.fullmatch(given) and Fraction(given) > 0 else "1"
    prior = int(believed) if believed.isdecimal() and len(believed) < 3 and int(believed) > 0 else 10  # noqa: PLR2004
    belief = str(Fraction(prior, 100))
    caught = best_true_positive_rate(price(PureRelease(epsilon=Fraction(epsilon))), _FALSE_ALARMS)
    family = belief_range(belief, str(3 * Fraction(epsilon)))
    rows = [
        ("knows", *belief_range(belief, epsilon)),
        ("anybody", *belief_drift(belief, epsilon)),
        ("family", *family),
    ]
    low, high = belief_range(belief, epsilon)
    return {
        "epsilon": epsilon,
        "prior": prior,
        "low": percent(low),
        "high": percent(high),
        "rows": [(name, percent(least), percent(most)) for name, least, most in rows],
        "caught": percent(caught),
        "picture": belief_curve(epsilon, prior, visit.say),
    }


async def show_audit(visit: PageVisit) -> Response:
    """Show what the audit of all mechanisms found."""
    return _report(visit, "audit")


async def show_attack(visit: PageVisit) -> Response:
    """Show what an attacker gets from exact answers, from blurred ones, and at the door of lapwing."""
    kept = visit.site.reports.kept("attack") or {"outcomes": []}
    families: dict[str, list[dict[str, Any]]] = {}
    for one in kept["outcomes"]:
        families.setdefault(one["family"], []).append(one)
    pictures = {name: _bars(visit, rows) for name, rows in families.items() if visit.say.has(f"attack.{name}.title")}
    return _report(visit, "attack", pictures=pictures, families=families)


async def run_report(visit: PageVisit) -> Response:
    """Begin a report, if none is being made; it reads no person's data."""
    name = visit.request.url.path.strip("/")
    await visit.in_thread(lambda: visit.site.reports.begin(name))
    return RedirectResponse(f"/{name}", 303)


def _report(visit: PageVisit, name: str, **more: Any) -> Response:
    running = visit.site.reports.is_running(name)
    headers = {"Refresh": "3"} if running else {}
    kept = visit.site.reports.kept(name)
    return visit.show(f"{name}.html", 200, headers, report=kept, running=running, **more)


def _bars(visit: PageVisit, rows: list[dict[str, Any]]) -> Drawing:
    """Draw which share of the people an attack names rightly; a line marks what guessing gets."""
    bars = []
    for row in rows:
        who = visit.say(f"attack.{row['answers'].replace(' ', '_')}")
        blur = f"{row['against']}, " if row["answers"] == "ad hoc" else ""
        label = f"{who} ({blur}{row['attack']})"
        bars.append(ShareBar(label=label, share=row["recovered"], shade=_SHADES[row["answers"]], mark=row["chance"]))
    return share_bars(bars, visit.say("attack.picture"))


async def check_receipt(visit: PageVisit) -> Response:
    """Say whether the ledger agrees with a receipt."""
    given = "".join(visit.asked("receipt").split())[:400]
    told, problem = None, ""
    if given:
        try:
            told = await visit.do("receipt", path={"receipt": given})
        except PageRefusedError as refused:
            problem = "receipts.unread" if refused.status != 404 else "receipts.differs"  # noqa: PLR2004
    return visit.show("receipts.html", given=given, told=told, problem=problem)


async def show_programs(visit: PageVisit) -> Response:
    """Show all that programs may do here, and who may, from the table of operations."""
    rows = [
        {
            "method": one.method,
            "path": API + one.path,
            "summary": one.summary,
            "charges": one.charges,
            "who": _who(one.roles),
        }
        for one in OPERATIONS
    ]
    called = f'curl -H "Authorization: Bearer lw_..." {visit.server.address}{API}/me'
    return visit.show("programs.html", rows=rows, called=called, description=f"{API}/openapi.json")


def _who(roles: frozenset[Role] | None) -> list[str]:
    return ["role.anybody"] if roles is None else [f"role.{role.value}" for role in Role if role in roles]


PAGES: Final = (
    Page(path="/epsilon", show=show_epsilon),
    Page(path="/epsilon/draft", show=draw_epsilon, method="POST"),
    Page(path="/audit", show=show_audit),
    Page(path="/audit", show=run_report, method="POST", operation="verify_ledger"),
    Page(path="/attack", show=show_attack),
    Page(path="/attack", show=run_report, method="POST", operation="verify_ledger"),
    Page(path="/receipts", show=check_receipt, operation="receipt"),
    Page(path="/programs", show=show_programs),
)

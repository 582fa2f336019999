"""Every operation, as every role: the table in the code is what happens."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest

import lapwing as lw
from doors.server.doors import PEOPLE, P, code_of, make_folder, serving
from lapwing.answers.budget import amounts
from lapwing.doors.server.calls import API
from lapwing.doors.server.openapi import statuses
from lapwing.doors.server.operations import OPERATIONS
from lapwing.doors.server.problems import NOT_THERE
from lapwing.doors.server.roles import RIGHTS, Right, Role
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.wording import format_exact

GUEST, ANALYST, CUSTODIAN, AUDITOR = Role.GUEST, Role.ANALYST, Role.CUSTODIAN, Role.AUDITOR
ALL = set(Role)
ASK, OVERSEE, MANAGE = {ANALYST, CUSTODIAN}, {CUSTODIAN, AUDITOR}, {CUSTODIAN}
MATRIX = {
    **dict.fromkeys(
        ("me", "tokens", "make_token", "revoke_token", "populations", "population", "receipt", "policy"), ALL
    ),
    **dict.fromkeys(
        (
            "preview",
            "ask",
            "stored_answer",
            "planned_total",
            "rehearse",
            "budget",
            "job",
            "cancel_job",
            "answers",
            "answer",
            "history",
        ),
        ASK,
    ),
    **dict.fromkeys(
        (
            "preview_stream",
            "streams",
            "open_stream",
            "stream",
            "ask_stream",
            "ask_many",
            "vocabulary",
            "ask_stream_many",
        ),
        ASK,
    ),
    **dict.fromkeys(("preview_many", "saved_questions", "save_question", "forget_saved"), ASK),
    **dict.fromkeys(("close_stream", "own_requests", "request_budget"), ASK),
    **dict.fromkeys(("preview_publication", "publish", "publications", "publication"), ASK),
    **dict.fromkeys(("preview_synthesis", "synthesize", "syntheses", "synthesis", "synthetic_rows"), ASK),
    "synthetic_quality": ASK,
    **dict.fromkeys(("preview_certificate", "certify"), ASK),
    **dict.fromkeys(("preview_explorer", "explorers", "open_explorer", "explorer", "guess_explorer"), ASK),
    **dict.fromkeys(("preview_study", "studies", "study", "study_again"), ASK),
    **dict.fromkeys(("ask_explorer", "close_explorer"), ASK),
    **dict.fromkeys(("preview_comparison", "comparisons", "compare", "comparison"), ASK),
    **dict.fromkeys(("preview_rows", "all_rows", "rows_a_person", "rows"), ASK),
    **dict.fromkeys(("preview_survival", "survivals", "estimate_survival", "survival"), ASK),
    **dict.fromkeys(("preview_regression", "regressions", "regress", "regression"), ASK),
    **dict.fromkeys(("preview_dashboard", "dashboards", "open_dashboard", "dashboard", "publish_release"), ASK),
    **dict.fromkeys(("account", "all_requests", "ledger_entries", "ledger_head", "verify_ledger"), OVERSEE),
    **dict.fromkeys(("export_ledger", "metrics"), OVERSEE),
    **dict.fromkeys(
        ("people", "change_person", "revoke_tokens", "renew_link", "invitations", "invite", "suspend"), MANAGE
    ),
    **dict.fromkeys(("advance_version", "changes", "decide_request", "failures", "unsettled", "recover"), MANAGE),
    **dict.fromkeys(
        ("change_policy", "change_analyst", "forget_analyst", "sources", "source_columns", "add_table"), MANAGE
    ),
    **dict.fromkeys(("all_sources", "new_source_columns", "create_population"), MANAGE),
    "health": None,
    "accept_invitation": None,
}
"""Who may call what, written down once more: a slip in the table of operations shows here."""

SPENDS = {
    *("ask", "open_stream", "ask_stream", "ask_many", "ask_stream_many", "close_stream"),
    *("publish", "synthesize", "open_explorer", "ask_explorer", "close_explorer", "certify", "study"),
    *("compare", "estimate_survival", "rows_a_person", "regress", "open_dashboard", "publish_release"),
}


def test_the_table_says_who_may_call_what() -> None:
    assert {one.name: one.roles if one.roles is None else set(one.roles) for one in OPERATIONS} == MATRIX
    assert len({one.name for one in OPERATIONS}) == len(OPERATIONS) == len({(o.method, o.path) for o in OPERATIONS})


def test_only_these_operations_spend_and_none_of_them_can_be_called_by_a_link() -> None:
    assert {one.name for one in OPERATIONS if one.charges} == SPENDS
    assert {one.method for one in OPERATIONS if one.charges} == {"POST", "DELETE"}
    assert all(one.right is Right.ASK for one in OPERATIONS if one.charges)


def path_of(operation) -> str:
    parts = dict.fromkeys(operation.parts, "absent-1234") | {"population": "clinic"}
    return API + operation.path.format(**parts)


@pytest.mark.parametrize("name", [one.name for one in OPERATIONS])
def test_every_operation_as_every_role(door, name) -> None:
    operation = next(one for one in OPERATIONS if one.name == name)
    for who, role in [*PEOPLE.items(), (None, None)]:
        body = None if operation.body is None else {}
        told = door.call(who, operation.method, path_of(operation), body, key=fresh_name())
        assert told.status_code in statuses(operation), (who, told.text)
        if operation.roles is None:
            assert told.status_code != 401
        elif role is None:
            assert (told.status_code, code_of(told)) == (401, "token")
        elif role not in operation.roles:
            assert (told.status_code, told.json()["error"]["message"]) == (404, NOT_THERE[1])
        elif not set(operation.parts) - {"population"}:
            assert told.status_code not in {401, 404}, told.text


def test_a_token_may_do_less_than_its_owner_and_never_more(door) -> None:
    made = door.call("ana", "POST", "/api/v1/tokens", {"name": "looks", "may": ["read", "preview"]}).json()
    door.tokens["ana, looking"] = made["secret"]
    assert door.get("ana, looking", f"{P}/budget").status_code == 200
    assert door.ask("ana, looking").status_code == 404
    more = door.call("ana, looking", "POST", "/api/v1/tokens", {"name": "more", "may": ["ask"]})
    assert (more.status_code, more.json()["error"]["name"]) == (422, "may")
    assert door.call("ana", "POST", "/api/v1/tokens", {"name": "x", "may": ["manage"]}).status_code == 422
    child = door.call("ana, looking", "POST", "/api/v1/tokens", {"name": "child", "days": 365}).json()
    door.tokens["ana, by a token"] = child["secret"]
    assert (child["may"], child["expires"]) == (made["may"], made["expires"])
    assert door.get("ana, by a token", f"{P}/budget").status_code == 200
    assert door.call("ana", "DELETE", f"/api/v1/tokens/{made['id']}").status_code == 200
    assert door.get("ana, looking", "/api/v1/me").status_code == 401
    assert door.get("ana, by a token", "/api/v1/me").status_code == 401


def test_a_role_that_changes_counts_at_the_next_request(door) -> None:
    invited = door.call("cleo", "POST", "/api/v1/invitations", {"id": "hans", "name": "Hans", "role": "analyst"}).json()
    accepted = door.call(None, "POST", "/api/v1/acceptances", {"secret": invited["secret"]}).json()
    door.tokens["hans"] = accepted["token"]["secret"]
    assert door.get("hans", f"{P}/budget").status_code == 200
    assert door.call(None, "POST", "/api/v1/acceptances", {"secret": invited["secret"]}).status_code == 404
    door.call("cleo", "PATCH", "/api/v1/people/hans", {"role": "auditor"})
    assert door.get("hans", f"{P}/budget").status_code == 404
    assert door.get("hans", "/api/v1/ledger/head").status_code == 200
    door.call("cleo", "PATCH", "/api/v1/people/hans", {"disabled": True})
    assert door.get("hans", "/api/v1/me").status_code == 401
    door.call("cleo", "PATCH", "/api/v1/people/hans", {"disabled": False})
    assert door.call("cleo", "DELETE", "/api/v1/people/hans/tokens").json() == {"revoked": 1}
    assert door.get("hans", "/api/v1/me").status_code == 401


def test_the_last_custodian_stays(door) -> None:
    told = door.call("cleo", "PATCH", "/api/v1/people/cleo", {"role": "analyst"})
    assert (told.status_code, told.json()["error"]["reason"]) == (422, "is the last custodian")
    assert door.call("cleo", "PATCH", "/api/v1/people/cleo", {"disabled": True}).status_code == 422


def test_rights_grow_with_roles() -> None:
    assert RIGHTS[GUEST] < RIGHTS[ANALYST] < RIGHTS[CUSTODIAN] == frozenset(Right)
    assert RIGHTS[AUDITOR] == {Right.READ}


def test_a_token_ends_no_other_that_may_do_more(door) -> None:
    """Whoever steals a token that may only read could otherwise send all programs of its owner away."""

    def made(**more: Any) -> dict[str, Any]:
        return door.call("ben", "POST", "/api/v1/tokens", {"name": "one", **more}).json()

    full, asking, reading, other = made(), made(may=["ask", "read"]), made(may=["read"]), made(may=["read"])
    with httpx.Client(base_url=door.url, headers={"Authorization": f"Bearer {reading['secret']}"}) as thief:
        told = [thief.delete(f"/api/v1/tokens/{one['id']}") for one in (full, asking, {"id": "none"}, other, reading)]
        assert [one.status_code for one in told] == [404, 404, 404, 200, 200]
        assert told[0].content == told[2].content
    for one, status in ((full, 200), (asking, 200), (other, 401), (reading, 401)):
        headers = {"Authorization": f"Bearer {one['secret']}"}
        assert httpx.get(f"{door.url}/api/v1/me", headers=headers).status_code == status
    assert door.call("ben", "DELETE", f"/api/v1/tokens/{asking['id']}").status_code == 200
    assert door.call("ben", "DELETE", f"/api/v1/tokens/{full['id']}").status_code == 200


def test_no_live_token_is_kept_anywhere(door) -> None:
    door.ask("ana")
    files = [path for path in Path(door.folder).rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"door.db", "ledger.db"}
    for path in files:
        content = path.read_bytes()
        assert not [who for who, token in door.tokens.items() if token.encode() in content], path


def test_an_auditor_sees_the_ledger_and_no_question_can_be_asked_by_one(door) -> None:
    entries = door.get("otto", "/api/v1/ledger/entries", params={"limit": 3}).json()
    assert [one["entry"]["seq"] for one in entries] == [1, 2, 3]
    later = door.get("otto", "/api/v1/ledger/entries", params={"after": 1, "limit": 1}).json()
    assert later == entries[1:2]
    head = door.get("otto", "/api/v1/ledger/head").json()
    verified = door.call("otto", "POST", "/api/v1/ledger/verifications", {"receipts": [head["head"]]}).json()
    assert verified["entries"] == head["entries"]
    exported = door.get("otto", "/api/v1/ledger/export")
    assert len(exported.text.splitlines()) == head["entries"] + 1
    assert exported.headers["Lapwing-Head"] == head["head"]
    assert door.get("otto", f"{P}/account").json()["population"] == "clinic"


def test_a_custodian_stops_spending_and_allows_it_again(door) -> None:
    assert door.call("cleo", "POST", f"{P}/suspension", {"suspended": True}).status_code == 200
    told = door.ask("ana", "age = 71", "0.01")
    assert (told.status_code, code_of(told)) == (403, "suspended")
    door.call("cleo", "POST", f"{P}/suspension", {"suspended": False})
    assert door.ask("ana", "age = 71", "0.01").status_code == 200
    assert door.call("cleo", "POST", f"{P}/suspension", {"suspended": True, "analyst": "ben"}).status_code == 200
    assert door.ask("ben", "age = 72", "0.01").status_code == 403
    assert door.ask("ana", "age = 72", "0.01").status_code == 200
    door.call("cleo", "POST", f"{P}/suspension", {"suspended": False, "analyst": "ben"})
    acts = door.get("otto", "/api/v1/ledger/entries", params={"limit": 500}).json()
    assert {one["entry"]["by"] for one in acts if one["entry"].get("change") == "suspension"} == {"cleo"}


def test_a_new_version_is_announced(door) -> None:
    version = door.get("ana", P).json()["versions"]["patient"]
    told = door.call("cleo", "POST", f"{P}/tables/patient/versions")
    assert told.json() == {"table": "patient", "version": version + 1}
    assert door.get("ana", P).json()["versions"]["patient"] == version + 1
    assert door.call("cleo", "POST", f"{P}/tables/absent/versions").status_code == 404


def test_policy_is_decided_over_http_and_stands_in_the_file_and_in_the_ledger(quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)
    with serving(folder) as door:
        most = {budget.currency: "0.15"}
        told = door.call("cleo", "PATCH", f"{P}/policy", {"budget": budget.of(12), "most": most})
        assert told.status_code == 200, told.text
        assert (told.json()["budget"], told.json()["most"]) == (written(budget.of(12)), most)
        refused = door.ask("ana", "age = 1", "1.5")
        assert (refused.status_code, code_of(refused), refused.json()["error"]["rule"]) == (403, "policy", "most")
        allowed = {"allowance": {budget.currency: "0.1"}, "tables": ["patient"]}
        assert door.call("cleo", "PUT", f"{P}/analysts/ana", allowed).status_code == 200
        assert door.get("ana", f"{P}/policy").json()["you"]["allowance"] == {budget.currency: "0.1"}
        dear = "0.4" if budget.currency == "rho" else "0.08"  # each about 0.08 in the currency of the budget
        assert door.ask("ana", "age = 1", dear).status_code == 200
        assert door.ask("ana", "age = 2", dear).status_code == 402
        lower = door.call("cleo", "PATCH", f"{P}/policy", {"budget": budget.of(5)})
        assert lower.status_code == 422, lower.text
        assert "lapwing.toml" not in lower.text
        door.call("cleo", "PATCH", f"{P}/policy", {"unnamed_analysts": False})
        assert door.get("ben", f"{P}/budget").status_code == 404  # as if there were no such population
        assert [one["population"] for one in door.get("ben", "/api/v1/populations").json()] == []
        assert door.get("ana", f"{P}/budget").status_code == 200
        door.call("cleo", "PATCH", f"{P}/policy", {"unnamed_analysts": True, "most": None, "noes_a_day": 7})
        assert door.call("cleo", "DELETE", f"{P}/analysts/ana").status_code == 200
        assert door.call("cleo", "DELETE", f"{P}/analysts/ana").status_code == 404
        assert door.ask("ana", "age = 2", "1.5").status_code == 200
        entries = [one["entry"] for one in door.get("otto", "/api/v1/ledger/entries", params={"limit": 500}).json()]
        assert {entry["by"] for entry in entries if "by" in entry} == {"custodian", "cleo"}
        assert door.get("cleo", f"{P}/changes").json()["settings"] is None
    with lw.open_workspace(folder) as workspace:
        ben = workspace.session(analyst="ben").budget()
        spent = Fraction(dear) + Fraction("1.5")
        assert ben.account.budget == budget.promise(12)
        if budget.currency == "epsilon":
            assert amounts(ben.account)[0] == spent
        assert workspace.settings.declared().noes_a_day == 7


def written(given: dict[str, str]) -> dict[str, str]:
    """Return a budget as it is read back, in exact decimals."""
    return {name: format_exact(Fraction(amount)) for name, amount in given.items()}


def test_a_guest_sees_no_population_that_an_analyst_like_them_would_not_see(tmp_path, budget) -> None:
    with serving(make_folder(tmp_path / "clinic", budget)) as door:
        assert door.get("gina", P).status_code == 200
        assert door.call("cleo", "PATCH", f"{P}/policy", {"unnamed_analysts": False}).status_code == 200
        for who in ("ana", "gina"):
            assert (door.get(who, P).status_code, door.get(who, f"{P}/policy").status_code) == (404, 404)
            assert door.get(who, "/api/v1/populations").json() == []
        assert door.get("otto", P).status_code == 200

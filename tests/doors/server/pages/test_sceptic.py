"""What doubters read: epsilon in beliefs, kept reports, receipts, proofs beside answers, and all operations."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doors.server.pages.visitors import MEN, P, field_of, text_of, title_of
from lapwing.doors.server.operations import OPERATIONS
from lapwing.doors.server.pages import proof_pages
from lapwing.doors.server.pages.proof_pages import proof_steps, proofs_folder, proofs_of
from lapwing.doors.server.reports import Reports

pytestmark = pytest.mark.one_budget("what sceptics read is about no population")

PROOFS = Path(__file__).parents[4] / "proofs"


def say(*words: str) -> bytes:
    """Return what `lapwing ... --json` prints."""
    return subprocess.run([sys.executable, "-m", "lapwing", *words, "--json"], capture_output=True, check=False).stdout


def keep(pages, name: str, said: bytes) -> None:
    (pages.door.folder / "reports").mkdir(exist_ok=True)
    (pages.door.folder / "reports" / f"{name}.json").write_bytes(said)


def test_epsilon_in_beliefs_with_and_without_a_script(pages) -> None:
    gina = pages.browser("gina")
    page = text_of(gina.get("/epsilon?e=1&prior=50"))
    assert "from 26.9 % to 73.1 %" in page
    drawn = gina.post("/epsilon/draft", {"e": "2", "prior": "50"})
    assert "11.9 % to 88.1 %" in text_of(drawn)
    assert "<html" not in drawn.text
    for odd in ("-1", "0", "abc", "1e9", "99999"):
        assert "epsilon 1, that belief" in text_of(gina.get("/epsilon", params={"e": odd, "prior": "50"}))


def test_the_audit_is_shown_as_it_was_said(pages) -> None:
    gina = pages.browser("gina")
    assert "It was not computed here yet" in text_of(gina.get("/audit"))
    said = say("audit", "geometric")
    keep(pages, "audit", said)
    page = text_of(gina.get("/audit"))
    assert "1 mechanism, and it keeps its promise" in page
    assert "geometric epsilon 1 1 100 % holds" in page
    assert "Compute it" not in page
    assert "Compute it again" in text_of(pages.browser("otto").get("/audit"))
    refuted = json.loads(said)
    refuted["passed"], refuted["findings"][0]["refuted"] = False, True
    keep(pages, "audit", json.dumps(refuted).encode())
    assert "it does not keep its promise" in text_of(gina.get("/audit"))
    assert "refuted" in text_of(gina.get("/audit"))
    keep(pages, "audit", b"no JSON")
    assert "It was not computed here yet" in text_of(gina.get("/audit"))


def test_the_attack_is_drawn_with_and_without_the_door(pages) -> None:
    keep(pages, "attack", say("attack", "differencing"))
    page = pages.browser("gina").get("/attack")
    assert "With and without her" in text_of(page)
    assert "Exact answers (difference) 100 %" in text_of(page)
    assert "rises above 73.1 %" in text_of(page)


def test_only_overseers_begin_a_report(pages) -> None:
    for who in ("ana", "gina"):
        assert pages.browser(who).post("/audit").status_code == 404
    assert not (pages.door.folder / "reports" / "audit.unfinished").exists()


def wait_for(reports: Reports, name: str) -> None:
    for _ in range(600):
        if not reports.is_running(name):
            return
        time.sleep(0.05)
    pytest.fail(f"{name} never ended")


def test_a_report_is_made_beside_the_server_one_at_a_time(tmp_path) -> None:
    wait = "import sys, time; time.sleep(0.5); print('{\"said\": \"' + sys.argv[1] + '\"}')"
    reports = Reports(tmp_path, [sys.executable, "-c", wait])
    assert reports.kept("audit") is None
    assert reports.begin("audit")
    assert reports.is_running("audit")
    assert not reports.begin("attack")
    assert not reports.begin("../../etc/passwd")
    wait_for(reports, "audit")
    kept = reports.kept("audit")
    assert kept is not None
    assert kept["said"] == "audit"
    broken = Reports(tmp_path, [sys.executable, "-c", "raise SystemExit(3)"])
    assert broken.begin("audit")
    wait_for(broken, "audit")
    assert broken.kept("audit") == kept


def test_a_receipt_is_checked_against_the_ledger(pages) -> None:
    ana = pages.browser("ana")
    answer = ana.answer({**MEN, "kind": "count", "within": "30"})
    receipt = answer.text.partition('<code class="tiny">')[2].partition("</code>")[0]
    assert "The ledger agrees" in text_of(ana.get("/receipts", params={"receipt": receipt}))
    last = receipt[-1]
    forged = receipt[:-1] + ("0" if last != "0" else "1")
    assert "The ledger does not agree" in text_of(ana.get("/receipts", params={"receipt": forged}))
    for odd in ("abc", "<script>alert(1)</script>", "x" * 400):
        page = ana.get("/receipts", params={"receipt": odd})
        assert "This is no receipt" in text_of(page)
        assert "<script>alert" not in page.text


def test_proofs_stand_beside_the_answers_that_they_cover(pages) -> None:
    ana = pages.browser("ana")
    answer = ana.answer({**MEN, "kind": "count", "within": "25"})
    assert 'href="/proofs/geometric"' in answer.text
    assert 'href="/proofs/contribution_bounds"' in answer.text
    enough = {**MEN, "kind": "enough", "at_least": "100", "stream": "new", "sure": "30", "yeses": "2"}
    assert 'href="/proofs/sparse_vector"' in ana.answer(enough).text


def test_every_proof_that_is_named_is_there_and_can_be_read(pages) -> None:
    assert proofs_folder() == PROOFS
    there = {path.stem for path in PROOFS.glob("*.md")} - {"README"}
    listed = {name for step in proof_steps() for names, _ in step.rows for name in names}
    assert listed == there
    named = {name for kind in proof_pages._BY_KIND for name in proofs_of("", kind)}
    assert named <= there
    gina = pages.browser("gina")
    for name in sorted(there):
        page = gina.get(f"/proofs/{name}")
        assert page.status_code == 200
        assert title_of(page), name
    for odd in ("README", "absent", "..%2fREADME"):
        assert gina.get(f"/proofs/{odd}").status_code == 404


def test_the_page_for_programs_has_every_operation(pages) -> None:
    page = text_of(pages.browser("gina").get("/programs"))
    for one in OPERATIONS:
        assert f"{one.method} /api/v1{one.path}" in page
        assert one.summary in page


def test_pages_of_doubters_speak_german(pages) -> None:
    german = {"Accept-Language": "de"}
    gina = pages.browser("gina")
    for path, says in (("/attack", "Der Angriff"), ("/audit", "Die Prüfung"), ("/receipts", "Einen Beleg prüfen")):
        assert says in text_of(gina.get(path, headers=german))
    assert field_of(gina.get("/receipts", headers=german), "csrf")
    assert "Regeln" in text_of(pages.browser("cleo").get(f"{P}/custody/policy", headers=german))

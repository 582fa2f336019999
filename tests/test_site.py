"""The site holds every page and every name; its formulas are set as they are written."""

import importlib
import re
import runpy
from pathlib import Path

import click
import pytest

import lapwing
from lapwing.doors.cli import main
from lapwing.doors.server.calls import API
from lapwing.doors.server.operations import OPERATIONS
from test_surface import PACKAGES

ROOT = Path(__file__).parents[1]
SITE = ROOT / "site"
INDEX = (SITE / "index.md").read_text(encoding="utf-8")
row = runpy.run_path(str(SITE / "mathematics.py"))["row"]
page = runpy.run_path(str(SITE / "mathematics.py"))["page"]


def test_the_index_leads_to_every_page():
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/tutorials/*.md"), *ROOT.glob("*.md")]
    led_to = set(re.findall(r"\.\./([\w/]+)>?$", INDEX, flags=re.MULTILINE))
    missing = [one.name for one in pages if str(one.relative_to(ROOT).with_suffix("")) not in led_to]
    assert not missing


def test_every_command_is_on_the_page_of_commands(tmp_path):
    runpy.run_path(str(SITE / "commands_page.py"))["write"](tmp_path / "commands.md")
    told = (tmp_path / "commands.md").read_text(encoding="utf-8")
    names = [f"## lapwing {name}\n" for name in main.list_commands(click.Context(main))]
    assert [name for name in names if name not in told] == []
    assert "## lapwing stream ask\n" in told


def test_every_public_name_is_on_the_page_of_names(tmp_path):
    runpy.run_path(str(SITE / "names_page.py"))["write"](tmp_path / "names.md")
    page_of_names = (tmp_path / "names.md").read_text(encoding="utf-8")
    told = set(re.findall(r"auto(?:class|function):: lapwing\.(?:\w+\.)?(\w+)$", page_of_names, re.MULTILINE))
    for package in (lapwing, *(importlib.import_module(f"lapwing.{name}") for name in PACKAGES)):
        nouns = {name for name in package.__all__ if callable(getattr(package, name))}
        assert nouns <= told, package.__name__


def test_every_operation_is_on_the_page_of_operations_with_its_body(tmp_path):
    runpy.run_path(str(SITE / "operations_page.py"))["write"](tmp_path / "operations.md")
    told = (tmp_path / "operations.md").read_text(encoding="utf-8")
    for one in OPERATIONS:
        _, _, section = told.partition(f"## {one.name}\n")
        section = section.partition("\n## ")[0]
        assert f"{one.method} {API}{one.path}\n" in section, one.name
        assert ("| body |" in section) == (one.body is not None), one.name
        assert ("under an idempotency key" in section) == one.charges, one.name
    named = set(re.findall(r"\]\(#(\w+)\)", told.partition("## Bodies")[2]))
    headings = {name.lower() for name in re.findall(r"^### (\w+)$", told, flags=re.MULTILINE)}
    assert named <= headings


def test_the_first_use_of_a_word_leads_to_the_glossary():
    words = runpy.run_path(str(SITE / "glossary_words.py"))
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    explained = {word for row in rows for word in words["words_of"](row)}
    assert {"analyst", "budget", "ledger", "sparse vector technique", "adjacency", "token"} <= explained
    all_of_them = {one.strip() for row in rows for one in re.sub(r"\s*\(.*?\)", "", row).split(",")}
    assert words["HOMONYMS"] <= all_of_them  # a word that is gone is no exception any more
    found = words["Words"](explained)
    assert [word for *_, word in found.first_uses("Analysts of a black box: analyst")] == ["analyst", "black box"]
    assert list(found.first_uses("an analyst, the ledger's end, non-entry")) == [(16, 22, "ledger")]


@pytest.mark.parametrize(
    ("written", "set_"),
    [
        ("q_i'", "<msubsup><mi>q</mi><mrow><mi>i</mi></mrow><mo>′</mo></msubsup>"),
        ("b²", "<msup><mi>b</mi><mn>2</mn></msup>"),
        ("σ₁²", "<msubsup><mi>σ</mi><mn>1</mn><mn>2</mn></msubsup>"),
        ("e^(-x/b)", "<msup><mi>e</mi><mrow><mo>−</mo><mi>x</mi><mo>/</mo><mi>b</mi></mrow></msup>"),
        (
            "2^-(m)",
            (
                '<msup><mn>2</mn><mrow><mo>−</mo><mo stretchy="false">(</mo><mi>m</mi>'
                '<mo stretchy="false">)</mo></mrow></msup>'
            ),
        ),
        ("x <= y", "<mi>x</mi><mo>≤</mo><mi>y</mi>"),
        ("Σ_{j<k} p", "<msub><mo>Σ</mo><mrow><mi>j</mi><mo>&lt;</mo><mi>k</mi></mrow></msub><mi>p</mi>"),
    ],
)
def test_a_formula_is_set(written, set_):
    assert row(written) == f"<mrow>{set_}</mrow>"


def test_a_formula_may_go_on_further_in_and_stand_in_a_list():
    assert page("Hence\n\n    P(E) = x_1\n         = y_2.\n\nSo.\n").count("<mtr>") == 2
    assert '\n   <div class="formula">' in page("1. So\n\n       x_1 <= 2\n\n   and on.\n")


def test_code_and_links_are_left_alone():
    text = "As `x_i` in [here](a_b.md), and\n\n    x^2 <= 1\n\nthen e^r.\n"
    told = page(text)
    assert "`x_i`" in told
    assert "(a_b.md)" in told
    assert told.count("<math") == 2


@pytest.mark.parametrize(
    "written", ["γe^{-l_j}", "(1 - δ)^k", "u/2^(b-1)", "2^-(m+2)", "e^(-(x - (1-α)k))", "∫_m^∞ f", "(1 - x)_+"]
)
def test_what_has_an_exponent_is_set_wherever_it_stands(written):
    assert not re.search(r"[\^_]", page(f"As {written}, so.\n"))


def test_a_link_to_nowhere_and_a_fetch_from_elsewhere_are_found(tmp_path):
    faults = runpy.run_path(str(SITE / "check.py"))["faults"]
    here = tmp_path / "here.html"
    here.write_text('<a href="there.html#place">x</a><a href="#up">x</a><p id="up"><img src="a.png">')
    (tmp_path / "there.html").write_text(
        '<p id="place"><a href="https://example.org">leads away, and fetches nothing</a>'
    )
    (tmp_path / "a.png").write_bytes(b"")
    assert faults(tmp_path) == []
    (tmp_path / "a.css").write_text("@import 'https://example.org/a.css';")
    here.write_text(
        '&lt;math&gt;<a href="gone.html">x</a><a href="there.html#gone">x</a><script src="//example.org/a.js"></script>'
    )
    assert faults(tmp_path) == [
        "here.html shows the markup of a formula",
        "here.html fetches //example.org/a.js",
        "here.html leads to gone.html, which is not there",
        "here.html leads to there.html#gone, and that page has no such place",
        "a.css fetches something from elsewhere",
    ]

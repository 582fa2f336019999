"""A proof names the code it proves and carries its fingerprint: code that moves without its proof turns this red."""

import re
from pathlib import Path

import pytest

from proofs.fingerprint import fingerprint, fingerprint_of_source

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "proofs" / "README.md"
PROOFS = sorted(path for path in (ROOT / "proofs").glob("*.md") if path != INDEX)
STAMP = re.compile(r"^- `(?P<target>lapwing[\w.:]*)` `(?P<stamp>[0-9a-f]{16})`$", re.MULTILINE)
CITATION = re.compile(r"Proof: (proofs/\w+\.md)")
SOURCES = sorted((ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("proof", PROOFS, ids=lambda p: p.stem)
def test_a_proof_is_as_new_as_the_code_it_proves(proof) -> None:
    text = proof.read_text(encoding="utf-8")
    assert text.startswith("# "), f"{proof.name} has no title"
    stamps = STAMP.findall(text)
    assert stamps, f"{proof.name} names no code: write lines such as - `lapwing.noise.laws:Name` `0123456789abcdef`"
    stale = [f"- `{t}` `{fingerprint(t)}`" for t, stamp in stamps if fingerprint(t) != stamp]
    assert not stale, f"the code moved: re-read {proof.name} against it, mend the proof, then stamp\n" + "\n".join(
        stale
    )
    for heading in ("## Claim", "## Caller must ensure", "## Proof"):
        assert heading in text, f"{proof.name} has no section {heading!r}"


def test_every_proof_that_is_cited_exists() -> None:
    cited = {(source.name, c) for source in SOURCES for c in CITATION.findall(source.read_text(encoding="utf-8"))}
    assert cited
    assert {(source, proof) for source, proof in cited if not (ROOT / proof).exists()} == set()


def test_every_mechanism_cites_its_proof() -> None:
    mechanisms = sorted((ROOT / "src/lapwing/mechanisms").glob("[!_]*.py"))
    assert mechanisms
    without = [one.name for one in mechanisms if not CITATION.search(one.read_text(encoding="utf-8"))]
    assert without == [], "the docstring of each has a line 'Proof: proofs/name.md'"


CODE = 'def release(x):\n    """Say."""\n    return x + draw()  # why\n'


@pytest.mark.parametrize(
    ("edited", "same"),
    [
        (CODE.replace("Say.", "Say more."), True),
        (CODE.replace("  # why", ""), True),
        (CODE.replace("x + draw", "x  +  draw"), True),
        (CODE.replace("+", "-"), False),
        (CODE.replace("draw", "drow"), False),
        (CODE.replace("(x)", "(x, y=0)"), False),
    ],
)
def test_the_fingerprint_moves_with_the_code_and_not_with_its_words(edited, same) -> None:
    assert (fingerprint_of_source(CODE) == fingerprint_of_source(edited)) is same


def test_a_proof_of_code_that_is_gone_is_refused() -> None:
    with pytest.raises(LookupError, match="there is no 'gone'"):
        fingerprint_of_source(CODE, "gone")


def test_the_index_has_every_proof_and_no_other_page() -> None:
    listed = set(re.findall(r"\]\((\w+)\.md\)", INDEX.read_text(encoding="utf-8")))
    assert listed == {proof.stem for proof in PROOFS}

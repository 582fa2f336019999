"""`lapwing audit` tells the truth in a table, in JSON, in a picture and in its exit code."""

import itertools
import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from lapwing.auditor.liars import ONE_SHOT_LIARS
from lapwing.doors.auditing.register import Audited
from lapwing.doors.cli import audit as door
from lapwing.doors.cli import main

PAGE = Path(__file__).parents[3] / "docs" / "audit_white_box.md"
HALF = next(liar for liar in ONE_SHOT_LIARS if liar.name == "adds_half_the_laplace_noise")


def run(*words):
    return CliRunner().invoke(main, ["audit", *words])


def test_one_mechanism_is_told_in_an_aligned_table() -> None:
    told = run("geometric", "--epsilon", "0.5")
    assert told.exit_code == 0
    header, row = told.stdout.splitlines()[:2]
    assert row.split() == ["geometric", "epsilon", "0.5", "0.5", "100.0%", "holds", "<=", "0", "on", "0", "|", "3"]
    assert header.index("verdict") == row.index("holds")
    assert "1 mechanism, none above its claim" in told.stdout


def test_json_is_one_object_with_exact_claims() -> None:
    told = run("stable-keys", "--epsilon", "1/2", "--delta", "1e-9", "--json")
    record = json.loads(told.stdout)
    (finding,) = record["findings"]
    assert record["passed"] is True
    assert finding["claim"] == {"kind": "approximate", "epsilon": "1/2", "delta": "1/1000000000"}
    assert finding["refuted"] is False
    assert 0.49 < finding["achieved"] <= 0.5
    assert finding["confidence"] == "1"


def test_every_liar_is_caught_and_that_is_a_success() -> None:
    told = run("--liars")
    assert told.exit_code == 0
    assert told.stdout.count("REFUTED") == 23
    assert "23 liars, all caught" in told.stdout


def test_the_page_tells_of_every_liar_what_the_command_does() -> None:
    wide = CliRunner().invoke(main, ["audit", "--liars"], env={"COLUMNS": "300"})
    header, *rows = wide.stdout.split("\n\n")[0].splitlines()
    starts = [header.index(title) for title in ("liar", "claim", "achieved", "in all", "verdict")]
    cells = [[row[a:b].strip() for a, b in itertools.pairwise(starts)] for row in rows]
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    table = lines[lines.index("| liar | claim | achieved | in all |") + 2 :]
    assert table[: len(cells)] == [f"| {' | '.join(row)} |" for row in cells]
    assert table[len(cells)] == ""
    assert ["never stops", "epsilon 1", "3.54585", "without bound"] in cells


def test_what_would_be_ignored_of_liars_is_refused() -> None:
    for words in (["--sampled"], ["--samples", "100"], ["--epsilon", "2"], ["--delta", "0.1"], ["--seed", "3"]):
        refused = run("--liars", *words)
        assert refused.exit_code == 2
        assert f"leave {words[0]} out" in refused.stderr


def test_one_liar_is_caught_in_the_singular() -> None:
    assert "1 liar, caught: it gives away more" in run("--liars", "names and shames").stdout


def test_too_few_draws_are_refused_before_anything_is_computed(monkeypatch) -> None:
    monkeypatch.setattr(door, "suspects", lambda **_: pytest.fail("work was done"))
    refused = run("--sampled", "--samples", "20")
    assert refused.exit_code == 2
    assert "at least 50" in refused.stderr


def test_all_mechanisms_that_are_drawn_from_share_the_chance_of_a_false_alarm(monkeypatch) -> None:
    asked = []
    real = door.watch
    monkeypatch.setattr(door, "watch", lambda *words, **given: asked.append(given) or real(*words, **given))
    chosen = {name: one for name, one in door.suspects().items() if name.startswith("randomized")}
    monkeypatch.setattr(door, "suspects", lambda **_: chosen)
    words = ["--samples", "60", "--seconds", "5", "--seed", "3", "--false-alarm", "1e-4"]
    assert run("--sampled", *words).exit_code == 0
    assert [(one["false_alarm"], one["seed"], one["seconds"]) for one in asked] == [(Fraction(1, 20_000), 3, 5.0)] * 2


def test_a_mechanism_that_there_is_not_at_a_price_is_left_out_with_a_word(monkeypatch) -> None:
    named = run("gaussian-sparse", "--epsilon", "0.01")
    assert named.exit_code == 2
    assert "is too small for this delta" in named.stderr
    geometric = {"geometric": door.suspects()["geometric"]}
    monkeypatch.setattr(door, "suspects", lambda **_: geometric)
    told = " ".join(run("--epsilon", "0.01").stdout.split())
    assert "gaussian-sparse is left out: epsilon = 1/100 is too small for this delta" in told


def test_a_picture_in_no_format_is_no_folder_of_that_name(tmp_path) -> None:
    refused = run("geometric", "--plot", str(tmp_path / "x.pdf"))
    assert refused.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_one_liar_in_json_says_how_much_and_where_it_comes_from() -> None:
    record = json.loads(run("--liars", "names and shames", "--json").stdout)
    (finding,) = record["findings"]
    assert record["audited"] == "liars"
    assert (finding["currency"], finding["achieved"]) == ("delta", pytest.approx(1e-3))
    assert finding["source"].startswith("document 004")


def test_a_refuted_claim_ends_with_1(monkeypatch) -> None:
    lie = Audited(name="geometric", source="a test", compute=lambda: HALF.box.worst(HALF.claim))
    monkeypatch.setattr(door, "audited", lambda _: lie)
    told = run("geometric")
    assert told.exit_code == 1
    assert "1 claim REFUTED: geometric." in told.stdout


def test_a_liar_that_gets_away_ends_with_1(monkeypatch) -> None:
    honest = door.audited(door.suspects()["geometric"])
    monkeypatch.setattr(door, "liars", lambda: [honest])
    told = run("--liars")
    assert told.exit_code == 1
    assert "1 liar got away: geometric." in told.stdout


def test_what_is_not_there_is_refused_with_2() -> None:
    assert run("nonsense").exit_code == 2
    assert run("--liars", "nonsense").exit_code == 2
    assert run("geometric", "--epsilon", "-1").exit_code == 2


def test_names_can_be_listed_without_computing_anything() -> None:
    assert "permute-and-flip" in run("--list").stdout.split()
    assert "names and shames" in run("--liars", "--list").stdout


def test_a_picture_is_drawn_into_a_file_or_one_a_mechanism_into_a_folder(tmp_path) -> None:
    assert run("gaussian-mu", "--plot", str(tmp_path / "one.png")).exit_code == 0
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert run("randomized-response", "--plot", str(tmp_path / "all")).exit_code == 0
    assert "breaks" not in (tmp_path / "all" / "randomized-response.svg").read_text(encoding="utf-8")
    refused = run("--plot", str(tmp_path / "many.svg"))
    assert refused.exit_code == 2
    assert "name a folder" in refused.stderr


def test_pictures_are_the_same_bytes_for_the_same_numbers(tmp_path) -> None:
    for name in ("a.svg", "b.svg"):
        run("laplace", "--plot", str(tmp_path / name))
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_drawing_from_a_mechanism_adds_a_second_table() -> None:
    told = run("randomized-response", "--sampled", "--samples", "1000")
    assert told.exit_code == 0
    assert "not refuted" in told.stdout

"""`lapwing audit` tells the truth in a table, in JSON, in a picture and in its exit code."""

import json

import pytest
from click.testing import CliRunner

from lapwing.app.auditing.register import Audited
from lapwing.app.cli import audit as door
from lapwing.app.cli import main
from lapwing.auditor.one_shot_liars import ONE_SHOT_LIARS

HALF = next(liar for liar in ONE_SHOT_LIARS if liar.name == "adds_half_the_laplace_noise")


def run(*words):
    return CliRunner().invoke(main, ["audit", *words])


def test_one_mechanism_is_told_in_an_aligned_table() -> None:
    told = run("geometric", "--epsilon", "0.5")
    assert told.exit_code == 0
    header, row = told.stdout.splitlines()[:2]
    assert row.split() == ["geometric", "epsilon", "0.5", "0.5", "100.0%", "holds", "<=", "0", "on", "0", "|", "1"]
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
    assert told.stdout.count("REFUTED") == 21
    assert "21 liars, all caught" in told.stdout


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

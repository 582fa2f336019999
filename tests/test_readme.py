"""The README runs as it is printed: its Python, its commands, its settings. Only noise may differ, never its margin."""

import io
import itertools
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from click.testing import CliRunner

from lapwing.app.cli import main
from lapwing.app.settings import PostgresSource, read_settings

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = r"-?[\d,]+(?:\.\d+)?"
ROW = re.compile(rf"^ *(\S.*?)((?: +{NUMBER})+)$")


def blocks():
    return BLOCK.findall(README.read_text(encoding="utf-8"))


def masked(text):
    """Return a text with its noise masked. What is promised stays: prices, verdicts, how far apart bounds are."""
    text = re.sub(r"lapwing:[0-9a-f]{16}:(\d+):[0-9a-f]{64}", r"lapwing:...:\1:...", text)
    text = re.sub(rf"^{NUMBER}(?= people, with)", "N", text, flags=re.MULTILINE)
    text = re.sub(rf"from ({NUMBER}) to ({NUMBER})", _width, text)
    text = re.sub(rf"(?<=by about ){NUMBER}|(?<=above by  about ){NUMBER}", "N", text)
    return "\n".join(" ".join(_row(line).split()) for line in text.strip().splitlines())


def _width(bounds):
    low, high = (float(bound.replace(",", "")) for bound in bounds.groups())
    return f"bounds {high - low:g} apart"


def _row(line):
    """Mask the numbers of a row of an answer; each whole number with bounds keeps the distance of its bounds."""
    found = ROW.match(line)
    if found is None or "epsilon" in line:
        return line
    numbers = found[2].split()
    whole = [int(number.replace(",", "")) for number in numbers if "." not in number]
    widths = [whole[2] - whole[1]] if len(whole) > 2 else []  # the value, and its bounds
    return f"{found[1]} {' '.join('N' for _ in numbers)} {widths}"


def test_what_the_python_prints_is_what_follows_it(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = [(code, then) for (kind, code), then in itertools.pairwise(blocks()) if kind == "python"]
    assert len(pairs) == 4
    names: dict[str, object] = {}
    try:
        for code, (kind, expected) in pairs:
            assert kind == "text"
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(code, str(README), "exec"), names)  # noqa: S102 - it is ours
            assert masked(printed.getvalue()) == masked(expected)
    finally:
        names["clinic"].close()  # type: ignore[attr-defined]


def test_what_the_commands_print_is_what_follows_them(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("LAPWING_WORKSPACE", "LAPWING_ANALYST", "COLUMNS"):
        monkeypatch.delenv(variable, raising=False)
    sessions = [text for kind, text in blocks() if kind == "console"]
    assert len(sessions) == 1
    for session in sessions:
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE):
            words = shlex.split(command)
            if words[0] == "cd":
                monkeypatch.chdir(words[1])
                continue
            shown = CliRunner().invoke(main, words[1:], catch_exceptions=False)
            assert words[0] == "lapwing"
            assert shown.exit_code == 0
            assert masked(shown.output) == masked(expected), command


def test_the_settings_are_settings(tmp_path) -> None:
    (toml,) = (text for kind, text in blocks() if kind == "toml")
    (tmp_path / "lapwing.toml").write_text('ledger = "postgresql://lapwing@db/ledger"\n' + toml)
    settings = read_settings(tmp_path)
    assert settings.ledger.startswith("postgresql://")
    assert isinstance(settings.populations["clinic"].sources["patient"], PostgresSource)
    on_spark = re.sub(r"\{ postgres.*", '{ spark = "ehr.patient" }', toml)
    assert on_spark != toml
    (tmp_path / "lapwing.toml").write_text(on_spark)
    read_settings(tmp_path)


def test_what_can_be_made_is_in_the_makefile() -> None:
    (commands,) = (text for kind, text in blocks() if not kind and "make" in text)
    targets = re.findall(r"^make (\w+)", commands, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_every_page_that_is_linked_is_there() -> None:
    pages = re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8"))
    assert len(pages) > 10
    assert [page for page in pages if not (ROOT / page).exists()] == []


def test_it_stays_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 220


@pytest.mark.parametrize(
    ("printed", "other"),
    [
        ("epsilon 0.1 is within 30", "epsilon 0.2 is within 30"),
        ("927 people, with 95 % confidence from 897 to 957", "927 people, with 95 % confidence from 897 to 958"),
        ("F  280  260  300", "F  280  260  310"),
        ("left     epsilon 9.821", "left     epsilon 9.8"),
        ("BELOW", "ABOVE, by about 3"),
        ("F  280", "M  280"),
    ],
    ids=str,
)
def test_the_mask_hides_no_price_no_margin_and_no_verdict(printed, other) -> None:
    assert masked(printed) != masked(other)
    assert masked("915 people, with 95 % confidence from 885 to 945") == masked(
        "927 people, with 95 % confidence from 897 to 957"
    )
    assert masked("F  280  260  300") == masked("F  1,281  1,261  1,301")

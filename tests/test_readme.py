"""The README runs as it is printed: its Python, its commands, its settings. Only noise may differ, never its margin.

    python tests/test_readme.py

writes into the README what its code and its commands print now.
"""

import io
import os
import re
import shlex
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path

import pytest
from click.testing import CliRunner

from lapwing.doors.cli import main
from lapwing.sources import PostgresSource
from lapwing.workspace.settings import read_settings

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = r"-?[\d,]+(?:\.\d+)?"
ROW = re.compile(rf"^ *(\S.*?)((?: +{NUMBER})+)$")


def blocks(text):
    """Return the blocks of a page, each with its kind."""
    return BLOCK.findall(text)


def as_it_runs(text):
    """Return a page with what its code and its commands print now."""
    names, printed = {}, io.StringIO()

    def rewritten(block):
        kind, content = block.groups()
        if kind == "python":
            printed.seek(0)
            printed.truncate()
            with redirect_stdout(printed):
                exec(compile(content, str(README), "exec"), names)  # noqa: S102 - it is ours
        if kind == "text":
            content = printed.getvalue()
        if kind == "console":
            content = _typed(re.findall(r"^\$ (.*)$", content, re.MULTILINE))
        return f"```{kind}\n{content}```"

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        try:
            return BLOCK.sub(rewritten, text)
        finally:
            if "clinic" in names:
                names["clinic"].close()


def _typed(commands):
    """Return a console in which commands were typed, in a folder of its own."""
    shown = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for command in commands:
            name, *words = shlex.split(command)
            if name == "cd":
                os.chdir(words[0])
                shown.append(f"$ {command}\n")
                continue
            assert name == "lapwing"
            told = CliRunner(env={"LAPWING_WORKSPACE": None, "LAPWING_ANALYST": None, "COLUMNS": None}).invoke(
                main, words, catch_exceptions=False
            )
            assert told.exit_code == 0, told.output
            shown.append(f"$ {command}\n{told.output.rstrip()}\n")
    return "\n".join(shown)


def masked(text):
    """Return a text with its noise masked. What is promised stays: prices, verdicts, how far apart bounds are."""
    text = re.sub(r"lapwing:[0-9a-f]{16}((?:/\d+)?:\d+):[0-9a-f]{64}", r"lapwing:...\1:...", text)
    text = re.sub(rf"^{NUMBER}(?= people, with)", "N", text, flags=re.MULTILINE)
    text = re.sub(rf"from ({NUMBER}) to ({NUMBER})", _width, text)
    text = re.sub(rf"{NUMBER} ± (\d+)(?![\d.])", r"value±\1", text)  # the margin of a count is known beforehand
    text = re.sub(rf"{NUMBER} ± {NUMBER}", "value±margin", text)  # that of a mean depends on its noisy count
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


def test_what_code_and_commands_print_is_what_stands_there() -> None:
    page = README.read_text(encoding="utf-8")
    there, now = blocks(page), blocks(as_it_runs(page))
    assert [kind for kind, _ in there].count("text") == [kind for kind, _ in there].count("python") == 4
    assert [kind for kind, _ in there].count("console") == 1
    for (kind, printed), (_, prints) in zip(there, now, strict=True):
        assert masked(prints) == masked(printed), f"a {kind} block; python tests/test_readme.py writes it anew"


def test_the_settings_are_settings(tmp_path) -> None:
    (toml,) = (text for kind, text in blocks(README.read_text(encoding="utf-8")) if kind == "toml")
    (tmp_path / "lapwing.toml").write_text('ledger = "postgresql://lapwing@db/ledger"\n' + toml)
    settings = read_settings(tmp_path)
    assert settings.ledger.startswith("postgresql://")
    assert isinstance(settings.populations["clinic"].sources["patient"], PostgresSource)
    on_spark = re.sub(r"\{ postgres.*", '{ spark = "ehr.patient" }', toml)
    assert on_spark != toml
    (tmp_path / "lapwing.toml").write_text(on_spark)
    read_settings(tmp_path)


def test_what_can_be_made_is_in_the_makefile() -> None:
    (commands,) = (text for kind, text in blocks(README.read_text(encoding="utf-8")) if not kind and "make" in text)
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


if __name__ == "__main__":
    README.write_text(as_it_runs(README.read_text(encoding="utf-8")), encoding="utf-8")

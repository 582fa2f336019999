"""Builds what is released and tries it as whoever installs it would: `make dist`.

Wheel and source are built twice and must be the same bytes. The wheel is installed into clean environments, never
beside the source: alone, where a smoke test runs and a missing extra is told in a sentence; then with each extra by
itself, the server with its pages; and the README and the first page run from it. Lists of all that lapwing stands on
(CycloneDX), alone and with each extra, are written beside the wheel.
"""

import filecmp
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
UV = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
SBOM = "cyclonedx-bom>=7,<8"

SMOKE = """
import tempfile, lapwing as lw
from pathlib import Path
folder = Path(tempfile.mkdtemp()) / "clinic"
lw.make_clinic(folder, people=500)
lw.create(folder).close()
with lw.open(folder) as clinic:
    answer = clinic.ask(lw.count("patient"), epsilon=1)
    assert 400 < float(answer) < 600, answer
{more}
"""
NO_PICTURES = """
try:
    answer.plot()
except lw.LapwingError as told:
    assert "lapwing[plots]" in str(told), told
else:
    raise AssertionError("a picture without matplotlib")
"""
EXTRAS = {
    "plots": "answer.plot()",
    "postgres": "import psycopg",
    "spark": "import pyspark, pyarrow",
    "server": (ROOT / "release" / "try_server.py").read_text(encoding="utf-8"),
    "sign-in": "import joserfc",
}


def run(*command: object, **options: object) -> None:
    """Run a program, and stop where it fails."""
    subprocess.run([str(word) for word in command], check=True, **options)  # noqa: S603 - our own words


def build(folder: Path) -> list[Path]:
    """Build wheel and source into a folder; the time of the last commit stands in them, and not that of the build."""
    last = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S607
    run(UV, "build", "--quiet", "--out-dir", folder, ROOT, env={**os.environ, "SOURCE_DATE_EPOCH": last.stdout.strip()})
    return sorted(one for one in folder.iterdir() if one.suffix in {".whl", ".gz"})


def environment(folder: Path, *packages: object) -> Path:
    """Return the Python of a new environment that holds these packages, as chosen in constraints.txt."""
    run(UV, "venv", "--quiet", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    run(UV, "pip", "install", "--quiet", "--python", python, "-c", ROOT / "constraints.txt", *packages)
    return python


def try_command(python: Path, folder: Path) -> None:
    """Type the command that was installed: all that it prints reaches a pipe, and its exit codes are right.

    It ends without tidying up, so this is a promise of its own.
    """

    def typed(*words: str) -> tuple[int, str]:
        command = [str(python.parent / "lapwing"), *words]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)  # noqa: S603 - our own words
        return done.returncode, done.stdout

    made = typed("demo", "--make", "--folder", "clinic", "--people", "500")
    asked = typed("count", "patient", "--epsilon", "1", "--json", "-w", "clinic")
    refused = typed("count", "nobody", "--epsilon", "1", "--json", "-w", "clinic")
    too_much = typed("count", "patient", "--epsilon", "11", "--json", "-w", "clinic")
    helped = typed("--help")
    if [made[0], asked[0], refused[0], too_much[0], helped[0]] != [0, 0, 2, 3, 0]:
        sys.exit(f"the command ends with other codes than 0, 0, 2, 3, 0: {made, asked, refused, too_much, helped}")
    if json.loads(asked[1])["price"]["epsilon"] != "1" or not helped[1].endswith("and compare.\n"):
        sys.exit(f"the command does not print all of what it says: {asked[1]}{helped[1]}")


def version(python: Path) -> str:
    """Return the version of the lapwing that an environment holds."""
    command = [str(python), "-c", "import lapwing; print(lapwing.__version__)"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603 - our own words


def list_parts(python: Path, name: str) -> None:
    """Write what an environment holds, with versions and licences; of the same source, the same list."""
    words = ["--pyproject", ROOT / "pyproject.toml", "--mc-type", "library", "--output-reproducible", "-o", DIST / name]
    run(UV, "tool", "run", "--quiet", "--from", SBOM, "cyclonedx-py", "environment", python, *words)
    listed = json.loads((DIST / name).read_text(encoding="utf-8"))
    listed["metadata"]["component"]["version"] = version(python)  # pyproject.toml leaves it to the code
    (DIST / name).write_text(json.dumps(listed, indent=2), encoding="utf-8")


def try_readme(python: Path, source: Path, folder: Path) -> None:
    """Run README and first page from the wheel: they come from the released source, whose code is taken away."""
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    shutil.rmtree(unpacked / "src")
    options = ["-q", "--noconftest", "-o", "addopts=", "-o", "pythonpath=tests", "-p", "no:cacheprovider"]
    run(python, "-m", "pytest", *options, "tests/test_readme.py", "tests/doors/cli/test_first_minutes.py", cwd=unpacked)


def main() -> None:
    """Build, compare, install, try, and write down what is in it."""
    shutil.rmtree(DIST, ignore_errors=True)
    released = build(DIST)
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        again = build(here / "again")
        if [
            one.name for one in released if not filecmp.cmp(one, here / "again" / one.name, shallow=False)
        ] or not again:
            sys.exit("two builds of the same source differ: look for a time or a random order in what was built")
        source, wheel = sorted(released, key=lambda one: one.suffix == ".whl")
        plain = environment(here / "plain", wheel)
        run(plain, "-c", SMOKE.format(more=NO_PICTURES), cwd=here)
        try_command(plain, here)
        list_parts(plain, "lapwing.cdx.json")
        for extra, more in EXTRAS.items():
            python = environment(here / extra, f"{wheel}[{extra}]")
            run(python, "-c", SMOKE.format(more=more), cwd=here)
            list_parts(python, f"lapwing-{extra}.cdx.json")
            print(f"lapwing[{extra}] by itself works")
        readme = environment(here / "readme", f"{wheel}[plots]", "pytest")
        try_readme(readme, source, here / "source")
    print("\n".join(f"dist/{one.name}" for one in sorted(DIST.iterdir()) if not one.name.startswith(".")))


if __name__ == "__main__":
    main()

"""The Python of README, docs and examples passes mypy --strict, as it is printed, beside pages that must not.

    python tests/typing_tests/pages.py

writes the lines of each page into a file of its own and runs mypy once. What readers type into a notebook has no
annotations, so functions without them are let through; everything else is held to what users of a typed package have.
"""

import re
import subprocess
import sys
import tempfile
from doctest import DocTestParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
TYPED = [*sorted(ROOT.glob("examples/*.py")), *sorted(Path(__file__).parent.glob("typed_*.py"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
AS_READERS_WRITE = ["--allow-redefinition", "--allow-untyped-defs", "--allow-incomplete-defs", "--allow-untyped-calls"]


def python_of(page: Path) -> str:
    """Return the Python of a page: what stands after prompts, or else its blocks."""
    text = page.read_text(encoding="utf-8")
    examples = "".join(example.source for example in DocTestParser().get_examples(text))
    return examples or "".join(BLOCK.findall(text))


def main() -> int:
    """Check every page in one run of mypy."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for page in PAGES:
            if source := python_of(page):
                files.append(Path(folder) / f"{page.stem.lower()}_page.py")
                files[-1].write_text(source, encoding="utf-8")
        command = [sys.executable, "-m", "mypy", *AS_READERS_WRITE, *map(str, [*files, *TYPED])]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

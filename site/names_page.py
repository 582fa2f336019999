"""The reference of the public names, from the packages themselves: a name that is public is on the page."""

import importlib
import inspect
from pathlib import Path

BEGINNING = """# Every public name

`import lapwing as lw` has what analysts and custodians need. The mechanisms, the accounting, the auditor, the attacks,
the ledger and the errors are packages of their own.
"""
PACKAGES = (
    "lapwing",
    "lapwing.mechanisms",
    "lapwing.accounting",
    "lapwing.auditor",
    "lapwing.attacks",
    "lapwing.ledger",
    "lapwing.errors",
)


def write(file: Path) -> None:
    """Write the page, unless it says the same already."""
    seen: set[object] = set()
    text = "\n".join([BEGINNING, *(section for name in PACKAGES for section in _sections(name, seen))])
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def _sections(package: str, seen: set[object]) -> list[str]:
    """Return what stands about one package; a name that two packages share is told once."""
    module = importlib.import_module(package)
    lines = [f"## {package}\n", "```{eval-rst}"]
    for name in sorted(module.__all__, key=str.casefold):
        thing = getattr(module, name)
        if inspect.ismodule(thing) or not callable(thing) or thing in seen:
            continue
        seen.add(thing)
        lines.append(
            f".. autoclass:: {package}.{name}\n   :members:\n"
            if inspect.isclass(thing)
            else f".. autofunction:: {package}.{name}\n"
        )
    return [*lines, "```\n"]

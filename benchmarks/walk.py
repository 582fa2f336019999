"""Through how many rooms a question walks: modules touched, changes of folder, and calls that go up the layers.

Every Python call into lapwing is traced with `sys.setprofile`, the second time a question of its kind is asked, when
imports are warm; each is a new question, so that no plan of it is remembered. A call goes up when it enters a module
that stands above its caller in the order of the folders; a callback that the upper one handed down counts, too. Two
pass on what they are given, and the call is their caller's: `hide_failures` runs its caller's own block, and the codec
makes the nouns that its caller names.
"""

import sys
import tomllib
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Self

import lapwing as lw
from _report import Goals, table
from lapwing.doors.cli import main
from lapwing.engines import reading
from lapwing.vocabulary import codec, frozen

_RUNNERS = {reading.hide_failures.__code__, reading._reported.__code__}  # noqa: SLF001 - its inner half
PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
MOST_MODULES = {"ask(count)": 40, "stream.ask": 45, "lapwing count": 70}
"""The goals."""


class Walk:
    """The modules of lapwing in the order in which calls entered them."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []  # who called, who was called

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        called, caller = _module(frame), _nearest(frame.f_back)
        if called:
            self.steps.append((caller, called))

    @property
    def modules(self) -> list[str]:
        """Those that were entered, in their order."""
        return list(dict.fromkeys(called for _, called in self.steps))

    @property
    def folder_changes(self) -> int:
        """How often the next call was in another folder than the one before."""
        return sum(_folder(one) != _folder(other) for (_, one), (_, other) in pairwise(self.steps))

    def upward(self) -> list[tuple[str, str]]:
        """Return who called whom up the layers."""
        order = _order()
        crossings = {(caller, called) for caller, called in self.steps if caller and order(called) < order(caller)}
        return sorted(crossings)


def _module(frame: FrameType | None) -> str:
    name = frame.f_globals.get("__name__", "") if frame else ""
    if (
        frame and name == frozen.__name__ and "self" in frame.f_locals
    ):  # a method that was made for a noun is the noun's
        name = type(frame.f_locals["self"]).__module__
    return name if name.startswith("lapwing.") else ""


def _nearest(frame: FrameType | None) -> str:
    while frame is not None and (not _module(frame) or _passes_on(frame)):
        frame = frame.f_back
    return _module(frame)


def _passes_on(frame: FrameType) -> bool:
    return (
        frame.f_globals["__name__"] == frozen.__name__ or _module(frame) == codec.__name__ or frame.f_code in _RUNNERS
    )


def _folder(module: str) -> str:
    return module.split(".")[1]


def _order() -> Callable[[str], int]:
    """Return the floor of a module, the highest first, as the import contracts say."""
    contracts = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    floors = {
        name.strip(" ()"): floor for floor, layer in enumerate(layers) for name in layer.replace("|", ":").split(":")
    }
    return lambda module: floors[_folder(module)]


def walked(act: Callable[[], object]) -> Walk:
    with redirect_stdout(StringIO()), Walk() as walk:
        act()
    return walk


def typed(folder: Path, *words: str) -> None:
    try:
        main(["count", *words, "-w", str(folder)], standalone_mode=False)
    except SystemExit as ended:
        if ended.code:
            raise


def walks() -> dict[str, Walk]:
    with TemporaryDirectory(prefix="lapwing-") as scratch:
        folder = lw.make_clinic(Path(scratch) / "clinic", people=3000)
        lw.create(folder).close()
        found: dict[str, Walk] = {}
        with lw.open(folder, analyst="ana") as session:
            for turn in range(2):
                question = lw.count("patient", f"age > {40 + turn}")
                other = lw.count("patient", f"age > {60 + turn}")
                found["preview"] = walked(lambda other=other: session.preview(other, epsilon="0.1"))
                found["ask(count)"] = walked(lambda question=question: session.ask(question, epsilon="0.1"))
                found["ask again, free"] = walked(lambda question=question: session.ask(question, epsilon="0.1"))
            text = "select sex, count(*), avg(bmi) from patient where age > {} group by sex"
            for turn in range(2):
                found["sql"] = walked(lambda turn=turn: session.sql(text.format(turn), epsilon="0.1"))
            with session.stream(at_least=200, yeses=3, epsilon="1") as stream:
                for turn in range(2):
                    found["stream.ask"] = walked(lambda turn=turn: stream.ask(f"age = {90 + turn}"))
        for turn in range(2):
            found["lapwing count"] = walked(
                lambda turn=turn: typed(folder, "patient", "--by", "sex", "--within", str(20 + turn))
            )
    return found


def report() -> None:
    found = walks()
    rows = [
        [name, str(len(walk.steps)), str(len(walk.modules)), str(walk.folder_changes), str(len(walk.upward()))]
        for name, walk in found.items()
    ]
    table("Walks of a question", ["walk", "calls", "modules", "folder changes", "calls up"], rows)
    for name, walk in found.items():
        for caller, called in walk.upward():
            print(f"  up: {name}: {caller} -> {called}")
    if "--modules" in sys.argv:
        for name, walk in found.items():
            print(f"\n{name}: {' '.join(module.removeprefix('lapwing.') for module in walk.modules)}")
    goals = Goals()
    for name, most in MOST_MODULES.items():
        goals.at_most(f"modules of {name}", len(found[name].modules), most, "")
    goals.at_most("calls that go up", sum(len(walk.upward()) for walk in found.values()), 0, "")
    goals.close()


if __name__ == "__main__":
    report()

"""The way of a question through the rooms: calls, changes of folder, calls that go up the layers, plans, statements.

Every question is new and is the second of its kind, so that imports are warm and no plan of it is remembered. What is
counted, and nothing is left out:

- A *call* is a frame of lapwing that is entered, as `sys.setprofile` tells: a function, a method, a property, a
  comprehension (which Python 3.12 no longer counts), and each time that a generator goes on. What C does, and other
  libraries, are no calls of ours. A method that `vocabulary.frozen` makes for a noun is the noun's.
- A *folder* is the directory of a module: `queries/planning` and `queries/algebra` are two; `session.py`, `tables.py`
  and the others that lie in `lapwing` itself are a folder each. A *change* is a call in another folder than that of the
  call before it.
- A *floor* is the first directory alone: by floors the goal of 100 was set when there were no rooms in `queries`.
- A call *goes up* when it enters a module that stands above its caller in the order of the folders; a callback that
  the upper one handed down counts, too. Two pass on what they are given, and the call is their caller's:
  `hide_failures` runs its caller's own block, and the codec makes the nouns that its caller names.
- *Plans* are calls of `Planner.build`, *texts* those of `codec.to_text`.
- *Statements* are what SQLite is given, of the ledger and of the door, as its own trace tells.

The HTTP question is asked of the application itself, in this process, without a socket; the threads that work for it
are traced as well.
"""

import asyncio
import sqlite3
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, Self

import httpx

import lapwing as lw
from _report import Goals, table
from lapwing.doors.cli import main
from lapwing.doors.server.application import DoorSettings, make_application
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.people import Directory
from lapwing.doors.server.roles import Role
from lapwing.engines import reading
from lapwing.queries.planning.planner import Planner
from lapwing.vocabulary import codec, frozen

_RUNNERS = {reading.hide_failures.__code__, reading._reported.__code__}  # noqa: SLF001 - its inner half
_COUNTED = {Planner.build.__code__: "plans", codec.to_text.__code__: "texts"}
SOURCE = Path(lw.__file__).parent
PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
MOST_FOLDER_CHANGES, MOST_CALLS = 100, {"ask(count)": 900, "SELECT of two": 6000}
MOST_STATEMENTS = 18
"""The goals: of ask(count), of these walks, of an HTTP ask."""


class Walk:
    """The modules of lapwing in the order in which calls entered them, and what SQLite was given meanwhile."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []  # who called, who was called
        self.counted: Counter[str] = Counter()

    def __enter__(self) -> Self:
        _listening.append(self)
        sys.setprofile(_note_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        _listening.remove(self)

    def note(self, frame: FrameType) -> None:
        """Note a call, if it is one of lapwing."""
        if called := _module(frame):
            self.steps.append((_nearest(frame.f_back), called))
            if frame.f_code in _COUNTED:
                self.counted[_COUNTED[frame.f_code]] += 1

    @property
    def modules(self) -> list[str]:
        """Those that were entered, in their order."""
        return list(dict.fromkeys(called for _, called in self.steps))

    def changes(self, of: Callable[[str], str]) -> int:
        """Return how often the next call was in another folder, or floor, than the one before."""
        return sum(of(one) != of(other) for (_, one), (_, other) in pairwise(self.steps))

    def upward(self) -> list[tuple[str, str]]:
        """Return who called whom up the layers."""
        order = _order()
        crossings = {(caller, called) for caller, called in self.steps if caller and order(called) < order(caller)}
        return sorted(crossings)


_listening: list[Walk] = []


def _note_call(frame: FrameType, event: str, _: object) -> None:
    if event == "call":
        for walk in _listening:
            walk.note(frame)


class _TracedConnection(sqlite3.Connection):
    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.set_trace_callback(_note_statement)


def _note_statement(text: str) -> None:
    if not text.startswith("--"):  # what triggers and indexes do is told as remarks
        for walk in _listening:
            walk.counted["statements"] += 1


@contextmanager
def traced_sqlite() -> Iterator[None]:
    """Let the connections that are opened meanwhile tell their statements."""
    plain = sqlite3.connect
    sqlite3.connect = lambda *given, **settings: plain(*given, **{"factory": _TracedConnection, **settings})  # type: ignore[assignment]
    try:
        yield
    finally:
        sqlite3.connect = plain


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


def floor_of(module: str) -> str:
    return module.split(".")[1]


def folder_of(module: str) -> str:
    """Return the directory of a module; of one that lies in lapwing itself, the module."""
    _, *folders, name = module.split(".")
    if (SOURCE / "/".join([*folders, name])).is_dir():  # a package is called like its directory
        folders.append(name)
    return "/".join(folders) or name


def _order() -> Callable[[str], int]:
    """Return the floor of a module, the highest first, as the import contracts say."""
    contracts = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    floors = {
        name.strip(" ()"): floor for floor, layer in enumerate(layers) for name in layer.replace("|", ":").split(":")
    }
    return lambda module: floors[floor_of(module)]


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


async def through_http(folder: Path) -> Walk:
    """Ask over HTTP, without the wire."""
    store = open_store(folder)
    people = Directory(store)
    token, _ = people.make_token(people.add("ana", "Ana", Role.ANALYST), "walk")
    guard = make_application(lw.open_workspace(folder), store, DoorSettings(tick=0.001))
    site: Any = guard.app
    async with site.router.lifespan_context(site):
        transport = httpx.ASGITransport(app=guard, client=("127.0.0.1", 1))
        headers = {"authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
            for turn in range(3):
                question = {"ask": "count", "table": "patient", "where": f"age > {70 + turn}"}
                with Walk() as walk:
                    told = await client.post(
                        "/api/v1/populations/clinic/questions",
                        json={"question": question, "price": {"epsilon": "0.01"}},
                        headers={"idempotency-key": f"the-key-of-walk-{turn}"},
                    )
                told.raise_for_status()
    return walk


def walks() -> dict[str, Walk]:
    with TemporaryDirectory(prefix="lapwing-") as scratch, traced_sqlite():
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
                found["SELECT of two"] = walked(lambda turn=turn: session.sql(text.format(turn), epsilon="0.1"))
            with session.stream(at_least=200, yeses=3, epsilon="1") as stream:
                for turn in range(2):
                    found["stream.ask"] = walked(lambda turn=turn: stream.ask(f"age = {90 + turn}"))
        for turn in range(2):
            found["lapwing count"] = walked(
                lambda turn=turn: typed(folder, "patient", "--by", "sex", "--within", str(20 + turn))
            )
        threading.setprofile(_note_call)  # of the threads that are started from now on
        found["HTTP ask"] = asyncio.run(through_http(folder))
        threading.setprofile(None)  # type: ignore[arg-type]
    return found


def rooms() -> list[list[str]]:
    """Return the rooms with their modules and lines."""
    modules, lines = Counter[str](), Counter[str]()
    for file in SOURCE.rglob("*.py"):
        folder = file.parent.relative_to(SOURCE).as_posix()
        modules[folder] += 1
        lines[folder] += len(file.read_text(encoding="utf-8").splitlines())
    rows = [[folder, f"{modules[folder]:,}", f"{lines[folder]:,}"] for folder in sorted(modules)]
    return [*rows, ["in all", f"{modules.total():,}", f"{lines.total():,}"]]


def report() -> None:
    found = walks()
    rows = [
        [
            name,
            *(str(n) for n in (len(walk.steps), len(walk.modules), walk.changes(folder_of), walk.changes(floor_of))),
            *(str(n) for n in (len(walk.upward()), *(walk.counted[one] for one in ("plans", "texts", "statements")))),
        ]
        for name, walk in found.items()
    ]
    header = ["walk", "calls", "modules", "folder changes", "floor changes", "calls up", "plans", "texts", "statements"]
    table("Walks of a question", header, rows)
    table("Rooms", ["room", "modules", "lines"], rooms())
    for name, walk in found.items():
        for caller, called in walk.upward():
            print(f"  up: {name}: {caller} -> {called}")
    if "--modules" in sys.argv:
        for name, walk in found.items():
            print(f"\n{name}: {' '.join(module.removeprefix('lapwing.') for module in walk.modules)}")
    goals, asked = Goals(), found["ask(count)"]
    goals.at_most("folder changes of ask(count)", asked.changes(folder_of), MOST_FOLDER_CHANGES, "")
    for name, most in MOST_CALLS.items():
        goals.at_most(f"calls of {name}", len(found[name].steps), most, "")
    goals.at_most("SQLite statements of an HTTP ask", found["HTTP ask"].counted["statements"], MOST_STATEMENTS, "")
    goals.at_most("calls that go up", sum(len(walk.upward()) for walk in found.values()), 0, "")
    goals.close()


if __name__ == "__main__":
    report()

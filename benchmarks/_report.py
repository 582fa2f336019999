"""How every benchmark measures and closes: interleaved best-of-N CPU time, a table, then one line per goal."""

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

clock = time.process_time  # CPU seconds: what other tenants of the machine do is not measured


class PeakMemory:
    """The most memory that this process has held since this was made, in megabytes beyond what it held then."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self._before = _status("VmRSS")

    def megabytes(self) -> float:
        return (_status("VmHWM") - self._before) / 1024


def _status(word: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(word))


def rates(
    cases: dict[str, tuple[Callable[[], object], int]], *, rounds: int = 7, slice_: float = 0.06
) -> dict[str, float]:
    """Return items per CPU second of each case (call, items per call): the best of `rounds` interleaved slices."""
    repeats = {}
    for name, (call, _) in cases.items():
        call()  # tables, pools and caches are built outside the clock
        repeats[name] = _repeats(call, slice_)
    best = dict.fromkeys(cases, 0.0)
    gc.disable()
    try:
        for _ in range(rounds):
            for name, (call, items) in cases.items():
                start = clock()
                for _ in range(repeats[name]):
                    call()
                best[name] = max(best[name], repeats[name] * items / max(clock() - start, 1e-9))
    finally:
        gc.enable()
    return best


def _repeats(call: Callable[[], object], slice_: float) -> int:
    repeats = 1
    while True:
        start = clock()
        for _ in range(repeats):
            call()
        spent = clock() - start
        if spent >= slice_ / 4 or repeats >= 10**7:
            return max(1, int(repeats * slice_ / max(spent, 1e-9)))
        repeats *= 4


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """Print an aligned table, first column to the left, the others to the right."""
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    print(f"\n{title}")
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [
            str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip())


@dataclass
class Goals:
    """The goals of one benchmark; `close` prints them and ends the process, non-zero unless all were met.

    A goal that could not be measured is not met.
    """

    lines: list[tuple[str, bool | None]] = field(default_factory=list)

    def at_least(self, goal: str, figure: float, bound: float, unit: str = "x") -> None:
        self.lines.append((f"{goal}: {figure:,.4g}{unit} (goal >= {bound:,.4g}{unit})", figure >= bound))

    def at_most(self, goal: str, figure: float, bound: float, unit: str = "x") -> None:
        self.lines.append((f"{goal}: {figure:,.4g}{unit} (goal <= {bound:,.4g}{unit})", figure <= bound))

    def not_measured(self, goal: str, why: str) -> None:
        """Say that a goal could not be looked at here: it does not count as met."""
        self.lines.append((f"{goal}: {why};", None))

    def close(self) -> None:
        print()
        for line, met in self.lines:
            print(f"{line} {'not measured' if met is None else 'met' if met else 'missed'}")
        sys.exit(0 if all(met for _, met in self.lines) else 1)

"""Metrics of a process in the text format OpenMetrics: how much it does and how quickly, and nothing about data.

Everything here is read by auditors, to whom the differential privacy of answers is promised as to everybody else. So
each number must follow from requests and from what auditors see already, and not from rows:

- **Requests, by operation and class of status.** The operation is the template of its path, never the path. Classes of
  refusals follow from the question and the account, which are checked before data is read. A failure after that (5xx)
  is one that the ledger shows as an answer that was lost.
- **Durations**, in buckets. What cannot read data has fine ones. What may read data leaves at ticks, and is counted in
  whole seconds and coarser: the ledger's entries of its charge and of its answer have their second each.
- **Jobs** that wait, run and have ended: the same entries.
- **Appends to the ledger**: how long one took, and how many went through together. An entry holds what was asked and
  what was released, so that its length, and that a stream ended with it, is post-processing.
- **Threads that are busy, and looks**: work that reads no data.

There is no label for a population, a table, an analyst, a question, a key or an address. Numbers change only every
`PERIOD` seconds, for all readers at once: reading more often does not show when single questions begin and end.
"""

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NewType, TypeAlias

from lapwing import __version__
from lapwing.ledger.append_times import EDGES, AppendTimes

MEDIA_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PERIOD: Final = 10.0
"""Seconds for which the numbers stay as they are."""
FINE: Final = (0.01, 0.1, 1.0, 10.0)
COARSE: Final = (1.0, 5.0, 20.0, 60.0)
OTHER: Final = "other"
"""The operation of requests that fit no route, whatever they ask for."""

Labels: TypeAlias = tuple[tuple[str, str], ...]
Gauge: TypeAlias = Callable[[], Mapping[Labels, int]]


OpenMetrics = NewType("OpenMetrics", str)
"""Text in the format OpenMetrics: the type of an answer, for the description of the API."""


class Histogram:
    """How many of some durations were at most so long, by buckets."""

    __slots__ = ("_counts", "_edges")

    def __init__(self, edges: Sequence[float]) -> None:
        self._edges, self._counts = tuple(edges), [0] * (len(edges) + 1)

    def add(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(self._edges, seconds)] += 1

    def lines(self, name: str, labels: Labels = ()) -> Iterable[str]:
        """Return its lines. A sum would be finer than the buckets."""
        return _buckets(name, labels, self._edges, self._counts)


class Metrics:
    """What one process has done since it began. Thread-safe.

    Parameters
    ----------
    appends : the durations of appends to the ledger
    fine : the operations whose durations are counted finely: those that cannot read data
    clock : seconds, by which numbers stay as they are for `PERIOD`
    """

    def __init__(
        self,
        fine: Iterable[str] = (),
        *,
        appends: AppendTimes | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fine, self._clock, self._lock = frozenset(fine), clock, threading.Lock()
        self._requests = Counter[tuple[str, int]]()
        self._durations: dict[str, Histogram] = {}
        self._appends = appends or AppendTimes()
        self._gauges: dict[tuple[str, str, str], Gauge] = {}
        self._text, self._due = b"", float("-inf")

    def count_request(self, operation: str, status: int, seconds: float) -> None:
        """Count a request that was answered; `operation` is the method and the template of its path."""
        with self._lock:
            self._requests[operation, status // 100] += 1
            if operation not in self._durations:
                self._durations[operation] = Histogram(FINE if operation in self._fine else COARSE)
            self._durations[operation].add(seconds)

    def watch(self, name: str, kind: str, says: str, read: Gauge) -> None:
        """Show what `read` returns, by its labels, as a "gauge" or a "counter"."""
        self._gauges[name, kind, says] = read

    def text(self) -> bytes:
        """Return all of it, as it was at the beginning of this period."""
        now = self._clock()
        with self._lock:
            if now >= self._due:
                self._text, self._due = "".join(f"{line}\n" for line in self._lines()).encode(), now + PERIOD
            return self._text

    def _lines(self) -> Iterable[str]:
        yield from _head("lapwing_build", "info", "Version.")
        yield f"lapwing_build_info{_braces((('version', __version__),))} 1"
        yield from _head("lapwing_requests", "counter", "Requests by operation and class of status.")
        for (operation, status), count in sorted(self._requests.items()):
            labels = (("operation", operation), ("status", f"{status}xx"))
            yield f"lapwing_requests_total{_braces(labels)} {count}"
        yield from _head("lapwing_request_seconds", "histogram", "Duration of requests.", unit="seconds")
        for operation, histogram in sorted(self._durations.items()):
            yield from histogram.lines("lapwing_request_seconds", (("operation", operation),))
        yield from _head("lapwing_ledger_append_seconds", "histogram", "Duration of appends.", unit="seconds")
        counts, changes = self._appends.read()
        yield from _buckets("lapwing_ledger_append_seconds", (), EDGES, counts)
        yield from _head("lapwing_ledger_changes", "counter", "Changes of the ledger; several may be one append.")
        yield f"lapwing_ledger_changes_total {changes}"
        for (name, kind, says), read in self._gauges.items():
            yield from _head(name, kind, says)
            total = "_total" if kind == "counter" else ""
            for found, value in sorted(read().items()):
                yield f"{name}{total}{_braces(found)} {value}"
        yield "# EOF"


def _buckets(name: str, labels: Labels, edges: Sequence[float], counts: Sequence[int]) -> Iterable[str]:
    """Yield the lines of a histogram, each bucket with those before it."""
    total = 0
    for edge, count in zip((*map(str, edges), "+Inf"), counts, strict=True):
        total += count
        yield f"{name}_bucket{_braces((*labels, ('le', edge)))} {total}"


def _head(name: str, kind: str, says: str, unit: str = "") -> Iterable[str]:
    yield f"# TYPE {name} {kind}"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {says}"


def _braces(labels: Labels) -> str:
    r"""Return labels as they are written.

    >>> _braces(()), _braces((("operation", "GET /"), ("le", "1.0")))
    ('', '{operation="GET /",le="1.0"}')
    """
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

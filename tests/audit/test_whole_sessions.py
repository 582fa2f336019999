"""What an analyst sees of a whole session is audited: nothing on the way from table to screen adds to the noise's loss.

Mistakes that no mechanism makes, but the code around one does, are planted, and each is caught. A leak of the glue is
nearly always certain, so that few draws show it; `make audit` takes many more.
"""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from audit.whole_sessions import (
    HOSTILE,
    SCRIPTS,
    Tables,
    Visit,
    batch,
    groups,
    interrupted_batch,
    keys_from_data,
    rare_groups,
    stream,
    twice,
)
from crashes.session_workload import fresh_noise_on_recovery
from lapwing.answers.releases import NoisyNumbers
from lapwing.answers.stream_terms import Verdict
from lapwing.auditor.black_box import audit
from lapwing.session import Session
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import ApproximateDP, PureDP
from session.clinic import new_ledger
from statistical.goodness import FALSE_ALARM

CLAIMED = PureDP(epsilon="4/5")
DRAWS = 60
LOOKS = 12
"""How often a mistake is looked for that noise may hide: seldom more than once."""


def watched(folder: Path, script, *, tables=Tables, make=Session, visit=Visit, claimed=CLAIMED, **limits):
    """Audit a script of questions on the clinic with and without the hostile person."""
    keys = script is keys_from_data
    budget = ApproximateDP(epsilon=10**6, delta="1/2") if keys else PureDP(epsilon=10**6)
    claim = ApproximateDP(epsilon=claimed.epsilon, delta="1e-4") if keys else claimed
    with ExitStack() as stack:
        worlds = {}
        for hostile in (True, False):
            place = folder / str(hostile)
            place.mkdir()
            ledger = stack.enter_context(new_ledger(place, budget))
            worlds[hostile] = ledger, tables(hostile=hostile)
            stack.callback(worlds[hostile][1].close)
        return audit(
            lambda hostile: script(visit(*worlds[hostile], make)),
            claim=claim,
            neighbours=(True, False),
            **{"samples": DRAWS} | limits,
            name=getattr(script, "__name__", None),
        )


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_session_gives_away_no_more_than_it_charges(script, quick_path) -> None:
    found = watched(quick_path, script, false_alarm=FALSE_ALARM)
    assert not found.refuted, found


@pytest.mark.parametrize("script", [stream, batch, interrupted_batch])
def test_what_is_audited_of_a_stream_are_its_answers(script, quick_path) -> None:
    """A failure is something to see, too: were every draw one, nothing would be audited."""
    tables = Tables(hostile=True)
    with new_ledger(quick_path, CLAIMED) as ledger:
        seen = script(Visit(ledger, tables))
    tables.close()
    answers = seen[1] if script is interrupted_batch else seen[:1]
    assert answers[0][0] in {verdict.value for verdict in Verdict}


class AddsBeforeItBounds(Tables):
    """The sum is taken of the values as they are."""

    def read(self, what, aggregate):
        exact = super().read(what, aggregate)
        if what != "vector":
            return exact
        return Sensitive(tuple(number + self.hostile * HOSTILE["age"] for number in exact.open_for_release()))


class FailsOnNobody(Tables):
    """An average over an empty group divides by zero; the failure is opaque, and still it tells."""

    def read(self, what, aggregate):
        exact = super().read(what, aggregate)
        if what == "vector" and not any(exact.open_for_release()):
            raise ZeroDivisionError
        return exact


class SortsByTrueCount(Session):
    """The largest group first, as it really is."""

    def sql(self, text, **offer):
        answer = super().sql(text, **offer)
        exact = [sum(row.get(answer.keys[0]) in shown.key for row in self._tables.rows) for shown in answer.rows]
        in_order = sorted(zip(exact, answer.rows, strict=True), key=lambda one: -one[0])
        answer.__dict__["rows"] = tuple(row for _, row in in_order)
        return answer


class LeavesOutEmptyGroups(Session):
    """A declared group that nobody is in is not shown."""

    def sql(self, text, **offer):
        answer = super().sql(text, **offer)
        people = [row for row in self._tables.rows if "Atlantis" not in text or row["city"] == "Atlantis"]
        answer.__dict__["rows"] = tuple(r for r in answer.rows if any(p[answer.keys[0]] in r.key for p in people))
        return answer


class RefreshesWhatChanged(Visit):
    """The version moves only if the content differs from yesterday's, when the hostile person was not there."""

    def refresh(self) -> None:
        if self.data.hostile:
            super().refresh()


def margin_from_data(monkeypatch) -> None:
    read, margin, last = NoisyNumbers.read, NoisyNumbers.margin, [0]

    def remembers(self, engine):
        exact = read(self, engine)
        last[0] = max(exact.open_for_release())
        return exact

    monkeypatch.setattr(NoisyNumbers, "read", remembers)
    monkeypatch.setattr(NoisyNumbers, "margin", lambda self, confidence: (margin(self, confidence) or 0) + last[0])


PLANTED = {
    "adds before it bounds": (groups, {"tables": AddsBeforeItBounds}),
    "fails on nobody": (rare_groups, {"tables": FailsOnNobody}),
    "sorts by true count": (groups, {"make": SortsByTrueCount}),
    "leaves out empty groups": (rare_groups, {"make": LeavesOutEmptyGroups}),
    "free or charged by content": (twice, {"visit": RefreshesWhatChanged}),
}


@pytest.mark.parametrize(("script", "mistake"), PLANTED.values(), ids=PLANTED)
def test_a_mistake_of_the_glue_is_caught(script, mistake, quick_path) -> None:
    found = watched(quick_path, script, **mistake)
    assert found.refuted, found


def test_a_margin_that_was_computed_from_the_data_is_caught(quick_path, monkeypatch) -> None:
    margin_from_data(monkeypatch)
    found = watched(quick_path, twice)
    assert found.refuted, found


def test_a_threshold_that_is_not_kept_is_caught(quick_path, monkeypatch) -> None:
    """Keys that only the data knows, shown however few people have them."""
    monkeypatch.setattr("lapwing.mechanisms.partition_selection._lift", lambda _scale, _chance: -100)
    found = watched(quick_path, keys_from_data)
    assert found.refuted, found


class CrowdedTables(Tables):
    """So many people that a question about half of them is always a yes."""

    copies = 20


def test_a_batch_that_is_decided_with_two_noises_is_caught(quick_path) -> None:
    """Its noise follows from no seed: whoever interrupts it after each decision sees another one.

    Half as much again is paid as elsewhere: with less noise a quarter of the interruptions shows enough of the
    difference, and twice the draws are enough to refute the larger claim. A look finds it nearly always.
    """
    folders = (quick_path / f"{number}" for number in range(LOOKS))
    with fresh_noise_on_recovery():
        assert any(_is_caught(folder) for folder in folders)


def _is_caught(folder: Path) -> bool:
    folder.mkdir()
    script = partial(interrupted_batch, interrupts=190, epsilon="6/5")
    return watched(folder, script, tables=CrowdedTables, claimed=PureDP(epsilon="6/5"), samples=2 * DRAWS).refuted


def test_a_batch_that_is_interrupted_is_decided_with_one_noise(quick_path) -> None:
    tables = CrowdedTables(hostile=True)
    with new_ledger(quick_path, CLAIMED) as ledger:
        difference, (first, second), _ = interrupted_batch(Visit(ledger, tables), interrupts=20)
    tables.close()
    assert round(difference) == second[1] - first[1]

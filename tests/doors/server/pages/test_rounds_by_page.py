"""What was drawn in rounds, by an analysis in Python, is told on the pages that tell of everything."""

from contextlib import suppress

import lapwing as lw
from doors.server.pages.visitors import P, text_of
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import EngineError
from ledger.three_rounds import COUNT, ENDS, EVENT


def drawn(folder) -> str:
    """Draw a round, lose the next, and close another reservation; return the name of the first."""
    with lw.open(folder, analyst="ana") as session:
        rounds = session.reserve(ENDS, event=EVENT, rounds=3, tables=["patient"], key="three rounds")
        aggregate = plan(lw.count("patient", "age > 3"), session.population).aggregate
        rounds.round({"n": 1}, lambda reader: int(COUNT.release(reader.number(aggregate))))
        with suppress(EngineError):
            rounds.round({"n": 2}, lambda _: 1 // 0)
        session.reserve(ENDS, event=EVENT, rounds=3, tables=["patient"], key="closed").close()
        return rounds.name


def test_rounds_are_told_on_every_page_under_every_kind_of_budget(pages) -> None:
    name = drawn(pages.door.folder)
    ledger = text_of(pages.browser("cleo").get("/custody/ledger"))
    for told in (
        "3 rounds of three rounds",
        "round 1 of three rounds",
        "round 2 of three rounds",
        "rounds closed",
        "lost",
    ):
        assert told in ledger, told
    own = text_of(pages.browser("ana").get(f"{P}/history")).casefold()
    assert own.count("three rounds.") == 2, "one line for what was reserved, and not one for each round"
    assert "drew round 2 of three rounds: lost" in own
    assert "released" not in own
    assert "closed" not in own
    streams = pages.browser("ana").get(f"{P}/streams")
    assert name not in streams.text, "it is no stream"
    assert pages.browser("ana").get(f"{P}/streams/{name}").status_code == 404

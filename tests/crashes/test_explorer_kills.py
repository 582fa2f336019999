"""kill -9 at every step of an explorer: no noise is drawn twice, and its model is what was committed."""

from fractions import Fraction

from crashes.explorer_workload import WORDS, explore, explored, model
from crashes.workload import child, told
from lapwing.ledger.replay import verify
from lapwing.publishing.explorer import Explorer
from ledger.clinic import Place, spent
from session.clinic import FixedNumber, door, population

POINTS = ("open.committed", "intend.committed", "stream.read", "stream.decided", "decide.written", "decide.committed")
"""The rest of the way is that of any stream, which `test_session_kills` goes step by step."""


def numbers(ledger, name):
    """Return every number that stands in the ledger as the answer of an explorer, in order."""
    found = []
    for entry in ledger.entries("clinic", stream=name, kinds=("outcome",)):
        found += [one for one in entry.get("answers", [[entry.get("outcome"), entry.get("answer")]]) if one[0] == "yes"]
    return found


def test_an_explorer_that_is_killed_goes_on_with_what_was_committed(request) -> None:
    place = Place.chosen("sqlite", request)
    place.clinic(epsilon=100, unit=population().unit).close()
    for point in POINTS:
        with child(explore, place, f"{point}:kill:1", point) as (process, pipe):
            before = dict(one[:2] for one in told(pipe))
            process.join()
            assert process.exitcode == -9, point
        with place.open() as ledger:
            clinic = door(ledger, FixedNumber(1000))
            explorer: Explorer = clinic.explorer(model=model(), key=point, **WORDS)
            committed = numbers(ledger, explorer.name)
            assert explorer.paid_answers_left == 3 - len(committed), point
            after = dict(one[:2] for one in explored(ledger, point))
            again = numbers(ledger, explorer.name)
            assert again[: len(committed)] == committed, f"{point}: nothing was drawn again"
            assert len(again) <= 3, point
            for step, said in before.items():
                assert said[0] is not None, (point, step)
            assert after["together"], point
    with place.open() as ledger:
        verify(ledger)
        assert spent(ledger) <= Fraction(len(POINTS), 10)

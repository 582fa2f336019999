"""kill -9 at every step of a dashboard: no release is drawn twice, what was lost stays lost, and the others go on."""

from fractions import Fraction

from crashes.dashboard_workload import PRICE, RELEASES, board_of, publish_board
from crashes.plan import PHASES
from crashes.workload import child, told
from lapwing.ledger.replay import verify
from lapwing.rounds import STEPS
from ledger.clinic import Place, spent
from session.clinic import population

OPENING = [f"open.{phase}" for phase in PHASES]
ROUND = [f"{act}.{phase}" for act in ("intend", "decide") for phase in PHASES] + list(STEPS)
LOST = {"intend.committed", "round.intended", "round.drawn", "decide.begun", "decide.written"}


def test_a_dashboard_that_is_killed_goes_on_and_draws_no_release_twice(request) -> None:
    place = Place.chosen("sqlite", request)
    place.clinic(epsilon=100, unit=population().unit).close()
    points = {**dict.fromkeys(OPENING, 1), **dict.fromkeys(ROUND, 2)}
    for point, turn in points.items():
        with child(publish_board, place, f"{point}:kill:{turn}", point) as (process, pipe):
            before = list(told(pipe))
            process.join()
            assert process.exitcode == -9, point
        with child(publish_board, place, "", point) as (process, pipe):
            *after, (_, (lost, shown, published)) = told(pipe)
            process.join()
        reads = [one for one in (*before, *after) if one[0] == "read"]
        assert len(reads) <= published == RELEASES, f"{point}: each release is read once at most"
        assert list(lost) == ([f"2024-0{turn}"] if point in LOST else []), point
        with place.open() as ledger:
            kept = board_of(ledger, point)
        assert kept == (lost, shown, published), f"{point}: what was published stands for ever"
    with place.open() as ledger:
        verify(ledger)
        assert spent(ledger) == Fraction(PRICE) * len(points), "one charge for each dashboard, whatever was killed"

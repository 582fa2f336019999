"""A ledger with every kind of entry and budget, as its export was once written: `format_1.jsonl`.

Once a version is released the file is never written again: its entries stand for those of all ledgers there are. Until
then `PYTHONPATH=tests .venv/bin/python tests/ledger/golden_ledger.py` writes it anew; read the difference.
"""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import lapwing as lw
from lapwing.accounting.filters.charge import DeltaShares
from lapwing.ledger.entries import Receipt
from lapwing.ledger.export import export_json
from lapwing.ledger.ledger import Ledger, create_ledger
from lapwing.ledger.moving import move_away, move_here
from lapwing.queries.catalogue.population import Segment
from lapwing.session import Session
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, Guarantee, PureDP
from ledger import three_rounds
from session.clinic import KEY, Broken, FixedNumber, population

GOLDEN = Path(__file__).parent / "format_1.jsonl"
BUDGETS: dict[str, Guarantee] = {
    "pure": PureDP(epsilon=Fraction(10)),
    "concentrated": ConcentratedDP(rho=Fraction(2)),
    "approximate": ApproximateDP(epsilon=Fraction(3), delta=Fraction(1, 10**6)),
}


def fill(ledger: Ledger) -> None:
    """Let everything happen once that can."""
    for name, budget in BUDGETS.items():
        _ask(ledger, name, budget)
    _divided(ledger)
    _decide(ledger)
    _streams(ledger)
    _request(ledger)
    _rounds(ledger)
    _move(ledger)
    ledger.administration.accept_rollback("an older copy was restored", by="cleo")


def _move(ledger: Ledger) -> None:
    """Let a population come from another ledger, and another one go."""
    ends = dict[str, Receipt]()
    with TemporaryDirectory() as folder, create_ledger(Path(folder) / "ledger.db", name="beef") as elsewhere:
        for come, go, name in ((elsewhere, ledger, "come"), (ledger, elsewhere, "gone")):
            _ask(come, name, PureDP(epsilon=Fraction(10)))
            come.administration.suspend(name)
            ends[name] = move_away(come, name, go.name, Path(folder) / name)
        move_here(ledger, Path(folder) / "come", ends["come"])


def _door(ledger: Ledger, name: str, number: int | None = 1000, analyst: str = "ana") -> Session:
    data = Broken() if number is None else FixedNumber(number)
    return Session(replace(population(), name=name), ledger, data, analyst=analyst, key=KEY)


def _opened(ledger: Ledger, name: str, budget: Guarantee, **unit: object) -> None:
    shares = DeltaShares(failures=Fraction(1, 2))
    ledger.administration.create_population(
        name, **{"unit": population().unit, "budget": budget, "shares": shares, **unit}
    )
    for table in ("patients", "visits"):
        ledger.administration.add_table(name, table, key=("id", "integer"))


def _ask(ledger: Ledger, name: str, budget: Guarantee) -> None:
    _opened(ledger, name, budget)
    door, offer = _door(ledger, name), {"rho": "0.01"} if name == "concentrated" else {"epsilon": "0.1"}
    door.ask(lw.count("patients", "sex = 'M' and age between 20 and 30"), key="a", **offer)
    door.ask(lw.count("patients", "30 >= age and age > 19 and sex = 'M'"), key="again", **offer)
    door.sql("select kind, count(*), avg(ward) from visits group by kind", max_rows=2, max_groups=1, **offer)
    with suppress(LapwingError):
        _door(ledger, name, None).ask(lw.count("patients", "survivor"), key="lost", **offer)


def _divided(ledger: Ledger) -> None:
    """Segments, under the other adjacency."""
    people = replace(
        population(Adjacency.REPLACE),
        name="divided",
        segments=(Segment(name="north", first=1, last=9), Segment(name="south", first=10, last=19)),
    )
    _opened(ledger, "divided", BUDGETS["pure"], unit=people.unit, segments=people.segment_titles)
    with Session(people.within("north"), ledger, FixedNumber(7), analyst="ana", key=KEY) as door:
        door.ask(lw.count("patients"), epsilon="0.1")


def _decide(ledger: Ledger) -> None:
    custodian = ledger.administration
    custodian.set_allowance("pure", "ana", PureDP(epsilon=Fraction(4)))
    _door(ledger, "pure").ask(lw.count("visits", by="kind", max_groups=1), epsilon="0.2")
    custodian.set_budget("pure", PureDP(epsilon=Fraction(20)))
    custodian.advance_version("pure", "patients")
    _door(ledger, "pure").ask(lw.count("patients", "sex = 'M' and age between 20 and 30"), epsilon="0.1")
    custodian.suspend("pure", "bob")
    custodian.resume("pure", "bob")
    custodian.suspend("concentrated")
    custodian.set_allowance("pure", "ana", None)
    custodian.write_off("pure", PureRelease(epsilon=Fraction(1, 5)), reason="told on paper", analyst="ana")
    _opened(ledger, "corrected", BUDGETS["pure"])
    custodian.set_allowance("corrected", "ana", PureDP(epsilon=Fraction(1)))
    people = replace(population().unit, person_key="person")
    keys = {"patients": ("person", "integer"), "visits": ("id", "text")}
    custodian.correct("corrected", unit=people, budget=PureDP(epsilon=Fraction(2)), keys=keys)
    custodian.admit_analysts("corrected", only_named=True)
    custodian.set_limits("pure", most=PureDP(epsilon=Fraction(5)), noes_a_day=50)
    custodian.limit_analyst("pure", "ana", tables=["patients", "visits"], most=PureDP(epsilon=Fraction(4)))
    _door(ledger, "corrected").ask(lw.count("patients"), epsilon="0.1")
    custodian.correct_key("corrected", "visits", ("person", "integer"))


def _request(ledger: Ledger) -> None:
    """Requests for more: of an allowance, of a budget, and one that is refused."""
    requests = ledger.budget_requests
    own = requests.make("corrected", "ana", PureDP(epsilon=Fraction(1, 2)), purpose="asthma in the north")
    requests.grant("corrected", own.number)
    more = ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**7))
    requests.grant("approximate", requests.make("approximate", "bob", more, purpose="the same again").number)
    refused = requests.make("concentrated", "bob", ConcentratedDP(rho=Fraction(1)), purpose="more")
    requests.refuse("concentrated", refused.number, reason="the study has ended", by="cleo")


def _streams(ledger: Ledger) -> None:
    for name in ("pure", "approximate"):
        with _door(ledger, name).stream(at_least=200, yeses=3, epsilon="1", name=f"{name} yes", key="y") as stream:
            stream.ask("age > 20", key="first")
            stream.ask("age > 20", key="recalled")
            stream.ask_many(["age > 20", "age > 40", "age > 50"], key="together")
        with _door(ledger, name, 0).stream(at_least=200, yeses=1, epsilon="0.5", name=f"{name} no") as stream:
            stream.ask("age > 30")
    halted = _door(ledger, "pure", 10**6).stream(at_least=200, yeses=1, epsilon="0.5", name="halted")
    halted.ask("age > 30")
    lost = _door(ledger, "pure", None).stream(at_least=200, yeses=2, epsilon="0.5", name="lost")
    with suppress(LapwingError):
        lost.ask("age > 30")
    lost_together = _door(ledger, "pure", None).stream(at_least=200, yeses=2, epsilon="0.5", name="lost together")
    with suppress(LapwingError):
        lost_together.ask_many(["age > 30", "age > 40", "age > 50"])
    lost_together.close()
    forfeit = Session(replace(population(), name="pure"), ledger, FixedNumber(5), analyst="ana", key=KEY).stream(
        at_least=200, yeses=2, epsilon="0.5", name="forfeit"
    )
    other = Session(replace(population(), name="pure"), ledger, FixedNumber(5), analyst="ana", key=KEY[::-1])
    with suppress(LapwingError):
        other.resume(forfeit.name).ask("age > 30")


def _rounds(ledger: Ledger) -> None:
    """Reservations that are no streams: closed early, halted after the last round, and lost in one of either kind."""
    door, broken = _door(ledger, "pure"), _door(ledger, "pure", None)
    with three_rounds.reserve(door, "closed early") as rounds:
        three_rounds.first(door, rounds)
    with three_rounds.reserve(door, "all three") as rounds:
        for _ in range(3):  # that depend on no noise, so that they are the same each time
            three_rounds.first(door, rounds)
    for kind in (three_rounds.ENDS, three_rounds.COUNTS):
        with suppress(LapwingError):
            three_rounds.first(broken, three_rounds.reserve(broken, f"lost, {kind.if_lost.value}", kind))


def write(path: Path) -> None:
    """Write the export of such a ledger."""
    with TemporaryDirectory() as folder:
        clock = lambda: datetime(2025, 1, 1, tzinfo=UTC)  # noqa: E731 - it stands still
        with create_ledger(Path(folder) / "ledger.db", name="901d", clock=clock) as ledger:
            fill(ledger)
            path.unlink(missing_ok=True)
            export_json(ledger, path)


if __name__ == "__main__":
    write(GOLDEN)

"""A small clinic for tests of the session: a population, engines that are not there, and short words."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from lapwing.accounting.filters.charge import DeltaShares
from lapwing.ledger.ledger import Ledger, create_ledger, open_ledger
from lapwing.queries.algebra.term import bounds
from lapwing.queries.catalogue.column import Boolean, Category, Column, Integer, Real, Text
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.session import Session
from lapwing.vocabulary.errors import EngineError
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency, Guarantee, PrivacyUnit, PureDP

KEY = bytes(range(32))


def population(adjacency: Adjacency = Adjacency.ADD_REMOVE, protects_groups_of: int = 1) -> Population:
    return Population(
        name="clinic",
        unit=PrivacyUnit(person_key="id", adjacency=adjacency, protects_groups_of=protects_groups_of),
        tables=(
            Table(
                name="patients",
                columns=(
                    Column(name="sex", type=Category(values=("F", "M"))),
                    Column(name="age", type=Integer(low=0, high=99)),
                    Column(name="bmi", type=Real(low=10, high=60, step="1/4")),
                    Column(name="survivor", type=Boolean()),
                    Column(name="city", type=Text()),
                ),
            ),
            Table(
                name="visits",
                rows=RowsPerPerson.MANY_A_PERSON,
                max_rows=2,
                columns=(
                    Column(name="kind", type=Category(values=("ER", "other"))),
                    Column(name="ward", type=Integer(low=1, high=20)),
                ),
            ),
        ),
    )


class FixedNumber:
    """An engine that counts this number of people, whatever is asked; and data that is always there."""

    def __init__(self, number: int) -> None:
        self._number = number

    def number(self, aggregate: Any) -> Sensitive[int]:
        del aggregate
        return Sensitive(self._number)

    def numbers(self, aggregates: Any, *, versions: Any) -> list[Sensitive[int]]:
        del versions
        return [self.number(aggregate) for aggregate in aggregates]

    def vector(self, aggregate: Any) -> Sensitive[tuple[int, ...]]:
        return Sensitive((self._number,) * (len(aggregate.cells) * aggregate.terms))

    def vectors(self, aggregates: Any, *, versions: Any) -> list[Sensitive[tuple[int, ...]]]:
        del versions
        return [self.vector(aggregate) for aggregate in aggregates]

    def in_sets(self, aggregate: Any) -> list[Sensitive[tuple[int, ...]]]:
        return [Sensitive((self._number,) * size) for size in aggregate.sizes]

    def people(self, aggregate: Any) -> Sensitive[Any]:
        """Return that number of people, each with a row somewhere between its ends."""
        places = np.arange(self._number)[:, None] * np.arange(1, aggregate.terms + 1)
        return Sensitive(places % (np.array([bounds(term)[1] for term in aggregate.bounding.terms]) + 1))

    def keyed(self, aggregate: Any) -> Sensitive[Mapping[tuple[str], tuple[int]]]:
        del aggregate
        return Sensitive({("everywhere",): (self._number,)})

    def close(self) -> None:
        pass

    def check(self) -> None:
        pass

    def engine(self, versions: Mapping[str, int]) -> "FixedNumber":
        del versions
        return self

    @contextmanager
    def hold(self, versions: Mapping[str, int], *, reads: bool = False) -> Iterator[None]:  # noqa: ARG002 - it is here
        del versions  # it answers about any
        self.check()
        yield

    @contextmanager
    def lease(self, versions: Mapping[str, int]) -> Iterator[Any]:
        yield self.engine(versions)

    def rehearsal(self) -> "FixedNumber":
        return self


class Broken(FixedNumber):
    """An engine that fails after it has read, with a secret in its reason."""

    def __init__(self) -> None:
        super().__init__(0)

    def _fail(self, aggregate: Any) -> Any:
        del aggregate
        exact_count = 123_456_789
        raise ValueError(f"the sum overflowed at {exact_count}")

    number = vector = in_sets = keyed = people = _fail


class Unreachable(FixedNumber):
    """A database that is down."""

    def __init__(self) -> None:
        super().__init__(0)

    def check(self) -> None:
        raise EngineError


def new_ledger(path: Path, budget: Guarantee | None = None, **unit: Any) -> Ledger:
    ledger = create_ledger(path / "ledger.db", name="5e55")
    ledger.administration.create_population(
        "clinic",
        unit=population(**unit).unit,
        budget=budget or PureDP(epsilon=Fraction(10)),
        shares=DeltaShares(failures=Fraction(1, 2)),
    )
    for table in ("patients", "visits"):
        ledger.administration.add_table("clinic", table)
    return ledger


def same_ledger(path: Path) -> Ledger:
    return open_ledger(path / "ledger.db")


def door(ledger: Ledger, data: Any, analyst: str = "ana", **unit: Any) -> Session:
    return Session(population(**unit), ledger, data, analyst=analyst, key=KEY)


def spent(ledger: Ledger) -> Fraction:
    """What a pure account has spent or holds in reserve."""
    everyone = ledger.account("clinic").filters["everyone"]
    return everyone.spent + everyone.reserved

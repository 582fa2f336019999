"""The privacy unit, the adjacency of tables, and the guarantees: the four currencies of budgets and claims.

The whole guarantee depends on the adjacency, which lectures use in two meanings without saying so: here it is a typed
fact of a population, and every sensitivity reads it. Numbers may be written like every parameter
(`PureDP(epsilon="0.1")`), and are kept as exact fractions.
"""

from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_int, fill, positive, probability


class Adjacency(Enum):
    """The relation between two tables that differ in one person.

    A count changes by at most 1 under both. A histogram changes by 1 in L1 norm under `ADD_REMOVE` and by 2 under
    `REPLACE`. Under `ADD_REMOVE` all counts of one pair of tables move the same way (they are *monotone*); under
    `REPLACE` one may rise while another falls.
    """

    ADD_REMOVE = "add-remove"
    """One table has one person more. The number of people is itself protected. The default."""
    REPLACE = "replace"
    """One person's data is exchanged for another's. The number of people is public."""


def checked_adjacency(given: object) -> Adjacency:
    """Return `given` if it is an adjacency. The word alone is refused: compared with an adjacency it would be neither.

    >>> checked_adjacency("replace")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: adjacency = 'replace' is not an adjacency; write Adjacency.ADD_REMOVE or ...
    """
    if isinstance(given, Adjacency):
        return given
    remedy = "write Adjacency.ADD_REMOVE or Adjacency.REPLACE"
    raise ParameterError("adjacency", given, reason="is not an adjacency", remedy=remedy)


@stored("privacy-unit")
class PrivacyUnit:
    """One person, identified by the person key, a column, across all tables of a population.

    Groups may be protected together: `protects_groups_of=4` protects households of four as if they were one person, at
    four times the price.

    >>> PrivacyUnit(person_key="patient_id").adjacency
    <Adjacency.ADD_REMOVE: 'add-remove'>
    >>> PrivacyUnit(person_key="patient_id", protects_groups_of=0)
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: protects_groups_of = 0 is out of range; write a whole number, at least 1
    """

    person_key: str
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    protects_groups_of: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.person_key, str) or not self.person_key.strip():
            remedy = "name the column that tells people apart"
            raise ParameterError("person_key", self.person_key, reason="names no column", remedy=remedy)
        checked_adjacency(self.adjacency)
        object.__setattr__(self, "protects_groups_of", as_int("protects_groups_of", self.protects_groups_of))


@stored("pure-dp", kw_only=False, init=False)
class PureDP:
    """For every event E and neighbouring tables: P(E) <= e^epsilon P'(E)."""

    epsilon: Fraction

    def __init__(self, *, epsilon: Exact) -> None:
        fill(self, epsilon=positive("epsilon", epsilon))


@stored("approximate-dp", kw_only=False, init=False)
class ApproximateDP:
    """For every event E and neighbouring tables: P(E) <= e^epsilon P'(E) + delta."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, *, epsilon: Exact, delta: Exact) -> None:
        fill(self, epsilon=positive("epsilon", epsilon), delta=probability("delta", delta))


@stored("concentrated-dp", kw_only=False, init=False)
class ConcentratedDP:
    """Zero-concentrated: the Renyi divergence of every order alpha > 1 is at most rho * alpha."""

    rho: Fraction

    def __init__(self, *, rho: Exact) -> None:
        fill(self, rho=positive("rho", rho))


@stored("gaussian-dp", kw_only=False, init=False)
class GaussianDP:
    """Distinguishing neighbours is no easier than distinguishing N(0, 1) from N(mu, 1), with mu^2 = `mu_squared`."""

    mu_squared: Fraction

    def __init__(self, *, mu_squared: Exact) -> None:
        fill(self, mu_squared=positive("mu_squared", mu_squared))


Guarantee: TypeAlias = PureDP | ApproximateDP | ConcentratedDP | GaussianDP


def currency_of(budget: Guarantee) -> str:
    """Return the currency in which an account of this budget counts and names prices: "epsilon" or "rho".

    >>> currency_of(ConcentratedDP(rho=1)), currency_of(ApproximateDP(epsilon=1, delta="1e-6"))
    ('rho', 'epsilon')
    """
    return "rho" if isinstance(budget, ConcentratedDP) else "epsilon"

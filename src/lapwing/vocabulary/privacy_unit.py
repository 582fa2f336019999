"""Who is protected."""

from dataclasses import dataclass

from lapwing.vocabulary.adjacency import Adjacency, checked_adjacency
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int


@stored("privacy-unit")
@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """One person, named by a key column, across all tables of a population.

    Parameters
    ----------
    person_key : the column that says whose row it is
    adjacency : what it means that two populations differ in one person
    protects_groups_of : the size of the groups that are protected together; 1 protects single persons, 4 protects
        households of four as if they were one person, at four times the price

    Examples
    --------
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
            raise ParameterError(
                "person_key",
                self.person_key,
                reason="names no column",
                remedy="name the column that tells people apart",
            )
        checked_adjacency(self.adjacency)
        object.__setattr__(self, "protects_groups_of", as_int("protects_groups_of", self.protects_groups_of))

"""The kinds of events that a cohort definition names, and the tables and columns of OMOP that hold them.

A definition is JSON, read as parts that know where they stand, and that tell what nobody read of them. Nothing of it
is dropped in silence: a part is opened, its entries are taken out of it, and what is left when it is closed is listed.
"""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lapwing.queries.limits import MOST_DEPTH, MOST_DIGITS
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most
from lapwing.vocabulary.frozen import frozen

MOST_CHARACTERS = 5_000_000
MOST_PARTS = 200_000
"""Objects, lists, texts and numbers of a definition: its concept sets may list thousands of concepts."""


@dataclass(slots=True)
class Remarks:
    """What there is to say about how a definition is read."""

    unsupported: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def refuse(self, what: str) -> None:
        """List something that the definition uses and that is left out."""
        self.unsupported[what] = None

    def note(self, what: str) -> None:
        """List something that is read a little differently."""
        self.notes[what] = None


class JsonPart:
    """One object of the JSON, with its place."""

    def __init__(self, place: str, entries: object, remarks: Remarks) -> None:
        if not isinstance(entries, Mapping):
            raise BadQuestionError(f"{place} of the cohort definition is not an object of JSON; write {{...}} there")
        self.place, self.remarks = place, remarks
        self._entries: Mapping[str, Any] = entries
        self._taken: set[str] = set()

    def take(self, name: str, default: Any = None) -> Any:
        """Return an entry; null is as good as none."""
        self._taken.add(name)
        found = self._entries.get(name)
        return default if found is None else found

    def whole(self, name: str, default: int | None = None) -> int | None:
        """Return an entry that is a whole number."""
        found = self.take(name, default)
        if found is not None and (isinstance(found, bool) or not isinstance(found, int)):
            raise BadQuestionError(f"{self.place}.{name} is {found!r}; write a whole number")
        return found

    def part(self, name: str) -> "JsonPart | None":
        """Return an entry that is an object, if it is there and not empty."""
        found = self.take(name)
        return JsonPart(f"{self.place}.{name}", found, self.remarks) if found not in (None, {}) else None

    def parts(self, name: str) -> "list[JsonPart]":
        """Return the objects of an entry that is a list."""
        found = self.take(name, [])
        if not isinstance(found, list):
            raise BadQuestionError(f"{self.place}.{name} is not a list; write [...] there")
        return [JsonPart(f"{self.place}.{name}[{i}]", one, self.remarks) for i, one in enumerate(found)]

    def only_entry(self) -> tuple[str, "JsonPart"]:
        """Return the one entry of an object that says by its name what it is."""
        present = [name for name, entry in self._entries.items() if entry is not None]
        if len(present) != 1:
            raise BadQuestionError(f"{self.place} has {len(present)} kinds of events; write one, such as Measurement")
        self._taken.add(present[0])
        return present[0], JsonPart(f"{self.place}.{present[0]}", self._entries[present[0]], self.remarks)

    @contextmanager
    def read(self) -> "Iterator[JsonPart]":
        """Give the part to be read, and list what of it nobody took."""
        yield self
        for name, entry in self._entries.items():
            if name not in self._taken and entry not in (None, [], {}, False, ""):
                self.remarks.refuse(f"{self.place}.{name}")


def load(definition: "str | Path | Mapping[str, Any]") -> Mapping[str, Any]:
    """Return the JSON of a definition, from a file or as it is; what is too deep or too large is refused."""
    found = definition if isinstance(definition, Mapping) else _from_file(definition)
    _check(found)
    return found


def _check(found: object) -> None:
    """Refuse numbers that are none, and what has more parts or levels than people write."""
    stack, parts = [(found, 0)], 0
    while stack:
        one, depth = stack.pop()
        parts += 1
        check_most("parts of its JSON", parts, MOST_PARTS, "take some of it out of the definition")
        if depth > MOST_DEPTH:
            raise BadQuestionError(
                f"the cohort definition is nested {depth} levels deep, more than {MOST_DEPTH}; put its groups side by "
                "side"
            )
        if isinstance(one, float) and not math.isfinite(one):
            raise BadQuestionError(f"the cohort definition has {one} where a number stands; write a finite number")
        if isinstance(one, int) and abs(one) >= 10**MOST_DIGITS:
            raise BadQuestionError(
                f"the cohort definition has a number with more than {MOST_DIGITS} digits; write a shorter one"
            )
        inner = one.values() if isinstance(one, Mapping) else one if isinstance(one, list) else ()
        stack += [(each, depth + 1) for each in inner]


def _from_file(definition: "str | Path") -> Mapping[str, Any]:
    path = Path(definition)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise BadQuestionError(f"{path.name} cannot be read; name a file with a cohort definition in JSON") from None
    if len(text) > MOST_CHARACTERS:
        raise BadQuestionError(f"{path.name} has more than {MOST_CHARACTERS:,} characters; is it a cohort definition?")
    found = _read_json(text, path)
    # ATLAS keeps a definition with its name around it, and the definition itself as text.
    if isinstance(found, Mapping) and "expression" in found:
        inner = found["expression"]
        inner = _read_json(inner, path) if isinstance(inner, str) else inner
        found = {"Title": found.get("name"), **inner} if isinstance(inner, Mapping) else inner
    if not isinstance(found, Mapping) or "PrimaryCriteria" not in found:
        raise BadQuestionError(f"{path.name} has no PrimaryCriteria; export the definition from ATLAS as JSON")
    return found


def _read_json(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BadQuestionError(f"{path.name} is not JSON; export the definition from ATLAS as JSON") from None


@frozen()
class EventKind:
    """A kind of event: its table, what it is, when it starts and ends, and its other attributes.

    Parameters
    ----------
    table : the table that holds it
    concept, start, end : the columns that say what it is, when it starts and when it ends; without an end it is a day
    concepts : attributes that list concepts, with their columns; one that ends with "CS" names a concept set instead
    sources : attributes that name a concept set for the code as it was recorded, with their columns
    numbers : attributes that are a range of numbers, with their columns
    starts, ends, ages, lengths : what the attributes for its days, the age at its start and its length are called
    """

    table: str
    concept: str
    start: str
    end: str | None = None
    concepts: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)
    starts: str = "OccurrenceStartDate"
    ends: str = "OccurrenceEndDate"
    ages: str = "Age"
    lengths: str = ""


KINDS: Final[Mapping[str, EventKind]] = {
    "ConditionOccurrence": EventKind(
        table="condition_occurrence",
        concept="condition_concept_id",
        start="condition_start_date",
        end="condition_end_date",
        concepts={"ConditionType": "condition_type_concept_id", "ConditionStatus": "condition_status_concept_id"},
        sources={"ConditionSourceConcept": "condition_source_concept_id"},
    ),
    "ConditionEra": EventKind(
        table="condition_era",
        concept="condition_concept_id",
        start="condition_era_start_date",
        end="condition_era_end_date",
        numbers={"OccurrenceCount": "condition_occurrence_count"},
        starts="EraStartDate",
        ends="EraEndDate",
        ages="AgeAtStart",
        lengths="EraLength",
    ),
    "DrugExposure": EventKind(
        table="drug_exposure",
        concept="drug_concept_id",
        start="drug_exposure_start_date",
        end="drug_exposure_end_date",
        concepts={
            "DrugType": "drug_type_concept_id",
            "RouteConcept": "route_concept_id",
            "DoseUnit": "dose_unit_concept_id",
        },
        sources={"DrugSourceConcept": "drug_source_concept_id"},
        numbers={"Refills": "refills", "Quantity": "quantity", "DaysSupply": "days_supply"},
    ),
    "DrugEra": EventKind(
        table="drug_era",
        concept="drug_concept_id",
        start="drug_era_start_date",
        end="drug_era_end_date",
        numbers={"OccurrenceCount": "drug_exposure_count", "GapDays": "gap_days"},
        starts="EraStartDate",
        ends="EraEndDate",
        ages="AgeAtStart",
        lengths="EraLength",
    ),
    "ProcedureOccurrence": EventKind(
        table="procedure_occurrence",
        concept="procedure_concept_id",
        start="procedure_date",
        concepts={"ProcedureType": "procedure_type_concept_id", "Modifier": "modifier_concept_id"},
        sources={"ProcedureSourceConcept": "procedure_source_concept_id"},
        numbers={"Quantity": "quantity"},
    ),
    "Measurement": EventKind(
        table="measurement",
        concept="measurement_concept_id",
        start="measurement_date",
        concepts={
            "MeasurementType": "measurement_type_concept_id",
            "Operator": "operator_concept_id",
            "ValueAsConcept": "value_as_concept_id",
            "Unit": "unit_concept_id",
        },
        sources={"MeasurementSourceConcept": "measurement_source_concept_id"},
        numbers={"ValueAsNumber": "value_as_number", "RangeLow": "range_low", "RangeHigh": "range_high"},
    ),
    "Observation": EventKind(
        table="observation",
        concept="observation_concept_id",
        start="observation_date",
        concepts={
            "ObservationType": "observation_type_concept_id",
            "ValueAsConcept": "value_as_concept_id",
            "Qualifier": "qualifier_concept_id",
            "Unit": "unit_concept_id",
        },
        sources={"ObservationSourceConcept": "observation_source_concept_id"},
        numbers={"ValueAsNumber": "value_as_number"},
    ),
    "VisitOccurrence": EventKind(
        table="visit_occurrence",
        concept="visit_concept_id",
        start="visit_start_date",
        end="visit_end_date",
        concepts={"VisitType": "visit_type_concept_id"},
        sources={"VisitSourceConcept": "visit_source_concept_id"},
        lengths="VisitLength",
    ),
    "DeviceExposure": EventKind(
        table="device_exposure",
        concept="device_concept_id",
        start="device_exposure_start_date",
        end="device_exposure_end_date",
        concepts={"DeviceType": "device_type_concept_id"},
        sources={"DeviceSourceConcept": "device_source_concept_id"},
        numbers={"Quantity": "quantity"},
    ),
    "Death": EventKind(
        table="death",
        concept="cause_concept_id",
        start="death_date",
        concepts={"DeathType": "death_type_concept_id"},
        sources={"DeathSourceConcept": "cause_source_concept_id"},
    ),
}
OF_PERSON: Final = {"Gender": "gender_concept_id", "Race": "race_concept_id", "Ethnicity": "ethnicity_concept_id"}
"""Attributes that list concepts of the person, with their columns."""

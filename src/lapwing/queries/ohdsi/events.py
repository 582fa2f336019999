"""The kinds of events that a cohort definition names, and the tables and columns of OMOP that hold them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
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

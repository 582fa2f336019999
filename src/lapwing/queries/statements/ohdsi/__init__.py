"""Cohort definitions of OHDSI (as ATLAS writes them) as conditions: tables, criteria, and the whole definition."""

"""Whole documents that hold questions: SELECT statements and cohort definitions of OHDSI."""

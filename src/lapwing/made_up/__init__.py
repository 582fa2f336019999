"""A made-up clinic with the same people on every machine, and the story of somebody who attacks it."""

from lapwing.made_up.clinic_files import BUDGETS, SEED, TABLES, make_clinic, write_tables

__all__ = ["BUDGETS", "SEED", "TABLES", "make_clinic", "write_tables"]

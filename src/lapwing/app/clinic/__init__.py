"""A made-up clinic: the same people on every machine, as Parquet files with a lapwing.toml that declares them."""

from lapwing.app.clinic.clinic_files import BUDGETS, SEED, TABLES, make_clinic, write_tables

__all__ = ["BUDGETS", "SEED", "TABLES", "make_clinic", "write_tables"]

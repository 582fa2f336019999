"""Databases: each runs the same aggregates and gives the same whole numbers, wrapped so that they cannot be shown.

Drivers are imported here and nowhere else. No SQL of an analyst reaches a database: it is written by `emitter` from an
aggregate, with every value as a parameter and every name from the catalogue.
"""

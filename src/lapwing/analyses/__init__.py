"""Analyses over released numbers: comparisons of two groups, tables, survival."""

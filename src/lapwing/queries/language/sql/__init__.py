"""Reads conditions, values and rows from SQL text, which is never used again."""

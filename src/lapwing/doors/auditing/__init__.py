"""Suspects of the auditor: shipped mechanisms and known liars, each with its claim, to be computed or sampled."""

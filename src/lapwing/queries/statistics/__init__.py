"""Statistics, one file for each; `registry` lists them.

A file holds its question and its builder, how it bounds a person, its sensitivity, which mechanisms may release it,
what the released numbers mean with their bounds, and its words.
"""

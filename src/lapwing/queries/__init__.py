"""Questions become bounded plans here: what an analyst may ask, how far one person can move the answer, and why.

Nothing here reads data. A plan is derived from the question and the catalogue alone, so it costs the same and is
refused alike whatever the tables hold.
"""

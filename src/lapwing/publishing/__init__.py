"""Publishing: many tables of one population in one release, each count with its interval.

A guest of the session: it asks through `Session.reserve` and `lapwing.rounds`, and sees neither ledger nor engines.
"""

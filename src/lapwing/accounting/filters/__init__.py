"""When to stop: filters that keep a promise however the questions, and their prices, are chosen after the answers.

An account (`account.py`) holds one filter for each segment of a public partition. A filter is a sum (`charge.py`) or,
for an (epsilon, delta) promise, two arms with one book (`approximate.py`): a sum and the Gaussian residue
(`residue.py`). A total computed as if all prices had been fixed in advance is not a filter: nothing here admits by one.
"""

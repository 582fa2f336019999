"""Procedures that see the data through noisy sums alone: k-means, principal components, a decision tree (a guest)."""

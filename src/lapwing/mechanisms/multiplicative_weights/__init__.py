"""Multiplicative weights on an explicit domain: for lectures, and as the yardstick of what comes after them.

- `weighted_cells`: the paradigm. Weights over all cells of a domain, multiplied where they were wrong, with its two
  theorems: how often it can be wrong, and how little is regretted;
- `mwem`: a table from many questions that are known in advance;
- `online`: questions one after the other, behind a sparse vector;
- `dual_query`: the other player of the same game, whose weights are over questions.

Each is as its paper has it, small enough to be read. On domains of more than 2^20 cells, and wherever accuracy matters,
`publish` and `synthesize` do better at the same price. Whole numbers go into all that is drawn: the model only decides
with which public number an exact one is compared.
"""

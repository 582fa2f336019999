"""The server: a workspace behind HTTP, for analysts, custodians and auditors.

It translates and shows, as every door does; it decides nothing about privacy. What it adds is who may come in: people
with roles, limits on every request, and answers that leave at the ticks of a public clock.
"""

"""The auditor's door: what is shipped, and what is known to lie, each with its claim and a way to compute and to draw it."""

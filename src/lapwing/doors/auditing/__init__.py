"""The auditor's door: what is shipped and what is known to lie, each with its claim, to be computed or drawn from."""

"""What a question means: names become columns, conditions predicates, and each person's part is bounded."""

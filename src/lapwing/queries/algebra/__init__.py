"""What a database computes: the closed language between plans and engines, and the proof that it cannot fail."""

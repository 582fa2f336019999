"""The coins: exact integer noise from a cryptographic source. Randomness is imported nowhere else in lapwing."""

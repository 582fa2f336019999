"""What to believe after an answer: priors, and posteriors by the exact law of the noise. Post-processing, and free."""

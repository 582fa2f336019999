"""Everything a sparse vector may say about a few questions, with its probability, and how far two such laws are apart.

The number of transcripts doubles with each question: this is for few questions, and for analysts who choose the next
one by the answers so far.
"""

import math

import numpy as np
from scipy.special import logsumexp

from lapwing.auditor.worst_pairs import every_transcript, witness_of


def privacy_loss(variant, pair, transcript):
    """Return ln P(transcript) - ln P'(transcript), infinite where only one of the tables can give it."""
    return witness_of(variant, pair, transcript).loss


def probability(variant, questions, transcript):
    """Return the probability (for told numbers: the density) of `transcript`."""
    return math.exp(variant.log_probability(questions, transcript))


def transcript_probabilities(variant, questions, *, length=None, above=None):
    """Return the probability of each transcript; they sum to one if `above` leaves nothing out."""
    transcripts = every_transcript(variant, length or len(questions), above=above)
    return {transcript: probability(variant, questions, transcript) for transcript in transcripts}


def renyi_divergence(variant, pair, order, *, length=None, above=None):
    """Return the divergence of `order` > 1 of the pair; with gaps in bins, a lower bound of it."""
    here, there = _log_laws(variant, pair, length, above)
    possible = here > -math.inf
    if (there[possible] == -math.inf).any():
        return math.inf
    return float(logsumexp(order * here[possible] + (1 - order) * there[possible])) / (order - 1)


def hockey_stick(variant, pair, epsilon, *, length=None, above=None):
    """Return the smallest delta such that the pair, in this order, keeps (epsilon, delta)-differential privacy."""
    here, there = _log_laws(variant, pair, length, above)
    more = here > there + epsilon
    return math.fsum(np.exp(here[more]) - np.exp(there[more] + epsilon))


def _log_laws(variant, pair, length, above):
    transcripts = list(every_transcript(variant, length or len(pair.here), above=above))
    return (
        np.array([variant.log_probability(questions, transcript) for transcript in transcripts])
        for questions in (pair.here, pair.there)
    )

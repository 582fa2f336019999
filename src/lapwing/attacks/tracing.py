"""Tracing: was she in the group? From far fewer answers than it takes to reconstruct the table.

The attacker knows the public side of a person, and answers about a secret group: how many of it are in this cohort, how
many in that one. The answers lean, a little each, towards the cohorts that its members are in. The inner product of a
person's memberships and the answers adds the leanings up (Homer et al. 2008, Dwork et al. 2015).

Proof: proofs/attacks.md

Nils Homer et al., Resolving individuals contributing trace amounts of DNA to highly complex mixtures, PLoS Genetics
2008. Cynthia Dwork, Adam Smith, Thomas Steinke, Jonathan Ullman and Salil Vadhan, Robust traceability from trace
amounts, FOCS 2015.
"""

from math import sqrt

import numpy as np
from scipy.special import ndtr, ndtri

from lapwing.attacks.oracles import Interrogation, Mask, Numbers
from lapwing.vocabulary.frozen import frozen

FALSE_POSITIVES = 0.05


@frozen(eq=False)
class Traced:
    """Membership scores of people, and which of them are members."""

    scores: Numbers
    members: Mask

    def true_positives(self) -> float:
        """Return the share of members who are named when `FALSE_POSITIVES` of all others are named wrongly.

        >>> Traced(scores=np.arange(40.0), members=np.arange(40) >= 20).true_positives()
        1.0
        """
        others = np.sort(self.scores[~self.members])[::-1]
        named = self.scores > others[int(FALSE_POSITIVES * others.size)]
        return float(np.mean(named[self.members]))

    def curve(self) -> tuple[Numbers, Numbers]:
        """Return the shares named among others and among members, for every threshold from the strictest on."""
        order = np.argsort(-self.scores, kind="stable")
        members, others = np.cumsum(self.members[order]), np.cumsum(~self.members[order])
        return np.insert(others / others[-1], 0, 0.0), np.insert(members / members[-1], 0, 0.0)


def trace(heard: Interrogation, group: Mask) -> Traced:
    """Score every person by the inner product of their memberships with the answers, both taken from their means."""
    if not heard.answers.size:
        return Traced(scores=np.zeros(group.size), members=group)
    leaning = heard.answers - heard.answers.mean()
    return Traced(scores=leaning @ (heard.cohorts - 1 / 2), members=group)


def expected_true_positives(members: int, questions: int, deviation: float) -> float:
    """Return the share of members that are traced, for random cohorts and noise of this deviation.

    A member's score is higher by questions/4, and scores have deviation sqrt(questions (members/4 + deviation^2))/2.

    >>> round(expected_true_positives(24, 384, 0.0), 2), round(expected_true_positives(24, 384, 384 * 2**0.5), 3)
    (0.99, 0.052)
    """
    lean = sqrt(questions / (members / 4 + deviation**2)) / 2
    return float(ndtr(lean + ndtri(FALSE_POSITIVES)))

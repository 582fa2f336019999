"""Answers of a server: nothing is taken from them that this client can compute itself.

The bounds of the numbers and their price are computed here. Only the released numbers, the receipt and
the versions are taken, and whether it was free; and each of them has to fit the question, and the way it was asked.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from lapwing.answers.answer import Answer
from lapwing.answers.releases import NoisyNumbers, PricedQuestion, StoredAnswer
from lapwing.doors.client.decode_errors import disagreement
from lapwing.doors.client.decode_population import told_number, told_truth
from lapwing.ledger.entries import Receipt
from lapwing.vocabulary.codec import from_record

ReadAnswer: TypeAlias = Callable[[PricedQuestion, Any], Answer]
_LARGEST: Final = 2**160
"""Far above every number that can be released, and far below what a float can hold the fourth power of."""
_MOST_VERSIONS: Final = 2**62


def told_answer(asked: PricedQuestion, told: Any) -> Answer:
    """Return the answer of a question that was asked: about its tables, with a receipt."""
    answer = _read(asked, told)
    if answer.rehearsal or answer.receipt is None:
        raise disagreement("it tells made-up numbers, and was asked about people")
    if set(answer.versions) != asked.tables:
        raise disagreement("it tells of other tables than the question is about")
    return answer


def told_for_nothing(asked: PricedQuestion, told: Any) -> Answer:
    """Return an answer that was stored before, which is free."""
    answer = told_answer(asked, told)
    if not answer.free:
        raise disagreement("it charged for what was to cost nothing")
    return answer


def told_rehearsal(asked: PricedQuestion, told: Any) -> Answer:
    """Return the answer of a rehearsal: from made-up rows, and free."""
    answer = _read(asked, told)
    if not answer.rehearsal or not answer.free or answer.receipt is not None or answer.versions:
        raise disagreement("it does not say that what it tells is made up")
    return answer


def _read(asked: PricedQuestion, told: Any) -> Answer:
    given = told["answer"]
    stored = from_record(StoredAnswer, {"kind": "answer", "released": told["released"], "versions": given["versions"]})
    for release, numbers in zip(asked.several(), stored.released, strict=True):
        if isinstance(release.source, NoisyNumbers) and len(numbers) != release.source.plan.numbers:
            raise ValueError
        for one in numbers:
            told_number(one if isinstance(one, int) else one[1], least=-_LARGEST, most=_LARGEST)
    answer = Answer(
        asked=asked,
        numbers=dict(zip(asked.releases, stored.released, strict=True)),
        receipt=None if given["receipt"] is None else Receipt.parse(given["receipt"]),
        versions={name: told_number(one, least=1, most=_MOST_VERSIONS) for name, one in stored.versions.items()},
        free=told_truth(given["free"]),
        rehearsal=told_truth(given["rehearsal"]),
    )
    price = answer.price.to_dict()
    if any(given["price"][name] != price[name] for name in ("epsilon", "delta")):
        raise disagreement("it says another price than that of the question")
    _ = answer.rows  # what cannot be shown is no answer
    return answer

"""A user's typed code: what mypy --strict must accept, and, at the end, what it must refuse."""

from fractions import Fraction

import lapwing as lw
from lapwing.accounting import GaussianDP, SingleRelease, open_account
from lapwing.errors import BudgetError
from lapwing.ledger import Receipt
from lapwing.mechanisms import GeometricMechanism, Sensitive


def guarantees() -> list[Fraction]:
    """Numbers may be written as people write them, and are exact fractions afterwards."""
    pure, approximate = lw.PureDP(epsilon="0.5"), lw.ApproximateDP(epsilon=1, delta="1e-4")
    concentrated, gaussian = lw.ConcentratedDP(rho=0.25), GaussianDP(mu_squared=Fraction(1, 4))
    return [pure.epsilon, approximate.epsilon, approximate.delta, concentrated.rho, gaussian.mu_squared]


def ask(folder: str) -> tuple[Receipt, float]:
    """Ask, and read an answer without a cast."""
    with lw.open(folder, analyst="ana") as clinic:
        question = lw.count("patients", lw.col("age") >= 18, by=["sex", lw.bins("age", [0, 18, 65, 120])])
        preview: lw.Preview = clinic.preview(question, epsilon="0.1")
        try:
            answer: lw.Answer = clinic.ask(question, epsilon="0.1", key="monday 1")
        except BudgetError:
            answer = clinic.rehearse(question, within=20)
        low, high = answer.interval("0.95")
        with clinic.stream(at_least=200, yeses=5, epsilon="1") as stream:
            told: lw.StreamAnswer = stream.ask("age >= 18")
        return answer.receipt, float(high) - float(low) + float(told.price) + answer.rows[0]["answer"] + preview.times


def keep_account() -> int:
    """Use a mechanism and an account by hand."""
    mechanism = GeometricMechanism(l1_sensitivity=1, epsilon="0.1")
    mechanism.release(Sensitive(214))
    return open_account(lw.PureDP(epsilon=1)).how_many(SingleRelease(event=mechanism.event))


def misspell() -> None:
    """Each line is a mistake, and mypy must see it: an ignore that is not needed is an error."""
    lw.cuont("patients")  # type: ignore[attr-defined]
    lw.PureDP(epsilom="0.5")  # type: ignore[call-arg]
    lw.PureDP("0.5")  # type: ignore[call-arg]
    lw.PureDP(epsilon=None)  # type: ignore[arg-type]
    lw.open("clinic").aks(lw.count("patients"))  # type: ignore[attr-defined]
    lw.open("clinic").ask(lw.count("patients"), epsilom="0.1")  # type: ignore[call-arg]

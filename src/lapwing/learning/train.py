"""The verbs: what a training would cost and how noisy it would be, and training.

A training is one reservation. All of its steps are charged before the first sample is drawn, whether they are taken or
not. They are taken in parts of many steps; a part is a round, which commits where the weights are. A part whose process
dies is lost: its samples may have been drawn, so they are never drawn again, and the training goes on with the next.

Proof: proofs/private_gradients.md
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

import numpy as np

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.answers.target import AtEpsilon, AtRho, parse_target
from lapwing.learning.descent import Descent, Learner, Progress
from lapwing.learning.devices import arrays_on
from lapwing.learning.features import FeaturePlan, Features, plan_features
from lapwing.learning.model import TrainedModel, TrainingOffer, TrainingPreview, TrainingPrice
from lapwing.learning.networks import GRADIENT_BITS, fitting_output, read_network
from lapwing.mechanisms.gaussian import smallest_variance
from lapwing.mechanisms.private_gradients import LONGEST_CLIP, Arrays, PrivateGradients, as_rate, descent_event
from lapwing.queries.algebra.aggregate import tables_of
from lapwing.queries.language.builders import ConditionLike, Grouping
from lapwing.rounds import IfLost, ReservationKind, RoundReader, Rounds
from lapwing.vocabulary.codec import digest, to_record
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError, ParameterError, UnansweredError
from lapwing.vocabulary.exact import Exact, as_int, as_written, exact, positive, require_words
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, Guarantee, PrivacyUnit, PureDP
from lapwing.vocabulary.results import shows_words

if TYPE_CHECKING:
    from lapwing.session import Session

KIND: Final = ReservationKind(name="training", if_lost=IfLost.COUNTS)
PARTS: Final = 10
"""Rounds of a training at most: a part that is lost costs a tenth of its steps."""
MOST_STEPS: Final = 100_000
_WORDS: Final = ("epsilon", "delta", "rho")


class TrainingWords(TypedDict, total=False):
    """What a training may be told besides what it is of.

    people : about how many people there are, as far as you know: a count that was released, or a public number
    where : whose rows are learned from, where not everybody's
    epochs : how often each person is in a step, on average
    rate : the probability of a person to be in a step
    clip : the length beyond which the gradient of a person is shortened
    step_size, momentum : how far the weights move
    device : where PyTorch is to compute; without one NumPy does
    epsilon, delta, rho : the price
    """

    people: int
    where: ConditionLike
    epochs: Exact
    rate: Exact
    clip: Exact
    step_size: Exact
    momentum: Exact
    device: str | None
    epsilon: Exact
    delta: Exact
    rho: Exact


_DEFAULTS: Final[Mapping[str, Any]] = {
    "epochs": 20,
    "rate": None,
    "clip": "0.5",
    "step_size": "0.5",
    "momentum": "0.9",
}


@shows_words(TrainingWords, **_DEFAULTS)
def preview_train(
    session: "Session",
    table: str,
    *,
    target: Grouping,
    features: Features,
    model: Any = None,
    **words: Unpack[TrainingWords],
) -> TrainingPreview:
    """Say what a training would cost, how many steps it takes and how noisy they are, and what is left. It is free.

    The words are those of `train`.
    """
    offer = _offered(session, table, (target, features), model, words)
    before = session.budget()
    return TrainingPreview(
        offer=offer,
        price=offer.price,
        confidence=Fraction(19, 20),
        before=before,
        after=before.after(SingleRelease(event=offer.event)),
    )


@shows_words(TrainingWords, **_DEFAULTS)
def train(
    session: "Session",
    table: str,
    *,
    target: Grouping,
    features: Features,
    model: Any = None,
    key: str | None = None,
    **words: Unpack[TrainingWords],
) -> TrainedModel:
    """Train a model of people by private gradient descent, and pay for all of its steps at once.

    Every step holds each person on a coin of their own; gradients are clipped person by person, and noise is added to
    their sum. What the model says about anybody afterwards is free. The same training on the same data at the same
    price is read back for nothing, and so is the same `key`, for ever; one that was interrupted goes on.

    Parameters
    ----------
    table : one with one row a person
    target : what is learned: a column or a condition with declared values, or a number with declared bounds
    features : columns, bins and conditions that it is learned from; as a mapping, under names of your own
    model : "linear", "logistic", "softmax", or "dense(64, 32)" for layers between; by default what fits the target. A
        custodian may give a module of PyTorch
    key : the idempotency key
    words : `epsilon=` (with `delta=`) or `rho=`, the price; `people=`, about how many there are, as far as is public;
        `where=`, whose rows count; `epochs=`, how often each is in a step on average; `rate=`, the chance to be in a
        step; `clip=`, `step_size=`, `momentum=`; `device=`, such as "cuda"
    """
    offer = _offered(session, table, (target, features), model, words)
    learner = offer.learner
    on = arrays_on(words.get("device"))
    _rehearse(offer, on)
    terms, event = offer.terms(), offer.event
    read = sorted(tables_of(offer.plan.aggregate))
    opening = {"event": event, "rounds": len(offer.parts), "terms": terms, "tables": read}
    rounds = _reserve(session, key, opening)
    descent, state, lost = offer.descent, Progress.begin(learner), 0
    with rounds:
        for number, steps in enumerate(offer.parts, 1):
            begun = state

            def draw(reader: RoundReader, begun: Progress = begun, steps: int = steps) -> dict[str, Any]:
                read_rows = reader.people(offer.plan.aggregate)
                rows = descent.mechanism.prepare(
                    read_rows, lambda codes: on.here(offer.plan.encode(codes.astype(np.int64)))
                )
                after = descent.run(learner, rows, begun, steps, on)
                return {**after.to_record(), "versions": dict(reader.versions)}

            try:
                state = Progress.from_record(
                    rounds.round({"part": number, "steps": steps}, draw, number=number), learner
                )
            except UnansweredError:
                state, lost = state.skip(steps), lost + steps
    receipt = rounds.receipts[-1]
    if lost == offer.descent.steps:
        raise UnansweredError(f"training {rounds.name}", seq=receipt.seq, lost=True)
    return TrainedModel.of(offer, state.mean, lost=lost, receipt=str(receipt))


def _rehearse(offer: TrainingOffer, on: Arrays) -> None:
    """Take the gradients of made-up people before anything is charged: what fails then would fail for everybody."""
    nobody = np.zeros((2, len(offer.plan.inputs) + 1), np.int64)
    try:
        offer.learner.gradients_at(offer.learner.start(), on)(on.here(nobody))
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as wrong:
        why = str(wrong).splitlines()[0] if str(wrong) else type(wrong).__name__
        raise BadQuestionError(f"{offer.model} fails on made-up people: {why}; nothing was charged") from None


def _reserve(session: "Session", key: str | None, opening: dict[str, Any]) -> Rounds:
    """Return the rounds of this training: of a training of which all was lost, another one is charged."""
    keys = iter([key]) if key is not None else _keys(session, opening)
    while True:
        rounds = session.reserve(KIND, key=next(keys), **opening)
        if key is not None or rounds.committed != [None] * opening["rounds"]:
            return rounds


def _keys(session: "Session", opening: dict[str, Any]) -> Iterator[str]:
    """Yield names for the same training on the same data: the first, and one more for each that was lost."""
    versions = session.ledger.population(session.population.name).tables
    about = {name: versions.get(name) for name in opening["tables"]}
    whole = digest([opening["terms"], to_record(opening["event"]), about, session.population.segment])
    return (f"training {whole[:32]} {number}" for number in itertools.count(1))


def _offered(
    session: "Session", table: str, learned: tuple[Grouping, Features], model: Any, words: TrainingWords
) -> TrainingOffer:
    """Read what is asked for, and find the noise; refuse before anything is charged."""
    require_words(set(words) - set(TrainingWords.__annotations__), TrainingWords.__annotations__)
    population, budget = session.population, session.budget().account.budget
    with deadline():
        plan = plan_features(table, learned[1], learned[0], population, words.get("where"))
        learner, named, bits = _learner(model, plan)
        rate, steps = _schedule(words, budget, population.unit)
        if "people" not in words:
            raise BadQuestionError(
                "say about how many people there are, people=1000: their true number is secret, and the steps are "
                "scaled by it; a count is cheap"
            )
        people = as_int("people", words["people"], most=10**12)
        clip = math.floor(positive("clip", as_written(words.get("clip", _DEFAULTS["clip"]))) * 2**bits)
        if not 1 <= clip <= LONGEST_CLIP:
            remedy = f"stay between {2.0**-bits:.2g} and {LONGEST_CLIP / 2**bits:g}"
            raise ParameterError("clip", words.get("clip"), reason="is out of range", remedy=remedy)
        moved = _moved(population.unit)
        variance, price = _noise(words, budget, rate, steps, moved)
        mechanism = PrivateGradients(rate=rate, sigma_squared=variance, clip=clip, moved=moved)
        descent = Descent(
            mechanism=mechanism,
            steps=steps,
            step_size=positive("step_size", as_written(words.get("step_size", _DEFAULTS["step_size"]))),
            momentum=_momentum(words.get("momentum", _DEFAULTS["momentum"])),
            expected=rate * people,
            bits=bits,
        )
    return TrainingOffer(
        population=population.name, plan=plan, model=named, learner=learner, descent=descent, people=people, price=price
    )


def _learner(model: Any, plan: FeaturePlan) -> tuple[Learner, str, int]:
    """Return what is trained, its name, and the grid of its gradients."""
    if model is None:
        model = fitting_output(plan.target).value
    if isinstance(model, str) or not hasattr(model, "named_parameters"):
        return read_network(model, len(plan.inputs), plan.target), model, GRADIENT_BITS
    from lapwing.learning.modules import GRADIENT_BITS_OF_MODULES, ModuleLearner  # noqa: PLC0415 - it needs PyTorch

    learner = ModuleLearner.of(model, len(plan.inputs) - 1, plan.target)
    return learner, learner.name, GRADIENT_BITS_OF_MODULES


def _schedule(words: TrainingWords, budget: Guarantee, unit: PrivacyUnit) -> tuple[Fraction, int]:
    """Return the rate, and how many steps there are."""
    in_rho = isinstance(budget, ConcentratedDP) or words.get("rho") is not None  # where a sample makes nothing cheaper
    whole = in_rho or _moved(unit) > 1
    given = words.get("rate")
    rate = Fraction(1 if whole else Fraction(1, 20)) if given is None else as_rate(as_written(given))  # type: ignore[arg-type]
    epochs = positive("epochs", as_written(words.get("epochs", _DEFAULTS["epochs"])))
    steps = math.ceil(epochs / rate)
    if rate < 1 and unit.adjacency is Adjacency.REPLACE:
        raise BadQuestionError(
            f"a sample at rate {rate} is priced for people who are added or removed, and here one is replaced by "
            "another; write rate=1, for everybody in every step"
        )
    if rate < 1 and unit.protects_groups_of > 1:
        raise BadQuestionError(
            f"groups of {unit.protects_groups_of} are protected here, and in a sample each of them has a coin of their "
            "own; write rate=1, for everybody in every step"
        )
    if steps > MOST_STEPS:
        raise BadQuestionError(
            f"{float(epochs):g} epochs at rate {rate} are {steps:,} steps, more than {MOST_STEPS:,}; write fewer "
            "epochs, or a larger rate"
        )
    return rate, steps


def _moved(unit: PrivacyUnit) -> int:
    """Return how many clips a person, or a protected group, moves a sum by."""
    return unit.protects_groups_of * (2 if unit.adjacency is Adjacency.REPLACE else 1)


def _momentum(given: Exact) -> Fraction:
    momentum = exact("momentum", as_written(given))
    if not 0 <= momentum < 1:
        raise ParameterError("momentum", given, reason="is not from 0 to below 1", remedy='write for example "0.9"')
    return momentum


def _noise(
    words: TrainingWords, budget: Guarantee, rate: Fraction, steps: int, moved: int
) -> tuple[Fraction, TrainingPrice]:
    """Return the smallest variance at which all steps together keep the price, in units of the clip's square."""
    if not any(name in words for name in _WORDS):
        raise BadQuestionError('say what to pay for all steps together, epsilon=1 or rho="0.1"; a preview is free')
    wanted = parse_target(**{name: words[name] for name in _WORDS if name in words})
    if isinstance(budget, PureDP):
        raise BadQuestionError(
            f"the budget is a pure epsilon, {float(budget.epsilon):g}, and the Gaussian noise of a training has none; "
            "ask the custodian for a budget of rho, or of epsilon with a delta"
        )
    match wanted:
        case AtRho(rho=rho):
            return steps * moved**2 / (2 * rho), TrainingPrice(rho=rho)
        case AtEpsilon(epsilon=epsilon, delta=delta) if isinstance(budget, ApproximateDP):
            chance = budget.delta if delta is None else delta
            return _variance(rate, steps, moved, epsilon, chance), TrainingPrice(epsilon=epsilon, delta=chance)
        case AtEpsilon():
            raise BadQuestionError('the budget is counted in rho, so a training is paid in it; write rho="0.05"')
        case _:  # pragma: no cover - `within` is no word of a training
            raise AssertionError


@lru_cache(maxsize=256)
def _variance(rate: Fraction, steps: int, moved: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the smallest variance that keeps a price; a preview and its training want the same one."""
    return smallest_variance(lambda one: descent_event(rate, one, steps, moved), epsilon=epsilon, delta=delta)

"""What a training offers, and what it gives: a model, its card, its predictions, its file."""

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.answers.preview import Forecast
from lapwing.learning.descent import STATE_BITS, Descent, Learner
from lapwing.learning.features import ONE, CodedInput, FeaturePlan, Input, NumberInput
from lapwing.learning.networks import LayeredNetwork, Output, fitting_output
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Result
from lapwing.vocabulary.wording import format_exact, format_short, several

Floats: TypeAlias = NDArray[np.float64]
FORMAT: Final = "lapwing model 1"
_PARTS: Final = 10


@frozen()
class TrainingPrice:
    """The price of all steps together: an epsilon at a delta, or a rho."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {name: format_exact(getattr(self, name)) for name in ("epsilon", "delta", "rho")}

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"rho {format_short(self.rho or 0)}"
        return f"epsilon {format_short(self.epsilon)} at delta {float(self.delta or 0):.3g}"


@frozen(eq=False)
class TrainingOffer:
    """A training before data is read: what is learned from what, in which steps, with how much noise, at what price."""

    population: str
    plan: FeaturePlan
    model: str
    learner: Learner
    descent: Descent
    people: int
    price: TrainingPrice

    @property
    def event(self) -> Event:
        """All that its steps do, as an account sees it."""
        return self.descent.mechanism.event(self.descent.steps)

    @property
    def parts(self) -> tuple[int, ...]:
        """How many steps each part has: what is committed at once."""
        steps = self.descent.steps
        parts = min(_PARTS, steps)
        return tuple(steps * (one + 1) // parts - steps * one // parts for one in range(parts))

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise on each number of a sum, in clips."""
        return math.sqrt(self.descent.mechanism.sigma_squared)

    @property
    def weights(self) -> int:
        """How many weights there are."""
        return sum(outputs * inputs for outputs, inputs in self.learner.shapes)

    @property
    def noise(self) -> float:
        """How long the noise on the mean gradient of a step is, in clips: a mean gradient is at most 1 long."""
        return self.sigma * math.sqrt(self.weights) / float(self.descent.expected)

    def terms(self) -> dict[str, Any]:
        """Return what is agreed, as it stands in the ledger."""
        descent = self.descent
        return {
            "table": self.plan.table,
            "target": self.plan.target.name,
            "features": [one.name for one in self.plan.features],
            "model": self.model,
            "shapes": [list(shape) for shape in self.learner.shapes],
            "begins": digest([[round(one * 2**STATE_BITS) for one in part.ravel()] for part in self.learner.start()]),
            "read": digest(self.plan.canonical),
            "steps": descent.steps,
            "rate": str(descent.mechanism.rate),
            "sigma_squared": str(descent.mechanism.sigma_squared),
            "clip": descent.mechanism.clip,
            "bits": descent.bits,
            "step_size": str(descent.step_size),
            "momentum": str(descent.momentum),
            "people": self.people,
        }


@frozen(repr=False)
class TrainingPreview(Forecast):
    """A training before it is paid for: its price, its steps, how noisy they are, and what would be left."""

    offer: TrainingOffer
    price: TrainingPrice

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise on each number of a sum, in clips."""
        return self.offer.sigma

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return self.offer.descent.steps

    @property
    def rate(self) -> Fraction:
        """The probability of a person to be in a step."""
        return self.offer.descent.mechanism.rate

    @property
    def noise(self) -> float:
        """How long the noise on the mean gradient of a step is, in clips."""
        return self.offer.noise

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON values."""
        refusal = self.refusal
        return {
            "table": self.offer.plan.table,
            "model": self.offer.model,
            "price": self.price.to_dict(),
            "steps": self.steps,
            "rate": str(self.rate),
            "sigma": self.sigma,
            "weights": self.offer.weights,
            "noise": self.noise,
            "affordable": self.affordable,
            "left": self.before.to_dict(),
            "refusal": None if refusal is None else refusal.to_dict(),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the preview in words."""
        offer, refusal = self.offer, self.refusal
        batch = format_short(round(float(offer.descent.expected), 1))
        return [
            ("trained", f"{offer.model} for {offer.plan.target.name}: {several(offer.weights, 'weight')}"),
            ("cost", str(self.price)),
            ("steps", f"{self.steps:,}, each of about {batch} people, everybody with chance {self.rate}"),
            ("noise", f"sigma {self.sigma:.4g} clips on a sum; {self.noise:.3g} clips on the mean of a step"),
            ("advice", advice(offer)),
            ("left then", str(self.after) if refusal is None else f"it would be refused now: {refusal}"),
            ("paid", "nothing: this is a preview, and no data was read"),
        ]

    def __repr__(self) -> str:
        can = "affordable" if self.affordable else "refused now"
        return f"<preview of {self.offer.model} for {self.offer.plan.target.name}: {self.price}, {can}>"


def advice(offer: TrainingOffer) -> str | None:
    """Return what would help, where the noise of a step is longer than any mean gradient."""
    if offer.noise <= 1:
        return None
    return (
        f"the noise of a step is {offer.noise:.2g} times as long as the longest mean gradient; a model with fewer "
        "weights, more people, or a larger price would help"
    )


class TrainedModel(Result):
    """A model that was trained: its weights are released, so whatever is computed from them is free.

    Attributes
    ----------
    weights : the weights of each layer, outputs by inputs; the last input of a layer is always 1
    inputs : what the inputs of the first layer are called
    lost : how many steps were charged and lost
    """

    def __init__(
        self,
        card: Mapping[str, Any],
        features: Sequence[Input],
        target: Input,
        learner: Learner,
        weights: Sequence[Floats],
    ) -> None:
        self.card, self.features, self.target = dict(card), tuple(features), target
        self.learner, self.weights = learner, [np.asarray(one, np.float64) for one in weights]

    @classmethod
    def of(cls, offer: TrainingOffer, weights: Sequence[Floats], *, lost: int, receipt: str) -> "TrainedModel":
        """Return what came of a training."""
        card = {
            "population": offer.population,
            **offer.terms(),
            "sigma": offer.sigma,
            "price": offer.price.to_dict(),
            "paid": str(offer.price),
            "lost_steps": lost,
            "receipt": receipt,
        }
        return cls(card, offer.plan.features, offer.plan.target, offer.learner, weights)

    @property
    def inputs(self) -> tuple[str, ...]:
        """What the inputs are called, in their order."""
        return (*(name for one in self.features for name in one.inputs), "1")

    @property
    def lost(self) -> int:
        """How many steps were charged and lost."""
        return int(self.card["lost_steps"])

    @property
    def classes(self) -> tuple[Any, ...]:
        """The values of the target, in the order of `probabilities`."""
        if not isinstance(self.target, CodedInput):
            raise BadQuestionError(f"{self.target.name!r} is a number, and has no classes; ask for predict(...)")
        return self.target.labels

    def probabilities(self, people: Any) -> Floats:
        """Return, for each person, how likely each of the `classes` is, as the model says."""
        count, said = len(self.classes), self._outputs(people)
        if said.shape[1] == count:
            return said
        both: Floats = np.hstack([1 - said, said])
        return both

    def predict(self, people: Any) -> list[Any]:
        """Return what the model says about people who need not be in the data. It is free.

        `people` are columns by name, a data frame, or a list of mappings with a value for each feature, None where it
        is missing.
        """
        if isinstance(self.target, NumberInput):
            said: list[Any] = self.target.value(np.clip(self._outputs(people)[:, 0], -1, 1)).tolist()
            return said
        return [self.classes[place] for place in self.probabilities(people).argmax(1)]

    def save(self, path: str | Path) -> Path:
        """Write the model and its card to a file of JSON, and return its path."""
        record = {
            "format": FORMAT,
            "card": self.card,
            "features": [_written_input(one) for one in self.features],
            "target": _written_input(self.target),
            "weights": [one.ravel().tolist() for one in self.weights],
        }
        place = Path(path)
        place.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
        return place

    def to_dict(self) -> dict[str, Any]:
        """Return the card as JSON values."""
        return dict(self.card)

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the card in words."""
        card = self.card
        people = format_short(round(float(Fraction(card["rate"]) * card["people"]), 1))
        return [
            ("model", f"{card['model']} for {card['target']}, of {card['table']} in {card['population']}"),
            ("features", ", ".join(card["features"])),
            ("paid", card["paid"]),
            ("steps", f"{card['steps']:,} of about {people} people; sigma {card['sigma']:.4g} clips"),
            ("lost", f"{several(self.lost, 'step')}, charged and not taken" if self.lost else None),
            ("receipt", card["receipt"]),
            ("hides", "one person: whether they are in the table, and what stands in their row"),
            ("free", "predictions, and all else that is computed from the weights"),
        ]

    def __repr__(self) -> str:
        return f"<{self.card['model']} for {self.card['target']}: {self.card['paid']}>"

    def _outputs(self, people: Any) -> Floats:
        columns, count = _columns_of(people, [one.name for one in self.features])
        codes = [one.code(columns.get(one.name, [])) for one in self.features]
        parts = [one.encode(code) for one, code in zip(self.features, codes, strict=True)]
        inputs = np.hstack([*parts, np.full((count, 1), ONE, np.int64)])
        return self.learner.outputs(self.weights, inputs)


def load_model(path: str | Path, module: Any = None) -> TrainedModel:
    """Read a model that `save` wrote; one of a custodian's module needs the module again."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        known = record["format"] == FORMAT
    except FileNotFoundError:
        raise BadQuestionError(f"there is no file {path}; give one that model.save(...) wrote") from None
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise BadQuestionError(f"{Path(path).name} is not a model of lapwing; give a file that model.save(...) wrote")
    card, features = record["card"], [_read_input(one) for one in record["features"]]
    target, shapes = _read_input(record["target"]), [tuple(shape) for shape in card["shapes"]]
    learner: Learner
    if card["model"].startswith("module "):
        from lapwing.learning.modules import ModuleLearner  # noqa: PLC0415 - it needs PyTorch

        learner = ModuleLearner.of(module, sum(len(one.inputs) for one in features), target)
    else:
        output = Output(card["model"]) if card["model"] in [one.value for one in Output] else fitting_output(target)
        learner = LayeredNetwork(output=output, widths=(shapes[0][1], *(shape[0] for shape in shapes)))
    weights = [np.array(one).reshape(shape) for one, shape in zip(record["weights"], shapes, strict=True)]
    return TrainedModel(card, features, target, learner, weights)


def _columns_of(people: Any, names: Sequence[str]) -> tuple[Mapping[str, Sequence[Any]], int]:
    """Return people as columns, and how many there are; refuse names that are no features."""
    if isinstance(people, Sequence) and not isinstance(people, str):
        rows = list(people)
        if not all(isinstance(row, Mapping) for row in rows):
            raise BadQuestionError("people are columns by name, a data frame, or a list of mappings")
        given = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in given}
        count = len(rows)
    elif hasattr(people, "keys"):
        columns = {str(name): list(people[name]) for name in people.keys()}  # noqa: SIM118 - a data frame, too
        lengths = sorted({len(one) for one in columns.values()})
        if len(lengths) > 1:
            raise BadQuestionError(f"the columns have different lengths, {lengths[0]} to {lengths[-1]}; give all rows")
        count = lengths[0] if lengths else 0
    else:
        raise BadQuestionError("people are columns by name, a data frame, or a list of mappings")
    missing = [name for name in names if name not in columns]
    if missing and count:
        raise BadQuestionError(f"{missing[0]!r} is a feature, and is not given; give it, None where it is missing")
    return columns, count


def _written_input(one: Input) -> dict[str, Any]:
    if isinstance(one, NumberInput):
        return {
            "name": one.name,
            "low": str(one.low),
            "step": str(one.step),
            "extent": one.extent,
            "nullable": one.nullable,
        }
    labels = [list(label) if isinstance(label, tuple) else label for label in one.labels]
    return {"name": one.name, "labels": labels, "nullable": one.nullable}


def _read_input(record: Mapping[str, Any]) -> Input:
    if "labels" in record:
        labels = tuple(tuple(label) if isinstance(label, list) else label for label in record["labels"])
        return CodedInput(name=record["name"], labels=labels, nullable=record["nullable"])
    return NumberInput(
        name=record["name"],
        low=Fraction(record["low"]),
        step=Fraction(record["step"]),
        extent=record["extent"],
        nullable=record["nullable"],
    )

"""A synthetic table as a file: the numbers that were released, and all that it takes to make the same rows of them.

The file has its own digest, and that of its model. Whoever changes it can make these anew: they are no proof of where
it comes from. That is the ledger. Where it has the synthesis, the file must say the same of all that was agreed and
released, the names of columns and codes among them; where it has not, the table says so.
"""

from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from lapwing.answers.frames import FrameColumn
from lapwing.answers.releases import Price
from lapwing.publishing.codes import CodedColumn
from lapwing.publishing.model_fitting import ROWS
from lapwing.publishing.stages import GaussianPlan, Measured, PurePlan, Released, StageLost, Stages, SynthesisPlan
from lapwing.publishing.synthesis import Synthesis, SynthesisOffer, SyntheticColumn, check_size
from lapwing.queries.algebra.aggregate import BinnedKey, DeclaredKey
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.expressions import By, Name
from lapwing.vocabulary.codec import canonical, digest, from_record, parse, to_record
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import PrivacyUnit

_MALFORMED: Final = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    ParameterError,
    RecursionError,
    StageLost,
    StopIteration,
    TypeError,
    ValueError,
)
"""What can come of a file that says anything at all."""
_FORMAT: Final = "lapwing synthetic table 1"
_KINDS: Final[Mapping[str, Callable[[str], Any]]] = {
    "str": str,
    "int": int,
    "float": float.fromhex,
    "bool": "True".__eq__,
    "date": date.fromisoformat,
}
_TYPES: Final[Mapping[str, type]] = {"str": str, "int": int, "float": float, "bool": bool, "date": date}


_FIELDS: Final[Mapping[str, Any]] = {
    "population": str,
    "table": str,
    "columns": list,
    "unit": dict,
    "plan": dict,
    "released": list,
    "versions": dict,
    "name": str,
    "remark": str | None,
    "currency": str,
    "model": str,
}
_UNKNOWN: Final = "the ledger here does not know it, so nothing but the file says that it was released"


@frozen()
class KnownSynthesis:
    """What a ledger has of a synthesis: the event and the terms that were agreed, and what came out.

    `remark` is what it has to say of that: that a stage was lost, or that the data changed in between.
    """

    event: Mapping[str, Any]
    terms: Mapping[str, Any]
    released: list[Released]
    versions: Mapping[str, int]
    remark: str | None


def columns_digest(offer: SynthesisOffer) -> str:
    """Return a digest of the columns, with what is shown for each of their codes."""
    return digest([_written_column(one) for one in offer.columns])


def write_synthesis(made: Synthesis, path: Path) -> None:
    """Write a synthetic table to a file."""
    plan = made.offer.plan
    content = {
        "format": _FORMAT,
        "population": made.offer.population.name,
        "table": made.offer.table,
        "columns": [_written_column(one) for one in made.offer.columns],
        "unit": to_record(plan.unit),
        "plan": {**plan.terms(), **_paid(plan)},
        "released": [list(one) for one in made.released],
        "versions": dict(made.versions),
        "name": made.name,
        "remark": made.remark,
        "currency": made.price.currency,
        "model": made.measured.model.digest,
    }
    path.write_text(canonical({**content, "digest": digest(content)}), encoding="utf-8")


def read_synthesis(
    path: Path,
    population: Population,
    known: Callable[[str], KnownSynthesis | None],
    versions: Mapping[str, int],
) -> Synthesis:
    """Read a synthetic table; refuse a file that was changed, or that the ledger does not confirm."""
    content = _content(path)
    if content["population"] != population.name:
        raise BadQuestionError(
            f"{path.name} is of {content['population']!r}, and this is {population.name!r}; open it there"
        )
    try:
        plan, columns = _plan(content), tuple(_column(one) for one in content["columns"])
        check_size(plan, [one.coded for one in columns])
        offer = SynthesisOffer(population=population, table=content["table"], columns=columns, plan=plan)
        agreed = known(content["name"])
        if agreed is not None:
            _require_known(path, content, offer, agreed)
        measured = replayed(plan.stages(), content["released"])
    except _MALFORMED:
        raise _changed(path) from None
    if measured.model.digest != content["model"]:
        raise BadQuestionError(
            f"{path.name} makes another model here than where it was saved: the arithmetic of this machine or of "
            "another version of lapwing is not the same; take the rows that were saved, or synthesize here"
        )
    stale = {name: version for name, version in content["versions"].items() if versions.get(name) != version}
    said = content["remark"] if agreed is None else agreed.remark
    remarks = [*([said] if said else []), *([] if agreed else [_UNKNOWN])]
    remarks += [
        f"it is of version {version} of {name}, which has another one by now" for name, version in stale.items()
    ]
    return Synthesis(
        offer=offer,
        measured=measured,
        released=content["released"],
        price=Price.of(plan.event, content["currency"]),
        versions=content["versions"],
        name=content["name"],
        remark="; ".join(remarks) or None,
    )


def _require_known(path: Path, content: Mapping[str, Any], offer: SynthesisOffer, known: KnownSynthesis) -> None:
    """Refuse a file that says something else than the ledger, whoever signed it."""
    plan = offer.plan
    said = {
        "other numbers": (content["released"], known.released),
        "other versions": (content["versions"], dict(known.versions)),
        "another table": (offer.table, known.terms["table"]),
        "other columns": (columns_digest(offer), known.terms["shown"]),
        "another unit of privacy": (plan.unit, offer.population.unit),
        "another plan": (plan.terms(), {word: known.terms.get(word) for word in plan.terms()}),
        "another price": (to_record(plan.event), known.event),
    }
    for what, (here, there) in said.items():
        if here != there:
            raise BadQuestionError(f"{path.name} has {what} than the ledger; save the table again")


def _content(path: Path) -> dict[str, Any]:
    try:
        found = parse(path.read_text(encoding="utf-8"))
        content = {word: value for word, value in found.items() if word != "digest"}
        same = content["format"] == _FORMAT and found["digest"] == digest(content)
        same = same and all(isinstance(content[word], kind) for word, kind in _FIELDS.items())
    except FileNotFoundError:
        raise BadQuestionError(f"there is no file {path}; name one that save() has written") from None
    except (OSError, *_MALFORMED):
        raise _changed(path) from None
    if not same:
        raise _changed(path)
    return content


def _changed(path: Path) -> BadQuestionError:
    return BadQuestionError(
        f"{path.name} is no synthetic table as it was saved: it was changed, or damaged; save it again"
    )


def replayed(stages: Stages, released: list[Released]) -> Measured:
    """Go through the stages with what they have released; where fewer are there, the next one was lost."""
    try:
        next(stages)
        for numbers in released:
            stages.send(numbers)
        stages.throw(StageLost())
    except StopIteration as end:
        found: Measured = end.value
        return found
    raise StageLost  # pragma: no cover - stages end, or raise it


def _paid(plan: SynthesisPlan) -> dict[str, str]:
    match plan:
        case GaussianPlan(mu_squared=paid):
            return {"mu_squared": str(paid)}
        case PurePlan(epsilon=paid):
            return {"epsilon": str(paid)}
        case _:  # pragma: no cover - there is no other
            raise TypeError(plan)


def _plan(content: Mapping[str, Any]) -> SynthesisPlan:
    unit, terms = from_record(PrivacyUnit, content["unit"]), content["plan"]
    if not 0 < terms["rows"] <= ROWS:
        raise ValueError(terms["rows"])
    said: dict[str, Any] = {
        "codes": tuple(len(one["called"]) for one in content["columns"]),
        "unit": unit,
        "degree": terms["degree"],
        "ordered": None if terms["ordered"] is None else tuple(terms["ordered"]),
        "seed": terms["seed"],
        "rows": terms["rows"],
    }
    if "epsilon" in terms:
        return PurePlan(**said, epsilon=Fraction(terms["epsilon"]))
    return GaussianPlan(**said, mu_squared=Fraction(terms["mu_squared"]))


def _written_column(column: SyntheticColumn) -> dict[str, Any]:
    shown = [[one.name, one.kind.__name__, [_text(value) for value in one.values]] for one in column.shown]
    key = column.coded.key
    return {"name": column.name, "called": list(column.coded.called), "key": to_record(key), "shown": shown}


def _text(value: object) -> str | None:
    return None if value is None else value.hex() if isinstance(value, float) else str(value)


def _column(written: Mapping[str, Any]) -> SyntheticColumn:
    key: DeclaredKey | BinnedKey = from_record(DeclaredKey | BinnedKey, written["key"])
    coded = CodedColumn(name=written["name"], by=By(column=Name(key.column)), key=key, called=tuple(written["called"]))
    shown = [
        FrameColumn(name, [None if one is None else _KINDS[kind](one) for one in values], _TYPES[kind])
        for name, kind, values in written["shown"]
    ]
    return SyntheticColumn(coded=coded, shown=tuple(shown))

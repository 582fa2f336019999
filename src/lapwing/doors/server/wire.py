"""Bodies of requests: strict JSON, and one type for each body. Unknown fields are refused.

No key twice, no NaN and no infinity, few digits, few levels, no unknown field; `true` is not 1. A number is taken as it
is written: 0.1 and "0.1" are one tenth, exactly.
"""

import json
import math
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal, NoReturn, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from lapwing.queries.limits import LONGEST_TEXT
from lapwing.vocabulary.exact import as_written
from lapwing.workspace.declaration import COLUMN_OPTIONS, KINDS, TABLE_OPTIONS, Option

T = TypeVar("T")

DEEPEST: Final = 64
_MOST_DIGITS: Final = 40
_EXACT_DIGITS: Final = 15
"""A float with so few digits is the decimal that was written; longer ones are to be written as text."""

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
Text: TypeAlias = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Whole: TypeAlias = Annotated[int, Meta(ge=1, le=2**31)]
Meaning: TypeAlias = Annotated[
    str, Meta(pattern="^[0-9a-f]{64}$", description="The SHA-256 of the canonical texts of what is asked.")
]
Meanings: TypeAlias = Annotated[
    list[Meaning], Meta(min_length=1, max_length=8, description="If it means none of these here, nothing is asked.")
]
ConceptSets: TypeAlias = Annotated[dict[Name, list[int | str]], Meta(max_length=100)]
Number: TypeAlias = Annotated[
    str | int | float, Meta(description='A number as it is written: "0.1", "1/3", 20, or 0.1, which is one tenth.')
]


Rows: TypeAlias = Annotated[int, Meta(ge=1, le=2**40, description="Of a mean within a margin: about how many rows.")]


class MalformedError(ValueError):
    """A body is no JSON that is read here."""


class Strict(Struct, forbid_unknown_fields=True, kw_only=True):
    """A body that refuses what it does not know."""

    def words(self) -> dict[str, Any]:
        """Return the fields that were given, as the keywords of a method."""
        names = self.__struct_fields__
        return {name: value for name in names if (value := getattr(self, name)) is not UNSET}


class Offer(Strict):
    """What to pay: `epsilon`, `epsilon` with `delta`, `rho`, or `within` a margin at a `confidence`."""

    epsilon: Number | UnsetType = UNSET
    delta: Number | UnsetType = UNSET
    rho: Number | UnsetType = UNSET
    within: Number | UnsetType = UNSET
    confidence: Number | UnsetType = UNSET
    rows: Rows | UnsetType = UNSET


class StreamOfferBody(Strict):
    """The terms of a stream of "at least N people?" questions; `epsilon` or `within` says what it costs.

    With `total` (a value), `proportion` (a condition) or `correlation` (a value) it asks for that instead of people,
    and `at_least` is such a number. With `number` a yes comes with the number, with noise that the yes pays for.

    Its name follows from the key; the `title` is what its owner calls it, and is told to nobody else.
    """

    at_least: Number
    yeses: Annotated[int, Meta(ge=1, le=10_000)]
    epsilon: Number | UnsetType = UNSET
    within: Number | UnsetType = UNSET
    confidence: Number | UnsetType = UNSET
    questions: Annotated[int, Meta(ge=1, le=1_000_000)] | UnsetType = UNSET
    table: Name | UnsetType = UNSET
    number: bool | UnsetType = UNSET
    total: Text | UnsetType = UNSET
    proportion: Text | UnsetType = UNSET
    correlation: Text | UnsetType = UNSET
    max_rows: Whole | UnsetType = UNSET
    title: Name | UnsetType = UNSET
    segment: Name | UnsetType = UNSET

    def terms(self) -> dict[str, Any]:
        """Return the terms that a stream is opened with: all but its title and its segment."""
        return {name: value for name, value in self.words().items() if name not in {"title", "segment"}}


class StreamQuestion(Strict):
    """Who is meant, as text of the asking language, and how many, where it is another number than the stream's.

    Of a stream of correlations it is the value that is correlated.
    """

    where: Text = ""
    at_least: Number | UnsetType = UNSET
    means: Meanings | UnsetType = UNSET
    concept_sets: ConceptSets | UnsetType = UNSET
    segment: Name | UnsetType = UNSET


class StreamBatch(Strict):
    """Many conditions, which are asked as one."""

    wheres: Annotated[list[Text], Meta(min_length=1, max_length=10_000)]
    at_least: Number | UnsetType = UNSET
    means: Meanings | UnsetType = UNSET
    concept_sets: ConceptSets | UnsetType = UNSET
    segment: Name | UnsetType = UNSET


class PublishedColumn(Strict):
    """A column of a publication: a column, bins(age, 0, 18, 65) or a condition such as has(visit); under a `name`."""

    by: Text
    name: Name | UnsetType = UNSET


class PublicationBody(Strict):
    """Tables of people by some columns, all in one release: which columns, which of them together, and the price.

    `marginals` are "all columns", "all pairs", "all triples", or lists of names. With `rows`, the most rows of a person
    in each stratum, the rows of a table with many a person are published.
    """

    table: Name
    columns: Annotated[list[PublishedColumn], Meta(min_length=1, max_length=100)]
    price: Offer
    marginals: str | Annotated[list[list[Name]], Meta(min_length=1, max_length=10_000)] = "all pairs"
    rows: Annotated[list[Whole], Meta(min_length=1, max_length=100)] | UnsetType = UNSET
    non_negative: bool = False
    whole: bool = False
    means: Meanings | UnsetType = UNSET
    concept_sets: ConceptSets | UnsetType = UNSET
    segment: Name | UnsetType = UNSET


class SynthesisBody(Strict):
    """A synthetic table of people: of some columns, or of all whose values are declared, and its price.

    `up_to` says of how many columns tables are measured at most; `planned_for` is "tables" or "cohorts".
    """

    table: Name
    price: Offer
    columns: Annotated[list[PublishedColumn], Meta(min_length=1, max_length=100)] | UnsetType = UNSET
    up_to: Annotated[int, Meta(ge=2, le=3)] | UnsetType = UNSET
    planned_for: Literal["tables", "cohorts"] | UnsetType = UNSET
    means: Meanings | UnsetType = UNSET
    concept_sets: ConceptSets | UnsetType = UNSET
    segment: Name | UnsetType = UNSET


Numbers: TypeAlias = Annotated[list[Name], Meta(min_length=1, max_length=100)]
Some: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]


class _OfAGraph(Strict):
    """What a table of pairs is asked as a graph; `between` are the two columns that hold the people."""

    table: Name
    between: Annotated[list[Name], Meta(min_length=2, max_length=2)] | UnsetType = UNSET
    where: Text | UnsetType = UNSET


class StudyEdges(_OfAGraph, tag_field="of", tag="edges"):
    """How many edges a graph has; with `max_degree`, so many of a person count, and people are protected."""

    max_degree: Some | UnsetType = UNSET


class StudyDegrees(_OfAGraph, tag_field="of", tag="degrees"):
    """How many people have how many edges; those with `up_to` or more are counted together."""

    up_to: Some | UnsetType = UNSET
    max_degree: Some | UnsetType = UNSET


class StudyTriangles(_OfAGraph, tag_field="of", tag="triangles"):
    """How many triangles a graph has."""


class StudyStars(_OfAGraph, kw_only=True, tag_field="of", tag="stars"):
    """How many stars a graph has, each of somebody and so many `points` who are joined to them."""

    points: Some


class StudyKMeans(Strict, tag_field="of", tag="k_means"):
    """Clusters of people by columns of numbers, in several rounds of noisy sums."""

    table: Name
    columns: Numbers
    clusters: Some
    rounds: Some | UnsetType = UNSET
    where: Text | UnsetType = UNSET


class StudyComponents(Strict, tag_field="of", tag="principal_components"):
    """The directions in which people differ most, by columns of numbers."""

    table: Name
    columns: Numbers
    where: Text | UnsetType = UNSET


class StudyTree(Strict, tag_field="of", tag="decision_tree"):
    """A tree that tells an `outcome`, a column or a condition, from columns, bins or conditions."""

    table: Name
    outcome: Text
    columns: Annotated[list[PublishedColumn], Meta(min_length=1, max_length=100)]
    depth: Some | UnsetType = UNSET
    where: Text | UnsetType = UNSET


class StudySample(Strict, tag_field="of", tag="sample_count"):
    """A count of a secret sample, in which everybody is with the probability `rate`."""

    table: Name
    rate: Number
    where: Text | UnsetType = UNSET


class StudyTraining(Strict, tag_field="of", tag="train"):
    """A model of people by private gradient descent: what it tells, from what, of about how many people.

    `model` is "linear", "logistic", "softmax", or "dense(64, 32)" for layers between.
    """

    table: Name
    target: Text
    features: Annotated[list[PublishedColumn], Meta(min_length=1, max_length=100)]
    people: Annotated[int, Meta(ge=1, le=10**12)]
    model: Name | UnsetType = UNSET
    where: Text | UnsetType = UNSET
    epochs: Number | UnsetType = UNSET
    rate: Number | UnsetType = UNSET
    clip: Number | UnsetType = UNSET
    step_size: Number | UnsetType = UNSET
    momentum: Number | UnsetType = UNSET


Study: TypeAlias = (
    StudyEdges
    | StudyDegrees
    | StudyTriangles
    | StudyStars
    | StudyKMeans
    | StudyComponents
    | StudyTree
    | StudySample
    | StudyTraining
)


class StudyBody(Strict):
    """An analysis in rounds, of a graph or of people, and its price: an `epsilon` for most of them."""

    study: Study
    price: Offer
    means: Meanings | UnsetType = UNSET
    concept_sets: ConceptSets | UnsetType = UNSET
    segment: Name | UnsetType = UNSET


class CertificateBody(Strict):
    """How far off a synthetic table is over all boxes of `up_to` so many columns; `ranks` are shares of the boxes."""

    epsilon: Number
    up_to: Annotated[int, Meta(ge=1, le=8)] = 4
    ranks: Annotated[list[Number], Meta(min_length=1, max_length=20)] | UnsetType = UNSET


class ExplorerBody(Strict):
    """An explorer of people by some columns, or by all whose values are declared, and its price.

    `checks` is the part of it, in epsilon, that checks the model; `yeses` is how many answers far from their guess it
    can give, and `half_width` how far is far.
    """

    table: Name
    columns: Annotated[list[PublishedColumn], Meta(min_length=1, max_length=100)] | UnsetType = UNSET
    epsilon: Number | UnsetType = UNSET
    delta: Number | UnsetType = UNSET
    rho: Number | UnsetType = UNSET
    checks: Number | UnsetType = UNSET
    yeses: Annotated[int, Meta(ge=1, le=10_000)] | UnsetType = UNSET
    questions: Annotated[int, Meta(ge=1, le=100_000)] | UnsetType = UNSET
    half_width: Annotated[int, Meta(ge=1, le=2**40)] | UnsetType = UNSET
    confidence: Number | UnsetType = UNSET
    means: Meanings | UnsetType = UNSET
    concept_sets: ConceptSets | UnsetType = UNSET
    segment: Name | UnsetType = UNSET


class ExplorerQuestions(Strict):
    """Cohorts that an explorer is asked about; with `guesses`, one for each, those that its model does not know.

    `buy` uses a paid answer for each, for counts that are wanted more exactly.
    """

    wheres: Annotated[list[Text], Meta(min_length=1, max_length=10_000)]
    guesses: Annotated[list[Annotated[int, Meta(ge=0, le=2**53)]], Meta(max_length=10_000)] | UnsetType = UNSET
    buy: bool = False
    confidence: Number | UnsetType = UNSET
    concept_sets: ConceptSets | UnsetType = UNSET
    segment: Name | UnsetType = UNSET


class ComparisonBody(Strict):
    """Two groups of people compared in one outcome, and the price.

    `method` is "proportions", "t", "rank" or "chi-square", where another one is meant; `groups` the two that are
    compared, where `by` has more. `assume` is for previews alone: `people` and `shares`, or `means` and `deviations`,
    of both groups, from which the power is computed.
    """

    table: Name
    outcome: Text
    by: Text
    price: Offer
    where: Text | UnsetType = UNSET
    groups: Annotated[list[str | int | bool], Meta(max_length=100)] | UnsetType = UNSET
    method: Name | UnsetType = UNSET
    assume: Annotated[dict[Name, list[Number]], Meta(max_length=10)] | UnsetType = UNSET
    means: Meanings | UnsetType = UNSET
    concept_sets: ConceptSets | UnsetType = UNSET
    segment: Name | UnsetType = UNSET


class SurvivalBody(Strict):
    """Survival curves: the time until an event or until last seen, whether it was seen, and the ends of the periods."""

    table: Name
    time: Text
    event: Text
    grid: Annotated[list[Annotated[int, Meta(ge=-(2**50), le=2**50)]], Meta(max_length=2000)]
    price: Offer
    by: Text | UnsetType = UNSET
    where: Text | UnsetType = UNSET
    means: Meanings | UnsetType = UNSET
    concept_sets: ConceptSets | UnsetType = UNSET
    segment: Name | UnsetType = UNSET


class RowsBody(Strict):
    """How many rows people have in a table, up to so many of each: what any `max_rows` of it cuts."""

    table: Name
    price: Offer
    where: Text | UnsetType = UNSET
    up_to: Whole | UnsetType = UNSET
    means: Meanings | UnsetType = UNSET
    concept_sets: ConceptSets | UnsetType = UNSET
    segment: Name | UnsetType = UNSET


class RegressionBody(Strict):
    """A regression: a formula such as "sbp ~ age/10 + sex", its model, and the price.

    `assume` holds guesses, `people` and for other models than the linear one `events`: with them a preview says how
    wide intervals would be, and what would say nothing is refused.
    """

    table: Name
    formula: Text
    price: Offer
    model: Name = "linear"
    where: Text | UnsetType = UNSET
    assume: Annotated[dict[Name, Number], Meta(max_length=10)] | UnsetType = UNSET
    means: Meanings | UnsetType = UNSET
    concept_sets: ConceptSets | UnsetType = UNSET
    segment: Name | UnsetType = UNSET


class DashboardBody(Strict):
    """A dashboard: who is counted, in which periods, and the price of all of its releases.

    `period` is the column with the day on which a row counts, `first` the first day of the first period. There are as
    many `releases` as that, or the `last` day of the last one is said. With `until`, the column with the day on which a
    person leaves, cumulative counts are of those who are in.
    """

    name: Text
    table: Name
    period: Text
    first: Name
    price: Offer
    where: Text | UnsetType = UNSET
    by: Annotated[list[Text], Meta(max_length=10)] | UnsetType = UNSET
    every: Name = "month"
    releases: Whole | UnsetType = UNSET
    last: Name | UnsetType = UNSET
    until: Text | UnsetType = UNSET
    means: Meanings | UnsetType = UNSET
    concept_sets: ConceptSets | UnsetType = UNSET


class DashboardRelease(Strict):
    """The next release of a dashboard; `today` is the day it is, where it is not the clock's."""

    today: Name | UnsetType = UNSET


class PlannedDelta(Strict):
    """The delta at which an epsilon is wanted: that of the budget, or a millionth, if it is not said."""

    delta: Number | UnsetType = UNSET
    segment: Name | UnsetType = UNSET


class NewToken(Strict):
    """A token: what it is for, for how many days it is good, and what it may do, if not all that its owner may."""

    name: Name
    days: Annotated[int, Meta(ge=1, le=365)] = 90
    may: Annotated[list[str], Meta(max_length=4)] | UnsetType = UNSET


class NewInvitation(Strict):
    """Somebody who is asked to come: who they will be here, and with which role."""

    id: Annotated[str, Meta(min_length=1, max_length=60)]
    name: Name
    role: str


class Acceptance(Strict):
    """The secret of an invitation and, for those who will sign in by one, a password of 12 characters or more."""

    secret: Annotated[str, Meta(min_length=1, max_length=200)]
    password: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET


class BudgetBody(Strict):
    """A budget: `epsilon`, `epsilon` with `delta`, or `rho`."""

    epsilon: Number | UnsetType = UNSET
    delta: Number | UnsetType = UNSET
    rho: Number | UnsetType = UNSET

    def entry(self) -> dict[str, str]:
        """Return it as lapwing.toml has it."""
        return {name: str(as_written(given)) for name, given in self.words().items()}


class BudgetRequestBody(Strict):
    """How much more is wanted, in the currency of the account, and what for."""

    more: BudgetBody
    purpose: Annotated[str, Meta(min_length=1, max_length=2000)]


class RequestDecision(Strict):
    """The custodian's yes or no; a no can have a reason."""

    granted: bool
    reason: Annotated[str, Meta(max_length=2000)] = ""


class PolicyChange(Strict):
    """What changes for everybody; null takes a limit away.

    The budget can rise; `unnamed_analysts` says whether those without an allowance may ask, `most` what one question
    may cost, and `noes_a_day` how many questions of streams one may ask in a day.
    """

    budget: BudgetBody | UnsetType = UNSET
    unnamed_analysts: bool | UnsetType = UNSET
    most: BudgetBody | UnsetType | None = UNSET
    noes_a_day: Annotated[int, Meta(ge=0, le=10**9)] | UnsetType | None = UNSET


class AnalystChange(Strict):
    """What one analyst may spend, about which tables, and the most of one question; what is left out is no limit."""

    allowance: BudgetBody
    tables: Annotated[list[Name], Meta(max_length=1000)] | UnsetType = UNSET
    most: BudgetBody | UnsetType = UNSET


class TablePlace(Strict):
    """A table that may be added: a `file`, or a table `beside` another one in its database, with its `inner` name.

    Where the table is the first one of new people, `beside` names a population, too: "clinic.patients".
    """

    name: Name
    file: Name | UnsetType = UNSET
    beside: Name | UnsetType = UNSET
    inner: Name | UnsetType = UNSET
    schema: Name | UnsetType = UNSET


def _declared(options: Iterable[Option]) -> list[Any]:
    """Return the fields of a body for what may be declared of a table, or of a column."""
    kinds = {bool: bool, int: Whole, str: Name, list: Annotated[list[Name], Meta(max_length=1000)]}
    types = ((one, Literal[tuple(one.choices)] if one.choices else kinds[one.kind]) for one in options)
    return [
        (one.word, bool, False) if one.kind is bool else (one.word, type_ | UnsetType, UNSET) for one, type_ in types
    ]


ColumnBody: Any = defstruct(
    "ColumnBody",
    [("type", Literal[tuple(KINDS)]), ("values", Text, ""), *_declared(COLUMN_OPTIONS)],
    bases=(Strict,),
    namespace={
        "__doc__": "What is declared of a column: its type, its values such as 0..120 or F,M, and its options, such as "
        "whether it may be missing."
    },
)

NewTableBody: Any = defstruct(
    "NewTableBody",
    [*_declared(TABLE_OPTIONS), ("columns", Annotated[dict[Name, ColumnBody], Meta(max_length=2000)], {})],
    bases=(TablePlace,),
    namespace={"__doc__": "A table to be added: where it is, whose rows it has, and its columns; others are left out."},
)


class NewPopulationBody(Strict):
    """New people: what they are called, their first table, what tells them apart, and the budget that protects them.

    `unnamed_analysts` says whether those without an allowance may ask.
    """

    name: Name
    table: NewTableBody
    person_key: Name
    budget: BudgetBody
    adjacency: Literal["add-remove", "replace"] = "add-remove"
    groups_of: Whole = 1
    unnamed_analysts: bool = False


class PersonChange(Strict):
    """What changes about a person."""

    name: Name | UnsetType = UNSET
    role: str | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET


class Suspension(Strict):
    """Whether spending is stopped: of everybody, or of one analyst."""

    suspended: bool
    analyst: Name | UnsetType = UNSET


class ReceiptList(Strict):
    """Receipts that a ledger must agree with."""

    receipts: Annotated[list[Annotated[str, Meta(max_length=400)]], Meta(max_length=100)] = []


def read_json(body: bytes) -> Any:
    """Return the JSON value of a body; refuse a body that parsers could read differently.

    >>> read_json(b'{"epsilon": 0.1}')
    {'epsilon': 0.1}
    >>> read_json(b'{"epsilon": "0.1", "epsilon": "5"}')
    Traceback (most recent call last):
    ...
    lapwing.doors.server.wire.MalformedError: "epsilon" stands twice
    """
    try:
        value = _DECODER.decode(body.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise MalformedError("this is no JSON") from None
    except RecursionError:
        raise MalformedError(f"it is nested more than {DEEPEST} deep") from None
    if b"\\u" in body:
        _require_unicode(value)
    if body.count(b"[") + body.count(b"{") > DEEPEST and _is_deeper([value], DEEPEST):
        raise MalformedError(f"it is nested more than {DEEPEST} deep")
    return value


def read_body(body: bytes, expected: type[T]) -> T:
    """Return a body as the type it must be; a `MalformedError`, or what msgspec says of the first field that is not."""
    value: T = msgspec.convert(read_json(body), expected, strict=True)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise MalformedError(f"{json.dumps(name[:60])} stands twice")
        found[name] = value
    return found


def _as_written(text: str) -> float:
    number = float(text)
    digits = text.lower().partition("e")[0].strip("-").replace(".", "").strip("0")
    if not math.isfinite(number) or len(text) > _MOST_DIGITS or len(digits) > _EXACT_DIGITS:
        raise MalformedError("a number with many digits is written as text, in quotes")
    return number


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise MalformedError(f"a number has at most {_MOST_DIGITS} digits")
    return int(text)


def _no_number(text: str) -> NoReturn:
    raise MalformedError(f"{text} is no number here")


def _require_unicode(value: Any) -> None:
    """Refuse half a surrogate pair, which can be escaped in JSON and is no text."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise MalformedError("it holds broken Unicode") from None


def _is_deeper(within: list[Any], most: int) -> bool:
    here: list[Any] = [within]
    for _ in range(most + 1):
        inner = [part for one in here for part in (one.values() if isinstance(one, dict) else one)]
        here = [part for part in inner if isinstance(part, dict | list)]
    return bool(here)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_once, parse_float=_as_written, parse_int=_whole, parse_constant=_no_number
)

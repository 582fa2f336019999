"""A synthetic table: made-up people that have the tables which were measured, and a model that says any other.

All of it is computed from the numbers that stand in the ledger, and costs nothing: rows, more rows, weights, the table
of any columns, the count in any box. The same numbers and the same seed make the same rows, bit for bit.
"""

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

import numpy as np

from lapwing.answers.frames import FrameColumn, TableResult
from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.certificate import ModelCertificate, Modelled, certify
from lapwing.publishing.measurements import Table
from lapwing.publishing.population_model import UNIT, Box, PopulationModel
from lapwing.publishing.publication import Publication
from lapwing.publishing.quality import QualityReport, quality_of
from lapwing.publishing.saved_synthesis import write_synthesis
from lapwing.publishing.synthesis import NOBODY, Synthesis, SynthesisOffer
from lapwing.publishing.synthetic_events import SyntheticEvents, events_of
from lapwing.publishing.weighted_rows import Codes
from lapwing.queries.language.builders import ConditionLike
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_confidence, as_int, float_below
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Interval, Result, shows_words
from lapwing.vocabulary.wording import format_exact, format_short, percent, several

if TYPE_CHECKING:
    from lapwing.session import Session

_CONFIDENCE: Final = Fraction(95, 100)
_ANYBODY: Final[Mapping[str, object]] = MappingProxyType({})


@frozen()
class SyntheticCount(Result):
    """How many people the model has in a box, in whole numbers.

    Where all columns of the box were measured together, `interval` is where the true count lies with the `confidence`,
    from what was measured alone. Elsewhere it is None: the model fills in what was not measured, and how well is not
    known of a single box. `certified` is where it lies if the table has a certificate of a class that the box is in:
    that of all boxes of the class at once.
    """

    people: int
    interval: Interval | None
    confidence: Fraction
    certified: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        low, high = self.interval or (None, None)
        found = {"people": self.people, "low": low, "high": high, "confidence": format_exact(self.confidence)}
        return found | ({} if self.certified is None else {"certified": list(self.certified)})

    def facts(self) -> list[tuple[str, str | None]]:
        """Return it in words."""
        sure = None
        if self.certified is not None:
            low, high = (format_short(round(end)) for end in self.certified)
            sure = f"{low} to {high}, as all boxes of the certificate at once with {percent(self.confidence)}"
        if self.interval is None:
            return [
                ("people", str(self.people)),
                ("certified", sure),
                ("mind", "these columns were not measured together"),
            ]
        low, high = (format_short(round(end)) for end in self.interval)
        told = (f"with {percent(self.confidence)}", f"{low} to {high}")
        return [("people", str(self.people)), told, ("certified", sure)]

    def __int__(self) -> int:
        return self.people


@frozen(repr=False)
class SyntheticMarginal(TableResult):
    """How many people the model has in every cell of some columns: an array `values` with an axis for each column."""

    offer: SynthesisOffer
    axes: Axes
    values: Table
    measured: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order of the axes."""
        return tuple(self.offer.columns[a].name for a in self.axes)

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:
        """Return the columns of the table, and the number of people."""
        del confidence
        columns = [self.offer.columns[a] for a in self.axes]
        cells = list(itertools.product(*(range(len(one.coded)) for one in columns)))
        shown = [
            FrameColumn(part.name, [part.values[cell[place]] for cell in cells], part.kind)
            for place, one in enumerate(columns)
            for part in one.shown
        ]
        return [*shown, FrameColumn.of("people", [float(one) for one in self.values.ravel()], float)]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"columns": list(self.names), "measured": self.measured, "people": self.values.tolist()}

    def facts(self) -> list[tuple[str, str | None]]:
        """Return what it is, in words."""
        mind = None if self.measured else "these columns were not measured together: the model fills them in"
        return [("people by", ", ".join(self.names)), ("cells", f"{self.values.size:,}"), ("mind", mind)]

    def __repr__(self) -> str:
        return f"<people of a model by {', '.join(self.names)}: {several(self.values.size, 'cell')}>"


@frozen(repr=False, eq=False)
class SyntheticRows(TableResult):
    """Rows of a synthetic table, of one weight each, or with a column of weights in people."""

    offer: SynthesisOffer
    codes: Codes
    weights: Table | None = None
    labels: bool = False

    def __len__(self) -> int:
        return int(self.codes.shape[1])

    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:
        """Return the columns of the rows: declared values, or the first and last value of each bin."""
        del confidence
        found = list[FrameColumn]()
        for one, codes in zip(self.offer.columns, self.codes, strict=True):
            parts = [FrameColumn(one.name, one.coded.called, str)] if self.labels else one.shown
            found += [FrameColumn(part.name, _picked(part.values, codes), part.kind) for part in parts]
        if self.weights is not None:
            found.append(FrameColumn("weight", self.weights.tolist(), float))
        return found

    def notes(self) -> dict[str, Any]:
        """Return what travels with the rows."""
        return {"synthetic": NOBODY, "table": self.offer.table}

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values: the codes of each column, by its name."""
        weights = None if self.weights is None else self.weights.tolist()
        names = self.offer.names
        return {**dict(zip(names, self.codes.tolist(), strict=True)), "weight": weights}

    def facts(self) -> list[tuple[str, str | None]]:
        """Return what it is, in words."""
        return [("rows", f"{len(self):,} synthetic rows of {self.offer.table}"), ("mind", NOBODY)]

    def __repr__(self) -> str:
        return f"<{len(self):,} synthetic rows of {self.offer.table}>"


def _picked(values: Sequence[Any], codes: "np.ndarray[Any, np.dtype[np.uint8]]") -> list[Any]:
    kept = np.empty(len(values), dtype=object)
    kept[:] = values
    picked: list[Any] = kept[codes].tolist()
    return picked


class RowWords(TypedDict, total=False):
    """The words for rows besides how many; see `SyntheticTable.rows`."""

    weights: bool
    labels: bool
    seed: object


class SyntheticTable(Result):
    """What `synthesize` returns: rows of made-up people, the model that they come from, and how far to trust it.

    `to_pandas`, `to_polars`, `to_arrow` and `to_parquet` give rows, `marginal` the table of any columns, `count` the
    people in any box, `quality` what is known about its errors, `save` a file that `load_synthetic` reads again.
    """

    def __init__(self, made: Synthesis, session: "Session | None" = None) -> None:
        self.made, self._session = made, session
        self.certificate: ModelCertificate | None = None
        self.offer, self.measured, self.released = made.offer, made.measured, made.released
        self.price, self.versions, self.name, self.remark = made.price, made.versions, made.name, made.remark

    @property
    def model(self) -> PopulationModel:
        """The model: what it says about boxes of codes is what this table says."""
        return self.measured.model

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return self.offer.names

    @property
    def people(self) -> int:
        """How many people it is of: as measured, with noise, and never the true number."""
        return self.model.people

    @cached_property
    def quality(self) -> QualityReport:
        """What is known about its errors, from released numbers only."""
        return quality_of(self.made)

    def rows(
        self, rows: int | None = None, *, weights: bool = False, labels: bool = False, seed: object = 0
    ) -> SyntheticRows:
        """Return synthetic rows.

        Parameters
        ----------
        rows : how many; by default as many as people were measured. More rows are closer to the model
        weights : whether to return the rows of the model itself, each with how many people it stands for
        labels : whether each column has the names of its codes, in place of values and ends of bins
        seed : public; another one gives other rows of the same model
        """
        if weights:
            if rows is not None:
                raise BadQuestionError("rows of the model have weights, and are as many as they are; leave rows= out")
            there = self.model.weights > 0
            kept = self.model.weights[there] / UNIT
            return SyntheticRows(offer=self.offer, codes=self.model.rows[:, there], weights=kept, labels=labels)
        many = self.people if rows is None else as_int("rows", rows, least=0)
        return SyntheticRows(offer=self.offer, codes=self.model.equal_rows(many, str(seed)), labels=labels)

    @shows_words(RowWords, weights=False, labels=False, seed=0)
    def to_rows(self, rows: int | None = None, **options: Unpack[RowWords]) -> list[dict[str, Any]]:
        """Return rows as records; the options are those of `rows`."""
        return self.rows(rows, **options).to_rows()

    @shows_words(RowWords, weights=False, labels=False, seed=0)
    def to_pandas(self, rows: int | None = None, **options: Unpack[RowWords]) -> Any:
        """Return rows as a pandas.DataFrame; the options are those of `rows`."""
        return self.rows(rows, **options).to_pandas()

    @shows_words(RowWords, weights=False, labels=False, seed=0)
    def to_polars(self, rows: int | None = None, **options: Unpack[RowWords]) -> Any:
        """Return rows as a polars.DataFrame; the options are those of `rows`."""
        return self.rows(rows, **options).to_polars()

    @shows_words(RowWords, weights=False, labels=False, seed=0)
    def to_arrow(self, rows: int | None = None, **options: Unpack[RowWords]) -> Any:
        """Return rows as a pyarrow.Table; the options are those of `rows`."""
        return self.rows(rows, **options).to_arrow()

    @shows_words(RowWords, weights=False, labels=False, seed=0)
    def to_parquet(self, path: str | Path, rows: int | None = None, **options: Unpack[RowWords]) -> None:
        """Write rows to a file in Parquet, which says that they are synthetic; the options are those of `rows`."""
        table = self.to_arrow(rows, **options)
        parquet = import_module("pyarrow.parquet")
        parquet.write_table(table, path)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand rows to a program that reads Arrow, such as DuckDB or Polars, without naming a library."""
        return self.rows().__arrow_c_stream__(requested_schema)

    def with_rows(
        self, published: Publication, *, number: str, rows: int | None = None, seed: object = 0
    ) -> SyntheticEvents:
        """Return rows of a table with many a person for the made-up people, so many as the column `number` says.

        The rows were published by strata of how many a person has; columns that they have from their person, under the
        same name, are those of the made-up person. It is free. `person` in what comes is the place of the person in
        `to_pandas`, from 0, with the same `rows` and `seed`.

        Parameters
        ----------
        published : what `clinic.publish("visit", ..., rows=[1, 2, 5])` returned
        number : the column of people that is `lw.number_of("visit", most=...)`
        """
        if any(self.versions.get(table, version) != version for table, version in published.versions.items()):
            raise BadQuestionError("these rows and these people are of different data; publish or synthesize anew")
        return events_of(self.offer, self.rows(rows, seed=seed).codes, published, number, seed)

    def marginal(self, *names: str) -> SyntheticMarginal:
        """Return the number of people in each cell of any columns: of the model, not of rows."""
        asked = self.offer.places(names)
        if not asked:
            raise BadQuestionError(f"name a column at least; there are {', '.join(self.columns)}")
        axes = tuple(sorted(asked))
        values = self.model.marginal(axes).transpose([axes.index(a) for a in asked])
        return SyntheticMarginal(offer=self.offer, axes=asked, values=values, measured=self.measured.pool.has(axes))

    def __getitem__(self, names: str | tuple[str, ...]) -> SyntheticMarginal:
        return self.marginal(*(names if isinstance(names, tuple) else (names,)))

    def box(self, where: ConditionLike = None, *, codes: Mapping[str, object] = _ANYBODY) -> Box:
        """Return which codes of which columns a condition means, for `model.counts`."""
        return self.offer.box(where, codes)

    def count(
        self,
        where: ConditionLike = None,
        *,
        codes: Mapping[str, object] = _ANYBODY,
        confidence: Exact = _CONFIDENCE,
    ) -> SyntheticCount:
        """Return the number of people in a box, such as "sex = 'F' and age >= 40". It is free.

        A condition means declared codes. `codes` says them by column instead, one or a list of several, and is how to
        name those of a column that is a condition itself, and "other or missing".
        """
        return self.count_box(self.box(where, codes=codes), confidence=confidence)

    def count_box(self, box: Box, *, confidence: Exact = _CONFIDENCE) -> SyntheticCount:
        """Return the number of people in a box of codes."""
        sure, axes, pool = as_confidence(confidence), tuple(sorted(box)), self.measured.pool
        interval = None
        if pool.has(axes):
            inside = np.ix_(*(np.array(box[a], bool) for a in axes))
            estimate = float(pool.unbiased(axes)[inside].sum())
            off = pool.reach(axes, [sum(box[a]) for a in axes], float_below(1 - sure))
            interval = Interval(max(0.0, estimate - off), max(0.0, estimate + off))
        certified = None if self.certificate is None else self.certificate.covering(self.model, box, sure)
        return SyntheticCount(people=self.model.count(box), interval=interval, confidence=sure, certified=certified)

    @property
    def modelled(self) -> Modelled:
        """The model with what it is of, for a certificate and for an explorer."""
        columns = tuple(one.coded for one in self.offer.columns)
        return Modelled(table=self.offer.table, columns=columns, model=self.model, versions=self.versions)

    def certify(
        self, *, up_to: int = 4, epsilon: Exact, ranks: Sequence[Exact] = (1,), key: str | None = None
    ) -> ModelCertificate:
        """Release how far off this table is at most about all boxes of up to so many columns, and pay for it.

        Every `count` of such a box then says it. The words are those of `clinic.certify`.
        """
        if self._session is None:
            raise BadQuestionError(
                "this table came from a server, and a certificate is made where the data is; synthesize and certify "
                "it there"
            )
        self.certificate = certify(self._session, self.modelled, up_to=up_to, epsilon=epsilon, ranks=ranks, key=key)
        return self.certificate

    def count_many(self, conditions: Sequence[ConditionLike | Box]) -> list[int]:
        """Return the number of people in each of many boxes, which are conditions, or boxes that were read before."""
        boxes = [one if isinstance(one, Mapping) else self.box(one) for one in conditions]
        return [int(one) for one in self.model.counts(boxes)]

    def save(self, path: str | Path) -> None:
        """Write what was released, and all that it takes to make the same table of it again, to a file."""
        write_synthesis(self.made, Path(path))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values, with all numbers that were released."""
        return {
            "synthesis": self.name,
            "table": self.offer.table,
            "columns": self.columns,
            "people": self.people,
            "measured": [[self.columns[a] for a in axes] for axes in self.measured.pool.precision if axes],
            "price": self.price.to_dict(),
            "versions": dict(self.versions),
            "model": self.model.digest,
            "remark": self.remark,
            "released": [list(one) for one in self.released],
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return what it is, in words."""
        sizes = [len(axes) for axes in self.measured.pool.precision]
        measured = [(sizes.count(2), "pair"), (sizes.count(3), "triple")]
        return [
            (
                "synthetic",
                f"{self.people:,} made-up people of {self.offer.table}, {several(len(self.columns), 'column')}",
            ),
            ("measured", ", ".join(["all single columns", *(several(n, what) for n, what in measured if n)])),
            ("cost", str(self.price)),
            ("certified", None if self.certificate is None else self.certificate.words),
            ("remark", self.remark),
            ("mind", NOBODY),
        ]

    def __repr__(self) -> str:
        return f"<synthetic table of {self.offer.table}: {self.people:,} people, {self.price}>"

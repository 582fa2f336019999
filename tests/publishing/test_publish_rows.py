"""Tables of rows by strata: what is counted, how far one person moves it, and that intervals of sums hold."""

import itertools
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import lapwing as lw
from lapwing.auditor.black_box import audit
from lapwing.engines.duckdb import DuckDB
from lapwing.mechanisms.residual_basis import whole_residual
from lapwing.publishing.codes import count_rows_in_tables, read_columns_of_rows
from lapwing.publishing.measurements import gaussian_residuals, geometric_cover
from lapwing.publishing.row_strata import RowStrata, unit_of_rows
from lapwing.vocabulary.errors import BadQuestionError, EngineError, ParameterError
from lapwing.vocabulary.event import GaussianNoise, PureRelease
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency, GaussianDP, PrivacyUnit, PureDP
from publishing.odd_people import odd_patients
from session.clinic import Broken, door, new_ledger, population, spent
from session.real_tables import Tables

VISITS, KINDS = "visits", ("ER", "other")
CAPS = (1, 2, 5)
COLUMNS = ["kind", lw.bins("ward", [1, 5, 10, 15])]
PEOPLE = population()


def many_visits(people: int = 400) -> pa.Table:
    """People with no to seven rows, rows of nobody, kinds and wards that are not declared or missing."""
    ids = [None if i % 97 == 0 else i for i in range(people) for _ in range(i % 8)]
    kinds = [["ER", "other", "ER", "elsewhere", None][(7 * row) % 5] for row in range(len(ids))]
    wards = [[1, 4, 9, 14, 15, 99, None][(3 * row) % 7] for row in range(len(ids))]
    columns = {"id": pa.array(ids, pa.int64()), "kind": pa.array(kinds, pa.string())}
    return pa.table({**columns, "ward": pa.array(wards, pa.int64())})


def by_hand(keys: list[str], shape: list[int]) -> np.ndarray:
    """Return the rows in each cell by stratum, with plain DuckDB; those of people with more rows come last."""
    stratum = "case when k <= 1 then 0 when k <= 2 then 1 when k <= 5 then 2 else 3 end"
    many = "select *, count(*) over (partition by id) as k from visits where id is not null"
    asked = f"select {stratum}, {', '.join(keys)}, count(*) from ({many}) group by all"  # noqa: S608 - codes of a test
    table = np.zeros([4, *shape], int)
    with duckdb.connect() as bare:
        bare.register("visits", many_visits())
        for *cell, rows in bare.execute(asked).fetchall():
            table[tuple(cell)] = rows
    return table


BY_KIND = "case when kind = 'ER' then 0 when kind = 'other' then 1 else 2 end"
BY_WARD = (
    "case when ward between 1 and 4 then 0 when ward between 5 and 9 then 1 "
    "when ward between 10 and 15 then 2 else 3 end"
)


def tables(adjacency=Adjacency.ADD_REMOVE):
    return Tables(
        sources={"patients": odd_patients(400), VISITS: many_visits()}, population=population(adjacency=adjacency)
    )


def test_rows_are_counted_by_how_many_their_person_has() -> None:
    columns = read_columns_of_rows(VISITS, COLUMNS, PEOPLE)
    passes = count_rows_in_tables(VISITS, columns, [(0,), (0, 1)], PEOPLE, CAPS)
    with DuckDB(PEOPLE, {"patients": odd_patients(400), VISITS: many_visits()}, threads=1) as engine:
        one, both = (engine.vector(planned.aggregate).open_for_release() for _, planned in passes)
    assert one[: 3 * 3] == tuple(by_hand([BY_KIND], [3]).ravel()[: 3 * 3].tolist())
    assert both[: 3 * 12] == tuple(by_hand([BY_KIND, BY_WARD], [3, 4]).ravel()[: 3 * 12].tolist())


UNITS = [
    PrivacyUnit(person_key="id", adjacency=adjacency, protects_groups_of=group)
    for adjacency, group in itertools.product(Adjacency, (1, 2))
]
CODES, WANTED, FEW = (2, 3), [(0, 1)], (1, 2)
EVENT = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(20))


def gaussian(unit=UNITS[0], caps=FEW):
    alone = unit_of_rows(unit)
    return RowStrata.over(gaussian_residuals(CODES, WANTED, alone, EVENT), caps, WANTED, alone)


def geometric(unit=UNITS[0], caps=FEW):
    alone = unit_of_rows(unit)
    return RowStrata.over(geometric_cover(CODES, WANTED, alone, Fraction(1)), caps, WANTED, alone)


def everybody():
    """Return the table of rows by stratum of every person that there can be, and of nobody."""
    cells = list(itertools.product(*map(range, CODES)))
    found = [np.zeros((len(FEW), *CODES), int)]
    for stratum, rows in enumerate([1, 2]):
        for held in itertools.combinations_with_replacement(cells, rows):
            table = np.zeros((len(FEW), *CODES), int)
            for cell in held:
                table[(stratum, *cell)] += 1
            found.append(table)
    return found


def moved(unit):
    """Yield by what one protected person or group of people alike can move the tables of all strata."""
    people = everybody()
    for one, other in itertools.product(people, people):
        if unit.adjacency is Adjacency.REPLACE or not other.any():
            yield (one - other) * unit.protects_groups_of


@pytest.mark.parametrize("unit", UNITS, ids=lambda one: f"{one.adjacency.value} {one.protects_groups_of}")
def test_nobody_moves_all_strata_further_than_is_paid_for_and_somebody_does_so_far(unit) -> None:
    measured, most = gaussian(unit), Fraction(0)
    for change in moved(unit):
        length = Fraction(0)
        for table, stratum in zip(change, measured.strata, strict=True):
            for axes, sigma in stratum.mechanism.sigmas.items():
                marginal = table.sum(axis=tuple(a for a in range(len(CODES)) if a not in axes))
                length += Fraction(int((whole_residual(np.asarray(marginal)) ** 2).sum())) / sigma**2
        most = max(most, length)
    paid = Fraction(1, 20)
    assert most <= paid
    assert most >= Fraction(49 if unit.adjacency is Adjacency.REPLACE else 99, 100) * paid


@pytest.mark.parametrize("unit", UNITS, ids=lambda one: f"{one.adjacency.value} {one.protects_groups_of}")
def test_geometric_noise_pays_for_rows_of_every_stratum(unit) -> None:
    measured = geometric(unit)
    assert measured.event == PureRelease(epsilon=Fraction(1))
    most = Fraction(0)
    for change in moved(unit):
        loss = Fraction(0)
        for table, stratum in zip(change, measured.strata, strict=True):
            for axes in stratum.counted:
                marginal = table.sum(axis=tuple(a for a in range(len(CODES)) if a not in axes))
                loss += Fraction(int(np.abs(marginal).sum())) / stratum.mechanism.event.scale
        most = max(most, loss)
    assert most == 1


@pytest.mark.parametrize("make", [gaussian, geometric])
def test_intervals_of_sums_over_strata_hold_and_are_not_much_too_long(make) -> None:
    measured, many, inside, shorter = make(caps=(1, 2, 5)), 400, 0, 0
    counted = {axes: Sensitive((0,) * 4 * int(np.prod([CODES[a] for a in axes]))) for axes in measured.counted}
    reach = measured.reach((0, 1), (1, 2), 0.1)
    for _ in range(many):
        found = measured.residuals(measured.release(counted))
        box = found[()] / 6 + (found[(0,)] / 3)[:, None] + (found[(1,)] / 2)[None, :] + found[(0, 1)]
        off = abs(float(box[0, :2].sum()))
        inside += off <= reach
        shorter += off <= reach / 3
    assert binom.cdf(inside, many, 0.9) > 1e-9
    assert binom.cdf(shorter, many, 0.9) < 1e-9, "a third of the interval is too short"


def test_noise_as_for_people_is_seen_to_be_too_small_for_rows() -> None:
    """The liar forgets how many rows a person of a stratum has."""
    honest, liar = gaussian(caps=(8,)), gaussian(caps=(1,))
    few, more = np.zeros((2, 2, 3), int), np.zeros((2, 2, 3), int)
    few[0, 1, 1] = 5
    more[0, 1, 1] = 13  # somebody with eight rows

    def watched(measured):
        return lambda table: measured.release({(0, 1): Sensitive(tuple(table.ravel().tolist()))})[0]

    claim = GaussianDP(mu_squared=Fraction(1, 20))
    assert not audit(watched(honest), claim=claim, neighbours=(few, more), samples=1500).refuted
    assert audit(watched(liar), claim=claim, neighbours=(few, more), samples=1500).refuted


@pytest.fixture(params=Adjacency, ids=lambda one: one.value)
def adjacency(request):
    return request.param


@pytest.fixture
def ledger(tmp_path, budget, adjacency):
    with new_ledger(tmp_path, budget.promise(5), adjacency=adjacency) as ledger:
        yield ledger


def offer(budget):
    return budget.of("1") if budget.delta is None else {"rho": "0.02"}


def test_rows_are_published_for_one_charge_and_those_of_few_rows_are_sharp(ledger, budget, adjacency) -> None:
    clinic = door(ledger, tables(adjacency), adjacency=adjacency)
    preview = clinic.preview_publish(VISITS, COLUMNS, rows=CAPS, **offer(budget))
    rows = clinic.publish(VISITS, COLUMNS, rows=CAPS, **offer(budget))
    assert len(ledger.bookings("clinic", at_most=9)) == 1
    assert clinic.publish(VISITS, COLUMNS, rows=CAPS, **offer(budget)).released == rows.released, "free"
    truth = by_hand([BY_KIND, BY_WARD], [3, 4])
    table = rows["kind", "ward"]
    assert table.sd == preview.sd["kind", "ward"]
    assert np.abs(table.values - truth[:3].sum(axis=0)).max() <= table.margin("0.99999999", together=True)
    for place, cap in enumerate(CAPS):
        alone = rows.stratum(place)["kind", "ward"]
        assert alone.sd == pytest.approx(cap * rows.stratum(0)["kind", "ward"].sd, rel=0.05)
        assert np.abs(alone.values - truth[place]).max() <= alone.margin("0.99999999", together=True)
    assert table.sd == pytest.approx(
        np.sqrt(sum(cap**2 for cap in CAPS)) * rows.stratum(0)["kind", "ward"].sd, rel=0.05
    )
    told = rows.count("kind = 'ER'")
    assert told.facts()[0][0] == "rows"
    assert ("of", "rows of everybody who has 5 at most") in rows.facts()
    assert "rows" in rows["kind"].to_rows()[0]
    assert isinstance(budget.promise(5), PureDP) == (rows.offer.measurement.event.__class__ is PureRelease)


@pytest.mark.one_budget("nothing is charged here")
@pytest.mark.parametrize(
    ("table", "words", "refusal"),
    [
        (VISITS, {"rows": [2, 1]}, "does not rise; write rows="),
        (VISITS, {"rows": []}, "no list of numbers of rows"),
        (VISITS, {"rows": "12"}, "no list of numbers of rows"),
        (VISITS, {"rows": [0, 3]}, "rows"),
        (VISITS, {"rows": [1, 1000]}, "100"),
        (VISITS, {}, "many rows a person.*rows="),
        ("patients", {"rows": [1, 2], "columns": ["sex"]}, "one row a person, so rows= says nothing"),
    ],
)
def test_bad_strata_are_refused_before_the_charge(ledger, table, words, refusal) -> None:
    clinic, before = door(ledger, Broken()), ledger.head()
    with pytest.raises((BadQuestionError, ParameterError), match=refusal):
        clinic.publish(table, words.pop("columns", ["kind"]), "all columns", epsilon=1, **words)
    assert ledger.head() == before


@pytest.mark.one_budget("a failure is charged alike")
def test_a_failure_after_the_charge_keeps_it(ledger) -> None:
    clinic = door(ledger, Broken())
    with pytest.raises(EngineError):
        clinic.publish(VISITS, ["kind"], "all columns", rows=CAPS, epsilon=1)
    assert spent(ledger)


@pytest.mark.one_budget("what is asked of a publication costs nothing")
def test_a_publication_of_people_has_no_strata(ledger) -> None:
    people = door(ledger, tables()).publish("patients", ["sex"], "all columns", epsilon=1)
    with pytest.raises(BadQuestionError, match="has no strata; publish rows"):
        people.stratum(0)

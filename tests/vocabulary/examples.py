"""An example of every noun that is stored, written out by hand; `format_1.jsonl` has the text of each, line by line.

Once a version is released, a line of that file is never changed: ledgers hold such texts. A noun with other fields, or
another meaning, then takes a new tag, and its example is added here.
`.venv/bin/python tests/vocabulary/examples.py` writes the file; read the difference.
"""

from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

from lapwing.accounting.filters.account import Account, Admission, CapChange, OpenStream
from lapwing.accounting.filters.approximate import ApproximateFilter
from lapwing.accounting.filters.charge import (
    Accepted,
    ConcentratedFilter,
    Cost,
    DeltaShares,
    PureFilter,
    Reservation,
    SingleRelease,
    StreamClosing,
    YesCharge,
)
from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.releases import PricedPlan, StoredAnswer
from lapwing.answers.stream_terms import FurtherTerms, StoredNumber, StoredVerdict, StreamTerms, Verdict
from lapwing.fingerprints import Fingerprint, KnownData
from lapwing.ledger.states import Analyst, PopulationRecord
from lapwing.queries.algebra import aggregate, derived, predicate, term
from lapwing.queries.catalogue.domains import Domain
from lapwing.queries.planning import plan
from lapwing.queries.statistics.bernstein import Moment
from lapwing.queries.statistics.best import Best
from lapwing.queries.statistics.counts import AtLeast, People, RowCount
from lapwing.queries.statistics.distinct import Distinct, Sketched
from lapwing.queries.statistics.funnel import Steps
from lapwing.queries.statistics.moments import Moments
from lapwing.queries.statistics.posterior_draw import DrawnProportion
from lapwing.queries.statistics.quantiles import QuantileOfGroups, Quantiles
from lapwing.queries.statistics.streamed import AtLeastValue, StreamedKind, StreamedValue
from lapwing.queries.statistics.top import CountedTopMeaning, Top
from lapwing.queries.statistics.total import Total
from lapwing.vocabulary import event
from lapwing.vocabulary.codec import to_text
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, GaussianDP, PrivacyUnit, PureDP

GOLDEN = Path(__file__).parent / "format_1.jsonl"

PURE = event.PureRelease(epsilon=Fraction(1, 10))
EVENTS = (
    event.LaplaceNoise(l1_sensitivity=Fraction(3, 2), scale=Fraction(30)),
    event.DiscreteLaplaceNoise(l1_sensitivity=2, scale=Fraction(20)),
    event.GaussianNoise(l2_sensitivity_squared=Fraction(1, 4), sigma_squared=Fraction(9)),
    event.DiscreteGaussianNoise(l2_sensitivity_squared=2, sigma_squared=Fraction(81, 4), dimension=3),
    PURE,
    event.ApproximateRelease(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6)),
    event.ExponentialSelection(epsilon=Fraction(1, 5)),
    event.RandomizedResponseRelease(epsilon=Fraction(1), categories=4),
    event.GaussianSparseVectorRelease(
        sensitivity=Fraction(1),
        threshold_sigma_squared=Fraction(4),
        query_sigma_squared=Fraction(9),
        questions=100,
        yeses=5,
        monotone=True,
        with_gap=False,
    ),
    event.Composed(parts=(PURE, event.ExponentialSelection(epsilon=Fraction(1, 5)))),
    event.Repeated(part=PURE, times=7),
    event.InParallel(parts=(PURE, PURE)),
    event.PoissonSampled(part=PURE, rate=Fraction(1, 100)),
    event.SampledWithoutReplacement(part=PURE, sample_size=10, population_size=1000),
)

RESERVATION = Reservation(
    stream="s", opening=Fraction(1, 4), price=Fraction(3, 20), yeses=5, segments=frozenset({"south", "north"})
)
SINGLE = SingleRelease(event=PURE, segments=None)
COST = Cost(epsilon=Fraction(1, 10), reserved=Fraction(0), delta=Fraction(0), rho=Fraction(1, 200))
STEP = Accepted(residue=0.125, slack=Fraction(1, 2**40), failure=Fraction(0))
PURE_FILTER = PureFilter(epsilon=Fraction(1), spent=Fraction(1, 10), reserved=Fraction(3, 4))
ACCOUNT = Account(
    budget=PureDP(epsilon=Fraction(1)),
    adjacency=Adjacency.ADD_REMOVE,
    shares=DeltaShares(numerical=Fraction(1, 1000), failures=Fraction(1, 10)),
    filters=MappingProxyType({"everyone": PURE_FILTER}),
    streams=MappingProxyType({"s": OpenStream(reservation=RESERVATION, given=2)}),
)
ACCOUNTS = (
    PureDP(epsilon=Fraction(1, 3)),
    ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)),
    ConcentratedDP(rho=Fraction(1, 2)),
    GaussianDP(mu_squared=Fraction(1, 4)),
    SINGLE,
    RESERVATION,
    YesCharge(stream="s"),
    StreamClosing(stream="s"),
    COST,
    STEP,
    Admission(charge=SINGLE, cost=COST, steps=MappingProxyType({"everyone": STEP})),
    OpenStream(reservation=RESERVATION, given=2),
    DeltaShares(numerical=Fraction(1, 1000), failures=Fraction(1, 10)),
    PURE_FILTER,
    ConcentratedFilter(rho=Fraction(1, 2), spent=Fraction(1, 8)),
    ApproximateFilter(pure=PURE_FILTER, residue=0.056, slack=Fraction(1, 10**9), failures=Fraction(0)),
    ApproximateFilter(pure=None, residue=None, slack=Fraction(0), failures=Fraction(0)),
    ACCOUNT,
    CapChange(account=ACCOUNT),
)

UNIT = PrivacyUnit(person_key="id", adjacency=Adjacency.REPLACE, protects_groups_of=4)
POLICIES = (
    UNIT,
    Analyst(allowance=PureDP(epsilon=Fraction(1, 5)), suspended=True),
    PopulationRecord(
        name="clinic",
        unit=UNIT,
        tables=MappingProxyType({"patients": 2}),
        keys=MappingProxyType({"patients": ("id", "integer")}),
        analysts=MappingProxyType(
            {
                "ada": Analyst(
                    allowance=None, suspended=False, tables=("patients",), most=PureDP(epsilon=Fraction(1, 10))
                )
            }
        ),
        suspended=False,
    ),
)

NUMBERS = Domain(-(2**63), 2**63 - 1)
AGE = term.OnGrid(column="age", bits=0, low=0, high=120)
ADULT = predicate.InIntervals(column="age", domain=NUMBERS, intervals=((18, 64), (66, 2**63 - 1)))
MALE = predicate.InTexts(column="sex", texts=("M",))
HERE, AROUND = predicate.Ref(column="day", up=0), predicate.Ref(column="birth", up=1)
PREDICATES = (
    NUMBERS,
    ADULT,
    MALE,
    predicate.NotInTexts(column="sex", texts=("F", "x")),
    predicate.Like(column="city", patterns=("New %", "_ork"), any_case=True, trimmed=False),
    predicate.NotLike(column="city", patterns=("ü%",), any_case=False, trimmed=True),
    predicate.IsMissing(column="age"),
    predicate.IsPresent(column="age"),
    HERE,
    predicate.Gap(until=HERE, since=AROUND, unit=predicate.Unit.YEARS, intervals=((18, 9999),)),
    predicate.Gap(until=HERE, since=AROUND, unit=predicate.Unit.DAYS, intervals=((0, 30),)),
    predicate.Compared(left=HERE, right=AROUND, signs=(-1, 0)),
    predicate.HasRows(table="visits", where=MALE, at_least=2),
    predicate.LacksRows(table="visits", where=MALE, at_least=1),
    predicate.HasRows(
        table="visits", where=ADULT, derived=(derived.LookedUp(name="patients.age", table="patients", column="age"),)
    ),
    predicate.AllOf((ADULT, MALE)),
    predicate.AnyOf(()),
)
TERMS = (
    AGE,
    term.Elapsed(until="day", since=365, unit=predicate.Unit.DAYS, low=0, high=100),
    term.ConstantTerm(-3),
    term.Plus(AGE, term.ConstantTerm(-3)),
    term.Times(AGE, AGE),
    term.Rounded(AGE, 2),
    term.SteppedDown(AGE, 10),
    term.FunctionOf("greatest", (AGE, term.ConstantTerm(18))),
    term.FunctionOf("%", (AGE,), 4),
)
PARTS = tuple(derived.PartOfDay(name=f"{part.value}(day)", part=part, day="day") for part in derived.Part)
ROWS = derived.PersonRows(table="visits", where=MALE, derived=PARTS[:1])
DERIVED = (
    *PARTS,
    ROWS,
    derived.LookedUp(name="patients.sex", table="patients", column="sex"),
    derived.ExtremeOfPerson(name="last_of(visits.day)", rows=ROWS, column="day", last=True),
    derived.NumberOfPerson(name="number_of(visits)", rows=ROWS, column=None, most=20),
    derived.NumberOfPerson(name="different_of(visits.kind)", rows=ROWS, column="kind", most=20),
    derived.SumOfPerson(
        name="sum_of(visits.cost)",
        rows=ROWS,
        term=term.OnGrid(column="cost", bits=3, low=0, high=800),
        low=0,
        high=2**50,
    ),
    derived.MeanOfPerson(
        name="mean_of(visits.cost)", rows=ROWS, term=term.OnGrid(column="cost", bits=3, low=0, high=800), finer=20
    ),
    derived.Beginning(name="month of day", unit=derived.Part.MONTH, day="day"),
    derived.Branch(ADULT, "adult"),
    derived.CaseResult(name="case 1", branches=(derived.Branch(ADULT, 1), derived.Branch(MALE, None)), otherwise=0),
    derived.CaseResult(name="case true", branches=(derived.Branch(where=ADULT, result=True),), otherwise=None),
    derived.OnlyWhere(name="bmi where adult", column="bmi", where=ADULT),
    derived.Computed(name="age", term=AGE, bits=0),
    *(derived.Respelled(name=f"{how.value}(city)", column="city", spelling=how) for how in derived.Spelling),
    derived.FirstCharacters(name="left(code, 3)", column="code", length=3),
    derived.Filled(name="coalesce(city, '?')", column="city", otherwise="?", bits=0),
    derived.Filled(name="coalesce(age, 0)", column="age", otherwise=0, bits=0),
    derived.Filled(name="coalesce(bmi, 1/2)", column="bmi", otherwise=32, bits=6),
    derived.FilledDay(name="coalesce(born, date '2020-01-31')", column="born", otherwise=18292),
)
KEYS = (
    aggregate.DeclaredKey(column="sex", values=("F", "M"), missing=True),
    aggregate.DeclaredKey(column="ward", values=(1, 2), missing=False),
    aggregate.DeclaredKey(column="smoker", values=(False, True), missing=False),
    aggregate.BinnedKey(column="age", domain=NUMBERS, bins=((0, 17), (18, 120)), missing=False),
    aggregate.GridKey(term=AGE, width=5),
    aggregate.PrivateKey(column="city", missing=True),
)
BOUNDINGS = (
    aggregate.CountPerPerson(max_cells=None),
    aggregate.CountPeopleOfTables(tables=("patients", "visits"), max_cells=1),
    aggregate.CountInSets(sets=((0, 1), (1,))),
    aggregate.LastStepPerPerson(steps=(MALE, ADULT)),
    aggregate.ClippedSumPerPerson(term=AGE, low=0, high=240, max_cells=2),
    aggregate.BoundedRowsPerPerson(terms=(AGE,), most=120, max_rows=3, max_cells=None),
    aggregate.DistinctKeys(max_cells=4),
    aggregate.SketchedKeys(max_cells=4, buckets=1024),
)
AGGREGATE = aggregate.Aggregate(
    table="patients",
    where=predicate.AllOf((ADULT, MALE)),
    keys=(aggregate.DeclaredKey(column="sex", values=("F", "M"), missing=True),),
    bounding=aggregate.CountPerPerson(max_cells=1),
    salt=7,
    derived=(derived.LookedUp(name="patients.sex", table="patients", column="sex"),),
)
SCALE = plan.Scale(low=Fraction(10), step=Fraction(1, 64), extent=3200)
MEANINGS = (
    People(),
    RowCount(),
    Total(step=Fraction(1, 64)),
    SCALE,
    *(Moments(moment=Moment(moment), scales=(SCALE,)) for moment in ("mean", "variance")),
    *(Moments(moment=Moment(moment), scales=(SCALE, SCALE)) for moment in ("covariance", "correlation")),
    Quantiles(at=(Fraction(1, 4), Fraction(1, 2)), scale=SCALE, interval=Fraction(19, 20)),
    QuantileOfGroups(at=Fraction(1, 2), scale=SCALE, interval=None),
    Top(k=3),
    CountedTopMeaning(k=3),
    Steps(names=("adult", "male")),
    Distinct(),
    Sketched(),
    AtLeast(people=200),
)
QUESTION = plan.CanonicalQuestion(population="clinic", unit=UNIT, meaning=People(), aggregate=AGGREGATE)
ANSWERS = (
    QUESTION,
    PricedPlan(question=QUESTION, event=PURE),
    StoredAnswer(
        released=((1, -2), ((("NY", 7, None, (0, 17), True), 12), (None, 3))),
        versions=MappingProxyType({"patients": 2}),
    ),
    StreamTerms(
        table="patients",
        at_least=200,
        yeses=5,
        epsilon=Fraction(1),
        adjacency=Adjacency.ADD_REMOVE,
        people=1,
        shift=-3,
        opening=Fraction(1, 4),
    ),
    StoredVerdict(verdict=Verdict.ABOVE, threshold=200, gap=12, price=Fraction(3, 20)),
    StoredVerdict(verdict=Verdict.BELOW, threshold=200, gap=None, price=Fraction(0)),
    CorridorTerms(
        table="patients",
        at_least=300,
        yeses=2,
        epsilon=Fraction(1, 4),
        adjacency=Adjacency.ADD_REMOVE,
        people=1,
        opening=Fraction(3, 40),
        half_width=300,
        number=Fraction(1, 20),
    ),
    StoredVerdict(verdict=Verdict.OUTSIDE, threshold=1300, gap=512, price=Fraction(7, 80)),
    StoredVerdict(verdict=Verdict.INSIDE, threshold=1300, gap=None, price=Fraction(0)),
    FurtherTerms(
        table="visits",
        at_least=200,
        yeses=5,
        epsilon=Fraction(1),
        adjacency=Adjacency.REPLACE,
        people=2,
        shift=-3,
        opening=Fraction(1, 4),
        number=True,
        value=StreamedValue(
            statistic=StreamedKind.TOTAL,
            value="clip(cost, 0, 50)",
            at_least=Fraction(100),
            max_rows=3,
            step=Fraction(1, 2),
            up=300,
            down=0,
        ),
    ),
    StoredNumber(verdict=Verdict.ABOVE, threshold=200, gap=12, price=Fraction(3, 20), number=211),
    AtLeastValue(steps=200, step=Fraction(1, 2)),
    DrawnProportion(points=99),
    Best(
        names=("young", "old"),
        aggregates=(AGGREGATE, AGGREGATE),
        meanings=(People(), People()),
        factors=(1, 2),
        step=Fraction(1, 2),
    ),
    *(
        StreamedValue(
            statistic=kind, value="age", at_least=Fraction(1, 2), max_rows=None, step=Fraction(1, 2), up=1, down=1
        )
        for kind in (StreamedKind.PROPORTION, StreamedKind.CORRELATION)
    ),
)

FINGERPRINT = Fingerprint(version=2, stat=(18, 1, 2, 3), sha256="ab" * 32, inside="", readable="cd" * 32)
FILES = (
    FINGERPRINT,
    KnownData(
        ledger="2f1c",
        tables=MappingProxyType({"clinic.patients": FINGERPRINT}),
        vocabularies=MappingProxyType({"concept": FINGERPRINT}),
        seen=MappingProxyType({"clinic": (("file", "patients.csv"),)}),
    ),
)

EXAMPLES = (
    *EVENTS,
    *ACCOUNTS,
    *POLICIES,
    *PREDICATES,
    *TERMS,
    *DERIVED,
    *KEYS,
    *BOUNDINGS,
    AGGREGATE,
    *MEANINGS,
    *ANSWERS,
    *FILES,
)

if __name__ == "__main__":
    GOLDEN.write_text("".join(f"{to_text(example)}\n" for example in EXAMPLES), encoding="ascii")

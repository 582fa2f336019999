"""The people of the made-up clinic, a block at a time: who they are, what they have, and when they came.

A block is made from its number, the seed and nothing else, and the first people of a block are the same however many
follow. So a clinic of a thousand is the beginning of one of a million, whatever machine makes them, in whatever order.

The shares of conditions are of the order that health surveys report, no more: they make questions worth asking, and
are no source of facts.
"""

from collections.abc import Mapping
from datetime import date
from hashlib import shake_128
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from lapwing.vocabulary.frozen import frozen

Numbers: TypeAlias = NDArray[np.float64]
Whole: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]


@frozen()
class ClinicCondition:
    """A diagnosis: its share among people of an age is a logistic curve, or a bell around an age."""

    name: str
    share: float  # at the ages at which it is most frequent
    age: float  # where the curve is at its half, or the bell at its top
    slope: float = 0.0  # how fast it rises with each year of age; falls where it is negative
    bell: float | None = None  # the width of the bell in years, where it is one
    men: float = 1.0  # how much more frequent it is among men
    women: float = 1.0
    frailty: float = 0.0  # how strongly it goes with whatever makes a person ill in other ways
    cancer: bool = False  # whether who has it is a cancer survivor

    def chance(self, age: Whole, male: Mask, frailty: Numbers) -> Numbers:
        """Return how likely each person is to have it; frailty is a normal number."""
        if self.bell is None:
            by_age = 1.0 / (1.0 + np.exp(-self.slope * (age - self.age)))
        else:
            by_age = np.exp(-(((age - self.age) / self.bell) ** 2))
        by_sex = np.where(male, self.men, self.women)
        likely: Numbers = np.minimum(self.share * by_age * by_sex * np.exp(self.frailty * frailty), 0.97)
        return likely


CONDITIONS: Final = (
    ClinicCondition(name="hypertension", share=0.62, age=58, slope=0.075, men=1.16, frailty=0.35),
    ClinicCondition(name="type 2 diabetes", share=0.30, age=60, slope=0.065, men=1.22, frailty=0.55),
    ClinicCondition(name="coronary heart disease", share=0.22, age=70, slope=0.09, men=1.5, frailty=0.5),
    ClinicCondition(name="heart failure", share=0.15, age=76, slope=0.11, men=1.16, frailty=0.6),
    ClinicCondition(name="stroke", share=0.09, age=72, slope=0.09, men=1.1, frailty=0.5),
    ClinicCondition(name="chronic kidney disease", share=0.20, age=72, slope=0.08, frailty=0.55),
    ClinicCondition(name="asthma", share=0.11, age=30, slope=-0.01, men=0.86, frailty=0.2),
    ClinicCondition(name="chronic obstructive lung disease", share=0.16, age=68, slope=0.09, men=1.1, frailty=0.5),
    ClinicCondition(name="depression", share=0.22, age=40, slope=0.005, men=0.64, frailty=0.3),
    ClinicCondition(name="osteoarthritis", share=0.40, age=65, slope=0.08, men=0.75, frailty=0.2),
    ClinicCondition(name="breast cancer", share=0.060, age=62, slope=0.07, men=0.01, frailty=0.1, cancer=True),
    ClinicCondition(name="prostate cancer", share=0.100, age=70, slope=0.12, women=0.0, frailty=0.1, cancer=True),
    ClinicCondition(name="colorectal cancer", share=0.030, age=66, slope=0.09, men=1.1, frailty=0.1, cancer=True),
    ClinicCondition(name="lung cancer", share=0.012, age=68, slope=0.10, men=1.3, frailty=0.3, cancer=True),
    ClinicCondition(name="melanoma", share=0.012, age=60, slope=0.06, cancer=True),
    ClinicCondition(name="leukaemia or lymphoma", share=0.0055, age=40, slope=0.02, men=1.16, frailty=0.1, cancer=True),
    ClinicCondition(name="testicular cancer", share=0.0045, age=31, bell=9, women=0.0, cancer=True),
)

SEXES: Final = ("F", "M")
SITES: Final = ("central", "harbour", "north", "south", "valley", "island", "airport", "university")
VISITS: Final = ("outpatient", "emergency", "inpatient")
OUTPATIENT, EMERGENCY, INPATIENT = range(len(VISITS))
SERVICES: Final = ("surgery", "medicine", "obstetrics", "psychiatry")
SURGERY, MEDICINE, OBSTETRICS, PSYCHIATRY = range(len(SERVICES))
PROCEDURES: Final = (
    "tumour removal",
    "appendectomy",
    "hernia repair",
    "joint replacement",
    "coronary bypass",
    "caesarean section",
    "colonoscopy",
    "X-ray",
)
TUMOUR, APPENDIX, HERNIA, JOINT, BYPASS, CAESAREAN, COLONOSCOPY, X_RAY = range(len(PROCEDURES))
MEASUREMENTS: Final = ("body mass index", "systolic pressure", "haemoglobin A1c")
BODY_MASS, PRESSURE, SUGAR = range(len(MEASUREMENTS))


TODAY: Final = date(2025, 1, 1)
BLOCK: Final = 1 << 14  # how many people a block has; the last one of a clinic may have fewer
OLDEST: Final = 99
MOST_VISITS: Final = 30
YEARS_OF_VISITS: Final = 10

_EPOCH: Final = 1970
_TODAY: Final = np.datetime64(TODAY, "D")
_DAY: Final = np.timedelta64(1, "D")
_AGE_PYRAMID: Final = ((0.0, 0.0), (0.24, 20.0), (0.72, 60.0), (0.90, 80.0), (0.985, 92.0), (1.0, OLDEST + 1.0))
"""The share of people who are younger than an age; straight lines between."""
_SITE_SHARES: Final = (0.29, 0.20, 0.15, 0.12, 0.09, 0.07, 0.05, 0.03)


@frozen(kw_only=False)
class Named:
    """A column of texts, as numbers into a list of names; masked numbers are missing texts."""

    codes: NDArray[np.integer[Any]]
    names: tuple[str, ...]


Values: TypeAlias = NDArray[Any] | Named
"""A column: an array, days as datetime64[D], masked where values are missing; or texts."""

Columns: TypeAlias = dict[str, Values]


class Uniforms:
    """Draws for one block of people: they look random and are the same on every machine, for ever.

    They make up data; noise never comes from here. The bytes are SHAKE128 (FIPS 202) of the name of what is drawn, so
    they depend on no library and no version of one. A longer draw of the same name begins with the shorter one.

    >>> draws = Uniforms(seed=7, block=0)
    >>> few, many = draws.take("age", 3), draws.take("age", 1000)
    >>> bool((few == many[:3]).all()), bool((many > 0).all() and (many < 1).all()), round(float(many.mean()), 1)
    (True, True, 0.5)
    """

    def __init__(self, *, seed: int, block: int) -> None:
        self._prefix = f"lapwing clinic/{seed}/{block}/"

    def take(self, name: str, count: int) -> Numbers:
        """Return `count` numbers strictly between 0 and 1."""
        words = np.frombuffer(shake_128((self._prefix + name).encode()).digest(4 * count), dtype="<u4")
        return (words + 0.5) * 2.0**-32

    def normal(self, name: str, count: int) -> Numbers:
        """Return `count` numbers of the normal law with mean 0 and deviation 1."""
        drawn: Numbers = ndtri(self.take(name, count))
        return drawn


@frozen()
class PeopleBlock:
    """The facts about each person, whether they are on record or not."""

    id: Whole
    male: Mask
    age: Whole
    born: NDArray[np.datetime64]
    site: Whole
    frailty: Numbers
    body_mass: Numbers

    def days(self, years: int, share: Numbers, of: Whole | slice = slice(None)) -> Whole:
        """Return a share of the last years of a person, or of their life if it is shorter, in days."""
        lived = (_TODAY - self.born[of]).astype(np.int64)
        spent: Whole = (np.minimum(years * 365, lived) * share).astype(np.int64)
        return spent


def make_block(seed: int, block: int, people: int = BLOCK) -> Mapping[str, Columns]:
    """Return the tables of the first `people` of a block: person, condition, visit, procedure, measurement, patient."""
    draws = Uniforms(seed=seed, block=block)
    who = _people(draws, block, people)
    has = {
        one.name: draws.take(f"has {one.name}", people) < one.chance(who.age, who.male, who.frailty)
        for one in CONDITIONS
    }
    cancer = np.logical_or.reduce([has[one.name] for one in CONDITIONS if one.cancer])
    visit = _visits(draws, who, cancer)
    tables = {
        "person": _person(draws, who),
        "condition": _conditions(draws, who, has),
        "visit": visit,
        "procedure": _procedures(draws, who, cancer, visit),
        "measurement": _measurements(draws, who, has, visit),
    }
    tables["patient"] = _patient(draws, who, has, cancer, tables)
    return tables


def _people(draws: Uniforms, block: int, people: int) -> PeopleBlock:
    male = draws.take("sex", people) < 0.492
    shares, ages = zip(*_AGE_PYRAMID, strict=True)
    age = np.interp(draws.take("age", people), shares, ages).astype(np.int64)
    # Who is `age` today was born from 2 January of the year before to 1 January of the year that is `age` years ago.
    year = (TODAY.year - 1 - age - _EPOCH).astype("datetime64[Y]").astype("datetime64[D]")
    frailty = draws.normal("frailty", people)
    grown = 15.5 + 12.0 * np.minimum(age, 20) / 20
    return PeopleBlock(
        id=np.arange(people) + block * BLOCK + 1,
        male=male,
        age=age,
        born=year + (1 + (365 * draws.take("birthday", people)).astype(np.int64)) * _DAY,
        site=np.searchsorted(np.cumsum(_SITE_SHARES)[:-1], draws.take("site", people)),
        frailty=frailty,
        body_mass=np.clip(grown + 1.2 * frailty + 4.4 * draws.normal("body mass", people), 11, 60).round(1),
    )


def _person(draws: Uniforms, who: PeopleBlock) -> Columns:
    return {
        "person_id": who.id,
        "sex": _sex(who),
        "born": np.ma.masked_array(who.born, _unknown_birth(draws, who)),
        "site": Named(who.site, SITES),
    }


def _conditions(draws: Uniforms, who: PeopleBlock, has: Mapping[str, Mask]) -> Columns:
    """Return a row for each diagnosis, and for one in five a second one, from when it was written down again."""
    rows = []
    for code, one in enumerate(CONDITIONS):
        known_for = who.days(20, draws.take(f"since {one.name}", len(who.id)))
        twice = draws.take(f"again {one.name}", len(who.id)) < 0.2
        for records, days in ((has[one.name], known_for), (has[one.name] & twice, known_for // 2)):
            rows.append((who.id[records], np.full(records.sum(), code), days[records]))
    person, concept, days = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    order = np.argsort(person, kind="stable")
    return {
        "person_id": person[order],
        "concept": Named(concept[order], tuple(one.name for one in CONDITIONS)),
        "day": _TODAY - days[order] * _DAY,
    }


def _visits(draws: Uniforms, who: PeopleBlock, cancer: Mask) -> Columns:
    """Return the visits of the last years: more with age, frailty and cancer, and none for many of the young."""
    rate = (0.9 + who.age / 40) * np.exp(0.3 * who.frailty)
    times = (-np.log(draws.take("visits", len(who.id))) * rate).astype(np.int64) + 2 * cancer
    times = np.minimum(times, MOST_VISITS)
    of = np.repeat(np.arange(len(who.id)), times)
    nth = np.arange(len(of)) - np.repeat(np.cumsum(times) - times, times)
    ill, mother = cancer[of], ~who.male[of] & (who.age[of] >= 18) & (who.age[of] <= 45)
    admitted = 0.05 + who.age[of] / 1500 + 0.17 * ill + 0.08 * mother
    luck = draws.take("kind of visit", len(of))
    kind = np.select([luck < admitted, luck < admitted + 0.14], [INPATIENT, EMERGENCY])
    inpatient = kind == INPATIENT
    nights = 1 + (-np.log(draws.take("nights", len(of))) * 4).astype(np.int64)
    return {
        "visit_id": who.id[of] * 100 + nth,
        "person_id": who.id[of],
        "kind": Named(kind, VISITS),
        "service": Named(np.ma.masked_array(_service(draws, ill, mother), ~inpatient), SERVICES),
        "day": _TODAY - who.days(YEARS_OF_VISITS, draws.take("day of visit", len(of)), of) * _DAY,
        "nights": np.where(inpatient, np.minimum(nights, 60), 0),
    }


def _service(draws: Uniforms, ill: Mask, mother: Mask) -> Whole:
    luck = draws.take("service", len(ill))
    surgery = 0.24 + 0.34 * ill
    obstetrics = surgery + 0.4 * mother
    psychiatry = obstetrics + 0.06
    ranges = [luck < surgery, luck < obstetrics, luck < psychiatry]
    return np.select(ranges, [SURGERY, OBSTETRICS, PSYCHIATRY], MEDICINE)


def _procedures(draws: Uniforms, who: PeopleBlock, cancer: Mask, visit: Columns) -> Columns:
    """Return one operation for each admission for surgery, and smaller things for some of the other visits."""
    of, kind, service = _of(visit, who), _values(visit["kind"]), _values(visit["service"])
    age, ill, luck = who.age[of], cancer[of], draws.take("procedure", len(of))
    operated = (kind == INPATIENT) & (service == SURGERY)
    delivered = (kind == INPATIENT) & (service == OBSTETRICS) & (luck < 0.3)
    seen = (kind == OUTPATIENT) & (age >= 45) & (luck < 0.08)
    hurt = (kind == EMERGENCY) & (luck < 0.35)
    old = age >= 55
    concept = np.select(
        [delivered, seen, hurt, ill & (luck < 0.6), old & (luck < 0.4), old & (luck < 0.65), luck < 0.6],
        [CAESAREAN, COLONOSCOPY, X_RAY, TUMOUR, JOINT, BYPASS, APPENDIX],
        HERNIA,
    )
    done = operated | delivered | seen | hurt
    return {
        "person_id": who.id[of][done],
        "visit_id": _values(visit["visit_id"])[done],
        "concept": Named(concept[done], PROCEDURES),
        "day": _values(visit["day"])[done],
    }


def _measurements(draws: Uniforms, who: PeopleBlock, has: Mapping[str, Mask], visit: Columns) -> Columns:
    """Return the body mass of most, the blood pressure at every other visit, and the sugar of who is diabetic."""
    weighed = ~_not_weighed(draws, who)
    of, day = _of(visit, who), _values(visit["day"])
    taken = draws.take("pressure taken", len(of)) < 0.5
    usual = 106 + 0.35 * who.age + 11 * has["hypertension"] + 4 * who.frailty
    pressure = np.clip(usual[of] + 9 * draws.normal("pressure", len(of)), 70, 240).round()
    diabetic = has["type 2 diabetes"]
    sugar = np.clip(7.3 + 1.2 * draws.normal("sugar", len(who.id)), 5.0, 15.0).round(1)
    rows = (
        (who.id[weighed], BODY_MASS, who.body_mass[weighed], _recently(draws, who)[weighed]),
        (who.id[of][taken], PRESSURE, pressure[taken], day[taken]),
        (who.id[diabetic], SUGAR, sugar[diabetic], _recently(draws, who)[diabetic]),
    )
    person, value, when = (np.concatenate([row[part] for row in rows]) for part in (0, 2, 3))
    concept = np.concatenate([np.full(len(row[0]), row[1]) for row in rows])
    order = np.argsort(person, kind="stable")
    return {
        "person_id": person[order],
        "concept": Named(concept[order], MEASUREMENTS),
        "value": value[order],
        "day": when[order],
    }


def _patient(
    draws: Uniforms, who: PeopleBlock, has: Mapping[str, Mask], cancer: Mask, tables: Mapping[str, Columns]
) -> Columns:
    """Return one row a person: what the other tables say of them, in the words of a cohort."""
    visit = tables["visit"]
    of, kind, service = _of(visit, who), _values(visit["kind"]), _values(visit["service"])
    inpatient = kind == INPATIENT
    operated = inpatient & (service == SURGERY)
    unknown_birth = _unknown_birth(draws, who)
    smokes = draws.take("smokes", len(who.id)) < np.where(who.age >= 16, 0.19 + 0.05 * who.male, 0)
    return {
        "person_id": who.id,
        "sex": _sex(who),
        "born": np.ma.masked_array(who.born, unknown_birth),
        "age": np.ma.masked_array(who.age, unknown_birth),
        "site": Named(who.site, SITES),
        "smoker": np.ma.masked_array(smokes, draws.take("smoking unknown", len(who.id)) < 0.08),
        "bmi": np.ma.masked_array(who.body_mass, _not_weighed(draws, who)),
        "hypertension": has["hypertension"],
        "diabetes": has["type 2 diabetes"],
        "cancer_survivor": cancer,
        "admitted_for_surgery": np.bincount(of[operated], minlength=len(who.id)) > 0,
        "admissions": np.bincount(of[inpatient], minlength=len(who.id)),
        "visits": np.bincount(of, minlength=len(who.id)),
    }


def _sex(who: PeopleBlock) -> Named:
    return Named(who.male.astype(np.int8), SEXES)


def _unknown_birth(draws: Uniforms, who: PeopleBlock) -> Mask:
    return draws.take("birth unknown", len(who.id)) < 0.001


def _not_weighed(draws: Uniforms, who: PeopleBlock) -> Mask:
    return draws.take("not weighed", len(who.id)) < 0.04


def _recently(draws: Uniforms, who: PeopleBlock) -> NDArray[np.datetime64]:
    return _TODAY - who.days(2, draws.take("measured", len(who.id))) * _DAY


def _of(events: Columns, who: PeopleBlock) -> Whole:
    """Return whose each event is, as a place in the block."""
    place: Whole = _values(events["person_id"]) - who.id[0]
    return place


def _values(column: Values) -> NDArray[Any]:
    values: NDArray[Any] = np.ma.getdata(column.codes if isinstance(column, Named) else column)
    return values

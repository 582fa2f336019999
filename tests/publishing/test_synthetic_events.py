"""Rows of made-up people: so many for each as they have, with the published tables, and nothing is charged."""

import numpy as np
import pytest

import lapwing as lw
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.guarantee import Adjacency
from publishing.test_publish_rows import CAPS, VISITS, tables
from session.clinic import door, new_ledger

PATIENTS = "patients"
PEOPLE = {"sex": "sex", "visits": lw.number_of(VISITS, most=6)}
ROWS = {"kind": "kind", "sex": f"{PATIENTS}.sex"}


@pytest.fixture
def ledger(tmp_path, budget):
    with new_ledger(tmp_path, budget.promise(60)) as ledger:
        yield ledger


@pytest.fixture
def clinic(ledger):
    return door(ledger, tables(Adjacency.ADD_REMOVE))


def made(clinic, budget, columns=None, rows=None):
    price = budget.of("8") if budget.delta is None else {"rho": "2"}
    people = clinic.synthesize(PATIENTS, columns or PEOPLE, **price)
    return people, clinic.publish(VISITS, rows or ROWS, rows=CAPS, **price)


def test_everybody_has_as_many_rows_as_their_column_says_and_what_they_have_in_common(clinic, ledger, budget) -> None:
    people, visits = made(clinic, budget)
    before = ledger.head()
    rows = people.with_rows(visits, number="visits")
    assert ledger.head() == before, "it is post-processing"
    persons, frame = people.to_pandas(), rows.to_pandas()
    assert list(frame.columns) == ["person", "kind", "sex"]
    each = np.bincount(frame["person"], minlength=len(persons))
    assert (each == np.minimum(persons["visits"].fillna(0), CAPS[-1])).all()
    assert (frame["sex"].fillna("?").to_numpy() == persons["sex"].fillna("?").to_numpy()[frame["person"]]).all()
    assert frame.equals(people.with_rows(visits, number="visits").to_pandas()), "bit for bit"
    assert not frame.equals(people.with_rows(visits, number="visits", seed=1).to_pandas())
    assert ("rows", f"{len(frame):,} synthetic rows of {VISITS}") in rows.facts()


def test_each_stratum_has_the_shares_that_were_published_of_it(clinic, budget) -> None:
    people, visits = made(clinic, budget)
    rows = people.with_rows(visits, number="visits", rows=20_000)
    each = np.bincount(rows.person)[rows.person]
    for stratum, (least, most) in enumerate(zip((1, *(cap + 1 for cap in CAPS)), CAPS, strict=False)):
        published = visits.stratum(stratum).table("kind", non_negative=True).values
        drawn = np.bincount(rows.codes[0][(least <= each) & (each <= most)], minlength=len(published))
        assert np.abs(drawn / drawn.sum() - published / published.sum()).max() < 0.05


def test_what_does_not_go_together_is_refused_and_nothing_is_charged(clinic, ledger, budget) -> None:
    people, visits = made(clinic, budget)
    other = clinic.publish(VISITS, {"sex": "kind"}, "all columns", rows=CAPS, rho="0.1") if budget.delta else None
    few = clinic.publish(PATIENTS, ["sex"], "all columns", **(budget.of("1")))
    before = ledger.head()
    for published, number, refusal in (
        (few, "visits", "of people, who have one row each; publish the rows"),
        (visits, "sex", "'sex' is no number of rows; .*number_of"),
        (visits, "nights", "nights"),
        *([(other, "visits", "'sex' has other codes in rows than in people")] if other else []),
    ):
        with pytest.raises(BadQuestionError, match=refusal):
            people.with_rows(published, number=number)
    assert ledger.head() == before


@pytest.mark.one_budget("versions do not depend on the kind")
def test_rows_and_people_of_different_data_are_refused(clinic, ledger, budget) -> None:
    people, _ = made(clinic, budget)
    ledger.administration.advance_version("clinic", VISITS)
    visits = clinic.publish(VISITS, ROWS, "all columns", rows=CAPS, epsilon=1)
    with pytest.raises(BadQuestionError, match="of different data"):
        people.with_rows(visits, number="visits")

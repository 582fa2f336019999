"""Audited from outside: two clinics that differ in one person, and all that an analyst's client sees of them.

What is told without data must be the same bytes in both. What is told from data must be the true count and noise of
the law that its price buys, drawn anew each time. Slips of the glue between HTTP and the session are planted, and seen.
"""

import json
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from doors.server.doors import Door, P, count, make_folder, serving
from lapwing.answers.releases import NoisyNumbers
from lapwing.doors.server import for_analysts
from lapwing.noise.randomness import fresh_name
from statistical.goodness import fits, integer_p_value

pytestmark = pytest.mark.one_budget("exact losses are measured, of one mechanism at one price")

PEOPLE, EPSILON, TURNS = 400, 1, 10
LAW = np.exp(-EPSILON * np.abs(np.arange(-60, 61))) * np.tanh(EPSILON / 2)
"""Two-sided geometric noise, by its formula: P(k) = tanh(epsilon / 2) exp(-epsilon |k|)."""


@contextmanager
def clinic(folder: Path, people: int, budget):
    with serving(make_folder(folder, budget, "100000", people=people)) as door:
        yield door


def noise_in(door: Door, turns: int = TURNS) -> np.ndarray:
    """Ask how many there are of each age, in questions that are never the same, and take away how many there are."""
    found = []
    for turn in range(turns):
        question = {"ask": "count", "table": "patient", "by": ["age"]}
        body = {"question": question, "price": {"epsilon": f"{EPSILON}.00000000{turn}1"}}
        answer = door.call("ana", "POST", f"{P}/questions", body, key=fresh_name())
        assert answer.status_code == 200, answer.text
        rows = answer.json()["answer"]["rows"]
        assert len(rows) == 121
        found += [row["values"]["answer"]["value"] - (PEOPLE // 100 if row["key"][0] < 100 else 0) for row in rows]
    return np.array(found)


def drawn_anew(noise: np.ndarray) -> bool:
    """Say whether no turn repeats the first: two draws of this noise are equal in 28 % of 121 rows, never in 70 %.

    By Chernoff's bound, draws that are anew are called repeated with a probability below 1e-19.
    """
    turns = noise.reshape(TURNS, -1)
    return bool(((turns[1:] == turns[0]).mean(axis=1) < 0.7).all())


def test_what_a_client_sees_is_the_count_with_the_noise_that_was_paid_for(quick_path, budget) -> None:
    with clinic(quick_path / "clinic", PEOPLE, budget) as door:
        noise = noise_in(door)
    assert fits(integer_p_value(noise, -60, LAW))
    assert drawn_anew(noise)
    halved = np.exp(-2 * np.abs(np.arange(-60, 61))) * np.tanh(1)
    assert not fits(integer_p_value(noise, -60, halved))  # the noise of twice the price
    assert not fits(integer_p_value(noise + 1, -60, LAW))  # one person more


def test_noise_is_drawn_once_for_a_question_and_anew_for_another(quick_path, budget) -> None:
    with clinic(quick_path / "clinic", PEOPLE, budget) as door:
        asked = [door.ask("ana", "age >= 0", "0.01").json()["released"] for _ in range(5)]
        assert len({json.dumps(one) for one in asked}) == 1
        others = [door.ask("ana", f"age >= 0 and age < {200 + i}", "0.01").json()["released"] for i in range(8)]
        assert len({json.dumps(one) for one in others}) > 1


def seen_without_data(door: Door) -> list[tuple[int, bytes]]:
    """Return all that can be seen without a charge, and refusals of every kind."""
    stream = {"at_least": 401, "yeses": 3, "epsilon": "1"}
    calls = [
        ("GET", f"{P}/budget", None),
        ("GET", P, None),
        ("GET", f"{P}/policy", None),
        ("POST", f"{P}/previews", count("age = 0", "0.5")),
        (
            "POST",
            f"{P}/previews",
            {"question": {"ask": "mean", "table": "patient", "of": "age"}, "price": {"within": 2}},
        ),
        ("POST", f"{P}/previews", count("age = 'x'", "0.5")),
        ("POST", f"{P}/stream-previews", stream),
        ("POST", f"{P}/questions", count("age = 0", "19.5")),
        ("POST", f"{P}/questions", count("sex / 2 = 1", "0.5")),
        ("POST", f"{P}/questions", count("agee = 0", "0.5")),
        ("GET", f"{P}/answers", None),
        ("GET", f"{P}/jobs/absent-key", None),
    ]
    told = [door.call("ana", *one, key="a-fixed-key") for one in calls]
    return [(one.status_code, re.sub(rb'"at":\d+', b'"at":0', one.content)) for one in told]


def test_what_is_told_without_data_is_the_same_with_and_without_a_person(quick_path, budget) -> None:
    seen = []
    for number in (PEOPLE, PEOPLE + 1):
        with serving(make_folder(quick_path / str(number), budget, "2", people=number)) as door:
            seen.append(seen_without_data(door))
    assert seen[0] == seen[1]
    assert {status for status, _ in seen[0]} == {200, 402, 404, 422}


def exact(release, numbers):
    """The noise is forgotten."""
    del release
    return [int(number) for number in numbers.open_for_release()]


def stale(call, job, ask=for_analysts._ask):
    """What was told first is told again, whatever is asked."""
    kept = KEPT.setdefault(call.server.state, [])
    if not kept:
        kept.append(ask(call, job))
    return kept[0]


KEPT: dict = {}


@pytest.mark.parametrize("slip", ["no noise", "one answer for all"])
def test_a_slip_of_the_glue_is_seen(quick_path, monkeypatch, slip, budget) -> None:
    if slip == "no noise":
        monkeypatch.setattr(NoisyNumbers, "release", exact)
    else:
        monkeypatch.setattr(for_analysts, "_ask", stale)
    with clinic(quick_path / "clinic", PEOPLE, budget) as door:
        noise = noise_in(door)
    assert not (fits(integer_p_value(noise, -60, LAW)) and drawn_anew(noise))

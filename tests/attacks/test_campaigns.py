"""Campaigns: what they ask, what they say stopped them, and that the clinic is what they attack."""

import ast
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import lapwing.attacks as attacks_package
from attacks.made_up import Unaccounted, target_of
from lapwing import count
from lapwing.attacks.campaigns import TRIVIAL, AttackTarget, Campaign, CampaignAnswers, spelled
from lapwing.attacks.oracles import Coins
from lapwing.made_up.attack_story import ClinicUnderAttack
from lapwing.queries.language.expressions import col, condition
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import ParameterError

TRAIT = Coins(9, "order").uniforms(32).argsort() < 16


@pytest.mark.parametrize("attack", ["hadamard", "differencing"])
def test_a_campaign_recovers_everything_but_at_the_door(doors, attack) -> None:
    made, answered = doors(), []
    campaign = Campaign(target=target_of(TRAIT), doors=made, progress=lambda: answered.append(1))
    outcomes = getattr(campaign, attack)()
    assert len(answered) == campaign.door_questions(attack)
    for outcome in outcomes:
        if outcome.answers is CampaignAnswers.LAPWING:
            assert outcome.stopped.endswith(", ledger")
            assert outcome.answered == outcome.asked == campaign.door_questions(attack)
        else:
            assert outcome.recovered > 0.9 or outcome.against == "i2b2 style", "32 people hide in noise of 1.3"
            assert outcome.stopped.startswith("nothing")
        assert outcome.chance == 0.5
    assert made.spent() == 1


def test_a_campaign_notices_that_nothing_stops_it(doors) -> None:
    campaign = Campaign(target=target_of(TRAIT), doors=doors(kind=Unaccounted))
    assert campaign.differencing()[-1].stopped == "nothing"


def test_tracing_keeps_its_scores(doors) -> None:
    group = np.arange(48) < 2
    campaign = Campaign(target=target_of(group), doors=doors())
    outcomes = campaign.tracing()
    assert [outcome.asked for outcome in outcomes] == [campaign.door_questions("tracing")] * 3
    assert list(campaign.traced) == ["exact", "i2b2 style", "lapwing"]
    assert outcomes[0].recovered == 1


def test_the_clinic_has_people_who_can_be_told_apart_by_their_birth(quick_path) -> None:
    del quick_path
    with ClinicUnderAttack(trait="hypertension", budget=Fraction(2)) as clinic:
        target = clinic.target(64, ages=range(55, 99))
        assert isinstance(target, AttackTarget)
        assert len({*target.names}) == target.people == 64
        door = clinic.open(target, Fraction(2))
        told = door.count(np.ones(64, dtype=bool))
        assert abs(told - np.count_nonzero(target.trait)) < 12, "noise beyond 12 at epsilon 2 has probability 5e-11"
        assert door.left == 0
        with pytest.raises(ParameterError, match="are more than the"):
            clinic.target(4000, ages=range(55, 99))


def test_trivial_spellings_are_one_question_and_padded_ones_are_many(doors) -> None:
    door = doors().open(target_of(TRAIT), Fraction(1, 10))
    population = door._session.population
    canonical = [plan(door.question(TRAIT, spelling=number), population).canonical for number in range(30)]
    assert len({*canonical[: len(TRIVIAL)]}) == 1
    assert len({*canonical}) == 30 - len(TRIVIAL) + 1


@pytest.mark.parametrize("spelling", [*range(len(TRIVIAL)), 20])
def test_every_spelling_asks_the_same(doors, spelling) -> None:
    door = doors(budget=Fraction(100)).open(target_of(TRAIT), Fraction(20))
    members = np.arange(32) % 3 == 0
    told, exact = door.count(members, spelling=spelling), np.count_nonzero(TRAIT & members)
    assert abs(told - exact) <= 1, "at epsilon 20, noise of two or more has probability 9e-18"


def test_nobody_is_a_cohort_too() -> None:
    assert count("patients", spelled(0, col("number"), [], condition(col("ill")))).table == "patients"


def test_attackers_come_through_the_door() -> None:
    """No module of the attacks imports an engine, the noise, a mechanism or the ledger: only a session answers."""
    inside = ("lapwing.engines", "lapwing.noise", "lapwing.mechanisms", "lapwing.ledger", "lapwing.answers")
    for file in Path(attacks_package.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not str(node.module).startswith(inside), file.name


def test_reconstruction_spreads_the_budget_and_then_tries_in_haste(doors) -> None:
    made = doors()
    campaign = Campaign(target=target_of(TRAIT[:16]), doors=made)
    outcomes = campaign.reconstruction()
    assert [outcome.recovered for outcome in outcomes if outcome.answers is CampaignAnswers.EXACT] == [1, 1]
    at_the_door = [outcome for outcome in outcomes if outcome.answers is CampaignAnswers.LAPWING]
    assert [(one.attack, one.asked, one.answered) for one in at_the_door] == [
        ("least squares", 64, 64),
        ("linear program", 64, 64),
        ("in haste", 64, 10),
    ]
    assert [made.spent(0), made.spent(1)] == [1, 1]


def test_averaging_pays_for_each_question_once_in_the_same_words_and_each_time_in_others(doors) -> None:
    made = doors()
    exact, i2b2, same, padded = Campaign(target=target_of(TRAIT), doors=made).averaging()
    assert exact.recovered == 1
    assert i2b2.recovered > 0.9
    assert (same.asked, same.stopped) == (180, "147 repeats, ledger"), "33 questions, five times over and more"
    assert (padded.answered, padded.asked, padded.stopped) == (216, 216, "noise ±647 (95 %), ledger")
    assert [made.spent(0), made.spent(1)] == [1, 1]

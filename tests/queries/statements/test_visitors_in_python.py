"""What people who know pandas write is answered, with the numbers that DuckDB gives to the same in SQL."""

from dataclasses import replace

import pytest

from engines.workbenches import DuckDBBench
from lapwing.answers.target import parse_target, release_together
from lapwing.queries.planning.planner import Question, plan_together
from queries.sql_page import BUDGET, _estimates, _is_same, _labels, _plain, _unlike_groups, filled
from queries.visitors_python import NAMES, QUESTIONS
from queries.visitors_statements import HOUSES, rows


@pytest.mark.parametrize("house", HOUSES)
def test_the_numbers_before_noise_are_those_of_duckdb(house: str) -> None:
    population, wrong = HOUSES[house], list[str]()
    with DuckDBBench(population) as engine, filled(population, rows(house)) as truth:
        engine.load(rows(house))
        for _, written, sql in (one for one in QUESTIONS if one[0] == house):
            question: Question = eval(written, dict(NAMES))  # noqa: S307 - as somebody would type it
            question = replace(question, max_groups=question.max_groups or 12)
            plans = plan_together({"n": question}, population)
            released = release_together({"n": question}, plans, population, parse_target(epsilon=1), BUDGET)["n"]
            told = truth.execute(sql).fetchall()
            if hasattr(released.meaning, "at"):
                unlike = _unlike_groups(released.plan, engine, told, 0)
                wrong += [] if unlike is None else [f"{written}: {unlike}"]
                continue
            theirs = {tuple(map(_plain, key)): number for *key, number in told}
            ours = {_labels(released.plan, key, as_days=False): n for key, n in _estimates(released, engine).items()}
            wrong += [f"{written}: no group {key}" for key in theirs.keys() - ours.keys()]
            wrong += [
                f"{written}: {key}: {number} is not {theirs.get(key)}"
                for key, number in ours.items()
                if not _is_same(number, theirs.get(key), 1e-5)
            ]
    assert not wrong, "\n".join(wrong)
    assert sum(one[0] == house for one in QUESTIONS) >= 4

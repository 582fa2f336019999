"""What costs nothing to ask costs next to nothing to refuse, always the same texts; `make fuzz` grows others."""

import math
from itertools import count

import pytest

from fuzz import cost
from fuzz.cost import KINDS, NUMBERS, Costs, house, run
from lapwing.accounting.filters.approximate import loss_of
from lapwing.accounting.filters.charge import cost_of_event, priced
from lapwing.answers.target import _calibrated

TURNS, SEED = 40, 20_261_118
PLAIN = dict.fromkeys([*KINDS, *NUMBERS], 0)
QUICK = 0.25
"""Seconds of the processor that a refusal takes at most, on a machine twice as slow as it should be twice that."""
DOUBLED = 17
"""How many times a value is added to itself: a hundred thousand parts, if nobody counts them."""


def computed(names: int, made: str) -> str:
    """WITH names of which each computes a column from that of the one before, `q`."""
    text = "with a0 as (select *, age as q0 from person)"
    for i in range(1, names):
        text += f", a{i} as (select *, {made.replace('q', f'q{i - 1}')} as q{i} from a{i - 1})"
    return f"{text} select avg(q{names - 1}) from a{names - 1}"


UNKNOWN = "age = 1"
for _ in range(18):
    UNKNOWN = f"(x1 = 1 or {UNKNOWN}) is null"
HELD = {
    "635 characters": computed(9, " + ".join("q" * 8)),
    "doubled": computed(16, "q + q"),
    "cases": computed(16, "case when q = 1 and q = 1 then 1 else 0 end"),
    "unused copies": computed(12, "q + q").replace(
        " select avg", ", z as (select *, " + ", ".join(f"q11 as c{i}" for i in range(400)) + " from a11) select avg"
    ),
    "overlapping counts": "select place, "
    + ", ".join(f"count(*) filter (where x1 > {10 * i})" for i in range(20))
    + " from person group by 1",
    "unknowns of unknowns": "select count(*) from person where smoker" + " is null" * 90,
    "what is unknown of what is unknown": f"select count(*) from person where {UNKNOWN}",
    "joins": "select count(distinct person.pid) from person "
    + " ".join(f"join visit v{i} on v{i}.pid = person.pid and v{i}.ward > {i}" for i in range(100)),
}
"""Texts that once took seconds, or for ever."""


@pytest.fixture(scope="module")
def inside():
    with house() as opened:
        opened.look("select count(*) from person", PLAIN)
        yield opened


@pytest.mark.parametrize("budget", range(KINDS["budget"]))
@pytest.mark.parametrize("name", HELD)
def test_what_once_held_a_server_is_priced_or_refused_at_once(inside, name, budget, monkeypatch) -> None:
    monkeypatch.setattr(cost, "SECONDS", QUICK)
    for target in (0, 1):
        genome = {**PLAIN, "budget": budget, "target": target}
        Costs().measured(lambda genome=genome: inside.look(HELD[name], genome), HELD[name])


SUM_OF_FIVE = " + ".join(["cast(smoker as integer)"] * 5)
SPLIT_IN_MANY_WAYS = f"select place, sum({SUM_OF_FIVE}) from person group by 1"
"""One person moves a thousand sums by 25 in the square, in 19 ways that may each be the worst: once 8 s of work."""


@pytest.mark.parametrize("budget", range(KINDS["budget"]))
@pytest.mark.parametrize("target", range(KINDS["target"]))
def test_noise_on_many_numbers_is_priced_at_once(inside, budget, target, monkeypatch) -> None:
    monkeypatch.setattr(cost, "SECONDS", QUICK)
    texts = (SPLIT_IN_MANY_WAYS + " " * blanks for blanks in count())

    def looked() -> str:  # each time as if for the first time
        for known in (priced, cost_of_event, loss_of, _calibrated):
            known.cache_clear()
        return inside.look(next(texts), {**PLAIN, "budget": budget, "target": target})

    Costs().measured(looked, SPLIT_IN_MANY_WAYS)


def test_questions_that_grow_are_priced_or_refused_in_little_time_and_memory(capsys) -> None:
    run(math.inf, SEED, most=TURNS)
    told = capsys.readouterr().out
    assert "slowest" in told
    assert "MiB" in told


def built(inside) -> str:
    return cost._built(inside, ["add"] * DOUBLED + ["compare"], PLAIN)


def test_a_size_that_nobody_counts_would_be_found(inside, monkeypatch) -> None:
    """The fuzzer is able to fail: without the count of parts, what is built in Python takes seconds to be shown."""
    monkeypatch.setattr(cost, "SECONDS", 0.02)
    Costs().measured(lambda: built(inside), "doubled")
    monkeypatch.setattr("lapwing.queries.language.sized.check_most", lambda *_: None)
    with pytest.raises(AssertionError, match=r"takes .* s, 7 characters"):
        Costs().measured(lambda: built(inside), "doubled")


def test_memory_that_nobody_gives_back_would_be_found(monkeypatch) -> None:
    monkeypatch.setattr(cost, "MEMORY", 2**20)
    with pytest.raises(AssertionError, match=r"holds .* MiB"):
        Costs().held(lambda: str(len(bytearray(2**21))), "a text")

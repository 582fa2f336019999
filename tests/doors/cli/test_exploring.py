"""Exploring at the command line: the price before, one opening, counts that go on, the end, refusals."""

import pytest

from doors.cli.at_the_prompt import run, spent

EXPLORE = ("explore", "patients", "--column", "sex", "--column", "bins(age, 0, 20, 65, 120)", "--questions", "100")


@pytest.fixture(scope="module")
def price(budget):
    return ["--epsilon", "3", "--delta", "1e-7"] if budget.delta else budget.options(3)


def test_an_explorer_is_paid_once_and_goes_on(clinic, price) -> None:
    told = run(clinic, *EXPLORE, *price, "--dry-run", columns=300)
    assert (told.code, "free answers" in told.out, "model costs" in told.out) == (0, True, True), told
    assert spent(clinic) == "0"
    sure = ("--confidence", "0.99999999", "--json")  # so that no interval misses what it is about by chance
    first = run(clinic, *EXPLORE, *price, "--count", "sex = 'F'", "--count", "age >= 65 and sex = 'M'", *sure).json
    for one, truth in zip(first["answers"], (1000, 350), strict=True):
        assert one["answer"]["low"] <= truth <= one["answer"]["high"]
    paid = run(clinic, "budget", "--json").json["left"]
    words = run(clinic, *EXPLORE, *price, "--file", "-", stdin="age < 20\n-- a remark\nsex = 'F'\n", columns=300)
    assert (words.code, "age < 20" in words.out, "free" in words.out) == (0, True, True), words
    guessed = run(clinic, *EXPLORE, *price, "--guess", "--count", "age >= 20", columns=300).out
    assert "free, and not checked" in guessed
    assert run(clinic, "budget", "--json").json["left"] == paid
    assert first["explorer"][:8] not in run(clinic, "stream", "list", columns=300).out, "its checks are no stream"
    assert run(clinic, *EXPLORE, *price, "--close").code == 0
    closed = run(clinic, *EXPLORE, *price, "--count", "age < 65", columns=300)
    assert closed.code in {2, 3}, closed


@pytest.mark.one_budget("what is wrong with the words is wrong under every kind")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--epsilon", "1"), "--count is missing"),
        (("--epsilon", "1", "--count", "shoe = 3"), "shoe"),
        (("--epsilon", "1", "--yeses", "none", "--count", "age < 20"), "--yeses"),
        (("--epsilon", "1", "--checks", "2", "--count", "age < 20"), "--checks 2 is all of the price"),
        (("--count", "age < 20"), "epsilon"),
    ],
)
def test_what_cannot_be_explored_is_refused(clinic, words, says) -> None:
    told = run(clinic, *EXPLORE, *words, columns=300)
    assert (told.code, says in told.err) == (2, True), told
    assert spent(clinic) == "0"

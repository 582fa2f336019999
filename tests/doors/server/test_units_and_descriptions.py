"""Units and descriptions of columns are told wherever columns are: on pages, in SQL, in Python, at the prompt."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run
from doors.server.pages.visitors import P, pages_of, text_of
from lapwing.queries.catalogue.column import Column, Integer
from lapwing.vocabulary.errors import ParameterError
from postgres_server import where_there_is_room

pytestmark = pytest.mark.one_budget("what columns are called has no price")

SAID = 'title = "body mass index", unit = "kg/m²", description = "weighed without shoes"'


@pytest.fixture(scope="module")
def pages(budget):
    with (
        TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder,
        pages_of(
            Path(folder), budget, declared=lambda text: text.replace('title = "body mass index"', SAID), people=100
        ) as pages,
    ):
        yield pages


def test_pages_tell_them(pages) -> None:
    ana = pages.browser("ana")
    dictionary = text_of(ana.get(f"{P}/dictionary"))
    assert "10 to 60 kg/m²" in dictionary
    assert "weighed without shoes" in dictionary
    assert "body mass index" in text_of(ana.get(f"{P}/dictionary", params={"q": "shoes"})), "they are searched, too"
    built = text_of(ana.get(f"{P}/ask", params={"add": "patient.bmi|bmi|", "kind": "value"}))
    assert "body mass index kg/m²" in built
    assert "weighed without shoes" in built
    assert "body mass index, kg/m²" in built, "the statistic names the unit"
    for split, says in (("", "kg/m² "), ("sex", "mean, kg/m²")):
        asked = ana.ask({"kind": "value", "stat": "mean", "of": "patient.bmi", "split": split, "epsilon": "0.1"})
        assert says in text_of(ana.get(asked.headers["location"]))
    for place in ("publish", "compare", "study"):
        assert "body mass index (kg/m²)" in text_of(ana.get(f"{P}/{place}")), place
    assert 'title="body mass index (kg/m²): weighed without shoes"' in ana.get(f"{P}/sql").text


def test_python_here_and_at_a_distance_sql_and_the_prompt_tell_them(pages) -> None:
    ana = pages.browser("ana")
    token = re.search(r"lw_[\w-]+", ana.post(f"{P}/account/tokens", {"name": "a test"}).text)[0]
    with lw.connect(pages.address, token) as there, lw.open(pages.door.folder, analyst="ana") as here:
        told = str(here.tables()["patient"])
        assert str(there.tables()["patient"]) == told
        assert re.search(r"bmi +real +10 to 60 kg/m²; weighed without shoes", told), told
        described = there.sql("describe patient", epsilon="0.1")
        assert "10 to 60 kg/m²; weighed without shoes" in str(described)
    assert "10 to 60 kg/m²" in run(pages.door.folder, "tables").out


@pytest.mark.parametrize("word", ["unit", "description"])
def test_what_cannot_stand_on_a_line_is_refused(word) -> None:
    for given in (" kg", "kg\n", "k" * 301):
        with pytest.raises(ParameterError, match=f"is not a {word}; write at most"):
            Column(name="mass", type=Integer(), **{word: given})
    assert "unit" not in Column(name="mass", type=Integer()).to_dict()

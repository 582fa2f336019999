"""Sentences of the library in German: each template is what the library really says, and none is guessed."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lapwing as lw
from doors.server.pages.visitors import P, pages_of, text_of
from lapwing.doors.server.pages import library_words
from lapwing.doors.server.pages.library_words import in_language
from lapwing.queries.algebra.words import at_most
from lapwing.vocabulary.errors import LapwingError, SuspendedError

FILE = Path(library_words.__file__).parent / "messages" / "library" / "de.json"
STATEMENTS = [
    *("select max(bmi) from patient", "select min(bmi) from patient", "select bmi from patient"),
    *("select count(*) from nowhere", "select avg(agee) from patient", "select * from patient", "selec"),
    *("select count(*) from patient where sex = 'X'", "select avg(sex) from patient", "delete from patient"),
    *("select count(*) from patient where age > ", "select count(*) from patient; select 1"),
    *("select count(*) from patient group by born", "select count(*) from visit group by visit_id"),
    *("select distinct sex from patient", "select count(*) from patient p join visit v on p.sex=v.kind"),
]
PRICES = [{"within": 0}, {"epsilon": -1}, {"epsilon": "x"}, {"epsilon": 50}, {"epsilon": "0.1", "delta": "1e-6"}]


def refused(work: Callable[[], object]) -> str:
    """Return what is refused, now or in a preview."""
    try:
        found = work()
    except LapwingError as failure:
        return str(failure)
    return str(getattr(found, "refusal", None) or "; ".join(getattr(found, "warnings", ())))


def said_by(folder, budget) -> Iterator[str]:
    with lw.open(folder, analyst="ana") as clinic:
        dear = budget.of("50")
        if budget.name == "epsilon":
            for statement in STATEMENTS:
                yield refused(lambda statement=statement: clinic.preview(statement, epsilon="0.1"))
            for price in PRICES:
                yield refused(lambda price=price: clinic.preview("select count(*) from patient", **price))
            yield refused(lambda: clinic.preview("select count(*) from patient", within="0.5"))
            yield refused(lambda: clinic.rows_a_person("patient", epsilon="0.1"))
        yield refused(lambda: clinic.ask("select count(*) from patient", **budget.of("15")))
        several = ["select count(*) from patient where age > 1", "select count(*) from patient where age > 2"]
        yield refused(lambda: clinic.ask_many(several, **budget.of("9")))
        yield refused(lambda: clinic.preview("select count(*) from patient", **dear))
        yield refused(lambda: clinic.ask("select count(*) from patient", **budget.of("6")))
        yield refused(lambda: clinic.ask("select count(*) from visit", **budget.of("6")))


@pytest.fixture(scope="module")
def pages(budget, tmp_path_factory):
    with pages_of(tmp_path_factory.mktemp("clinic"), budget, "10", people=200) as pages:
        yield pages


def test_what_the_library_refuses_is_told_in_german(pages, budget) -> None:
    told = [one for one in said_by(pages.door.folder, budget) if one]
    assert len(told) > 2
    for one in told:
        german = in_language("de", one)
        assert german != one, one
        assert not re.search(r"\b(?:is left|is asked|ask the|write|which|such as)\b", german), german
    assert in_language("de", str(SuspendedError("population clinic"))).startswith("die Ausgaben von population clinic")


def bare(text: str) -> str:
    """Return a text without quotes and white space: sentences stand on several lines of a source."""
    return re.sub(r"""\bf?["']|["'\s]""", "", text)


@pytest.mark.one_budget("templates have no price")
def test_templates_are_of_the_library_and_keep_every_hole() -> None:
    source = bare(" ".join(path.read_text() for path in Path(lw.__file__).parent.rglob("*.py")))
    source += "".join(bare(at_most(number, what)) for number in (1, 3) for what in ("row", "group"))
    kinds = json.loads(FILE.read_text())
    for english, german in (kinds["sentences"] | kinds["parts"]).items():
        assert sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", german)), english
        pieces = [one.strip(" :;,()") for one in re.split(r"\{\w+\}|; |, |: | write |write | of$| of | in ", english)]
        assert [one for one in pieces if len(one) > 9 and bare(one) not in source] == [], english


def test_a_page_in_german_refuses_in_german(pages, budget) -> None:
    ana, german = pages.browser("ana"), {"Accept-Language": "de"}
    cut = ana.get(f"{P}/sql", params={"q": "select kind, count(*) from visit group by kind"}, headers=german)
    assert "höchstens 5 Zeilen je Person in allen Gruppen zusammen" in text_of(cut)
    dear = {"q": "select count(*) from patient", "pay": budget.currency, budget.currency: "15"}
    for words, says in ((dear, "Gefragt wird"), ({"q": "select avg(agee) from patient"}, "hat keine Spalte 'agee'")):
        assert says in text_of(ana.get(f"{P}/sql", params=words, headers=german))
        assert says not in text_of(ana.get(f"{P}/sql", params=words))


@pytest.mark.one_budget("what is long has no price")
def test_a_long_or_strange_sentence_stays_and_takes_no_time() -> None:
    for strange in ("; it has " * 300, "{remedy}, or {remedies}" * 20, "x is asked and " * 40):
        assert isinstance(in_language("de", strange), str)
    assert in_language("de", "y" * 10_000) == "y" * 10_000

"""The document of a cohort: form, link and text say the same; what is not understood is refused whole."""

import string
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.doors.server.pages.axes import axes_of, cells_of, sql_of_axes
from lapwing.doors.server.pages.cohort_document import (
    CohortDraft,
    CohortPanel,
    Criterion,
    Limit,
    Near,
    UnclearError,
    from_document,
    from_link,
    to_document,
    to_link,
)
from lapwing.doors.server.pages.cohort_form import act, from_form
from lapwing.doors.server.pages.cohort_text import condition_of, steps_of, text_of
from lapwing.doors.server.pages.cohort_undo import UndoHistory
from lapwing.doors.server.pages.cohort_words import sentence_of
from lapwing.doors.server.pages.dictionary import Dictionary
from lapwing.doors.server.pages.frame import templates
from lapwing.doors.server.pages.page_words import words_of
from lapwing.made_up.clinic_files import make_clinic
from lapwing.queries.catalogue.column import Boolean, Category, Column
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.language.expressions import EVERYONE
from lapwing.vocabulary.guarantee import PrivacyUnit


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = make_clinic(tmp_path_factory.mktemp("cohorts") / "clinic", 20)
    with lw.create(folder) as workspace:
        yield workspace.session("clinic", analyst="ana")


@pytest.fixture(scope="module")
def dictionary(session) -> Dictionary:
    return Dictionary(session.population)


numbers = st.integers(-999, 999).map(str)
days = st.dates().map(str)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
near = st.just(Near(of="procedure", order="same")) | st.builds(
    Near,
    of=st.just("condition"),
    days=st.integers(0, 999).map(str),
    order=st.sampled_from(["around", "after", "before"]),
    limits=st.just((Limit(column="concept", values=("asthma",)),)) | st.just(()),
)
columns = st.one_of(
    st.builds(
        lambda values, unknown: Criterion(
            of="patient.smoker", limits=(Limit(column="smoker", values=tuple(values), unknown=unknown),)
        ),
        st.sets(st.sampled_from(["true", "false"]), min_size=1).map(sorted),
        st.booleans(),
    ),
    st.builds(
        lambda low, size: Criterion(
            of="patient.age", limits=(Limit(column="age", low=str(low), high=str(low + size)),)
        ),
        st.integers(-9, 99),
        st.integers(0, 99),
    ),
    st.sets(st.sampled_from(["north", "south", "island"]), min_size=1).map(
        lambda values: Criterion(of="patient.site", limits=(Limit(column="site", values=tuple(sorted(values))),))
    ),
)
events = st.builds(
    lambda day, kind, times, age, near: Criterion(
        of="visit",
        limits=tuple(
            one for one in (Limit(column="kind", values=tuple(kind)), Limit(column="day", low=day)) if not one.is_empty
        ),
        times=times,
        age_low=age,
        near=near,
    ),
    days | st.just(""),
    st.sets(st.sampled_from(["inpatient", "emergency"])).map(sorted),
    st.integers(1, 5),
    st.integers(0, 99).map(str) | st.just(""),
    near | st.none(),
)
panels = st.builds(
    CohortPanel, include=st.booleans(), criteria=st.lists(columns | events, min_size=1, max_size=3).map(tuple)
)
cohorts = st.builds(CohortDraft, panels=st.lists(panels, min_size=1, max_size=3).map(tuple))


def alone(criterion: Criterion) -> CohortDraft:
    return CohortDraft(panels=(CohortPanel(criteria=(criterion,)),))


def fields_of(cohort: CohortDraft) -> dict[str, list[str]]:
    """Return the inputs that the builder draws for a cohort."""
    found: dict[str, list[str]] = {}
    for p, panel in enumerate(cohort.panels):
        found[f"p{p}.include"] = ["in" if panel.include else "out"]
        for c, one in enumerate(panel.criteria):
            name = f"p{p}.c{c}"
            found[f"{name}.of"] = [one.of]
            found[f"{name}.times"] = [str(one.times)]
            found |= {f"{name}.age.low": [one.age_low], f"{name}.age.high": [one.age_high]} if one.is_event else {}
            _limits(found, name, one.limits)
            if one.near is not None:
                found |= {f"{name}.near.of": [one.near.of], f"{name}.near.days": [one.near.days]}
                found[f"{name}.near.order"] = [one.near.order]
                _limits(found, f"{name}.near", one.near.limits)
    return found


def _limits(found: dict[str, list[str]], name: str, limits: tuple[Limit, ...]) -> None:
    for limit in limits:
        found[f"{name}.{limit.column}.in"] = list(limit.values)
        found |= {f"{name}.{limit.column}.low": [limit.low], f"{name}.{limit.column}.high": [limit.high]}
        found[f"{name}.{limit.column}.unknown"] = ["on"] if limit.unknown else []


@settings(max_examples=40, deadline=None)
@given(cohorts)
def test_form_link_and_document_say_the_same_and_the_text_can_be_asked(session, dictionary, cohort) -> None:
    assert from_document(to_document(cohort)) == cohort
    assert from_link(to_link(cohort)) == cohort
    assert from_form(fields_of(cohort), dictionary) == cohort
    asked = session.preview(lw.count("patient", text_of(cohort, dictionary)), within=30)
    meant = lw.count("patient", condition_of(cohort, dictionary))
    assert session.preview(meant, within=30).asked.text == asked.asked.text, "the text is what was meant"
    turned = CohortDraft(panels=cohort.panels[::-1])
    assert session.preview(lw.count("patient", text_of(turned, dictionary)), within=30).asked.text == asked.asked.text
    assert len(steps_of(cohort, dictionary)) == len(cohort.panels)
    assert sentence_of(cohort, dictionary, words_of("en")).endswith(".")


parts = st.sampled_from(["panels", "any", "of", "where", "times", "include"])
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(parts, inner, max_size=3),
    max_leaves=8,
)


def read(document) -> CohortDraft | str:
    try:
        return from_document(document)
    except UnclearError as unclear:
        return words_of("en")(unclear.message, **unclear.values)


@settings(max_examples=60, deadline=None)
@given(documents)
def test_whatever_is_no_cohort_is_refused(document) -> None:
    found = read(document)
    assert isinstance(found, str) or from_document(to_document(found)) == found


@given(words)
def test_any_value_stays_what_it_is(dictionary, value) -> None:
    one = alone(Criterion(of="patient.site", limits=(Limit(column="site", values=(value,)),)))
    assert from_link(to_link(one)) == from_document(to_document(one)) == from_form(fields_of(one), dictionary) == one
    assert text_of(one, dictionary) == "site = '" + value.replace("'", "''") + "'"
    assert "<" not in sentence_of(one, dictionary, words_of("en")).replace("<strong>", "").replace("</strong>", "")


@pytest.mark.parametrize("of", ["patient.password", "nothing", "patient", "", "visit.kind.x"])
def test_a_name_that_is_not_declared_refuses_the_whole(dictionary, of) -> None:
    with pytest.raises(UnclearError):
        text_of(alone(Criterion(of=of, limits=(Limit(column="x", values=("1",)),))), dictionary)
    with pytest.raises(UnclearError):
        text_of(alone(Criterion(of="visit", limits=(Limit(column=of, low="1"),))), dictionary)


@pytest.mark.parametrize("day", ["2024-02-30", "0000-01-01", "24-1-1", "tomorrow"])
def test_a_day_that_is_none_is_unclear(dictionary, day) -> None:
    with pytest.raises(UnclearError, match="day"):
        text_of(alone(Criterion(of="visit", limits=(Limit(column="day", low=day),))), dictionary)


@given(st.text(string.printable, max_size=20))
def test_no_button_breaks_the_builder(dictionary, do) -> None:
    cohort = CohortDraft(panels=(CohortPanel(criteria=(Criterion(of="visit"),)),))
    for verb in (
        "",
        "add:",
        "add:0:",
        "drop:",
        "drop:0:",
        "value:0:0:",
        "values:0:0:kind|",
        "value:0:0:near.",
        "value:",
    ):
        assert isinstance(act(cohort, verb + do, dictionary), CohortDraft)


def test_buttons_do_what_they_say(dictionary) -> None:
    one = act(CohortDraft(), "add:0:patient.smoker|smoker|", dictionary)
    assert text_of(one, dictionary) == "smoker"
    two = act(act(one, "add-panel", dictionary), "add:1:condition|concept|asthma", dictionary)
    assert text_of(two, dictionary) == "smoker and has(condition, concept = 'asthma')"
    both = act(two, "add:1:visit||", dictionary)
    assert text_of(both, dictionary) == "smoker and (has(condition, concept = 'asthma') or has(visit))"
    assert text_of(act(both, "drop:1:0", dictionary), dictionary) == "smoker and has(visit)"
    assert text_of(act(both, "drop:0", dictionary), dictionary) == text_of(
        CohortDraft(panels=both.panels[1:]), dictionary
    )


def test_who_is_not_known_to_match_is_not_left_out(dictionary) -> None:
    age = Criterion(of="patient.age", limits=(Limit(column="age", low="20", high="30"),))
    out = CohortDraft(panels=(CohortPanel(include=False, criteria=(age,)),))
    assert text_of(out, dictionary) == "not (age >= 20 and age <= 30) or age is null"


def test_who_is_not_known_to_match_one_criterion_is_not_left_out_by_another(dictionary) -> None:
    known, either = (Limit(column="smoker", values=("true",), unknown=unknown) for unknown in (False, True))
    criteria = tuple(Criterion(of="patient.smoker", limits=(limit,)) for limit in (known, either))
    for order in (criteria, criteria[::-1]):
        text = text_of(CohortDraft(panels=(CohortPanel(include=False, criteria=order),)), dictionary)
        assert text.startswith("not (")
        assert text.endswith(") or smoker is null")


def test_the_dictionary_is_searched_by_every_word(dictionary) -> None:
    assert dictionary.search("asth")[0].button == "condition|concept|asthma"
    assert dictionary.search("cond")[0].title == "condition"
    assert dictionary.search("zzz") == []
    assert not any("visit_id" in one.button for one in dictionary.search(""))


def test_in_the_same_visit_where_the_catalogue_says_which(dictionary) -> None:
    one = alone(Criterion(of="visit", near=Near(of="procedure", order="same")))
    assert text_of(one, dictionary) == "has(visit, has(procedure, procedure.visit_id = visit.visit_id))"
    assert "in the same visit as an entry in procedure" in sentence_of(one, dictionary, words_of("en"))
    with pytest.raises(UnclearError):
        text_of(alone(Criterion(of="visit", near=Near(of="condition", order="same"))), dictionary)
    assert [one.name for one in dictionary.beside(dictionary.source("visit"))] == [
        "condition",
        "procedure",
        "measurement",
    ]


CONCEPTS = tuple(range(1, 50_001))


@pytest.fixture(scope="module")
def large() -> Dictionary:
    names = tuple(f"{('chronic', 'acute', 'old')[n % 3]} illness of organ {n % 977}, kind {n}" for n in CONCEPTS)
    concept = Column(name="concept", type=Category(values=CONCEPTS, labels=names))
    events = Table(name="condition", columns=(concept,), rows=RowsPerPerson.MANY_A_PERSON)
    person = Table(name="person", columns=(Column(name="smoker", type=Boolean()),))
    unit = PrivacyUnit(person_key="person_id")
    return Dictionary(Population(name="p", unit=unit, tables=(person, events)))


def test_a_vocabulary_of_fifty_thousand_is_searched_while_one_types(large) -> None:
    large.search("warm")
    field = large.field("condition.concept")
    field.search("warm")

    def taken() -> float:
        begun = process_time()
        for text in ("a", "chronic organ 5", "kind 49999", "nothing is called so", "illness"):
            large.search(text)
            field.search(text)
        return (process_time() - begun) / 10

    assert any(taken() < 0.05 for _ in range(10))
    assert large.search("kind 49999")[0].value == "49999"
    assert len(field.search("organ 976,")) == 51


def test_a_set_of_concepts_is_made_of_what_is_found(large) -> None:
    one = act(CohortDraft(), "add:0:condition|concept|7", large)
    more = act(one, "values:0:0:concept|organ 976,", large)
    assert len(more.panels[0].criteria[0].limit("concept").values) == 52
    assert text_of(act(one, "value:0:0:concept|9", large), large) == "has(condition, concept in (7, 9))"
    for nothing in (
        "value:0:0:concept|none",
        "values:0:0:concept|illness",
        "value:0:0:smoker|true",
        "value:9:0:concept|9",
    ):
        assert act(one, nothing, large) == one, nothing


def test_columns_and_tables_are_called_by_their_titles(dictionary) -> None:
    heavy = alone(Criterion(of="patient.bmi", limits=(Limit(column="bmi", low="30"),)))
    assert "body mass index 30 or more" in sentence_of(heavy, dictionary, words_of("en"))
    assert text_of(heavy, dictionary) == "bmi >= 30"
    assert dictionary.search("mass")[0].of == dictionary.search("bmi")[0].of == "patient.bmi"
    table = Table(name="t", columns=(Column(name="c", type=Boolean()),), title="Stays")
    unit = PrivacyUnit(person_key="person_id")
    assert Dictionary(Population(name="p", unit=unit, tables=(table,))).source("t").title == "Stays"


@pytest.mark.parametrize("title", ["two\nlines", " blanks ", "x" * 81])
def test_a_title_stands_on_one_line(title) -> None:
    with pytest.raises(lw.errors.ParameterError, match="is not a title; write at most 80 characters on one line"):
        Column(name="c", type=Boolean(), title=title)


def test_the_age_now_follows_from_the_day_of_birth_where_no_column_has_it(tmp_path) -> None:
    place = make_clinic(tmp_path / "clinic", 20)
    settings_file = place / "lapwing.toml"
    lines = settings_file.read_text().splitlines(keepends=True)
    settings_file.write_text("".join(line for line in lines if not line.startswith("age = ")))
    with lw.create(place) as workspace:
        session = workspace.session("clinic", analyst="ana")
        known = Dictionary(session.population)
        old = Criterion(of="patient.age", limits=(Limit(column="age", low="65"),))
        assert text_of(alone(old), known) == "age(born) >= 65"
        out = CohortDraft(panels=(CohortPanel(include=False, criteria=(old,)),))
        for cohort in (alone(old), out):
            session.preview(lw.count("patient", text_of(cohort, known)), within=30)
        statement = sql_of_axes(axes_of("groups", ("age",), known), "from patient")
        assert statement.startswith("select bins(age(born), 0, 20, 40, 60, 80, 100, 120), count(*)")
        session.preview(statement, within=30)


@pytest.fixture(scope="module")
def omop(tmp_path_factory):
    """People with a diagnosis each; of diabetes there are two kinds, one of which has a kind again."""
    folder = tmp_path_factory.mktemp("omop")
    (folder / "person.csv").write_text("person_id,smoker\n" + "".join(f"{i},true\n" for i in range(40)))
    names = {201820: "Diabetes", 201826: "Type 2 diabetes", 443238: "Diabetic nephropathy", 316866: "Hypertension"}
    ill = "".join(f"{i},{list(names)[i // 10]}\n" for i in range(40))
    (folder / "condition.csv").write_text(f"person_id,concept\n{ill}")
    (folder / "CONCEPT.csv").write_text("concept_id,concept_name\n" + "".join(f"{k},{v}\n" for k, v in names.items()))
    pairs = ((201820, 201826), (201820, 443238), (201826, 443238), (316866, 316866))
    ancestors = "ancestor_concept_id,descendant_concept_id\n" + "".join(f"{a},{b}\n" for a, b in pairs)
    (folder / "CONCEPT_ANCESTOR.csv").write_text(ancestors)
    settings = """
[vocabularies]
concept = "CONCEPT.csv"
concept_ancestor = "CONCEPT_ANCESTOR.csv"
[populations.omop]
person_key = "person_id"
budget = { epsilon = "1000" }
[populations.omop.tables.person]
source = "person.csv"
columns.smoker = { type = "boolean" }
[populations.omop.tables.condition]
source = "condition.csv"
rows = "many"
[populations.omop.tables.condition.columns.concept]
type = "category"
values = { vocabulary = "concept", value = "concept_id", label = "concept_name" }
"""
    with lw.create(folder, settings) as workspace:
        yield workspace.session(analyst="ana")


def test_the_builder_offers_all_kinds_of_a_concept(omop) -> None:
    shown = {"t": words_of("en"), "dictionary": Dictionary(omop.population), "base": "", "past": UndoHistory()}
    one = act(CohortDraft(), "add:0:condition|concept|201820", shown["dictionary"])
    drawn = templates().get_template("panels.html").render(**shown, cohort=one)
    assert 'name="p0.c0.concept.kinds" value="on"><span>and all kinds of it</span>' in drawn
    bare = act(CohortDraft(), "add:0:condition||", shown["dictionary"])
    assert ".kinds" not in templates().get_template("panels.html").render(**shown, cohort=bare)


def test_a_concept_stands_for_all_its_kinds_where_a_public_table_knows_them(omop, dictionary) -> None:
    concepts = Dictionary(omop.population)
    inputs = {"p0.include": ["in"], "p0.c0.of": ["condition"], "p0.c0.concept.in": ["201820"]}
    plain, whole = (from_form({**inputs, **more}, concepts) for more in ({}, {"p0.c0.concept.kinds": ["on"]}))
    assert from_link(to_link(whole)) == whole != plain
    told = sentence_of(whole, concepts, words_of("en")).striptags()
    assert "(concept Diabetes and all kinds of it)" in told
    out = CohortDraft(panels=(CohortPanel(include=False, criteria=whole.panels[0].criteria),))
    texts = [text_of(one, concepts) for one in (plain, whole, out)]
    people = [round(omop.ask(lw.count("person", one), epsilon="20").value / 10) for one in texts]
    assert people == [1, 3, 1]  # with the concept itself, for which the table has no row
    concept = Limit(column="concept", values=("asthma",), kinds=True)
    with pytest.raises(UnclearError, match="no_kinds"):  # nobody says here what is a kind of what
        text_of(alone(Criterion(of="condition", limits=(concept,))), dictionary)
    asthma = {"p0.c0.of": ["condition"], "p0.c0.concept.in": ["asthma"], "p0.c0.concept.kinds": ["on"]}
    assert not from_form(asthma, dictionary).panels[0].criteria[0].limits[0].kinds


def test_the_cells_that_a_stream_is_asked_about_are_the_groups_of_a_count(tmp_path) -> None:
    folder = make_clinic(tmp_path / "clinic", 400, epsilon="2000")
    with lw.create(folder) as workspace, workspace.session(analyst="ana") as session:
        fields = {one.name: one for one in Dictionary(session.population).groupings}
        for name in ("age", "bmi", "smoker", "site"):
            field = fields[name]
            by = lw.bins(name, field.edges) if field.edges else name
            counted = [row["answer"] for row in session.ask(lw.count("patient", by=by), epsilon="20").to_rows()]
            cells = cells_of((field,), EVERYONE, words_of("en"))
            each = [session.ask(lw.count("patient", cell.where), epsilon="20").value for cell in cells]
            assert len(counted) == len(each)
            assert max(abs(a - b) for a, b in zip(sorted(counted), sorted(each), strict=True)) <= 2

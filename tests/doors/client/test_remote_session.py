"""A notebook moves from a folder to a server by one line: the same previews, the same kinds of answers and errors."""

import inspect

import pytest

import lapwing as lw
from lapwing import errors
from lapwing.doors.client.remote_session import RemoteSession
from lapwing.doors.client.remote_stream import RemoteStream


@pytest.fixture(scope="module")
def here(folder):
    with lw.open(folder, analyst="ana") as session:
        yield session


@pytest.fixture(scope="module")
def there(door):
    with lw.connect(door.url, door.tokens["ana"]) as session:
        yield session


QUESTIONS = {
    "count": lw.count("patient", "age >= 65"),
    "built": lw.count("patient", (lw.col("age") >= 65) & ~lw.col("sex").is_in([8507])),
    "by label": lw.count("patient", "sex = 'Female'", by="sex"),
    "by bins": lw.count("patient", by=lw.bins("age", [0, 18, 65, 120])),
    "has": lw.count("patient", lw.has("visit", "kind = 'ER'", at_least=2)),
    "age": lw.count("patient", lw.age("born") >= 18),
    "rows": lw.count_rows("visit", by="kind", max_rows=2),
    "mean": lw.mean("patient", "bmi", "age < 50"),
    "proportion": lw.proportion("patient", "age > 50", by="sex"),
    "stddev": lw.stddev("patient", "age", sample=False),
    "correlation": lw.correlation("patient", "age", lw.col("age") * 2),
    "total": lw.total("patient", lw.col("age").clip(0, 50)),
    "quantiles": lw.quantiles("patient", "age", ["0.25", "0.5"], cells=12),
    "median": lw.median("patient", "bmi"),
    "top": lw.top("patient", "sex", 1),
    "top with counts": lw.top("visit", "kind", 1, counts=True, max_groups=1),
    "distinct": lw.count_distinct("visit", "kind", max_groups=1),
    "per person": lw.count("patient", by=lw.number_of("visit", "kind = 'ER'", most=3)),
    "funnel": lw.funnel("patient", ["age > 18", lw.col("sex") == 8507]),
    "best of": lw.best_of({"young": lw.count("patient", "age < 30"), "old": lw.count("patient", lw.col("age") > 70)}),
    "together": {"n": lw.count("patient"), "mean": lw.mean("patient", "age")},
    "sql": "select sex, count(*) as n, avg(age) as a from patient group by sex order by n desc",
    "looked up": lw.count("patient", "has(visit, code in (select code from kinds where of = 1))"),
    "few looked up": lw.count("visit", "code in (select code from kinds where code < 9)"),
    "looked up in SQL": "select count(*) from visit where code in (select code from kinds where of = 2)",
    "beside a vocabulary": "select count(*) from visit v join kinds k on v.code = k.code where k.of = 0",
    "looked up in Parquet": "select count(*) from visit where code in (select code from packed where code < 40)",
    "joined": "select count(distinct p.patient_id) from patient p join visit v using (patient_id) where v.kind = 'ER'",
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_has_the_same_preview_and_the_same_kind_of_answer(here, there, name) -> None:
    question = QUESTIONS[name]
    ours, theirs = (session.preview(question, epsilon="0.1") for session in (here, there))
    assert (theirs.to_dict(), repr(theirs), str(theirs)) == (ours.to_dict(), repr(ours), str(ours))
    assert theirs._repr_html_() == ours._repr_html_()
    told = there.ask(question, epsilon="0.1")
    again = here.ask(question, epsilon="0.1")  # the same answer, from the same ledger
    free = there.ask(question, epsilon="0.1")
    assert (told.free, again.free, free.free) == (False, True, True)
    assert told.to_dict() == {**again.to_dict(), "free": False}
    assert (free.to_dict("0.9"), free.to_rows(), repr(free)) == (again.to_dict("0.9"), again.to_rows(), repr(again))
    assert free._repr_html_() == again._repr_html_()
    assert there.rehearse(question, epsilon="0.1").rehearsal


def test_a_session_has_the_same_words(here, there) -> None:
    assert there.sql("select count(*) from patient where age > 3", epsilon="0.01").receipt is not None
    assert len(there.funnel("patient", ["age > 18", "sex = 8507"], within=60)) == 2
    assert there.tables().to_dict() == here.tables().to_dict()
    assert repr(there.budget()) == repr(here.budget())
    assert there.budget().to_dict() == here.budget().to_dict()
    assert repr(there).startswith("<session of ana at clinic of http://127.0.0.1:")


NOT_AT_A_DISTANCE = {
    "price": "a client prices by itself, and compares what it means with what the server means",
    "for_analyst": "somebody else comes with a token of their own",
    "open_stream": "rooms open streams of other kinds with it, and each has a verb of its own",
    "price_each": "a server prices boards of several questions with it",
    "reserve": "rounds are drawn by code that runs beside the data, and no client sends code",
}
NOT_OF_STREAMS_AT_A_DISTANCE = {
    "open": "it is what `stream` does",
    "settle": "a server settles by itself what a dead process left",
    "record": "it is a noun of the ledger, which stays at the server",
    "meaning": "a server says it to clients, which know it themselves",
    "stored": "a server looks with it whether anything is to be asked",
    "bound": "an explorer looks with it which codes a condition means",
    "keys_of": "a server looks with it for what a dead process left",
}
"""What a session, and its streams, have in a folder and not at a server, and why."""


def test_what_asks_one_question_is_the_same_at_a_distance(here, there) -> None:
    words = {"by": "sex", "epsilon": "0.1"}
    assert (
        there.preview_compare("patient", "age >= 50", **words).price
        == here.preview_compare("patient", "age", **words).price
    )
    told = there.compare("patient", "age >= 50", **words)
    assert (told.free, here.compare("patient", "age >= 50", **words).to_dict()) == (
        False,
        {**told.to_dict(), "free": True},
    )
    curves = there.survival("patient", time="age", event="bmi >= 30", grid=[0, 50, 100], **words)
    assert here.survival("patient", time="age", event="bmi >= 30", grid=[0, 50, 100], **words).curves == curves.curves
    with pytest.raises(
        AttributeError, match="'load_synthetic': it cannot be asked over HTTP yet; ask where the data is"
    ):
        _ = there.load_synthetic
    with pytest.raises(AttributeError, match=r"no attribute 'k_meens'$"):
        _ = there.k_meens


def test_nothing_else_is_missing_at_a_distance() -> None:
    def public(kind) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(lw.Session) - public(RemoteSession) == NOT_AT_A_DISTANCE.keys()
    assert public(lw.QuestionStream) - public(RemoteStream) == NOT_OF_STREAMS_AT_A_DISTANCE.keys()


def test_what_is_stored_is_told_for_nothing_or_not_at_all(here, there) -> None:
    question = lw.count("patient", "age = 77")
    assert there.stored(question, epsilon="0.01") is None
    told = there.ask(question, epsilon="0.01", key="the-key-of-77")
    left = there.budget().left
    for stored in (there.stored(question, epsilon="0.01"), there.stored(question, epsilon="0.01", key="the-key-of-77")):
        assert (stored.rows, stored.receipt, stored.free) == (told.rows, told.receipt, True)
    assert there.stored(question, epsilon="0.01").rows == here.stored(question, epsilon="0.01").rows
    assert there.stored(question, epsilon="0.02") is None
    with pytest.raises(errors.RequestConflictError):
        there.stored(question, epsilon="0.02", key="the-key-of-77")
    assert there.budget().left == left


def test_the_planned_total_is_that_of_the_server(here, there) -> None:
    for words in ({}, {"delta": "1e-9"}):
        assert there.planned_total(**words) == here.planned_total(**words)
    with pytest.raises(errors.ParameterError):
        there.planned_total(delta=2)


WORDS_NOT_AT_A_DISTANCE = {("stored", "entry")}
"""A server keeps by itself which answer a key stands for."""


def test_methods_take_the_same_words() -> None:
    def words(kind, name):
        several = inspect.signature(getattr(kind, name)).parameters.values()
        return [(one.name, one.default, one.kind) for one in several if (name, one.name) not in WORDS_NOT_AT_A_DISTANCE]

    for here, there in ((lw.Session, RemoteSession), (lw.QuestionStream, RemoteStream)):
        methods = [name for name in dir(here) if not name.startswith("_") and inspect.isfunction(getattr(here, name))]
        both = [name for name in methods if hasattr(there, name)]
        assert {"ask", "ask_many", "close"} < set(both)
        for name in both:
            assert words(there, name) == words(here, name), name


def test_many_questions_are_asked_at_once_all_or_none(here, there) -> None:
    asked = [lw.count("patient", lw.col("age") == age) for age in (1, 2, 1)]
    answers = there.ask_many(asked, epsilon="0.01", key="week 3")
    assert [one.free for one in answers] == [False, False, True]
    again = there.ask_many(asked, epsilon="0.01", key="week 3")
    assert [one.to_dict() | {"free": None} for one in again] == [one.to_dict() | {"free": None} for one in answers]
    assert [one.to_dict()["rows"] for one in here.ask_many(asked, epsilon="0.01")] == [
        one.to_dict()["rows"] for one in answers
    ]
    with pytest.raises(errors.BudgetExceededError) as refused:
        there.ask_many([lw.count("patient", f"age = {age}") for age in (51, 52, 53)], epsilon="18")
    with pytest.raises(errors.BudgetExceededError) as at_home:
        here.ask_many([lw.count("patient", f"age = {age}") for age in (51, 52, 53)], epsilon="18")
    assert str(refused.value) == str(at_home.value)
    assert there.ask_many([], epsilon="1") == []


def test_values_under_a_name_come_along(here, there) -> None:
    ages = list(range(20, 60))
    for session in (here, there):
        session.concept_set("working", ages)
    question = lw.count("patient", "age in concept_set('working')")
    many = lw.count("visit", lw.col("visit_id").is_in(lw.concept_set("many", range(10, 3000))))
    select = "select count(*) from patient where age in concept_set('working') and bmi > 20"
    for asked in (question, many, select):
        preview = there.preview(asked, epsilon="0.01")
        assert preview.asked.text == here.preview(asked, epsilon="0.01").asked.text
        assert not there.ask(asked, epsilon="0.01").free
    with there.stream(at_least=100, yeses=2, epsilon="0.5") as stream:
        named, built = "age in concept_set('working')", lw.col("age").is_in(lw.concept_set("those", range(20, 60)))
        answer = stream.ask(named)
        assert stream.ask(built).free, "it is the same question"
        (again, other) = stream.ask_many([built, lw.col("age").is_in(lw.concept_set("these", range(100, 110)))])
        assert (again.receipt, bool(other)) == (answer.receipt, False)


REFUSED = {
    "no column": lambda door: door.ask(lw.count("patient", "agee > 3"), epsilon=1),
    "no budget": lambda door: door.ask(lw.count("patient", "age > 3"), epsilon=20),
    "no budget in a preview": lambda door: (_ for _ in ()).throw(
        door.preview(lw.count("patient", "age > 3"), epsilon=20).refusal
    ),
    "no rows": lambda door: door.sql("select avg(visit_id) from visit group by kind", epsilon=1),
    "no price": lambda door: door.ask(lw.count("patient")),
    "no stream": lambda door: door.resume("which was never opened"),
    "dear stream": lambda door: door.stream(at_least=20, yeses=3, epsilon=20),
    "no table": lambda door: door.preview_stream(at_least=20, yeses=3, epsilon=1, table="doctor"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_the_same_error_with_the_same_sentence_and_numbers(here, there, name) -> None:
    raised = []
    for session in (here, there):
        with pytest.raises(errors.LapwingError) as refused:
            REFUSED[name](session)
        raised.append(refused.value)
    ours, theirs = raised
    assert type(theirs) is type(ours)
    assert (str(theirs), theirs.to_dict(), theirs.settings) == (str(ours), ours.to_dict(), ours.settings)
    assert theirs.spelled(lambda one: f"--{one.name}") == ours.spelled(lambda one: f"--{one.name}")


def test_a_stream_is_the_same_at_a_distance(here, there) -> None:
    terms = {"at_least": 100, "yeses": 3, "epsilon": "6"}
    ours, theirs = (session.preview_stream(**terms) for session in (here, there))
    assert (theirs.to_dict(), str(theirs), repr(theirs)) == (ours.to_dict(), str(ours), repr(ours))
    with there.stream(name="asthma", **terms) as stream:
        assert (stream.name, stream.yeses_left, stream.terms) == ("asthma", 3, ours.terms)
        assert stream.chance_of_yes(100) == ours.chance_of_yes(100)
        yes = stream.ask("age >= 0")
        assert (yes.verdict, yes.threshold, bool(yes)) == (lw.Verdict.ABOVE, 100, True)
        assert stream.interval(yes).low > 100
        assert stream.ask("age >= 0").free
        no = stream.ask(lw.at_least(399, "patient", lw.col("age") > 98))
        assert (no.gap, no.threshold) == (None, 399)
        grid = lw.cohorts("patient", {"sex": [8507, 8532], "age": lw.bins("age", [0, 90, 120])})
        seen = []
        many = stream.ask_many(grid, key="a grid", progress=lambda done, of: seen.append((done, of)))
        assert [bool(one) for one in many] == [True, False, True, False]
        assert (len(many.to_rows()), many.label_names, seen[-1]) == (4, ["sex", "age"], (4, 4))
        assert there.resume("asthma").yeses_left == stream.yeses_left == 0
        assert stream.spent == 6
        assert repr(stream) == "<stream 'asthma': 3 of 3 yeses given>"
        with pytest.raises(errors.StreamHaltedError):
            stream.ask("age = 4")
        with pytest.raises(errors.StreamHaltedError):
            stream.ask_many(["age = 4", "age = 5"])
        assert stream.ask_many(["age >= 0", "age = 5"]).halted


FURTHER = {
    "number": {"at_least": 100, "number": True},
    "total": {"total": lw.col("age").clip(0, 50), "at_least": 900},
    "proportion": {"proportion": "age > 50", "at_least": "0.25"},
    "correlation": {"correlation": "age", "at_least": "0.3", "number": True},
}


@pytest.mark.parametrize("name", ["number", "total", "proportion", "correlation"])
def test_streams_of_numbers_and_values_are_the_same_at_a_distance(here, there, name) -> None:
    terms = {**FURTHER[name], "yeses": 1, "epsilon": "0.25", "table": "patient"}
    ours, theirs = (session.preview_stream(**terms) for session in (here, there))
    assert (theirs.to_dict(), str(theirs), repr(theirs)) == (ours.to_dict(), str(ours), repr(ours))
    with there.stream(name=f"further {name}", **terms) as stream:
        asked = lw.col("age").clip(0, 90) if name == "correlation" else lw.col("age") >= 0
        first = stream.ask(asked)
        again = stream.ask(asked)
        assert (again.number, again.gap, again.threshold, again.interval()) == (
            (first.number, first.gap, first.threshold, first.interval())
        )
        assert (first.number is not None) is (bool(first) and stream.terms.gives_number)
        assert again.free
        assert there.resume(f"further {name}").terms == ours.terms


def test_what_ends_is_over(door) -> None:
    session = lw.connect(door.url, door.tokens["ana"], "clinic")
    session.close()
    with pytest.raises(errors.BadQuestionError, match="this session is closed; connect again"):
        session.ask(lw.count("patient"), epsilon="0.1")


def test_two_analysts_share_an_account_and_no_history(door) -> None:
    url = door.url
    with lw.connect(url, door.tokens["ana"]) as ana, lw.connect(url, door.tokens["ben"]) as ben:
        assert (ana.analyst, ben.analyst) == ("ana", "ben")
        paid = ana.ask(lw.count("patient", "age = 71"), epsilon="0.01", key="the same key")
        free = ben.ask(lw.count("patient", "age = 71"), epsilon="0.01", key="the same key")
        assert (paid.free, free.free, paid.rows) == (False, True, free.rows)
        assert ana.history(1)[0].who == "ana"
        assert all(act.who == "ben" for act in ben.history())
        stream = ana.stream(at_least=10, yeses=1, epsilon="0.1", name="mine")
        with pytest.raises(errors.ParameterError, match="is not in this ledger"):
            ben.resume("mine")
        stream.close()
        with pytest.raises(errors.StreamClosedError):
            stream.ask("age = 4")

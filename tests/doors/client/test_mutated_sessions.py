"""Each value that a server tells is replaced by hostile ones: no raw error, and no belief where it can be checked."""

import copy
import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest

import lapwing as lw
from doors.server.doors import serving
from lapwing import errors
from lapwing.doors.client import remote_session
from lapwing.doors.client.connection import ServerConnection
from postgres_server import where_there_is_room

SETTINGS = """
[populations.clinic]
person_key = "id"
budget = {budget}
[populations.clinic.tables.patient]
source = "patient.csv"
[populations.clinic.tables.patient.columns]
sex = {{ type = "category", values = ["F", "M"] }}
age = {{ type = "integer", low = 0, high = 120 }}
"""
HOSTILE: list[Any] = [
    None,
    True,
    False,
    0,
    -7,
    1,
    99,
    2**63,
    10**400,
    -(10**400),
    0.5,
    1e308,
    float("inf"),
    float("-inf"),
    float("nan"),
    "",
    "0",
    "-1",
    "1/3",
    "1e999",
    "nan",
    "x",
    "below",
    "above",
    "\x1b]0;owned\x07\x1b[2J",
    "\u202eabc",
    "a\nb",
    "x" * 5000,
    [],
    [[]],
    {},
    {"kind": "answer"},
    [None, 1, "x"],
]
UNKNOWN = {
    "account",
    "own_account",
    "refusal",
    "stopped",
    "left",
    "allowance",
    "suspended",
    "versions",
    "released",
    "receipt",
    "free",
    "gap",
    "question",
    "yeses_left",
    "spent",
    "status",
    "said",
    "who",
    "at",
    "kind",
    "entry",
    "cost",
    "epsilon",
    "delta",
    "streams",
    "salt",
    "now",
    "unit",
    "tables",
    "segments",
    "vocabularies",
    "id",
    "verdict",
    "answers",
}
"""What a server alone knows: whatever stands below one of these may be told otherwise, and be believed."""
COUNT, MEAN = lw.count("patient", "age > 30", by="sex"), lw.mean("patient", "age")
TERMS = {"at_least": 20, "yeses": 3, "epsilon": "3"}


def show(one: Any) -> list[Any]:
    """Look at something in every way in which people look."""
    ways = [name for name in ("to_dict", "facts", "interval") if hasattr(one, name)]
    if isinstance(one, lw.Answer) and len(one.rows) > 1:
        ways.remove("interval")
    return [str(one), repr(one), *(getattr(one, name)() for name in ways)]


def stream_of(session: Any) -> list[Any]:
    stream = session.stream(name="looked at", **TERMS)
    answers = [stream.ask("age >= 0"), stream.ask("age > 119")]
    many = stream.ask_many(["age >= 1", "age > 118"])
    told = [
        *itertools.chain.from_iterable(map(show, [*answers, *many, many])),
        str(stream.yeses_left),
        str(stream.spent),
    ]
    return [*told, repr(stream), [bool(one) for one in answers]]


STEPS: dict[str, Callable[[Any], list[Any]]] = {
    "preview": lambda session: show(session.preview(COUNT, within=20)),
    "ask": lambda session: show(session.ask(COUNT, within=20, key="the-key-of-count")),
    "mean": lambda session: show(session.ask(MEAN, epsilon="0.5", key="the-key-of-mean")),
    "sql": lambda session: show(
        session.sql(
            "select sex, count(*) as n, avg(age) as a from patient group by 1", epsilon="0.5", key="the-key-of-sql"
        )
    ),
    "many": lambda session: [show(one) for one in session.ask_many([COUNT, COUNT], within=20, key="the-key-of-many")],
    "stored": lambda session: show(session.stored(COUNT, within=20)),
    "rehearse": lambda session: show(session.rehearse(COUNT, within=20))[1:2],
    "stream": stream_of,
    "budget": lambda session: show(session.budget()),
    "total": lambda session: show(session.planned_total()),
    "history": lambda session: [show(one) for one in session.history(5)],
}
CONNECT = "connect"


class Taped(ServerConnection):
    """A connection that keeps what was told, or tells it again."""

    tape: ClassVar[dict[str, list[Any]]] = {}
    step = CONNECT
    told: Iterator[Any] | None = None

    def _until_told(self, *asked: Any) -> Any:
        if self.told is not None:
            try:
                return next(self.told)
            except StopIteration:
                raise errors.ServerError("nothing more is told", remedy="ask no more") from None
        told = super()._until_told(*asked)
        self.tape.setdefault(self.step, []).append(copy.deepcopy(told))
        return told


@pytest.fixture(scope="module")
def tape(budget):
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as place:
        rows = "".join(f"{i},{'FM'[i % 2]},{i % 100}\n" for i in range(1, 401))
        (Path(place) / "patient.csv").write_text(f"id,sex,age\n{rows}")
        lw.create(place, SETTINGS.format(budget=budget.toml(50))).close()

        class Recorder(Taped):
            tape: ClassVar[dict[str, list[Any]]] = {}

        with serving(Path(place)) as door, pytest.MonkeyPatch.context() as patched:
            patched.setattr(remote_session, "ServerConnection", Recorder)
            with lw.connect(door.url, door.tokens["ana"]) as session:
                for name, step in STEPS.items():
                    session._door.connection.step = name
                    step(session)
                    session._agreed.clear()
        return Recorder.tape


def play(tape: dict[str, list[Any]], step: str) -> list[Any]:
    """Go through one step, with what stands on the tape."""

    class Player(Taped):
        told = iter(copy.deepcopy(tape[CONNECT]))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(remote_session, "ServerConnection", Player)
        with lw.connect("http://127.0.0.1:1", "lw_token") as session:
            if step == CONNECT:
                return [repr(session), str(session.tables()), session.tables().to_dict()]
            session._door.connection.told = iter(copy.deepcopy(tape[step]))
            return STEPS[step](session)


def places_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from places_of(one, (*path, name))


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    if not path:
        return by
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], by)
    return changed


def as_json(shown: list[Any]) -> str:
    return json.dumps(shown, default=str)


def told_by(tape: dict[str, list[Any]], step: str) -> str | Exception:
    try:
        return as_json(play(tape, step))
    except Exception as refused:  # noqa: BLE001 - which of them it is, is what is looked at
        return refused


def test_what_is_told_again_is_shown_again(tape) -> None:
    for step in (CONNECT, *STEPS):
        assert as_json(play(tape, step)) == as_json(play(tape, step))


RAW = ["\x1b]0;owned\x07", "\u202eabc"]


def look_at(tape: dict[str, list[Any]], honest: str, step: str, path: tuple[Any, ...], by: Any) -> str:
    """Say what became of one hostile value: refused in a sentence, or shown as it may be, or believed."""
    shown = told_by({**tape, step: replaced(tape[step], path, by)}, step)
    if isinstance(shown, Exception):
        assert isinstance(shown, errors.LapwingError), (step, path, by, repr(shown))
        assert str(shown).isprintable(), (step, path, by)
        return "refused"
    assert not any(sign in shown for sign in ("\\u001b", "\\u202e", "\\u0007")), (step, path, by)
    return "believed" if shown != honest and UNKNOWN.isdisjoint(path) else "shown"


def cases_of(tape: dict[str, list[Any]], *steps: str, values: list[Any]) -> list[tuple[str, tuple[Any, ...], Any]]:
    """Return every place of what was told in these steps, with every value that is put there."""
    return [
        (step, (number, *place), by)
        for step in steps
        for number, reply in enumerate(tape[step])
        for place in places_of(reply)
        for by in values
    ]


def test_no_hostile_value_is_raised_raw_or_believed_where_it_can_be_checked(tape) -> None:
    honest = {step: as_json(play(tape, step)) for step in tape}
    cases, share = cases_of(tape, *tape, values=HOSTILE), int(os.environ.get("LAPWING_CHECKS", "1"))
    drawn = Random(1).sample(cases, min(len(cases), 120 * share))
    found = [(look_at(tape, honest[step], step, path, by), step, path, by) for step, path, by in drawn]
    assert [one for one in found if one[0] == "believed"] == []
    assert sum(one[0] == "refused" for one in found) > 20


def test_no_text_that_is_told_when_a_session_opens_reaches_a_terminal_raw(tape) -> None:
    """Every place with every hostile text: who somebody is, names of populations, tables and columns."""
    texts = [by for by in HOSTILE if isinstance(by, str)]
    honest = as_json(play(tape, CONNECT))
    cases = cases_of(tape, CONNECT, values=texts)
    found = [look_at(tape, honest, *one) for one in cases]
    assert len(found) > 100
    assert found.count("believed") == 0


@pytest.mark.parametrize("raw", RAW)
def test_who_somebody_is_reaches_no_terminal_raw(tape, raw) -> None:
    me = next(i for i, one in enumerate(tape[CONNECT]) if isinstance(one, dict) and "id" in one)
    assert look_at(tape, as_json(play(tape, CONNECT)), CONNECT, (me, "id"), raw) == "refused"


@pytest.mark.parametrize("raw", RAW)
def test_names_of_populations_reach_no_terminal_raw(tape, raw) -> None:
    several = next(i for i, one in enumerate(tape[CONNECT]) if isinstance(one, list))
    (one,) = tape[CONNECT][several]
    two = replaced(tape[CONNECT], (several,), [one, {**one, "population": "school"}])
    with pytest.raises(errors.ParameterError, match=r"name one of those that you may see: clinic, school"):
        play({**tape, CONNECT: two}, CONNECT)
    for place in (0, 1):
        assert look_at({**tape, CONNECT: two}, "", CONNECT, (several, place, "population"), raw) == "refused"


LIES = {
    "made up": ("rehearse", ("answer", "rehearsal"), False),
    "about people": ("ask", ("answer", "rehearsal"), True),
    "tables": ("ask", ("answer", "versions"), {"nobody": 1}),
    "a version": ("ask", ("answer", "versions"), {"patient": 0}),
    "no receipt": ("ask", ("answer", "receipt"), None),
    "a price": ("ask", ("answer", "price", "epsilon"), "0.001"),
    "charged": ("stored", ("answer", "free"), False),
    "fewer numbers": ("mean", ("released", 0), [1]),
    "more numbers": ("ask", ("released", 0), [1, 2, 3]),
    "a large number": ("mean", ("released", 0), [10**400, 1]),
    "no truth": ("ask", ("answer", "free"), "yes"),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_the_client_knows_it_does_not_take_from_a_server(tape, lie) -> None:
    step, path, by = LIES[lie]
    place = len(tape[step]) - 1
    with pytest.raises(errors.ServerError):
        play({**tape, step: replaced(tape[step], (place, *path), by)}, step)


STREAM_LIES = {
    "gap with a no": {"verdict": "below"},
    "no gap with a yes": {"gap": None},
    "more left than there are": {"yeses_left": 99},
    "as many left as before": {"yeses_left": 3},
    "fewer than none": {"yeses_left": -1},
    "a number below one": {"question": -7},
    "a number as a text": {"question": "1"},
    "another threshold": {"at_least": 21},
    "a yes for nothing": {"price": "0"},
    "an infinite gap": {"gap": float("inf")},
    "no number": {"gap": True},
}


@pytest.mark.parametrize("lie", STREAM_LIES)
def test_what_does_not_fit_a_stream_is_not_taken_from_a_server(tape, lie) -> None:
    place = next(i for i, one in enumerate(tape["stream"]) if isinstance(one, dict) and one.get("verdict") == "above")
    told = {**tape["stream"][place], **STREAM_LIES[lie]}
    with pytest.raises(errors.ServerError):
        play({**tape, "stream": replaced(tape["stream"], (place,), told)}, "stream")
    batch = next(i for i, one in enumerate(tape["stream"]) if isinstance(one, dict) and "answers" in one)
    first = {**tape["stream"][batch]["answers"][0], **STREAM_LIES[lie]}
    if lie != "as many left as before":
        changed = replaced(tape["stream"], (batch, "answers", 0), first)
        with pytest.raises(errors.ServerError):
            play({**tape, "stream": changed}, "stream")

"""Saved questions, by folder; a folder is a board: its questions have one price, and are asked by one button.

A board shows prices and no number until its answers are wanted; those it has were paid for, and showing them is free.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from itertools import groupby
from typing import Any, Final

import msgspec
from starlette.responses import Response

from lapwing.doors.server.jobs import JobName, JobState
from lapwing.doors.server.pages.answer_code import sql_text
from lapwing.doors.server.pages.asking import built_question, key_of, spare
from lapwing.doors.server.pages.frame import price_text
from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit, act
from lapwing.doors.server.pages.showing import errors_of, pictured
from lapwing.doors.server.pages.sql_page import built_statement
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.wording import format_exact

P: Final = "/populations/{population}"
MOST_ON_BOARD: Final = 20


async def show_saved(visit: PageVisit, problem: str = "", status: int = 200) -> Response:
    """Show all that was saved, by folder."""
    kept = [_with_link(visit, one) for one in await visit.do("saved_questions")]
    folders = [(folder, list(some)) for folder, some in groupby(kept, key=lambda one: one["folder"])]
    return visit.show("saved.html", status, folders=folders, problem=problem)


def _with_link(visit: PageVisit, one: dict[str, Any]) -> dict[str, Any]:
    """Return a saved question with its words, and the page that shows it again: a price, and no number."""
    link = f"{visit.base}/{one['page']}?{one['words']}" if one["page"] else ""
    signs = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "within": "±"}
    offered = ", ".join(f"{signs[name]} {amount}" for name, amount in one["price"].items() if name in signs)
    return {**one, "link": link, "text": sql_text(one["question"]), "offered": offered}


async def show_board(visit: PageVisit, problem: str = "", status: int = 200) -> Response:
    """Show the questions of a folder with their total price; with `answers`, those that were answered."""
    folder, asked_as = visit.asked("folder") or visit.field("folder"), visit.asked("key")
    job = visit.server.jobs.find(JobName(visit.population, visit.person.id, asked_as)) if asked_as else None
    if job is not None and job.state in {JobState.QUEUED, JobState.RUNNING}:
        return visit.show_running(asked_as)
    kept = await _kept(visit, folder)
    if not kept:
        return visit.go("/saved")
    answers = bool(visit.asked("answers"))
    tiles = [await _tile(visit, _with_link(visit, one), answers=answers) for one in kept]
    priced = [one["price"] for one in tiles if not one["problem"]]
    new = [one for one in tiles if not one["problem"] and not one["price"]["stored"]]
    paid = await visit.do("preview_many", _body(new)) if new else {"prices": []}
    return visit.show(
        "board.html",
        status,
        folder=folder,
        tiles=tiles,
        answers=answers,
        new=len(new),
        known=len(priced) - len(new),
        unready=len(tiles) - len(priced),
        total=total_text(paid["prices"], visit.currency),
        key=fresh_name(),
        mark=_mark([one["body"] for one in new]),
        problem=problem,
    )


async def ask_board(visit: PageVisit) -> Response:
    """Ask all questions of a folder together, all or none; if they changed since the price was shown, show it again."""
    folder, key = visit.field("folder"), key_of(visit)
    kept = await _kept(visit, folder)
    if not key or not kept:
        return visit.go("/saved")
    new = [_alone(one) for one in kept if not (await visit.do("preview", _alone(one)))["stored"]]
    if visit.field("shown") != _mark(new):
        return await show_board(visit, problem=str(visit.say("ask.changed")), status=409)
    await spare(visit)
    try:
        if new:
            await visit.do("ask_many", _body([{"body": one} for one in new]), key=key)
    except PageRefusedError as refused:
        return await show_board(visit, problem=refused.sentence, status=refused.status)
    return visit.go("/saved/board", folder=folder, answers="1", key=key)


def _alone(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"question": one["question"], "price": one["price"]}


def _body(asked: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the body that asks several together, each at its own price."""
    bodies = [one["body"] for one in asked]
    return {"questions": [one["question"] for one in bodies], "prices": [one["price"] for one in bodies]}


async def _kept(visit: PageVisit, folder: str) -> list[dict[str, Any]]:
    return [one for one in await visit.do("saved_questions") if one["folder"] == folder][:MOST_ON_BOARD]


async def _tile(visit: PageVisit, one: dict[str, Any], *, answers: bool) -> dict[str, Any]:
    """Return one question of a board: its price, or, where it is wanted and there is one, its answer."""
    body = _alone(one)
    told: dict[str, Any] = {"name": one["name"], "link": one["link"], "problem": "", "answer": None, "errors": []}
    told["body"] = body
    try:
        told["price"] = price = await visit.do("preview", body)
        told["errors"] = [
            ("" if len(price["margin"]) == 1 else f"{name}: ", off, about)
            for name, off, about in errors_of(visit.say, price)
        ]
        if answers and price["stored"] and (answer := await visit.do("stored_answer", body)) is not None:
            told |= {"answer": answer, **pictured(visit, answer)}
    except PageRefusedError as refused:
        told["problem"] = refused.sentence
    return told


def total_text(prices: Sequence[Mapping[str, Any]], currency: str) -> str:
    """Return the sum of prices; where some have an epsilon and some a rho alone, both sums.

    >>> laplace = {"epsilon": "0.1", "delta": "0", "rho": "0.005"}
    >>> gaussian = {"epsilon": None, "delta": "0", "rho": "0.01"}
    >>> total_text([laplace, laplace], "epsilon"), total_text([laplace, gaussian], "rho")
    ('ε 0.2', 'ρ 0.015')
    >>> total_text([laplace, gaussian], "epsilon"), total_text([], "rho")
    ('ε 0.1 + ρ 0.01', '')
    """
    in_rho = [one for one in prices if one["epsilon"] is None or (currency == "rho" and one["rho"] is not None)]
    in_epsilon = [one for one in prices if one not in in_rho]
    rho = sum((Fraction(str(one["rho"])) for one in in_rho), Fraction(0))
    epsilon, delta = (
        sum((Fraction(one[name] or 0) for one in in_epsilon), Fraction(0)) for name in ("epsilon", "delta")
    )
    told = [{"epsilon": format_exact(epsilon), "delta": format_exact(delta), "rho": None}] if in_epsilon else []
    told += [{"epsilon": None, "delta": "0", "rho": format_exact(rho)}] if in_rho else []
    return " + ".join(price_text(one, currency) for one in told)


def _mark(kept: Sequence[Mapping[str, Any]]) -> str:
    """Return a digest of the questions that a board charges for: the button asks what was shown, or nothing."""
    return sha256(msgspec.json.encode([[one["question"], one["price"]] for one in kept])).hexdigest()[:32]


async def _save(visit: PageVisit, page: str, link: str, body: dict[str, Any]) -> Response:
    kept = {"name": visit.field("saved_name"), "folder": visit.field("saved_folder")}
    if not kept["name"]:
        return await show_saved(visit, problem=str(visit.say("saved.name_missing")), status=422)
    try:
        await visit.do("save_question", {**body, **kept, "page": page, "words": link.partition("?")[2]})
    except PageRefusedError as refused:
        return await show_saved(visit, problem=refused.sentence, status=refused.status)
    return visit.go("/saved")


async def save_from_ask(visit: PageVisit) -> Response:
    """Save the question that the builder holds."""
    link, body = built_question(visit)
    return await _save(visit, "ask", link, body)


async def save_from_sql(visit: PageVisit) -> Response:
    """Save the statement that the page of SQL holds."""
    link, body = built_statement(visit)
    return await _save(visit, "sql", link, body)


PAGES: Final = (
    Page(path=f"{P}/saved", show=show_saved, operation="saved_questions"),
    Page(path=f"{P}/saved/board", show=show_board, operation="saved_questions"),
    Page(path=f"{P}/saved/board", show=ask_board, method="POST", operation="ask_many"),
    Page(path=f"{P}/saved/ask", show=save_from_ask, method="POST", operation="save_question"),
    Page(path=f"{P}/saved/sql", show=save_from_sql, method="POST", operation="save_question"),
    act(f"{P}/saved/{{saved}}/delete", "forget_saved", then="/saved"),
)

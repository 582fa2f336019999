"""Publications and synthetic tables at a distance: planned and priced here, released there.

Each is sent with a digest of what it counts and what it costs, as they are computed here. A server to which the same
words mean something else, or another price, refuses it before anything is charged. Of what comes back only the released
numbers and the data versions are taken; all tables, intervals, models and rows are computed here.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lapwing.answers.target import TargetWords
from lapwing.doors.client.connection import PopulationDoor
from lapwing.doors.client.decode_errors import disagreement, readable
from lapwing.doors.client.decode_population import as_told, told_list, told_name, told_number
from lapwing.doors.client.question_bodies import condition_text, given, grouping_text, with_sets
from lapwing.publishing.codes import Columns
from lapwing.publishing.publication import Publication, PublicationOffer
from lapwing.publishing.publication_preview import PublicationPreview
from lapwing.publishing.publish import Marginals, meaning_of, offer_of, preview_publish, read_publication
from lapwing.publishing.stages import StageLost
from lapwing.publishing.synthesis import SynthesisOffer
from lapwing.publishing.synthesis_again import step_at, synthesis_from, synthesis_meaning
from lapwing.publishing.synthesis_preview import SynthesisPreview
from lapwing.publishing.synthesize import Progress, preview_synthesize
from lapwing.publishing.synthetic_table import SyntheticTable
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import as_groups
from lapwing.queries.language.expressions import By, TruthOf
from lapwing.queries.language.speller import Speller, ValueSets
from lapwing.session import AskingSession

_LARGEST: Final = 2**160
_MOST_VERSIONS: Final = 2**62


def preview_publication(
    session: AskingSession,
    door: PopulationDoor,
    table: str,
    columns: Columns,
    marginals: Marginals,
    *,
    rows: Sequence[int] | None,
    **target: Any,
) -> PublicationPreview:
    """Say what a publication would cost and how exact it would be, if the server says the same."""
    told = preview_publish(session, table, columns, marginals, rows=rows, **target)
    theirs = door.post("/publication-previews", _body(session.population, told.offer, columns, marginals, target))
    _require_same(theirs, meaning_of(told.offer), told.price.to_dict(), "it would publish something else")
    return told


def publish(
    session: AskingSession,
    door: PopulationDoor,
    table: str,
    columns: Columns,
    marginals: Marginals,
    *,
    rows: Sequence[int] | None,
    key: str | None,
    shape: Mapping[str, bool],
    **target: Any,
) -> Publication:
    """Let the server release what was planned here, and return the publication of its numbers."""
    offer = offer_of(session, table, columns, marginals, rows, **target)
    body = _body(session.population, offer, columns, marginals, target)
    told = door.charge("/publications", {**body, **shape}, key=key)
    published = as_told("a publication", lambda: _read(session, offer, told, shape))
    _require_same(told, meaning_of(offer), published.price.to_dict(), "it published something else")
    return published


def preview_synthesis(
    session: AskingSession, door: PopulationDoor, table: str, columns: Columns | None, **words: Any
) -> SynthesisPreview:
    """Say what a synthetic table would cost and give, if the server says the same."""
    told = preview_synthesize(session, table, columns, **words)
    theirs = door.post("/synthesis-previews", _synthesis_body(session.population, told.offer, columns, words))
    _require_same(theirs, synthesis_meaning(told.offer), told.price.to_dict(), "it would synthesize something else")
    return told


def synthesize(
    session: AskingSession,
    door: PopulationDoor,
    table: str,
    columns: Columns | None,
    *,
    key: str | None,
    progress: Progress,
    **words: Any,
) -> SyntheticTable:
    """Let the server measure what was planned here, and make the synthetic table of its numbers."""
    offer = preview_synthesize(session, table, columns, **words).offer
    body = _synthesis_body(session.population, offer, columns, words)
    told = door.charge("/syntheses", body, key=key, progress=_in_steps(progress))
    made = as_told("a synthetic table", lambda: _read_synthesis(session, offer, told))
    _require_same(told, synthesis_meaning(offer), made.price.to_dict(), "it synthesized something else")
    if told.get("model") != made.model.digest:
        raise disagreement("it makes another model of these numbers")
    return made


def _require_same(told: Any, meaning: str, price: Mapping[str, Any], otherwise: str) -> None:
    if as_told("what it means", lambda: (told["means"], told["price"])) != (meaning, price):
        raise disagreement(f"{otherwise}, or asks another price")


def _in_steps(progress: Progress) -> Callable[[int, int], None] | None:
    """Return what tells the steps of a job as those of a synthesis."""
    if progress is False:
        return None

    def tell(done: int, of: int) -> None:
        said = step_at(done, of)
        if callable(progress):
            progress(said)
        else:
            sys.stderr.write(f"{said}\n")

    return tell


def _read(session: AskingSession, offer: PublicationOffer, told: Any, shape: Mapping[str, bool]) -> Publication:
    outcome = {"released": _numbers(told["released"]), "versions": _versions(told["versions"])}
    name, receipt = told_name(told["publication"]), readable(str(told["receipt"]))
    published = read_publication(session, offer, outcome, name=name, receipt=receipt, **shape)
    for names in published:
        _ = published.table(*names)  # what cannot be shown is no publication
    return published


def _read_synthesis(session: AskingSession, offer: SynthesisOffer, told: Any) -> SyntheticTable:
    released, versions = [_numbers(stage) for stage in told_list(told["released"])], _versions(told["versions"])
    remark, name = None if told["remark"] is None else readable(told["remark"]), told_name(told["synthesis"])
    try:
        return synthesis_from(session, offer, released, versions=versions, name=name, remark=remark)
    except StageLost:
        raise ValueError from None


def _numbers(told: Any) -> list[list[int]]:
    return [[told_number(one, least=-_LARGEST, most=_LARGEST) for one in told_list(part)] for part in told_list(told)]


def _versions(told: Any) -> dict[str, int]:
    return {told_name(name): told_number(one, least=1, most=_MOST_VERSIONS) for name, one in told.items()}


def _body(
    population: Population,
    offer: PublicationOffer,
    columns: Columns,
    marginals: Marginals,
    target: Mapping[str, Any],
) -> dict[str, Any]:
    sets: ValueSets = {}
    wanted: Any = marginals
    if not isinstance(marginals, str):
        wanted = [[one] if isinstance(one, str) else list(one) for one in marginals]
    return {
        "table": offer.table,
        "columns": sent_columns(population, offer.table, columns, sets),
        "marginals": wanted,
        **({"rows": list(offer.rows)} if offer.rows else {}),
        "price": _price(target),
        **with_sets(sets),
        "means": [meaning_of(offer)],
    }


def _synthesis_body(
    population: Population, offer: SynthesisOffer, columns: Columns | None, words: Mapping[str, Any]
) -> dict[str, Any]:
    sets: ValueSets = {}
    sent = {} if columns is None else {"columns": sent_columns(population, offer.table, columns, sets)}
    chosen = {name: words[name] for name in ("up_to", "planned_for") if words.get(name) is not None}
    means = [synthesis_meaning(offer)]
    return {"table": offer.table, **sent, **chosen, "price": _price(words), **with_sets(sets), "means": means}


def _price(target: Mapping[str, Any]) -> dict[str, Any]:
    return given({name: value for name, value in target.items() if name in TargetWords.__annotations__})


def sent_columns(population: Population, table: str, columns: Columns, sets: ValueSets) -> list[dict[str, Any]]:
    """Return columns as they are sent; long lists of values are added to `sets`."""
    names = list(columns) if isinstance(columns, Mapping) else []
    groupings = as_groups(list(columns.values()) if isinstance(columns, Mapping) else columns)
    sent = [{"by": sent_column(one, population, table, sets)} for one in groupings]
    return [{"name": name, **one} for name, one in zip(names, sent, strict=True)] if names else sent


def sent_column(by: By, population: Population, table: str, sets: ValueSets) -> str:
    """Return a column, bins of one, or a condition as it is sent; long lists of values are added to `sets`."""
    if isinstance(by.column, TruthOf):
        return condition_text(by.column.condition, population, table, sets)
    return grouping_text(by, Speller(population, population.table(table), sets))

"""What a study found, as a page shows it: one number, or a table with a picture, from the record of its rounds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lapwing.doors.server.pages.frame import people
from lapwing.doors.server.pages.page_words import Messages
from lapwing.doors.server.pages.publication_page import code_names
from lapwing.show.panels import Panel, draw_panel
from lapwing.show.strokes import Drawing
from lapwing.vocabulary.frozen import frozen


@frozen()
class StudyResult:
    """One number with its error, or a table; the picture of what it says; and facts in the words of the page."""

    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    picture: Drawing | None = None
    number: str = ""
    off: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    hides: str = ""


def result_of(record: Mapping[str, Any], say: Messages) -> StudyResult:
    """Return what a page shows of a study."""
    return _SHOWN[record["of"]](record["told"], say)


def _rounded(number: float) -> str:
    return people(str(round(number)))


def _short(number: float) -> str:
    return f"{number:.4g}"


def _bars(title: Any, labels: Sequence[str], values: Sequence[float], off: float | None = None) -> Drawing:
    lows, highs = ([None if off is None else one + sign * off for one in values] for sign in (-1, 1))
    return draw_panel(Panel(str(title), labels, values, lows, highs, from_zero=True, over_time=False), title)


def _clusters(told: Mapping[str, Any], say: Messages) -> StudyResult:
    columns = list(told["centres"][0])
    names = [str(say("study.cluster", n=str(n))) for n in range(1, len(told["centres"]) + 1)]
    rows = [
        (name, _rounded(many), *(_short(centre[one]) for one in columns))
        for name, many, centre in zip(names, told["people"], told["centres"], strict=True)
    ]
    return StudyResult(
        headers=(str(say("study.of_k_means")), str(say("answer.people")), *columns),
        rows=tuple(rows),
        picture=_bars(say("answer.people"), names, [round(one) for one in told["people"]]),
    )


def _components(told: Mapping[str, Any], say: Messages) -> StudyResult:
    names = [str(say("study.direction", n=str(n))) for n in range(1, len(told["shares"]) + 1)]
    rows = [
        (name, f"{100 * share:.1f} %", *(f"{one:+.2f}" for one in direction))
        for name, share, direction in zip(names, told["shares"], told["directions"], strict=True)
    ]
    return StudyResult(
        headers=(str(say("study.of_principal_components")), str(say("study.share")), *told["columns"]),
        rows=tuple(rows),
        picture=_bars(say("study.share"), names, [round(100 * one, 1) for one in told["shares"]]),
    )


def _tree(told: Mapping[str, Any], say: Messages) -> StudyResult:
    rows = []
    for leaf in told["leaves"]:
        counted = [max(0.0, one) for one in leaf["people"]]
        every = sum(counted)
        path = ", ".join(f"{column}: {code_names([value], say)[0]}" for column, value in leaf["path"])
        is_known = round(sum(leaf["people"])) > 0
        shares = [f"{100 * one / every:.0f} %" if is_known else "–" for one in counted]
        rows.append((path, _rounded(sum(leaf["people"])), *shares))
    outcomes = [f"{told['outcome']}: {one}" for one in code_names(told["outcomes"], say)]
    return StudyResult(headers=(str(say("study.leaf")), str(say("answer.people")), *outcomes), rows=tuple(rows))


def _trained(told: Mapping[str, Any], say: Messages) -> StudyResult:
    facts = (
        (str(say("study.model")), f"{told['model']}: {told['target']}"),
        (str(say("study.features")), ", ".join(told["features"])),
        (str(say("study.steps")), _rounded(told["steps"])),
        (str(say("study.sigma")), _short(told["sigma"])),
        (str(say("study.supposed")), _rounded(told["people"])),
    )
    return StudyResult(facts=facts)


def _number(told: Mapping[str, Any], _: Messages) -> StudyResult:
    off = "" if told["margin"] is None else f"± {_rounded(told['margin'])}"
    return StudyResult(number=_rounded(told["value"]), off=off, hides=told["hides"])


def _degrees(told: Mapping[str, Any], say: Messages) -> StudyResult:
    last = len(told["people"]) - 1
    names = [str(say("study.or_more", n=str(n))) if n == last else str(n) for n in range(last + 1)]
    off = told["margin"]
    rows = [(name, _rounded(many)) for name, many in zip(names, told["people"], strict=True)]
    return StudyResult(
        headers=(str(say("study.edges_each")), str(say("answer.people"))),
        rows=tuple(rows),
        picture=_bars(say("study.edges_each"), names, [round(one) for one in told["people"]], off),
        off="" if off is None else f"± {_rounded(off)}",
        hides=told["hides"],
    )


_SHOWN: Final[Mapping[str, Callable[[Mapping[str, Any], Messages], StudyResult]]] = {
    "k_means": _clusters,
    "principal_components": _components,
    "decision_tree": _tree,
    "train": _trained,
    "edges": _number,
    "triangles": _number,
    "stars": _number,
    "degrees": _degrees,
    "sample_count": lambda told, _: StudyResult(number=_rounded(told["people"]), off=f"sd {_rounded(told['sd'])}"),
}

"""The proofs: by the step of a question that they cover, each to be read, and those that cover one release."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from markupsafe import Markup, escape
from starlette.responses import Response

import lapwing
from lapwing.doors.server.pages.page_visit import Page, PageRefusedError, PageVisit
from lapwing.vocabulary.frozen import frozen

_LINK: Final = re.compile(r"\[(\w+)\]\((\w+)\.md\)")
_CODE: Final = re.compile(r"`([^`]+)`")
_ALWAYS: Final = ("contribution_bounds", "totality", "ledger", "lazy_inverse", "ledger_receipts", "interpretation")
"""The proofs that every answer rests on."""
_BY_KIND: Final = {
    "laplace-noise": ("laplace", "noisy_sums", "margins"),
    "discrete-laplace-noise": ("geometric", "margins"),
    "gaussian-noise": ("gaussian", "gaussian_calibration", "margins"),
    "discrete-gaussian-noise": ("discrete_gaussian", "margins"),
    "exponential-selection": ("exponential", "bounded_range"),
    "randomized-response-release": ("randomized_response",),
    "approximate-release": ("stable_keys",),
    "funnel": ("noisy_sums",),
    "quantiles": ("ranked_choice", "quantile_intervals"),
    "quantile-of-groups": ("ranked_choice", "quantile_intervals"),
    "top": ("ranked_choice",),
    "counted-top": ("ranked_choice", "counted_top"),
    "moments": ("bernstein_moments", "moment_intervals"),
    "synthesis": ("published_marginals", "reservation"),
    "publication": ("published_marginals", "reservation"),
    "regression": ("regression_rounds", "reservation"),
    "dashboard": ("counts_over_time", "reservation"),
    "k_means": ("procedures", "reservation"),
    "principal_components": ("procedures", "reservation"),
    "decision_tree": ("procedures", "ranked_choice", "reservation"),
    "sample_count": ("sampled_counts", "reservation"),
    "train": ("private_gradients", "amplification_by_sampling", "reservation"),
    "edges": ("truncated_graphs", "reservation"),
    "degrees": ("truncated_graphs", "reservation"),
    "triangles": ("ladder", "reservation"),
    "stars": ("ladder", "reservation"),
    "stream": ("sparse_vector", "sparse_vector_pay_per_yes", "sparse_vector_margin", "stream_recovery"),
}
"""Further proofs of a release, by the tags of its law and its question."""


@frozen(kw_only=False)
class ProofStep:
    """A step of a question: its title, and rows of the names of proofs and what they say."""

    title: str
    rows: tuple[tuple[tuple[str, ...], str], ...]


@cache
def proofs_folder() -> Path | None:
    """Return the folder of the proofs: in the installed package, or in the repository that it is run from."""
    package = Path(lapwing.__file__).parent
    places = (package / "proofs", package.parents[1] / "proofs")
    return next((place for place in places if (place / "README.md").is_file()), None)


@cache
def proof_steps() -> tuple[ProofStep, ...]:
    """Return the index of the proofs, as its page has it."""
    folder = proofs_folder()
    found: list[tuple[str, list[tuple[tuple[str, ...], str]]]] = []
    for line in (folder / "README.md").read_text(encoding="utf-8").splitlines() if folder else ():
        if line.startswith("## "):
            found.append((line.removeprefix("## ").replace("`", ""), []))
        elif found and (names := tuple(name for _, name in _LINK.findall(line.partition(" | ")[0]))):
            found[-1][1].append((names, line.split(" | ", 1)[1].rstrip(" |")))
    return tuple(ProofStep(title, tuple(rows)) for title, rows in found if rows)


def proofs_of(question: str, kind: str = "") -> list[str]:
    """Return the proofs that cover a release: `question` is its canonical text, or "" with a `kind`.

    >>> proofs_of('[{"event":{"kind":"discrete-laplace-noise"}}]')[:2]
    ['geometric', 'margins']
    """
    kinds = [kind, *re.findall(r'"kind":"([a-z-]+)"', question)]
    own = [name for one in dict.fromkeys(kinds) for name in _BY_KIND.get(one, ())]
    return list(dict.fromkeys([*own, *_ALWAYS]))


async def show_proofs(visit: PageVisit) -> Response:
    """Show all proofs, by the step that they cover."""
    return visit.show("proofs.html", steps=proof_steps())


async def show_proof(visit: PageVisit) -> Response:
    """Show one proof."""
    folder, name = proofs_folder(), visit.part("proof")
    known = {path.stem for path in folder.glob("*.md")} - {"README"} if folder else set()
    if folder is None or name not in known:
        raise PageRefusedError(404, {"code": "not_there"})
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    title, _, rest = text.partition("\n")
    return visit.show("proof.html", title=title.lstrip("# "), body=Markup("\n").join(_blocks(rest)))


def _blocks(text: str) -> Iterator[Markup]:
    """Go through the blocks of a page of Markdown: headings, lists and paragraphs; what is laid out stays as it is."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    for place, part in enumerate(parts):
        if place % 2:
            yield Markup('<pre class="sql">{}</pre>').format("\n".join(part.splitlines()[1:-1]))
            continue
        for block in re.split(r"\n\s*\n", part.strip()):
            lines = block.strip().splitlines()
            if lines and lines[0].startswith("#"):
                yield Markup("<h2>{}</h2>").format(_inline(lines[0].lstrip("# ")))
                lines = lines[1:]
            if not lines:
                continue
            if lines[0].startswith(("|", "    ")):
                yield Markup('<pre class="sql">{}</pre>').format("\n".join(lines))
            elif re.match(r"(- |\d+\. )", lines[0]):
                yield _list(lines)
            else:
                yield Markup("<p>{}</p>").format(_inline(" ".join(lines)))


def _list(lines: list[str]) -> Markup:
    items = re.split(r"\n(?=- |\d+\. )", "\n".join(lines))
    shown = (Markup("<li>{}</li>").format(_inline(re.sub(r"^(- |\d+\. )", "", one))) for one in items)
    tag = "ul" if lines[0].startswith("-") else "ol"
    return Markup("<{0}>{1}</{0}>").format(Markup(tag), Markup().join(shown))  # noqa: S704 - one of the two above


def _inline(text: str) -> Markup:
    """Return a line with its code marked and its links to other proofs; all else is escaped."""
    shown = _CODE.sub(r"<code>\1</code>", str(escape(re.sub(r"\*\*?([^*\n]+)\*\*?", r"\1", text))))
    return Markup(re.sub(r"\[([^\]]+)\]\((\w+)\.md\)", r'<a href="/proofs/\2">\1</a>', shown))  # noqa: S704 - see above


PAGES: Final = (
    Page(path="/proofs", show=show_proofs),
    Page(path="/proofs/{proof}", show=show_proof),
)

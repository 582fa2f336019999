"""`lapwing audit`."""

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from lapwing.app.auditing.register import Audited, audited, liars, named, suspects
from lapwing.app.auditing.suspect import Suspect
from lapwing.app.cli.options import json_option
from lapwing.app.cli.showing import paragraph, several, table, tell
from lapwing.app.plots.canvas import FORMATS, checked_path
from lapwing.app.plots.privacy_region import draw_privacy_region
from lapwing.auditor.black_box import audit as watch
from lapwing.auditor.finding import Finding, in_words
from lapwing.auditor.white_box import Achieved
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import Guarantee

_REFUTED = 1
"""The exit code of an audit that did not end as it should; 2 to 5 are other failures."""


@click.command()
@click.argument("mechanism", required=False)
@click.option("--epsilon", metavar="NUMBER", default="1", show_default=True, help="The price of each mechanism.")
@click.option("--delta", metavar="NUMBER", default="1e-6", show_default=True, help="Where a mechanism needs one.")
@click.option("--liars", "lying", is_flag=True, help="Audit mechanisms that are known to lie: all must be caught.")
@click.option("--sampled", is_flag=True, help="Also draw from the mechanisms and test what comes out.")
@click.option("--samples", type=int, default=20_000, show_default=True, help="How many draws to confirm an event.")
@click.option("--list", "listing", is_flag=True, help="Only name what can be audited.")
@click.option(
    "--plot",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Draw the privacy region: into a .svg or .png file, or for several mechanisms into a folder.",
)
@json_option
@click.pass_context
def audit(
    ctx: click.Context,
    *,
    mechanism: str | None,
    epsilon: str,
    delta: str,
    lying: bool,
    sampled: bool,
    samples: int,
    listing: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Compute what every mechanism really gives away, against what it claims.

    For each mechanism the worst two neighbouring inputs are searched for, and the exact probabilities of what it says
    on them are compared. "Achieved" is lost at least; a number above the claim refutes it. The auditor shares no code
    with the mechanisms: it works from the numbers they state, and with --sampled from what they say.

    \b
    lapwing audit
    lapwing audit permute-and-flip --epsilon 0.5
    lapwing audit --liars
    lapwing audit gaussian --plot gaussian.svg

    It ends with 0 if no claim is refuted, and with 1 if one is. With --liars it is the other way round: 0 if every
    liar is caught, and 1 if one gets away.
    """
    chosen = _chosen(mechanism, epsilon, delta, lying=lying)
    audits = _lies(mechanism) if lying else [audited(suspect) for suspect in chosen]
    if listing:
        tell({"names": [one.name for one in audits]}, "\n".join(one.name for one in audits), as_json=as_json)
        return
    files = _files(plot, audits)
    found = [(one, one.compute()) for one in _with_progress(audits, "computing")]
    findings = [achieved.finding(one.name) for one, achieved in found]
    watched = [_watched(one, samples) for one in _with_progress(_drawable(chosen), "drawing")] if sampled else []
    for (one, achieved), file in zip(found, files, strict=False):
        if achieved.laws is not None:
            draw_privacy_region(
                file, name=one.name, claim=achieved.claim, laws=achieved.laws(), refuted=achieved.refuted
            )
    everything = [*findings, *watched]
    failed = [finding for finding in everything if finding.refuted is not lying]
    tell(
        _record(found, findings, watched, files, lying=lying, passed=not failed),
        table(_HEADER, [_row(one, achieved) for one, achieved in found], left=len(_HEADER)),
        table(_SAMPLED, [_sampled_row(finding) for finding in watched], left=len(_SAMPLED)) if watched else "",
        paragraph(_conclusion(findings, watched, lying=lying)),
        "\n".join(map(str, files)),
        as_json=as_json,
    )
    ctx.exit(_REFUTED if failed else 0)


_HEADER = ("suspect", "claim", "achieved", "of it", "verdict", "where")
_SAMPLED = ("suspect, drawn from", "claim", "at least", "draws", "verdict", "where")


def _chosen(mechanism: str | None, epsilon: str, delta: str, *, lying: bool) -> list[Suspect]:
    if lying:
        return []
    among = suspects(epsilon=epsilon, delta=delta)
    return list(among.values()) if mechanism is None else [named(mechanism, among)]


def _lies(name: str | None) -> list[Audited]:
    told = liars()
    chosen = [one for one in told if name is None or one.name == name]
    if not chosen:
        raise ParameterError("mechanism", name, reason="is no known liar", remedy="see lapwing audit --liars --list")
    return chosen


def _drawable(chosen: Sequence[Suspect]) -> list[Suspect]:
    return [suspect for suspect in chosen if suspect.release is not None and suspect.neighbours is not None]


def _watched(suspect: Suspect, samples: int) -> Finding:
    if suspect.neighbours is None:
        raise TypeError(suspect)
    return watch(
        suspect.release, claim=suspect.claim, neighbours=suspect.neighbours, name=suspect.name, samples=samples
    )


def _row(one: Audited, achieved: Achieved) -> list[str]:
    verdict = "REFUTED" if achieved.refuted else "holds"
    share = "" if math.isinf(achieved.number) else f"{achieved.share:.1%}"
    return [
        one.name,
        _claim(achieved.claim),
        _reached(achieved),
        share,
        verdict,
        f"{achieved.event} on {achieved.inputs}",
    ]


def _claim(claim: Guarantee) -> str:
    words = in_words(claim).replace(" = ", " ").replace(" and ", ", ")
    return words.removesuffix(" (zero-concentrated)").removesuffix(" (Gaussian)")


def _reached(achieved: Achieved) -> str:
    finding = achieved.finding("")
    if finding.currency == "delta":
        return f"delta {finding.achieved:.4g}"
    return "unbounded" if math.isinf(achieved.number) else f"{achieved.number:.6g}"


def _sampled_row(finding: Finding) -> list[str]:
    verdict = "REFUTED" if finding.refuted else "not refuted"
    return [
        finding.suspect,
        _claim(finding.claim),
        f"{finding.achieved:.4g}",
        f"{finding.samples:,}",
        verdict,
        finding.where,
    ]


def _conclusion(findings: Sequence[Finding], watched: Sequence[Finding], *, lying: bool) -> str:
    caught = [finding for finding in (*findings, *watched) if finding.refuted]
    if lying:
        missed = [finding.suspect for finding in findings if not finding.refuted]
        if missed:
            return f"{several(len(missed), 'liar')} got away: {', '.join(missed)}."
        return f"{several(len(findings), 'liar')}, all caught: each gives away more than it claims."
    if caught:
        return f"{several(len(caught), 'claim')} REFUTED: {', '.join(finding.suspect for finding in caught)}."
    return (
        f"{several(len(findings), 'mechanism')}, none above its claim. A search shows what is lost at least; that "
        "nothing loses more is what the proofs are for."
    )


def _record(
    found: Sequence[tuple[Audited, Achieved]],
    findings: Sequence[Finding],
    watched: Sequence[Finding],
    files: Sequence[Path],
    *,
    lying: bool,
    passed: bool,
) -> dict[str, Any]:
    rows = [
        finding.to_json() | {"source": one.source, "share": _finite(achieved.share)}
        for (one, achieved), finding in zip(found, findings, strict=True)
    ]
    return {
        "audited": "liars" if lying else "mechanisms",
        "passed": passed,
        "findings": rows,
        "sampled": [finding.to_json() for finding in watched],
        "pictures": [str(file) for file in files],
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _files(plot: Path | None, audits: Sequence[Audited]) -> list[Path]:
    """Return where the pictures go, checked before any work is done."""
    if plot is None:
        return []
    if plot.suffix.lower() not in FORMATS:
        plot.mkdir(parents=True, exist_ok=True)
        return [checked_path(plot / f"{one.name.replace(' ', '_')}.svg") for one in audits]
    if len(audits) > 1:
        remedy = "name a folder, or one mechanism"
        raise ParameterError("plot", str(plot), reason=f"is one file for {len(audits)} pictures", remedy=remedy)
    return [checked_path(plot)]


def _with_progress(things: Sequence[Any], doing: str) -> Iterator[Any]:
    """Yield each thing, with a bar on a terminal for as long as there are several."""
    if len(things) <= 1 or not sys.stderr.isatty():
        yield from things
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(things, description=doing, console=Console(stderr=True), transient=True)

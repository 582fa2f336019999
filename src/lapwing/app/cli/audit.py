"""`lapwing audit`."""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from lapwing.app.auditing.register import Audited, audited, left_out, liars, named, suspects
from lapwing.app.auditing.suspect import Suspect
from lapwing.app.cli.terminal import json_option, paragraph, table, tell
from lapwing.app.plots.canvas import FORMATS, checked_folder, checked_path
from lapwing.app.plots.meaning import draw_privacy_region
from lapwing.auditor.black_box import audit as watch
from lapwing.auditor.finding import Finding, parameters
from lapwing.auditor.white_box import Achieved
from lapwing.vocabulary.decimals import several
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, positive, probability
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
@click.option("--seconds", metavar="NUMBER", help="How long to draw from each mechanism at most.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the order of draws; never of the noise.")
@click.option(
    "--false-alarm",
    metavar="NUMBER",
    default="1e-6",
    show_default=True,
    help="How likely drawing may refute a true claim: all mechanisms together.",
)
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
    /,
    *,
    mechanism: str | None,
    epsilon: str,
    delta: str,
    lying: bool,
    sampled: bool,
    listing: bool,
    plot: Path | None,
    as_json: bool,
    **drawing: Any,
) -> None:
    """Compute what every mechanism really gives away, against what it claims.

    For each mechanism the worst two neighbouring inputs are searched for, and the exact probabilities of what it says
    on them are compared. "Achieved" is lost at least; a number above the claim refutes it. The auditor has laws of its
    own: of a mechanism it reads the noise that it draws with, and with --sampled what it says.

    The streams among the liars are not searched: each comes with the inputs and the answers that give it away, few
    enough to be seen by drawing. What it loses in all is told beside what is achieved there.

    \b
    lapwing audit
    lapwing audit permute-and-flip --epsilon 0.5
    lapwing audit --liars
    lapwing audit gaussian --plot gaussian.svg

    It ends with 0 if no claim is refuted, and with 1 if one is. With --liars it is the other way round: 0 if every
    liar is caught, and 1 if one gets away.
    """
    watching = _Watching.checked(**drawing)
    if lying:
        _refuse_options_of_mechanisms(ctx)
    missing = {} if lying else left_out(epsilon=epsilon, delta=delta)
    chosen = [] if lying else _chosen(mechanism, suspects(epsilon=epsilon, delta=delta), missing)
    audits = _lies(mechanism) if lying else [audited(suspect) for suspect in chosen]
    if listing:
        tell({"names": [one.name for one in audits]}, "\n".join(one.name for one in audits), as_json=as_json)
        return
    files = _files(plot, audits)
    found = [(one, one.compute()) for one in _with_progress(audits, "computing")]
    findings = [achieved.finding(one.name) for one, achieved in found]
    drawn = _drawable(chosen) if sampled else []
    watched = [watching.watch(one, among=len(drawn)) for one in _with_progress(drawn, "drawing")]
    for (one, achieved), file in zip(found, files, strict=False):
        if achieved.laws is not None:
            draw_privacy_region(
                file, name=one.name, claim=achieved.claim, laws=achieved.laws(), refuted=achieved.refuted
            )
    everything = [*findings, *watched]
    failed = [finding for finding in everything if finding.refuted is not lying]
    tell(
        _record(found, findings, watched, files, lying=lying, passed=not failed)
        | {"left_out": {name: str(refusal) for name, refusal in missing.items()}},
        _liar_table(found) if lying else table(_HEADER, [_row(*one) for one in found], left=len(_HEADER)),
        table(_SAMPLED, [_sampled_row(finding) for finding in watched], left=len(_SAMPLED)) if watched else "",
        paragraph(_conclusion(findings, watched, lying=lying)),
        *(paragraph(f"{name} is left out: {refusal}.") for name, refusal in missing.items() if mechanism is None),
        "\n".join(map(str, files)),
        as_json=as_json,
    )
    ctx.exit(_REFUTED if failed else 0)


_HEADER = ("suspect", "claim", "achieved", "of it", "verdict", "where")
_LIARS = ("liar", "claim", "achieved", "in all", "verdict", "where")
_BOUNDLESS = "without bound"
_FEWEST = 50
_SAMPLED = ("suspect, drawn from", "claim", "at least", "draws", "verdict", "where")


def _chosen(mechanism: str | None, among: dict[str, Suspect], missing: Mapping[str, ParameterError]) -> list[Suspect]:
    return list(among.values()) if mechanism is None else [named(mechanism, among, missing)]


_OF_MECHANISMS = ("epsilon", "delta", "sampled", "samples", "seconds", "seed", "false_alarm")


def _refuse_options_of_mechanisms(ctx: click.Context) -> None:
    """Refuse what would be ignored: liars have claims of their own, and are computed only."""
    given = [
        name for name in _OF_MECHANISMS if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        option = f"--{given[0].replace('_', '-')}"
        reason, remedy = "is not for liars: they have claims of their own, and are computed only", f"leave {option} out"
        raise ParameterError(option, ctx.params[given[0]], reason=reason, remedy=remedy)


def _lies(name: str | None) -> list[Audited]:
    told = liars()
    chosen = [one for one in told if name is None or one.name == name]
    if not chosen:
        raise ParameterError("mechanism", name, reason="is no known liar", remedy="see lapwing audit --liars --list")
    return chosen


def _drawable(chosen: Sequence[Suspect]) -> list[Suspect]:
    return [suspect for suspect in chosen if suspect.release is not None and suspect.neighbours is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watching:
    """How mechanisms are drawn from."""

    samples: int
    seconds: Fraction | None
    seed: int
    false_alarm: Fraction

    @classmethod
    def checked(cls, *, samples: int, seconds: str | None, seed: int, false_alarm: str) -> "_Watching":
        """Return it, or refuse before any work is done."""
        return cls(
            samples=as_int("samples", samples, least=_FEWEST),
            seconds=None if seconds is None else positive("seconds", seconds),
            seed=as_int("seed", seed, least=0),
            false_alarm=probability("false_alarm", false_alarm),
        )

    def watch(self, suspect: Suspect, *, among: int) -> Finding:
        """Draw from one of several mechanisms, which share the chance of a false alarm."""
        if suspect.neighbours is None:
            raise TypeError(suspect)
        return watch(
            suspect.release,
            claim=suspect.claim,
            neighbours=suspect.neighbours,
            name=suspect.name,
            samples=self.samples,
            seconds=None if self.seconds is None else float(self.seconds),
            seed=self.seed,
            false_alarm=self.false_alarm / among,
        )


def _liar_table(found: Sequence[tuple[Audited, Achieved]]) -> str:
    rows = [
        [one.name, _claim(achieved.claim), _reached(achieved), in_all(one, achieved), verdict, where]
        for one, achieved in found
        for _, _, _, _, verdict, where in [_row(one, achieved)]
    ]
    return table(_LIARS, rows, left=len(_LIARS))


def in_all(one: Audited, achieved: Achieved) -> str:
    """Return the most that a liar loses on any neighbours."""
    if one.loses is None:
        return _reached(achieved) if _reached(achieved) != "unbounded" else _BOUNDLESS
    return _BOUNDLESS if math.isinf(one.loses) else f"{one.loses:g}"


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
    return ", ".join(f"{name} {number:.4g}" for name, number in parameters(claim).items())


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
        if len(findings) == 1:
            return "1 liar, caught: it gives away more than it claims."
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
        finding.to_dict()
        | {"source": one.source, "share": _finite(achieved.share)}
        | ({"in_all": in_all(one, achieved)} if lying else {})
        for (one, achieved), finding in zip(found, findings, strict=True)
    ]
    return {
        "audited": "liars" if lying else "mechanisms",
        "passed": passed,
        "findings": rows,
        "sampled": [finding.to_dict() for finding in watched],
        "pictures": [str(file) for file in files],
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _files(plot: Path | None, audits: Sequence[Audited]) -> list[Path]:
    """Return where the pictures go, checked before any work is done."""
    if plot is None:
        return []
    if plot.suffix.lower() not in FORMATS:
        folder = checked_folder(plot)
        return [checked_path(folder / f"{one.name.replace(' ', '_')}.svg") for one in audits]
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

"""`lapwing audit`."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from lapwing.auditor.black_box import audit as watch
from lapwing.auditor.finding import Finding, parameters
from lapwing.auditor.white_box import Achieved
from lapwing.doors.auditing.register import Audited, audited, left_out, liars, named, suspects
from lapwing.doors.auditing.suspect import Suspect
from lapwing.doors.cli.commands import each, json_option, paragraph, table, tell
from lapwing.doors.plots.meaning import draw_privacy_region
from lapwing.show.canvas import FORMATS, checked_folder, checked_path
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, positive, probability
from lapwing.vocabulary.guarantee import Guarantee
from lapwing.vocabulary.wording import several

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
    enough to be seen by drawing. What it loses in all is shown beside what is achieved there.

    \b
    lapwing audit
    lapwing audit permute-and-flip --epsilon 0.5
    lapwing audit --liars
    lapwing audit gaussian --plot gaussian.svg

    It ends with 0 if no claim is refuted, and with 1 if one is. With --liars it is the other way round: 0 if every
    liar is caught, and 1 if one gets away.
    """
    watching = _watching(**drawing)
    if lying:
        _refuse_options_of_mechanisms(ctx)
    missing = {} if lying else left_out(epsilon=epsilon, delta=delta)
    known = {} if lying else suspects(epsilon=epsilon, delta=delta)
    chosen = list(known.values()) if mechanism is None or lying else [named(mechanism, known, missing)]
    audits = _lies(mechanism) if lying else [audited(suspect) for suspect in chosen]
    if listing:
        tell({"names": [one.name for one in audits]}, "\n".join(one.name for one in audits), as_json=as_json)
        return
    files = _files(plot, audits)
    found = [(one, one.compute()) for one in each(audits, "computing")]
    findings = [achieved.finding(one.name) for one, achieved in found]
    drawn = [one for one in chosen if sampled and one.release is not None and one.neighbours is not None]
    watched = [watching(one, len(drawn)) for one in each(drawn, "drawing")]
    for (one, achieved), file in zip(found, files, strict=False):
        if achieved.laws is not None:
            draw_privacy_region(
                file, name=one.name, claim=achieved.claim, laws=achieved.laws(), refuted=achieved.refuted
            )
    header = _LIARS if lying else _HEADER
    failed = [finding for finding in (*findings, *watched) if finding.refuted is not lying]
    tell(
        {
            "audited": "liars" if lying else "mechanisms",
            "passed": not failed,
            "findings": [_record(*one, lying=lying) for one in found],
            "sampled": [finding.to_dict() for finding in watched],
            "pictures": [str(file) for file in files],
            "left_out": {name: str(refusal) for name, refusal in missing.items()},
        },
        table(header, [_row(*one, lying=lying) for one in found], left=len(header)),
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
        raise ParameterError("mechanism", name, reason="is not a known liar", remedy="see lapwing audit --liars --list")
    return chosen


def _watching(*, samples: int, seconds: str | None, seed: int, false_alarm: str) -> Callable[[Suspect, int], Finding]:
    """Return how to draw from one of several mechanisms, which share the chance of a false alarm; or refuse to."""
    draws, order = as_int("samples", samples, least=_FEWEST), as_int("seed", seed, least=0)
    most = None if seconds is None else float(positive("seconds", seconds))
    shared = probability("false_alarm", false_alarm)

    def watch_one(suspect: Suspect, among: int) -> Finding:
        if suspect.neighbours is None:
            raise TypeError(suspect)
        return watch(
            suspect.release,
            claim=suspect.claim,
            neighbours=suspect.neighbours,
            name=suspect.name,
            samples=draws,
            seconds=most,
            seed=order,
            false_alarm=shared / among,
        )

    return watch_one


def in_all(one: Audited, achieved: Achieved) -> str:
    """Return the most that a liar loses on any neighbours."""
    if one.loses is None:
        return _reached(achieved) if _reached(achieved) != "unbounded" else _BOUNDLESS
    return _BOUNDLESS if math.isinf(one.loses) else f"{one.loses:g}"


def _row(one: Audited, achieved: Achieved, *, lying: bool) -> list[str]:
    share = "" if math.isinf(achieved.number) else f"{achieved.share:.1%}"
    verdict, where = "REFUTED" if achieved.refuted else "holds", f"{achieved.event} on {achieved.inputs}"
    beside = in_all(one, achieved) if lying else share
    return [one.name, _claim(achieved.claim), _reached(achieved), beside, verdict, where]


def _claim(claim: Guarantee) -> str:
    return ", ".join(f"{name} {number:.4g}" for name, number in parameters(claim).items())


def _reached(achieved: Achieved) -> str:
    finding = achieved.finding("")
    if finding.currency == "delta":
        return f"delta {finding.achieved:.4g}"
    return "unbounded" if math.isinf(achieved.number) else f"{achieved.number:.6g}"


def _sampled_row(one: Finding) -> list[str]:
    verdict = "REFUTED" if one.refuted else "not refuted"
    return [one.suspect, _claim(one.claim), f"{one.achieved:.4g}", f"{one.samples:,}", verdict, one.where]


def _record(one: Audited, achieved: Achieved, *, lying: bool) -> dict[str, Any]:
    share = achieved.share if math.isfinite(achieved.share) else None
    record = achieved.finding(one.name).to_dict() | {"source": one.source, "share": share}
    return record | ({"in_all": in_all(one, achieved)} if lying else {})


def _conclusion(findings: Sequence[Finding], watched: Sequence[Finding], *, lying: bool) -> str:
    caught = [finding for finding in (*findings, *watched) if finding.refuted]
    if lying:
        missed = [finding.suspect for finding in findings if not finding.refuted]
        if missed:
            return f"{several(len(missed), 'liar')} got away: {', '.join(missed)}."
        told = "caught: it" if len(findings) == 1 else "all caught: each"
        return f"{several(len(findings), 'liar')}, {told} gives away more than it claims."
    if caught:
        return f"{several(len(caught), 'claim')} REFUTED: {', '.join(finding.suspect for finding in caught)}."
    return (
        f"{several(len(findings), 'mechanism')}, none above its claim. A search shows what is lost at least; that "
        "nothing loses more is what the proofs are for."
    )


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

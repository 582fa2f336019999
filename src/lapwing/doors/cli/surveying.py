"""`lapwing survey`: a survey in the local model from the command line. It needs no workspace, for nobody is trusted.

What is asked stands in one file of JSON, which `lapwing survey new` writes; whoever has the same file makes the same
client, and knows the same reports.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lapwing.doors.cli.commands import facts, json_option, tell
from lapwing.vocabulary.errors import BadQuestionError, ParameterError

if TYPE_CHECKING:
    from lapwing.surveys.local_survey import Survey

_WORDS: Final = ("answers", "words", "letters", "question", "round", "epsilon")
_REMEDY: Final = "write it with lapwing survey new"
_PATH: Final = click.Path(path_type=Path, dir_okay=False)
asked_argument = click.argument("asked", type=_PATH)
reports_option = click.option("--into", "reports", type=_PATH, help="The file of reports.  [default: beside it, .db]")
confidence_option = click.option("--confidence", metavar="NUMBER", default="0.95", show_default=True, help="How sure.")


@click.group(no_args_is_help=True)
def survey() -> None:
    """Ask people whose own devices add the noise: who asks never sees an answer as it was given.

    Each answer is changed by chance before it leaves. No workspace is needed, and no table.

    \b
    lapwing survey new smoking.json --answer never --answer daily --epsilon 2
    lapwing survey plan smoking.json --people 10000
    lapwing survey client smoking.json client.py

    Each report costs the person who sends it, and no population's budget.
    """


@survey.command()
@asked_argument
@click.option("--answer", "answers", multiple=True, metavar="TEXT", help="A possible answer; once for each.")
@click.option("--numbers", metavar="N", help="In their place, for numbers from 0 to N - 1.")
@click.option("--words", metavar="N", help="In their place, for words that cannot be listed: how many letters count.")
@click.option("--letters", metavar="TEXT", help="Of which letters words are made.  [default: a to z]")
@click.option("--epsilon", required=True, metavar="NUMBER", help="What one report costs the person who sends it.")
@click.option("--question", metavar="TEXT", help="What people are asked.")
@click.option("--round", "round_", metavar="NAME", help="Which time it is asked; every round costs.  [default: 1]")
@json_option
def new(
    *, asked: Path, answers: tuple[str, ...], numbers: str | None, round_: str | None, as_json: bool, **given: Any
) -> None:
    """Write down what is asked, in one file that client and collector are made from.

    \b
    lapwing survey new smoking.json --answer never --answer daily --epsilon 2 \\
        --question "Do you smoke?"
    lapwing survey new diseases.json --words 10 --epsilon 4

    It costs nothing: nobody was asked yet.
    """
    from lapwing.doors.cli.questions import whole_or_none

    terms = {**given, "words": whole_or_none("words", given["words"]), "round": round_}
    terms["answers"] = list(answers) or whole_or_none("numbers", numbers)
    kinds = {"answers": answers, "numbers": numbers, "words": given["words"]}
    named = [kind for kind, one in kinds.items() if one]
    if len(named) != 1:
        said = " and ".join(named) or "no answers"
        raise BadQuestionError(f"{said} cannot be asked; give --answer for each, or --numbers 100, or --words 10")
    terms = {word: one for word, one in terms.items() if one is not None}
    made = _survey(terms)
    if asked.exists() and _terms(asked) != terms:
        reason, remedy = "is there and asks something else", "name another file, or another --round"
        raise ParameterError("path", str(asked), reason=reason, remedy=remedy)
    _write(asked, json.dumps(terms, ensure_ascii=False) + "\n")
    record = {"asked": str(asked), "key": made.asked.key, "promise": made.asked.promise}
    tell(record, facts(("written", asked), ("promise", made.asked.promise)), as_json=as_json)


@survey.command()
@asked_argument
@click.option("--people", required=True, metavar="N", help="How many are asked.")
@confidence_option
@json_option
def plan(*, asked: Path, people: str, confidence: str, as_json: bool) -> None:
    """Say what so many people will show: the smallest share that is seen.

    \b
    lapwing survey plan smoking.json --people 10000

    It costs nothing, and needs no data.
    """
    from lapwing.doors.cli.questions import whole_or_none

    told = _read(asked).plan(people=whole_or_none("people", people) or 0, confidence=confidence)
    tell(told.to_dict(), str(told), as_json=as_json)


@survey.command()
@asked_argument
@click.argument("file", type=_PATH)
@json_option
def client(*, asked: Path, file: Path, as_json: bool) -> None:
    """Write the client: .py is a program of one file, .html a page.

    \b
    lapwing survey client smoking.json client.py
    lapwing survey client smoking.json client.html

    Neither needs anything else, nor a connection. A report costs the person who sends it.
    """
    place = _read(asked).write_client(file)
    tell({"client": str(place)}, facts(("written", place)), as_json=as_json)


@survey.command()
@asked_argument
@click.argument("lines", type=click.File(encoding="utf-8"), default="-")
@reports_option
@click.option("--most-per-person", metavar="NUMBER", help="How much epsilon a person may spend over all rounds.")
@json_option
def collect(*, asked: Path, lines: Any, reports: Path | None, most_per_person: str | None, as_json: bool) -> None:
    """Keep reports, a line each, from a file or from what is piped in. A device is heard once a round.

    \b
    lapwing survey collect smoking.json reports.txt

    Lines that came before change nothing; others are refused, each with its reason, and the rest is kept. It costs
    nobody anything: what a report gives away, it gave away when it was drawn.
    """
    told = (line.strip() for line in lines)
    with _read(asked).collect(_beside(asked, reports), most_per_person=most_per_person) as collector:
        before = collector.people
        refused = collector.take_all(line for line in told if line)
        record = {"people": collector.people, "new": collector.people - before, "refused": refused}
    for sentence in refused:
        click.echo(sentence, err=True)
    pairs = [("new", record["new"]), ("people", record["people"]), ("refused", len(refused))]
    tell(record, facts(*pairs), as_json=as_json)
    if refused:
        sys.exit(2)


@survey.command(name="show")
@asked_argument
@reports_option
@confidence_option
@click.option("--most", metavar="N", help="How many answers are shown, the most frequent first.  [default: 1000]")
@click.option("--plot", type=_PATH, help="A file for the picture, .svg.")
@json_option
def show_estimates(
    *, asked: Path, reports: Path | None, confidence: str, most: str | None, plot: Path | None, as_json: bool
) -> None:
    """Say how many people gave each answer, with intervals.

    \b
    lapwing survey show smoking.json
    lapwing survey show smoking.json --plot smoking.svg

    It costs nothing: everybody has paid already.
    """
    from lapwing.doors.cli.questions import whole_or_none

    if plot is not None and plot.suffix != ".svg":
        raise ParameterError("plot", str(plot), reason="is not drawn here", remedy="name a file that ends in .svg")
    limit = {} if most is None else {"most": whole_or_none("most", most) or 0}
    place = _beside(asked, reports)
    if not place.exists():
        raise ParameterError("reports", str(place), reason="is not there", remedy="collect some first, or say --into")
    with _read(asked).collect(place) as collector:
        estimates = collector.estimates(confidence=confidence, **limit)
    if plot is not None:
        _write(plot, estimates.svg())
    drawn = {} if plot is None else {"plot": str(plot)}
    tell({**estimates.to_dict(), **drawn}, str(estimates), as_json=as_json)


def _survey(terms: dict[str, Any]) -> "Survey":
    from lapwing.surveys.local_survey import survey as survey_of

    return survey_of(**terms)


def _read(asked: Path) -> "Survey":
    """Return the survey of a file; refuse what `new` did not write."""
    terms = _terms(asked)
    if not isinstance(terms, dict) or not {"epsilon"} <= terms.keys() <= set(_WORDS):
        raise ParameterError("path", str(asked), reason="is not the file of a survey", remedy=_REMEDY)
    return _survey(terms)


def _terms(asked: Path) -> Any:
    """Return what a file of JSON holds, and None for any other."""
    try:
        return json.loads(asked.read_text(encoding="utf-8"))
    except OSError as wrong:
        reason = f"cannot be read ({wrong.strerror})"
        raise ParameterError("path", str(asked), reason=reason, remedy=_REMEDY) from None
    except ValueError:
        return None


def _beside(asked: Path, reports: Path | None) -> Path:
    return asked.with_suffix(".db") if reports is None else reports


def _write(place: Path, text: str) -> None:
    try:
        place.write_text(text, encoding="utf-8")
    except OSError as refused:
        reason, remedy = f"cannot be written ({refused.strerror})", "name a file in a folder that is there"
        raise ParameterError("path", str(place), reason=reason, remedy=remedy) from None

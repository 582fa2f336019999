"""The commands that ask a question, or say what it would cost: preview, count, ask, sql, funnel."""

import sys
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from lapwing.doors.cli.commands import say
from lapwing.doors.cli.options import (
    Door,
    Words,
    answered,
    any_question,
    at_the_door,
    by_option,
    complete_tables,
    max_groups_option,
    max_rows_option,
    of_rows,
    plot_option,
    priced,
    steps_option,
    where_option,
    with_concept_sets,
)

if TYPE_CHECKING:
    from lapwing.answers.target import TargetWords


@click.command()
@any_question
@click.option("--at-least", metavar="N", help="Preview a stream about TABLE that asks for N people.")
@click.option("--yeses", metavar="N", default="1", show_default=True, help="The stream halts after N yeses.")
@click.option("--questions", metavar="N", help="How many questions the stream is meant for.")
@click.option("--number", is_flag=True, help="A yes of the stream comes with the number.")
@priced
@of_rows
@plot_option
@at_the_door
@with_concept_sets
def preview(
    door: Door, *, offer: "TargetWords", asked: Words, at_least: str | None, plot: Path | None, **rest: Any
) -> None:
    """Say what a question would cost and how far off it would be.

    Price and error follow from the question and from what you offer, never from the data: so they can be known before,
    and looking is free. The error is random, but how large it can be is not. --plot draws the error against the price.

    \b
    lapwing preview count patients --where "age >= 65" --epsilon 0.1
    lapwing preview count patients --by sex --within 20 --plot error.svg
    lapwing preview "select avg(age) from patients" --epsilon 0.2
    lapwing preview patients --at-least 200 --yeses 5 --epsilon 1

    It costs nothing.
    """
    from lapwing.doors.cli.questions import question_of, show_preview
    from lapwing.doors.cli.streams import show_stream_preview, stream_offer

    if at_least is None:
        show_preview(door, question_of(asked.given(), **asked.options), offer, plot)
    else:
        terms = stream_offer(offer, table=asked.table(), at_least=at_least, **rest)
        show_stream_preview(door, terms, plot)


@click.command()
@click.argument("table", shell_complete=complete_tables)
@where_option
@by_option
@max_groups_option
@priced
@answered
@at_the_door
@with_concept_sets
def count(
    door: Door,
    *,
    offer: "TargetWords",
    table: str,
    where: str | None,
    by: tuple[str, ...],
    max_groups: str | None,
    **how: Any,
) -> None:
    """Count people, in all or by groups.

    A count with noise: the answer is the true number plus a random one, drawn so that nobody can tell from it whether
    any one person was counted. The noise does not depend on how many there are, so large counts are nearly exact and
    counts of a few people are not. Each person counts once, however many rows they have.

    \b
    lapwing count patients --where "sex = 'M' and age < 30" --epsilon 0.1
    lapwing count patients --by sex --within 20
    lapwing count patients --by "bins(age, 0, 18, 65)" --epsilon 1 --plot ages.svg

    It costs the epsilon you offer, once: groups that hold different people cost no more than one count. The same
    question at the same price is answered as before, for free.
    """
    from lapwing.doors.cli.questions import put, question_of

    put(door, question_of(["count", table], where=where, by=by, max_groups=max_groups), offer, **how)


class ListsStatistics(click.Command):
    """A command whose help lists the statistics: they are imported when it is asked for, and not before."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help, with a line for each statistic."""
        from lapwing.queries.statistics import STATISTICS

        lines = "\n".join(" ".join([one.shape, *one.needs.values()]) for one in STATISTICS.values())
        text = self.help
        self.help = cleandoc(str(text)).replace("STATISTICS", lines)
        super().format_help_text(ctx, formatter)
        self.help = text


@click.command(cls=ListsStatistics)
@any_question
@click.option("--at-least", metavar="N", help="Ask whether there are at least N people in TABLE, once.")
@priced
@of_rows
@answered
@at_the_door
@with_concept_sets
def ask(door: Door, *, offer: "TargetWords", asked: Words, at_least: str | None, **how: Any) -> None:
    """Ask for any statistic, or whether there are at least N people.

    Every statistic is computed from numbers with noise on them. lapwing bounds what one person can add to it (by the
    declared bounds of the column and --max-rows), and draws noise that hides a person who adds that much. So narrow
    bounds and few rows a person mean a more exact answer.

    \b
    STATISTICS

    \b
    lapwing ask mean patients age --where "sex = 'F'" --epsilon 0.5
    lapwing ask quantiles patients age --at 0.25,0.5,0.75 --epsilon 0.5
    lapwing ask "select sex, count(*) from patients group by sex" --epsilon 0.5
    lapwing ask --at-least 200 patients --where "age >= 65" --epsilon 0.5

    It costs the epsilon you offer. "At least N people?" costs a part of it if the answer is no; with a yes comes an
    interval for the number of people. For many such questions open a stream, where a no costs nothing.
    """
    from lapwing.doors.cli.questions import put, question_of
    from lapwing.doors.cli.streams import ask_once

    if at_least is None:
        put(door, question_of(asked.given(), **asked.options), offer, **how)
    else:
        ask_once(door, asked.table(), offer, at_least=at_least, where=asked.options["where"], **how)


@click.command()
@click.argument("select", required=False)
@click.option("--file", "file", type=click.File(encoding="utf-8"), help="Ask every line of a file; - is the input.")
@max_rows_option
@max_groups_option
@priced
@of_rows
@answered
@at_the_door
@with_concept_sets
def sql(
    door: Door,
    offer: "TargetWords",
    *,
    select: str | None,
    file: TextIO | None,
    max_rows: str | None,
    max_groups: str | None,
    **how: Any,
) -> None:
    """Ask a SELECT of statistics; "-" reads it from standard input.

    Your SQL is read, understood and thrown away: what reaches the database is written by lapwing, and it adds noise to
    every number before you see it. Rows of people cannot be selected. What cannot be asked is refused by name,
    for free.

    \b
    lapwing sql "select sex, avg(age) from patients group by sex" --epsilon 0.5
    lapwing sql "select count(*) from patients" --within 20 --dry-run

    With --file, each line is a SELECT, at most 1,000 of them; empty lines and lines that begin with -- are left out.
    They are charged together, or refused together for free, and answered with one line of JSON each.

    \b
    lapwing sql --file selects.sql --epsilon 0.01 > answers.jsonl

    It costs the epsilon you offer, for each SELECT of a file; each statistic of a SELECT gets an equal share of it.
    """
    from lapwing.doors.cli.questions import put, put_lines, told_catalogue, whole_or_none
    from lapwing.queries.statements.select import read_sql

    if (select is None) == (file is None):
        raise click.UsageError("give one SELECT, or --file with a SELECT on each line")
    most = {"max_rows": whole_or_none("max_rows", max_rows), "max_groups": whole_or_none("max_groups", max_groups)}
    if file is not None:
        put_lines(door, file, offer, most, **how)
        return
    text = sys.stdin.read() if select == "-" else str(select)
    if told_catalogue(door, text):
        return
    put(door, read_sql(text, **most), offer, **how)


@click.command()
@click.argument("named", nargs=-1, required=True, metavar="NAME=SELECT...")
@max_rows_option
@max_groups_option
@priced
@answered
@at_the_door
@with_concept_sets
def choose(
    door: Door,
    offer: "TargetWords",
    *,
    named: tuple[str, ...],
    max_rows: str | None,
    max_groups: str | None,
    **how: Any,
) -> None:
    """Say which of several named counts or totals is the largest.

    Only the name comes out, by a noisy choice; how large any of them is stays unknown. That is cheaper than counting
    all of them and looking. The error says how much larger another one may be.

    \b
    lapwing choose "young=select count(*) from patients where age < 30" \\
        "old=select count(*) from patients where age >= 60" --epsilon 0.1

    They are counts, or totals, all of one kind, each a SELECT of one statistic without groups.

    It costs the epsilon you offer, however many there are.
    """
    from lapwing.doors.cli.questions import put, whole_or_none
    from lapwing.queries.statements.select import read_each
    from lapwing.queries.statistics.best import best_of

    most = {"max_rows": whole_or_none("max_rows", max_rows), "max_groups": whole_or_none("max_groups", max_groups)}
    given = dict[str, str]()
    for one in named:
        name, separator, select = one.partition("=")
        if not separator or not name.strip():
            raise click.UsageError(f"{one[:60]!r} has no name; write one before it: NAME=...")
        if name.strip() in given:
            raise click.UsageError(f"two are called {name.strip()!r}; give each a name of its own")
        given[name.strip()] = select
    put(door, {"best": best_of(read_each(given, **most))}, offer, **how)


@click.command()
@click.argument("table", required=False, shell_complete=complete_tables)
@click.option("--definition", metavar="FILE", help="A cohort definition of OHDSI, in JSON, instead of TABLE and steps.")
@click.option("--anyway", is_flag=True, help="Leave out what is not supported of the definition.")
@steps_option
@where_option
@priced
@answered
@at_the_door
@with_concept_sets
def funnel(
    door: Door,
    offer: "TargetWords",
    *,
    table: str | None,
    definition: str | None,
    anyway: bool,
    steps: tuple[str, ...],
    where: str | None,
    **how: Any,
) -> None:
    """Count who passes one condition after the other, for one price.

    How a cohort shrinks from criterion to criterion is what a study wants to know first. Asked one by one the steps
    would be paid one by one; lapwing asks how far each person gets, which is one number a person, and adds it up. The
    later steps have the smaller error.

    \b
    lapwing funnel patients --step "sex = 'M'" --step "age between 20 and 30" \\
        --step cancer_survivor --epsilon 0.5

    A cohort definition of OHDSI, as ATLAS exports it, is a funnel, too: its entry event, then its inclusion rules. Name
    its file with --definition. What of it is not supported is listed and refused, unless you say --anyway.

    It costs the epsilon you offer, however many steps there are.
    """
    from lapwing.doors.cli.questions import put, question_of

    if definition is None and table is not None:
        put(door, question_of(["funnel", table], steps=steps, where=where), offer, **how)
        return
    if definition is None or table is not None or steps or where is not None:
        raise click.UsageError("Name a table with --step, or --definition FILE without either.")
    from lapwing.queries.statements.ohdsi.definition import cohort_definition

    cohort = cohort_definition(definition)
    for remark in cohort.notes:
        say(f"mind: {remark}", err=True)
    put(door, {"people": cohort.funnel(anyway=anyway)}, offer, **how)

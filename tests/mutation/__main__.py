"""Make small mistakes in what bounds, prices and charges, one at a time, and see that a test fails for each.

\b
    python -m mutation --mutants 200 --seed 1
    python -m mutation --mutants 50 --only queries/algebra/aggregate.py
    python -m mutation --only queries/algebra/aggregate.py --like "_at_most: min"

Four of five mistakes are made where nothing may stay unseen; the others in what that stands on. The same seed draws the
same mistakes from the same source. It fails if a mistake in what bounds, prices or charges is seen by no test.
"""

import importlib
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from mutation import witnesses
from mutation.control import Control, Tests
from mutation.equivalent import is_no_mistake
from mutation.mistakes import Mutant, drawn, mutants
from mutation.places import PLACES, ROOT, SOURCE, critical_files, is_served, nearest_tests, source_files
from mutation.running import NOTHING, Ended, Rewriting, Run, run_all

LOADED = ("apsw", "click", "cryptography.hazmat.primitives.ciphers.aead", "duckdb", "mpmath", "numpy", "pandas")
LOADED += ("psutil", "pyarrow.parquet", "polars", "pyspark.sql", "rich.console", "scipy.optimize", "scipy.special")
LOADED += ("scipy.stats", "sqlglot", "hypothesis.stateful", "hypothesis.strategies", "_pytest.doctest")
"""What tests load besides lapwing: once, before the first mistake."""

ROUNDS = ((3, 20.0), (14, 60.0))
"""How many test files each mistake meets, and for how many seconds: few at first, and more if they do not see it."""


def chosen(files: list[Path], seed: int, words: str) -> Iterator[Mutant]:
    """Draw mistakes in these files, without those that change nothing; only such whose title holds these words."""
    possible = [some for path in files for some in mutants(path, source_of(path)).values()]
    return (one for one in drawn(possible, seed) if not is_no_mistake(one.title) and words in one.title)


def source_of(path: Path) -> str:
    return (SOURCE / "lapwing" / path).read_text(encoding="utf-8")


def tests_of(mutant: Mutant, control: Control, near: int, most: float) -> Tests:
    """Return tests that reach what is mutated: of the nearest files, the quickest for some seconds."""
    reach = control.of(mutant.path, mutant.piece, nearest_tests(mutant.path)[:near])
    taken = itertools.accumulate(reach.values())
    return {test: reach[test] for test, so_far in zip(reach, taken, strict=True) if so_far - reach[test] <= most}


def run_of(mutant: Mutant, control: Control, turn: int) -> Run:
    """Return the run of the tests that a mistake meets in this round and has not met before."""
    files = nearest_tests(mutant.path)[: ROUNDS[turn][0]]
    met = {test for earlier in ROUNDS[:turn] for test in tests_of(mutant, control, *earlier)}
    tests = {test: took for test, took in tests_of(mutant, control, *ROUNDS[turn]).items() if test not in met}
    seconds = {file: _seconds(file, tests) for file in files}
    named_alike = f"test_{mutant.path.stem}.py"
    needed = sorted(
        (file for file in files if seconds[file]), key=lambda file: (file.name != named_alike, seconds[file])
    )
    return Run(needed, _with(mutant), tests)


def _with(mutant: Mutant) -> Rewriting:
    return Rewriting(frozenset({mutant.path}), lambda _path, source: mutant.source_tree(source))


def _seconds(file: Path, tests: Tests) -> float:
    name = f"{file.relative_to(ROOT)}::"
    return sum(0.001 + seconds for test, seconds in tests.items() if test.startswith(name))


@click.command(help=__doc__)
@click.option("--mutants", "many", default=200, help="how many mistakes are made")
@click.option("--seed", default=1, help="which ones")
@click.option("--only", multiple=True, help="files of lapwing, such as queries/*.py, instead of the lists of places")
@click.option("--like", "words", default="", help="words of a mistake, to see it again")
@click.option("--processes", default=os.cpu_count(), help="how many run at once")
@click.option("--remember", is_flag=True, help="keep which test saw which mistake, for the next run")
def main(many: int, seed: int, only: tuple[str, ...], words: str, processes: int, remember: bool) -> None:  # noqa: FBT001, PLR0917 - options
    os.nice(10)
    for name in LOADED:
        importlib.import_module(name)
    critical = source_files(only) if only else critical_files()
    further = [] if only else [path for path in source_files(PLACES) if path not in critical]
    first = itertools.islice(chosen(critical, seed, words), many if only else many - many // 5)
    made = [*first, *itertools.islice(chosen(further, seed, words), many // 5)]
    controls = {served: Control(served=served) for served in (False, True)}
    seen: dict[Mutant, str] = {}
    reached: set[Mutant] = set()

    def ended(mutant: Mutant, how: Ended) -> None:
        reached.update({mutant} if how.code != NOTHING else ())
        if how.code in {0, NOTHING}:
            fate = "NOT SEEN" if mutant in reached else "NOT REACHED"
        else:
            seen[mutant] = next(iter(how.told.get("failed", ())), how.at)
            fate = seen[mutant] if how.told.get("failed") else how.last_words
        click.echo(f"{mutant.path}:{mutant.line} {mutant.title}\n    {fate}")

    known = {one: test for one in made if (test := witnesses.read().get(witnesses.name_of(one)))}
    sound = witnesses.sound(known.values(), processes)
    asked = ((one, Run([witnesses.file_of(test)], _with(one), {test: 0.0})) for one, test in known.items())
    run_all(((one, run) for one, run in asked if known[one] in sound), processes, ended)
    for turn, (near, _) in enumerate(ROUNDS):
        survivors = [one for one in made if one not in seen]
        for served, control in controls.items():
            mine = [one for one in survivors if is_served(one.path) is served]
            control.look(sorted({test for one in mine for test in nearest_tests(one.path)[:near]}), processes)
        chosen_runs = ((one, run_of(one, controls[is_served(one.path)], turn)) for one in survivors)
        run_all(chosen_runs, processes, ended)
    survivors = [one for one in made if one not in seen]
    if remember:
        witnesses.remember({witnesses.name_of(one): test for one, test in seen.items() if test})
    click.echo(f"{len(made)} mistakes from seed {seed}: {len(made) - len(survivors)} were seen")
    click.echo("not seen were" if survivors else "no survivors")
    for mutant in survivors:
        where = "" if mutant.path in critical else " (bounds, prices and charges nothing by itself)"
        click.echo(f"  {mutant.path}:{mutant.line} {mutant.title}{where}")
    sys.exit(any(mutant.path in critical for mutant in survivors))


if __name__ == "__main__":
    main()

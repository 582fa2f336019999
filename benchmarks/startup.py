"""How long `lapwing --help` takes, beside `import click`, which is the least that any command line of it could take.

Each is a fresh process; CPU time of the child, user and system, best of many, interleaved.
"""

import os
import resource
import subprocess
import sys

from _report import Goals, table

ROUNDS = 15
CASES = {
    'python -c ""': [sys.executable, "-c", ""],
    'python -c "import click"': [sys.executable, "-c", "import click"],
    "lapwing --help": [sys.executable, "-c", "from lapwing.doors.cli import main; main(['--help'])"],
    "lapwing count --help": [sys.executable, "-c", "from lapwing.doors.cli import main; main(['count', '--help'])"],
}


def cpu_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env={**os.environ, "COLUMNS": "80"})  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    best = dict.fromkeys(CASES, float("inf"))
    for _ in range(ROUNDS):
        for name, command in CASES.items():
            best[name] = min(best[name], cpu_seconds(command))
    bare = best['python -c "import click"']
    rows = [[name, f"{1000 * seconds:.0f} ms", f"{seconds / bare:.2f}"] for name, seconds in best.items()]
    table("CPU time of a process", ["command", "best", "of import click"], rows)
    goals = Goals()
    goals.at_most("lapwing --help against import click", best["lapwing --help"] / bare, 2.0)
    goals.close()


if __name__ == "__main__":
    main()

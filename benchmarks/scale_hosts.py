"""Three servers on one PostgreSQL behind a proxy, one killed under load: what is lost, and how long nobody answers.

HAProxy is used where there is one (Debian's is on the path, another is named by LAPWING_HAPROXY), with the settings
that docs/operations.md prints; otherwise a proxy of a few lines that routes alike, which is said. Clients ask again
under the same key.
"""

import argparse
import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from _report import Goals, table

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from doors.server.test_race import url_of
from doors.server.three_hosts import HAProxy, kill_one_under_load
from postgres_server import running, where_there_is_room


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=600)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    goals, rows = Goals(), []
    if HAProxy.found() is None:
        print("There is no HAProxy here: a few lines of our own route alike. To install it: apt-get install haproxy")
    lost = twice = differ = unsettled = missing = 0
    for number in range(chosen.rounds):
        with (
            TemporaryDirectory(dir=where_there_is_room()) as folder,
            running("max_connections=100") as server,
            server.database() as dsn,
        ):
            asked = {"questions": chosen.questions, "clients": chosen.clients}
            found = asyncio.run(kill_one_under_load(Path(folder), url_of(dsn), **asked))
        times = sorted(at for at, _ in found.load.times)
        rows.append(
            [
                f"{number + 1}, {found.proxy}",
                f"{found.statuses[200]}",
                f"{found.statuses[410]}",
                f"{found.longest_gap:.2f} s",
                f"{len(times) / (times[-1] - times[0]):.0f}",
                ", ".join(f"{number} x {what}" for what, number in found.load.put_off.items()) or "none",
            ]
        )
        lost = max(lost, found.statuses[410])
        twice += found.keys_charged_twice
        differ += len(found.different)
        unsettled += found.unsettled
        missing += chosen.questions - len(found.load.told) + abs(found.charges - chosen.questions)
    header = ["round", "answered", "lost", "longest silence", "a second", "told to ask again"]
    table(f"{chosen.questions} questions of {chosen.clients} clients, one of three hosts killed", header, rows)
    goals.at_most("keys without one end and one charge", missing, 0, "")
    goals.at_most("keys charged twice", twice, 0, "")
    goals.at_most("keys answered in two ways", differ, 0, "")
    goals.at_most("charges that nobody settled", unsettled, 0, "")
    goals.at_most("lost of those that the dead host had in hand", lost, chosen.clients, "")
    goals.close()


if __name__ == "__main__":
    main()

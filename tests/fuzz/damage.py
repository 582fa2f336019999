"""Damage to the files of a ledger: flipped bits, cut logs, lost files. It is refused, or nothing is missing.

`python tests/fuzz/damage.py --seconds 60 --seed 7` tries random damage; a seed that found something is kept in `SEEDS`.
"""

import argparse
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from lapwing.ledger.checkpoint import CheckpointFile
from lapwing.ledger.ledger import Ledger, open_ledger
from lapwing.ledger.questions import Released
from lapwing.ledger.reservation_states import RoundOutcome
from lapwing.vocabulary.errors import LapwingError, LedgerError
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import PEOPLE, SEED, Place, ask, decide_one, intend_one, opening, request
from postgres_server import where_there_is_room

SEEDS = (1, 2, 3)
LEDGER, LOG, HEAD, CHECKED = "ledger.db", "ledger.db-wal", "ledger.head", "ledger.checked"
KEY = bytes(range(32))

Files = Mapping[str, bytes]


def _narrow(path: Path) -> sqlite3.Connection:
    """A ledger on the smallest pages there are: few bytes, and each of them matters."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("pragma page_size = 512")
    return connection


@dataclass(frozen=True)
class Kept:
    """The files of a ledger at one moment, and all that anybody was told until then."""

    files: Files
    answers: Mapping[str, str]
    spent: Fraction
    left_to_ana: Fraction

    @staticmethod
    def of(folder: Path, *, questions: int = 3, closed: bool = False, checked: bool = False, beside: int = 0) -> "Kept":
        """Make a small ledger, with a checkpoint or not; as a crash leaves it, with its log, or closed in order.

        `beside` it there is another population, which was asked so often.
        """
        folder.mkdir()
        whole = Place.in_file(folder / LEDGER, driver=_narrow).clinic()
        if beside:
            whole.administration.create_population("other", unit=PEOPLE, budget=PureDP(epsilon=Fraction(9)))
            whole.administration.add_table("other", "patients")
        for number in range(beside):
            ask(whole, f"k{number}", population="other", epsilon="1/20")
        ledger = whole.of("clinic")
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(9, 10)))
        ledger.reservations.open(opening(yeses=2, price="1/100"))
        answers = {}
        for number in range(questions):
            answers[f"k{number}"] = ask(ledger, f"k{number}", f"noisy {number}", epsilon="1/20").answer
            outcome = RoundOutcome.YES if number == 0 else RoundOutcome.NO
            intend_one(ledger, "s", number=number + 1, key=f"s{number}", question=f"q{number}", sealed=SEED)
            decide_one(ledger, "s", number=number + 1, outcome=outcome, answer=outcome.value)
        own = ledger.snapshot("clinic", "ana").allowance
        assert own is not None
        if closed:
            ledger.close()
        if checked:
            checkpoints = CheckpointFile(folder / CHECKED, KEY)
            with open_ledger(folder / LEDGER, checkpoints=checkpoints) as followed:
                checkpoints.write(followed.store.checked)
        kept = Kept(
            files={file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith("-shm")},
            answers=answers,
            spent=_realised(ledger),
            left_to_ana=own.filters["everyone"].left,
        )
        ledger.close()
        return kept

    def damaged(self, name: str, content: bytes | None) -> Files:
        """Return the files with one of them changed, or gone."""
        others = {other: bytes_ for other, bytes_ in self.files.items() if other != name}
        return others if content is None else {**others, name: content}

    def tried(self, files: Files, folder: Path) -> bool:
        """Say whether these files are opened; then all that was told is in them, and refused in a sentence if not.

        Raises
        ------
        AssertionError : something is missing, and the ledger was opened all the same
        """
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        try:
            with open_ledger(folder / LEDGER, checkpoints=CheckpointFile(folder / CHECKED, KEY)) as whole:
                ledger = whole.of("clinic")
                self._require_told(ledger)
                if ledger.store.background is not None:
                    ledger.store.background.wait()
                    self._require_told(ledger)
                self._require_lists(ledger)
        except LapwingError as refused:
            assert isinstance(refused, LedgerError), f"{refused!r} is not a refusal of a ledger"  # noqa: PT017
            return False
        return True

    def _require_told(self, ledger: Ledger) -> None:
        """Require what is right from the first moment on, whether or not the whole chain was followed yet."""
        assert _realised(ledger) == self.spent, "the account was given something back"
        own = ledger.snapshot("clinic", "ana").allowance
        assert own is not None, "the allowance was forgotten"
        assert own.filters["everyone"].left == self.left_to_ana, "the allowance was given something back"
        assert ledger.reservations.find("s").asked == len(self.answers), "a stream went back"
        for key, answer in self.answers.items():
            stored = ledger.questions.stored(request(key, epsilon="1/20"))
            assert isinstance(stored, Released), "an answer was forgotten"
            assert stored.answer == answer

    def _require_lists(self, ledger: Ledger) -> None:
        assert len(ledger.reservations.all("clinic")) == 1, "a stream was forgotten"
        assert ledger.questions.unsettled() == [], "a settlement was forgotten"


def _realised(ledger: Ledger) -> Fraction:
    realised: Fraction = ledger.account("clinic").filters["everyone"].spent  # type: ignore[union-attr]
    return realised


def flipped(content: bytes, position: int, mask: int) -> bytes:
    """Return the content with some bits of one byte flipped."""
    bad = bytearray(content)
    bad[position] ^= mask
    return bytes(bad)


def any_damage(kept: Kept, chance: random.Random) -> tuple[str, Files]:
    """Return one random damage and its name."""
    name = chance.choice(sorted(kept.files))
    content = kept.files[name]
    position = chance.randrange(len(content))
    match chance.choice(["flip", "flip", "flip", "cut", "zero", "swap", "lose"]):
        case "flip":
            mask = 1 << chance.randrange(8)
            return f"byte {position} of {name} ^ {mask}", kept.damaged(name, flipped(content, position, mask))
        case "cut":
            return f"{name} cut at {position}", kept.damaged(name, content[:position])
        case "zero":
            end = position + chance.choice([8, 512, 4096])
            blank = content[:position] + bytes(len(content[position:end])) + content[end:]
            return f"{name} blank from {position} to {end}", kept.damaged(name, blank)
        case "swap":
            one, other = (chance.randrange(len(content) // 512) * 512 for _ in range(2))
            pages = bytearray(content)
            pages[one : one + 512], pages[other : other + 512] = content[other : other + 512], content[one : one + 512]
            return f"pages at {one} and {other} of {name} exchanged", kept.damaged(name, bytes(pages))
        case _:
            return f"{name} lost", kept.damaged(name, None)


def run(seconds: float, seed: int, *, most: int | None = None) -> Counter[str]:
    """Try random damage for so long, or so often; fail with what was done if something went missing unnoticed."""
    chance, end = random.Random(seed), time.monotonic() + seconds
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as made:
        folder = Path(made)
        kept = [
            Kept.of(folder / "closed", closed=True),
            Kept.of(folder / "left by a crash"),
            Kept.of(folder / "closed and checked", closed=True, checked=True),
            Kept.of(folder / "left by a crash and checked", checked=True),
        ]
        opened = tried = 0
        while time.monotonic() < end and tried != most:
            one = chance.choice(kept)
            what, files = any_damage(one, chance)
            try:
                opened += one.tried(files, folder / "damaged")
            except Exception as missing:
                raise AssertionError(f"seed {seed}, damage {tried}: {what}") from missing
            tried += 1
        assert tried, "there was no time for anything"
        assert tried < 50 or 0 < opened < tried, "all damage is refused, or none"
    return Counter(damaged=tried) + Counter(opened=opened, refused=tried - opened)


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seconds", type=float, default=60.0)
    words.add_argument("--seed", type=int, default=int(time.time()))
    given = words.parse_args()
    with suppress(KeyboardInterrupt):
        run(given.seconds, given.seed)

"""docs/door.md names every key of door.toml that the code takes, in its section, and no other."""

import re
from collections import defaultdict
from pathlib import Path

from lapwing.doors.server.door_file import read_door
from lapwing.workspace.toml import Section

PAGE = Path(__file__).parents[3] / "docs" / "door.md"
RATES = "Rates"
HEADINGS = {
    (): "The file",
    ("tls",): "`[tls]`",
    ("limits",): "`[limits]`",
    **{("limits", rate): RATES for rate in ("looks", "asks", "wrong_tokens", "sign_ins")},
    ("proxy",): "`[proxy]`",
    ("sign_in",): "`[sign_in]`",
}
"""Under which heading the keys of a section stand; those of [sign_in.roles] are names of groups."""
TEXT = """
hosts = ["clinic.example.org"]
tls = { certificate = "a.pem", key = "b.pem" }
[proxy]
peers = ["10.0.0.5"]
secret_file = "secret"
[sign_in]
name = "the Hospital"
issuer = "https://login.example.org"
client = "lapwing"
callback = "https://clinic.example.org/sign-in/return"
[sign_in.roles]
analysts = "analyst"
"""


def test_the_page_has_every_key_and_no_other(tmp_path, monkeypatch) -> None:
    found: dict[str, set[str]] = defaultdict(set)
    take = Section.take

    def noted(self: Section, name: str, *rest, **more):
        if self.path != ("sign_in", "roles"):
            found[HEADINGS[self.path]].add(name)
        return take(self, name, *rest, **more)

    monkeypatch.setattr(Section, "take", noted)
    (tmp_path / "secret").write_text("0123456789abcdef" * 4)
    (tmp_path / "door.toml").write_text(TEXT)
    read_door(tmp_path)

    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    told = {h: next(one for one in sections if one.startswith(h)) for h in HEADINGS.values()}
    assert {h: set(re.findall(r"^\| `(\w+)`", text, flags=re.MULTILINE)) for h, text in told.items()} == found


def test_the_example_of_the_page_can_be_read(tmp_path) -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    (tmp_path / "door.toml").write_text(example[1])
    listening = read_door(tmp_path)
    assert (listening.port, listening.tls is None) == (443, False)

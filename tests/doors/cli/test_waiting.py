"""What a terminal shows while a question is being read: what is done, and for how long."""

import io
import re
import sys
import time

from lapwing.doors.cli.commands import waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_time_that_passed_and_nothing_else(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    with waiting("counting [all]"):
        time.sleep(1.2)
    drawn = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", part).strip() for part in re.split("[\r\n]", shown.getvalue())]
    told = [part for part in drawn if part]
    assert all(re.fullmatch(r"\S counting \[all\] 0:00:\d\d", part) for part in told), told
    assert {part[-7:] for part in told} >= {"0:00:00", "0:00:01"}


def test_what_is_no_terminal_is_shown_nothing(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stderr", shown := io.StringIO())
    with waiting("counting"):
        pass
    assert shown.getvalue() == ""

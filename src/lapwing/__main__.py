"""`lapwing`, and `python -m lapwing`: one command in a process of its own."""

import gc
import os
import sys
import threading
from atexit import _run_exitfuncs as do_what_was_asked_for_at_exit
from os import _exit as end_process
from pathlib import Path
from typing import Final, NoReturn

from lapwing.doors.cli import main

_OBJECTS: Final = 200_000  # a short command makes 140,000 that live to its end: it need not look for garbage once


def run() -> NoReturn:
    """Run the command that was typed and end the process, without the tenth of a second that tidying up would take.

    What must happen at the end does: sessions are closed by the command, what others asked for at the exit is done, and
    everything that was printed is written. Only what the operating system does anyway, to give memory back, is left to
    it. Where a thread must be waited for, the process ends as any other.
    """
    gc.set_threshold(_OBJECTS)
    _open_what_was_closed()
    try:
        main(prog_name="lapwing")
    except SystemExit as ended:
        others = set(threading.enumerate()) - {threading.main_thread()}
        if isinstance(ended.code, int) and all(thread.daemon for thread in others):
            do_what_was_asked_for_at_exit()
            if _written():
                end_process(ended.code)
        raise
    raise AssertionError("a command ends with an exit code")


def _open_what_was_closed() -> None:
    """Open the null device for streams closed by `>&-`, so that no file of ours gets their descriptors."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - until the process ends


def _written() -> bool:
    """Flush what was printed; a full disk, or a closed pipe, is left for the interpreter to report."""
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    run()

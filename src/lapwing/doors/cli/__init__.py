"""The command line: `lapwing`. One module a command, loaded when it is asked for, so that help is instant."""

from lapwing.doors.cli.commands import main

__all__ = ["main"]

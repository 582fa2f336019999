"""`lapwing demo`: a story on a made-up clinic, told by the real session, ledger and engine."""

from lapwing.app.demo.story import PEOPLE, run

__all__ = ["PEOPLE", "run"]

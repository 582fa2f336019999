"""`lapwing demo`: a story on a made-up clinic, told by the real session, ledger and engine."""

from lapwing.app.cli.demo.command import demo

__all__ = ["demo"]

"""A password is kept so that each guess takes memory and time, by everybody who keeps one."""

import ast
import inspect

from lapwing.doors.server import passwords, people


def test_a_guess_takes_64_mebibytes() -> None:
    """What scrypt needs is 128 bytes times N times r; it goes through all of them twice."""
    kept = passwords.hash_password("four plain old words")
    _, log_n, r, p, salt, digest = kept.split("$")
    assert 128 * 2 ** int(log_n) * int(r) == 64 * 2**20
    assert (int(p), len(salt), len(digest)) == (1, 32, 128)
    assert passwords.matches("four plain old words", kept)
    assert not passwords.matches("four plain old word", kept)


def test_nobody_keeps_one_for_less() -> None:
    """Other tests let passwords be quick; who calls it in the source says nothing about its cost."""
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(people))) if isinstance(node, ast.Call)]
    kept = [call for call in calls if getattr(call.func, "id", "") == "hash_password"]
    assert len(kept) >= 3
    assert all(len(call.args) == 1 and not call.keywords for call in kept)

"""Starts the server of an installed lapwing, and reads a page with all that belongs to it, in both languages."""

import re
import subprocess
import sys
from urllib.request import Request, urlopen


def started(server: subprocess.Popen[str]) -> str:
    """Return what the server says until everything is there."""
    said = ""
    while "api/v1/me" not in said:
        line = server.stdout.readline() if server.stdout else ""
        if not line:
            sys.exit(f"the server ended: {said}")
        said += line
    return said


def read(address: str, **headers: str) -> str:
    """Return what stands at an address."""
    with urlopen(Request(address, headers=headers)) as told:  # noqa: S310 - the server that we started
        return str(told.read().decode())


command = [sys.executable, "-m", "lapwing", "serve", "--demo", "--listen", "127.0.0.1:0"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 - our own words
    try:
        said = started(server)
        (address,) = set(re.findall(r"http://[0-9.:]+", said))
        page, other = (read(f"{address}/login", **{"Accept-Language": language}) for language in ("en", "de"))
        parts = set(re.findall(r'(?:href|src)="(/[^"?]+\.(?:css|js|svg))', page))
        empty = [part for part in parts if not read(address + part)]
        (token,) = re.findall(r"ana \(analyst\): (\S+)", said)
        me = read(f"{address}/api/v1/me", Authorization=f"Bearer {token}")
        if page == other or len(parts) < 3 or empty or '"ana"' not in me:  # noqa: PLR2004 - style, script, picture
            sys.exit(f"a page, a language, a style or the API is missing: {parts}, {empty}, {me}")
    finally:
        server.terminate()

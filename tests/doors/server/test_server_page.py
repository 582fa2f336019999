"""The page about the server runs as it is printed, against a server."""

import doctest
import re
from pathlib import Path

import lapwing as lw
from doors.server.certificates import make_certificate
from doors.server.doors import add_people, serving
from lapwing.doors.server.door_file import FILE, read_door
from lapwing.doors.server.rates import Limits
from lapwing.doors.server.sign_in_provider import Provider
from lapwing.doors.server.trusted_proxy import TrustedProxy

PAGE = Path(__file__).parents[3] / "docs" / "server.md"


def test_every_setting_is_on_the_page_and_can_be_written_so(tmp_path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in ("proxy.secret", "provider.secret"):
        (tmp_path / name).write_text("0123456789abcdef" * 4)
    made, _ = make_certificate(tmp_path)
    made.rename(tmp_path / "hospital-ca.pem")
    blocks = re.findall(r"^```toml\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        (tmp_path / FILE).write_text(block)
        read_door(tmp_path)
    taken = [name for kind in (TrustedProxy, Provider, Limits) for name in kind.__dataclass_fields__]
    told = {"secret": "secret_file"}
    assert [name for name in taken if not re.search(rf"\b{told.get(name, name)}\b", text)] == []


def test_the_page_is_true(quick_path, monkeypatch) -> None:
    folder = lw.make_clinic(quick_path / "clinic", people=3000)
    lw.create(folder).close()
    tokens = add_people(folder)
    with serving(folder, tokens=tokens) as door:
        monkeypatch.setenv("LAPWING_URL", f"http://127.0.0.1:{door.port}/api/v1/")
        monkeypatch.setenv("LAPWING_TOKEN", tokens["ana"])
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        failures, attempted = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert failures == 0
    assert attempted > 8

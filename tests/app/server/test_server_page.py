"""The page about the server runs as it is printed, against a server."""

import doctest
from pathlib import Path

import lapwing as lw
from app.server.doors import add_people, serving

PAGE = Path(__file__).parents[3] / "docs" / "server.md"


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

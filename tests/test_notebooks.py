"""The tutorials as notebooks: they say what the pages say, and each runs from its first cell to its last."""

import os
import runpy
import sys
from contextlib import ExitStack
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from doors.server.test_omop_tutorial import PORT, addresses, free_port

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
notebook = runpy.run_path(str(ROOT / "site" / "notebooks.py"))["notebook"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_says_what_its_page_says(page):
    kept = (ROOT / "notebooks" / f"{page.stem}.ipynb").read_text(encoding="utf-8")
    assert kept == notebook(page.read_text(encoding="utf-8")), "python site/notebooks.py writes it anew"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets of the kernel's client, which is not ours
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_runs(page, monkeypatch, tmp_path, request):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    text = (ROOT / "notebooks" / f"{page.stem}.ipynb").read_text(encoding="utf-8")
    with ExitStack() as ends:
        if "OMOP_OWNER" in text:
            places = ends.enter_context(addresses(request.getfixturevalue("database")))
            for name, address in places.items():
                monkeypatch.setenv(name, address)
        read = nbformat.reads(text.replace(PORT, free_port()), as_version=4)
        client = NotebookClient(read, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
        client.execute()
    outputs = [output for cell in read.cells for output in cell.get("outputs", [])]
    assert outputs
    assert not [output for output in outputs if output["output_type"] == "error"]

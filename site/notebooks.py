"""Makes the notebooks from the tutorials: `python site/notebooks.py`. A test fails where one is older than its page."""

import json
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TUTORIALS, NOTEBOOKS = ROOT / "docs" / "tutorials", ROOT / "notebooks"
BLOCK = re.compile(r"^```(python|console|sql|toml)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((\.\./)")


def notebook(text: str) -> str:
    """Return a notebook with the text and the code of a page; what the code prints is found by running it."""
    cells, end = [], 0
    followed = set(CODE) if "```console\n" in text else {"python"}  # on a page with commands, all blocks are steps
    for block in BLOCK.finditer(text):
        if block[1] not in followed:
            continue
        cells += [_cell("markdown", text[end : block.start()]), _cell("code", CODE[block[1]](block[2]))]
        end = block.end()
    cells.append(_cell("markdown", text[end:]))
    if "$ lapwing serve" in text:
        cells.append(_cell("code", "server.terminate()\nserver.stdout.close()\nserver.wait()"))
    kept = [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(cells) if cell["source"]]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    page = {"cells": kept, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(page, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, text: str) -> dict[str, object]:
    text = LINK.sub(r"](../docs/", text.strip()) if kind == "markdown" else text
    lines = text.splitlines(keepends=True)
    more = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": lines, **more}


def _code(block: str) -> str:
    """Return the code of a block without prompts; a cell that is meant to be refused says so, and goes on."""
    code = [line[4:] for line in block.splitlines() if line.startswith((">>> ", "... "))]
    if "Traceback (most recent call last)" not in block:
        return "\n".join(code)
    *before, last = code
    return "\n".join([*before, "try:", f"    {last}", "except lw.LapwingError as refusal:", "    print(refusal)"])


def _commands(block: str) -> str:
    """Return the commands of a block for a shell; a server goes on in the background, to the end of the notebook."""
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    served = [line for line in commands if line.startswith("lapwing serve")]
    shell = "\n".join(["%%bash", "set -e", *(line for line in commands if line not in served)])
    if served == commands:
        begun = f"server = subprocess.Popen({shlex.split(served[0])!r}, stdout=subprocess.PIPE, text=True)"
        return f"import subprocess\n\n{begun}\nprint(server.stdout.readline())  # once it listens"
    return shell


def _statements(block: str) -> str:
    """Return SQL for the owner of the database."""
    connected = 'with psycopg.connect(os.environ["OMOP_OWNER"]) as owner:'
    return f'import os\n\nimport psycopg\n\n{connected}\n    owner.execute("""\n{block}""")'


def _settings(block: str) -> str:
    """Return what goes to the end of the settings."""
    return f"%%bash\ncat >> omop/lapwing.toml <<'END'\n\n{block}END"


CODE = {"python": _code, "console": _commands, "sql": _statements, "toml": _settings}


def main() -> None:
    """Write all notebooks."""
    NOTEBOOKS.mkdir(exist_ok=True)
    for page in sorted(TUTORIALS.glob("*.md")):
        text = notebook(page.read_text(encoding="utf-8"))
        (NOTEBOOKS / f"{page.stem}.ipynb").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

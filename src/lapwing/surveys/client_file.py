"""The client as one file without dependencies: what a person runs, and can read from its first line to its last.

The functions of `phone` are copied into it as they stand, so what was proved and tested here is what runs there.
"""

import inspect
import json
from pathlib import Path
from typing import Any, Final

from lapwing.surveys import phone
from lapwing.vocabulary.errors import ParameterError

_HERE: Final = Path(__file__).parent
_COPIED: Final = (phone.draw_report, phone.name_answers, phone.hash_prefix, phone.encode_word)


def client_text(survey: dict[str, Any], kind: str) -> str:
    """Return the client of a survey: `kind` is "py" for a program, "html" for a page."""
    if kind == "py":
        text = (_HERE / "client.py.txt").read_text(encoding="utf-8")
        copied = "\n\n".join(inspect.getsource(function) for function in _COPIED).strip()
        return text.replace("@PHONE@", copied).replace("@SURVEY@", repr(json.dumps(survey)))
    if kind == "html":
        text = (_HERE / "client.html").read_text(encoding="utf-8")
        return text.replace("@SURVEY@", json.dumps(survey).replace("<", "\\u003c"))
    remedy = 'end the name of the file in ".py" or ".html"'
    raise ParameterError("client", kind, reason="is no kind of client", remedy=remedy)

import copy
import gc
import inspect
import io
import json
import logging
import operator
import pickle
import traceback

import numpy as np
import pytest
import rich
from rich.console import Console

from lapwing.vocabulary.errors import SecrecyError
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import PrivacyUnit

SECRET = 74019
LOOKS = {
    "str": str,
    "format": lambda s: f"{s}",
    "percent": lambda s: "%s" % s,  # noqa: UP031 - an old way to leak
    "eq": lambda s: s == SECRET,
    "ne": lambda s: s != SECRET,
    "lt": lambda s: s < SECRET,
    "ge": lambda s: s >= SECRET,
    "hash": hash,
    "bool": bool,
    "int": int,
    "float": float,
    "index": operator.index,
    "len": len,
    "array": np.asarray,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "json": json.dumps,
    "iterate": list,
    "add": lambda s: s + 1,
    "sorted": lambda s: sorted([s, s]),
    "contains": lambda s: s == SECRET,
    "vars": vars,
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_an_exact_value_refuses_to_be_looked_at(look) -> None:
    with pytest.raises(TypeError) as refusal:
        look(Sensitive(SECRET))
    assert str(SECRET) not in "".join(traceback.format_exception(refusal.value)).replace("SECRET", "")


def test_most_refusals_say_what_to_do() -> None:
    with pytest.raises(SecrecyError, match="release it through a mechanism"):
        str(Sensitive(SECRET))


def test_its_repr_and_a_log_line_show_nothing(caplog) -> None:
    assert repr([Sensitive(SECRET)]) == "[<sensitive>]"
    logging.getLogger("lapwing").warning("value: %r", Sensitive(SECRET))
    assert str(SECRET) not in caplog.text


def test_a_mechanism_can_open_it() -> None:
    assert Sensitive(SECRET).open_for_release() == SECRET


@pytest.mark.parametrize(
    "bad", [{"person_key": ""}, {"person_key": 3}, {"adjacency": "replace"}, {"protects_groups_of": 0}]
)
def test_a_privacy_unit_refuses_what_it_cannot_mean(bad) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        PrivacyUnit(**{"person_key": "id", **bad})


def test_whoever_goes_through_its_attributes_finds_no_value() -> None:
    """Debuggers, error collectors and inspectors do."""
    sensitive = Sensitive(SECRET)
    with pytest.raises(SecrecyError):
        sensitive.__getstate__()
    members = [value for _, value in inspect.getmembers(sensitive)]
    assert str(SECRET) not in repr(members)
    assert SECRET not in gc.get_referents(sensitive)
    console = Console(file=io.StringIO(), width=200)
    rich.inspect(sensitive, private=True, dunder=True, methods=True, console=console)
    assert str(SECRET) not in console.file.getvalue()

"""A message is one text for all doors: what it proposes is data, and each door spells it."""

import json
import pickle

import lapwing as lw
from lapwing.doors.cli.commands import as_typed
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.wording import Call, Message, Setting

BOTH = Message("offer both, ", Setting("epsilon", "0.1"), " and ", Setting("delta", "1e-8"))


def test_a_message_is_worded_for_each_door() -> None:
    assert BOTH == 'offer both, epsilon="0.1" and delta="1e-8"'
    assert BOTH.spelled(as_typed) == "offer both, --epsilon 0.1 and --delta 1e-8"
    assert BOTH.settings == {"epsilon": "0.1", "delta": "1e-8"}


def test_a_message_within_a_message_stays_data() -> None:
    assert Message("first; ", BOTH).settings == BOTH.settings
    assert Message(Call("stream", (Setting("at_least", 200), ...))).settings == {"at_least": 200}


def test_an_error_keeps_what_its_remedy_proposes() -> None:
    refused = ParameterError("delta", None, reason="is missing", remedy=BOTH)
    assert str(refused) == f"delta = None is missing; {BOTH}"
    assert refused.settings == BOTH.settings
    assert refused.spelled(as_typed).endswith("; offer both, --epsilon 0.1 and --delta 1e-8")
    assert refused.to_dict(as_typed)["remedy"] == "offer both, --epsilon 0.1 and --delta 1e-8"
    assert json.loads(refused.to_json()) == refused.to_dict()


def test_what_was_typed_is_never_taken_for_a_setting() -> None:
    """A text that looks like a keyword argument is somebody's text, and no door rewrites it."""
    refused = BadQuestionError("there is no column 'epsilon=3'")
    assert refused.spelled(as_typed) == "there is no column 'epsilon=3'"
    assert refused.settings == {}


def test_a_message_survives_a_process() -> None:
    again = pickle.loads(pickle.dumps(BOTH))
    assert again == BOTH
    assert again.settings == BOTH.settings


def test_a_refusal_is_shown_escaped_in_a_notebook() -> None:
    shown = BadQuestionError("<script>")._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert lw.LapwingError("x").code == "lapwing"

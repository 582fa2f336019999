import json

from golden.transcripts import KEPT, transcripts


def test_answers_refusals_and_commands_are_what_they_were() -> None:
    told, kept = json.loads(json.dumps(transcripts())), json.loads(KEPT.read_text(encoding="utf-8"))
    for part, wanted in kept.items():
        assert told[part] == wanted, part
    assert told.keys() == kept.keys()

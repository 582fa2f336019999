"""A stored answer is told again for nothing, without writing, and with no database."""

import pytest

import lapwing as lw
from lapwing.vocabulary.errors import RequestConflictError, UnansweredError
from workspace.test_workspace import SETTINGS, write_patients


@pytest.fixture
def folder(quick_path):
    write_patients(quick_path)
    lw.create(quick_path, SETTINGS).close()
    return quick_path


def test_a_stored_answer_is_told_without_writing_and_without_data(folder) -> None:
    question = lw.count("patients", "age > 30")
    with lw.open_workspace(folder) as workspace:
        ana, ben = (workspace.session(analyst=name) for name in ("ana", "ben"))
        assert ana.stored(question, epsilon=1) is None
        told = ana.ask(question, epsilon=1, key="first")
        entries = workspace.ledger.head()
        for path in folder.glob("*.parquet"):
            path.unlink()
        for session, key in ((ana, "first"), (ana, None), (ben, None), (ben, "other")):
            again = session.stored(question, epsilon=1, key=key)
            assert again is not None
            assert (again.value, again.receipt, again.free) == (told.value, told.receipt, True)
        assert ana.stored(question, epsilon=2) is None
        with pytest.raises(RequestConflictError):
            ana.stored(lw.count("patients", "age > 31"), epsilon=1, key="first")
        assert workspace.ledger.head() == entries


def test_a_lost_question_says_so(folder, monkeypatch) -> None:
    with lw.open_workspace(folder) as workspace:
        session = workspace.session(analyst="ana")

        def fail(*_: object) -> None:
            raise OSError

        monkeypatch.setattr("lapwing.answers.releases.NoisyNumbers.release", fail)
        with pytest.raises(lw.errors.EngineError):
            session.ask(lw.count("patients"), epsilon=1, key="lost")
        with pytest.raises(UnansweredError):
            session.stored(lw.count("patients"), epsilon=1, key="lost")
        assert session.stored(lw.count("patients"), epsilon=1) is None

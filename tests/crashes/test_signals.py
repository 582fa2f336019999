"""A process that is told to stop while it answers: nothing is released any more, and the charge stays."""

import os
import signal
from fractions import Fraction

import pytest

from crashes.stopped_workload import ask_and_wait
from crashes.workload import child, told
from lapwing import count
from lapwing.ledger.replay import verify
from lapwing.vocabulary.errors import UnansweredError
from session.clinic import FixedNumber, door, new_ledger, same_ledger, spent


@pytest.mark.catalogue("L23")
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_a_process_that_is_stopped_releases_nothing_and_keeps_the_charge(quick_path, stop) -> None:
    new_ledger(quick_path).close()
    with child(ask_and_wait, quick_path) as (process, pipe):
        assert pipe.recv() == "charged"
        os.kill(process.pid, stop)
        assert list(told(pipe)) == []
        process.join()
        assert process.exitcode == (130 if stop == signal.SIGINT else -stop)
    with same_ledger(quick_path) as ledger:
        verify(ledger)
        assert spent(ledger) == Fraction(1)
        clinic = door(ledger, FixedNumber(200))
        with pytest.raises(UnansweredError):
            clinic.ask(count("patients"), epsilon=1, key="k")
        left = ledger.questions.unsettled()
        assert len(left) == (stop == signal.SIGTERM), "whoever is interrupted and not killed gives the question up"
        for question in left:
            ledger.questions.lose(question.seq)
        clinic.ask(count("patients"), epsilon=1, key="k2")
        assert spent(ledger) == Fraction(2)

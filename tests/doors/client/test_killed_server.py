"""A server is killed while a client waits for it, and started again: charged once, and answered as was decided."""

import threading
import time
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import lapwing as lw
from doors.client.between import between
from doors.server.doors import Process, add_people, make_folder
from lapwing import errors
from postgres_server import where_there_is_room

pytestmark = pytest.mark.one_budget("a server is killed at each step, whatever it is paid with")


@pytest.fixture(scope="module")
def clinic(budget):
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as place:
        folder = make_folder(Path(place) / "clinic", budget, "10")
        yield folder, add_people(folder)


def free_port() -> int:
    with between(0) as way:
        return int(way.server_address[1])


def start_again(process: Process) -> None:
    """Start a process anew as soon as it was killed."""
    while not process.died():
        time.sleep(0.02)
    process.start()


def wait_for(process: Process, token: str):
    for _ in range(600):
        try:
            return lw.connect(f"http://127.0.0.1:{process.port}", token, timeout=60)
        except errors.ServerError:
            time.sleep(0.05)
    raise AssertionError("the server does not start")


ENDS = {
    "ask.read": "lost",  # charged, and noise is never drawn twice
    "ask.answered": "answered",  # committed, and not told
}


@pytest.mark.parametrize("point", ENDS)
def test_a_question_ends_once_whenever_its_server_dies(clinic, point) -> None:
    folder, tokens = clinic
    process = Process(folder, free_port())
    process.start(f"{point}:kill")
    ana = wait_for(process, tokens["ana"])
    before = ana.budget().left
    again = threading.Thread(target=start_again, args=[process])
    again.start()
    question = lw.count("patient", f"age > {len(point)}")
    try:
        if ENDS[point] == "lost":
            with pytest.raises(errors.UnansweredError, match="was lost after it was charged"):
                ana.ask(question, epsilon="0.5", key=f"the-key-of-{point}")
        else:
            told = ana.ask(question, epsilon="0.5", key=f"the-key-of-{point}")
            assert ana.ask(question, epsilon="0.5").rows == told.rows
        assert before - ana.budget().left == Fraction("0.5")
    finally:
        again.join()
        ana.close()
        process.end()


def test_a_batch_of_a_stream_is_decided_with_its_own_noise(clinic) -> None:
    folder, tokens = clinic
    process = Process(folder, free_port())
    process.start("stream.decided:kill")
    ana = wait_for(process, tokens["ana"])
    again = threading.Thread(target=start_again, args=[process])
    again.start()
    try:
        with ana.stream(at_least=100, yeses=3, epsilon="2", name="through") as stream:
            answers = stream.ask_many(["age >= 0", "age > 100", "age < 99"], key="a-batch-of-three")
            assert [bool(one) for one in answers] == [True, False, True]
            assert stream.yeses_left == 1
            told = stream.ask_many(["age >= 0", "age > 100", "age < 99"], key="a-batch-of-three")
            assert [one.gap for one in told] == [one.gap for one in answers]
    finally:
        again.join()
        ana.close()
        process.end()

import ctypes
import os
import pickle
import select
import signal
import sys
import threading
import warnings

import pytest

PATIENCE, TRIES = 60, 5


@pytest.fixture
def in_a_fork():
    """Run a function in a forked child and return what it returned there; `fork` is how to make the child.

    A child that Python knows nothing of has the interpreter's lock as it was, and stands still for ever where a thread
    that it does not have was waiting for it: it is ended then, and another one made.
    """

    def run(function, fork=os.fork):
        for _ in range(TRIES):
            answer = tried(function, fork)
            if answer:
                return pickle.loads(answer)
        pytest.fail(f"{TRIES} children did not answer within {PATIENCE} seconds each")

    def tried(function, fork):
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads
            child = fork()
        if child == 0:
            try:
                os.write(writer, pickle.dumps(function()))
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            if not select.select([pipe], [], [], PATIENCE)[0]:
                os.kill(child, signal.SIGKILL)
            answer = pipe.read()
        os.waitpid(child, 0)
        return answer

    return run


@pytest.fixture
def in_threads():
    """Run a function in eight threads that are interrupted as often as possible; return all it returned."""

    def run(function):
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(function())) for _ in range(8)]
        usual = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(usual)
        return answers

    return run


@pytest.fixture
def unseen_fork():
    """A fork by the C library, as an extension module would make it: none of Python's hooks is called."""
    return ctypes.PyDLL(None).fork  # it keeps the lock of the interpreter, and so does the child

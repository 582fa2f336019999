import ctypes
import os
import pickle
import sys
import threading
import warnings

import pytest


@pytest.fixture
def in_a_fork():
    """Run a function in a forked child and return what it returned there; `fork` is how to make the child."""

    def run(function, fork=os.fork):
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
            answer = pipe.read()
        os.waitpid(child, 0)
        return pickle.loads(answer)

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
    return ctypes.CDLL(None).fork

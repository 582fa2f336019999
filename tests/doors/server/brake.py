"""A database that is as slow as one likes, and can be stopped."""

import threading

from lapwing.answers.releases import NoisyNumbers
from lapwing.engines.reading import stoppable

SECRET = "the secret of patient 4711"  # noqa: S105 - it is what must not be seen


class Brake:
    """Holds every reading of data until it is let go, as a slow database would; a statement can be stopped."""

    def __init__(self, monkeypatch) -> None:
        self.go, self.reading = threading.Event(), threading.Event()
        read = NoisyNumbers.read

        def slowly(release, engine):
            stopped = threading.Event()
            self.reading.set()
            with stoppable(stopped.set):
                while not self.go.wait(0.01):
                    if stopped.is_set():
                        raise InterruptedError(SECRET)
            return read(release, engine)

        monkeypatch.setattr(NoisyNumbers, "read", slowly)

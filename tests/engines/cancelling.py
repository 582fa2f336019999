"""Two questions that would take for ever, of which one is cancelled."""

import threading
from dataclasses import dataclass, field

from lapwing.engines.reading import CancelScope
from lapwing.vocabulary.errors import EngineError


@dataclass
class Asked:
    """A question that is asked in a thread and a scope of its own; `came` is what came of it."""

    scope: CancelScope = field(default_factory=CancelScope)
    came: list = field(default_factory=list)

    def begin(self, ask) -> "Asked":
        def asked() -> None:
            with self.scope:
                try:
                    self.came.append(ask())
                except EngineError as failure:
                    self.came.append(failure)

        self.thread = threading.Thread(target=asked, daemon=True)
        self.thread.start()
        return self

    def ended(self, seconds) -> bool:
        self.thread.join(seconds)
        return not self.thread.is_alive()


def cancel_one_of_two(ask, both_run) -> None:
    """Ask twice at once what never ends, cancel one, and see that it ends, and the other goes on until it is cancelled.

    `ask` asks; `both_run` returns once the database is busy with both.
    """
    cancelled, other = Asked().begin(ask), Asked().begin(ask)
    both_run()
    assert cancelled.came == other.came == []
    cancelled.scope.cancel()
    assert cancelled.ended(30)
    assert not other.ended(0.5)
    other.scope.cancel()
    assert other.ended(30)
    (failure,), (same,) = cancelled.came, other.came
    assert isinstance(failure, EngineError)
    assert failure.__context__ is None
    assert str(failure) == str(same)

"""Whether something that was opened is still open, and in the process that opened it."""

import os

from lapwing.vocabulary.errors import BadQuestionError


class Lifetime:
    """From opening to closing, in one process; what is inside something else ends with it at the latest.

    A fork copies connections that both processes would then use, and locks that nobody will ever release. So whatever
    has a lifetime refuses to work in another process than the one it began in, before anything is charged.

    Parameters
    ----------
    what, remedy : for the refusals
    within : the lifetime of what it belongs to

    Examples
    --------
    >>> session = Lifetime("this session", remedy="open it again")
    >>> session.require()
    >>> session.end()
    >>> session.require()
    Traceback (most recent call last):
    ...
    lapwing.errors.BadQuestionError: this session is closed; open it again
    """

    def __init__(self, what: str, *, remedy: str, within: "Lifetime | None" = None) -> None:
        self._what, self._remedy, self._within = what, remedy, within
        self._process, self._ended = os.getpid(), False

    @property
    def is_here(self) -> bool:
        """Whether this is the process in which it began."""
        return self._process == os.getpid()

    def require(self) -> None:
        """Refuse if it has ended, or if this is another process."""
        if self._within is not None:
            self._within.require()
        if not self.is_here:
            raise BadQuestionError(
                f"{self._what} was opened before the process forked, and works in the other one; {self._remedy} here"
            )
        if self._ended:
            raise BadQuestionError(f"{self._what} is closed; {self._remedy}")

    def end(self) -> None:
        """Let it end."""
        self._ended = True

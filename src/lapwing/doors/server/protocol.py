"""HTTP/1.1 with an end to patience: uvicorn waits for ever for the rest of a head, and this does not."""

import socket
from asyncio import TimerHandle, Transport
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_FOR_A_HEAD: Final = 10.0


class ImpatientProtocol(H11Protocol):
    """Closes a connection whose client does not send the whole head of a request in time, the first or a later one."""

    patience = SECONDS_FOR_A_HEAD
    _waiting: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # uvicorn narrows it likewise
        """Begin to wait for the first head."""
        _send_at_once(transport)
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came; end the wait when a head is whole, and begin another with the first bytes of the next."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()
        elif self._waiting is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the wait together with the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.patience, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def _send_at_once(transport: Transport) -> None:
    """Have the system send what it is given: a body that waits until its head was acknowledged comes 40 ms late.

    asyncio asks for it itself, but not of a socket that was made without naming its protocol.
    """
    line = transport.get_extra_info("socket")
    if line is not None and line.family in {socket.AF_INET, socket.AF_INET6}:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

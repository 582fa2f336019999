"""Somebody between client and server who may change what is told, or hang up: a real server on a real socket."""

import http.client
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Between(ThreadingHTTPServer):
    """Passes requests on to a port; `change` is given path and reply, and returns what is told, or None to hang up."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = port
        self.change: Callable[[str, Any], Any] = lambda _, told: told
        self.elsewhere = ""
        self.lie: tuple[int, dict[str, str]] | None = None  # a status and headers, at once, whatever is asked
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.cut: Callable[[str, bytes], Iterator[bytes] | None] = lambda *_: None  # what goes out instead, and the end

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: object) -> None:
        """Say nothing of those who hang up."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Between

    def do_GET(self) -> None:
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.lie is not None:
            status, headers = self.server.lie
            self._tell(status, {**headers, "Content-Type": "application/json"}, b"{}")
            return
        line = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        try:
            line.request(
                self.command, self.path, body or None, {**self.headers, "Host": f"127.0.0.1:{self.server.port}"}
            )
            reply = line.getresponse()
            status, kind, body = reply.status, reply.headers.get_content_type(), reply.read()
            told = json.loads(body or b"null") if kind == "application/json" else body
        except OSError:
            self.close_connection = True
            return
        finally:
            line.close()
        told = self.server.change(self.path, told)
        if told is None:
            self.close_connection = True
            return
        data = told if isinstance(told, bytes) else json.dumps(told).encode()
        where = {"Location": self.server.elsewhere} if self.server.elsewhere else {}
        self._tell(307 if where else status, {**where, "Content-Type": kind}, data)

    do_POST = do_DELETE = do_GET  # noqa: N815 - so they are called there

    def _tell(self, status: int, headers: dict[str, str], data: bytes) -> None:
        words = {**headers, "Content-Length": str(len(data))}
        head = "".join(f"{name}: {value}\r\n" for name, value in words.items())
        pieces = self.server.cut(self.path, f"HTTP/1.1 {status} -\r\n{head}\r\n".encode() + data)
        if pieces is not None:
            self.close_connection = True
            for piece in pieces:
                self.wfile.write(piece)
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@contextmanager
def between(port: int, tls: ssl.SSLContext | None = None) -> Iterator[Between]:
    """Stand between a server and its clients until the end of the block."""
    server = Between(port)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)

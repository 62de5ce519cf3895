"""A broker in a thread that says its versions, and then the bytes that a test says."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import kafka_messages
from kipwire.connection import versions_answer

Say = Callable[[bytes], bytes | None]
"""Function from a request frame to the bytes of the answer, with their size; None closes the connection."""


@contextmanager
def scripted(say: Say, *, versions: dict[int, range] | None = None) -> Iterator[str]:
    """Run such a broker; yield its address.

    Args:
        say: answers all requests but ApiVersions.
        versions: those that it says it serves; by default all that the package does.
    """

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while len(head := self.rfile.read(4)) == 4:
                frame = self.rfile.read(int.from_bytes(head, "big"))
                key, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
                said = self.hello(version, frame[4:8]) if key == 18 else say(frame)
                if said is None:
                    return
                self.wfile.write(said)

        def hello(self, version: int, correlation_id: bytes) -> bytes | None:
            answer = versions_answer(kafka_messages.REGISTRY, version, versions)
            body = kafka_messages.encode_response(answer, int.from_bytes(correlation_id, "big"))
            return len(body).to_bytes(4, "big") + body

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            host, port = server.server_address[:2]
            yield f"{host!s}:{port}"
        finally:
            server.shutdown()
            thread.join()


def unused_address() -> str:
    """Return an address at which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        host, port = one.getsockname()
    return f"{host}:{port}"

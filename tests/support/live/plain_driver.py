"""A client of a socket and a `ClientConnection`, with nothing else between the tests and a broker."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import kafka_messages
from kafka_messages.api_versions_request.v5 import ApiVersionsRequest
from kipwire import AnsweredBy, Message
from kipwire.connection import ClientConnection, Response, authenticate, best_version, served_versions, version_to_retry
from kipwire.connection.sasl import Mechanism
from tests.support.live.listeners import Listener

M = TypeVar("M", bound=Message)
SECONDS = 30


class Driver:
    """A connection to a broker."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._connection = ClientConnection(kafka_messages.REGISTRY, client_id="driver")
        hello = ApiVersionsRequest(client_software_name="driver", client_software_version="1")
        answer = self.ask(hello, version=hello.VERSION)
        if (version := version_to_retry(kafka_messages.REGISTRY, answer)) is not None:
            answer = self.ask(hello, version=version)
        self.versions = served_versions(answer)

    def ask(self, request: AnsweredBy[M], version: int | None = None) -> M:
        """Send a request; return its response.

        Raises:
            ConnectionError: the broker has closed the connection.
        """
        version = best_version(request, self.versions) if version is None else version
        self._stream.sendall(self._connection.send(request, version=version))
        while data := self._stream.recv(65536):
            self._connection.receive_data(data)
            for event in self._connection.events():
                assert isinstance(event, Response)
                return event.body_as(type(request))
        raise ConnectionError("the broker has closed the connection")

    def authenticate(self, mechanism: Mechanism, versions: dict[int, range] | None = None) -> int:
        """Authenticate by a mechanism; return the lifetime of the session in milliseconds."""
        steps = authenticate(mechanism, self.versions if versions is None else versions)
        request: Any = next(steps)
        while True:
            try:
                request = steps.send(self.ask(request))
            except StopIteration as end:
                lifetime: int = end.value
                return lifetime


@contextmanager
def connected(listener: Listener, mechanism: Mechanism | None = None) -> Iterator[Driver]:
    """Connect to a listener, and authenticate if a mechanism is given."""
    host, _, port = listener.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as plain:
        tls = listener.ssl_context
        with plain if tls is None else tls.wrap_socket(plain, server_hostname=host) as stream:
            driver = Driver(stream)
            if mechanism is not None:
                driver.authenticate(mechanism)
            yield driver

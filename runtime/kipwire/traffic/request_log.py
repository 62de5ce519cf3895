"""The request log of a broker: a line for each request, written by its logger `kafka.request.logger`.

    [2026-11-29 02:04:05,678] INFO Completed request:{"requestHeader":{...},...} (kafka.request.logger)

At DEBUG it has all requests. At INFO, from Kafka 3.9.1 on, it has those alone whose versions KIP-896 dropped
(KAFKA-18272). The broker's configuration sets the layout around the JSON, so the JSON is looked for. Before Kafka 2.8
there was text in its place, which is not read.

Source: `RequestConvertToJson.requestDesc` of Kafka, KIP-673, KIP-896.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple
from zlib import crc32

from kipwire.traffic.frame_facts import api_name
from kipwire.traffic.summary import Use
from kipwire.traffic.unread import Reading, Reason, Unread

_START = b"Completed request:"
_LONGEST_LINE = 64 * 1024 * 1024
"""Bytes: a line has the request, at TRACE with all of its topics."""
_DECODER = json.JSONDecoder()
_CONNECTION = re.compile(r".+?:\d+-(.+):\d+(?:-\d+){1,2}")
_NOT_KNOWN = "unknown"
"""The name and the version that brokers write for software that did not say them."""


class Logged(NamedTuple):
    """A request of the log."""

    use: Use
    host: str
    """The client's address; empty if it is not known."""
    connection: int
    """A number that is the same for all of its connection."""


def is_log(start: bytes) -> bool:
    """True if a file that starts with these bytes may be a log: it is text."""
    return b"\0" not in start and (not start or start[0] >= ord("\t"))


def requests_in(stream: BinaryIO, reading: Reading) -> Iterator[Logged]:
    """Yield the requests of a log, and count them, with the lines that have none.

    Args:
        stream: its lines.
        reading: counts.

    Raises:
        OSError: it cannot be read.
    """
    while line := stream.readline(_LONGEST_LINE):
        at = line.find(_START)
        if at < 0:
            reading.miss(Unread(Reason.NO_ENTRY, len(line)))
            continue
        found = _logged(line[at + len(_START) :])
        if found is None:
            reading.miss(Unread(Reason.BROKEN_ENTRY, len(line)))
            continue
        reading.count(found.connection, 0, is_request=True)
        yield found


def _logged(entry: bytes) -> Logged | None:
    try:
        value, _ = _DECODER.raw_decode(entry.decode("utf-8", "replace"))
        header, software = value["requestHeader"], value.get("clientInformation") or {}
        key, version = header["requestApiKey"], header["requestApiVersion"]
        client_id, connection = header.get("clientId"), value.get("connection")
        said = software.get("softwareName"), software.get("softwareVersion")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if type(key) is not int or type(version) is not int:
        return None
    names = (str(said[0]), str(said[1])) if said[0] not in (None, "", _NOT_KNOWN) else None
    use = Use(None if client_id is None else str(client_id), names, key, api_name(key), version)
    where = str(connection or "")
    return Logged(use, _host(where), crc32(where.encode("utf-8", "replace")))


def _host(connection: str) -> str:
    """Take the client's host from `broker:port-client:port-numbers`; hosts have hyphens, too, and colons in IPv6."""
    found = _CONNECTION.fullmatch(connection)
    return "" if found is None else found[1]

"""Messages as real clients and brokers wrote them, from the capture and from the log segments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import kafka_messages
from kipwire.records import control_record, read_segment
from kipwire.traffic.captures import files_in, open_frames, read_index

CAPTURE = "examples/capture"
LOGS = ("tests/data/segments", "tests/data/shutdown", "tests/data/snapshots")
_COORDINATORS = {
    "__consumer_offsets": "group-coordinator",
    "__share_group_state": "share-coordinator",
    "__transaction_state": "transaction-coordinator",
}
"""The folder of specs of the records in a coordinator's topic."""
_METADATA_LOG = "__cluster_metadata"
_METADATA_PREFIX = 3
"""Bytes before a record of the metadata log: the version of the frame, type and version, each a varint of one byte."""
_VERSION_SIZE = 2
"""Bytes of a version or type before a coordinator's record."""

SpecNames = Mapping[tuple[str, str, int], str]
"""Names of messages by the folder of their spec, the spec's type and its API key."""


class RealMessage(NamedTuple):
    """One message, without its header."""

    name: str
    version: int
    data: bytes
    source: str
    """Path in the repository of the file that has it."""


def real_messages(root: Path, names: SpecNames) -> Iterator[RealMessage]:
    """Yield all messages of the capture and the logs, in their order.

    Args:
        root: the repository.
        names: the names of the messages that are stored in logs.

    Raises:
        KipwireError: the data is damaged.
    """
    yield from captured(root / CAPTURE)
    for folder in LOGS:
        files = (file for suffix in ("log", "checkpoint") for file in (root / folder).glob(f"*/*.{suffix}"))
        for file in sorted(files):
            for name, version, data in stored(file, names):
                yield RealMessage(name, version, data, folder)


def captured(folder: Path) -> Iterator[RealMessage]:
    """Yield the headers and bodies of a capture.

    Args:
        folder: the capture's.

    Raises:
        KipwireError: the capture is damaged.
    """
    index, file = files_in(folder)
    with open_frames(file) as frames:
        for entry in read_index(index):
            data = frames.read(entry)
            frame = (
                kafka_messages.decode_request(data)
                if entry.is_request
                else kafka_messages.decode_response(data, entry.api_key, entry.api_version)
            )
            for one in frame:
                yield RealMessage(one.NAME, one.VERSION, one.encode(), CAPTURE)


def stored(file: Path, names: SpecNames) -> Iterator[tuple[str, int, bytes]]:
    """Name, version and bytes of each message in a log segment or a snapshot; none for topics of users.

    Args:
        file: the segment; its folder is named after topic and partition.
        names: the names of the messages that are stored in logs.

    Raises:
        KipwireError: the file is damaged.
    """
    topic = file.parent.name.rpartition("-")[0]
    for batch in read_segment(file):
        for record in batch.records:
            if batch.is_control:
                control = control_record(record).value
                if control is not None:
                    yield control.NAME, control.VERSION, control.encode()
            elif topic in _COORDINATORS and record.key is not None:
                yield from _of_coordinator(_COORDINATORS[topic], record.key, record.value, names)
            elif topic == _METADATA_LOG and record.value is not None:
                _, type_, version = record.value[:_METADATA_PREFIX]
                yield names["metadata", "metadata", type_], version, record.value[_METADATA_PREFIX:]


def _of_coordinator(folder: str, key: bytes, value: bytes | None, names: SpecNames) -> Iterator[tuple[str, int, bytes]]:
    type_ = int.from_bytes(key[:_VERSION_SIZE], "big")
    yield names[folder, "coordinator-key", type_], 0, key[_VERSION_SIZE:]
    if value is not None:
        version = int.from_bytes(value[:_VERSION_SIZE], "big")
        yield names[folder, "coordinator-value", type_], version, value[_VERSION_SIZE:]

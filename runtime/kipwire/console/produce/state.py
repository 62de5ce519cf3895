"""The state of `kipwire produce --state`: the producer, and how much of each partition is written.

It may be older than the logs, if the process was killed. So the next run looks for the batches of the producer in the
logs from the offsets of the state on. The producer stays the same: a batch of the killed process that arrives only then
has sequence numbers that its log has seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kipwire.cluster.writing import Producer
from kipwire.logs.names import Partition
from kipwire.model.errors import KipwireError
from kipwire.records.heads import HIGHEST_OFFSET
from kipwire.tools.atomic import need_place, replace_durably
from kipwire.tools.files import read_regular

_VERSION = 1
_LARGEST = 1 << 28
"""Bytes of a state; a partition takes some hundred."""


class StateError(KipwireError):
    """A state that is something else, or belongs to something else."""


class Reached(NamedTuple):
    """The extent of what is written to a partition."""

    records: int
    """Number of records, which is also the next sequence number, but for its range."""
    digest: str
    """A hash of these records, which tells other lines apart."""
    offset: int
    """The offset in the topic from which to look for more."""


class State(NamedTuple):
    """The work that runs have done."""

    of: Mapping[str, str]
    """The topic, its id, and how records get their partitions, which no later run may change."""
    producer: Producer
    partitions: Mapping[int, Reached]
    """By number."""


def read_state(file: Path) -> State | None:
    """Read a state; None if there is none.

    Raises:
        StateError: it is something else, or a later release has written it.
        OSError: it cannot be read, or no state can be written there.
    """
    need_place(file)
    try:
        content = read_regular(file, _LARGEST)
    except FileNotFoundError:
        return None
    try:
        found = json.loads(content)
        version = found["kipwire_produce"]
        if isinstance(version, int) and version > _VERSION:
            raise StateError(f"{file}: a later release of kipwire has written this state; use that release")
        producer = Producer(int(found["producer_id"]), int(found["producer_epoch"]))
        partitions = {
            int(number): Reached(int(one["records"]), str(one["digest"]), int(one["offset"]))
            for number, one in found["partitions"].items()
        }
        numbers = [n for one in partitions.values() for n in (one.records, one.offset)]
        if version != _VERSION or not all(0 <= number <= HIGHEST_OFFSET for number in (*producer, *numbers)):
            raise ValueError
        return State({str(key): str(value) for key, value in found["of"].items()}, producer, partitions)
    except StateError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StateError(
            f"{file}: is not a state that kipwire produce has written; give the name of a new file"
        ) from None


def write_state(file: Path, state: State) -> None:
    """Replace a state, so that it is on the disk, whole, when this returns.

    Raises:
        OSError: it cannot be written.
    """
    content = {
        "kipwire_produce": _VERSION,
        "of": dict(state.of),
        "producer_id": state.producer.id,
        "producer_epoch": state.producer.epoch,
        "partitions": {str(number): one._asdict() for number, one in sorted(state.partitions.items())},
    }
    replace_durably(file, json.dumps(content, indent=1))


def expect_same(file: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Check that a run writes to the same topic in the same way as the runs before.

    Raises:
        StateError: it does not.
    """
    for key in dict.fromkeys((*now, *before)):
        old, new = before.get(key), now.get(key)
        if old != new:
            raise StateError(
                f"{file}: the runs of this state had {key} {old}, this one has {new}; give another --state"
            )


def wrong_lines(file: Path, partition: Partition, records: int) -> StateError:
    """Make the error of lines that are not those that the state is about."""
    return StateError(
        f"{file}: the first {records:,} records of {partition.topic} partition {partition.number} are not those that "
        "the runs of this state have written; give the same lines, to which more may be added, or another --state"
    )

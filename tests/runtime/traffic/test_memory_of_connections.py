"""A connection that has ended is freed at once: commands pause the garbage collector while they read a capture."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from kipwire.tools.io import no_garbage_collection
from kipwire.traffic import packet_captures
from kipwire.traffic.connection import Connection
from kipwire.traffic.packet_captures import find_frames
from tests.support import packet_dumps as made
from tests.support.packet_dumps import Tcp
from tests.support.subjects.packet_talks import Talk


def many(count: int, opened: bool) -> Iterator[Tcp]:
    for number in range(count):
        yield from Talk(40000 + number, opened=opened).ask(1).answer(1).segments


@pytest.mark.parametrize("opened", [True, False])
def test_connections_leave_nothing_behind(opened: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packet_captures, "MOST_CONNECTIONS", 10)
    (tmp_path / "a.pcap").write_bytes(made.dump(many(100, opened)))
    gc.collect()
    with no_garbage_collection():
        frames = sum(found.frame is not None for found in find_frames([tmp_path / "a.pcap"]))
        left = sum(isinstance(one, Connection) for one in gc.get_objects())
    assert (frames, left) == (200, 0)

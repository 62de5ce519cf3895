"""A capture of packets in shares: all of them together have what the whole has, in its order."""

from __future__ import annotations

from heapq import merge
from operator import attrgetter
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from kipspark.sources.file_sources import KafkaFramesSource
from kipwire.tables.sources import packet_captures
from kipwire.tables.sources.captures import FrameFilter
from kipwire.tables.sources.packet_captures import PacketCapture, read_packet_frames, share_capture
from kipwire.traffic.conversation import Found
from kipwire.traffic.packet_captures import Placed, Share, find_frames, find_share
from tests.support import packet_dumps as made
from tests.support.packet_dumps import Disorder
from tests.support.subjects.packet_talks import Talk, shipped

ROUGH = Disorder(shuffled=True, repeated=0.3, overlapping=0.3, largest=400)


def dumped(tmp_path: Path, disorder: Disorder, lost: float = 0.0) -> Path:
    random = Random(repr(disorder))
    kept = [one for one in made.segments(shipped(), random, disorder) if random.random() >= lost]
    file = tmp_path / "a.pcap"
    file.write_bytes(made.dump(kept, made.ETHERNET, made.IP4))
    return file


def together(file: Path, count: int) -> list[Found]:
    """Merge the finds of all shares in the order of their places; number the connections from 0 on."""
    shares: list[list[Placed]] = [list(find_share([file], (), Share(number, count))) for number in range(count)]
    assert sum(bool(share) for share in shares) > 1
    found = [one.found for one in merge(*shares, key=attrgetter("place"))]
    numbers = sorted({one.connection for one in found if one.connection is not None})
    dense = {number: at for at, number in enumerate(numbers)}
    return [one if one.connection is None else one._replace(connection=dense[one.connection]) for one in found]


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize(
    ("disorder", "lost"),
    [
        (Disorder(), 0.0),
        (Disorder(joined=True, closed=False, largest=65000), 0.0),
        (ROUGH, 0.0),
        (Disorder(largest=400), 0.02),
        (Disorder(closed=False, largest=3000), 0.3),
    ],
    ids=["as sent", "joined and open", "rough", "some lost", "many lost"],
)
def test_shares_have_the_whole_in_its_order(tmp_path: Path, disorder: Disorder, lost: float, count: int) -> None:
    file = dumped(tmp_path, disorder, lost)
    whole = list(find_frames([file]))
    assert any(one.error for one in whole) is (lost > 0)
    assert together(file, count) == whole


def test_shares_have_what_a_capture_as_a_whole_reports_once(tmp_path: Path) -> None:
    talks = [Talk(client).ask(1).answer(1).ask(2) for client in range(50000, 50012)]
    again = Talk(50003).ask(7).answer(7)  # the same endpoints, another connection
    data = made.dump([one for talk in (*talks, again) for one in talk.segments], made.ETHERNET, made.IP4)
    strange = bytes(12) + b"\x08\x00" + b"\x00" * 30
    file = tmp_path / "a.pcap"
    order = "<" if data[:1] in b"\xd4\x4d" else ">"
    size = len(strange).to_bytes(4, "little" if order == "<" else "big")
    file.write_bytes(data + bytes(8) + 2 * size + strange + b"cut")
    whole = list(find_frames([file]))
    assert sum(one.connection is None for one in whole) == 2
    assert together(file, 4) == whole


def test_rows_of_shares_have_the_numbers_of_the_whole_with_gaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = dumped(tmp_path, Disorder(joined=True, largest=65000), lost=0.02)
    capture = PacketCapture(str(file), (str(file),))
    monkeypatch.setattr(packet_captures, "BYTES_OF_TASK", 1000)

    def rows_of(*parts: PacketCapture) -> pa.Table:
        rows = [row for part in parts for row in read_packet_frames(part, (), FrameFilter())]
        return pa.Table.from_batches(rows)

    whole = rows_of(capture)
    parts = rows_of(*share_capture(capture, 5))
    numbered = parts.filter(parts["number"].is_valid()).sort_by("number")
    assert len(set(numbered["number"].to_pylist())) == numbered.num_rows
    others = ["timestamp_ns", "listener", "direction", "correlation_id", "frame", "error"]
    whole_numbered = whole.filter(whole["number"].is_valid())
    assert whole_numbered["number"].to_pylist() == list(range(numbered.num_rows))
    assert numbered.select(others).equals(whole_numbered.select(others))
    assert parts.num_rows == whole.num_rows


def test_a_large_capture_has_the_tasks_that_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = dumped(tmp_path, Disorder())

    def tasks(**options: str) -> int:
        source = KafkaFramesSource({"path": str(file), **options})
        return len(source.reader(source.schema()).partitions())

    assert tasks() == tasks(packetTasks="4") == 1  # it is small
    monkeypatch.setattr(packet_captures, "BYTES_OF_TASK", file.stat().st_size // 3)
    assert tasks() == 1
    assert tasks(packetTasks="2") == 2
    assert tasks(packetTasks="100") == 3

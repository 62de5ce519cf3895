"""kipwire dump of logs: every batch and every record once, within the given bounds."""

from __future__ import annotations

import json
import shutil
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kipwire.cli.output import Output
from kipwire.records import RawHeaderKey, Record, read_segment, write_batch, write_message_set
from tests.console.dump.conftest import Dump

Objects = Callable[..., list[dict[str, Any]]]
NAME = "00000000000000000000.log"
ORDERS = ("orders-0", "orders-1", "orders-2", "compacted-0")


def content(value: object) -> bytes | None:
    """Return the bytes of a key or a value in JSON."""
    if isinstance(value, dict):
        return b64decode(value["base64"])
    return value.encode() if isinstance(value, str) else None


def log(folder: Path, *batches: bytes, name: str = NAME) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"".join(batches))
    return folder / name


def batch(first: int, *values: bytes, time: int = 1_700_000_000_000, **options: Any) -> bytes:
    records = [Record(offset=first + i, timestamp=time + i, value=value) for i, value in enumerate(values)]
    return write_batch(records, **options)


@pytest.mark.parametrize("text", ["root:x:0:0:root:/root:/bin/bash\n", "version=1\n", "#\n#Thu Nov 19\nbroker.id=1\n"])
def test_a_file_that_is_no_log_is_called_so(text: str, dump: Dump, tmp_path: Path) -> None:
    file = tmp_path / "meta.properties"
    file.write_text(text)
    done = dump(file)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"kipwire: {file} is not a log: neither its first bytes nor its name are those of one; "
    )


@pytest.mark.parametrize("options", [(), ("-s",), ("-r", "-f", "json")])
def test_what_cannot_be_dumped_keeps_no_other_path_from_it(
    options: tuple[str, ...], dump: Dump, segments: Path, tmp_path: Path
) -> None:
    """The exit status is the one for a missing file, even if another path is damaged."""
    text, empty, none = tmp_path / "notes.txt", tmp_path / "empty", tmp_path / "none"
    text.write_text("these are notes, and no log at all\n")
    empty.mkdir()
    damaged = log(tmp_path / "damaged-0", batch(0, b"a")[:-1])
    good = [segments / "orders-1", segments / "compacted-0"]
    done = dump(text, good[0], empty, none, good[1], "-", *options, stdin=b"neither a log nor a capture")
    assert (done.returncode, done.stdout) == (2, dump(*good, *options).stdout)
    said = (
        f"{text} is not a log",
        f"{empty}: no log segments",
        f"{none} does not exist",
        "standard input is neither a",
    )
    lines = done.stderr.splitlines()
    assert len(lines) == len(said)
    assert all(line.startswith(f"kipwire: {start}") for line, start in zip(lines, said, strict=True))
    assert dump(damaged, none, *options).returncode == 2
    assert dump(none, text, *options).returncode == 2


@pytest.mark.parametrize("name", [NAME + ".deleted", NAME + ".swap", "orders.bin", "copy"])
def test_a_log_of_any_name_is_known_by_its_first_batch(name: str, dump: Dump, tmp_path: Path) -> None:
    for data in (batch(0, b"a"), write_message_set([Record(offset=0, value=b"a")], magic=0), b""):
        (tmp_path / name).write_bytes(data)
        done = dump(tmp_path / name)
        assert (done.returncode, done.stderr) == (0, "")
        assert ("offset=0-0" in done.stdout) == bool(data)
    (tmp_path / NAME).write_bytes(b"no batch, but a name that says so")
    assert dump(tmp_path / NAME).returncode == 1


def test_every_batch_and_record_of_a_real_log_is_there_with_all_that_it_has(objects: Objects, segments: Path) -> None:
    for name in ORDERS:
        found = objects(segments / name, "--records")
        batches = [one for one in found if one["type"] == "batch"]
        records = [one for one in found if one["type"] == "record"]
        read = list(read_segment(segments / name / NAME))
        for shown, one in zip(batches, read, strict=True):
            for attribute in (
                "position", "size", "magic", "base_offset", "last_offset", "records_count", "base_timestamp",
                "max_timestamp", "timestamp_type", "compression", "crc", "attributes", "producer_id", "producer_epoch",
                "base_sequence", "last_sequence", "is_transactional", "is_control", "delete_horizon",
            ):  # fmt: skip
                assert shown[attribute] == getattr(one, attribute), attribute
            assert (f"{shown['topic']}-{shown['partition']}", shown["leader_epoch"]) == (
                name,
                one.partition_leader_epoch,
            )
        expected = [(one, record) for one in read for record in one.records]
        for shown, (one, record) in zip(records, expected, strict=True):
            assert (shown["offset"], shown["timestamp"]) == (record.offset, record.timestamp)
            assert (shown["sequence"], shown["batch_position"]) == (one.sequence(record), one.position)
            assert [(key, content(value)) for key, value in shown["headers"]] == record.headers
            if not one.is_control:
                assert (content(shown["key"]), content(shown["value"])) == (record.key, record.value)


def test_text_has_a_line_for_each_file_batch_and_record(dump: Dump, segments: Path) -> None:
    found = dump(segments / "orders-2", "--records").stdout.splitlines()
    assert found[0] == f"{segments}/orders-2/{NAME}: orders partition 2 from offset 0, 30,011 bytes"
    assert found[1] == (
        "offset=0-67 records=68 time=2026-11-21T08:00:47.549Z position=0 size=5017 magic=2 compression=none "
        "crc=2862501962 leader_epoch=0 producer=0 producer_epoch=0 sequence=0-67"
    )
    assert found[2] == (
        "  offset=0 time=2026-11-21T08:00:47.544Z headers={'trace': 't-1'} key='k1' "
        'value=\'{"id": 1, "codec": null, "pad": "x"}\''
    )
    assert len(found) == 1 + 21 + 617


def test_keys_and_values_are_shown_so_that_nothing_acts_on_a_terminal(dump: Dump, tmp_path: Path) -> None:
    nasty = ["\x1b[2Jé\u202e\x85\n".encode(), b"\xff\x00", b"", b"null", b'it\'s "1"']
    records = [Record(offset=i, key=value, value=value, headers=[("\x1bh", value)]) for i, value in enumerate(nasty)]
    records.append(Record(offset=9, headers=[("h", None)]))
    of_any_keys = [("h", b"\xff"), (RawHeaderKey(b"\xe9\x1b"), None), ("é", None)]
    records.append(Record(offset=10, headers=of_any_keys))
    file = log(tmp_path / "a-0", write_batch(records))
    lines = dump(file, "-r").stdout.splitlines()[2:]
    assert [line.partition(" key=")[2] for line in lines] == [
        r"'\x1b[2Jé\u202e\x85\n' value='\x1b[2Jé\u202e\x85\n'",
        r"b'\xff\x00' value=b'\xff\x00'",
        "'' value=''",
        "'null' value='null'",
        r"""'it\'s "1"' value='it\'s "1"'""",
        "null value=null",
        "null value=null",
    ]
    assert r"headers={'\x1bh': b'\xff\x00'}" in lines[1]
    assert "headers={'h': null}" in lines[5]
    assert r"headers={'h': b'\xff', b'\xe9\x1b': null, 'é': null}" in lines[6]
    in_json = dump(file, "-r", "-f", "json").stdout
    assert in_json.isascii()
    assert "\x1b" not in in_json
    shown = [json.loads(line) for line in in_json.splitlines()][1:]
    assert [content(one["value"]) for one in shown] == [*nasty, None, None]
    assert [content(key) for key, _ in shown[-1]["headers"]] == [b"h", b"\xe9\x1b", "é".encode()]
    assert shown[1]["key"] == {"base64": "/wA="}


def test_coordinator_logs_are_decoded_by_the_name_of_their_folder(objects: Objects, segments: Path) -> None:
    types = {}
    for name in ("__consumer_offsets-0", "__consumer_offsets-1", "__transaction_state-2", "__share_group_state-0"):
        for one in objects(segments / name, "--records"):
            if one["type"] == "record":
                types[one["record_type"]] = one
    assert set(types) == {
        "OffsetCommit", "GroupMetadata", "TransactionLog", "ShareSnapshot", "COMMIT", "ABORT", "ShareGroupMetadata",
        "ShareGroupMemberMetadata", "ShareGroupTargetAssignmentMetadata", "ShareGroupTargetAssignmentMember",
        "ShareGroupCurrentMemberAssignment", "ShareGroupStatePartitionMetadata",
    }  # fmt: skip
    commit = types["OffsetCommit"]
    assert commit["key"]["topic"] == "orders"
    assert set(commit["value"]) == {"offset", "leaderEpoch", "metadata", "commitTimestamp", "topicId"}
    assert types["COMMIT"]["value"] == {"coordinatorEpoch": 0}
    assert (types["TransactionLog"]["record_type_id"], types["TransactionLog"]["version"]) == (0, 1)


def test_members_of_consumer_groups_show_their_subscription(objects: Objects, segments: Path) -> None:
    members = [
        member
        for one in objects(segments / "__consumer_offsets-1", "-r")
        if one["type"] == "record" and one["record_type"] == "GroupMetadata" and one["value"]
        for member in one["value"]["members"]
    ]
    assert members
    for member in members:
        assert member["subscription"]["topics"] == ["orders"]
        for part in member["assignment"]["assignedPartitions"] if member["assignment"] else ():
            assert part["topic"] == "orders"


def test_metadata_logs_and_snapshots_are_decoded(objects: Objects, segments: Path) -> None:
    folder = segments / "__cluster_metadata-0"
    found = [one for one in objects(folder, "-r") if one["type"] == "record"]
    assert len(found) == 178
    assert {"LEADER_CHANGE", "KRAFT_VOTERS", "TopicRecord", "PartitionRecord"} <= {one["record_type"] for one in found}
    assert next(one for one in found if one["record_type"] == "TopicRecord")["value"]["name"]
    snapshot = objects(folder / "00000000000000000000-0000000000.checkpoint", "-r")
    types = [one["record_type"] for one in snapshot if one["type"] == "record"]
    assert types == ["SNAPSHOT_HEADER", "KRAFT_VERSION", "KRAFT_VOTERS", "SNAPSHOT_FOOTER"]


def test_a_snapshot_outside_of_a_partition_is_one_of_metadata(dump: Dump, segments: Path, tmp_path: Path) -> None:
    shutil.copy(segments.parent / "snapshots/__cluster_metadata-0/00000000000000000254-0000000001.checkpoint", tmp_path)
    (copied,) = tmp_path.glob("*.checkpoint")
    done = dump(copied.rename(tmp_path / "bootstrap.checkpoint"), "-r")
    assert done.returncode == 0
    assert " TopicRecord v0 value=" in done.stdout


def test_what_a_log_holds_can_be_said_and_not_be_looked_at(dump: Dump, segments: Path, tmp_path: Path) -> None:
    shutil.copy(segments / "__consumer_offsets-1" / NAME, tmp_path / "copy.log")
    assert "OffsetCommit" not in dump("copy.log", "-r").stdout
    assert "OffsetCommit v4 key={" in dump("copy.log", "-r", "--as", "__consumer_offsets").stdout
    assert "OffsetCommit" not in dump(segments / "__consumer_offsets-1", "-r", "--as", "none").stdout


def test_tombstones_are_decoded_by_their_keys(dump: Dump, segments: Path) -> None:
    text = dump(segments / "__consumer_offsets-0", "-r").stdout
    assert (
        ' ShareGroupMemberMetadata key={"groupId":"java-share","memberId":"L1CMw7ueQbOzzb4KRScdcg"} value=null' in text
    )


def test_offsets_bound_batches_and_records(objects: Objects, segments: Path) -> None:
    found = objects(segments / "orders-2", "-r", "--from-offset", 100, "--to-offset", 140)
    offsets = [one["offset"] for one in found if one["type"] == "record"]
    assert offsets == list(range(100, 140))
    assert [one["base_offset"] for one in found if one["type"] == "batch"] == [68, 133]


def test_times_bound_batches_and_records(objects: Objects, segments: Path) -> None:
    folder = segments / "orders-2"
    every = [one for one in objects(folder, "-r") if one["type"] == "record"]
    since, until = "2026-11-21T08:00:48.005Z", "2026-11-21T09:00:48.187+01:00"
    first, end = 1795248048005, 1795248048187
    expected = [one["offset"] for one in every if first <= one["timestamp"] < end]
    assert 0 < len(expected) < len(every)
    for bounds in ((since, until), (first, end)):
        found = objects(folder, "-r", "--since", bounds[0], "--until", bounds[1])
        assert [one["offset"] for one in found if one["type"] == "record"] == expected


def test_batches_out_of_bounds_are_not_read(dump: Dump, tmp_path: Path) -> None:
    broken = bytearray(batch(0, b"a", b"b"))
    broken[-1] ^= 1  # its checksum is wrong
    file = log(tmp_path / "a-0", bytes(broken), batch(2, b"c", time=1_800_000_000_000))
    assert dump(file).returncode == 1
    for bound in (("--from-offset", 2), ("--since", "2027-01-01")):
        done = dump(file, "-r", *bound)
        assert (done.returncode, done.stderr) == (0, "")
        assert "value='c'" in done.stdout


def test_segments_out_of_bounds_are_not_opened(dump: Dump, tmp_path: Path) -> None:
    log(tmp_path / "a-0", b"\1" * 100)
    log(tmp_path / "a-0", batch(5, b"x"), name="00000000000000000005.log")
    log(tmp_path / "a-0", b"\1" * 100, name="00000000000000000006.log")
    done = dump("a-0", "-r", "--from-offset", 5, "--to-offset", 6)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 3
    done = dump("a-0")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"error: a-0/{NAME}: batch at byte 0: message_size at byte 8: a batch of 16,843,021 bytes goes beyond "
        "byte 100, where it has to end; copy the file again; bytes 0 to 99 are not read",
        "a-0/00000000000000000006.log: 100 bytes from byte 0 on: a batch that is not complete",
    ]


def test_all_formats_are_read(objects: Objects, tmp_path: Path) -> None:
    def records(first: int) -> list[Record]:
        return [Record(offset=first + i, timestamp=1_700_000_000_000 + i, value=b"v%d" % i) for i in range(3)]

    old = [Record(offset=i, value=b"v%d" % i) for i in range(3)]
    file = log(
        tmp_path / "a-0",
        write_message_set(old, magic=0),
        write_message_set(records(3), magic=1, compression="gzip"),
        write_batch(records(6), timestamp_type="LogAppendTime"),
    )
    found = objects(file, "-r")
    assert [one["magic"] for one in found if one["type"] == "batch"] == [0, 0, 0, 1, 2]
    assert [one["value"] for one in found if one["type"] == "record"] == ["v0", "v1", "v2"] * 3
    assert [one["timestamp"] for one in found if one["type"] == "record"][:3] == [-1] * 3
    (summary,) = objects(file, "--summary")
    assert (summary["batches"], summary["records"]) == (5, 9)


def test_a_summary_counts_each_file(dump: Dump, objects: Objects, segments: Path) -> None:
    done = dump(segments / "orders-0", segments / "orders-2", "-s")
    assert done.stdout.splitlines()[1] == (
        f"{segments}/orders-2/{NAME}: orders partition 2 from offset 0, 30,011 bytes, 21 batches, 617 records, "
        "offset=0-616, time=2026-11-21T08:00:47.544Z to 2026-11-21T08:00:56.085Z, "
        "compression=gzip:1,lz4:1,none:17,snappy:1,zstd:1, 8 control batches"
    )
    (found,) = objects(segments / "orders-2", "-s")
    assert (found["type"], found["batches"], found["last_offset"]) == ("file", 21, 616)
    assert found["compressions"] == {"none": 17, "gzip": 1, "snappy": 1, "lz4": 1, "zstd": 1}


def test_a_folder_above_partitions_has_the_logs_of_all(dump: Dump, segments: Path) -> None:
    assert dump(segments, "-s").stdout.count("\n") == 11


@pytest.mark.parametrize("options", [(), ("-r",), ("-s",), ("-f", "json")])
def test_an_empty_segment_is_not_an_error(dump: Dump, tmp_path: Path, options: tuple[str, ...]) -> None:
    done = dump(log(tmp_path / "a-0"), *options)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("options", [("-f", "json"), ()])
def test_records_are_written_as_they_come_not_when_all_of_a_batch_are_there(
    dump: Dump, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(write_batch([Record(offset=number, timestamp=0) for number in range(10_000)]))
    sizes: list[int] = []
    write = Output.write

    def measured(out: Output, text: str) -> None:
        sizes.append(len(text))
        write(out, text)

    monkeypatch.setattr(Output, "write", measured)
    done = dump("-r", *options, segment)
    assert sum(sizes) == len(done.stdout)
    assert len(done.stdout) > 500_000
    assert max(sizes) < 250_000

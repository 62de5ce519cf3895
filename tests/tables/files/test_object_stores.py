"""Segments, snapshots and captures in an object store: what tasks do, without Spark; the store is on loopback."""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pytest
import s3fs.core
from click.testing import CliRunner

from kipspark.commands import app
from kipwire.model.errors import MissingExtraError
from kipwire.records import Bounds, Record, write_batch
from kipwire.tables import JobError, SourceError, Wanted, scan
from kipwire.tables.files.stores import Storage, StoredFile, storage_of
from kipwire.tables.query import query_of
from kipwire.tables.sources.batch_heads import RowFilter
from kipwire.tables.sources.batch_rows import BATCH_SCHEMA, read_batch_rows
from kipwire.tables.sources.capture_files import find_captures
from kipwire.tables.sources.captures import FrameFilter, parts, read_frames
from kipwire.tables.sources.log_columns import LOG_SCHEMA
from kipwire.tables.sources.log_rows import read_rows
from kipwire.tables.sources.options import Options
from kipwire.tables.sources.packet_captures import read_packet_frames
from kipwire.tables.sources.partition_files import KINDS, find_files
from kipwire.tables.sources.segments import Segment, find_segments
from kipwire.tables.sources.snapshots import read_snapshot, snapshots_of
from kipwire.tables.sources.splits import Split, cut_segment, ends_before, position_before
from kipwire.tables.writing.export import export
from tests.support import packet_dumps as made
from tests.support.live.stores import KEY, SECRET, Bucket, store
from tests.support.places import DATA, ROOT
from tests.support.subjects.packet_talks import shipped

SEGMENTS = DATA / "segments"
SNAPSHOTS = DATA / "snapshots"
CAPTURE = ROOT / "examples" / "capture"
NOTHING_ANSWERS = {"endpoint_url": "http://127.0.0.1:1", "config_kwargs": '{"retries": {"max_attempts": 0}}'}
TOPIC_ID, SEGMENT_ID = "LWgrMmVrT0a-_7a4SasuPA", "bCqX9U--S_6U8XUM9II25Q"


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with store() as one:
        yield one


@pytest.fixture(scope="module")
def storage(bucket: Bucket) -> Storage:
    return storage_of(bucket.storage)


@pytest.fixture(scope="module")
def logs(bucket: Bucket) -> str:
    return bucket.put_folder("broker", SEGMENTS)


def rows(segments: list[Segment], split_bytes: int, wanted: RowFilter, level: str) -> list[dict[str, Any]]:
    """Return the rows that the tasks of a job read; each names its segment as `partition folder/file`."""
    found: list[dict[str, Any]] = []
    for segment in segments:
        for split in cut_segment(segment, split_bytes, position_before(segment, wanted.first_offset or 0)):
            read = read_rows(split, wanted, LOG_SCHEMA) if level == "records" else None
            for batch in read or read_batch_rows(split, wanted, BATCH_SCHEMA):
                found += batch.to_pylist()
    for row in found:
        row["segment"] = "/".join(row["segment"].split("/")[-2:])
    return found


@pytest.mark.parametrize("level", ["records", "batches"])
@pytest.mark.parametrize("scheme", ["s3", "s3a"])
@pytest.mark.parametrize(
    ("split_bytes", "wanted"),
    [
        (2000, RowFilter()),
        (1 << 25, RowFilter(Bounds(first_offset=100, end_offset=150))),
        (1 << 25, RowFilter(Bounds(first_timestamp=1_795_248_050_000), control=True)),
    ],
)
def test_a_log_in_a_store_is_the_log_of_the_broker(
    logs: str, storage: Storage, level: str, scheme: str, split_bytes: int, wanted: RowFilter
) -> None:
    here = find_segments(SEGMENTS)
    there = find_segments(logs.replace("s3:", f"{scheme}:"), storage=storage)
    assert [(one.topic, one.partition, one.base_offset, one.size) for one in there] == [
        (one.topic, one.partition, one.base_offset, one.size) for one in here
    ]
    found = rows(there, split_bytes, wanted, level)
    assert found == rows(here, split_bytes, wanted, level)
    assert len(found) > 10


def test_a_scan_of_a_store_is_a_scan_of_the_folder(logs: str, storage: Storage, tmp_path: Path) -> None:
    cases: list[Wanted] = [{"topics": "orders", "from_offset": 100}, {"decode": "coordinator"}]
    for wanted in cases:
        of_store: Wanted = {**wanted, "storage": dict(storage.options)}
        found = scan(logs, **of_store).read_all()
        assert found.equals(scan(SEGMENTS, **wanted).read_all()) and len(found) > 10
    with pytest.raises(JobError, match="with --state give folders of this machine by their names"):
        export(query_of(logs, storage=dict(storage.options)), tmp_path / "a.csv", (), tmp_path / "state")


def test_topics_and_partitions_choose_among_objects(logs: str, storage: Storage) -> None:
    chosen = find_segments(logs, ["orders"], [1], storage)
    assert {(one.topic, one.partition) for one in chosen} == {("orders", 1)}
    (one,) = find_segments(chosen[0].path, storage=storage)  # by its own URL
    assert one == chosen[0]


def test_patterns_fit_objects_as_they_fit_files(logs: str, storage: Storage) -> None:
    for pattern in ("orders-*", "{orders,__consumer_offsets}-[01]/*.log", "*/"):
        there = find_segments(f"{logs}/{pattern}", storage=storage)
        here = find_segments(f"{SEGMENTS}/{pattern}")
        assert [(one.topic, one.partition, one.size) for one in there] == [
            (one.topic, one.partition, one.size) for one in here
        ]
    both = find_segments([f"{logs}/orders-*", f"{logs}/orders-0/", SEGMENTS / "orders-0"], storage=storage)
    assert len(both) == len(find_segments([f"{SEGMENTS}/orders-*"])) + len(find_segments(SEGMENTS / "orders-0"))
    for missing in ("none-*", "orders-0/none", "n*/orders-0"):
        with pytest.raises(SourceError, match="there is no such file or folder"):
            find_segments(f"{logs}/{missing}", storage=storage)


def test_segments_in_a_store_are_listed_as_files_and_other_files_are_refused(logs: str, storage: Storage) -> None:
    there = find_files(KINDS["segment"], logs, ["orders"], storage=storage)
    here = find_files(KINDS["segment"], str(SEGMENTS), ["orders"])
    assert [one[1:] for one in there] == [one[1:] for one in here] != []
    with pytest.raises(SourceError, match="files beside segments are read in the folders of brokers, not in stores"):
        find_files(KINDS["producer"], logs, storage=storage)


@pytest.fixture
def long_segment(bucket: Bucket, storage: Storage) -> Segment:
    """A segment of 24 MiB with its indexes, in the store."""
    batches = [write_batch([Record(offset=at, timestamp=1000 + at, value=bytes(1 << 20))]) for at in range(24)]
    positions = [sum(map(len, batches[:at])) for at in range(24)]
    name = "long/t-0/" + "0" * 20
    bucket.put(f"{name}.log", b"".join(batches))
    bucket.put(f"{name}.index", b"".join(pack(">ii", at, positions[at]) for at in range(1, 24)))
    bucket.put(f"{name}.timeindex", pack(">qi", 1023, 23))
    (segment,) = find_segments(f"s3://{bucket.name}/long", storage=storage)
    return segment


def test_only_the_wanted_ranges_of_an_object_are_asked_for(
    long_segment: Segment, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    fetch = s3fs.core.S3File._fetch_range

    def counted(file: Any, start: int, end: int) -> Any:
        asked.append(end - start)
        return fetch(file, start, end)

    monkeypatch.setattr(s3fs.core.S3File, "_fetch_range", counted)
    assert len(cut_segment(long_segment, 4 << 20)) == 6
    assert ends_before(long_segment, 1024)
    assert not ends_before(long_segment, 1023)
    assert sum(asked) < 4 << 20  # planning looks at heads
    asked.clear()
    start = position_before(long_segment, 22)
    (split,) = cut_segment(long_segment, 1 << 25, start)
    found = [
        offset
        for batch in read_rows(split, RowFilter(Bounds(first_offset=22)))
        for offset in batch["offset"].to_pylist()
    ]
    assert found == [22, 23]
    assert sum(asked) < 8 << 20
    asked.clear()
    whole = Split(long_segment, 0, long_segment.size)
    assert sum(len(batch) for batch in read_rows(whole, RowFilter())) == 24
    assert max(asked) < 6 << 20  # one block is in memory, not the object
    assert sum(asked) < 1.2 * long_segment.size


@pytest.mark.parametrize(
    "name",
    [
        f"orders-7-{TOPIC_ID}/1234-{SEGMENT_ID}",  # Kafka's LocalTieredStorage
        f"orders-{TOPIC_ID}/7/{1234:020}-{SEGMENT_ID}",  # Aiven's plugin
    ],
)
def test_segments_of_tiered_storage_are_read(bucket: Bucket, storage: Storage, tmp_path: Path, name: str) -> None:
    data = [write_batch([Record(offset=at, value=b"%d" % at)]) for at in range(1234, 1244)]
    entry = pack(">ii", 5, 5 * len(data[0]))
    for ending, content in ((".log", b"".join(data)), (".index", entry), (".rsm-manifest", b"{}")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}{ending}").write_bytes(content)
    url = bucket.put_folder(f"tiered/{len(name)}", tmp_path)
    for root, how in ((str(tmp_path), Storage()), (url, storage)):
        (segment,) = find_segments(root, storage=how)
        assert segment[1:4] == ("orders", 7, 1234)
        assert position_before(segment, 1241) == 5 * len(data[0])
        (batch,) = read_rows(Split(segment, 0, segment.size), RowFilter())
        assert batch["offset"].to_pylist() == list(range(1234, 1244))


@pytest.mark.parametrize(
    "name",
    [
        f"orders-{TOPIC_ID}/1234-{SEGMENT_ID}.log",  # without a partition
        f"orders-7-{TOPIC_ID}/1234-{SEGMENT_ID[1:]}.log",
        f"orders-7-{TOPIC_ID}/{2**63}-{SEGMENT_ID}.log",
        f"orders-{2**31}-{TOPIC_ID}/1-{SEGMENT_ID}.log",
        f"orders-{TOPIC_ID}/{2**31}/1-{SEGMENT_ID}.log",
        f"orders-7/1-{SEGMENT_ID}.log",
        f"7/1-{SEGMENT_ID}.log",
    ],
)
def test_other_names_are_not_of_tiered_storage(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(SourceError, match="no log segments"):
        find_segments(tmp_path)


def test_snapshots_in_a_store_are_read(bucket: Bucket, storage: Storage) -> None:
    url = bucket.put_folder("snapshots", SNAPSHOTS)
    (there,), (here,) = snapshots_of(find_segments(url, storage=storage)), snapshots_of(find_segments(str(SNAPSHOTS)))
    assert there[1:5] == here[1:5]
    assert there.path.startswith(url)
    found, expected = read_snapshot(there), read_snapshot(here)
    assert found.drop_columns(["snapshot"]).equals(expected.drop_columns(["snapshot"]))
    assert len(found) > 10


@pytest.mark.parametrize("packed", [True, False])
def test_captures_in_a_store_are_read(bucket: Bucket, storage: Storage, tmp_path: Path, packed: bool) -> None:
    for name in ("frames.bin", "frames.jsonl"):
        data = (CAPTURE / f"{name}.gz").read_bytes()
        (tmp_path / (f"{name}.gz" if packed else name)).write_bytes(data if packed else gzip.decompress(data))
    url = bucket.put_folder(f"captures/{packed}", tmp_path)
    (index,) = find_captures(url, storage).indexes
    ranges = parts(index, 50_000, storage)
    assert len(ranges) == 1 if packed else len(ranges) > 5
    found = [row for part in ranges for batch in read_frames(part, FrameFilter()) for row in batch.to_pylist()]
    local = parts(find_captures(str(tmp_path)).indexes[0], 1 << 30)[0]
    expected = [row for batch in read_frames(local, FrameFilter()) for row in batch.to_pylist()]
    assert found == [{**row, "capture": url} for row in expected]
    assert len(found) == 2186


def test_packets_in_a_store_are_read(bucket: Bucket, storage: Storage, tmp_path: Path) -> None:
    segments = list(made.segments(shipped(), Random(3), made.Disorder()))
    (tmp_path / "a.pcap").write_bytes(made.dump(segments[:700]))
    (tmp_path / "a.pcap1").write_bytes(gzip.compress(made.dump(segments[700:])))
    url = bucket.put_folder("packets", tmp_path)
    (there,), (here,) = find_captures(url, storage).packets, find_captures(str(tmp_path)).packets
    assert there.files == (f"{url}/a.pcap", f"{url}/a.pcap1")
    found = [row for batch in read_packet_frames(there, (), FrameFilter()) for row in batch.to_pylist()]
    expected = [row for batch in read_packet_frames(here, (), FrameFilter()) for row in batch.to_pylist()]
    assert found == [{**row, "capture": url} for row in expected]
    assert len(found) == 2186
    (alone,) = find_captures(there.files[0], storage).packets
    assert alone.files == there.files[:1]


def test_an_object_that_is_gone_since_it_was_listed_is_reported(bucket: Bucket, storage: Storage) -> None:
    bucket.put(f"gone/t-0/{0:020}.log", write_batch([Record(offset=0)]))
    (segment,) = find_segments(f"s3://{bucket.name}/gone", storage=storage)
    bucket.remove(f"gone/t-0/{0:020}.log")
    StoredFile(segment.path, storage).below()  # another process has not listed it
    for read in (read_rows, read_batch_rows):
        schema = LOG_SCHEMA if read is read_rows else BATCH_SCHEMA
        with pytest.raises(SourceError, match=r"t-0/0+\.log: cannot be read: there is no such object$"):
            list(read(Split(segment, 0, segment.size), RowFilter(), schema))


def test_a_listing_is_not_kept_for_the_next_job(bucket: Bucket, storage: Storage) -> None:
    for count in (1, 2):
        bucket.put(f"grows/t-0/{count:020}.log", write_batch([Record(offset=count)]))
        assert len(find_segments(f"s3://{bucket.name}/grows", storage=storage)) == count


@pytest.mark.parametrize(
    ("url", "options", "wrong"),
    [
        ("s3://logs/none", {}, r"^s3://logs/none: there is no such file or folder$"),
        ("s3://none/none", {}, r"^s3://none/none: there is no such file or folder$"),
        ("none://logs/none", {}, r"^none://logs/none: Protocol not known: none$"),
        ("gs://logs/none", {}, r"^gs://logs/none: .*install gcsfs"),
        ("s3://logs/none", NOTHING_ANSWERS, r"cannot be listed: Could not connect to the endpoint"),
        ("s3://logs/none", {"client_kwargs": f'{{"odd": "{SECRET}"}}'}, r"cannot be listed: .*'odd'"),
        ("s3://logs/none", {"endpoint_url": f"odd {SECRET}"}, r"cannot be listed: Invalid endpoint: odd \*\*\*$"),
        ("s3://someone:a-password@logs/none", {}, r"^s3://\*\*\*@logs/none: a URL must not have a password; give it"),
    ],
)
def test_what_is_wrong_with_a_store_is_one_line_without_secrets(
    bucket: Bucket, url: str, options: dict[str, str], wrong: str
) -> None:
    with pytest.raises(SourceError, match=wrong) as error:
        find_segments(url, storage=storage_of({**bucket.storage, **options}))
    assert "\n" not in str(error.value)
    for hidden in (SECRET, KEY, "a-password"):
        assert hidden not in str(error.value)
        assert hidden not in repr(storage_of({**bucket.storage, **options}))


def test_a_missing_library_is_reported_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=r'needs fsspec, which is not installed: pip install "kipwire\[object-'):
        find_segments("s3://logs/none")


def test_options_of_a_store_are_those_that_start_so() -> None:
    options = Options("kafka_log", {"path": "s3://a/b", "Storage.Key": "k", "storage.anon": "true"}, ("topics",))
    assert options.storage() == Storage((("anon", "true"), ("key", "k")))
    assert options.storage().values() == {"anon": True, "key": "k"}
    assert storage_of({"client_kwargs": '{"verify": false}', "secret": "{x"}).values() == {
        "client_kwargs": {"verify": False},
        "secret": "{x",
    }
    with pytest.raises(SourceError, match="has no option 'storagekey'"):
        Options("kafka_log", {"storagekey": "k"}, ("topics",))


@pytest.fixture
def environment(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store as its own tools find it, which commands do, too."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("COLUMNS", "500")


@pytest.mark.usefixtures("environment")
def test_a_command_takes_a_url(bucket: Bucket, tmp_path: Path) -> None:
    url = bucket.put("one/a.pcap", made.dump(made.segments(shipped(), Random(3), made.Disorder())))
    done = CliRunner().invoke(app, ["extract", url, "--out", str(tmp_path / "out")])
    assert done.output.startswith("2,186 frames: "), done
    assert (tmp_path / "out" / "frames.bin").stat().st_size > 100_000


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ("offsets s3://logs/none", r"^s3://logs/none: there is no such file or folder$"),
        ("metadata {one}", r"^s3://logs/few: no records of __cluster_metadata;"),
        ("traffic s3://logs/none", r"^s3://logs/none: there is no such file or folder$"),
        (
            "offsets {one} --stream --out {new}/a --checkpoint {new}/b",
            r"^s3://logs/few: --stream follows files that grow, which objects of a store do not; read them without",
        ),
    ],
)
def test_a_command_refuses_a_url_before_spark_starts(
    bucket: Bucket, tmp_path: Path, arguments: str, wrong: str
) -> None:
    bucket.put(f"few/t-0/{0:020}.log", write_batch([Record(offset=0)]))
    one = f"s3://{bucket.name}/few"
    done = CliRunner().invoke(app, arguments.format(one=one, new=tmp_path).split())
    assert re.search(wrong.replace("^", "^kipspark: ").replace("$", "\n"), done.output), done

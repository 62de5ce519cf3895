"""The paths that sources take: several, patterns, and the topics that are wanted there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipjobs.jobs.extract.command import extract
from kipspark.sources.file_sources import KafkaFramesSource, KafkaPartitionFilesSource, KafkaSnapshotSource
from kipspark.sources.log_source import KafkaLogSource
from kipwire.records import Record, write_batch
from kipwire.tables.errors import JobError, ListingError, SourceError
from kipwire.tables.files.roots import each_root, matching, roots_text
from kipwire.tables.sources.capture_files import find_captures
from kipwire.tables.sources.options import Options, path_options
from kipwire.tables.sources.segments import find_segments
from tests.support import packet_dumps as made
from tests.support.places import DATA
from tests.support.subjects.packet_talks import Talk
from tests.support.unlisted import forbid

SNAPSHOTS = DATA / "snapshots"
FIRST = f"{0:020}.log"
SOURCES = (KafkaLogSource, KafkaSnapshotSource, KafkaFramesSource, KafkaPartitionFilesSource)


def write(root: Path, *folders: str) -> Path:
    """Write log folders, each with one record: the name of the folder."""
    for folder in folders:
        (root / folder).mkdir(parents=True)
        (root / folder / FIRST).write_bytes(write_batch([Record(offset=0, timestamp=1, value=folder.encode())]))
    return root


@pytest.fixture
def brokers(tmp_path: Path) -> Path:
    return write(tmp_path, "a/logs/orders-0", "a/logs/clicks-0", "b/logs/orders-0", "b/logs/orders-1", "b/.old/old-7")


def rows(source: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows that all tasks of a source read."""
    reader = source.reader(source.schema())
    for task in reader.partitions():
        for batch in reader.read(task):
            yield from batch.to_pylist()


def values(roots: Any, **options: str) -> list[str]:
    """Return the values of the records at some paths, which are the names of their folders."""
    return sorted(row["value"].decode() for row in rows(KafkaLogSource({**path_options(roots), **options})))


EVERY = ["a/logs/clicks-0", "a/logs/orders-0", "b/logs/orders-0", "b/logs/orders-1"]


@pytest.mark.parametrize(
    ("roots", "expected"),
    [
        (["a", "b/logs"], EVERY),
        (["a/logs/orders-0", "b/logs/orders-1/" + FIRST], ["a/logs/orders-0", "b/logs/orders-1"]),
        (["*/logs"], EVERY),
        (["*/logs/orders-0"], ["a/logs/orders-0", "b/logs/orders-0"]),
        (["?/logs/orders-[!0]"], ["b/logs/orders-1"]),
        (["?/logs/orders-[^0]"], ["b/logs/orders-1"]),
        (["{a,b}/logs/{clicks,orders}-0"], ["a/logs/clicks-0", "a/logs/orders-0", "b/logs/orders-0"]),
        (["{a/logs/clicks-0,b/logs/orders-1}"], ["a/logs/clicks-0", "b/logs/orders-1"]),
        (["*/*/orders-1/*.log"], ["b/logs/orders-1"]),
        (["a", "a/logs", "a/logs/orders-0", "*/logs", "a/../a"], EVERY),
        (["b/.old", "b/logs/orders-1"], ["b/.old/old-7", "b/logs/orders-1"]),
    ],
)
def test_several_paths_and_patterns_are_read_each_record_once(
    brokers: Path, roots: list[str], expected: list[str]
) -> None:
    given = [f"{brokers}/{root}" for root in roots]
    assert values(given) == expected
    assert values([f"file://{root}" for root in given]) == expected
    stream = KafkaLogSource(path_options(given))
    reader: Any = stream.streamReader(stream.schema())
    followed = [
        row["value"].decode()
        for task in reader.partitions(reader.initialOffset(), reader.latestOffset())
        for batch in reader.read(task)
        for row in batch.to_pylist()
    ]
    assert sorted(followed) == expected


def test_a_log_that_is_reached_by_a_link_too_is_read_once(brokers: Path) -> None:
    (brokers / "c").symlink_to(brokers / "a")
    (brokers / "d").symlink_to(brokers / "a" / "logs" / "orders-0")
    assert values([brokers / "c", brokers / "a"]) == EVERY[:2]
    assert values([brokers / "d", brokers / "c", brokers / "a"]) == EVERY[:2]
    found = find_segments([brokers / "c", brokers / "a"])
    assert {Path(segment.folder).parent.parent.name for segment in found} == {"c"}, "the first path gives the name"
    assert values(brokers / "?/logs") == EVERY


def test_a_path_that_exists_is_no_pattern(tmp_path: Path) -> None:
    write(tmp_path, "[ab]/t-0", "a/t-1", "x*/t-2", "xy/t-3")
    assert values(tmp_path / "[ab]") == ["[ab]/t-0"]
    assert values(tmp_path / "x*") == ["x*/t-2"]
    assert values(tmp_path / "[a]") == ["a/t-1"]


def test_each_path_must_exist_and_one_must_have_segments(brokers: Path) -> None:
    (brokers / "empty").mkdir()
    assert values([brokers / "a", brokers / "empty"]) == EVERY[:2]
    for missing in ("none", "n*", "a/*/nope-{0,1}", "a/logs/orders-0/*/x"):
        with pytest.raises(SourceError, match=r"there is no such file or folder|nothing that fits this pattern"):
            find_segments([brokers / "a", f"{brokers}/{missing}"])
    with pytest.raises(SourceError, match=r"empty, \S+empty and 2 more: no log segments; expected files such as"):
        find_segments([brokers / "empty"] * 4)


def test_what_a_pattern_fits_may_be_removed_meanwhile(brokers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (brokers / "a" / "logs" / "gone-0").symlink_to(brokers / "nowhere")
    os.mkfifo(brokers / "a" / "logs" / "pipe-0")
    assert values(brokers / "a/logs/*") == EVERY[:2]


def test_a_folder_that_cannot_be_listed_is_an_error_also_on_the_way_of_a_pattern(
    brokers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch, brokers / "b" / "logs")
    for pattern in ("*/logs/*-0", "*"):
        with pytest.raises(ListingError, match="b/logs: cannot be listed: Permission denied"):
            find_segments(brokers / pattern)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text("ab.[]-!^*?", min_size=1, max_size=3), min_size=2, max_size=3),
    st.lists(st.lists(st.text("ab.[]-!", min_size=1, max_size=3), min_size=2, max_size=3), max_size=8),
)
def test_a_pattern_fits_the_names_that_fit_its_parts(pattern: list[str], paths: list[list[str]]) -> None:
    names: dict[str, set[str]] = {}
    for path in paths:
        for depth, name in enumerate(path):
            names.setdefault("/".join(["/r", *path[:depth]]), set()).add(name)

    def listed(folder: str, storage: object) -> list[str]:
        if folder not in names:
            raise FileNotFoundError
        return sorted(names[folder])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("kipwire.tables.files.roots.names_in", listed)
        found = {
            path
            for path in matching("/".join(["/r", *pattern]))
            if path.rpartition("/")[2] in names.get(path.rpartition("/")[0], ())
        }

    def fits(name: str, part: str) -> bool:
        if not set(part) & set("*?["):
            return name == part
        return fnmatchcase(name, part.replace("[^", "[!")) and (part[0] == "." or name[0] != ".")

    everything = {f"{folder}/{name}".split("/", 2)[2] for folder, some in names.items() for name in some}
    assert {path.split("/", 2)[2] for path in found} == {
        path for path in everything if len(parts := path.split("/")) == len(pattern) and all(map(fits, parts, pattern))
    }


def test_alternatives_in_braces_are_bounded() -> None:
    with pytest.raises(SourceError, match="has more than 1,000 alternatives in braces"):
        matching("/none/" + "{a,b}" * 400)
    assert matching("/none/{a,{b,c}}{d}{") == ["/none/ad{", "/none/bd{", "/none/cd{"]


def captures(root: Any) -> set[tuple[str, int]]:
    return {(Path(one.name).name, len(one.files)) for one in find_captures(root).packets}


def test_packet_files_of_one_folder_are_one_capture_however_they_are_named(tmp_path: Path) -> None:
    for folder in ("monday", "tuesday"):
        (tmp_path / folder).mkdir()
        for name in ("a.pcap", "a.pcap1", "notes"):
            (tmp_path / folder / name).write_bytes(b"x" * 10)
    monday = tmp_path / "monday"
    assert captures(monday / "a.pcap") == {("a.pcap", 1)}
    assert captures(monday / "notes") == {("notes", 1)}, "a file by its own name may have any"
    assert captures([monday / "a.pcap", monday / "a.pcap1"]) == {("monday", 2)}
    assert captures([monday / "a.pcap", monday]) == {("monday", 2)}
    assert captures([monday / "a.pcap", tmp_path / "tuesday"]) == {("a.pcap", 1), ("tuesday", 2)}
    assert captures(tmp_path / "*" / "*") == {("monday", 2), ("tuesday", 2)}, "a pattern does not name notes"
    assert captures(tmp_path / "*" / "a.pcap") == {("monday", 1), ("tuesday", 1)}


def test_the_files_of_one_capture_are_extracted_together(tmp_path: Path) -> None:
    talk = Talk().ask(1).answer(1).ask(2).answer(2).segments
    files = [tmp_path / "in" / "a.pcap", tmp_path / "in" / "a.pcap1"]
    files[0].parent.mkdir()
    for file, part in zip(files, (talk[:4], talk[4:]), strict=True):
        file.write_bytes(made.dump(part))
    assert extract(files, tmp_path / "out", ()) == (4, 0)
    other = tmp_path / "other.pcap"
    other.write_bytes(made.dump(talk))
    with pytest.raises(JobError, match=r"\.pcap and .*other\.pcap: has more than one capture; extract them one by one"):
        extract([files[0], other], tmp_path / "none", ())


def test_snapshots_and_files_beside_segments_are_of_all_paths(brokers: Path) -> None:
    both = path_options([brokers / "a", brokers / "*" / "logs"])
    assert len(list(rows(KafkaPartitionFilesSource({**both, "kind": "segment"})))) == 4
    both = path_options([brokers / "a", SNAPSHOTS])
    assert len(list(rows(KafkaSnapshotSource(both)))) == 22


def test_checkpoints_of_brokers_are_found_above_all_folders_that_fit(brokers: Path) -> None:
    for name in ("a", "b"):
        (brokers / name / "logs" / "cleaner-offset-checkpoint").write_text(f"0\n1\norders 0 {ord(name)}\n")
    for roots in (brokers / "*/logs/*-0", [brokers / "b", brokers / "a/logs/orders-0"], brokers):
        found = rows(KafkaPartitionFilesSource({**path_options(roots), "kind": "partition_offset"}))
        assert sorted(row["offset"] for row in found) == [97, 98]
    with pytest.raises(SourceError, match="nothing that fits this pattern"):
        list(rows(KafkaPartitionFilesSource({"path": f"{brokers}/*/none-0", "kind": "partition_offset"})))


@pytest.mark.parametrize("text", ["", "a,b", "[]", '["a", 1]', '["a", ""]', '{"a": 1}', "[" * 100_000])
@pytest.mark.parametrize("source", SOURCES)
def test_paths_that_are_no_list_are_refused(source: Any, text: str) -> None:
    made = source({"paths": text, "kind": "segment"} if source is KafkaPartitionFilesSource else {"paths": text})
    with pytest.raises(
        SourceError, match=r"option paths is .*; it must be a JSON list of paths, such as \[\"/data/a\""
    ):
        made.reader(made.schema()).partitions()


@given(st.lists(st.text(min_size=1, max_size=5).filter(lambda text: not text.startswith("file:")), min_size=1))
def test_paths_come_through_the_options_of_spark(paths: list[str]) -> None:
    assert Options("s", path_options(paths), ()).roots() == tuple(paths)
    assert json.loads(path_options([*paths, "x"])["paths"]) == [*paths, "x"]
    assert each_root(paths) == tuple(paths)


def test_messages_show_some_of_many_paths() -> None:
    assert [roots_text(["a", "b", "c", "d"][:count]) for count in (1, 2, 3, 4)] == [
        "a",
        "a and b",
        "a, b and c",
        "a, b and 2 more",
    ]
    assert roots_text(Path("a")) == "a"


# Topics that are asked for.


def log(root: Path, **options: str) -> Any:
    return KafkaLogSource({"path": str(root), **options})


def partition_files(root: Path, **options: str) -> Any:
    return KafkaPartitionFilesSource({"path": str(root), "kind": "time_index", **options})


def snapshots(root: Path, **options: str) -> Any:
    return KafkaSnapshotSource({"path": str(root), **options})


@pytest.mark.parametrize("source", [log, partition_files, snapshots])
@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (
            {"topics": "order"},
            r": there is no folder of topic 'order'; did you mean orders\? There are clicks, orders$",
        ),
        ({"topics": "clicks,nope"}, r": there is no folder of topic 'nope'; there are clicks, orders$"),
        ({"topics": "clicks", "partitions": "0,1"}, r": there is no folder of partition 1 of clicks; there is 0$"),
        ({"partitions": "7"}, r": there is no folder of partition 7; there are 0, 1$"),
    ],
)
def test_a_topic_or_partition_that_is_not_there_is_an_error(
    source: Callable[..., Any], brokers: Path, options: dict[str, str], wrong: str
) -> None:
    wanted = source(brokers / "?/logs", **options)
    with pytest.raises(SourceError, match=wrong):
        wanted.reader(wanted.schema()).partitions()
    assert len(list(rows(source(brokers / "?/logs", **options, failOnMissingTopics="false")))) in (0, 1)


def test_a_partition_of_one_of_the_topics_is_there(brokers: Path) -> None:
    assert values(brokers / "b", topics="orders", partitions="0,1") == EVERY[2:]
    assert values(brokers / "?", topics="clicks,orders", partitions="1") == EVERY[3:]


def test_many_topics_are_named_in_few_words(tmp_path: Path) -> None:
    write(tmp_path, *[f"topic{number:03}-0" for number in range(300)])
    with pytest.raises(SourceError, match=r"topic000, .*topic019 and 280 more$") as raised:
        values(tmp_path, topics="x" * 249)
    assert len(str(raised.value)) < 1000


def test_a_stream_begins_only_with_its_topics_or_waits_for_them_if_told(brokers: Path) -> None:
    stream = log(brokers / "a", topics="clicks,payments")
    reader = stream.streamReader(stream.schema())
    with pytest.raises(SourceError, match="there is no folder of topic 'payments'; there are clicks, orders"):
        reader.initialOffset()
    write(brokers / "a" / "logs", "payments-0")
    begun = reader.initialOffset()
    reached = reader.latestOffset()
    assert len(reached["next_offsets"]) == 2

    patient = log(brokers / "a", topics="returns", failOnMissingTopics="false")
    waiting = patient.streamReader(patient.schema())
    assert waiting.initialOffset() == waiting.latestOffset() == begun
    write(brokers / "a" / "logs", "returns-0")
    assert len(waiting.latestOffset()["next_offsets"]) == 1


def test_a_stream_goes_on_from_its_checkpoint_though_a_topic_was_deleted(brokers: Path) -> None:
    stream = log(brokers / "a", topics="clicks,orders")
    first = stream.streamReader(stream.schema())
    first.initialOffset()
    reached = first.latestOffset()
    folder = brokers / "a" / "logs" / "clicks-0"
    (folder / FIRST).unlink()
    folder.rmdir()
    again = stream.streamReader(stream.schema())  # Spark does not ask for the initial offset then
    assert again.latestOffset(reached) == reached

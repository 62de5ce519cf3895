"""The benchmarks compare like with like, and say so when they cannot."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

import kafka_messages
from benchmarks import beside, bodies, connections, low_headers, msgpack, own_spec, workers
from benchmarks.adapted import frames
from benchmarks.peers import PEERS, Codec, Peer, WrongBytesError, checked_codec
from benchmarks.targets import Verdict
from benchmarks.timing import interleaved_samples
from tests.support.places import ROOT


@pytest.mark.filterwarnings("ignore:.* is deprecated. Use files:DeprecationWarning")  # in kafka-python
@pytest.mark.parametrize("sample", bodies.SAMPLES, ids=lambda sample: sample.file)
def test_every_python_codec_gives_every_body_back(sample: bodies.Sample) -> None:
    for peer in PEERS:
        checked_codec(peer, sample).decode()


@pytest.mark.parametrize("sample", bodies.SAMPLES, ids=lambda sample: sample.file)
def test_message_pack_has_all_of_the_content(sample: bodies.Sample) -> None:
    message = kafka_messages.message(sample.name, sample.version).decode(sample.golden)
    decode, encode = msgpack.codec(message)
    assert _content(decode()) == _content(message)
    assert encode() == msgspec.msgpack.encode(decode())


def _content(value: object) -> object:
    if isinstance(value, list):
        return [_content(one) for one in value]
    names = getattr(value, "__struct_fields__", None) or [field.name for field in getattr(value, "ATTRIBUTES", ())]
    return {name: _content(getattr(value, name)) for name in names} if names else value


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # in kafka-python
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_each_connection_gets_every_response_from_the_same_server() -> None:
    with connections.running_server() as port:
        for kind in connections.CLIENTS:
            client = kind(port)
            for what in ("Metadata", "Fetch"):
                client.ask(what, 7, 3)
            client.close()
    assert connections.shares(7, 3) == [3, 2, 2]


def test_a_codec_that_writes_other_bytes_is_not_timed() -> None:
    wrong = Peer("wrong", "none", lambda sample: Codec(decode=lambda: None, encode=lambda: b"other"))
    with pytest.raises(WrongBytesError, match="wrong: metadata_v12 does not come back"):
        checked_codec(wrong, bodies.METADATA)


def test_what_the_floor_adds_to_the_kernel_has_names_of_its_own() -> None:
    """Cython refuses two functions of one name, and only benchmarks build both files together."""
    files = [*(ROOT / "runtime/kernel").glob("*.px[di]*"), *(ROOT / "benchmarks/floor").glob("*.pxi")]
    defined = Counter(
        name
        for file in files
        if file.suffix in (".pxi", ".pyx")
        for name in re.findall(r"^c?p?def (?:.*[ *])?(\w+)\(.*:$", file.read_text(), re.MULTILINE)
    )
    assert defined["copy_of"] == defined["convert_list"] == 1
    assert [name for name, times in defined.items() if times > 1] == []


def test_frames_of_both_sides_are_the_same_before_they_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(frames.measure(1, 1e-6).rows) == 11
    monkeypatch.setattr(frames, "written", lambda builder, cls: cls.__mro__)
    with pytest.raises(RuntimeError, match="write Produce, a batch of 1 KB: the adapter does something else"):
        frames.measure(1, 1e-6)


def test_only_a_checkout_with_a_python_and_a_kipwire_of_its_own_is_compared(tmp_path: Path) -> None:
    with pytest.raises(beside.NotComparableError, match=r"has no \.venv/bin/python; run make setup there"):
        beside.compare(tmp_path, 1, 0.001, 0)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    with pytest.raises(beside.NotComparableError, match=r"imports kipwire from .*runtime/kipwire/__init__\.py"):
        beside.compare(tmp_path, 1, 0.001, 0)
    python.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(beside.NotComparableError, match="ended; its error is above"):
        beside.compare(tmp_path, 1, 0.001, 0)


def test_a_body_of_n_partitions_has_n_partitions() -> None:
    message = kafka_messages.message("MetadataResponse", 12).decode(bodies.metadata(17))
    assert len(message.topics[0].partitions) == 17  # type: ignore[attr-defined]


def test_low_headers_are_timed_only_if_they_are_those_of_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    message = low_headers.message()
    assert len(message.headers) == 200
    data = message.encode()
    low_headers.check(data)
    assert all(way() for name, way in low_headers.ways(data).items() if "not there" not in name)
    monkeypatch.setattr(low_headers, "find_header", lambda data, key: b"other")
    with pytest.raises(WrongBytesError, match="find_header does not give"):
        low_headers.check(data)


def test_a_users_own_spec_can_be_generated_and_timed_beside_the_shipped_class() -> None:
    measured = own_spec.measure(rounds=1, seconds=1e-6)
    assert {operation for _, operation in measured} == {"decode", "encode"}


def test_rounds_of_all_codecs_are_interleaved_there_and_back() -> None:
    order: list[str] = []

    def sampler(name: str) -> float:
        order.append(name)
        return 1.0

    samples = interleaved_samples({"a": lambda calls: sampler("a"), "b": lambda calls: sampler("b")}, 3, 1.0)
    assert order[-6:] == ["a", "b", "b", "a", "a", "b"]
    assert {name: len(one) for name, one in samples.items()} == {"a": 3, "b": 3}


@pytest.mark.parametrize(("figure", "at_most", "reached"), [(2.0, True, True), (2.1, True, False), (1.9, False, False)])
def test_a_missed_target_is_called_missed(figure: float, at_most: bool, reached: bool) -> None:
    assert Verdict("target", "what", figure, 2.0, at_most).reached is reached


def test_versions_of_the_other_languages_are_found_where_they_are_pinned() -> None:
    for language in workers.LANGUAGES:
        assert language.version[0].isdigit(), language.name


def test_a_missing_toolchain_is_reported_by_name() -> None:
    language = workers.Language("None", "none", ("no-such-tool",), list, ("go/go.mod", "x"))
    with pytest.raises(workers.NotBuiltError, match="no-such-tool not found"):
        workers.command(language)


def test_a_program_that_ends_is_reported_by_name(tmp_path: Path) -> None:
    with (
        workers.started(workers.GO, [sys.executable, "-c", ""], tmp_path) as worker,
        pytest.raises(ChildProcessError, match="Go: the program ended when asked to decode heartbeat_v4"),
    ):
        worker.process.wait()
        worker.sample("decode", bodies.SIX[-1], 1)


def test_programs_are_asked_with_four_words_and_answer_nanoseconds(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "for line in sys.stdin: print(5000 if line.split()[:3] == ['decode', '5', 'metadata_v12'] else 0, flush=True)"
    )
    with workers.started(workers.GO, [sys.executable, "-c", program], tmp_path) as worker:
        assert worker.sample("decode", bodies.ALIKE, 5) == pytest.approx(1e-6)

"""Types of the fields of generated classes in type checkers and editors. mypy and pyright check this file, too."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, assert_type

import pytest

from kafka_messages.enums import AcknowledgeType, ErrorCode
from kafka_messages.fetch_response.v12 import EpochEndOffset, PartitionData
from kafka_messages.metadata_response import v11
from kafka_messages.metadata_response.v12 import MetadataResponseTopic
from kafka_messages.share_fetch_request.v2 import AcknowledgementBatch
from kafka_records.record_batch.v2 import RecordBatch
from tests.support.docs_samples import run as run_sample
from tests.support.docs_samples import samples
from tests.support.places import FORMS, LAYOUTS, ROOT
from tests.support.spec_package import write_package

WRONG_USES = ROOT / "tests/support/subjects/wrong_uses.py"
MARK = re.compile(r"  # type: ignore\[[\w, -]+\]$", re.MULTILINE)
TOOLS = Path(sys.executable).parent
IMPORTS = ["generator", "runtime", "pipeline", "generated"]
"""Folders of this checkout that generated code imports from."""


def test_type_checkers_know_the_fields_of_each_kind() -> None:
    topic = MetadataResponseTopic()
    assert_type(topic.error_code, ErrorCode | int)
    assert_type(topic.topic_authorized_operations, int)  # bits are no members
    assert_type(topic.name, str | None)
    assert_type(topic.topic_id, uuid.UUID)
    assert_type(topic.is_internal, bool)
    assert_type([one.leader_id for one in topic.partitions], list[int])
    assert_type([one.replica_nodes for one in topic.partitions], list[list[int]])
    assert_type(PartitionData().diverging_epoch, EpochEndOffset)
    assert_type(PartitionData().records, bytes | None)
    assert_type(v11.MetadataResponse().controller_id, int)  # its class is derived from the class of another version
    assert_type(RecordBatch().has_delete_horizon, bool)


def plain_numbers(numbers: list[int]) -> dict[int, int]:
    return dict.fromkeys(numbers, 0)


def test_type_checkers_take_named_numbers_for_ints_and_ints_for_named_numbers() -> None:
    topic = MetadataResponseTopic(error_code=3)
    topic.error_code = 9999  # numbers without a name stay possible
    topic.error_code += 1
    topic.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    codes = [one.error_code for one in (topic, MetadataResponseTopic(error_code=ErrorCode.NONE))]
    counts: dict[int, int] = {topic.error_code: 1}
    assert counts.keys() <= plain_numbers(codes).keys()
    batch = AcknowledgementBatch(acknowledge_types=codes)
    batch.acknowledge_types = [AcknowledgeType.ACCEPT, 2]
    assert AcknowledgeType.RELEASE in batch.acknowledge_types
    plain: int = topic.error_code
    assert plain == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    match topic.error_code:
        case ErrorCode.NONE:
            raise AssertionError
        case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            pass
        case other:
            raise AssertionError(other)


def wrong_lines() -> list[int]:
    """Return the numbers of the lines that are marked as wrong."""
    lines = WRONG_USES.read_text("utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if MARK.search(line)]


def test_each_wrong_use_is_marked_for_both_type_checkers() -> None:
    text = WRONG_USES.read_text("utf-8")
    assert text.startswith("# pyright: strict, reportUnnecessaryTypeIgnoreComment=true\n")
    in_functions = re.findall(r"^    (?!print\(|return |def |async def | ).*$", text, re.MULTILINE)
    assert [line for line in in_functions if not MARK.search(line)] == []
    assert len(wrong_lines()) == len(in_functions) > 30


Errors = set[tuple[str, int]]
"""Places of the errors that a type checker found: file and line."""


def by_mypy(folder: Path) -> Errors:
    """Return the errors that mypy finds in the files of a folder."""
    (folder / "mypy.ini").write_text(
        f"[mypy]\nstrict = true\nmypy_path = {':'.join(str(ROOT / one) for one in IMPORTS)}\nfiles = .\n"
    )
    done = run(["mypy", "--no-error-summary", "--hide-error-context", "--no-color-output"], folder)
    found = re.findall(r"^(.*?):(\d+): error: ", done.stdout, re.MULTILINE)
    assert bool(found) == bool(done.returncode), done.stdout + done.stderr
    return {(file, int(line)) for file, line in found}


def by_pyright(folder: Path) -> Errors:
    """Return the errors that pyright finds in the files of a folder, in strict mode where a file sets it."""
    write_pyright_settings(folder)
    done = run(["pyright", "--outputjson"], folder)
    found = json.loads(done.stdout)["generalDiagnostics"]
    assert bool(found) == bool(done.returncode), done.stdout + done.stderr
    return {(Path(one["file"]).relative_to(folder).as_posix(), one["range"]["start"]["line"] + 1) for one in found}


def write_pyright_settings(folder: Path) -> None:
    settings = {"include": ["."], "extraPaths": [str(ROOT / one) for one in IMPORTS], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path, *arguments = command
    return subprocess.run([TOOLS / path, *arguments], cwd=folder, capture_output=True, text=True, check=False)


CHECKERS = pytest.mark.parametrize("checker", [by_mypy, by_pyright])


@pytest.mark.night
@CHECKERS
def test_type_checkers_refuse_each_wrong_use_and_nothing_else(
    checker: Callable[[Path], Errors], tmp_path: Path
) -> None:
    (tmp_path / "wrong_uses.py").write_text(MARK.sub("", WRONG_USES.read_text("utf-8")))
    assert checker(tmp_path) == {("wrong_uses.py", line) for line in wrong_lines()}


@pytest.mark.night
@CHECKERS
def test_type_checkers_accept_classes_with_fields_of_any_name_and_form(
    checker: Callable[[Path], Errors], tmp_path: Path
) -> None:
    for specs in (FORMS, LAYOUTS, ROOT / "tests/data/cases/struct-named-classvar"):
        write_package(specs, tmp_path / f"{specs.name.replace('-', '_')}_package", newest=True)
    assert checker(tmp_path) == set()


@pytest.mark.night
@CHECKERS
def test_type_checkers_accept_a_package_of_chosen_messages(checker: Callable[[Path], Errors], tmp_path: Path) -> None:
    run(["kipgen", "vendor", "Metadata", "Fetch:4+", "Produce:9+", "--out", "wire"], tmp_path)
    (tmp_path / "use.py").write_text(
        "# pyright: strict\nfrom wire.produce_request.v9 import ProduceRequest\nProduceRequest(acks=-1)\n"
    )
    assert checker(tmp_path) == set()
    (tmp_path / "use.py").write_text((tmp_path / "use.py").read_text().replace("-1", "None"))
    assert {file for file, _ in checker(tmp_path)} == {"use.py"}


@pytest.mark.night
@CHECKERS
def test_type_checkers_accept_the_two_peers_of_the_docs(checker: Callable[[Path], Errors], tmp_path: Path) -> None:
    page = "docs/own-specs.md"
    shown = samples(page, (ROOT / page).read_text("utf-8"))
    for sample in shown:
        if sample.language == "sh":
            assert run_sample(sample, [], tmp_path) == ""
    (peers,) = (sample.code for sample in shown if "serve([get])" in sample.code)
    (tmp_path / "peers.py").write_text(f"# pyright: strict\n{peers}")
    assert checker(tmp_path) == set()
    (tmp_path / "peers.py").write_text(f"# pyright: strict\n{peers.replace('-> OldResponse', '-> OldRequest')}")
    assert {file for file, _ in checker(tmp_path)} == {"peers.py"}


class LanguageServer:
    """A language server, as editors use it, with one file open."""

    def __init__(self, process: subprocess.Popen[bytes], file: Path) -> None:
        self._process = process
        self._uri = file.as_uri()
        self._requests = 0
        folders = [{"uri": file.parent.as_uri(), "name": "all"}]
        self.ask("initialize", {"processId": None, "capabilities": {}, "workspaceFolders": folders})
        self._send({"method": "initialized", "params": {}})
        document = {"uri": self._uri, "languageId": "python", "version": 1, "text": file.read_text("utf-8")}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def hover(self, line: int, column: int) -> str:
        """Return the text that an editor shows over a place, both counted from 0."""
        place = {"textDocument": {"uri": self._uri}, "position": {"line": line, "character": column}}
        return str(self.ask("textDocument/hover", place)["contents"]["value"])

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._requests += 1
        self._send({"id": self._requests, "method": method, "params": params})
        while (message := self._receive()).get("id") != self._requests or "method" in message:
            if "id" in message:  # a request of the server, such as one for settings
                count = len(message.get("params", {}).get("items", ()))
                self._send({"id": message["id"], "result": [None] * count})
        return message["result"]

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        source = self._process.stdout
        assert source is not None
        size = 0
        while (line := source.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                size = int(line.partition(b":")[2])
        assert size, "the language server ended"
        message: dict[str, Any] = json.loads(source.read(size))
        return message


USES = """\
from kafka_messages.enums import ErrorCode
from kafka_messages.fetch_response.v12 import PartitionData
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.metadata_response.v11 import MetadataResponse
from kafka_messages.metadata_response.v12 import MetadataResponseBroker

MetadataResponse().cluster_id
MetadataResponseBroker().rack
PartitionData().current_leader
HeartbeatResponse().error_code
HeartbeatResponse()
ErrorCode.NOT_COORDINATOR
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LanguageServer]:
    write_pyright_settings(tmp_path)
    file = tmp_path / "uses.py"
    file.write_text(USES)
    command = [str(TOOLS / "pyright-langserver"), "--stdio"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield LanguageServer(process, file)
        process.kill()


def test_editors_show_the_type_and_the_text_of_a_field(server: LanguageServer) -> None:
    uses = [(line, text) for line, text in enumerate(USES.splitlines()) if text and not text.startswith("from ")]
    shown = [server.hover(line, len(text.rstrip("()")) - 1) for line, text in uses]
    assert [" ".join(text.split()) for text in shown] == [
        "(variable) cluster_id: str | None Id of the cluster; null if the broker does not know it.",
        "(variable) rack: str | None Rack the broker is configured to be in; null if none is set.",
        "(variable) current_leader: LeaderIdAndEpoch Leader of the partition as known to the answering node, so that "
        "the client can redirect its fetch (tagged, from version 12 on; for ordinary clients KIP-951).",
        "(variable) error_code: ErrorCode | int State of the membership: 0 means no error; REBALANCE_IN_PROGRESS (27), "
        "for instance, asks the member to rejoin the group.",
        "class HeartbeatResponse( *, throttle_time_ms: int = 0, error_code: ErrorCode | int = 0 ) The group "
        "coordinator's answer to Heartbeat; its error code also says when the member has to rejoin because of a "
        "rebalance.",
        "(constant) NOT_COORDINATOR: Literal[ErrorCode.NOT_COORDINATOR] This broker is not the coordinator of the "
        "group or transactional id; find it again.",
    ]

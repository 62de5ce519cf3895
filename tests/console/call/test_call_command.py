"""The command itself: what it prints, its exit status, and that no broker makes it print a traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kafka_messages
from kafka_messages.enums import ApiKey, ErrorCode
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kipwire.console.call.json_text import parse
from kipwire.testing import FakeBroker
from tests.support.command_line import Done
from tests.support.spec_package import generated
from tests.support.subjects.scripted_broker import scripted, unused_address

Call = Callable[..., Done]

GROUP = '{"groupId": "g", "memberId": "m"}'


def test_a_pipe_gets_plain_json_of_kafkas_form(broker: FakeBroker, call: Call) -> None:
    done = call(broker.bootstrap_servers, "Metadata", '{"topics": null}')
    assert (done.returncode, done.stderr) == (0, "")
    value = json.loads(done.stdout)
    cls = kafka_messages.message("MetadataResponse", 13)
    assert cls.from_json(value).to_json() == value
    assert [topic["name"] for topic in value["topics"]] == ["orders"]
    assert call(broker.bootstrap_servers, "3", '{"topics": null}', "-f", "json").stdout == done.stdout


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_a_terminal_gets_the_names_of_numbers_and_colours(broker: FakeBroker, call: Call) -> None:
    done = call(broker.bootstrap_servers, "heartbeat", GROUP, "--format", "text")
    assert done.returncode == 1
    assert done.stdout == (
        f"// HeartbeatResponse version 4, from {broker.bootstrap_servers}\n"
        '{\n  "throttleTimeMs": 0,\n  "errorCode": 25  // UNKNOWN_MEMBER_ID\n}\n'
    )
    master, terminal = os.openpty()
    environment = {one: value for one, value in os.environ.items() if one not in ("NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-m", "kipwire", "call", broker.bootstrap_servers, "heartbeat", GROUP]
    with os.fdopen(master, "rb", buffering=0) as shown:
        called = subprocess.run(
            command,
            stdout=terminal,
            stderr=subprocess.PIPE,
            env={**environment, "TERM": "xterm"},
            check=False,
            timeout=60,
        )
        os.close(terminal)
        text = shown.read(65536).decode()
    assert (called.returncode, called.stderr) == (1, b"kipwire: errorCode: 25 UNKNOWN_MEMBER_ID\n")
    assert '\x1b[36m"errorCode"\x1b[0m: \x1b[96m25\x1b[0m\x1b[2m  // UNKNOWN_MEMBER_ID\x1b[0m' in text


def test_an_error_code_is_named_and_ends_with_1(broker: FakeBroker, call: Call) -> None:
    done = call(broker.bootstrap_servers, "Heartbeat", GROUP)
    assert (done.returncode, done.stderr) == (1, "kipwire: errorCode: 25 UNKNOWN_MEMBER_ID\n")
    assert json.loads(done.stdout) == {"throttleTimeMs": 0, "errorCode": 25}
    twice = '{"topics": [{"name": "orders", "numPartitions": 1, "replicationFactor": 1}]}'
    done = call(broker.bootstrap_servers, "CreateTopics", twice)
    assert done.returncode == 1
    assert done.stderr.startswith("kipwire: topics[0].errorCode: 36 TOPIC_ALREADY_EXISTS: ")
    assert len(done.stderr.splitlines()) == 1


def test_many_errors_are_not_a_screen_full(call: Call) -> None:
    cls = kafka_messages.message("DeleteGroupsResponse", 2)
    results = [{"groupId": str(code), "errorCode": code} for code in range(1, 101)]
    body = cls.from_json({"throttleTimeMs": 0, "results": results}).encode()
    with scripted(lambda frame: framed(frame[4:8] + b"\0" + body)) as address:
        done = call(address, "DeleteGroups", "--version", "2")
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines), lines[-1]) == (1, 21, "kipwire: 80 more errors")


def test_a_version_is_negotiated_or_given(answer: Callable[..., Any]) -> None:
    with FakeBroker(topics=["orders"], versions={ApiKey.METADATA: range(5)}) as old:
        value = answer(old.bootstrap_servers, "Metadata", '{"topics": null}', "--version", "1")
        assert "clusterId" not in value
        (request,) = old.requests(ApiKey.METADATA)
        assert (request.api_version, request.header.client_id) == (1, "kipwire")


def test_what_another_version_lacks_is_named(call: Call) -> None:
    with FakeBroker(topics=["orders"], versions={ApiKey.METADATA: range(5)}) as old:
        done = call(old.bootstrap_servers, "Metadata", '{"topics": null}', "-f", "text", "--client-id", "me")
        (request,) = old.requests(ApiKey.METADATA)
    assert (request.api_version, request.header.client_id) == (4, "me")
    assert done.returncode == 0
    assert done.stdout.startswith("// MetadataResponse version 13, which was version 4 on the wire, from 127.0.0.1:")
    assert "kipwire: received without: topics[0].topic_id: version 4 has no such field" in done.stderr
    with FakeBroker(topics=["orders"], versions={ApiKey.FETCH: range(4, 12)}) as old:
        by_id = '{"topics": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}]}'
        done = call(old.bootstrap_servers, "Fetch", by_id)
    assert "kipwire: sent without: topics[0].topic_id: version 11 has no such field" in done.stderr


def test_apis_and_versions_that_the_broker_lacks_are_one_line(call: Call) -> None:
    with FakeBroker(versions={ApiKey.METADATA: range(5)}) as old:
        cases = (
            (("CreateAcls",), "CreateAclsRequest: the peer does not support API key 30"),
            (("Metadata", '{"topics": [{"name": null}]}'), "cannot become version 4: "),
            (("Metadata", "--version", "12"), "the broker closed the connection"),
        )
        for arguments, reason in cases:
            done = call(old.bootstrap_servers, *arguments)
            assert (done.returncode, done.stdout) == (2, "")
            assert reason in done.stderr and len(done.stderr.splitlines()) == 1


def test_the_list_has_both_sides(broker: FakeBroker, call: Call, answer: Callable[..., Any]) -> None:
    rows = {row["name"]: row for row in answer(broker.bootstrap_servers, "--list")}
    assert rows["Metadata"] == {
        "apiKey": 3, "name": "Metadata", "broker": {"min": 0, "max": 13}, "kipwire": {"min": 0, "max": 13}, "used": 13,
    }  # fmt: skip
    assert (rows["CreateAcls"]["broker"], rows["CreateAcls"]["used"]) == (None, None)
    assert len(rows) == len(kafka_messages.REGISTRY.api_versions())
    done = call(broker.bootstrap_servers, "--list", "-f", "text")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["key", "API", "broker", "kipwire", "used"]
    assert ["3", "Metadata", "0", "to", "13", "0", "to", "13", "13"] in [line.split() for line in lines]
    assert ["30", "CreateAcls", "-", "0", "to", "3", "-"] in [line.split() for line in lines]
    with scripted(lambda frame: None, versions={18: range(5), 3: range(20, 22), 999: range(3)}) as newer:
        rows = {row["apiKey"]: row for row in answer(newer, "--list")}
    assert (rows[999]["name"], rows[999]["kipwire"], rows[3]["used"]) == (None, None, None)


def test_a_template_is_edited_and_sent(broker: FakeBroker, call: Call, tmp_path: Path) -> None:
    done = call("--template", "createtopics")
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout.replace('"name": ""', '"name": "bills"', 1).replace('"numPartitions": 0', '"numPartitions": 3')
    text = text.replace('"replicationFactor": 0', '"replicationFactor": 1')
    value = parse(text, "x")
    value["topics"][0] |= {"assignments": [], "configs": []}
    (tmp_path / "request.json").write_text(json.dumps(value))
    assert call(broker.bootstrap_servers, "CreateTopics", "@request.json").returncode == 0
    assert broker.topics() == {"orders": 2, "bills": 3}
    older = call("--template", "Metadata", "--version", "0").stdout
    assert older.startswith("// MetadataRequest, version 0; there are 0 to 13.")


def test_explained_frames_are_those_of_inspect(broker: FakeBroker, call: Call) -> None:
    done = call(broker.bootstrap_servers, "Heartbeat", GROUP, "--explain", "-f", "text")
    assert done.returncode == 1
    request, response = done.stdout.split("\n\n")
    assert request.startswith("HeartbeatRequest v4: ") and "client_id" in request and "'kipwire'" in request
    assert response.startswith("HeartbeatResponse v4: 16 bytes") and "25 UNKNOWN_MEMBER_ID" in response
    value = json.loads(call(broker.bootstrap_servers, "Heartbeat", GROUP, "--explain").stdout)
    assert [value[side]["message"] for side in ("request", "response")] == ["HeartbeatRequest", "HeartbeatResponse"]


def test_frames_of_several_brokers_say_whose_they_are(broker: FakeBroker, call: Call) -> None:
    arguments = (broker.bootstrap_servers, "--to", "all", "ListGroups", "--explain")
    assert call(*arguments, "-f", "text").stdout.startswith(
        f"node 1 at {broker.bootstrap_servers}\nListGroupsRequest v5"
    )
    value = json.loads(call(*arguments).stdout)
    assert (value["node"], value["response"]["message"]) == (1, "ListGroupsResponse")


def test_a_dry_run_sends_nothing(broker: FakeBroker, call: Call) -> None:
    done = call(broker.bootstrap_servers, "Heartbeat", GROUP, "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    data = bytes.fromhex(done.stdout)
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    header, body = kafka_messages.decode_request(data[4:])
    assert (header.client_id, body.VERSION, body.to_json()["groupId"]) == ("kipwire", 4, "g")
    explained = call(broker.bootstrap_servers, "Heartbeat", GROUP, "--dry-run", "--explain", "-f", "text").stdout
    assert explained.startswith("HeartbeatRequest v4: ")
    assert not broker.requests()


def test_a_request_without_a_response_ends_with_0(broker: FakeBroker, call: Call) -> None:
    partition = {"index": 0, "records": [{"value": "tea"}]}
    value = json.dumps({"acks": 0, "topicData": [{"name": "orders", "partitionData": [partition]}]})
    done = call(broker.bootstrap_servers, "Produce", value)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "kipwire: sent; the request has no response\n"
    broker.wait_until(lambda: [one.value for one in broker.records("orders", 0)] == [b"tea"])


def test_records_are_shown_as_functions_for_values_say(broker: FakeBroker, call: Call) -> None:
    records = [{"value": {"base64": "AAAAAAd7fQ=="}}, {"value": "tea"}]
    data = {"index": 0, "records": records}
    produced = json.dumps({"acks": -1, "topicData": [{"name": "orders", "partitionData": [data]}]})
    assert call(broker.bootstrap_servers, "Produce", "-V", 12, produced).returncode == 0
    wanted = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1000}
    fetch = json.dumps({"maxBytes": 1000, "topics": [{"topic": "orders", "partitions": [wanted]}]})
    done = call(broker.bootstrap_servers, "Fetch", "-V", 12, fetch, "--records", "--value", "registry", "-f", "json")
    (found,) = json.loads(done.stdout)["responses"][0]["partitions"]
    first, second = found["records"]
    assert (first["value"], "error" in first) == ({"schema_id": 7, "data": "{}"}, False)
    assert (second["value"], second["error"][:20]) == ("tea", "value: no schema id,")
    refused = call(broker.bootstrap_servers, "Fetch", "--value", "registry")
    assert (refused.returncode, refused.stderr) == (2, "kipwire: --value needs --records\n")


# The right broker.


@pytest.mark.parametrize("target", ["controller", "leader:orders/1", "group:g", "txn:t", "node:1", "all"])
def test_the_right_broker_is_found(target: str, broker: FakeBroker, answer: Callable[..., Any]) -> None:
    value = answer(broker.bootstrap_servers, "--to", target, "DescribeCluster")
    if target == "all":
        assert (value["node"], value["address"]) == (1, broker.bootstrap_servers)
        value = value["response"]
    assert value["clusterId"] == "kipwire-fake-cluster"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("node:7", "the broker does not list node 7; its nodes are 1"),
        ("leader:order/0", "the broker has no topic 'order': 3 UNKNOWN_TOPIC_OR_PARTITION; did you mean orders?"),
        ("leader:orders/2", "the broker has no orders partition 2; orders has 2 partitions"),
    ],
)
def test_a_broker_that_is_not_there_is_one_line(target: str, reason: str, broker: FakeBroker, call: Call) -> None:
    done = call(broker.bootstrap_servers, "--to", target, "DescribeCluster")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"kipwire: {broker.bootstrap_servers}: {reason}\n")
    assert broker.topics() == {"orders": 2}  # asking creates none


NO_TARGETS = (
    *("", "contoller", "leader:orders", "leader:/0", "leader:orders/x", "leader:orders/-1"),
    *("group:", "node:", "node:x", "node:99999999999999", "all:x"),
)


@pytest.mark.parametrize("target", NO_TARGETS)
def test_words_that_name_no_broker_say_which_do(target: str, call: Call) -> None:
    done = call(unused_address(), "--to", target, "DescribeCluster")
    assert done.returncode == 2
    assert f"{target!r} is not a valid target" in done.stderr
    assert "use controller, leader:TOPIC/PARTITION, group:ID, txn:ID, node:N or all" in done.stderr


def test_one_of_all_brokers_without_an_answer_does_not_hide_the_others(call: Call) -> None:
    with FakeBroker(topics=["orders"]) as broker:
        dead = unused_address()
        host, _, port = dead.rpartition(":")
        other, _, other_port = broker.bootstrap_servers.rpartition(":")
        cls = kafka_messages.message("MetadataResponse", 13)
        nodes = [
            {"nodeId": 2, "host": host, "port": int(port), "rack": None},
            {"nodeId": 1, "host": other, "port": int(other_port), "rack": None},
        ]
        value = {
            "throttleTimeMs": 0,
            "brokers": nodes,
            "clusterId": "c",
            "controllerId": 1,
            "topics": [],
            "errorCode": 0,
        }
        body = cls.from_json(value).encode()
        with scripted(lambda frame: framed(frame[4:8] + b"\0" + body)) as address:
            done = call(address, "--to", "all", "ListGroups")
            text = call(address, "--to", "all", "ListGroups", "-f", "text")
    first, second = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, text.returncode) == (2, 2)
    assert (first["node"], first["response"]["groups"]) == (1, [])
    assert (second["node"], second["response"]) == (2, None)
    assert second["error"] == f"{dead}: connection refused; is the broker running on this port?"
    assert done.stderr == f"kipwire: node 2 at {dead}: {second['error']}\n"
    assert f"// ListGroupsResponse version 5, from node 1 at {broker.bootstrap_servers}" in text.stdout


# Faults of brokers.


def framed(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


HOSTILE: dict[str, tuple[Callable[[bytes], bytes | None], str]] = {
    "closed": (lambda frame: None, "the broker closed the connection"),
    "cut short": (lambda frame: framed(frame[4:8] + b"\0\0\0")[:-1], ""),
    "broken body": (
        lambda frame: framed(frame[4:8] + b"\0\0\0"),
        "the response cannot be decoded: HeartbeatResponse v4: .*; --explain shows its bytes",
    ),
    "empty body": (lambda frame: framed(frame[4:8]), "the response cannot be decoded: ResponseHeader v1: .*"),
    "another id": (lambda frame: framed(b"\x7f\x7f\x7f\x7f" + b"\0" * 7), "response without a request: "),
    "huge": (lambda frame: b"\x7f\xff\xff\xff", "the frame size is 2,147,483,647 bytes"),
    "negative": (lambda frame: b"\xff\xff\xff\xff", ""),
    "http": (lambda frame: b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"),
    "empty frame": (lambda frame: framed(b""), ""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_bad_bytes_of_a_broker_are_one_line(name: str, call: Call) -> None:
    say, reason = HOSTILE[name]
    with scripted(say) as address:
        done = call(address, "Heartbeat", "--timeout", "0.3" if name == "cut short" else "20")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith(f"kipwire: {address}: ")
    assert re.search(reason, done.stderr)


def test_a_broken_response_can_be_explained(call: Call) -> None:
    with scripted(HOSTILE["broken body"][0]) as address:
        done = call(address, "Heartbeat", "--explain", "-f", "text")
    assert done.returncode == 2
    assert "HeartbeatResponse v4: 11 bytes" in done.stdout and "error: HeartbeatResponse v4:" in done.stdout
    assert done.stderr.startswith(f"kipwire: {address}: the response cannot be decoded: ")


def test_bytes_after_a_response_are_counted(call: Call) -> None:
    body = HeartbeatResponse().encode() + b"xyz"
    with scripted(lambda frame: framed(frame[4:8] + b"\0" + body)) as address:
        done = call(address, "Heartbeat")
    assert (done.returncode, done.stderr) == (0, f"kipwire: {address}: 3 extra bytes after the response\n")


def test_text_of_a_broker_does_nothing_to_a_terminal(call: Call) -> None:
    cls = kafka_messages.message("CreateTopicsResponse", 7)
    nasty = "\x1b]0;title\x07\nkipwire: all is well\u202e"
    topic = {"name": nasty, "topicId": "AAAAAAAAAAAAAAAAAAAAAA", "errorCode": 36, "errorMessage": nasty,
             "numPartitions": 1, "replicationFactor": 1, "configs": []}  # fmt: skip
    body = cls.from_json({"throttleTimeMs": 0, "topics": [topic]}).encode()
    with scripted(lambda frame: framed(frame[4:8] + b"\0" + body)) as address:
        for format_ in ("text", "json"):
            done = call(address, "CreateTopics", "-f", format_)
            shown = done.stdout + done.stderr
            assert all(one.isprintable() or one == "\n" for one in shown)
            assert len(done.stderr.splitlines()) == 1


def test_nobody_listens_and_nobody_answers(call: Call) -> None:
    dead = unused_address()
    done = call(dead, "Metadata")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"kipwire: {dead}: connection refused; is the broker running on this port?\n"
    with FakeBroker() as broker:
        broker.delay(ApiKey.METADATA, seconds=3)
        done = call(broker.bootstrap_servers, "Metadata", "--timeout", "0.2")
    assert done.returncode == 2
    assert done.stderr.startswith(f"kipwire: {broker.bootstrap_servers}: timed out waiting for the response to ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "the broker and the API are missing: kipwire call localhost:9092 Metadata"),
        (["localhost:9092"], "the API is missing: kipwire call localhost:9092 Metadata; --list shows"),
        (["localhost:9092", "Metadata", "--list"], "--list cannot be used with an API; remove Metadata"),
        (
            ["localhost:9092", "--template", "DeleteTopics"],
            "--template cannot be used with a broker or --list: kipwire call --template DeleteTopics",
        ),
        (["localhost:9092", "Metadta"], "kafka_messages has no API named 'Metadta'; did you mean Metadata?"),
        (["--template", "Metadta"], "did you mean Metadata?"),
        (["--template", "Metadata", "--version", "99"], "unknown version 99 of MetadataRequest"),
        (["a b", "Metadata"], "is not a valid address"),
        (["localhost:99999", "Metadata"], "is not a valid address"),
        (["localhost:9092", "Metadata", "{}", "--package", "nothing_here"], "nothing_here: cannot be imported"),
        (["localhost:9092", "Metadata", "{}", "--sasl", "GSSAPI"], "'GSSAPI' is not one of 'PLAIN'"),
        (["localhost:9092", "Metadata", "{}", "--timeout", "0"], "'--timeout'"),
        (["localhost:9092", "Metadata", "{}", "--version", "-1"], "'--version'"),
    ],
)
def test_a_wrong_call_says_what_would_be_right(arguments: list[str], reason: str, call: Call) -> None:
    done = call(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr and "Traceback" not in done.stderr


def test_options_come_from_the_environment(broker: FakeBroker, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIPWIRE_CLIENT_ID", "of-environment")
    assert call(broker.bootstrap_servers, "Metadata").returncode == 0
    (request,) = broker.requests(ApiKey.METADATA)
    assert request.header.client_id == "of-environment"
    monkeypatch.setenv("KIPWIRE_SASL", "PLAIN")
    monkeypatch.setenv("KIPWIRE_USER", "alice")
    done = call(broker.bootstrap_servers, "Metadata")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the password of alice is missing" in done.stderr


# A protocol of one's own, shells, and installed packages.


@pytest.fixture
def own_package(tmp_path: Path) -> Iterator[str]:
    """A package with one API, which no broker says that it serves."""
    field = {"name": "Word", "type": "string", "versions": "0+", "about": "What comes back."}
    code = {"name": "ErrorCode", "type": "int16", "versions": "0+"}
    (tmp_path / "specs").mkdir()
    for type_, fields in (("request", [field]), ("response", [field, code])):
        name = f"Echo{type_.capitalize()}"
        versions = {"validVersions": "0-1", "flexibleVersions": "1+"}
        spec = {"apiKey": 1000, "type": type_, "name": name, **versions, "fields": fields}
        (tmp_path / "specs" / f"{name}.json").write_text(json.dumps(spec))
    name = f"echo_{uuid.uuid4().hex}"
    with generated(tmp_path / "specs", name, tmp_path):
        yield name


def test_a_protocol_of_ones_own_is_called(own_package: str, call: Call) -> None:
    heard = []

    def say(frame: bytes) -> bytes:
        heard.append(frame)
        return framed(frame[4:8] + b"\0" + b"\x03hi" + b"\0\x07" + b"\0")

    with scripted(say) as address:
        done = call(address, "echo", '{"word": "hi"}', "--package", own_package)
    assert json.loads(done.stdout) == {"word": "hi", "errorCode": 7}
    assert (done.returncode, done.stderr) == (1, "kipwire: errorCode: 7\n")
    (frame,) = heard
    assert frame[:4] == b"\x03\xe8\0\x01"
    assert "// What comes back. (string)" in call("--template", "Echo", "-p", own_package).stdout


def completed(words: str, **variables: str) -> list[str]:
    """Return the completions that a shell offers for the last word."""
    environment = {**os.environ, "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1), **variables}
    done = subprocess.run(
        [sys.executable, "-m", "kipwire"],
        env={**environment, "_KIPWIRE_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_shells_complete_the_names_of_apis() -> None:
    assert completed("kipwire call localhost:9092 meta") == ["Metadata"]
    assert "DescribeGroups" in completed("kipwire call --template Describe")
    assert completed("kipwire call localhost:9092 Metadata --sas") == ["--sasl"]


def test_help_and_completion_import_nothing_that_talks_to_brokers() -> None:
    code = (
        "import sys\nsys.argv = ['kipwire', 'call', '--help']\nfrom kipwire.console.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "slow = ('asyncio', 'ssl', 'kipwire.aio', 'kipwire.records', 'kipwire.console.call.calling')\n"
        "sys.stderr.write(' '.join(one for one in slow if one in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    assert "--dry-run" in done.stdout


def test_every_error_code_has_its_name_on_standard_error(broker: FakeBroker, call: Call) -> None:
    for code in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NOT_COORDINATOR):
        broker.fail(ApiKey.HEARTBEAT, code)
        done = call(broker.bootstrap_servers, "Heartbeat", GROUP)
        assert (done.returncode, done.stderr) == (1, f"kipwire: errorCode: {int(code)} {code.name}\n")

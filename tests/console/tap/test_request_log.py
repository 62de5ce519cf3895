"""`kipwire tap --upgrade-to` on logs that real brokers wrote: of librdkafka as an old and as a new client."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kipwire.traffic.request_log import is_log, requests_in
from kipwire.traffic.unread import Reading
from tests.console.tap.conftest import Tap
from tests.support.places import DATA

LOG, NEWER = (DATA / "request_logs" / f"kafka-{release}.log" for release in ("3.9.1", "4.3.1"))
Objects = Callable[..., list[dict[str, Any]]]


def test_the_requests_that_a_release_does_not_serve_are_those_that_the_broker_marked(objects: Objects) -> None:
    marked: Counter[tuple[int, int]] = Counter()
    for line in LOG.read_text(encoding="utf-8").splitlines():
        header = json.JSONDecoder().raw_decode(line.partition("Completed request:")[2])[0]["requestHeader"]
        if header.get("requestApiVersionDeprecated"):
            marked[header["requestApiKey"], header["requestApiVersion"]] += 1
    assert sum(marked.values()) == 10
    del marked[11, 0]  # JoinGroup, which 4.0.1 serves again (KAFKA-19444)
    (found,) = objects(LOG, "--upgrade-to", "4.0")
    assert {(one["api_key"], one["api_version"]): one["requests"] for one in found["unserved"]} == marked
    assert {(one["client_id"], *one["hosts"]) for one in found["unserved"]} == {('old "one"', "127.0.0.1")}
    assert (found["requests"], found["clients"], found["read"]["requests"], found["unread"]) == (35, 3, 35, [])


def test_a_log_of_info_has_what_breaks_alone(tap: Tap, tmp_path: Path) -> None:
    lines = LOG.read_bytes().splitlines(keepends=True)
    (tmp_path / "info.log").write_bytes(b"".join(line for line in lines if b"] INFO " in line))
    done = tap("info.log", "--upgrade-to", "4.0")
    assert (done.returncode, "10 requests of 1 client were read" in done.stdout) == (1, True)
    assert tap("info.log", "--upgrade-to", "4.0", "--client", "rd*").returncode == 2


def test_other_layouts_and_releases_are_read(objects: Objects) -> None:
    (found,) = objects(NEWER, "--upgrade-to", "4.4")
    assert (found["requests"], found["unserved"], found["unread"]) == (7, [], [])
    with NEWER.open("rb") as stream:
        read = list(requests_in(stream, Reading()))
    assert {one.host for one in read} == {"127.0.0.1"}
    assert {one.use.software for one in read} >= {None, ("kipwire", "0.1.0")}


@pytest.mark.parametrize(
    ("connection", "host"),
    [
        ("broker-1.example:9092-client-7:50000-3", "client-7"),
        ("0:0:0:0:0:0:0:1:9092-0:0:0:0:0:0:0:1:50000-1-0", "0:0:0:0:0:0:0:1"),
        ("elsewhere", ""),
    ],
)
def test_the_clients_host_is_found(connection: str, host: str, tmp_path: Path) -> None:
    entry = {"requestHeader": {"requestApiKey": 3, "requestApiVersion": 0}, "connection": connection}
    (tmp_path / "x.log").write_text(f"Completed request:{json.dumps(entry)} (kafka.request.logger)\n")
    with (tmp_path / "x.log").open("rb") as stream:
        (found,) = requests_in(stream, Reading())
    assert (found.host, found.use.client_id) == (host, None)


def test_what_is_no_request_is_counted(objects: Objects, tap: Tap, tmp_path: Path) -> None:
    whole = LOG.read_bytes().splitlines(keepends=True)[-1]
    bad = [
        b"[2026] WARN else (kafka.server)\n",
        whole[:200] + b"\n",
        b"Completed request:RequestHeader(apiKey=FETCH)\n",
    ]
    bad += [
        b'Completed request:{"requestHeader":{"requestApiKey":"1","requestApiVersion":0}}\n',
        b"Completed request:1\n",
    ]
    bad += [b"Completed request:" + b"[" * 100_000 + b"\n", b'Completed request:{"requestHeader":[]}\n']
    (tmp_path / "mixed.log").write_bytes(b"".join([*bad, whole]))
    (found,) = objects("mixed.log", "--upgrade-to", "4.4")
    assert found["requests"] == 1
    assert {one["reason"]: one["times"] for one in found["unread"]} == {"no request": 1, "no request in JSON": 6}
    (tmp_path / "empty.log").write_bytes(b"")
    assert tap("empty.log", "--upgrade-to", "4.4").returncode == 2
    for arguments in ((LOG,), (LOG, "--summary"), (LOG, "--summary", "--upgrade-to", "4.4")):
        done = tap(*arguments)
        assert (
            done.returncode,
            done.stderr.endswith("; --upgrade-to alone also takes the request log of a broker\n"),
        ) == (
            2,
            True,
        )
    assert not is_log(b"\xff\xfe") or is_log(b"text")
    assert not is_log(b"ab\0c")

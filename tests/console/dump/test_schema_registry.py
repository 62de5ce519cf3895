"""Values of a schema registry: ids split off, and contents decoded by the schemas that a server on loopback has."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from kipwire.records import Record, write_batch
from tests.console.dump.conftest import Dump
from tests.console.dump.test_dump_logs import log
from tests.support.places import DATA

WRITTEN: dict[str, Any] = json.loads((DATA / "schema-registry.json").read_text(encoding="utf-8"))
"""Values that serializers of confluent-kafka wrote, and the schemas that they registered."""
ORDER = {
    "id": 7,
    "customer": {"id": 1, "name": "Ada"},
    "price": "12.50",
    "at": "2026-01-02 03:04:05+00:00",
    "note": "fragile",
    "raw": {"base64": "/wA="},
}
PROTOBUF = {"id": "7", "customer": {"name": "Ada"}, "at": "2026-01-02T03:04:05Z"}
Objects = Callable[..., list[dict[str, Any]]]


class Registry:
    """A registry on loopback that has the schemas of `WRITTEN`, and those that a test adds."""

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = dict(WRITTEN["schemas"])
        self.subjects: dict[str, list[str]] = dict(WRITTEN["subjects"])
        self.asked: list[str] = []
        self.logins: set[str | None] = set()
        self.login: str | None = None

    def answer(self, url: str) -> tuple[int, Any]:
        parts = urlsplit(url)
        is_serialized = parse_qs(parts.query).get("format") == ["serialized"]
        match [unquote(one) for one in parts.path.split("/")[1:]]:
            case ["schemas", "ids", number] if number in self.schemas:
                found = self.schemas[number]
            case ["schemas", "guids", "8e34e8ef-e0cc-458b-a5f5-e1de6dfd17f9"]:
                found = self.schemas["2"]
            case ["subjects", subject, "versions", number] if int(number) <= len(self.subjects.get(subject, [])):
                text = self.subjects[subject][int(number) - 1]
                found = next(one for one in self.schemas.values() if one["schema"] == text)
            case _:
                return 404, {"error_code": 40403, "message": "Schema not found"}
        if isinstance(found, dict) and found.get("schemaType") == "PROTOBUF" and not is_serialized:
            return 200, {**found, "schema": 'syntax = "proto3";'}
        return 200, found


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Registry, str]]:
    """A registry and its URL."""
    for name in ("KIPWIRE_REGISTRY", "KIPWIRE_REGISTRY_AUTH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "*")
    state = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            state.logins.add(self.headers.get("Authorization"))
            if state.login is not None and self.headers.get("Authorization") != state.login:
                status, answer = 401, {"error_code": 401, "message": "Unauthorized"}
            else:
                status, answer = state.answer(self.path)
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *values: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield state, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def shown(dump: Dump, tmp_path: Path) -> Objects:
    """Dumps records with these values for the lines of records; options come first."""

    def call(*arguments: Any, values: list[bytes], headers: Any = (), key: bytes | None = None) -> list[dict[str, Any]]:
        records = [
            Record(offset=offset, key=key, value=value, headers=list(headers)) for offset, value in enumerate(values)
        ]
        done = dump(log(tmp_path / "orders-0", write_batch(records)), "-r", "-f", "json", *arguments)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert done.returncode == any("error" in line for line in lines), done.stderr
        return lines[1:]

    return call


def value(name: str) -> bytes:
    return bytes.fromhex(WRITTEN[name])


def test_ids_are_split_off_without_a_registry(shown: Objects) -> None:
    first, second, third = shown(
        "--value", "registry", "--record-key", "registry", values=[value("json"), b"{}", b"\0\0"], key=b"\0\0\0\1\0k"
    )
    assert first["value"] == {"schema_id": 3, "data": '{"id":7,"ok":true}'}
    assert (first["key"], base64.b64decode(first["key_bytes"])) == ({"schema_id": 256, "data": "k"}, b"\0\0\0\1\0k")
    assert second["error"] == "value: no schema id, which is 5 bytes that begin with 0: the first byte is 123, not 0"
    assert (second["value"], third["error"][-14:]) == ("{}", "it has 2 bytes")
    found = shown("--value", "registry-protobuf", values=[value("protobuf"), value("protobuf_nested"), b"\0\0\0\0\1"])
    assert [one["value"]["message_indexes"] for one in found[:2]] == [[1], [1, 1]]
    assert "cut off" in found[2]["error"]
    header = [(name, bytes.fromhex(data)) for name, data in WRITTEN["header"]]
    (by_header,) = shown("--value", "registry", values=[value("avro_by_header")], headers=header)
    assert by_header["value"]["schema_guid"] == "8e34e8ef-e0cc-458b-a5f5-e1de6dfd17f9"


def test_values_of_confluents_serializers_are_decoded_by_their_schemas(
    shown: Objects, registry: tuple[Registry, str]
) -> None:
    state, url = registry
    names = ["avro", "json", "protobuf", "protobuf_nested", "avro"]
    found = shown("--value", "registry", "--registry", url, values=[value(name) for name in names])
    assert [one["value"] for one in found] == [
        {"schema_id": 2, "data": ORDER},
        {"schema_id": 3, "data": {"id": 7, "ok": True}},
        {"schema_id": 5, "message": "shop.Order", "data": PROTOBUF},
        {"schema_id": 5, "message": "shop.Order.Line", "data": {"sku": "x-1", "count": 2}},
        {"schema_id": 2, "data": ORDER},
    ]
    assert len(state.asked) == len(set(state.asked)) == 6  # each schema and reference once
    header = [(name, bytes.fromhex(data)) for name, data in WRITTEN["header"]]
    (by_header,) = shown("--value", "registry", "--registry", url, values=[value("avro_by_header")], headers=header)
    assert by_header["value"]["data"] == ORDER


def test_what_cannot_be_decoded_is_an_error_of_its_record_and_others_go_on(
    shown: Objects, registry: tuple[Registry, str]
) -> None:
    state, url = registry
    node = {"type": "record", "name": "N", "fields": [{"name": "n", "type": ["null", "N"]}]}
    lost = [{"name": "shop.Gone", "subject": "gone", "version": 1}]
    state.schemas |= {
        "11": {"schema": json.dumps(node)},
        "12": {"schema": "no JSON"},
        "13": {"schema": '"string"', "references": lost},
        "14": {"schema": "x", "schemaType": "THRIFT"},
        "15": {"schema": '{"type": "array", "items": "null"}'},
        "16": {"schema": "no base64", "schemaType": "PROTOBUF"},
        "17": b"<html>",
        "18": [1],
    }
    state.schemas["19"] = {"schema": '"string"', "references": [{"name": "a", "subject": "loop", "version": 1}]}
    state.subjects["loop"] = ['"string"']  # found by its text: the schema with id 13

    def by(number: int, rest: bytes = b"") -> bytes:
        return b"\0" + number.to_bytes(4, "big") + rest

    values = {
        by(99): "schema id 99: %s answers HTTP 404: Schema not found",
        by(2, b"\xff"): "schema id 2: the value does not fit its schema: ",
        value("avro") + b"\0": "schema id 2: 1 trailing byte after the value",
        by(3, b"{"): "schema id 3: the value does not fit its schema: ",
        by(3, b"NaN"): "schema id 3: the value does not fit its schema: JSON has no NaN",
        by(3, b"[" * 100_000): "schema id 3: the value does not fit its schema: it is nested too deeply",
        by(5, b"\x02\x0e"): "schema id 5: the schema has no message at indexes [7]",
        by(5, b"\0\x0a\x05"): "schema id 5: the value does not fit its schema: ",
        by(11, b"\2" * 100_000): "schema id 11: the value does not fit its schema: it is nested too deeply",
        by(12): "schema id 12: the schema cannot be used: ",
        by(13): "schema id 13: its reference to 'shop.Gone': %s answers HTTP 404: Schema not found",
        by(14): "schema id 14: its type is 'THRIFT'; AVRO, JSON and PROTOBUF are decoded",
        by(15, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x0f\0"): "schema id 15: the value does not fit its schema: ",
        by(16): "schema id 16: the registry does not give this protobuf schema in its serialized form",
        by(17): "schema id 17: %s answers with no JSON; is it a schema registry?",
        by(18): "schema id 18: the registry answers a list, which is no schema",
        by(19): "schema id 19: its reference to 'shop.Gone': ",  # through the schema that it refers to
    }
    found = shown("--value", "registry", "--registry", url, values=[*values, value("json")])
    for line, reason in zip(found[:-1], values.values(), strict=True):
        assert line["error"].startswith("value: " + reason.replace("%s", url)), line["error"]
        assert len(line["error"]) < 700
    assert found[-1]["value"]["data"] == {"id": 7, "ok": True}


def test_a_registry_that_is_gone_is_said_with_each_record(shown: Objects, registry: tuple[Registry, str]) -> None:
    _, url = registry
    gone = "http://127.0.0.1:1"
    found = shown("--value", "registry", "--registry", gone, values=[value("json"), value("avro")])
    assert [one["error"] for one in found] == [
        f"value: schema id {number}: {gone}: Connection refused" for number in (3, 2)
    ]
    (one,) = shown("--value", "registry", "--registry", f"{gone},{url}", values=[value("json")])
    assert one["value"]["data"] == {"id": 7, "ok": True}


def test_a_login_comes_from_the_environment_or_a_file_and_is_never_shown(
    shown: Objects, registry: tuple[Registry, str], dump: Dump, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, url = registry
    state.login = f"Basic {base64.b64encode(b'ada:s3cret').decode()}"
    (refused,) = shown("--value", "registry", "--registry", url, values=[value("json")])
    assert refused["error"].endswith(
        "HTTP 401: Unauthorized; user:password may be in KIPWIRE_REGISTRY_AUTH, or in a settings file for --registry"
    )
    settings = tmp_path / "registry.properties"
    settings.write_text(f"schema.registry.url={url}\nbasic.auth.credentials.source=USER_INFO\n")
    with settings.open("a") as file:
        file.write("schema.registry.basic.auth.user.info=ada:s3cret\n")
    (by_file,) = shown("--value", "registry", "--registry", settings, values=[value("json")])
    assert by_file["value"]["schema_id"] == 3
    monkeypatch.setenv("KIPWIRE_REGISTRY", url)
    monkeypatch.setenv("KIPWIRE_REGISTRY_AUTH", "ada:wr0ng")
    (wrong,) = shown("--value", "registry", values=[value("json")])
    assert "HTTP 401" in wrong["error"] and "wr0ng" not in wrong["error"]
    monkeypatch.setenv("KIPWIRE_REGISTRY_AUTH", "s3cret")
    for where, reason in {
        url: "KIPWIRE_REGISTRY_AUTH must be user:password",
        "http://ada:s3cret@registry": "--registry has a user in its URL; put user:password into the variable "
        "KIPWIRE_REGISTRY_AUTH",
        "ftp://registry": "--registry: 'ftp://registry' is not a URL such as http://registry:8081",
        "http://[": "--registry: 'http://[' is not a URL such as http://registry:8081",
        tmp_path / "none": f"{tmp_path / 'none'}: No such file or directory",
    }.items():
        done = dump(tmp_path / "orders-0", "-r", "--value", "registry", "--registry", where)
        assert (done.returncode, done.stderr) == (2, f"kipwire: {reason}\n")


def test_a_registry_without_a_use_is_refused(dump: Dump, tmp_path: Path) -> None:
    path = log(tmp_path / "orders-0", b"")
    for arguments, reason in (
        (["--registry", "http://x"], "--registry needs --records"),
        (["-r", "--registry", "http://x"], "--registry needs --value registry or --record-key registry"),
        (["-r", "--value", "regsitry"], "--value 'regsitry' is not module:function, such as decoders:order, nor "),
    ):
        done = dump(path, *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith(f"kipwire: {reason}")
    assert done.stderr.endswith("registry; did you mean registry?\n")

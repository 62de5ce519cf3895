"""A package whose specs say the header of each version (KIP-1313) works as every other: frames, both sides, tools.

All bytes here are written by hand, from the specs in tests/data/cases/headers-of-trunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest

from kipgen.data.document import resolve_folder
from kipwire import EncodeError, Message, UnsupportedVersionError, build
from kipwire.aio import connect, serve
from kipwire.connection import ClientConnection, Request, Response, ServerConnection, versions_answer
from kipwire.console.inspect.tree import inspect_request
from kipwire.projection import VersionedProjection
from tests.support.places import DATA
from tests.support.resolved_reader import Reader, forms_of
from tests.support.spec_package import generated
from tests.support.subjects.peers import run

SPECS = DATA / "cases" / "headers-of-trunk"
PROCESS = UUID("00112233-4455-6677-8899-aabbccddeeff")
NOBODY = "00000000000000000000000000000000"


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with generated(SPECS, "lanes_with_headers", tmp_path_factory.mktemp("lanes")) as package:
        yield package


REQUESTS = [
    # API key, version; the values of the body; the bytes after the client id, a `/` before the body.
    (47, 0, {"group_id": "g", "lanes": [1]}, "/ 0001 67 00000001 00000001"),
    (47, 1, {"group_id": "g", "lanes": [1]}, f"{NOBODY} 00 / 02 67 02 00000001 00"),
    (48, 2, {"limit": 5}, "/ 00000005"),
    (48, 3, {"limit": 5}, "00 / 00000005 00"),
    (48, 4, {"limit": 5}, f"{NOBODY} 00 / 00000005 00"),
    (18, 2, {}, "/"),
    (18, 3, {"client_software_name": "k", "client_software_version": "1"}, "00 / 02 6b 02 31 00"),
]
HEADERS = {(47, 0): 1, (47, 1): 3, (48, 2): 1, (48, 3): 2, (48, 4): 3, (18, 2): 1, (18, 3): 2}


@pytest.mark.parametrize(("key", "version", "values", "rest"), REQUESTS)
def test_a_request_has_the_header_of_its_spec(
    key: int, version: int, values: dict[str, Any], rest: str, lanes: ModuleType
) -> None:
    body = lanes.request(key, version)(**values)
    frame = bytes.fromhex(f"{key:04x} {version:04x} 00000007 0002 6d65" + rest.replace("/", ""))
    assert (body.HEADER_VERSION, lanes.request_header_version(key, version)) == (HEADERS[key, version],) * 2
    assert lanes.encode_request(body, 7, "me") == frame
    header, found = lanes.decode_request(frame)
    assert (header.VERSION, header.client_id, found) == (HEADERS[key, version], "me", body)
    assert inspect_request(lanes.REGISTRY, frame).error is None


@pytest.mark.parametrize(
    ("key", "version", "values", "content"),
    [
        (47, 0, {"error_code": 3}, "00000007 0003"),
        (47, 1, {"error_code": 3}, "00000007 00 0003 00"),
        (48, 2, {"lanes": [1]}, "00000007 00000001 00000001"),
        (48, 4, {"lanes": [1]}, "00000007 00 02 00000001 00"),
        (18, 3, {}, "00000007 0000 01 00000000 00"),  # flexible, with header 0 (KIP-511)
    ],
)
def test_a_response_has_the_header_of_its_spec(
    key: int, version: int, values: dict[str, Any], content: str, lanes: ModuleType
) -> None:
    body, frame = lanes.response(key, version)(**values), bytes.fromhex(content)
    assert lanes.response_header_version(key, version) == body.HEADER_VERSION
    assert lanes.encode_response(body, 7) == frame
    assert lanes.decode_response(frame, key, version).body == body


def test_a_whole_header_is_given_with_the_fields_that_only_it_has(lanes: ModuleType) -> None:
    body = lanes.request(47, 1)(group_id="g")
    header = lanes.message("RequestHeader", 3)(
        request_api_key=47, request_api_version=1, correlation_id=7, client_id=None, client_instance_id=PROCESS
    )
    frame = lanes.encode_request(body, header=header)
    assert frame == bytes.fromhex("002f 0001 00000007 ffff 00112233445566778899aabbccddeeff 00 02 67 01 00")
    assert lanes.decode_request(frame).header.client_instance_id == PROCESS
    older = lanes.message("RequestHeader", 2)(request_api_key=47, request_api_version=1, correlation_id=7)
    with pytest.raises(EncodeError) as caught:
        lanes.encode_request(body, header=older)
    due = "RequestHeader v2: message: cannot precede LaneDeleteRequest v1, which needs RequestHeader v3"
    assert str(caught.value) == due
    with pytest.raises(UnsupportedVersionError) as unknown:
        lanes.message("RequestHeader", 4)
    assert str(unknown.value) == "unknown version 4 of RequestHeader in lanes_with_headers; known versions are 0 to 3"


def test_an_unknown_version_of_a_message_has_no_header(lanes: ModuleType) -> None:
    for version in (1, 5):
        with pytest.raises(UnsupportedVersionError, match=f"^unknown version {version} of LaneListRequest"):
            lanes.request_header_version(48, version)


def test_both_sides_of_a_connection_read_and_change_frames_with_the_header(lanes: ModuleType) -> None:
    client, server = ClientConnection(lanes.REGISTRY, "me"), ServerConnection(lanes.REGISTRY)
    server.receive_data(client.send(lanes.request(47, 1)(group_id="g", lanes=[1])))
    header = lanes.message("RequestHeader", 3)(
        request_api_key=48, request_api_version=4, correlation_id=9, client_id="you", client_instance_id=PROCESS
    )
    server.receive_data(client.send_frame(lanes.encode_request(lanes.request(48, 4)(limit=5), header=header)))
    first, second = server.events()
    assert isinstance(first, Request) and isinstance(second, Request)
    assert (first.client_id, first.header.VERSION, second.client_id) == ("me", 3, "you")
    start = bytes.fromhex(f"002f 0001 00000000 0002 6d65 {NOBODY} 00")
    assert first.raw == start + bytes.fromhex("02 67 02 00000001 00")
    groups = VersionedProjection(lanes.REGISTRY, "LaneDeleteRequest", "group_id")
    assert first.project(groups) == ("g",)
    assert first.replaced(groups, ("hh",)) == start + bytes.fromhex("03 6868 02 00000001 00")
    assert first.renamed("groupId", str.upper) == start + bytes.fromhex("02 47 02 00000001 00")
    changed = Request(lanes.REGISTRY, second.with_body(lanes.request(48, 2)(limit=6)))
    assert changed.header == second.header  # the id of the process is kept
    assert changed.body == lanes.request(48, 4)(limit=6)
    client.receive_data(server.respond(first, lanes.response(47, 1)(error_code=3)))
    client.receive_data(server.respond(second, lanes.response(48, 4)(lanes=[8])))
    answers = [one.body for one in client.events() if isinstance(one, Response)]
    assert answers == [lanes.response(47, 1)(error_code=3), lanes.response(48, 4)(lanes=[8])]


def test_connections_over_asyncio_agree_on_the_version_and_so_on_the_header(lanes: ModuleType) -> None:
    seen: list[tuple[int, int]] = []

    async def handle(request: Request) -> Message:
        if request.api_key == 18:
            return versions_answer(lanes.REGISTRY, request.api_version, {18: range(4), 47: range(2), 48: range(2, 4)})
        seen.append((request.api_key, request.header.VERSION))
        assert request.client_id == "me"
        body: Any = request.body
        values = {"error_code": len(body.lanes)} if request.api_key == 47 else {"lanes": [7]}
        response: type[Message] = lanes.response(request.api_key, request.api_version)
        return build(response, values)

    async def work() -> None:
        async with (
            serve(handle, registry=lanes.REGISTRY) as server,
            connect(server.address, client_id="me", registry=lanes.REGISTRY) as connection,
        ):
            assert (await connection.request(lanes.request(47, 1)(lanes=[1, 2]))).error_code == 2
            assert (await connection.request(lanes.request(47, 1)(lanes=[1]), version=0)).error_code == 1
            assert (await connection.request(lanes.request(48, 4)(limit=5))).lanes == [7]  # which the server lacks
            header = lanes.message("RequestHeader", 3)(
                request_api_key=47, request_api_version=1, correlation_id=5, client_id="me", client_instance_id=PROCESS
            )
            frame = lanes.encode_request(lanes.request(47, 1)(lanes=[1]), header=header)
            assert await connection.exchange(frame) == bytes.fromhex("00000005 00 0001 00")

    run(work())
    assert seen == [(47, 3), (47, 1), (48, 2), (47, 3)]


@pytest.mark.parametrize(("key", "version", "values", "rest"), REQUESTS)
def test_resolved_specs_alone_read_the_header_and_the_body(
    key: int, version: int, values: dict[str, Any], rest: str
) -> None:
    document = resolve_folder(SPECS, "lanes").document
    assert document is not None
    name = next(one["name"] for one in document["messages"] if one["type"] == "request" and one.get("apiKey") == key)
    form = forms_of(document)[name, version]
    header, body = (bytes.fromhex(part) for part in rest.split("/"))
    found = Reader(
        forms_of({"messages": [document["headers"]["request"]]})["RequestHeader", form["headerVersion"]],
        bytes.fromhex(f"{key:04x} {version:04x} 00000007 0002 6d65") + header,
    ).message()
    assert (found["requestApiKey"], found["clientId"]) == (key, "me")
    assert ("clientInstanceId" in found) == (form["headerVersion"] == 3)
    assert [*Reader(form, body).message().values()] == [*values.values()]

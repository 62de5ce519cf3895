"""Typed handlers answer requests of any version, and tell a client why there is no answer, with packages of its own.

The packages are one protocol before and after a new version, as two peers have it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kafka_messages
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kipgen.commands.new_command import negotiation_specs
from kipwire import UnsupportedVersionError
from kipwire.aio import (
    Closed,
    ClosedByHandler,
    Exchange,
    Failure,
    FilterError,
    ProtocolFailure,
    Refused,
    connect,
    on,
    serve,
)
from kipwire.aio.filters import Answering, Connected
from kipwire.connection import Request
from kipwire.connection.framing import add_size
from kipwire.connection.negotiation import versions_key
from kipwire.proxy import on as on_of_proxy
from tests.support.places import ROOT
from tests.support.spec_package import importable, write_package
from tests.support.subjects.peers import peer, run

KEY = 100
"""The API key of ApiVersions."""


def pair(name: str, key: int, versions: str, *, has_code: bool) -> dict[str, str]:
    """Return the specs of a request and its response; version 1 has a field more in both."""
    fields: list[dict[str, Any]] = [
        {"name": "Key", "type": "string", "versions": "0+"},
        {"name": "Region", "type": "string", "versions": "1+", "ignorable": True},
    ]
    code = [{"name": "ErrorCode", "type": "int16", "versions": "0+"}] if has_code else []
    head = {"apiKey": key, "validVersions": versions, "flexibleVersions": "0+"}
    request = {**head, "type": "request", "name": f"{name}Request", "fields": fields}
    response = {**head, "type": "response", "name": f"{name}Response", "fields": [*code, *fields]}
    return {f"{name}{one['type'].capitalize()}.json": json.dumps(one) for one in (request, response)}  # type: ignore[attr-defined]


def package(folder: Path, name: str, versions: str, *, agrees: bool, more: bool = False) -> Any:
    """Make a package of Get, with a place for error codes, and Set, without one."""
    specs = {**pair("Get", 1, versions, has_code=True), **pair("Set", 2, versions, has_code=False)}
    if more:
        specs |= pair("Drop", 3, "0", has_code=True)
    if agrees:
        specs |= negotiation_specs(KEY)
    for file, text in specs.items():
        path = folder / f"specs_{name}" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    write_package(folder / f"specs_{name}", folder / name)
    with importable(folder):
        found = import_module(name)
        newest = int(versions[-1])
        classes = {cls.NAME: cls for key in (1, 2) for cls in (found.request(key, newest), found.response(key, newest))}
    return SimpleNamespace(REGISTRY=found.REGISTRY, module=found, **classes)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("handlers")
    with importable(folder):
        yield SimpleNamespace(
            old=package(folder, "cache_of_yesterday", "0", agrees=True),
            new=package(folder, "cache_of_today", "0-1", agrees=True, more=True),
            mute_old=package(folder, "mute_cache_of_yesterday", "0", agrees=False),
            mute_new=package(folder, "mute_cache_of_today", "0-1", agrees=False, more=True),
        )


def handlers(of: Any) -> tuple[Answering, Answering]:
    """Make handlers that give back what was asked for."""

    async def get(request: Any, exchange: Exchange) -> Any:
        return of.GetResponse(key=request.key)

    def set_(request: Any, exchange: Exchange) -> Any:
        if request.key == "raise":
            raise KeyError("x")
        return of.SetResponse(key=request.key)

    return on(of.GetRequest)(get), on(of.SetRequest)(set_)


def test_peers_of_two_versions_agree_and_convert(made: Any) -> None:
    async def work() -> None:
        for server_of, client_of in ((made.old, made.new), (made.new, made.old)):
            filters = handlers(server_of)
            async with (
                serve(filters, partial=True) as server,
                connect(server.address, registry=client_of.REGISTRY) as client,
            ):
                newest = server_of.GetRequest.VERSION + 1
                assert client.versions == {KEY: range(1), 1: range(newest), 2: range(newest)}
                answer = await client.request(client_of.GetRequest(key="k"))
                assert type(answer) is client_of.GetResponse
                assert answer == client_of.GetResponse(key="k")

    run(work())


def test_a_proxy_and_a_server_mark_functions_in_one_sense() -> None:
    assert on is on_of_proxy


def test_the_key_of_versions_may_be_any_and_the_form_must_be_kafkas(made: Any, tmp_path: Path) -> None:
    assert versions_key(kafka_messages.REGISTRY) == 18
    assert versions_key(made.old.REGISTRY) == KEY
    assert versions_key(made.mute_old.REGISTRY) is None
    specs = pair("ApiVersions", 18, "0", has_code=True)
    (tmp_path / "specs").mkdir()
    for file, text in specs.items():
        (tmp_path / "specs" / file).write_text(text)
    write_package(tmp_path / "specs", tmp_path / "versions_of_another_form")
    with importable(tmp_path):
        assert versions_key(import_module("versions_of_another_form").REGISTRY) is None


def fault_unknown_version(made: Any) -> tuple[Any, Any]:
    """Send GetRequest v1 to a server that has v0, in packages without ApiVersions."""
    return made.mute_old, made.mute_new.GetRequest(key="k")


def fault_unserved_version(made: Any) -> tuple[Any, Any]:
    """Send GetRequest v1 to a server whose package has it, but whose handler is written for v0."""
    older = SimpleNamespace(**vars(made.mute_new))
    older.GetRequest, older.GetResponse = (getattr(made.mute_new.module, one)(1, 0) for one in ("request", "response"))
    older.SetRequest, older.SetResponse = (getattr(made.mute_new.module, one)(2, 0) for one in ("request", "response"))
    return older, made.mute_new.GetRequest(key="k")


def fault_unknown_api(made: Any) -> tuple[Any, Any]:
    """Send DropRequest to a server that lacks it, in packages with ApiVersions."""
    return made.old, made.new.module.request(3, 0)(key="k")


def fault_unknown_api_unasked(made: Any) -> tuple[Any, Any]:
    """Send DropRequest to a server that lacks it, in packages without ApiVersions."""
    return made.mute_old, made.mute_new.module.request(3, 0)(key="k")


def fault_raises(made: Any) -> tuple[Any, Any]:
    """Let the handler of Get fail, whose response has ErrorCode."""
    broken = SimpleNamespace(**vars(made.new))
    broken.GetResponse = lambda key: 1 / 0
    return broken, made.new.GetRequest(key="k")


def fault_raises_without_code(made: Any) -> tuple[Any, Any]:
    """Let the handler of Set fail, whose response has no ErrorCode."""
    return made.new, made.new.SetRequest(key="raise")


def fault_wrong_response(made: Any) -> tuple[Any, Any]:
    """Let the handler of Get return the response to Set."""
    broken = SimpleNamespace(**vars(made.new))
    broken.GetResponse = made.new.SetResponse
    return broken, made.new.GetRequest(key="k")


def fault_old_response(made: Any) -> tuple[Any, Any]:
    """Let the handler of Get return a response of an older version."""
    broken = SimpleNamespace(**vars(made.new))
    broken.GetResponse = made.new.module.response(1, 0)
    return broken, made.new.GetRequest(key="k")


FAULTS: dict[Callable[[Any], tuple[Any, Any]], tuple[str, str]] = {
    fault_unknown_version: (
        "Closed: ADDRESS: the server closed the connection instead of answering GetRequest v1; it may lack that "
        "version: mute_cache_of_today has no ApiVersions",
        "A connection is closed: GetRequest v1 is not served; version 0 can be used",
    ),
    fault_unserved_version: ("error_code 35", ""),
    fault_unknown_api: ("UnsupportedVersionError: DropRequest: the peer does not support API key 3", ""),
    fault_unknown_api_unasked: (
        "Closed: ADDRESS: the server closed the connection instead of answering DropRequest v0; it may lack that "
        "version: mute_cache_of_today has no ApiVersions",
        "A connection is closed: mute_cache_of_yesterday has no request with API key 3",
    ),
    fault_raises: ("error_code -1", "handler handlers.<locals>.get of GetRequest v1 failed: ZeroDivisionError"),
    fault_raises_without_code: (
        "Closed: ADDRESS: the server closed the connection instead of answering SetRequest v1",
        "handler handlers.<locals>.set_ of SetRequest v1 failed: KeyError: 'x'",
    ),
    fault_wrong_response: (
        "error_code -1",
        "handler handlers.<locals>.get of GetRequest v1 returned SetResponse v1, which the type of the handler does "
        "not allow",
    ),
    fault_old_response: (
        "error_code -1",
        "handler handlers.<locals>.get of GetRequest v1 returned GetResponse v0; return GetResponse v1, or an error "
        "code",
    ),
}
"""Errors of the client, or its error code; and how the log of the server begins."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_client_is_told_of_each_fault(
    made: Any, fault: Callable[[Any], tuple[Any, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    server_of, request = fault(made)
    registry = import_module(type(request).__module__.split(".")[0]).REGISTRY
    seen = ""

    async def work() -> None:
        nonlocal seen
        async with (
            serve(handlers(server_of), partial=True) as server,
            connect(server.address, registry=registry) as client,
        ):
            try:
                seen = f"error_code {(await client.request(request)).error_code}"
            except (Failure, UnsupportedVersionError) as error:
                where = f"{server.address[0]}:{server.address[1]}"
                seen = f"{type(error).__name__}: {error}".replace(where, "ADDRESS")
            else:  # the connection can be used further
                assert (await client.request(server_of.SetRequest(key="k"))).key == "k"

    with caplog.at_level(logging.WARNING, "kipwire.aio"):
        run(work())
    expected, logged = FAULTS[fault]
    assert seen == expected
    lines = [record.getMessage() for record in caplog.records]
    assert [line[: len(logged)] for line in lines][:1] == ([logged] if logged else [])
    closed = [line for line in lines if line.startswith("A connection is closed: ")]
    assert len(closed) == seen.startswith("Closed: ")


def test_the_docs_say_what_a_client_sees_of_each_fault() -> None:
    page = (ROOT / "docs/own-specs.md").read_text()
    rows = [
        line.strip("| ").split(" | ")
        for line in page.partition("| fault | client |\n")[2].partition("\n\n")[0].splitlines()
    ]
    shown = [row[1] for row in rows if "---" not in row[0]]
    seen = [
        text.replace("mute_cache_of_today", "shop").partition("ADDRESS: ")[2] or text for text, _ in FAULTS.values()
    ]
    assert len(shown) == 6
    assert {text.removeprefix("UnsupportedVersionError: ") for text in seen}.issuperset(shown)


def test_a_handler_may_answer_with_a_code_or_close_the_connection(made: Any) -> None:
    codes = import_module("cache_of_today.enums").ErrorCode

    def get(request: Any, exchange: Exchange) -> Any:
        exchange.notes[request.key] = True
        if request.key == "raise":
            raise ValueError
        return codes.UNKNOWN_SERVER_ERROR if request.key == "code" else made.new.GetResponse(key=str(exchange.notes))

    async def set_(request: Any, exchange: Exchange) -> Any:
        raise ClosedByHandler("enough")

    of = made.new
    both: Any = [on(of.GetRequest, otherwise=codes.UNSUPPORTED_VERSION)(get), on(of.SetRequest)(set_)]

    async def work() -> None:
        async with (
            serve(both, partial=True) as server,
            connect(server.address, registry=made.new.REGISTRY, client_id="me") as client,
        ):
            get_ = made.new.GetRequest
            assert [(await client.request(get_(key=one))).error_code for one in ("code", "raise")] == [-1, 35]
            assert (await client.request(get_(key="k"))).key == "{'code': True, 'raise': True, 'k': True}"
            with pytest.raises(Closed, match=r"instead of answering SetRequest v1$"):
                await client.request(made.new.SetRequest())

    run(work())


def test_errors_of_handlers_go_where_the_settings_say(made: Any) -> None:
    failed: list[Exception] = []

    async def work() -> None:
        async with (
            serve(handlers(made.new), partial=True, failed=failed.append) as server,
            connect(server.address, registry=made.new.REGISTRY) as client,
        ):
            with pytest.raises(Closed):
                await client.request(made.new.SetRequest(key="raise"))

    run(work())
    assert [type(one.__cause__) for one in failed] == [KeyError]


def wrong(made: Any) -> dict[str, tuple[Callable[[], Any], type[Exception], str]]:
    """Return handlers that do not fit together: what starts a server with them, and the error."""
    get, set_ = handlers(made.new)
    old_get, _ = handlers(made.old)
    other, _ = handlers(made.mute_new)
    beat: Any = on(HeartbeatRequest)(lambda request, exchange: None)
    twice: Any = on(made.new.module.request(1, 0))(lambda request, exchange: None)
    of_response: Any = on(made.new.GetResponse)(lambda response, exchange: None)
    of_requests: Any = on(Request)(lambda request, exchange: None)
    heard: Any = on(Connected)(lambda event: None)
    unmarked: Any = wrong
    mapping: Any = {made.new.GetRequest: get}
    alone = "it is of another package; this server has the messages of cache_of_today alone"
    return {
        "none": (lambda: serve([]), FilterError, "there is no handler; give functions marked by @on(...)"),
        "missing": (
            lambda: serve([get, set_]),
            FilterError,
            "no handler has DropRequest (API key 3); write one, or serve with partial=True",
        ),
        "missing many": (
            lambda: serve([beat]),
            FilterError,
            "no handler has ProduceRequest (API key 0), FetchRequest (API key 1), ListOffsetsRequest (API key 2), "
            "MetadataRequest (API key 3), OffsetCommitRequest (API key 8) and 84 more; write one, or serve with "
            "partial=True",
        ),
        "another package": (
            lambda: serve([get, set_, beat], partial=True),
            FilterError,
            f"handler wrong.<locals>.<lambda> of HeartbeatRequest v4: {alone}",
        ),
        "two packages with one key": (
            lambda: serve([get, other], partial=True),
            FilterError,
            f"handler handlers.<locals>.get of GetRequest v1: {alone}",
        ),
        "another registry": (
            lambda: serve([old_get], registry=made.new.REGISTRY, partial=True),
            FilterError,
            f"handler handlers.<locals>.get of GetRequest v0: {alone}",
        ),
        "two of one API": (
            lambda: serve([get, twice], partial=True),
            FilterError,
            "handlers handlers.<locals>.get of GetRequest v1 and wrong.<locals>.<lambda> of GetRequest v0: both are of "
            "API key 1; keep one",
        ),
        "a response": (
            lambda: serve([of_response], partial=True),
            FilterError,
            "handler wrong.<locals>.<lambda> of GetResponse v1: a server answers requests; mark it by @on of a request "
            "class",
        ),
        "any request": (
            lambda: serve([of_requests], partial=True),
            FilterError,
            "handler wrong.<locals>.<lambda> of Request: a server answers requests; mark it by @on of a request class",
        ),
        "an event": (
            lambda: serve([heard]),
            FilterError,
            "handler wrong.<locals>.<lambda> of Connected: a server answers requests; mark it by @on "
            "of a request class",
        ),
        "unmarked": (
            lambda: serve([unmarked]),
            TypeError,
            "a server takes functions marked by @on(...) of a request class, not a function",
        ),
        "a mapping": (
            lambda: serve(mapping),
            TypeError,
            "a server takes functions marked by @on(...) of a request class, not the class GetRequest",
        ),
    }


def test_handlers_that_do_not_fit_together_are_refused_before_the_server_listens(made: Any) -> None:
    for name, (start, kind, text) in wrong(made).items():
        with pytest.raises(kind) as caught:
            start()
        assert (name, str(caught.value)) == (name, text)


NONSENSE = {
    "0064 0000 0000": "API key 100 is listed twice",
    "0001 0003 0001": "API key 1 has versions 3 to 1",
    "0002 ffff 0001": "API key 2 has versions -1 to 1",
}
"""Rows of an answer to ApiVersions, after a good one; and the reason why it makes no sense."""


@pytest.mark.parametrize(("row", "reason"), NONSENSE.items())
def test_a_table_of_versions_that_makes_no_sense_is_one_line(made: Any, row: str, reason: str) -> None:
    async def talk(reader: Any, writer: Any) -> None:
        await reader.readexactly(4)
        good, unknown = "0064 0000 0000", "7777 0009 0001"
        writer.write(add_size(bytes.fromhex(f"00000000 0000 00000003 {good} {unknown} {row}")))
        await reader.read()

    async def work() -> None:
        async with peer(talk) as address:
            with pytest.raises(ProtocolFailure) as caught:
                await connect(address, registry=made.new.REGISTRY)
            assert caught.value.reason == f"the ApiVersions response makes no sense: {reason}"

    run(work())


def test_versions_that_are_refused_are_named_by_the_packages_own_codes(made: Any) -> None:
    async def talk(reader: Any, writer: Any) -> None:
        await reader.readexactly(4)
        writer.write(add_size(bytes.fromhex("00000000 ffff 00000000")))
        await reader.read()

    async def work() -> None:
        async with peer(talk) as address:
            with pytest.raises(ProtocolFailure, match=r"the server rejected ApiVersions: -1 UNKNOWN_SERVER_ERROR$"):
                await connect(address, registry=made.new.REGISTRY)
        with pytest.raises(Refused, match="is the server running on this port"):
            await connect(address, registry=made.new.REGISTRY)

    run(work())

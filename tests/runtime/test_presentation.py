"""Messages are shown on several lines by what shows values: pprint, rich, IPython and hypothesis."""

from __future__ import annotations

import pprint
import subprocess
import sys
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from hypothesis.vendor.pretty import pretty
from rich.console import Console
from rich.pretty import Pretty

from kafka_messages.enums import ConfigResourceType, ErrorCode
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.list_config_resources_request.v1 import ListConfigResourcesRequest
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker, MetadataResponseTopic

NAMES = {one.__name__: one for one in (MetadataResponse, MetadataResponseBroker, MetadataResponseTopic)} | {
    "UUID": UUID,
    "ErrorCode": ErrorCode,
}


def message() -> MetadataResponse:
    brokers = [MetadataResponseBroker(node_id=number, host="localhost", port=9092 + number) for number in range(2)]
    return MetadataResponse(brokers=brokers, topics=[MetadataResponseTopic(name="orders")])


def test_repr_stays_one_line_that_can_be_evaluated() -> None:
    assert "\n" not in repr(message())
    assert eval(repr(message()), NAMES) == message()


@pytest.mark.parametrize("number", [25, ErrorCode.UNKNOWN_MEMBER_ID])
def test_a_number_with_a_name_is_shown_as_its_constant(number: int) -> None:
    response = HeartbeatResponse(error_code=number)
    assert repr(response) == "HeartbeatResponse(throttle_time_ms=0, error_code=ErrorCode.UNKNOWN_MEMBER_ID)"
    assert "error_code=ErrorCode.UNKNOWN_MEMBER_ID" in pprint.pformat(response, width=20)
    assert "error_code=ErrorCode.UNKNOWN_MEMBER_ID" in pretty(response)
    names = {"HeartbeatResponse": HeartbeatResponse, "ErrorCode": ErrorCode}
    assert eval(repr(response), names) == response == HeartbeatResponse.decode(response.encode())


@pytest.mark.parametrize("value", [9999, -2, True, None, "NONE", 0.0])
def test_a_value_without_a_name_is_shown_as_it_is(value: Any) -> None:
    assert f"error_code={value!r})" in repr(HeartbeatResponse(error_code=value))


def test_the_names_of_numbers_in_a_list_are_shown() -> None:
    request = ListConfigResourcesRequest(resource_types=[2, ConfigResourceType.BROKER, 99])
    shown = "ConfigResourceType.TOPIC, ConfigResourceType.BROKER, 99"
    assert repr(request) == f"ListConfigResourcesRequest(resource_types=[{shown}])"


def test_pprint_breaks_messages_into_lines() -> None:
    lines = pprint.pformat(message()).splitlines()
    assert lines[0] == "MetadataResponse(throttle_time_ms=0,"
    assert lines[1] == "                 brokers=[MetadataResponseBroker(node_id=0,"
    assert len(lines) > 15
    assert eval(pprint.pformat({"a": [message()]}), NAMES) == {"a": [message()]}


def test_pprint_keeps_what_fits_on_one_line() -> None:
    assert pprint.pformat(HeartbeatRequest(), width=200) == repr(HeartbeatRequest())


class Own(HeartbeatRequest):
    """A class with a text of its own."""

    def __repr__(self) -> str:
        return f"own{super().__repr__()}"


def test_a_text_of_ones_own_is_kept() -> None:
    assert pprint.pformat(Own(), width=20).startswith("ownOwn(group_id=")


def test_unknown_tagged_fields_are_shown() -> None:
    one = message()
    one.unknown_tagged_fields[7] = b"x"
    for text in (repr(one), pprint.pformat(one), pretty(one)):
        assert "unknown_tagged_fields={7: b'x'}" in text
    assert "unknown_tagged_fields" not in pretty(message())


def test_rich_breaks_messages_into_lines() -> None:
    console = Console(file=StringIO(), width=60)
    console.print(Pretty(message()))
    assert isinstance(console.file, StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines[:3] == ["MetadataResponse(", "    throttle_time_ms=0,", "    brokers=["]


def test_ipython_and_hypothesis_break_messages_into_lines() -> None:
    lines = pretty(message()).splitlines()
    assert lines[:3] == ["MetadataResponse(", "    throttle_time_ms=0,", "    brokers=[MetadataResponseBroker("]
    assert lines[-1] == ")"
    assert eval(pretty(message()), NAMES) == message()
    assert pretty(HeartbeatRequest()) == repr(HeartbeatRequest()) or "\n" in pretty(HeartbeatRequest())


def test_showing_a_message_does_not_import_pprint() -> None:
    code = (
        "import sys; from kafka_messages.heartbeat_request.v4 import HeartbeatRequest as R; "
        "repr(R()); print('pprint' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

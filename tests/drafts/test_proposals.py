"""The messages of the proposals have the bytes that their documents describe."""

from __future__ import annotations

from kipwire.drafts import proposals
from kipwire.drafts.proposals.foo_request import v9 as request_v9
from kipwire.drafts.proposals.foo_response import v8, v9
from kipwire.drafts.proposals.request_header import v0 as request_header_v0
from kipwire.drafts.proposals.request_header import v1 as request_header_v1
from kipwire.drafts.proposals.response_header import v1 as response_header_v1


def test_kip_482_example_has_no_tags_before_its_flexible_version() -> None:
    message = v8.FooResponse(foos=[v8.Foo(baz=258)])
    assert message.encode() == bytes.fromhex("00000001 0102")
    assert {field.name for field in v8.Foo.ATTRIBUTES} == {"baz"}


def test_kip_482_example_has_a_tag_section_in_each_struct_of_its_flexible_version() -> None:
    message = v9.FooResponse(foos=[v9.Foo(baz=258), v9.Foo(baz=1, bar="")], user_agent="me")
    first = "0102 00"  # the default "hello world" is not written
    second = "0001 01 00 01 01"  # one field: tag 0, one byte: the empty string
    tags = "01 00 03 03 6d65"  # one field: tag 0, three bytes: "me"
    assert message.encode() == bytes.fromhex(f"03 {first} {second} {tags}")
    assert v9.FooResponse.decode(message.encode()) == message
    assert v9.Foo().bar == "hello world"


def test_kip_482_headers_are_version_1_before_flexible_messages() -> None:
    assert proposals.request_header_version(9000, 8) == 0
    assert proposals.request_header_version(9000, 9) == 1
    assert proposals.response_header_version(9000, 9) == 1
    before = request_header_v0.RequestHeader(
        request_api_key=9000, request_api_version=8, correlation_id=5, client_id="c"
    )
    assert before.encode() == bytes.fromhex("2328 0008 00000005 0001 63")
    flexible = request_header_v1.RequestHeader(
        request_api_key=9000, request_api_version=9, correlation_id=5, client_id="c"
    )
    assert flexible.encode() == bytes.fromhex("2328 0009 00000005 02 63 00")
    assert response_header_v1.ResponseHeader(correlation_id=5).encode() == bytes.fromhex("00000005 00")


def test_kip_482_frames_are_put_together_with_these_headers() -> None:
    frame = proposals.encode_request(request_v9.FooRequest(), 5, None)
    assert frame == bytes.fromhex("2328 0009 00000005 00 00 00")
    header, body = proposals.decode_request(frame)
    assert (header.VERSION, body) == (1, request_v9.FooRequest())

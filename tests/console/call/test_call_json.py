"""JSON as people write it, from text to requests and from responses to text; bad JSON is one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafka_messages
from kafka_messages.enums import ConfigResourceType
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.metadata_request.v12 import MetadataRequest as MetadataRequest12
from kafka_messages.metadata_request.v12 import MetadataRequestTopic
from kafka_messages.metadata_response.v12 import MetadataResponse
from kafka_messages.metadata_response.v12 import MetadataResponsePartition as Partition
from kafka_messages.metadata_response.v12 import MetadataResponseTopic as Topic
from kafka_messages.produce_request.v12 import ProduceRequest
from kipwire import JsonError
from kipwire.cli.apis import Api, apis, find_api
from kipwire.console.call.codes import Names, error_lines
from kipwire.console.call.json_text import lines_of, parse
from kipwire.console.call.requests import encode_negotiated, encode_pinned, own_values
from kipwire.console.call.template import template_lines
from kipwire.console.records import with_bytes, with_records
from kipwire.description.json_codec import read_partial_json
from kipwire.message.messages import Message
from kipwire.model.errors import ConversionError, KipwireError, UnsupportedVersionError
from kipwire.records import read_batches
from tests.support import golden_data
from tests.support.cases import of_each

REGISTRY = kafka_messages.REGISTRY
ALL_VERSIONS = REGISTRY.api_versions()


def as_text(message: Message) -> str:
    lines = lines_of(type(message), message.to_json(), Names())
    return "\n".join("".join(text for text, _ in line) for line in lines)


def template_text(cls: type[Message]) -> str:
    return "\n".join("".join(text for text, _ in line) for line in template_lines(cls))


# Text.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", {}),
        ('{"a": [1, 2,], "b": {"c": null,},}', {"a": [1, 2], "b": {"c": None}}),
        ('// head\n{"a": 1, // one\n "b": "x // y", // "two"\n}\n// end', {"a": 1, "b": "x // y"}),
        ('{"a": "\\"//,]", "b": ",}"}', {"a": '"//,]', "b": ",}"}),
        ('{"a": [1, // 1\n // none\n ]}', {"a": [1]}),
        ("\n {} ", {}),
    ],
)
def test_comments_and_last_commas_are_passed_over(text: str, expected: dict[str, Any]) -> None:
    assert parse(text, "x") == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "x: line 1, column 1: expecting value"),
        ('{"a": 1\n "b": 2}', "x: line 2, column 2: expecting ',' delimiter"),
        ('// one\n{"a": /* two */ 1}', "x: line 2, column 7: expecting value"),
        ('{"a": 1,, }', "x: line 1, column 11: expecting property name"),
        ("[1]", "x: must be a JSON object, as in"),
        ('"a"', "x: must be a JSON object"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "x: the key 'c' is duplicated in one object"),
        ('{"a": NaN}', 'x: NaN is not valid JSON; write it as a string, as in "NaN"'),
        ('{"a": -Infinity}', "x: -Infinity is not valid JSON"),
        ('{"a": ' + "9" * 5000 + "}", "x: a number has too many digits for any field"),
        ('{"a": ' + "[" * 100_000, "x: is nested too deeply for any message"),
        ('{"a": "b\nc"}', "x: line 1, column 9: invalid control character"),
        ('{"a": "b', "x: line 1, column 7: unterminated string"),
        ('{"a": 1} {"b": 2}', "x: line 1, column 10: extra data"),
        (" " * 100_000 + "," * 100_000 + "]", "x: line 1, column 100001: "),
    ],
)
def test_bad_json_is_one_line_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(KipwireError) as error:
        parse(text, "x")
    assert str(error.value).startswith(reason) and len(str(error.value)) < 200
    assert len(str(error.value).splitlines()) == 1


def test_what_is_printed_for_people_is_read_as_what_is_printed_for_programs() -> None:
    count = 0
    newest = {name: (version, lines) for (name, version), lines in sorted(golden_data.messages().items())}
    for name, (version, lines) in newest.items():
        message = kafka_messages.message(name, version).decode(bytes.fromhex(lines[0]["hex"]))
        assert parse(as_text(message), "x") == json.loads(json.dumps(message.to_json())), f"{name} v{version}"
        count += 1
    assert count > 150


def test_numbers_have_their_names() -> None:
    assert as_text(HeartbeatResponse(error_code=25)) == (
        '{\n  "throttleTimeMs": 0,\n  "errorCode": 25  // UNKNOWN_MEMBER_ID\n}'
    )
    assert '"errorCode": 9999\n' in as_text(HeartbeatResponse(error_code=9999))
    topic = Topic(name="orders", topic_authorized_operations=0b110000000)
    assert '"topicAuthorizedOperations": 384  // ALTER, DESCRIBE' in as_text(MetadataResponse(topics=[topic]))


def test_no_text_does_anything_to_a_terminal() -> None:
    text = as_text(MetadataResponse(cluster_id="\x1b[31m\x07\u202e\u2028caf\u00e9"))
    assert text.isprintable() or set(text) <= {"\n"} | {one for one in text if one.isprintable()}
    assert parse(text, "x")["clusterId"] == "\x1b[31m\x07\u202e\u2028caf\u00e9"


# Templates.


@of_each(
    "api,version",
    [(api, version) for api in apis(REGISTRY) for version in api.versions],
    together=lambda api, version: api.name[:1],
)
def test_every_template_is_a_request_that_can_be_sent(api: Api, version: int) -> None:
    cls = REGISTRY.message(api.request, version)
    text = template_text(cls)
    sent = encode_pinned(REGISTRY, api, version, parse(text, "x"), "me")
    header, body = REGISTRY.decode_request(sent.frame)
    assert (header.request_api_key, header.request_api_version) == (api.key, version)
    if api.request == body.NAME:  # an API with two names has the frame of the served name
        assert body == sent.body
    assert max(map(len, text.splitlines())) < 130
    for field in cls.ATTRIBUTES:
        assert f'"{field.json_name}": ' in text


def test_a_template_explains_each_field_and_its_numbers() -> None:
    text = template_text(REGISTRY.message("DescribeConfigsRequest", 4))
    assert (
        "// Names of the settings wanted; null asks for all settings of the resource. (array of string or null)" in text
    )
    names = ", ".join(f"{int(one)} {one.name}" for one in ConfigResourceType)
    assert f"// Numbers: {names}" in text


def test_a_struct_that_is_used_again_is_shown_once() -> None:
    text = template_text(REGISTRY.message("StreamsGroupHeartbeatRequest", 0))
    assert text.count('"replicationFactor"') == 1
    assert "with the fields of" in text and '"repartitionSourceTopics": [],' in text


# Requests.


def test_fields_that_are_left_out_have_their_defaults() -> None:
    cls = REGISTRY.message("MetadataRequest", 12)
    assert read_partial_json(cls, {"topics": None}) == MetadataRequest12(topics=None)
    topic = read_partial_json(cls, {"topics": [{"name": "orders"}]})
    assert topic == MetadataRequest12(topics=[MetadataRequestTopic(name="orders")])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"topcs": None}, "topcs: no version of the message has a field of this name; did you mean topics?"),
        ({"topics": [{"topic_id": ""}]}, r"topics\[0\].topic_id: no version .*; did you mean topicId?"),
        ({"includeClusterAuthorizedOperations": True}, "not a field of version 12, but of 8 to 10"),
        ({"includeClusterAuthorizedOperations": False}, "not a field of version 12, but of 8 to 10"),
        ({"topics": {}}, "topics: must be a JSON array, not an object"),
        ({"topics": ["orders"]}, r"topics\[0\]: must be a JSON object, not a string"),
        ({"x" * 5000: 1}, "no version of the message has a field of this name"),
    ],
)
def test_a_key_that_is_no_field_says_which_is_meant(value: dict[str, Any], reason: str) -> None:
    with pytest.raises(JsonError, match=reason) as error:
        read_partial_json(REGISTRY.message("MetadataRequest", 12), value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("api", "value", "theirs", "body", "wire"),
    [
        ("Metadata", {"topics": None}, range(14), 13, 13),
        ("Metadata", {"topics": None}, range(8), 13, 7),
        ("OffsetFetch", {"groupId": "g", "topics": None}, range(11), 7, 7),
        ("OffsetFetch", {"groups": [{"groupId": "g", "topics": None}]}, range(11), 10, 10),
        ("OffsetFetch", {"groupId": "g", "topics": None}, range(3), 7, 2),
        ("Fetch", {"topics": [{"topic": "orders"}]}, range(4, 19), 12, 12),
        ("Fetch", {"topics": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}]}, range(4, 19), 18, 18),
        ("DeleteTopics", {"topicNames": ["a"]}, range(1, 7), 5, 5),
        ("DeleteTopics", {"topics": [{"name": "a"}]}, range(1, 7), 6, 6),
    ],
)
def test_a_request_is_of_the_newest_class_that_its_json_and_the_broker_fit(
    api: str, value: dict[str, Any], theirs: range, body: int, wire: int
) -> None:
    found = find_api(REGISTRY, api)
    sent = encode_negotiated(REGISTRY, found, {found.key: theirs}, value, "me")
    assert (sent.body.VERSION, sent.version) == (body, wire)
    assert wire == REGISTRY.decode_request(sent.frame).body.VERSION


def test_no_value_is_lost_without_a_word() -> None:
    found = find_api(REGISTRY, "Fetch")
    by_id = {"topics": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}]}
    sent = encode_negotiated(REGISTRY, found, {found.key: range(4, 12)}, by_id, "me")
    assert any(one.field == "topics.topic_id" and one.is_dropped for one in sent.lost)
    found = find_api(REGISTRY, "OffsetFetch")
    with pytest.raises(ConversionError, match="groups"):
        groups = [{"groupId": "a", "topics": None}, {"groupId": "b", "topics": None}]
        encode_negotiated(REGISTRY, found, {found.key: range(7)}, {"groups": groups}, "me")
    with pytest.raises(JsonError, match=r"OffsetFetchRequest v7: topics\[0\].nam: .* did you mean name"):
        encode_negotiated(REGISTRY, found, ALL_VERSIONS, {"groupId": "g", "topics": [{"nam": "orders"}]}, "me")
    with pytest.raises(UnsupportedVersionError, match="the peer does not support API key 9"):
        encode_negotiated(REGISTRY, found, {}, {}, "me")


def test_a_version_that_is_given_is_that_of_the_json() -> None:
    found = find_api(REGISTRY, "OffsetFetch")
    assert encode_pinned(REGISTRY, found, 5, {"groupId": "g"}, "me").version == 5
    with pytest.raises(JsonError, match="groups: not a field of version 5, but of 8 to 10"):
        encode_pinned(REGISTRY, found, 5, {"groups": []}, "me")
    with pytest.raises(UnsupportedVersionError, match="known versions are 0 to 10"):
        encode_pinned(REGISTRY, found, 11, {}, "me")


@pytest.mark.parametrize(
    "text", ["Metadata", "metadata", "METADATAREQUEST", "MetadataRequest", "metadataresponse", "3", "03"]
)
def test_an_api_has_its_name_in_any_case_and_its_number(text: str) -> None:
    assert find_api(REGISTRY, text).name == "Metadata"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Metadat", "kafka_messages has no API named 'Metadat'; did you mean Metadata?"),
        ("metdataREQUEST", "no API named 'metdataREQUEST'; did you mean Metadata"),
        ("xyzzy", "kafka_messages has no API named 'xyzzy'$"),
        ("9999", "kafka_messages has no API with the key 9999$"),
        ("9" * 10_000, "no API with the key 9{20,100}$"),
        ("x" * 10_000, "no API named"),
        ("", "no API named ''"),
    ],
)
def test_another_name_says_which_is_meant(text: str, reason: str) -> None:
    with pytest.raises(KipwireError, match=reason) as error:
        find_api(REGISTRY, text)
    assert len(str(error.value)) < 200


def test_own_values_are_fields_that_brokers_refuse_at_their_defaults() -> None:
    assert own_values(REGISTRY.message("ListOffsetsRequest", 1)) == {"replicaId": -1}
    assert own_values(REGISTRY.message("ListOffsetsRequest", 11)) == {"replicaId": -1, "timeoutMs": 30_000}
    assert own_values(REGISTRY.message("ApiVersionsRequest", 0)) == {}
    assert own_values(REGISTRY.message("MetadataRequest", 12)) == {}


# Error codes.


def test_each_error_code_is_named_with_its_place() -> None:
    partitions = [Partition(partition_index=one, error_code=5) for one in range(3)]
    topics = [Topic(name="a"), Topic(name="b", error_code=3, partitions=partitions)]
    assert error_lines(MetadataResponse(topics=topics)) == [
        "topics[1].errorCode: 3 UNKNOWN_TOPIC_OR_PARTITION",
        "topics[1].partitions[0].errorCode: 5 LEADER_NOT_AVAILABLE (and in 2 more places)",
    ]
    assert error_lines(MetadataResponse()) == []
    assert error_lines(HeartbeatResponse(error_code=9999)) == ["errorCode: 9999"]
    cls = REGISTRY.message("CreateTopicsResponse", 7)
    value = {"topics": [{"name": "a", "errorCode": 36, "errorMessage": "is there"}]}
    created = read_partial_json(cls, value)
    assert error_lines(created) == ["topics[0].errorCode: 36 TOPIC_ALREADY_EXISTS: is there"]


# Records.


def test_records_are_written_as_objects_and_shown_as_such() -> None:
    records = [
        {
            "offset": 0,
            "timestamp": 1,
            "key": "k",
            "value": "v",
            "headers": [["trace", "t-1"], ["raw", {"base64": "/w=="}]],
        },
        {"offset": 1, "timestamp": 2, "key": None, "value": {"base64": "//8="}},
    ]
    value = {"topicData": [{"name": "orders", "partitionData": [{"index": 0, "records": records}]}]}
    encoded = with_bytes(ProduceRequest, value)
    body = read_partial_json(ProduceRequest, encoded)
    (batch,) = read_batches(body.topic_data[0].partition_data[0].records or b"")
    assert [(one.key, one.value) for one in batch.records] == [(b"k", b"v"), (None, b"\xff\xff")]
    shown = with_records(ProduceRequest, body.to_json())
    assert shown["topicData"][0]["partitionData"][0]["records"] == records


def test_bytes_of_batches_stay_as_they_are() -> None:
    value = {
        "topicData": [{"partitionData": [{"records": "AAAA"}, {"records": None}, {"records": []}, 5]}, None],
        "x": 1,
    }
    partitions = with_bytes(ProduceRequest, value)["topicData"][0]["partitionData"]
    assert partitions == [{"records": "AAAA"}, {"records": None}, {"records": ""}, 5]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (5, "records[0]: must be a record"),
        ({"valu": "x"}, "records[0].valu: a record has no such key; did you mean value?"),
        ({"value": 5}, "records[0].value: must be a string, null, or bytes as in"),
        ({"value": {"base64": "?"}}, "records[0].value: must be a string"),
        ({"key": ["a"]}, "records[0].key: must be a string"),
        ({"headers": [["a"]]}, "records[0].headers: must be pairs"),
        ({"headers": {"a": "b"}}, "records[0].headers: must be pairs"),
        ({"offset": "1"}, "records[0].offset: must be a whole number"),
        ({"timestamp": True}, "records[0].timestamp: must be a whole number"),
    ],
)
def test_a_wrong_record_is_named(record: Any, reason: str) -> None:
    value = {"topicData": [{"partitionData": [{"records": [record]}]}]}
    with pytest.raises(KipwireError) as error:
        with_bytes(ProduceRequest, value)
    assert str(error.value).startswith(f"topicData[0].partitionData[0].{reason}")


def test_a_broken_batch_is_named_with_its_place() -> None:
    value = {"topicData": [{"partitionData": [{"records": "AAAAAAAAAAAAAAAxAAAAAAIAAAAA" + "AAAA" * 20}]}]}
    with pytest.raises(KipwireError, match=r"topicData\[0\].partitionData\[0\].records: "):
        with_records(ProduceRequest, value)


def test_a_file_and_standard_input_are_read(
    tmp_path: Path, call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_text('\ufeff// a comment\n{"topics": null,}')
    done = call("localhost:9", "Metadata", "@a.json", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == call("localhost:9", "Metadata", '{"topics": null}', "--dry-run").stdout
    (tmp_path / "b.json").write_bytes(b'{"a": "\xff"}')
    for argument, said in (
        ("@b.json", "kipwire: b.json: byte 7 is not valid UTF-8\n"),
        ("@c.json", "kipwire: c.json: No such file or directory\n"),
        ("topics", "kipwire: 'topics' is not a JSON object; use one such as '{\"topics\": null}', or @FILE, or -\n"),
    ):
        done = call("localhost:9", "Metadata", argument, "--dry-run")
        assert (done.returncode, done.stdout, done.stderr) == (2, "", said)

"""Values that cannot be written are refused with their path, and with nothing but an EncodeError."""

from __future__ import annotations

import pickle
import uuid
from importlib import import_module
from typing import Any

import pytest

from kipwire import EncodeError, Message

# As Any, since wrong values are what these tests are about.
METADATA: Any = import_module("kafka_messages.metadata_response.v12")
OLD_METADATA: Any = import_module("kafka_messages.metadata_response.v0")
PRODUCE: Any = import_module("kafka_messages.produce_request.v9")
QUOTA: Any = import_module("kafka_messages.client_quota_record.v0")
API_VERSIONS: Any = import_module("kafka_messages.api_versions_response.v3")
FETCH_REQUEST: Any = import_module("kafka_messages.fetch_request.v17")
FETCH_RESPONSE: Any = import_module("kafka_messages.fetch_response.v16")


class Number:
    """Something that can be used as a number without being an `int`."""

    def __index__(self) -> int:
        return 7


class Words(list[Any]):
    """A list of another type."""


def response(**values: Any) -> Any:
    return METADATA.MetadataResponse(**values)


def broker(**values: Any) -> Any:
    return response(brokers=[METADATA.MetadataResponseBroker(), METADATA.MetadataResponseBroker(**values)])


def topic(**values: Any) -> Any:
    return response(topics=[METADATA.MetadataResponseTopic(**values)])


def isr(nodes: Any) -> Any:
    return topic(partitions=[METADATA.MetadataResponsePartition(isr_nodes=nodes)])


def records(value: Any) -> Any:
    data = PRODUCE.PartitionProduceData(records=value)
    return PRODUCE.ProduceRequest(topic_data=[PRODUCE.TopicProduceData(partition_data=[data])])


def api_versions(**values: Any) -> Any:
    return API_VERSIONS.ApiVersionsResponse(**values)


def fetch_partition(**values: Any) -> Any:
    partition = FETCH_RESPONSE.PartitionData(**values)
    return FETCH_RESPONSE.FetchResponse(responses=[FETCH_RESPONSE.FetchableTopicResponse(partitions=[partition])])


def refusal(message: Message) -> EncodeError:
    """Return the error that every way of writing the message raises."""
    with pytest.raises(EncodeError) as caught:
        message.encode()
    for write in (message.encoded_size, message.to_json):
        with pytest.raises(EncodeError) as again:
            write()
        assert str(again.value) == str(caught.value)
    error = caught.value
    assert (error.message, error.version) == (message.NAME, message.VERSION)
    assert str(error) == f"{message.NAME} v{message.VERSION}: {error.path}: {error.reason}"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    return error


PORT, HOST, RACK = "brokers[1].port", "brokers[1].host", "brokers[1].rack"
INTERNAL, ID, ISR = "topics[0].is_internal", "topics[0].topic_id", "topics[0].partitions[0].isr_nodes"
RECORDS = "topic_data[0].partition_data[0].records"
FEATURES, EPOCH = "supported_features", "finalized_features_epoch"
STRUCT = "must be a kafka_messages.metadata_response.v"
LONG, LONG_TOO = "a" * 32768, "é" * 16384

REFUSED: list[tuple[str, Any, str, str]] = [
    ("number: text", broker(port="9092"), PORT, "must be an int, not str"),
    ("number: float", broker(port=9092.0), PORT, "must be an int, not float"),
    ("number: null", broker(port=None), PORT, "must not be null in this version"),
    ("number: bytes", broker(port=b"\0\0\0\1"), PORT, "must be an int, not bytes"),
    ("number: list", broker(port=[1]), PORT, "must be an int, not list"),
    ("number: uuid", broker(port=uuid.UUID(int=1)), PORT, "must be an int, not UUID"),
    ("int32: too large", broker(port=2**31), PORT, "2147483648 is out of range: int32 holds -2147483648 to 2147483647"),
    ("int32: too small", broker(port=-(2**31) - 1), PORT, "-2147483649 is out of range"),
    ("int32: enormous", broker(port=10**30), PORT, "is out of range"),
    ("int16: too large", topic(error_code=32768), "topics[0].error_code", "int16 holds -32768 to 32767"),
    ("text: null", broker(host=None), HOST, "must not be null in this version"),
    ("text: bytes", broker(host=b"host"), HOST, "must be a str, not bytes"),
    ("text: number", broker(host=1), HOST, "must be a str, not int"),
    ("text: list", broker(host=["h"]), HOST, "must be a str, not list"),
    ("text: number where null is allowed", broker(rack=0), RACK, "must be a str, not int"),
    ("text: a message", broker(rack=response()), RACK, "must be a str, not MetadataResponse"),
    ("text: lone surrogate", broker(host="ab\ud800"), HOST, "character 2 is a lone surrogate"),
    ("text: lone low surrogate", topic(name="\udc80"), "topics[0].name", "character 0 is a lone surrogate"),
    ("text: 32768 bytes", broker(host=LONG), HOST, "string of 32768 bytes; the limit is 32767"),
    ("text: 32768 bytes in half as many characters", broker(rack=LONG_TOO), RACK, "string of 32768 bytes"),
    ("bool: number", topic(is_internal=2), INTERNAL, "must be True or False, not 2"),
    ("bool: negative number", topic(is_internal=-1), INTERNAL, "must be True or False, not -1"),
    ("bool: text", topic(is_internal="yes"), INTERNAL, "must be True or False, not 'yes'"),
    ("bool: null", topic(is_internal=None), INTERNAL, "must not be null"),
    ("bool: list", topic(is_internal=[]), INTERNAL, "must be True or False, not []"),
    ("uuid: text", topic(topic_id=str(uuid.UUID(int=1))), ID, "must be a uuid.UUID, not str"),
    ("uuid: bytes", topic(topic_id=bytes(16)), ID, "must be a uuid.UUID, not bytes"),
    ("uuid: null", topic(topic_id=None), ID, "must not be null"),
    ("float: text", QUOTA.ClientQuotaRecord(value="1.0"), "value", "must be a float, not str"),
    ("float: null", QUOTA.ClientQuotaRecord(value=None), "value", "must not be null"),
    ("float: complex", QUOTA.ClientQuotaRecord(value=1j), "value", "must be a float, not complex"),
    ("float: number beyond all floats", QUOTA.ClientQuotaRecord(value=10**400), "value", ""),
    ("array: text", isr("123"), ISR, "must be a list, not str"),
    ("array: null", isr(None), ISR, "must not be null"),
    ("array: number", isr(7), ISR, "must be a list, not int"),
    ("array: dict", isr({}), ISR, "must be a list, not dict"),
    ("array: set", isr({1}), ISR, "must be a list, not set"),
    ("array: iterator", isr(iter([1])), ISR, "must be a list, not list_iterator"),
    ("array: range", isr(range(2)), ISR, "must be a list, not range"),
    ("array: bytes", isr(b"\1"), ISR, "must be a list, not bytes"),
    ("element: text", isr([1, "2"]), f"{ISR}[1]", "must be an int, not str"),
    ("element: null", isr([None]), f"{ISR}[0]", "must not be null"),
    ("element: list", isr([1, 2, [3]]), f"{ISR}[2]", "must be an int, not list"),
    ("element: too large", isr([2**31]), f"{ISR}[0]", "2147483648 is out of range"),
    ("element of a tuple", isr((1, 2.0)), f"{ISR}[1]", "must be an int, not float"),
    ("struct: null element", response(brokers=[None]), "brokers[0]", "must not be null"),
    ("struct: one for a list", response(brokers=METADATA.MetadataResponseBroker()), "brokers", "must be a list"),
    ("struct: dict", response(brokers=[{}]), "brokers[0]", STRUCT),
    ("struct: of another kind", response(brokers=[METADATA.MetadataResponseTopic()]), "brokers[0]", STRUCT),
    ("struct: of another version", response(brokers=[OLD_METADATA.MetadataResponseBroker()]), "brokers[0]", STRUCT),
    ("struct: the message's own class", response(topics=[response()]), "topics[0]", "not MetadataResponse"),
    ("bytes: text", records("x"), RECORDS, "must be bytes, not str"),
    ("bytes: list", records([1]), RECORDS, "must be bytes, not list"),
    ("bytes: number", records(3), RECORDS, "must be bytes, not int"),
    ("tagged text: number", FETCH_REQUEST.FetchRequest(cluster_id=7), "cluster_id", "must be a str, not int"),
    ("tagged array: text", api_versions(supported_features="ab"), FEATURES, "must be a list, not str"),
    ("tagged array: empty text", api_versions(supported_features=""), FEATURES, "must be a list, not str"),
    ("tagged array: null", api_versions(supported_features=None), FEATURES, "must not be null"),
    ("tagged array: element", api_versions(supported_features=[None]), f"{FEATURES}[0]", "must not be null"),
    ("tagged number: too large", api_versions(finalized_features_epoch=2**63), EPOCH, "out of range"),
    ("tagged bool: number", api_versions(zk_migration_ready=3), "zk_migration_ready", "must be True or False, not 3"),
    (
        "text in a tagged array",
        api_versions(supported_features=[API_VERSIONS.SupportedFeatureKey(name="\ud800")]),
        f"{FEATURES}[0].name",
        "surrogate",
    ),
    (
        "tagged struct: null",
        fetch_partition(current_leader=None),
        "responses[0].partitions[0].current_leader",
        "must not be null",
    ),
    (
        "tagged struct: of another kind",
        fetch_partition(current_leader=FETCH_RESPONSE.SnapshotId()),
        "responses[0].partitions[0].current_leader",
        "LeaderIdAndEpoch, not SnapshotId",
    ),
    (
        "number in a tagged struct",
        fetch_partition(current_leader=FETCH_RESPONSE.LeaderIdAndEpoch(leader_id="1")),
        "responses[0].partitions[0].current_leader.leader_id",
        "must be an int, not str",
    ),
]


@pytest.mark.parametrize(
    ("message", "path", "reason"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_wrong_value_is_refused_with_its_path(message: Any, path: str, reason: str) -> None:
    error = refusal(message)
    assert error.path == path
    assert reason in error.reason


def test_first_wrong_value_is_named() -> None:
    assert refusal(broker(host=1, port="x", rack=2)).path == HOST
    assert refusal(response(brokers=[None], throttle_time_ms="1")).path == "throttle_time_ms"


ACCEPTED: list[tuple[str, Any, Any]] = [
    ("True for 1", broker(port=True), broker(port=1)),
    ("a number that is not an int", broker(port=Number()), broker(port=7)),
    ("1 for True", topic(is_internal=1), topic(is_internal=True)),
    ("0 for False", topic(is_internal=0), topic(is_internal=False)),
    ("True for 1.0", QUOTA.ClientQuotaRecord(value=True), QUOTA.ClientQuotaRecord(value=1.0)),
    ("a whole number for a float", QUOTA.ClientQuotaRecord(value=-3), QUOTA.ClientQuotaRecord(value=-3.0)),
    ("a tuple for a list", isr((1, 2)), isr([1, 2])),
    ("another type of list", isr(Words([1, 2])), isr([1, 2])),
    (
        "a tuple of structs",
        response(brokers=(METADATA.MetadataResponseBroker(),)),
        broker().__replace__(brokers=broker().brokers[:1]),
    ),
    ("a bytearray for bytes", records(bytearray(b"ab")), records(b"ab")),
    ("a memoryview for bytes", records(memoryview(b"-ab-")[1:3]), records(b"ab")),
    ("a memoryview with gaps", records(memoryview(b"a-b-")[::2]), records(b"ab")),
]


@pytest.mark.parametrize(("given", "meant"), [case[1:] for case in ACCEPTED], ids=[case[0] for case in ACCEPTED])
def test_value_of_a_kindred_type_is_written_as_what_it_means(given: Any, meant: Any) -> None:
    assert given.encode() == meant.encode()
    assert given.encoded_size() == len(meant.encode())
    assert given.to_json() == meant.to_json()


@pytest.mark.parametrize(
    ("fields", "path", "reason"),
    [
        ({-1: b""}, "unknown_tagged_fields[-1]", "a tag must be a number from 0 to 2147483647"),
        ({2**31: b""}, "unknown_tagged_fields[2147483648]", "a tag must be a number from 0 to 2147483647"),
        ({0: b"x"}, "unknown_tagged_fields[0]", "tag 0 belongs to a field of the spec"),
        ({3: b"x"}, "unknown_tagged_fields[3]", "tag 3 belongs to a field of the spec"),
        ({9: b"", 2: b"x"}, "unknown_tagged_fields[2]", "tag 2 belongs to a field of the spec"),
        ({7: "text"}, "unknown_tagged_fields[7]", "must be bytes, not str"),
        ({7: None}, "unknown_tagged_fields[7]", "must be bytes, not None"),
        ({7: 5}, "unknown_tagged_fields[7]", "must be bytes, not int"),
        ({7: [1]}, "unknown_tagged_fields[7]", "must be bytes, not list"),
        ([(7, b"x")], "unknown_tagged_fields", "must be a dict from tag to bytes, not list"),
    ],
)
def test_bad_unknown_tagged_field_is_refused(fields: Any, path: str, reason: str) -> None:
    message = api_versions()
    message.unknown_tagged_fields = fields
    with pytest.raises(EncodeError) as caught:
        message.encode()
    assert (caught.value.path, caught.value.reason) == (path, reason)
    nested = api_versions(supported_features=[API_VERSIONS.SupportedFeatureKey()])
    if reason.startswith("tag "):
        return  # the struct knows no tags
    nested.supported_features[0].unknown_tagged_fields = fields
    with pytest.raises(EncodeError) as caught:
        nested.encoded_size()
    assert (caught.value.path, caught.value.reason) == (f"supported_features[0].{path}", reason)


@pytest.mark.parametrize("tag", ["7", None, 7.5, (7,)])
def test_tag_that_is_not_a_number_is_refused(tag: Any) -> None:
    message = api_versions()
    message.unknown_tagged_fields = {tag: b"x"}
    assert refusal(message).reason == "a tag must be a number from 0 to 2147483647"


@pytest.mark.parametrize("field", [field.name for field in METADATA.MetadataResponseTopic.ATTRIBUTES])
def test_missing_attribute_is_refused(field: str) -> None:
    message = topic()
    delattr(message.topics[0], field)
    error = refusal(message)
    assert (error.path, error.reason) == (f"topics[0].{field}", "the attribute is missing")


def test_failed_encoding_leaves_the_message_as_it_was() -> None:
    message = topic(name="\ud800")
    before = repr(message)
    refusal(message)
    assert repr(message) == before
    message.topics[0].name = "fine"
    assert METADATA.MetadataResponse.decode(message.encode()).topics[0].name == "fine"


def _without(item: Any, name: str) -> Any:
    delattr(item, name)
    return item


@pytest.mark.parametrize("write", ["encode", "encoded_size"])
@pytest.mark.parametrize(
    ("make", "path", "reason"),
    [
        (
            lambda: _without(api_versions(), "_unknown_tagged_fields"),
            "unknown_tagged_fields",
            "the attribute is missing",
        ),
        (lambda: api_versions(supported_features=b""), "supported_features", "must be a list, not bytes"),
        (
            lambda: api_versions(supported_features=memoryview(b"")),
            "supported_features",
            "must be a list, not memoryview",
        ),
        (
            lambda: FETCH_REQUEST.FetchRequest(replica_state=_without(FETCH_REQUEST.ReplicaState(), "replica_epoch")),
            "replica_state.replica_epoch",
            "the attribute is missing",
        ),
    ],
    ids=[
        "no unknown tagged fields",
        "empty bytes for an array",
        "an empty buffer for an array",
        "half a tagged struct",
    ],
)
def test_what_cannot_be_compared_with_a_default_is_refused(make: Any, path: str, reason: str, write: str) -> None:
    """Each of these once left as another error than kipwire's, or as one that never leaves it."""
    with pytest.raises(EncodeError) as caught:
        getattr(make(), write)()
    assert (caught.value.path, caught.value.reason) == (path, reason)


class _Changing(list[Any]):
    """A list that has its elements only the first time that it is gone through."""

    def __iter__(self) -> Any:
        elements = self[:]
        self.clear()
        return iter(elements)


@pytest.mark.parametrize("write", ["encode", "encoded_size"])
@pytest.mark.parametrize("wrong", [None, METADATA.MetadataResponseBroker(port=2**40)], ids=["no struct", "too large"])
def test_a_wrong_value_that_is_right_when_it_is_looked_for_is_refused_too(wrong: Any, write: str) -> None:
    """Objects of other threads may change meanwhile; `Malformed`, which says nothing, once left kipwire here."""
    with pytest.raises(EncodeError, match=r"^MetadataResponse v12: message: it changed while it was written$"):
        getattr(response(brokers=_Changing([wrong])), write)()

"""Guarantees to programs that use generated classes."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import re
import subprocess
import sys
import typing
import uuid
from types import ModuleType

import pytest

import kafka_messages
import kipwire
from kafka_messages.enums import ErrorCode
from kafka_messages.fetch_request.v12 import FetchRequest
from kafka_messages.fetch_response.v12 import EpochEndOffset, PartitionData
from kafka_messages.metadata_response import v1, v5, v9, v11
from kafka_messages.metadata_response.v12 import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_records.record_batch.v2 import RecordBatch
from kipwire import native


def response() -> MetadataResponse:
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=1, host="localhost", port=9092)],
        topics=[MetadataResponseTopic(name="orders", topic_id=uuid.UUID(int=7))],
    )


def test_constants_say_what_a_class_is() -> None:
    assert MetadataResponse.NAME == "MetadataResponse"
    assert MetadataResponse.TYPE == "response"
    assert (MetadataResponse.API_KEY, MetadataResponse.VERSION, MetadataResponse.HEADER_VERSION) == (3, 12, 1)
    assert (MetadataResponse.MIN_VERSION, MetadataResponse.MAX_VERSION) == (0, 13)
    assert MetadataResponse.FLEXIBLE
    assert not v5.MetadataResponse.FLEXIBLE


def test_defaults_are_the_specs_and_never_shared() -> None:
    first, second = MetadataResponse(), MetadataResponse()
    assert (first.controller_id, first.cluster_id, first.brokers) == (-1, None, [])
    first.brokers.append(MetadataResponseBroker())
    assert second.brokers == []
    one, other = PartitionData(), PartitionData()
    one.diverging_epoch.epoch = 5
    assert other.diverging_epoch == EpochEndOffset() == EpochEndOffset(epoch=-1, end_offset=-1)


def test_arguments_are_keyword_only_and_only_those_of_the_version() -> None:
    with pytest.raises(TypeError):
        MetadataResponse(0)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        MetadataResponse(error_code=1)  # type: ignore[call-arg]


def test_fields_of_other_versions_are_not_attributes() -> None:
    with pytest.raises(AttributeError):
        response().error_code = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        v1.MetadataResponse().cluster_id  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        v5.MetadataResponse().unknown_tagged_fields  # type: ignore[attr-defined]  # noqa: B018


def test_equality_is_by_content_and_class() -> None:
    assert response() == response()
    changed = response()
    changed.topics[0].name = "other"
    assert response() != changed
    assert MetadataResponse() != v11.MetadataResponse()
    assert MetadataResponse() != "MetadataResponse()"
    with_unknown = response()
    with_unknown.brokers[0].unknown_tagged_fields[3] = b"x"
    assert response() != with_unknown
    with pytest.raises(TypeError):
        hash(response())


def test_repr_can_be_read_and_evaluated() -> None:
    broker = MetadataResponseBroker(node_id=1, host="h", port=2)
    assert repr(broker) == "MetadataResponseBroker(node_id=1, host='h', port=2, rack=None)"
    assert eval(repr(broker)) == broker
    broker.unknown_tagged_fields[3] = b"x"
    assert repr(broker).endswith("rack=None, unknown_tagged_fields={3: b'x'})")


def test_classes_give_the_types_of_their_attributes() -> None:
    hints = typing.get_type_hints(MetadataResponseTopic)
    expected = {
        "error_code": ErrorCode | int,
        "name": str | None,
        "topic_id": uuid.UUID,
        "is_internal": bool,
        "partitions": list[MetadataResponsePartition],
        "topic_authorized_operations": int,
    }
    assert {name: hints[name] for name in expected} == expected
    for cls in (MetadataResponse, FetchRequest, v5.MetadataResponse, RecordBatch):
        assert {field.name for field in cls.ATTRIBUTES} <= set(typing.get_type_hints(cls))


def test_signatures_have_types_with_and_without_the_kernel() -> None:
    signature = inspect.signature(MetadataResponse.decode)
    assert str(signature) == "(data: 'bytes') -> 'Self'"
    assert str(inspect.signature(MetadataResponse.read)) == "(data: 'bytes', offset: 'int' = 0) -> 'tuple[Self, int]'"
    assert str(inspect.signature(MetadataResponse.encode)) == "(self) -> 'bytes'"
    assert "data: 'bytes'" in pydoc.render_doc(MetadataResponse.decode)


def test_texts_call_attributes_by_their_names_in_python() -> None:
    text = pydoc.plain(pydoc.render_doc(RecordBatch))
    assert "ends at base_offset + last_offset_delta" in text
    assert "counts from. 0 from producers" in text
    assert "the records' OffsetDelta" in text  # a field of another message has no attribute here
    assert not re.search(r"\bBaseOffset\b", "\n".join(field.about for field in RecordBatch.FIELDS))


def test_match_statements_see_the_fields() -> None:
    match response():
        case MetadataResponse(topics=[MetadataResponseTopic(name=name)], controller_id=-1):
            assert name == "orders"
        case _:
            raise AssertionError


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_messages_can_be_pickled_and_copied(protocol: int) -> None:
    message = response()
    message.topics[0].unknown_tagged_fields[9] = b"kept"
    for twin in (pickle.loads(pickle.dumps(message, protocol)), copy.deepcopy(message), copy.copy(message)):
        assert twin == message
        assert twin.encode() == message.encode()
    request = FetchRequest()  # its tagged struct is not made yet
    assert pickle.loads(pickle.dumps(request, protocol)) == copy.deepcopy(request) == request


def test_uuids_of_messages_that_were_read_are_as_good_as_others() -> None:
    """Reading makes them without a call of their class."""
    (topic,) = MetadataResponse.decode(response().encode()).topics
    assert (topic.topic_id, topic.topic_id.is_safe) == (uuid.UUID(int=7), uuid.SafeUUID.unknown)
    assert pickle.loads(pickle.dumps(topic)) == copy.deepcopy(topic) == topic


def test_replace_gives_a_copy_with_other_values() -> None:
    message = response()
    message.unknown_tagged_fields[9] = b"kept"
    twin = message.__replace__(controller_id=5)
    assert (message.controller_id, twin.controller_id) == (-1, 5)
    assert twin.unknown_tagged_fields == {9: b"kept"}
    assert twin.unknown_tagged_fields is not message.unknown_tagged_fields
    assert twin.__replace__(controller_id=-1) == message
    assert message.__replace__(unknown_tagged_fields={1: b""}).unknown_tagged_fields == {1: b""}


def test_any_buffer_can_be_decoded() -> None:
    data = response().encode()
    for buffer in (bytearray(data), memoryview(data)):
        assert MetadataResponse.decode(buffer) == response()  # type: ignore[arg-type]
        assert MetadataResponse.read(buffer) == (response(), len(data))  # type: ignore[arg-type]


def test_messages_are_read_out_of_a_longer_buffer() -> None:
    data = response().encode()
    buffer = b"ab" + data + data + b"c"
    first, end = MetadataResponse.read(buffer, 2)
    second, end = MetadataResponse.read(buffer, end)
    assert first == second == response()
    assert buffer[end:] == b"c"
    for offset in (-1, len(buffer) + 1):
        with pytest.raises(ValueError, match="outside the buffer"):
            MetadataResponse.read(buffer, offset)


def test_unknown_tagged_fields_are_written_between_the_known_ones() -> None:
    request = FetchRequest(cluster_id="c")
    request.unknown_tagged_fields.update({300: b"late", 7: b"early"})
    data = request.encode()
    assert data.endswith(bytes.fromhex("03 00 02 02 63  07 05") + b"early" + bytes.fromhex("ac 02 04") + b"late")
    assert FetchRequest.decode(data) == request


def test_versions_convert_and_name_what_would_be_lost() -> None:
    message = response()
    message.topics[0].topic_authorized_operations = 3
    message.brokers[0].unknown_tagged_fields[1] = b""
    with pytest.raises(kipwire.ConversionError) as caught:
        kipwire.convert(message, 5)
    assert "topics[0].topic_authorized_operations" in caught.value.reason
    assert "brokers[0].unknown_tagged_fields" in caught.value.reason
    older = kipwire.convert(response(), 5)
    assert isinstance(older, v5.MetadataResponse)
    assert older.topics[0].name == "orders"
    newer = kipwire.convert(older, 12)
    assert newer.encode() == response().__replace__(topics=[MetadataResponseTopic(name="orders")]).encode()
    with pytest.raises(kipwire.UnsupportedVersionError, match="known versions are 0 to 13"):
        kipwire.convert(older, 14)


def test_the_registry_knows_every_message() -> None:
    assert kafka_messages.message("MetadataResponse", 12) is MetadataResponse
    assert kafka_messages.versions("MetadataResponse") == kafka_messages.served("MetadataResponse") == range(14)
    assert (kafka_messages.versions("FetchRequest"), kafka_messages.served("FetchRequest")) == (range(19), range(4, 19))
    assert (list(kafka_messages.versions("StopReplicaRequest")), list(kafka_messages.served("StopReplicaRequest"))) == (
        [0, 1, 2, 3, 4],
        [],
    )
    assert kafka_messages.response(3, 12) is MetadataResponse
    assert kafka_messages.request(3, 12).NAME == "MetadataRequest"
    assert "OffsetCommitValue" in kafka_messages.names()


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda: kafka_messages.message("Nothing", 0), "kafka_messages has no message named 'Nothing'"),
        (
            lambda: kafka_messages.message("MetadataResponse", 14),
            "unknown version 14 of MetadataResponse in kafka_messages; known versions are 0 to 13",
        ),
        (
            lambda: kafka_messages.request(4, 8),
            "unknown version 8 of LeaderAndIsrRequest in kafka_messages; known versions are 0 to 7",
        ),
        (lambda: kafka_messages.served("Nothing"), "kafka_messages has no message named 'Nothing'"),
        (lambda: kafka_messages.response(1234, 0), "no response with API key 1234"),
        (
            lambda: kafka_messages.request_header_version(3, 99),
            "unknown version 99 of MetadataRequest in kafka_messages",
        ),
        (lambda: kafka_messages.versions(""), "no message named ''"),
    ],
)
def test_what_the_registry_does_not_have_is_said_plainly(ask: object, answer: str) -> None:
    with pytest.raises(kipwire.UnsupportedVersionError, match=answer.replace("(", r"\(")):
        ask()  # type: ignore[operator]


def test_a_message_without_a_version_says_how_to_import_one() -> None:
    with pytest.raises(ImportError) as caught:
        from kafka_messages import MetadataRequest  # type: ignore[attr-defined] # noqa: F401
    assert str(caught.value).endswith(": from kafka_messages.metadata_request.v13 import MetadataRequest")
    with pytest.raises(
        ImportError, match=r"RequestHeader has a class for each version; .*header.v2 import RequestHead"
    ):
        from kafka_messages import RequestHeader  # type: ignore[attr-defined] # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'MetadataReqest'"):
        from kafka_messages import MetadataReqest  # type: ignore[attr-defined] # noqa: F401
    with pytest.raises(AttributeError, match="no attribute 'MetadataReqest'; did you mean MetadataRequest"):
        kafka_messages.MetadataReqest  # type: ignore[attr-defined] # noqa: B018
    assert not hasattr(kafka_messages, "__wrapped__")


@pytest.mark.parametrize("module", [kipwire, kafka_messages], ids=lambda module: module.__name__)
def test_what_is_offered_is_the_public_names_alone(module: ModuleType) -> None:
    assert sorted(dir(module)) == sorted(module.__all__)
    assert not [name for name in module.__all__ if not hasattr(module, name)]
    assert not {"Entry", "LazyStruct", "DEFAULT", "slots_of", "annotations", "TYPE_CHECKING"} & {*dir(module)}


def test_a_registry_says_whose_it_is() -> None:
    assert repr(kafka_messages.REGISTRY) == f"<Registry of kafka_messages: {len(kafka_messages.names())} messages>"


@pytest.mark.parametrize(
    "frame", [b"", b"\0\3\0", b"\x7f\xff\0\0\0\0\0\1", b"\0\3\0\x63\0\0\0\1\0\0", b"\0\4\0\x08\0\0\0\1\0\0"]
)
def test_frames_that_are_none_are_refused(frame: bytes) -> None:
    with pytest.raises(kipwire.DecodeError):
        kafka_messages.decode_request(frame)


def test_offsets_in_frames_count_from_their_start() -> None:
    frame = kafka_messages.encode_request(kafka_messages.message("MetadataRequest", 12)(), 1, "me")
    with pytest.raises(kipwire.DecodeError, match="trailing byte") as caught:
        kafka_messages.decode_request(frame + b"x")
    assert caught.value.offset == len(frame)
    with pytest.raises(kipwire.DecodeError) as caught:
        kafka_messages.decode_request(frame[:-1])
    assert caught.value.offset == len(frame) - 1


def test_docstrings_say_what_the_message_and_its_fields_are_for() -> None:
    assert (inspect.getdoc(MetadataResponse) or "").startswith("A broker's view of the cluster")
    assert v11.MetadataResponse.__doc__ == v9.MetadataResponse.__doc__
    assert set(MetadataResponse.__slots__) == {field.name for field in MetadataResponse.ATTRIBUTES}
    for cls in (MetadataResponse, v11.MetadataResponse, PartitionData, RecordBatch):
        assert {field.name: inspect.getdoc(getattr(cls, field.name)) for field in cls.ATTRIBUTES} == {
            field.name: field.about for field in cls.ATTRIBUTES
        }
        assert all(field.about for field in cls.ATTRIBUTES)


@pytest.mark.parametrize("cls", [MetadataResponse, v11.MetadataResponse, PartitionData, RecordBatch])
def test_help_shows_the_text_of_each_field_once(cls: type[kipwire.Struct]) -> None:
    lines = [line.strip(" |") for line in pydoc.plain(pydoc.render_doc(cls)).splitlines()]
    for field in cls.ATTRIBUTES:
        assert [line for line, before in zip(lines[1:], lines, strict=False) if before == field.name] == [field.about]
        assert lines.count(field.about) == 1


SLOW_TO_IMPORT = {"contextlib", "dataclasses", "importlib.metadata", "inspect", "logging", "pathlib", "typing"}
"""Modules of the standard library that a first message does not need; each takes a noticeable part of its time."""


def modules_after(program: str) -> set[str]:
    """Return the modules that a new process has after a program, without any that an environment adds."""
    environment = {**path(), "KIPWIRE_NATIVE": "1" if native.in_use else "0"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"{program}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert not done.returncode, done.stderr
    return set(done.stdout.split())


def test_importing_one_message_imports_no_other_and_nothing_heavy() -> None:
    modules = modules_after(
        "from kafka_messages.metadata_response.v12 import MetadataResponse as M; M.decode(M().encode())"
    )
    expected = {
        *("kafka_messages", "kafka_messages.metadata_response", "kafka_messages.metadata_response.v12"),
        *("kipwire", "kipwire.model.abi", "kipwire.model.errors", "kipwire.message.messages", "kipwire.message.native"),
        *(
            "kipwire.message",
            "kipwire.message.catalogue",
            "kipwire.message.registry",
            "kipwire.model",
            "kipwire.model.lazy",
            "kipwire.model.structs",
        ),
        "kipwire.description",
        *("kipwire.tools", "kipwire.tools.text"),
        *("kipwire.codec", "kipwire.codec.arrays", "kipwire.codec.uuids", "kipwire.codec.wire"),
    }
    if native.in_use:
        expected |= {
            "kipwire._kernel",
            "kipwire.codec.empty_elements",
            "kipwire.description.plan",
            "kipwire.model.types",
        }
    assert {name for name in modules if name.startswith(("kafka", "kip"))} == expected
    assert not modules & SLOW_TO_IMPORT


@pytest.mark.parametrize(
    "program",
    [
        "from kafka_messages.metadata_response.v12 import MetadataResponse as M, MetadataResponseBroker as Broker\n"
        "M.decode(M(brokers=[Broker() for _ in range(100)]).encode())",
        "import kafka_messages\nM = kafka_messages.message('FetchRequest', 17)\nM.decode(M().encode())",
    ],
    ids=["a long array", "lazy structs"],
)
def test_a_first_message_imports_nothing_that_is_slow_to_import(program: str) -> None:
    assert not modules_after(program) & SLOW_TO_IMPORT


def test_a_message_without_uuids_needs_little_of_the_standard_library() -> None:
    modules = modules_after(
        "from kafka_messages.heartbeat_request.v4 import HeartbeatRequest as M; M.decode(M().encode())"
    )
    assert not modules & {"uuid", "enum", "re", *SLOW_TO_IMPORT}


def test_frames_without_an_error_import_nothing_that_explains_errors() -> None:
    modules = modules_after(
        "import kafka_messages as k\nfrom kafka_messages.heartbeat_request.v4 import HeartbeatRequest as M\n"
        "k.decode_request(k.encode_request(M(), 1))"
    )
    assert "kipwire.message.frames" in modules
    assert "kipwire.message.frame_errors" not in modules


def path() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}

"""Facts of the history of Kafka's specs, as small pairs of specs in our own words, with the verdict on each.

Each row has the issue, proposal or release that made the change, the spec before and after it cut down to what changed,
and all that `kipgen compat` must find, each finding by its severity, its rule and the path below the message.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kipgen.reading.rules.examples import field_of as field
from kipgen.reading.rules.examples import spec


class Fact(NamedTuple):
    """A change of Kafka's specs, and the verdict on it."""

    old: str
    new: str
    found: frozenset[tuple[str, str, str]]


def fact(old: str, new: str, *found: str) -> Fact:
    """Make a fact; each finding is its severity, its rule and a path below the message, which may be left out."""
    parts = [one.split() for one in found]
    return Fact(old, new, frozenset((part[0], part[1], "".join(part[2:])) for part in parts))


def request(name: str, key: int, valid: str, *fields: str, flexible: str = "none", more: str = "") -> str:
    return spec(
        *fields, name=f"{name}Request", type_="request", valid=valid, flexible=flexible, more=f'"apiKey": {key}{more}'
    )


def response(name: str, key: int, valid: str, *fields: str, flexible: str = "none") -> str:
    return spec(
        *fields, name=f"{name}Response", type_="response", valid=valid, flexible=flexible, more=f'"apiKey": {key}'
    )


def record(name: str, key: int, *fields: str, valid: str = "0", flexible: str = "0+") -> str:
    return spec(*fields, name=name, type_="metadata", valid=valid, flexible=flexible, more=f'"apiKey": {key}')


def data(name: str, *fields: str, valid: str = "0", flexible: str = "0+") -> str:
    return spec(*fields, name=name, type_="data", valid=valid, flexible=flexible)


def tagged(type_: str, name: str, tag: int, versions: str, **more: Any) -> str:
    return field(type_, name, versions, tag=tag, taggedVersions=versions, **more)


TOPIC, INDEX, CODE = field("string", "Name"), field("int32", "Index"), field("int16", "ErrorCode")
ID = field("string", "TransactionalId", nullableVersions="0+")
SESSION = '{"name": "%s", "type": "int64", "versions": "%s", "default": "-1"}'


def header(*fields: str, own: bool) -> str:
    more: dict[str, Any] = {"flexibleVersions": "none"} if own else {}
    client = field("string", "ClientId", "1+", nullableVersions="1+", ignorable=True, **more)
    return spec(
        field("int16", "RequestApiKey"),
        client,
        *fields,
        name="RequestHeader",
        type_="header",
        valid="0-2",
        flexible="2+",
    )


def fetched(*fields: str, valid: str = "0-11", flexible: str = "12+") -> str:
    partition = field("[]PartitionData", "Partitions", fields=list(fields))
    return response("Fetch", 1, valid, field("[]TopicData", "Responses", fields=[TOPIC, partition]), flexible=flexible)


HEAD = (
    INDEX,
    CODE,
    field("int64", "HighWatermark"),
    field("int64", "LastStableOffset", "4+"),
    field("int64", "LogStartOffset", "5+"),
    field("[]Aborted", "AbortedTransactions", "4+", nullableVersions="4+", fields=[field("int64", "ProducerId", "4+")]),
    field("int32", "PreferredReadReplica", "11+"),
)

BROKEN_BYTES = {
    "KAFKA-9229, a released version got two fields": fact(
        request("InitProducerId", 22, "0-2", ID, flexible="2+"),
        request(
            "InitProducerId",
            22,
            "0-2",
            ID,
            SESSION % ("ProducerId", "2+"),
            SESSION % ("ProducerEpoch", "2+"),
            flexible="2+",
        ),
        "wire field-added ProducerId",
        "wire field-added ProducerEpoch",
    ),
    "KAFKA-9229, and it gets them in a new version instead": fact(
        request("InitProducerId", 22, "0-2", ID, flexible="2+"),
        request(
            "InitProducerId",
            22,
            "0-3",
            ID,
            SESSION % ("ProducerId", "3+"),
            SESSION % ("ProducerEpoch", "3+"),
            flexible="2+",
        ),
        "notice versions-added",
        "notice new-field-not-ignorable ProducerId",
        "notice new-field-not-ignorable ProducerEpoch",
    ),
    "KAFKA-8885, the header's string became compact": fact(
        header(own=True), header(own=False), "wire length-form-changed ClientId"
    ),
    "KAFKA-8885, and the way back": fact(header(own=False), header(own=True), "wire length-form-changed ClientId"),
    "KIP-590, the header's tags were taken back": fact(
        header(tagged("string", "InitialPrincipal", 0, "2+"), tagged("string", "InitialClient", 1, "2+"), own=True),
        header(own=True),
        "wire tag-forgotten InitialPrincipal",
        "wire tag-forgotten InitialClient",
    ),
    "KIP-595, a tag of a number became a struct's": fact(
        fetched(INDEX, tagged("int64", "TruncationOffset", 0, "12+"), valid="0-12"),
        fetched(INDEX, tagged("EpochEnd", "DivergingEpoch", 0, "12+", fields=[field("int32", "Epoch")]), valid="0-12"),
        "wire tag-reused Responses.Partitions.DivergingEpoch",
    ),
    "KIP-584, a tagged epoch grew from 32 to 64 bits": fact(
        response("ApiVersions", 18, "0-3", CODE, tagged("int32", "FinalizedEpoch", 1, "3+"), flexible="3+"),
        response("ApiVersions", 18, "0-3", CODE, tagged("int64", "FinalizedEpoch", 1, "3+"), flexible="3+"),
        "wire type-changed FinalizedEpoch",
    ),
    "KIP-516, a uuid was a string first": fact(
        record("TopicRecord", 2, field("string", "TopicId")),
        record("TopicRecord", 2, field("uuid", "TopicId")),
        "wire type-changed TopicId",
    ),
    "Kafka 3.0, a record's version 0 became flexible": fact(
        record("TopicRecord", 2, TOPIC, flexible="none"),
        record("TopicRecord", 2, TOPIC),
        "wire flexible-versions-changed",
    ),
    "Kafka 3.0, flexible and nullable at once are two changes": fact(
        record("ConfigRecord", 4, TOPIC, field("string", "Value"), flexible="none"),
        record("ConfigRecord", 4, TOPIC, field("string", "Value", nullableVersions="0+")),
        "wire flexible-versions-changed",
        "wire nullability-changed Value",
    ),
    "Kafka 3.0, replicas may no longer be null": fact(
        record("PartitionRecord", 3, field("[]int32", "AddingReplicas", nullableVersions="0+")),
        record("PartitionRecord", 3, field("[]int32", "AddingReplicas")),
        "wire nullability-changed AddingReplicas",
    ),
    "Kafka 3.0, a broker is registered as fenced": fact(
        record("RegisterBrokerRecord", 0, INDEX),
        record("RegisterBrokerRecord", 0, INDEX, field("bool", "Fenced", default="true")),
        "wire field-added Fenced",
    ),
    "Kafka 2.8, voters are counted": fact(
        data("LeaderChangeMessage", INDEX, field("[]int32", "Voters")),
        data("LeaderChangeMessage", INDEX, field("[]int32", "Voters"), field("[]int32", "GrantingVoters")),
        "wire field-added GrantingVoters",
    ),
    "KAFKA-13053, records of a preview went back to version 0": fact(
        record("TopicRecord", 2, TOPIC, valid="0-1", flexible="1+"),
        record("TopicRecord", 2, TOPIC),
        "wire highest-version-lowered",
        "wire flexible-versions-changed",
    ),
    "Kafka 3.0, a message got a version of its own in front": fact(
        data("LeaderChangeMessage", INDEX),
        data("LeaderChangeMessage", field("int16", "Version"), INDEX),
        "wire field-added Version",
    ),
    "Kafka 2.8, the one who asks was told twice": fact(
        request("EndQuorumEpoch", 54, "0", field("int32", "ReplicaId"), field("int32", "LeaderId")),
        request("EndQuorumEpoch", 54, "0", field("int32", "LeaderId")),
        "wire field-removed ReplicaId",
    ),
    "Kafka 3.3, a feature has one level instead of two": fact(
        record("FeatureLevelRecord", 12, TOPIC, field("int16", "MinLevel"), field("int16", "MaxLevel")),
        record("FeatureLevelRecord", 12, TOPIC, field("int16", "Level")),
        "notice field-renamed Level",
        "wire field-removed MaxLevel",
    ),
    "Kafka 3.5, credentials are fields instead of a list": fact(
        record("UserScramCredentialRecord", 11, TOPIC, field("[]Info", "Infos", fields=[field("bytes", "Salt")])),
        record("UserScramCredentialRecord", 11, TOPIC, field("int8", "Mechanism"), field("bytes", "Salt")),
        "wire field-removed Infos",
        "wire field-added Mechanism",
        "wire field-added Salt",
    ),
    "KIP-848, a preview's record was made anew": fact(
        data("CurrentAssignmentValue", INDEX, field("int8", "Error"), field("bytes", "Metadata")),
        data("CurrentAssignmentValue", INDEX, field("int32", "PreviousEpoch"), field("string", "State")),
        "wire field-removed Error",
        "wire field-removed Metadata",
        "wire field-added PreviousEpoch",
        "wire field-added State",
    ),
    "KIP-405, a segment's metadata got a field": fact(
        data("RemoteLogSegmentMetadataRecord", INDEX, TOPIC),
        data(
            "RemoteLogSegmentMetadataRecord",
            INDEX,
            field("bytes", "Custom", nullableVersions="0+", default="null"),
            TOPIC,
        ),
        "wire field-added Custom",
    ),
    "Kafka 4.1, an epoch grew from 16 bits without sign to 32": fact(
        data("ShareSnapshotValue", field("uint16", "SnapshotEpoch")),
        data("ShareSnapshotValue", field("int32", "SnapshotEpoch")),
        "wire type-changed SnapshotEpoch",
    ),
    "KAFKA-9577, a version was taken back": fact(
        request("SaslHandshake", 17, "0-2", TOPIC, flexible="2+"),
        request("SaslHandshake", 17, "0-1", TOPIC),
        "wire highest-version-lowered",
    ),
    "KAFKA-17245, an unstable version was taken back": fact(
        request("Fetch", 1, "0-17", TOPIC, flexible="12+", more=', "latestVersionUnstable": true'),
        request("Fetch", 1, "0-16", TOPIC, flexible="12+"),
        "notice highest-version-lowered",
    ),
    "KAFKA-19057, stable as it was, after a release": fact(
        request("ShareFetch", 78, "0", TOPIC, flexible="0+"),
        request("ShareFetch", 78, "0", field("string", "Name", nullableVersions="0+"), flexible="0+"),
        "wire nullability-changed Name",
    ),
    "Kafka 4.1, versions that 4.0 had dropped came back": fact(
        request("JoinGroup", 11, "2-9", TOPIC, flexible="6+"),
        request("JoinGroup", 11, "0-9", TOPIC, flexible="6+"),
        "wire lowest-version-lowered",
    ),
    "linkedin/kafka#542, a fork's version 3 is not its origin's": fact(
        request("LeaderAndIsr", 4, "0-3", INDEX, field("int64", "MaxBrokerEpoch", "3+")),
        request("LeaderAndIsr", 4, "0-3", INDEX),
        "wire field-removed MaxBrokerEpoch",
    ),
    "linkedin/kafka#542, a tag that the origin lacks": fact(
        fetched(INDEX, tagged("string", "Zone", 9, "12+"), valid="0-12"),
        fetched(INDEX, valid="0-12"),
        "wire tag-forgotten Responses.Partitions.Zone",
    ),
}
"""Changes of bytes, most of them before a release or in previews, and two of a fork."""

CHANGED_CODE = {
    "KAFKA-10669, the number of offsets is 1 unless said": fact(
        request("ListOffset", 2, "0-5", INDEX, field("int32", "MaxNumOffsets", "0", default="0")),
        request("ListOffset", 2, "0-5", INDEX, field("int32", "MaxNumOffsets", "0", default="1")),
        "source default-changed MaxNumOffsets",
    ),
    "KAFKA-8286, elections of other leaders": fact(
        request("ElectPreferredLeaders", 43, "0", TOPIC),
        request("ElectLeaders", 43, "0", TOPIC),
        "source message-renamed",
    ),
    "Kafka 3.2, more than the ISR is altered": fact(
        request("AlterIsr", 56, "0", field("int32", "CurrentIsrVersion"), flexible="0+"),
        request("AlterPartition", 56, "0", field("int32", "PartitionEpoch"), flexible="0+"),
        "source message-renamed",
        "notice field-renamed PartitionEpoch",
    ),
    "KIP-1142, resources of every kind are listed": fact(
        request("ListClientMetricsResources", 74, "0", TOPIC, flexible="0+"),
        request("ListConfigResources", 74, "0-1", TOPIC, field("[]int8", "Types", "1+"), flexible="0+"),
        "source message-renamed",
        "notice versions-added",
        "notice new-field-not-ignorable Types",
    ),
    "KAFKA-9629, a partition's numbers moved into a struct": fact(
        fetched(*HEAD, field("bytes", "Records", nullableVersions="0+")),
        fetched(
            field("Head", "PartitionHeader", fields=list(HEAD)), field("records", "RecordSet", nullableVersions="0+")
        ),
        "source type-same-bytes Responses.Partitions.PartitionHeader",
        "source type-same-bytes Responses.Partitions.RecordSet",
        "notice field-renamed Responses.Partitions.RecordSet",
    ),
    "KAFKA-9629, and out of it again": fact(
        fetched(
            field("Head", "PartitionHeader", fields=list(HEAD)), field("records", "RecordSet", nullableVersions="0+")
        ),
        fetched(*HEAD, field("records", "RecordSet", nullableVersions="0+")),
        "source type-same-bytes Responses.Partitions.Index",
    ),
    "Kafka 2.6, a struct of one group of versions": fact(
        request("StopReplica", 5, "0-2", field("[]StopReplicaTopic", "Topics", "1+", fields=[TOPIC])),
        request("StopReplica", 5, "0-2", field("[]StopReplicaTopicV1", "Topics", "1+", fields=[TOPIC])),
        "source struct-renamed Topics",
    ),
    "Kafka 3.5, the replica moved into a tagged state": fact(
        request("Fetch", 1, "0-14", field("int32", "ReplicaId"), INDEX, flexible="12+"),
        request(
            "Fetch",
            1,
            "0-15",
            field("int32", "ReplicaId", "0-14", default="-1"),
            INDEX,
            tagged("State", "ReplicaState", 1, "15+", fields=[field("int32", "ReplicaId", "15+", default="-1")]),
            flexible="12+",
        ),
        "source default-changed ReplicaId",
        "notice versions-added",
        "notice new-field-not-ignorable ReplicaState",
    ),
    "Kafka 3.0, a topic's name may be null from version 6 on": fact(
        request("DeleteTopics", 20, "0-6", field("string", "Name", nullableVersions="0+")),
        request("DeleteTopics", 20, "0-6", field("string", "Name", nullableVersions="0+", default="null")),
        "source default-changed Name",
    ),
}
"""Changes of code with the same bytes."""

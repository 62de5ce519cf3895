"""Facts of the history of Kafka's specs that break nothing by themselves; for the form see `kafka_history`."""

from __future__ import annotations

from kipgen.reading.rules.examples import field_of as field
from kipgen.reading.rules.examples import spec
from tests.support.subjects.kafka_history import CODE, ID, INDEX, TOPIC, data, fact, record, request, response, tagged

NO_HARM = {
    "Kafka 2.6, a name was misspelt": fact(
        request("DescribeConfigs", 32, "0-2", TOPIC, field("bool", "IncludeSynoyms", "1+")),
        request("DescribeConfigs", 32, "0-2", TOPIC, field("bool", "IncludeSynonyms", "1+")),
        "notice field-renamed IncludeSynonyms",
    ),
    "Kafka 3.7, a name lacked its capital": fact(
        request("OffsetFetch", 9, "8", field("string", "groupId"), flexible="6+"),
        request("OffsetFetch", 9, "8", field("string", "GroupId"), flexible="6+"),
        "notice field-respelled GroupId",
    ),
    "KAFKA-14402, old fields say up to which version": fact(
        request("AddPartitionsToTxn", 24, "0-3", ID, field("int64", "ProducerId"), flexible="3+"),
        request(
            "AddPartitionsToTxn",
            24,
            "0-4",
            field("string", "V3TransactionalId", "0-3", nullableVersions="0-3"),
            field("int64", "V3ProducerId", "0-3"),
            field("[]Transaction", "Transactions", "4+", fields=[ID]),
            flexible="3+",
        ),
        "notice field-renamed V3TransactionalId",
        "notice field-renamed V3ProducerId",
        "notice versions-added",
        "notice new-field-not-ignorable Transactions",
    ),
    "Kafka 2.5, topics are found by their names": fact(
        request("DescribeLogDirs", 35, "0-1", field("[]Topic", "Topics", fields=[TOPIC])),
        request(
            "DescribeLogDirs", 35, "0-1", field("[]Topic", "Topics", fields=[field("string", "Name", mapKey=True)])
        ),
        "notice map-key-changed Topics.Name",
    ),
    "Kafka 3.0, numbers say whose they are": fact(
        request("WriteTxnMarkers", 27, "0-1", field("int64", "ProducerId"), flexible="1+"),
        request("WriteTxnMarkers", 27, "0-1", field("int64", "ProducerId", entityType="producerId"), flexible="1+"),
        "notice entity-type-changed ProducerId",
    ),
    "KAFKA-16094, log directories were not ignorable": fact(
        request("BrokerRegistration", 62, "0-2", INDEX, field("[]uuid", "LogDirs", "2+"), flexible="0+"),
        request(
            "BrokerRegistration", 62, "0-2", INDEX, field("[]uuid", "LogDirs", "2+", ignorable=True), flexible="0+"
        ),
        "notice ignorable-changed LogDirs",
    ),
    "KAFKA-15859, nor was a timeout": fact(
        request("ListOffsets", 2, "1-10", INDEX, field("int32", "TimeoutMs", "10+"), flexible="6+"),
        request("ListOffsets", 2, "1-10", INDEX, field("int32", "TimeoutMs", "10+", ignorable=True), flexible="6+"),
        "notice ignorable-changed TimeoutMs",
    ),
    "KAFKA-12515, nor were features": fact(
        response(
            "ApiVersions", 18, "0-3", CODE, tagged("[]Feature", "Supported", 0, "3+", fields=[TOPIC]), flexible="3+"
        ),
        response(
            "ApiVersions",
            18,
            "0-3",
            CODE,
            tagged("[]Feature", "Supported", 0, "3+", ignorable=True, fields=[TOPIC]),
            flexible="3+",
        ),
        "notice ignorable-changed Supported",
    ),
    "KAFKA-9297, a broker always sets what version 5 of a response brought": fact(
        response("CreateTopics", 19, "0-5", TOPIC, field("int16", "ConfigError", "5+"), flexible="5+"),
        response("CreateTopics", 19, "0-5", TOPIC, field("int16", "ConfigError", "5+", ignorable=True), flexible="5+"),
        "notice ignorable-changed ConfigError",
    ),
    "KAFKA-10239, so it does with a member's name": fact(
        response(
            "DescribeGroups",
            15,
            "0-5",
            TOPIC,
            field("string", "InstanceId", "4+", nullableVersions="4+"),
            flexible="5+",
        ),
        response(
            "DescribeGroups",
            15,
            "0-5",
            TOPIC,
            field("string", "InstanceId", "4+", nullableVersions="4+", ignorable=True),
            flexible="5+",
        ),
        "notice ignorable-changed InstanceId",
    ),
    "KAFKA-10669, consumers set the epoch for old brokers, too": fact(
        request("ListOffset", 2, "0-5", INDEX, field("int32", "LeaderEpoch", "4+", default="0")),
        request("ListOffset", 2, "0-5", INDEX, field("int32", "LeaderEpoch", "4+", default="0", ignorable=True)),
        "notice ignorable-changed LeaderEpoch",
    ),
    "KAFKA-17276, and a tagged field is not ignorable by being tagged": fact(
        request("Fetch", 1, "0-17", INDEX, tagged("uuid", "DirectoryId", 0, "17+"), flexible="12+"),
        request("Fetch", 1, "0-17", INDEX, tagged("uuid", "DirectoryId", 0, "17+", ignorable=True), flexible="12+"),
        "notice ignorable-changed DirectoryId",
    ),
    "KIP-939, a released version that is still unstable is taken back": fact(
        request(
            "InitProducerId",
            22,
            "0-6",
            ID,
            field("bool", "Enable2Pc", "6+"),
            flexible="2+",
            more=', "latestVersionUnstable": true',
        ),
        request("InitProducerId", 22, "0-5", ID, flexible="2+"),
        "notice highest-version-lowered",
    ),
    "KIP-853, a vote tells more in a new version": fact(
        request("Vote", 52, "0", field("int32", "CandidateId"), flexible="0+"),
        request(
            "Vote",
            52,
            "0-1",
            field("int32", "ReplicaId"),
            field("uuid", "DirectoryId", "1+", ignorable=True),
            flexible="0+",
        ),
        "notice field-renamed ReplicaId",
        "notice versions-added",
    ),
    "KIP-516, topics have ids from one version on, and names before": fact(
        request("Fetch", 1, "0-12", field("[]Topic", "Topics", fields=[TOPIC]), flexible="12+"),
        request(
            "Fetch",
            1,
            "0-13",
            field(
                "[]Topic",
                "Topics",
                fields=[
                    field("string", "Name", "0-12", ignorable=True),
                    field("uuid", "TopicId", "13+", ignorable=True),
                ],
            ),
            flexible="12+",
        ),
        "notice versions-added",
        "notice ignorable-changed Topics.Name",
    ),
    "KAFKA-16094, what was wrong from the start": fact(
        request("BrokerRegistration", 62, "0-1", INDEX, flexible="0+"),
        request("BrokerRegistration", 62, "0-2", INDEX, field("[]uuid", "LogDirs", "2+"), flexible="0+"),
        "notice versions-added",
        "notice new-field-not-ignorable LogDirs",
    ),
    "KIP-896, old versions and their fields were dropped": fact(
        request("ListOffsets", 2, "0-9", INDEX, field("int32", "MaxNumOffsets", "0", default="1"), flexible="6+"),
        request("ListOffsets", 2, "1-9", INDEX, flexible="6+"),
        "notice lowest-version-raised",
    ),
    "KAFKA-13143, controllers answer no metadata": fact(
        request(
            "Metadata", 3, "0-12", TOPIC, flexible="9+", more=', "listeners": ["zkBroker", "broker", "controller"]'
        ),
        request("Metadata", 3, "0-12", TOPIC, flexible="9+", more=', "listeners": ["zkBroker", "broker"]'),
        "notice listeners-narrowed",
    ),
    "Kafka 4.0, no broker speaks with ZooKeeper": fact(
        request("Produce", 0, "3-12", TOPIC, flexible="9+", more=', "listeners": ["zkBroker", "broker"]'),
        request("Produce", 0, "3-12", TOPIC, flexible="9+", more=', "listeners": ["broker"]'),
        "notice listeners-narrowed",
    ),
    "Kafka 4.0, a request and its fields were retired": fact(
        request(
            "UpdateMetadata",
            6,
            "0-8",
            INDEX,
            tagged("int8", "Type", 0, "8+"),
            flexible="6+",
            more=', "listeners": ["zkBroker"]',
        ),
        request("UpdateMetadata", 6, "none", flexible="none").replace(field("int32"), ""),
        "notice message-retired",
    ),
    "KIP-848, an unstable version lost fields": fact(
        request(
            "ConsumerGroupHeartbeat",
            68,
            "0",
            INDEX,
            field("string", "Regex", nullableVersions="0+"),
            flexible="0+",
            more=', "latestVersionUnstable": true',
        ),
        request("ConsumerGroupHeartbeat", 68, "0", INDEX, flexible="0+"),
        "notice field-removed Regex",
    ),
    "Kafka 4.2, an unstable version reads null as empty": fact(
        request(
            "StreamsGroupHeartbeat",
            88,
            "0",
            field("[]int8", "Status", nullableVersions="0+", default="null"),
            flexible="0+",
            more=', "latestVersionUnstable": true',
        ),
        request("StreamsGroupHeartbeat", 88, "0", field("[]int8", "Status", nullableVersions="0+"), flexible="0+"),
        "notice default-changed Status",
    ),
    "KAFKA-19057, an unstable version 0 is stable as 1": fact(
        request("ShareFetch", 78, "0", TOPIC, flexible="0+", more=', "latestVersionUnstable": true'),
        request("ShareFetch", 78, "1", INDEX, flexible="0+"),
        "notice versions-added",
        "notice lowest-version-raised",
    ),
    "KIP-915, an offset's record got a version": fact(
        data("OffsetCommitValue", TOPIC, valid="0-3", flexible="none"),
        data("OffsetCommitValue", TOPIC, valid="0-4", flexible="4+"),
        "notice version-not-negotiated",
    ),
    "KIP-915, and so did a topic's with a tag": fact(
        record("PartitionRecord", 3, INDEX),
        record("PartitionRecord", 3, INDEX, tagged("int8", "RecoveryState", 0, "0+")),
    ),
    "KIP-345, a name that old members lack reads as empty": fact(
        request("Heartbeat", 12, "0-2", TOPIC),
        request(
            "Heartbeat", 12, "0-3", TOPIC, field("string", "InstanceId", "3+", nullableVersions="3+", ignorable=True)
        ),
        "notice versions-added",
        "notice new-field-reads-empty InstanceId",
    ),
    "KAFKA-17764, ignorable where no version lacks the field": fact(
        request("ShareFetch", 78, "0", field("int32", "MaxBytes", ignorable=True), flexible="0+"),
        request("ShareFetch", 78, "0", field("int32", "MaxBytes"), flexible="0+"),
    ),
    "Kafka 3.8, a tagged field's name lost its capitals": fact(
        record("PartitionRecord", 3, INDEX, tagged("[]int32", "LastKnownELR", 2, "2+"), valid="0-2"),
        record("PartitionRecord", 3, INDEX, tagged("[]int32", "LastKnownElr", 2, "2+"), valid="0-2"),
        "notice field-respelled LastKnownElr",
    ),
    "KAFKA-18301, a coordinator's value has a type of its own": fact(
        data("GroupMetadataValue", TOPIC),
        spec(TOPIC, name="GroupMetadataValue", type_="coordinator-value", valid="0", flexible="0+", more='"apiKey": 2'),
        "notice data-type-given",
    ),
    "KAFKA-18301, and its key has one version": fact(
        data("GroupMetadataKey", TOPIC, valid="2", flexible="none"),
        spec(TOPIC, name="GroupMetadataKey", type_="coordinator-key", valid="0", flexible="none", more='"apiKey": 2'),
        "notice data-type-given",
    ),
}
"""Changes that break nothing by themselves."""

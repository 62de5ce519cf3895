"""Our tables of names beside those in Kafka's jars: the same numbers and names, and the same errors can be retried."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from kafka_messages import enums
from kipwire.model.enums import NamedNumber
from tests.support.kafka_jars import fetch_jars
from tests.support.places import SUPPORT

pytestmark = pytest.mark.maven

PROGRAM = SUPPORT / "java" / "EnumTables.java"
ARTIFACTS = (
    "kafka-clients",
    "kafka-group-coordinator",
    "kafka-group-coordinator-api",
    "kafka-metadata",
    "kafka-server",
    "kafka-server-common",
    "kafka-share-coordinator",
    "kafka-storage",
    "kafka-storage-api",
    "kafka-transaction-coordinator",
)
TABLES = {
    "AcknowledgeType": "clients.consumer.AcknowledgeType#id",
    "AclOperation": "common.acl.AclOperation#code",
    "AclPatternType": "common.resource.PatternType#code",
    "AclPermissionType": "common.acl.AclPermissionType#code",
    "AclResourceType": "common.resource.ResourceType#code",
    "ApiKey": "common.protocol.ApiKeys#id",
    "CompressionType": "common.record.internal.CompressionType#id",
    "ConfigOperation": "clients.admin.AlterConfigOp$OpType#id",
    "ConfigResourceType": "common.config.ConfigResource$Type#id",
    "ConfigSource": "common.requests.DescribeConfigsResponse$ConfigSource#id",
    "ConfigType": "common.requests.DescribeConfigsResponse$ConfigType#id",
    "ControlRecordType": "common.record.internal.ControlRecordType#type",
    "CoordinatorType": "common.requests.FindCoordinatorRequest$CoordinatorType#id",
    "ElectionType": "common.ElectionType#value",
    "EndpointType": "clients.admin.EndpointType#id",
    "ErrorCode": "common.protocol.Errors#code",
    "FeatureUpgradeType": "clients.admin.FeatureUpdate$UpgradeType#code",
    "GroupMemberState": "coordinator.group.modern.MemberState#value",
    "GroupRecordType": "coordinator.group.generated.CoordinatorRecordType#id",
    "IsolationLevel": "common.IsolationLevel#id",
    "LeaderRecoveryState": "metadata.LeaderRecoveryState#value",
    "ListOffsetsTimestamp": "common.requests.ListOffsetsRequest#*_TIMESTAMP",
    "MetadataRecordType": "common.metadata.MetadataRecordType#id",
    "QuotaMatchType": "common.requests.DescribeClientQuotasRequest#MATCH_TYPE_*",
    "RemoteLogRecordType": "server.log.remote.metadata.storage.generated.MetadataRecordType#id",
    "RemoteLogSegmentState": "server.log.remote.storage.RemoteLogSegmentState#id",
    "RemotePartitionDeleteState": "server.log.remote.storage.RemotePartitionDeleteState#id",
    "ScramMechanism": "clients.admin.ScramMechanism#type",
    "SecurityProtocol": "common.security.auth.SecurityProtocol#id",
    "ShareAcquireMode": "clients.consumer.internals.ShareAcquireMode#id",
    "ShareDeliveryState": "server.share.fetch.RecordState#id",
    "ShareRecordType": "coordinator.share.generated.CoordinatorRecordType#id",
    "StreamsGroupStatus": "common.requests.StreamsGroupHeartbeatResponse$Status#code",
    "StreamsMemberState": "coordinator.group.streams.MemberState#value",
    "StreamsNodeType": "coordinator.group.streams.StreamsGroupTopologyDescriptionConverter#NODE_TYPE_*",
    "StreamsTopologyDescriptionStatus": "clients.admin.StreamsGroupTopologyDescriptionStatus#id",
    "TimestampType": "common.record.TimestampType#id",
    "TransactionRecordType": "coordinator.transaction.generated.CoordinatorRecordType#id",
    "TransactionState": "coordinator.transaction.TransactionState#id",
}
REMOVED = {"ZkMigrationState": "metadata.migration.ZkMigrationState#value"}
"""Tables that 3.9 was the last release to have, of fields that are still there."""
OURS_ALONE = {
    "AcknowledgeType": {(0, "GAP", "-")},  # written by clients for offsets without a record
    "LeaderRecoveryState": {(-1, "NO_CHANGE", "-")},  # a constant of that class
}
NO_TABLE = {"ConsumerGroupMemberType"}
"""Numbers that Kafka writes without a table."""

Row = tuple[int, str, str]


def kafka_tables(folder: Path, version: str, artifacts: tuple[str, ...], tables: dict[str, str]) -> dict[str, set[Row]]:
    """Number, name, and of errors whether they are retriable, by the argument that asked for them."""
    jars = [*fetch_jars(folder, version, artifacts).values()]
    jars += fetch_jars(folder / "slf4j", "1.7.36", ["slf4j-api"], group="org.slf4j").values()
    arguments = [f"org.apache.kafka.{table}" for table in tables.values()]
    java = str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"
    command = [java, "-cp", ":".join(map(str, jars)), str(PROGRAM), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    found: dict[str, set[Row]] = defaultdict(set)
    for line in done.stdout.splitlines():
        argument, number, name, retriable = line.split("\t")
        found[argument.removeprefix("org.apache.kafka.")].add((int(number), name, retriable))
    return found


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[Row]]:
    """The tables of Kafka 4.4.0, and the removed tables as 3.9.1 had them."""
    folder = tmp_path_factory.mktemp("jars")
    old = kafka_tables(folder, "3.9.1", ("kafka-clients", "kafka-metadata", "kafka-server-common"), REMOVED)
    return kafka_tables(folder, "4.4.0", ARTIFACTS, TABLES) | old


def rows(enum: type[NamedNumber]) -> set[Row]:
    return {(int(one), one.name, str(getattr(one, "retriable", "-")).lower()) for one in enum}


@pytest.mark.parametrize("name", [name for name in enums.__all__ if name not in NO_TABLE])
def test_a_table_is_that_of_kafka(name: str, kafka: dict[str, set[Row]]) -> None:
    theirs = kafka[(TABLES | REMOVED)[name]]
    assert theirs
    assert rows(getattr(enums, name)) - OURS_ALONE.get(name, set()) == theirs


def test_the_errors_that_can_be_retried_are_there_and_others_too(kafka: dict[str, set[Row]]) -> None:
    reported = {retriable for _, _, retriable in kafka[TABLES["ErrorCode"]]}
    assert reported == {"true", "false"}

"""Real clients through a proxy: each produces, reads as a member of a group, and administers as much as it can.

They also make requests that the broker refuses, such as for ACLs without an authorizer: a refusal is a frame, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import Callable, Iterable
from typing import Any

import aiokafka as aio
import confluent_kafka as confluent
import kafka
from confluent_kafka import admin as confluent_admin
from kafka import admin as kafka_admin
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata, TopicPartition

from tests.support.live import broker_traffic as traffic
from tests.support.places import ROOT

COUNT = 100
"""Records of each codec."""
KAFKA_PYTHON: Any = kafka_admin  # whose names are not all seen by type checkers
CONFLUENT: Any = confluent
CONFLUENT_ADMIN: Any = confluent_admin
SECONDS = 30


def _named(client: str, address: str) -> str:
    """Return a topic of this run alone: the port of its proxy is its own."""
    return f"proxied-{client}-{address.rpartition(':')[2]}"


def kafka_python(address: str) -> set[bytes]:
    """Produce with every codec and in transactions, read by group, administer: the values that were read."""
    topic = _named("kafka-python", address)
    with traffic.admin_client(address) as admin:
        admin.create_topics([KAFKA_PYTHON.NewTopic(topic, 2, 1)], wait_for_metadata=True)
    sent = traffic.send_with_kafka_python(address, [topic], COUNT)
    _kafka_python_transaction(address, topic)
    unacknowledged = kafka.KafkaProducer(bootstrap_servers=address, acks=0, linger_ms=10)
    for _ in range(COUNT):
        unacknowledged.send(topic, value=b"not acknowledged")
    unacknowledged.close()
    expected = len(sent) + COUNT
    assert traffic.consume(address, topic, [topic], COUNT) >= expected
    old: Any = kafka.KafkaProducer(bootstrap_servers=address, api_version=(2, 1))  # older versions of all requests
    old.send(topic, value=b"old").get(timeout=SECONDS)
    old.close()
    values = {one.value for one in traffic.read_all(address, [topic])}
    _kafka_python_admin(address, topic)
    assert values >= {one.value for one in sent}
    return {value for value in values if value is not None}


def _kafka_python_transaction(address: str, topic: str) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=address, transactional_id=topic)
    producer.init_transactions()
    for ends in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.send(topic, value=b"in a transaction")
        producer.send_offsets_to_transaction({TopicPartition(topic, 0): OffsetAndMetadata(1, "", -1)}, f"{topic}-paid")
        ends()
    producer.close()


def _kafka_python_admin(address: str, topic: str) -> None:
    k, part = KAFKA_PYTHON, TopicPartition(topic, 0)
    pattern = k.ResourcePattern(k.ResourceType.TOPIC, topic)
    acl = k.ACL("User:me", "*", k.ACLOperation.READ, k.ACLPermissionType.ALLOW, pattern)
    user = ("me", k.ScramMechanism.SCRAM_SHA_256)
    with traffic.admin_client(address) as admin:
        asked: list[Callable[[], Any]] = [
            lambda: admin.describe_cluster(),
            lambda: admin.describe_topics([topic]),
            lambda: admin.describe_topic_partitions([topic]),
            lambda: admin.create_partitions({topic: 3}),
            lambda: admin.alter_configs(
                [k.ConfigResource(k.ConfigResourceType.TOPIC, topic, {"retention.ms": "7200000"})]
            ),
            lambda: admin.describe_configs([k.ConfigResource(k.ConfigResourceType.TOPIC, topic)]),
            lambda: admin.list_config_resources(),
            lambda: admin.list_groups(),
            lambda: admin.describe_groups([topic], include_authorized_operations=True),
            lambda: admin.list_group_offsets({topic: None}),
            lambda: admin.alter_group_offsets(topic, {part: OffsetAndMetadata(1, "", -1)}),
            lambda: admin.delete_group_offsets(topic, [part]),
            lambda: admin.delete_records({part: 1}),
            lambda: admin.list_partition_offsets({part: k.OffsetSpec.LATEST}),
            lambda: admin.describe_producers([part]),
            lambda: admin.list_transactions(),
            lambda: admin.describe_transactions([topic]),
            lambda: admin.describe_log_dirs(),
            lambda: admin.elect_leaders(0, {topic: [0]}, raise_errors=False),
            lambda: admin.list_partition_reassignments(),
            lambda: admin.alter_partition_reassignments({part: [1]}),
            lambda: admin.describe_features(),
            lambda: admin.describe_metadata_quorum(),
            lambda: admin.create_acls([acl]),
            lambda: admin.describe_acls(acl),
            lambda: admin.delete_acls([acl]),
            lambda: admin.alter_user_scram_credentials([k.UserScramCredentialUpsertion(*user, b"secret", 4096)]),
            lambda: admin.describe_user_scram_credentials(["me"]),
            lambda: admin.alter_user_scram_credentials([k.UserScramCredentialDeletion(*user)]),
            lambda: admin.delete_groups([topic]),
            lambda: admin.delete_topics([topic]),
        ]
        for ask in asked:
            with contextlib.suppress(KafkaError):
                ask()


def aiokafka(address: str) -> set[bytes]:
    """Produce with every codec and in a transaction, and read as two members of a group: the values that were read."""
    topic = _named("aiokafka", address)
    with traffic.admin_client(address) as admin:
        admin.create_topics([KAFKA_PYTHON.NewTopic(topic, 2, 1)], wait_for_metadata=True)
    sent = traffic.send_with_aiokafka(address, topic, COUNT)
    values = asyncio.run(_aiokafka(address, topic, len(sent)))
    assert values >= {one.value for one in sent if one.value is not None}
    return values


async def _aiokafka(address: str, topic: str, expected: int) -> set[bytes]:
    async with (
        aio.AIOKafkaProducer(bootstrap_servers=address, transactional_id=topic) as producer,
        producer.transaction(),
    ):
        await producer.send_and_wait(topic, b"in a transaction")
        await producer.send_offsets_to_transaction({aio.TopicPartition(topic, 0): 1}, f"{topic}-paid")
    how: Any = {
        "bootstrap_servers": address,
        "group_id": topic,
        "auto_offset_reset": "earliest",
        "isolation_level": "read_committed",
        "enable_auto_commit": False,
    }
    values: list[bytes] = []
    async with aio.AIOKafkaConsumer(**how) as one, aio.AIOKafkaConsumer(**how) as other:
        for consumer in (one, other):
            consumer.subscribe([topic])
        async with asyncio.timeout(SECONDS * 2):
            while len(values) < expected + 1:
                for consumer in (one, other):
                    found = await consumer.getmany(timeout_ms=200)
                    values += [record.value or b"" for batch in found.values() for record in batch]
                    if found:
                        await consumer.commit()
        for place in one.assignment():
            await one.committed(place)
            await one.end_offsets([place])
    return set(values)


def confluent_kafka(address: str) -> set[bytes]:
    """Produce with every codec and in a transaction, read by both group protocols, administer: the values read."""
    topic = _named("confluent-kafka", address)
    with CONFLUENT_ADMIN.AdminClient({"bootstrap.servers": address}) as client:
        _done(client.create_topics([CONFLUENT_ADMIN.NewTopic(topic, 2, 1)]))
        read = _confluent_kafka(address, topic)
        _confluent_admin(client, topic)
    return read


def _confluent_kafka(address: str, topic: str) -> set[bytes]:
    values = {f"{codec} {number}".encode() * 20 for codec in traffic.CODECS for number in range(COUNT)}
    for codec in traffic.CODECS:
        producer = CONFLUENT.Producer(
            {"bootstrap.servers": address, "compression.type": codec or "none", "enable.idempotence": codec == "lz4"}
        )
        for value in sorted(value for value in values if value.startswith(f"{codec} ".encode())):
            producer.produce(topic, value=value, headers=[("by", codec)])
        assert producer.close(SECONDS)
    producer = CONFLUENT.Producer({"bootstrap.servers": address, "transactional.id": topic})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce(topic, value=b"in a transaction")
    producer.commit_transaction(SECONDS)
    producer.close(SECONDS)
    read: set[bytes] = set()
    for protocol in ("classic", "consumer"):
        read = _confluent_read(address, topic, f"{topic}-{protocol}", protocol, len(values) + 1)
        assert read >= values
    return read


def _confluent_read(address: str, topic: str, group: str, protocol: str, expected: int) -> set[bytes]:
    how = {"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest", "group.protocol": protocol}
    consumer = CONFLUENT.Consumer({**how, "enable.auto.commit": False})
    consumer.subscribe([topic])
    values: list[bytes] = []
    for _ in range(SECONDS * 2):
        for message in consumer.consume(num_messages=COUNT, timeout=1):
            assert message.error() is None, message.error()
            values.append(message.value())
        if len(values) >= expected:
            break
    consumer.commit(asynchronous=False)
    consumer.committed([CONFLUENT.TopicPartition(topic, 0)], timeout=SECONDS)
    consumer.get_watermark_offsets(CONFLUENT.TopicPartition(topic, 0), timeout=SECONDS)
    consumer.close()
    return set(values)


def _confluent_admin(client: Any, topic: str) -> None:
    a, group = CONFLUENT_ADMIN, f"{topic}-classic"
    part = CONFLUENT.TopicPartition(topic, 0, 1)
    acl = (a.ResourceType.TOPIC, topic, a.ResourcePatternType.LITERAL, "User:me", "*")
    permission = (a.AclOperation.READ, a.AclPermissionType.ALLOW)
    config = a.ConfigResource(a.ConfigResource.Type.TOPIC, topic)
    change = a.ConfigResource(
        a.ConfigResource.Type.TOPIC,
        topic,
        incremental_configs=[a.ConfigEntry("retention.ms", "7200000", incremental_operation=a.AlterConfigOpType.SET)],
    )
    scram = a.ScramCredentialInfo(a.ScramMechanism.SCRAM_SHA_256, 4096)
    topics = CONFLUENT.TopicCollection([topic])
    client.list_topics(timeout=SECONDS)
    client.list_groups(timeout=SECONDS)
    for futures in (
        client.describe_cluster(include_authorized_operations=True),
        client.describe_topics(topics, include_authorized_operations=True),
        client.create_partitions([a.NewPartitions(topic, 3)]),
        client.incremental_alter_configs([change]),
        client.alter_configs([a.ConfigResource(a.ConfigResource.Type.TOPIC, topic, set_config={"flush.ms": "50000"})]),
        client.describe_configs([config]),
        client.list_consumer_groups(),
        client.describe_consumer_groups([group], include_authorized_operations=True),
        client.list_consumer_group_offsets([CONFLUENT.ConsumerGroupTopicPartitions(group)]),
        client.alter_consumer_group_offsets([CONFLUENT.ConsumerGroupTopicPartitions(group, [part])]),
        client.delete_records([part]),
        client.list_offsets({CONFLUENT.TopicPartition(topic, 0): a.OffsetSpec.latest()}),
        client.elect_leaders(CONFLUENT.ElectionType.PREFERRED, [part]),
        client.create_acls([a.AclBinding(*acl, *permission)]),
        client.describe_acls(a.AclBindingFilter(*acl, *permission)),
        client.delete_acls([a.AclBindingFilter(*acl, *permission)]),
        client.alter_user_scram_credentials([a.UserScramCredentialUpsertion("me", scram, b"secret", b"salt")]),
        client.describe_user_scram_credentials(["me"]),
        client.alter_user_scram_credentials([a.UserScramCredentialDeletion("me", scram.mechanism)]),
        client.delete_consumer_groups([group]),
        client.delete_topics([topic]),
    ):
        _done(futures)


def _done(futures: Any) -> None:
    """Wait for what was asked for, whether the broker granted it or not."""
    for future in futures.values() if isinstance(futures, dict) else [futures]:
        with contextlib.suppress(CONFLUENT.KafkaException):
            future.result(SECONDS)


def java_tools(address: str) -> set[bytes]:
    """Kafka's own command line tools: the values that its consumer read."""
    topic = group = _named("java", address)
    to, kept = ("--bootstrap-server", address), ("--topic", topic)
    lines = [f"line {number}" for number in range(COUNT)]
    tool("TopicCommand", *to, "--create", *kept, "--partitions", "2")
    for codec in ("none", "zstd"):
        tool("ConsoleProducer", *to, *kept, "--compression-codec", codec, lines=lines)
    load = ("--throughput", "-1", "--record-size", "100", "--num-records", str(COUNT))
    tool("ProducerPerformance", *to, *kept, *load, "--transactional-id", topic, "--transaction-duration-ms", "100")
    until = ("--max-messages", str(3 * COUNT), "--timeout-ms", str(SECONDS * 1000))  # it ends once it has all records
    read: set[bytes] = set()
    for protocol in ("classic", "consumer"):
        by = ("--group", f"{group}-{protocol}", "--from-beginning", "--command-property", f"group.protocol={protocol}")
        text = tool("consumer.ConsoleConsumer", *to, *kept, *by, *until)
        read = {line.encode() for line in text.splitlines()}
        assert read >= {line.encode() for line in lines}
    classic, share = ("--group", f"{group}-classic"), f"{group}-share"
    on_share = ("--entity-type", "groups", "--entity-name", share)
    tool("ConfigCommand", *to, "--alter", *on_share, "--add-config", "share.auto.offset.reset=earliest")
    tool("consumer.ConsoleShareConsumer", *to, *kept, "--group", share, *until)
    for command in (
        ("TopicCommand", "--alter", *kept, "--partitions", "3"),
        ("TopicCommand", "--describe", *kept),
        ("TopicCommand", "--list"),
        ("GetOffsetShell", *kept),
        ("GroupsCommand", "--list"),
        ("consumer.group.ConsumerGroupCommand", "--describe", "--all-groups"),
        ("consumer.group.ConsumerGroupCommand", "--list", "--state"),
        ("consumer.group.ConsumerGroupCommand", "--reset-offsets", *kept, *classic, "--to-earliest", "--execute"),
        ("consumer.group.ConsumerGroupCommand", "--delete", *classic),
        ("consumer.group.ShareGroupCommand", "--describe", "--group", share),
        ("BrokerApiVersionsCommand",),
        ("LogDirsCommand", "--describe"),
        ("MetadataQuorumCommand", "describe", "--status"),
        ("FeatureCommand", "describe"),
        ("ClusterTool", "list-endpoints"),
        ("TransactionsCommand", "list"),
        ("TransactionsCommand", "describe", "--transactional-id", topic),
        ("TransactionsCommand", "describe-producers", *kept, "--partition", "0"),
        ("AclCommand", "--list"),
        ("DelegationTokenCommand", "--describe", "--command-config", "/dev/null"),
        ("ClientMetricsCommand", "--list"),
        ("LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions"),
        *(_configs(topic)),
        ("TopicCommand", "--delete", *kept),
    ):
        tool(command[0], *_with_address(command[0], to, command[1:]))
    return read


def _configs(topic: str) -> Iterable[tuple[str, ...]]:
    """Yield commands that change and describe configs."""
    command = "ConfigCommand"
    on_topic, on_user = ("--entity-type", "topics", "--entity-name", topic), ("--entity-type", "users")
    yield (command, "--alter", *on_topic, "--add-config", "retention.ms=7200000")
    yield (command, "--describe", *on_topic)
    yield (command, "--alter", *on_user, "--entity-name", "me", "--add-config", "SCRAM-SHA-512=[password=secret]")
    yield (command, "--alter", *on_user, "--entity-default", "--add-config", "producer_byte_rate=100000000")
    yield (command, "--describe", *on_user)
    yield (command, "--alter", *on_user, "--entity-default", "--delete-config", "producer_byte_rate")
    yield (command, "--alter", *on_user, "--entity-name", "me", "--delete-config", "SCRAM-SHA-512")


def _with_address(name: str, to: tuple[str, ...], arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Add the address to the arguments of a tool: most tools take it first, one takes it last."""
    return (*arguments, *to) if name == "ClusterTool" else (*to, *arguments)


def tool(name: str, *arguments: str, lines: Iterable[str] = ()) -> str:
    """Run one of Kafka's tools; return its output. A tool fails if the broker refuses its request; its frames count."""
    script = ["bash", str(ROOT / "scripts" / "broker" / "broker.sh"), "tool"]
    cls = f"org.apache.kafka.tools.{name}"
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        [*script, cls, *arguments], input=text, capture_output=True, text=True, timeout=120, check=False
    )
    assert "Usage:" not in done.stderr and "usage:" not in done.stderr, done.stderr[:2000]
    return done.stdout


CLIENTS = {
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
    "confluent-kafka": confluent_kafka,
    "java": java_tools,
}

// Ten steps with kafkajs, against the broker whose addresses, between commas, are the argument.
"use strict";
const assert = require("node:assert/strict");
const { Kafka, CompressionCodecs, CompressionTypes, ConfigResourceTypes, logLevel } = require("kafkajs");
const lz4 = require("lz4js");
const { ZstdCodec } = require("zstd-codec");

const topic = "kafkajs", groupId = "kafkajs-group", partitions = 3, perCodec = 30;
const kafka = new Kafka({ clientId: "kafkajs", brokers: process.argv[2].split(","), logLevel: logLevel.NOTHING });

const ok = (step) => console.log("ok", step);
const soon = (ms) => new Promise((done) => setTimeout(done, ms));

// kafkajs has none and gzip; others are plugins.
function addCodecs(zstd) {
  const codec = (compress, decompress) => () => ({
    compress: async (encoder) => Buffer.from(compress(encoder.buffer)),
    decompress: async (buffer) => Buffer.from(decompress(buffer)),
  });
  CompressionCodecs[CompressionTypes.Snappy] = require("kafkajs-snappy");
  CompressionCodecs[CompressionTypes.LZ4] = codec(lz4.compress, lz4.decompress);
  CompressionCodecs[CompressionTypes.ZSTD] = codec((data) => zstd.compress(data), (data) => zstd.decompress(data));
}

const numbers = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);
const message = (n) => ({
  partition: n % partitions, key: `key ${n}`, value: `value ${n} `.repeat(20), headers: { number: `${n}`, empty: "" },
});
const send = (by, from, to, compression) =>
  by.send({ topic, acks: -1, compression, messages: numbers(from, to).map(message) });

// A consumer that runs, and what it got.
async function consumer(group, readUncommitted = false) {
  // A member learns of a rebalance between two fetches.
  const one = kafka.consumer({ groupId: group, readUncommitted, heartbeatInterval: 100, maxWaitTimeInMs: 200 });
  const got = [];
  await one.connect();
  await one.subscribe({ topic, fromBeginning: true });
  await one.run({
    eachMessage: async ({ partition, message: { key, value, headers } }) => {
      got.push({ partition, key: `${key}`, value: `${value}`, headers: { number: `${headers.number}`, empty: `${headers.empty}` } });
    },
  });
  return { one, got };
}

// Waits until there are as many records as numbers, and compares them.
async function compare(got, expected) {
  while (got.length < expected.length) await soon(20);
  const sorted = [...got].sort((a, b) => a.headers.number - b.headers.number);
  assert.deepEqual(sorted, expected.map(message));
}

async function members(admin) {
  const { groups: [group] } = await admin.describeGroups([groupId]);
  return group.state === "Stable" ? group.members.filter((one) => one.memberAssignment.length > 12).length : 0;
}

async function main() {
  const admin = kafka.admin(), producer = kafka.producer();
  await admin.connect();
  await producer.connect();

  assert(await admin.createTopics({ topics: [{ topic, numPartitions: partitions, replicationFactor: 1 }] }));
  ok("create topic");

  assert.deepEqual(await admin.listTopics(), [topic]);
  const { topics: [listed] } = await admin.fetchTopicMetadata({ topics: [topic] });
  assert.equal(listed.partitions.length, partitions);
  ok("list topic");

  const codecs = ["None", "GZIP", "Snappy", "LZ4", "ZSTD"].map((name) => CompressionTypes[name]);
  for (const [i, codec] of codecs.entries()) await send(producer, i * perCodec, (i + 1) * perCodec, codec);
  const sent = codecs.length * perCodec;
  ok("produce");

  const reader = await consumer("kafkajs-reader");
  await compare(reader.got, numbers(0, sent));
  await reader.one.disconnect();
  ok("consume");

  let first = await consumer(groupId);
  await compare(first.got, numbers(0, sent));
  await first.one.disconnect();
  const [committed] = await admin.fetchOffsets({ groupId, topics: [topic] });
  for (const { offset } of committed.partitions) assert.equal(Number(offset), sent / partitions);
  ok("commit in a group");

  await send(producer, sent, sent + 30);
  first = await consumer(groupId);
  await compare(first.got, numbers(sent, sent + 30));
  ok("resume after a restart");

  const second = await consumer(groupId);
  while ((await members(admin)) !== 2) await soon(50);
  await first.one.disconnect();
  await second.one.disconnect();
  ok("share a group of two");

  const payer = kafka.producer({ transactionalId: "kafkajs-payer", idempotent: true, maxInFlightRequests: 1 });
  await payer.connect();
  for (const [i, end] of ["abort", "commit"].entries()) {
    const transaction = await payer.transaction();
    await send(transaction, sent + 30 + i * 30, sent + 60 + i * 30);
    await transaction[end]();
  }
  await payer.disconnect();
  const careful = await consumer("kafkajs-careful"), careless = await consumer("kafkajs-careless", true);
  await compare(careful.got, [...numbers(0, sent + 30), ...numbers(sent + 60, sent + 90)]);
  await compare(careless.got, numbers(0, sent + 90));
  await careful.one.disconnect();
  await careless.one.disconnect();
  ok("read committed transactions");

  const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
  const configEntries = [{ name: "retention.ms", value: "3600000" }];
  await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] });
  const described = await admin.describeConfigs({ resources: [{ ...resource, configNames: ["retention.ms"] }] });
  assert.equal(described.resources[0].configEntries[0].configValue, "3600000");
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "7" }] });
  const offsets = await admin.fetchTopicOffsets(topic);
  assert.equal(offsets.find((one) => one.partition === 0).low, "7");
  ok("alter configs and delete records");

  await admin.deleteGroups([groupId]);
  await admin.deleteTopics({ topics: [topic] });
  assert.deepEqual(await admin.listTopics(), []);
  ok("delete group and topic");
  await producer.disconnect();
  await admin.disconnect();
}

ZstdCodec.run((zstd) => {
  addCodecs(new zstd.Simple());
  main().catch((error) => {
    console.error("failed:", error);
    process.exit(1);
  });
});

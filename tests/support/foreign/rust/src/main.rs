//! Ten steps with rskafka, against the broker whose addresses, between commas, are the argument.
//!
//! rskafka has neither groups nor transactions: there are steps for offsets, timestamps, streams and batches instead.

use std::{collections::BTreeMap, env, sync::Arc, time::Duration};

use chrono::DateTime;
use futures::{future::try_join_all, StreamExt};
use rskafka::client::consumer::{StartOffset, StreamConsumerBuilder};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::producer::{aggregator::RecordAggregator, BatchProducerBuilder};
use rskafka::client::{error::Error, ClientBuilder};
use rskafka::record::Record;

const TOPIC: &str = "rskafka";
const PARTITIONS: i32 = 3;
const CODECS: [Compression; 5] = [
    Compression::NoCompression,
    Compression::Gzip,
    Compression::Snappy,
    Compression::Lz4,
    Compression::Zstd,
];
const PER_CODEC: i64 = 10;
const SENT: i64 = PER_CODEC * CODECS.len() as i64;
const WAIT_MS: i32 = 1_000;
const TIMEOUT_MS: i32 = 10_000;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn ok(step: &str) {
    println!("ok {step}");
}

/// The record at an offset of a partition.
fn record(partition: i32, offset: i64) -> Record {
    Record {
        key: Some(format!("key {partition} {offset}").into_bytes()),
        value: Some(format!("value {offset} ").repeat(20).into_bytes()),
        headers: BTreeMap::from([
            ("number".to_owned(), offset.to_string().into_bytes()),
            ("empty".to_owned(), vec![]),
        ]),
        timestamp: timestamp(offset),
    }
}

fn timestamp(offset: i64) -> DateTime<chrono::Utc> {
    DateTime::from_timestamp_millis(1_700_000_000_000 + offset * 1_000)
        .expect("a time of this century")
}

/// Fetches from an offset on, and compares what comes with what was sent.
async fn compare(client: &PartitionClient, from: i64, to: i64) -> Outcome {
    let mut next = from;
    while next < to {
        let (records, high_watermark) = client.fetch_records(next, 1..1_000_000, WAIT_MS).await?;
        assert_eq!(high_watermark, to);
        for got in records.into_iter().filter(|got| got.offset >= from) {
            assert_eq!(
                (got.offset, got.record),
                (next, record(client.partition(), next))
            );
            next += 1;
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome {
    let addresses = env::args().nth(1).expect("the broker's addresses");
    let client = ClientBuilder::new(addresses.split(',').map(str::to_owned).collect())
        .build()
        .await?;
    let controller = client.controller_client()?;

    controller
        .create_topic(TOPIC, PARTITIONS, 1, TIMEOUT_MS)
        .await?;
    ok("create topic");

    let topics = client.list_topics().await?;
    assert_eq!(topics.len(), 1);
    assert_eq!(
        (topics[0].name.as_str(), topics[0].partitions.len()),
        (TOPIC, PARTITIONS as usize)
    );
    ok("list topic");

    let mut partitions = vec![];
    for partition in 0..PARTITIONS {
        let one = client
            .partition_client(TOPIC, partition, UnknownTopicHandling::Error)
            .await?;
        partitions.push(Arc::new(one));
    }
    for one in &partitions {
        for (i, codec) in CODECS.into_iter().enumerate() {
            let offsets: Vec<i64> = (i as i64 * PER_CODEC..(i as i64 + 1) * PER_CODEC).collect();
            let records = offsets
                .iter()
                .map(|&offset| record(one.partition(), offset))
                .collect();
            assert_eq!(one.produce(records, codec).await?, offsets);
        }
    }
    ok("produce");

    for one in &partitions {
        compare(one, 0, SENT).await?;
    }
    ok("consume");

    for one in &partitions {
        assert_eq!(one.get_offset(OffsetAt::Earliest).await?, 0);
        assert_eq!(one.get_offset(OffsetAt::Latest).await?, SENT);
        let at = OffsetAt::Timestamp(timestamp(PER_CODEC + 5));
        assert_eq!(one.get_offset(at).await?, PER_CODEC + 5);
    }
    ok("list offsets");

    compare(&partitions[1], PER_CODEC + 3, SENT).await?;
    let beyond = partitions[1]
        .fetch_records(SENT + 1, 1..1_000_000, WAIT_MS)
        .await;
    assert!(
        matches!(beyond, Err(Error::ServerError { .. })),
        "{beyond:?}"
    );
    ok("fetch at offsets");

    let producer = BatchProducerBuilder::new(Arc::clone(&partitions[2]))
        .with_linger(Duration::from_millis(50))
        .with_compression(Compression::Zstd)
        .build(RecordAggregator::new(100_000));
    let together =
        try_join_all((SENT..SENT + 20).map(|offset| producer.produce(record(2, offset)))).await?;
    assert_eq!(together, (SENT..SENT + 20).collect::<Vec<_>>());
    compare(&partitions[2], SENT, SENT + 20).await?;
    ok("produce in batches");

    let mut stream = StreamConsumerBuilder::new(Arc::clone(&partitions[2]), StartOffset::Earliest)
        .with_max_wait_ms(WAIT_MS)
        .build();
    for offset in 0..SENT + 20 {
        let (got, _) = stream.next().await.expect("streams do not end")?;
        assert_eq!((got.offset, got.record), (offset, record(2, offset)));
    }
    ok("consume a stream");

    partitions[0].delete_records(7, TIMEOUT_MS).await?;
    assert_eq!(partitions[0].get_offset(OffsetAt::Earliest).await?, 7);
    let deleted = partitions[0].fetch_records(6, 1..1_000_000, WAIT_MS).await;
    assert!(
        matches!(deleted, Err(Error::ServerError { .. })),
        "{deleted:?}"
    );
    compare(&partitions[0], 7, SENT).await?;
    ok("delete records");

    controller.delete_topic(TOPIC, TIMEOUT_MS).await?;
    assert!(client.list_topics().await?.is_empty());
    ok("delete topic");
    Ok(())
}

//! A peer of "make bench": decodes and encodes bodies with the crate kafka-protocol.
//!
//! See benchmarks/workers.py for what is said over standard input and output.

use std::collections::HashMap;
use std::hint::black_box;
use std::io::BufRead;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Decodable, Encodable};

trait Work {
    fn comes_back(&self) -> bool;
    fn nanoseconds(&self, operation: &str, calls: usize) -> u128;
    fn memory(&self, count: usize) -> usize;
}

struct Body<M> {
    wire: Bytes,
    version: i16,
    message: M,
}

impl<M: Decodable + Encodable + 'static> Body<M> {
    fn load(wire: Bytes, version: i16) -> Box<dyn Work> {
        let message = M::decode(&mut wire.clone(), version).expect("the body is good");
        Box::new(Body { wire, version, message })
    }

    fn decode(&self) -> M {
        M::decode(&mut black_box(&self.wire).clone(), self.version).expect("the body is good")
    }

    fn encode(&self) -> BytesMut {
        let mut out = BytesMut::new();
        black_box(&self.message).encode(&mut out, self.version).expect("the message is good");
        out
    }
}

impl<M: Decodable + Encodable + 'static> Work for Body<M> {
    fn comes_back(&self) -> bool {
        self.encode() == self.wire
    }

    fn nanoseconds(&self, operation: &str, calls: usize) -> u128 {
        let start = Instant::now();
        match operation {
            "decode" => (0..calls).for_each(|_| drop(black_box(self.decode()))),
            "encode" => (0..calls).for_each(|_| drop(black_box(self.encode()))),
            _ => panic!("{operation} is not an operation"),
        }
        start.elapsed().as_nanos()
    }

    fn memory(&self, count: usize) -> usize {
        let before = resident();
        let kept: Vec<M> = (0..count).map(|_| self.decode()).collect();
        let taken = resident().saturating_sub(before);
        drop(black_box(kept));
        taken / count
    }
}

/// Bytes of memory that this process has; what an allocator has spare is small compared with what is measured.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux reports memory");
    let pages: usize = text.split(' ').nth(1).and_then(|number| number.parse().ok()).expect("the second is a number");
    pages * 4096
}

fn load(name: &str, file: &str) -> Box<dyn Work> {
    let wire = Bytes::from(std::fs::read(file).expect("the body can be read"));
    match name {
        "metadata_v12" => Body::<MetadataResponse>::load(wire, 12),
        "produce_v9" => Body::<ProduceRequest>::load(wire, 9),
        "fetch_v12" => Body::<FetchResponse>::load(wire, 12),
        "api_versions_v3" => Body::<ApiVersionsResponse>::load(wire, 3),
        "offset_commit_v8" => Body::<OffsetCommitRequest>::load(wire, 8),
        "heartbeat_v4" => Body::<HeartbeatRequest>::load(wire, 4),
        _ => panic!("{name} is not a known message"),
    }
}

fn main() {
    let mut bodies: HashMap<String, Box<dyn Work>> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("lines are text");
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let [operation, count, name, file] = words[..] else { panic!("a line has four words, not {line:?}") };
        let count = count.parse().expect("the second word is a number");
        let body = bodies.entry(file.to_owned()).or_insert_with(|| load(name, file));
        match operation {
            "check" => println!("{}", body.comes_back()),
            "memory" => println!("{}", body.memory(count)),
            _ => println!("{}", body.nanoseconds(operation, count)),
        }
    }
}

//! kafka-protocol for `kipwire conform`.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestKind, ResponseKind};
use serde_json::{json, Map, Value};

/// The APIs by their names, which are Kafka's.
fn apis() -> HashMap<String, ApiKey> {
    (0..=i16::MAX)
        .take(1000)
        .filter_map(|key| ApiKey::try_from(key).ok())
        .map(|key| (format!("{key:?}"), key))
        .collect()
}

fn hello(apis: &HashMap<String, ApiKey>) -> Value {
    let mut claims = Map::new();
    for (name, key) in apis {
        let versions = key.valid_versions();
        for part in ["Request", "Response"] {
            claims.insert(format!("{name}{part}"), json!([versions.min, versions.max]));
        }
    }
    json!({"name": "kafka-protocol-rs", "release": "0.18.0", "ops": ["reencode"], "claims": {"message": claims}})
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn reencoded(apis: &HashMap<String, ApiKey>, question: &Value) -> Result<String, String> {
    let text = question["bytes"].as_str().unwrap_or_default();
    let raw: Vec<u8> = (0..text.len() / 2)
        .map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap_or_default())
        .collect();
    let (mut data, mut out) = (Bytes::from(raw), BytesMut::new());
    let version = question["version"].as_i64().unwrap_or_default() as i16;
    let name = question["message"].as_str().unwrap_or_default();
    let refused = |error: &dyn std::fmt::Display| error.to_string();
    if let Some(key) = name.strip_suffix("Request").and_then(|api| apis.get(api)) {
        let request = RequestKind::decode(*key, &mut data, version).map_err(|error| refused(&error))?;
        request.encode(&mut out, version).map_err(|error| refused(&error))?;
    } else {
        let key = name.strip_suffix("Response").and_then(|api| apis.get(api)).ok_or("no such message")?;
        let response = ResponseKind::decode(*key, &mut data, version).map_err(|error| refused(&error))?;
        response.encode(&mut out, version).map_err(|error| refused(&error))?;
    }
    Ok(hex(&out))
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let apis = apis();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let question: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let mut answer = if question["op"] == "hello" {
            hello(&apis)
        } else {
            match catch_unwind(AssertUnwindSafe(|| reencoded(&apis, &question))) {
                Ok(Ok(bytes)) => json!({"bytes": bytes}),
                Ok(Err(error)) => json!({"refused": error}),
                Err(_) => json!({"refused": "panic"}),
            }
        };
        answer["id"] = question["id"].clone();
        writeln!(out, "{answer}").expect("standard output");
    }
}

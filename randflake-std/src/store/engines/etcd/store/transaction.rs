//! What is read and written at once.

use serde_json::{Value, json};

use super::client::{EtcdClient, decoded, encoded, not_understood};
use crate::rules::Before;
use crate::vocabulary::EngineError;

/// etcd refuses a transaction with more comparisons or more requests, unless `--max-txn-ops` is higher.
pub(super) const OPERATIONS: usize = 128;

/// The keys from one to another.
#[derive(Clone, Debug)]
pub(super) struct Range {
    first: String,
    last: String,
    /// At most so many, the first; 0 is all.
    limit: usize,
}

impl Range {
    pub(super) fn new(first: String, last: String) -> Self {
        let limit = 0;
        Self { first, last, limit }
    }

    pub(super) fn one(key: String) -> Self {
        Self::new(key.clone(), key)
    }

    pub(super) fn limited(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// As etcd takes them: the end of a range does not belong to it.
    fn bounds(&self) -> (String, String) {
        // The key that follows on the last one: it and a zero byte.
        (encoded(&self.first), encoded(&format!("{}\0", self.last)))
    }

    fn request(&self) -> Value {
        let ((key, end), limit) = (self.bounds(), self.limit.to_string());
        json!({"request_range": {"key": key, "range_end": end, "limit": limit}})
    }
}

/// A key and its value.
pub(super) type Kv = (String, String);

/// The state of the cluster when it answered.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) cluster_id: String,
    pub(super) revision: u64,
}

/// What to write, and on which condition.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    compares: Vec<Value>,
    puts: Vec<Value>,
    if_refused: Vec<Value>,
}

/// What became of it.
#[derive(Debug)]
pub(super) enum TransactionOutcome {
    Written,
    /// Something was not as it must be. What was to be read then.
    Refused(Vec<Kv>),
}

impl Transaction {
    /// Adds a condition: only if this is there.
    pub(super) fn compare(&mut self, key: &str, before: &Before) -> &mut Self {
        // A key that is not there has the creation revision 0.
        let (target, name, value) = match before {
            Before::Anything => return self,
            Before::Nothing => ("CREATE", "create_revision", "0".to_owned()),
            Before::Text(text) => ("VALUE", "value", encoded(text)),
        };
        let key = encoded(key);
        let compare = json!({"result": "EQUAL", "target": target, "key": key, name: value});
        self.compares.push(compare);
        self
    }

    pub(super) fn put(&mut self, key: &str, value: &str) -> &mut Self {
        let put = json!({"key": encoded(key), "value": encoded(value)});
        self.puts.push(json!({ "request_put": put }));
        self
    }

    /// Removes what is there.
    pub(super) fn delete(&mut self, range: &Range) -> &mut Self {
        let (key, end) = range.bounds();
        let delete = json!({"key": key, "range_end": end});
        self.puts.push(json!({ "request_delete_range": delete }));
        self
    }

    /// If it is refused, reads this key instead.
    pub(super) fn or_read(&mut self, key: &str) -> &mut Self {
        self.if_refused = vec![Range::one(key.to_owned()).request()];
        self
    }
}

impl EtcdClient {
    /// Reads all of it at one moment, in the order of the ranges.
    pub(super) fn read(&mut self, ranges: &[Range]) -> Result<(Header, Vec<Kv>), EngineError> {
        let requests: Vec<_> = ranges.iter().map(Range::request).collect();
        // Without comparisons a transaction succeeds, and all its ranges are read at one revision.
        let answer = self.call("kv/txn", &json!({ "success": requests }))?;
        match (header(&answer), kvs(&answer, ranges.len())) {
            (Some(header), Some(kvs)) => Ok((header, kvs)),
            _ => Err(not_understood()),
        }
    }

    /// Writes all of it, or nothing.
    pub(super) fn write(
        &mut self,
        write: &Transaction,
    ) -> Result<(Header, TransactionOutcome), EngineError> {
        let body = json!({
            "compare": write.compares,
            "success": parts(&write.puts, write.compares.len()),
            "failure": write.if_refused,
        });
        let answer = self.call("kv/txn", &body)?;
        let header = header(&answer).ok_or_else(not_understood)?;
        // gRPC's JSON leaves out fields that have their default: `false` is not there.
        if answer.get("succeeded") == Some(&Value::Bool(true)) {
            return Ok((header, TransactionOutcome::Written));
        }
        let read = kvs(&answer, write.if_refused.len()).ok_or_else(not_understood)?;
        Ok((header, TransactionOutcome::Refused(read)))
    }
}

/// Requests as they are, or if they are more than a transaction takes, in transactions within it, which have no conditions
/// of their own. For each of them etcd subtracts what is around it from what it takes: the comparisons, or the parts if these
/// are more.
fn parts(requests: &[Value], compares: usize) -> Vec<Value> {
    const PARTS: usize = OPERATIONS / 4;
    if requests.len() <= OPERATIONS {
        return requests.to_vec();
    }
    let size = OPERATIONS.saturating_sub(compares.max(PARTS)).max(1);
    let parts = requests.chunks(size);
    parts
        .map(|part| json!({"request_txn": {"success": part}}))
        .collect()
}

fn header(answer: &Value) -> Option<Header> {
    let header = answer.get("header")?;
    Some(Header {
        cluster_id: header.get("cluster_id")?.as_str()?.to_owned(),
        // The gateway writes long numbers as text.
        revision: header.get("revision")?.as_str()?.parse().ok()?,
    })
}

/// What so many ranges of a transaction have found.
fn kvs(answer: &Value, ranges: usize) -> Option<Vec<Kv>> {
    let replies = array(answer, "responses");
    if replies.len() != ranges {
        return None;
    }
    let mut kvs = Vec::new();
    for reply in replies {
        for kv in array(reply.get("response_range")?, "kvs") {
            let key = decoded(kv.get("key")?.as_str()?)?;
            // The gateway leaves out an empty value.
            let value = decoded(kv.get("value").map_or(Some(""), Value::as_str)?)?;
            kvs.push((key, value));
        }
    }
    Some(kvs)
}

fn array<'v>(object: &'v Value, name: &str) -> &'v [Value] {
    object
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

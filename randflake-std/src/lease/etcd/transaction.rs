//! What is read and written at once.

use serde_json::{Value, json};

use super::client::{Client, decoded, encoded, not_understood};
use crate::lease::StoreError;

/// etcd refuses a transaction with more comparisons or more requests, unless `--max-txn-ops` is higher.
pub(super) const OPERATIONS: usize = 128;

/// A key with its value, and the revision of the cluster that last changed it.
#[derive(Clone, Debug)]
pub(super) struct Kv {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) revision: u64,
}

/// What to read.
#[derive(Clone, Debug)]
pub(super) enum Range {
    Key(String),
    /// From a key to another, the lowest values first, at most so many.
    Lowest(String, String, usize),
    /// From a key to another, the lowest keys first, at most so many, as they were at a revision; 0 is now.
    Keys(String, String, usize, u64),
}

/// What was there.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) kvs: Vec<Kv>,
    /// Also those beyond the limit.
    pub(super) count: u64,
}

/// The state of the cluster when it answered.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) cluster_id: String,
    pub(super) revision: u64,
}

/// What became of a write.
#[derive(Debug)]
pub(super) enum Outcome {
    Written,
    /// Something had changed. What was to be read then.
    Refused(Option<Kv>),
}

impl Client {
    /// Reads all of it at one moment.
    pub(super) fn read(&mut self, ranges: &[Range]) -> Result<(Header, Vec<Found>), StoreError> {
        let requests: Vec<_> = ranges.iter().map(request).collect();
        let answer = self.call("kv/txn", &json!({ "success": requests }))?;
        let replies = array(&answer, "responses");
        let found: Option<Vec<_>> = replies.iter().map(found).collect();
        match (header(&answer), found) {
            (Some(header), Some(found)) if found.len() == ranges.len() => Ok((header, found)),
            _ => Err(not_understood()),
        }
    }

    /// Writes all of it if nothing that it was made from has changed since.
    pub(super) fn write(&mut self, write: &Write) -> Result<(Header, Outcome), StoreError> {
        let body = json!({
            "compare": write.compares,
            "success": write.requests,
            "failure": write.if_refused,
        });
        let answer = self.call("kv/txn", &body)?;
        let header = header(&answer).ok_or_else(not_understood)?;
        // The gateway leaves out what is false.
        if answer.get("succeeded") == Some(&Value::Bool(true)) {
            return Ok((header, Outcome::Written));
        }
        let read = array(&answer, "responses").first().and_then(found);
        let read = read.and_then(|mut found| found.kvs.pop());
        Ok((header, Outcome::Refused(read)))
    }
}

/// What to write, and on which condition.
#[derive(Debug, Default)]
pub(super) struct Write {
    compares: Vec<Value>,
    requests: Vec<Value>,
    if_refused: Vec<Value>,
}

impl Write {
    /// Only if the key has not changed since this revision; 0: if it is not there.
    pub(super) fn compare(&mut self, key: &str, revision: u64) -> &mut Self {
        self.compares.push(json!({
            "result": "EQUAL",
            "target": "MOD",
            "key": encoded(key),
            "mod_revision": revision.to_string(),
        }));
        self
    }

    pub(super) fn put(&mut self, key: &str, value: &str) -> &mut Self {
        let put = json!({"key": encoded(key), "value": encoded(value)});
        self.requests.push(json!({ "request_put": put }));
        self
    }

    /// If something has changed, reads this key instead.
    pub(super) fn or_read(&mut self, key: String) -> &mut Self {
        self.if_refused = vec![request(&Range::Key(key))];
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// How much more fits.
    pub(super) fn left(&self) -> usize {
        OPERATIONS.saturating_sub(self.compares.len().max(self.requests.len()))
    }
}

fn request(range: &Range) -> Value {
    let range = match range {
        Range::Key(key) => json!({"key": encoded(key)}),
        Range::Lowest(from, to, limit) => json!({
            "key": encoded(from),
            "range_end": after(to),
            "sort_target": "VALUE",
            "sort_order": "ASCEND",
            "limit": limit.to_string(),
        }),
        Range::Keys(from, to, limit, revision) => json!({
            "key": encoded(from),
            "range_end": after(to),
            "limit": limit.to_string(),
            "revision": revision.to_string(),
        }),
    };
    json!({ "request_range": range })
}

/// The end of a range that has this key as its last.
fn after(key: &str) -> String {
    encoded(&format!("{key}\0"))
}

fn found(reply: &Value) -> Option<Found> {
    let range = reply.get("response_range")?;
    let kvs = array(range, "kvs").iter().map(|kv| {
        Some(Kv {
            key: decoded(kv.get("key")?.as_str()?)?,
            value: decoded(kv.get("value").map_or(Some(""), Value::as_str)?)?,
            revision: number(kv, "mod_revision")?,
        })
    });
    Some(Found {
        kvs: kvs.collect::<Option<_>>()?,
        count: number(range, "count").unwrap_or(0),
    })
}

fn header(answer: &Value) -> Option<Header> {
    let header = answer.get("header")?;
    Some(Header {
        cluster_id: header.get("cluster_id")?.as_str()?.to_owned(),
        revision: number(header, "revision")?,
    })
}

/// The gateway writes long numbers as text.
fn number(object: &Value, name: &str) -> Option<u64> {
    object.get(name)?.as_str()?.parse().ok()
}

fn array<'v>(object: &'v Value, name: &str) -> &'v [Value] {
    object
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

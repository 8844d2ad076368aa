//! Transactions of etcd: reads at one revision, and writes under conditions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use randflake_lease::unstable::engine::Before;
use randflake_lease::unstable::net::shown;

/// etcd refuses a transaction with more comparisons or more requests, unless `--max-txn-ops` is
/// higher.
pub(crate) const OPERATIONS: usize = 128;

/// The keys from one to another.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    first: String,
    last: String,
    /// At most so many, the first; 0 is all.
    limit: usize,
}

impl Range {
    pub(crate) fn new(first: String, last: String) -> Self {
        let limit = 0;
        Self { first, last, limit }
    }

    pub(crate) fn one(key: String) -> Self {
        Self::new(key.clone(), key)
    }

    pub(crate) fn limited(self, limit: usize) -> Self {
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
pub(crate) type Kv = (String, String);

/// The state of the cluster when it answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) cluster_id: String,
    pub(crate) revision: u64,
}

/// What to write, and on which condition.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    compares: Vec<Value>,
    puts: Vec<Value>,
    if_refused: Vec<Value>,
}

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TransactionOutcome {
    Written,
    /// Something was not as it must be. What was to be read then.
    Refused(Vec<Kv>),
}

impl Transaction {
    /// Adds a condition: only if this is there.
    pub(crate) fn compare(&mut self, key: &str, before: &Before) -> &mut Self {
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

    pub(crate) fn put(&mut self, key: &str, value: &str) -> &mut Self {
        let put = json!({"key": encoded(key), "value": encoded(value)});
        self.puts.push(json!({ "request_put": put }));
        self
    }

    /// Removes what is there.
    pub(crate) fn delete(&mut self, range: &Range) -> &mut Self {
        let (key, end) = range.bounds();
        let delete = json!({"key": key, "range_end": end});
        self.puts.push(json!({ "request_delete_range": delete }));
        self
    }

    /// If it is refused, reads this key instead.
    pub(crate) fn or_read(&mut self, key: &str) -> &mut Self {
        self.if_refused = vec![Range::one(key.to_owned()).request()];
        self
    }

    /// The request that writes all of it, or nothing.
    pub(crate) fn request(&self) -> Value {
        json!({
            "compare": self.compares,
            "success": parts(&self.puts, self.compares.len()),
            "failure": self.if_refused,
        })
    }

    /// What that was answered.
    pub(crate) fn outcome(&self, answer: &Value) -> Option<(Header, TransactionOutcome)> {
        let header = header(answer)?;
        // gRPC's JSON leaves out fields that have their default: `false` is not there.
        if answer.get("succeeded") == Some(&Value::Bool(true)) {
            return Some((header, TransactionOutcome::Written));
        }
        let read = kvs(answer, self.if_refused.len())?;
        Some((header, TransactionOutcome::Refused(read)))
    }
}

/// The request that reads all of it at one moment.
pub(crate) fn read_request(ranges: &[Range]) -> Value {
    let requests: Vec<_> = ranges.iter().map(Range::request).collect();
    // Without comparisons a transaction succeeds, and all its ranges are read at one revision.
    json!({ "success": requests })
}

/// What a read of so many ranges was answered, in their order.
pub(crate) fn read_answer(answer: &Value, ranges: usize) -> Option<(Header, Vec<Kv>)> {
    Some((header(answer)?, kvs(answer, ranges)?))
}

/// Requests as they are, or if they are more than a transaction takes, in transactions within it,
/// which have no conditions of their own. For each of them etcd subtracts what is around it from
/// what it takes: the comparisons, or the parts if these are more.
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

fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}

/// Bytes that are no text, which another program has put there, are shown as such: what is not
/// understood is named.
fn decoded(text: &str) -> Option<String> {
    Some(shown(STANDARD.decode(text).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As etcd 3.4.23 answers, with the text of `randflake/a/lease/00000007` and an empty one.
    fn found() -> Value {
        json!({
            "header": {
                "cluster_id": "14841639068965178418", "member_id": "10276657743932975437", "revision": "42",
                "raft_term": "2"
            },
            "succeeded": true,
            "responses": [
                {"response_range": {"header": {"revision": "42"}, "kvs": [
                    {
                        "key": "cmFuZGZsYWtlL2EvbGVhc2UvMDAwMDAwMDc=", "create_revision": "7",
                        "mod_revision": "41", "version": "3", "value": "MTox"
                    },
                    {"key": "cmFuZGZsYWtlL2EvbGVhc2UvMDAwMDAwMDg=", "create_revision": "8", "mod_revision": "8"}
                ], "count": "2"}},
                {"response_range": {"header": {"revision": "42"}}}
            ]
        })
    }

    fn header() -> Header {
        Header {
            cluster_id: "14841639068965178418".to_owned(),
            revision: 42,
        }
    }

    fn read() -> Vec<Kv> {
        [("00000007", "1:1"), ("00000008", "")]
            .map(|(number, text)| (format!("randflake/a/lease/{number}"), text.to_owned()))
            .to_vec()
    }

    #[test]
    fn as_much_as_etcd_takes_at_once_is_sent_at_once() {
        let requests = vec![json!({"request_range": {}}); OPERATIONS + 1];
        assert_eq!(parts(&requests[..OPERATIONS], 1), requests[..OPERATIONS]);
        assert_eq!(parts(&requests, 1).len(), 2);
    }

    #[test]
    fn a_read_has_an_answer_for_each_range() {
        assert_eq!(read_answer(&found(), 2), Some((header(), read())));
        for ranges in [1, 3] {
            assert_eq!(read_answer(&found(), ranges), None);
        }
        for name in ["cluster_id", "revision"] {
            let mut damaged = found();
            damaged["header"][name] = Value::Null;
            assert_eq!(read_answer(&damaged, 2), None, "{name}");
        }
    }

    #[test]
    fn a_write_was_done_or_tells_what_is_there() {
        let mut write = Transaction::default();
        write.or_read("randflake/a/lease/00000007");
        let outcome = write.outcome(&found());
        assert_eq!(outcome, Some((header(), TransactionOutcome::Written)));
        let mut refused = found();
        refused.as_object_mut().unwrap().remove("succeeded");
        assert_eq!(write.outcome(&refused), None, "it asks for one range");
        refused["responses"].as_array_mut().unwrap().pop();
        let there = TransactionOutcome::Refused(read());
        assert_eq!(write.outcome(&refused), Some((header(), there)));
    }

    #[test]
    fn a_request_compares_puts_and_removes() {
        let mut write = Transaction::default();
        write
            .compare("a", &Before::Anything)
            .compare("b", &Before::Nothing)
            .compare("c", &Before::Text("old".to_owned()))
            .put("a", "new")
            .delete(&Range::new("d".to_owned(), "e".to_owned()));
        assert_eq!(
            write.request(),
            json!({
                "compare": [
                    {"result": "EQUAL", "target": "CREATE", "key": "Yg==", "create_revision": "0"},
                    {"result": "EQUAL", "target": "VALUE", "key": "Yw==", "value": "b2xk"}
                ],
                "success": [
                    {"request_put": {"key": "YQ==", "value": "bmV3"}},
                    {"request_delete_range": {"key": "ZA==", "range_end": "ZQA="}}
                ],
                "failure": []
            })
        );
        let ranges = [
            Range::one("a".to_owned()),
            Range::one("b".to_owned()).limited(3),
        ];
        assert_eq!(
            read_request(&ranges),
            json!({"success": [
                {"request_range": {"key": "YQ==", "range_end": "YQA=", "limit": "0"}},
                {"request_range": {"key": "Yg==", "range_end": "YgA=", "limit": "3"}}
            ]})
        );
    }

    /// Each level has no more than etcd takes of all levels together.
    #[test]
    fn a_large_write_is_in_parts() {
        let requests = |count| vec![json!({}); count];
        assert_eq!(parts(&requests(128), 128).len(), 128);
        for (count, compares, size) in [(129, 1, 96), (129, 32, 96), (300, 102, 26), (300, 128, 1)]
        {
            let parts = parts(&requests(count), compares);
            let sizes: Vec<_> = parts
                .iter()
                .map(|part: &Value| array(&part["request_txn"], "success").len())
                .collect();
            assert_eq!(sizes.iter().sum::<usize>(), count);
            assert_eq!(sizes[0], size);
        }
    }
}

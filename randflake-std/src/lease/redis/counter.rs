//! The counter of a namespace, each operation one script.

use redis::Script;

use super::RedisStore;
use super::rights;
use super::script::not_understood;
use crate::lease::StoreError;
use crate::segment::{CounterStatus, Segment, SegmentStore};

/// What the script has answered.
struct Reply {
    status: String,
    /// Where the counter stood before.
    next: u64,
    /// Why the server did not do it.
    refusal: Option<String>,
}

impl RedisStore {
    fn count(&mut self, operation: &str, number: u64) -> Result<Reply, StoreError> {
        let script = Script::new(concat!(
            include_str!("lua/rights.lua"),
            include_str!("lua/counter.lua")
        ));
        let mut invocation = script.key(format!("randflake:{{{}}}:counter", self.namespace.name()));
        invocation.arg(operation).arg(number);
        let reply: Vec<String> = self.connection.run(|redis| invocation.invoke(redis))?;
        if let [status, lacking @ ..] = reply.as_slice()
            && status == "rights"
        {
            return Err(rights::lacking(lacking));
        }
        let [status, next, rest @ ..] = reply.as_slice() else {
            return Err(not_understood());
        };
        Ok(Reply {
            status: status.clone(),
            next: next.parse().map_err(|_| not_understood())?,
            refusal: rest.first().cloned(),
        })
    }
}

impl SegmentStore for RedisStore {
    fn reserve(&mut self, count: u64) -> Result<Segment, StoreError> {
        // None at all; whether there are so many left, the counter knows.
        StoreError::segment(1, count.min(1))?;
        let Reply {
            status,
            next,
            refusal,
        } = self.count("reserve", count)?;
        match (&*status, refusal) {
            ("ok", _) => StoreError::segment(next, count),
            ("lost", _) => Err(StoreError::CounterLost { reached: next }),
            // Beyond the last number, or else what the server says.
            ("refused", Some(refusal)) => {
                StoreError::segment(next, count)?;
                Err(StoreError::unavailable(refusal))
            }
            _ => Err(not_understood()),
        }
    }

    fn counter(&mut self) -> Result<CounterStatus, StoreError> {
        let Reply { status, next, .. } = self.count("look", 0)?;
        let lost = status == "lost";
        Ok(CounterStatus { next, lost })
    }

    fn resume(&mut self, number: u64) -> Result<u64, StoreError> {
        StoreError::segment(number, 1)?;
        Ok(self.count("resume", number)?.next)
    }
}

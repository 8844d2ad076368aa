//! How full the budget is, and what it refuses: for metrics, and said once on standard error.

use core::time::Duration;
use std::sync::Arc;

use tokio::time::{Instant, MissedTickBehavior, interval};

use super::MemoryBudget;
use randflake_common::failure::say;

const LOOK: Duration = Duration::from_secs(1);
/// Refusals are a new incident after so long without any: a flood that comes in waves is told once.
const QUIET: Duration = Duration::from_secs(60);

/// The bytes of a part of the budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryPart {
    pub(crate) name: &'static str,
    pub(crate) used: usize,
    pub(crate) limit: usize,
}

/// What was refused since the server was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) requests: u64,
    /// Without a token, and closed to make room for others.
    pub(crate) connections: u64,
}

impl MemoryBudget {
    pub(crate) fn parts(&self) -> [MemoryPart; 2] {
        let guests = self.guests.limit;
        [
            MemoryPart {
                name: "tokens",
                used: self.all.used(),
                limit: self.limits.all - guests,
            },
            MemoryPart {
                name: "guests",
                used: self.guests.used(),
                limit: guests,
            },
        ]
    }

    pub(crate) fn refused(&self) -> Refused {
        Refused {
            requests: self.refused.get(),
            connections: self.guests.closed(),
        }
    }
}

/// Says when clients begin to be refused for memory, until the server ends.
pub(crate) async fn watch(memory: Arc<MemoryBudget>) {
    let (mut looks, mut shortage) = (interval(LOOK), Shortage::default());
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = looks.tick().await;
        if let Some(line) = shortage.look(memory.refused(), now) {
            say(&line);
        }
    }
}

/// A time in which clients are refused again and again.
#[derive(Debug, Default)]
struct Shortage {
    seen: Refused,
    /// When something was refused last.
    last: Option<Instant>,
}

impl Shortage {
    /// Returns what to say if refusals have just begun.
    fn look(&mut self, refused: Refused, now: Instant) -> Option<String> {
        if refused == self.seen {
            return None;
        }
        let begins = self
            .last
            .is_none_or(|last| now.duration_since(last) > QUIET);
        self.last = Some(now);
        let before = core::mem::replace(&mut self.seen, refused);
        begins.then(|| {
            format!(
                "clients want more memory than --memory, --memory-per-token or --memory-per-address allows: within a second \
                 {} requests were refused, and {} connections without a token closed; see randflake_serve_memory_bytes in \
                 the metrics and \"Memory\" in docs/serve.md",
                refused.requests - before.requests,
                refused.connections - before.connections
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_is_said_once_until_it_was_quiet() {
        let (mut shortage, begin) = (Shortage::default(), Instant::now());
        let after = |seconds| begin + Duration::from_secs(seconds);
        let refused = |requests, connections| Refused {
            requests,
            connections,
        };
        assert_eq!(shortage.look(refused(0, 0), after(0)), None);
        let said = shortage.look(refused(3, 5), after(1)).unwrap();
        assert!(
            said.contains("3 requests were refused, and 5 connections"),
            "{said}"
        );
        assert_eq!(shortage.look(refused(4, 5), after(2)), None);
        assert_eq!(shortage.look(refused(4, 5), after(50)), None);
        assert_eq!(shortage.look(refused(5, 5), after(61)), None);
        let said = shortage.look(refused(5, 6), after(200)).unwrap();
        assert!(
            said.contains("0 requests were refused, and 1 connections"),
            "{said}"
        );
    }
}

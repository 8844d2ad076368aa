//! Health of a namespace: why it issues no ids, how many it has issued lately, and since when
//! something is wrong.

use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

use randflake_common::date;
use randflake_common::date::whole_ms;
use randflake_std::Health;
use randflake_std::lease::StoreError;
use serde::Serialize;

use crate::lock::lock;
use crate::refusal::cause;

/// Why a namespace issues no ids.
#[derive(Clone, Debug)]
pub(crate) struct NotReady {
    /// For anybody: it names neither the namespace nor the store.
    pub(crate) cause: String,
    /// For those who look after the namespace.
    pub(crate) detail: String,
    /// It is full or in quarantine, which other servers would find too.
    pub(crate) is_of_namespace: bool,
}

impl NotReady {
    pub(crate) fn of_store(error: &StoreError) -> Self {
        Self {
            cause: cause(error),
            detail: error.to_string(),
            is_of_namespace: matches!(
                error,
                StoreError::Exhausted { .. } | StoreError::Quarantined { .. }
            ),
        }
    }

    fn simple(cause: &str) -> Self {
        Self {
            cause: cause.to_owned(),
            detail: cause.to_owned(),
            is_of_namespace: false,
        }
    }

    /// Before the store has granted a lease for the first time.
    pub(crate) fn starting() -> Self {
        Self::simple("the store has not granted a lease yet")
    }

    /// `None` if ids are issued.
    pub(crate) fn of(health: &Health) -> Option<Self> {
        match health {
            health if health.is_ready() => None,
            Health::NotReady { error: Some(error) } => Some(Self::of_store(error)),
            Health::NotReady { error: None } => Some(Self::simple("the lease is being replaced")),
            _ => Some(Self::simple("the server is stopping")),
        }
    }
}

/// Length of an interval of the counts.
const EVERY: Duration = Duration::from_secs(5);
/// Five minutes.
const KEPT: usize = 60;

/// Counts of ids, and since when something is wrong.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    counts: VecDeque<u64>,
    /// Number of ids issued before the current interval, and when that ends.
    interval: Option<(u64, Instant)>,
    /// Since when, by each witness.
    troubles: [Option<Duration>; 2],
}

/// Who notices that something is wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Witness {
    /// The handle, by its renewals.
    Handle,
    /// A reading of the store, for the page.
    Reading,
}

/// Ids issued in each of the last intervals, the oldest first.
#[derive(Debug, Serialize)]
pub(crate) struct RecentCounts {
    every_ms: u64,
    issued: Vec<u64>,
}

impl Recent {
    /// Notes how many ids were issued so far; called once per second.
    pub(crate) fn count(&self, issued: u64, now: Instant) {
        let mut state = lock(&self.0);
        match state.interval {
            Some((_, end)) if now < end => return,
            Some((before, _)) => {
                state.counts.push_back(issued.saturating_sub(before));
                if state.counts.len() > KEPT {
                    state.counts.pop_front();
                }
            }
            None => {}
        }
        state.interval = Some((issued, now + EVERY));
    }

    pub(crate) fn counts(&self) -> RecentCounts {
        RecentCounts {
            every_ms: whole_ms(EVERY),
            issued: lock(&self.0).counts.iter().copied().collect(),
        }
    }

    /// Notes whether something is wrong, in the words of one witness.
    pub(crate) fn witness(&self, witness: Witness, is_fine: bool) {
        let trouble = &mut lock(&self.0).troubles[witness as usize];
        if is_fine {
            *trouble = None;
        } else {
            trouble.get_or_insert_with(date::now);
        }
    }

    /// Since when something is wrong, in Unix milliseconds; `None` if nothing is.
    pub(crate) fn since_unix_ms(&self) -> Option<u64> {
        let troubles = lock(&self.0).troubles;
        troubles.into_iter().flatten().min().map(whole_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minutes_are_kept_and_no_more() {
        let recent = Recent::default();
        let begin = Instant::now();
        let mut issued = 0;
        for second in 0..=1_000 {
            issued += second;
            recent.count(issued, begin + Duration::from_secs(second));
        }
        let counts = recent.counts().issued;
        assert_eq!(counts.len(), 60);
        assert_eq!(counts.last(), Some(&(996..=1_000).sum()));
    }

    #[test]
    fn trouble_lasts_until_each_witness_has_seen_its_end() {
        let recent = Recent::default();
        assert_eq!(recent.since_unix_ms(), None);
        recent.witness(Witness::Reading, false);
        let since = recent.since_unix_ms();
        assert!(since.is_some());
        recent.witness(Witness::Handle, false);
        recent.witness(Witness::Reading, false);
        assert_eq!(recent.since_unix_ms(), since);
        recent.witness(Witness::Reading, true);
        assert!(recent.since_unix_ms() >= since);
        recent.witness(Witness::Handle, true);
        assert_eq!(recent.since_unix_ms(), None);
    }
}

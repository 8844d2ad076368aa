//! What does an id of Twitter's layout cost, where the clock is given and nothing waits?

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use ferroid::generator::{AtomicSnowflakeGenerator, BasicSnowflakeGenerator};
use ferroid::id::SnowflakeTwitterId;
use ferroid::time::TimeSource;
use randflake_core::{LocalWord, Snowflake};
use randflake_std::{ExactSystemClock, Plain, SystemClock};

use super::peer;
use crate::measure::{Case, time_fresh};
use crate::ours::{FixedClock, WHO, generator};

const GROUP: &str = "snowflake";
/// What the layout has in a tick.
const TICK: u64 = 4_096;
const NOW_UNIX_MS: u64 = 1_760_000_000_000;

/// A clock for `ferroid` that costs a load.
struct FixedMs(Cell<u64>);

impl FixedMs {
    fn new() -> Self {
        Self(Cell::new(NOW_UNIX_MS - 1_288_834_974_657))
    }
}

impl TimeSource<u64> for FixedMs {
    fn current_millis(&self) -> u64 {
        self.0.get()
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = ours();
    cases.extend(peers());
    cases
}

fn ours() -> Vec<Case> {
    vec![
        Case::new(GROUP, "one thread's word, fixed clock", WHO, |n| {
            let fresh = || generator::<Snowflake, LocalWord<u64>, _>(FixedClock::now(), Plain);
            time_fresh(n, TICK, fresh, |ids| ids.generate().expect("borrows"))
        }),
        Case::new(GROUP, "atomic word, fixed clock", WHO, |n| {
            let fresh = || generator::<Snowflake, AtomicU64, _>(FixedClock::now(), Plain);
            time_fresh(n, TICK, fresh, |ids| ids.generate().expect("borrows"))
        }),
        Case::new(GROUP, "atomic word, coarse clock", WHO, |n| {
            let fresh = || generator::<Snowflake, AtomicU64, _>(SystemClock, Plain);
            time_fresh(n, u64::MAX, fresh, |ids| ids.generate().expect("borrows"))
        }),
        Case::new(GROUP, "atomic word, exact clock", WHO, |n| {
            let fresh = || generator::<Snowflake, AtomicU64, _>(ExactSystemClock, Plain);
            time_fresh(n, u64::MAX, fresh, |ids| ids.generate().expect("borrows"))
        }),
    ]
}

fn peers() -> Vec<Case> {
    vec![
        Case::new(GROUP, "Basic, fixed clock", peer("ferroid"), |n| {
            let fresh =
                || BasicSnowflakeGenerator::<SnowflakeTwitterId, _>::new(42, FixedMs::new());
            time_fresh(n, TICK, fresh, |ids| ids.next_id(|_| ()))
        }),
        Case::new(GROUP, "Atomic, fixed clock", peer("ferroid"), |n| {
            let fresh =
                || AtomicSnowflakeGenerator::<SnowflakeTwitterId, _>::new(42, FixedMs::new());
            time_fresh(n, TICK, fresh, |ids| ids.next_id(|_| ()))
        }),
        Case::new(GROUP, "next_id, fixed clock", peer("snowflake_me"), |n| {
            let fresh = || {
                let now = Arc::new(AtomicI64::new(NOW_UNIX_MS.cast_signed()));
                snowflake_me::Snowflake::builder()
                    .machine_id(&|| Ok(1))
                    .data_center_id(&|| Ok(1))
                    .clock_source(move || now.load(Ordering::Relaxed))
                    .finalize()
                    .expect("the ids are in range")
            };
            time_fresh(n, TICK, fresh, |ids| ids.next_id().expect("is fresh"))
        }),
    ]
}

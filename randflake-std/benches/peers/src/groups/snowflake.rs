//! Cost of an id of Twitter's layout, where the clock is given and nothing waits.

use std::cell::Cell;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use ferroid::generator::{AtomicSnowflakeGenerator, BasicSnowflakeGenerator};
use ferroid::id::SnowflakeTwitterId;
use ferroid::time::TimeSource;
use randflake_core::{Clock, LocalWord, Snowflake};
use randflake_std::{ExactSystemClock, Plain, SystemClock};

use super::peer;
use crate::measure::{Case, time_fresh};
use crate::ours::{FixedClock, WHO, generator, strict};

const GROUP: &str = "snowflake";
/// What the layout has in a tick.
const TICK: u64 = 4_096;
const NOW_UNIX_MS: u64 = 1_760_000_000_000;

const EPOCH_UNIX_MS: u64 = 1_288_834_974_657;
/// No measurement waits longer for the coarse clock.
const MOST: u64 = 16 * TICK;

/// A clock for `ferroid` that costs a load.
struct FixedMs(Cell<u64>);

impl FixedMs {
    fn new() -> Self {
        Self(Cell::new(NOW_UNIX_MS - EPOCH_UNIX_MS))
    }
}

impl TimeSource<u64> for FixedMs {
    fn current_millis(&self) -> u64 {
        self.0.get()
    }
}

/// Our clocks, for `ferroid`.
struct Given<C>(C);

impl<C: Clock> TimeSource<u64> for Given<C> {
    fn current_millis(&self) -> u64 {
        let now = self.0.now().unwrap_or_default();
        now.as_secs() * 1_000 + u64::from(now.subsec_millis()) - EPOCH_UNIX_MS
    }
}

/// Something made when the coarse clock has just stepped, so that it shows one time for some
/// milliseconds.
fn at_a_step<G>(make: impl Fn() -> G) -> G {
    let before = SystemClock.now();
    while SystemClock.now() == before {
        spin_loop();
    }
    make()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = ours();
    cases.extend(peers());
    cases
}

fn ours() -> Vec<Case> {
    vec![
        Case::new(GROUP, "one thread's word, fixed clock", WHO, |n| {
            let fresh = || strict::<Snowflake, LocalWord<u64>, _>(FixedClock::now(), Plain);
            time_fresh(n, TICK, fresh, |ids| ids.generate().expect("is fresh"))
        }),
        Case::new(GROUP, "atomic word, fixed clock", WHO, |n| {
            let fresh = || strict::<Snowflake, AtomicU64, _>(FixedClock::now(), Plain);
            time_fresh(n, TICK, fresh, |ids| ids.generate().expect("is fresh"))
        }),
        Case::new(GROUP, "atomic word, coarse clock", WHO, |n| {
            let fresh = || at_a_step(|| strict::<Snowflake, AtomicU64, _>(SystemClock, Plain));
            time_fresh(n, TICK, fresh, |ids| ids.generate().expect("is fresh"))
        })
        .most(MOST),
        Case::new(GROUP, "atomic word, coarse clock, borrows", WHO, |n| {
            let fresh = || generator::<Snowflake, AtomicU64, _>(SystemClock, Plain);
            time_fresh(n, u64::MAX, fresh, |ids| ids.generate().expect("borrows"))
        }),
        Case::new(GROUP, "atomic word, exact clock, borrows", WHO, |n| {
            let fresh = || generator::<Snowflake, AtomicU64, _>(ExactSystemClock, Plain);
            time_fresh(n, u64::MAX, fresh, |ids| ids.generate().expect("borrows"))
        }),
    ]
}

/// `ferroid`'s generators for one thread and for several, with a clock that counts milliseconds as
/// they do and with the clocks that ours have.
fn peers() -> Vec<Case> {
    type Basic<T> = BasicSnowflakeGenerator<SnowflakeTwitterId, T>;
    type Atomic<T> = AtomicSnowflakeGenerator<SnowflakeTwitterId, T>;
    vec![
        Case::new(GROUP, "Basic, fixed milliseconds", peer("ferroid"), |n| {
            let fresh = || Basic::new(42, FixedMs::new());
            time_fresh(n, TICK, fresh, |ids| ids.next_id(|_| ()))
        }),
        Case::new(GROUP, "Basic, fixed clock", peer("ferroid"), |n| {
            let fresh = || Basic::new(42, Given(FixedClock::now()));
            time_fresh(n, TICK, fresh, |ids| ids.next_id(|_| ()))
        }),
        Case::new(GROUP, "Atomic, fixed milliseconds", peer("ferroid"), |n| {
            let fresh = || Atomic::new(42, FixedMs::new());
            time_fresh(n, TICK, fresh, |ids| ids.next_id(|_| ()))
        }),
        Case::new(GROUP, "Atomic, coarse clock", peer("ferroid"), |n| {
            let fresh = || at_a_step(|| Atomic::new(42, Given(SystemClock)));
            time_fresh(n, TICK, fresh, |ids| ids.next_id(|_| ()))
        })
        .most(MOST),
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

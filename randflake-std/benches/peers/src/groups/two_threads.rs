//! Cost of an id when two threads want ids. Wall time by the number of both threads' ids, so
//! that half of one thread's cost is the best there is.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::time::Duration;

use ferroid::generator::AtomicSnowflakeGenerator;
use ferroid::id::SnowflakeTwitterId;
use ferroid::time::{MonotonicClock, TWITTER_EPOCH};
use randflake_std::{Randflake, SystemClock};
use typedflake::typedflake;

use super::peer;
use crate::measure::{Case, WARM_UP, time_threads};
use crate::ours::{IDS_PER_TICK, WHO, cipher, handle, randflake};

const GROUP: &str = "two_threads";
const THREADS: usize = 2;
const NODE_IDS: u32 = 32;
/// With those before the time is taken there are enough in a tick.
const MOST: u64 = IDS_PER_TICK - IDS_PER_TICK / WARM_UP;
/// What the peers' layouts have in a tick.
const TICK: u64 = 4_096;

#[typedflake(epoch = "2025-01-01")]
struct TypedId(i64);

pub(super) fn cases() -> Vec<Case> {
    let mut cases = baselines();
    cases.extend(ours());
    cases.extend(peers());
    cases
}

/// What the machine takes to pass a word from core to core, and back.
fn baselines() -> Vec<Case> {
    vec![
        Case::new(GROUP, "fetch_add", "one AtomicU64", |n| {
            let word = AtomicU64::new(0);
            time_threads(n, THREADS, || &word, |word| word.fetch_add(1, AcqRel))
        }),
        Case::new(GROUP, "load, compare_exchange", "one AtomicU64", |n| {
            let word = AtomicU64::new(0);
            let add = |word: &mut &AtomicU64| {
                loop {
                    let value = word.load(Acquire);
                    if word
                        .compare_exchange(value, value + 1, AcqRel, Relaxed)
                        .is_ok()
                    {
                        break value;
                    }
                }
            };
            time_threads(n, THREADS, || &word, add)
        }),
    ]
}

fn ours() -> Vec<Case> {
    vec![
        Case::new(GROUP, "generate, one word", WHO, |n| {
            let ids = &randflake(SystemClock);
            let call = |ids: &mut &_| generate(ids);
            time_threads(n, THREADS, || ids, call)
        }),
        Case::new(GROUP, "Handle::generate", WHO, |n| {
            let ids = handle::<Randflake>(cipher(), NODE_IDS);
            time_threads(
                n,
                THREADS,
                || ids.clone(),
                |ids| ids.generate().expect("is fresh"),
            )
        })
        .most(u64::from(NODE_IDS) * MOST),
    ]
}

#[inline]
fn generate<C: randflake_core::Clock>(
    ids: &randflake_core::Generator<Randflake, AtomicU64, C, randflake_core::Sparx64, u32>,
) -> randflake_core::Id {
    ids.generate().expect("borrows")
}

/// Ids of a generator that waits for ticks.
fn exhausted<S, T>(
    n: u64,
    prepare: impl Fn() -> S + Sync,
    call: impl Fn(&mut S) -> T + Sync,
) -> Duration {
    // To begin with a tick.
    let mut state = prepare();
    (0..=TICK).for_each(|_| _ = black_box(call(&mut state)));
    time_threads(n, THREADS, prepare, call)
}

fn peers() -> Vec<Case> {
    vec![
        Case::new(GROUP, "random::<u64>", peer("rand"), |n| {
            time_threads(n, THREADS, || (), |()| rand::random::<u64>())
        }),
        Case::new(GROUP, "v4, fast-rng", peer("uuid"), |n| {
            time_threads(n, THREADS, || (), |()| uuid::Uuid::new_v4())
        }),
        Case::new(GROUP, "v7, fast-rng", peer("uuid"), |n| {
            time_threads(n, THREADS, || (), |()| uuid::Uuid::now_v7())
        }),
        Case::new(GROUP, "generate (borrows)", peer("snowid"), {
            let ids = snowid::SnowID::new(42).expect("the node is in range");
            move |n| time_threads(n, THREADS, || &ids, |ids| ids.generate())
        }),
        Case::new(GROUP, "Atomic, its ticker", peer("ferroid"), {
            let clock = MonotonicClock::<1>::with_epoch(TWITTER_EPOCH);
            let ids = AtomicSnowflakeGenerator::<SnowflakeTwitterId, _>::new(42, clock);
            let call = |ids: &mut &AtomicSnowflakeGenerator<_, _>| ids.next_id(|_| spin_loop());
            move |n| exhausted(n, || &ids, call)
        })
        .unit(TICK)
        .ceiling(4_096, 1),
        Case::new(GROUP, "next_id", peer("snowflake_me"), {
            let ids = snowflake_me::Snowflake::builder()
                .machine_id(&|| Ok(1))
                .data_center_id(&|| Ok(1))
                .finalize()
                .expect("the ids are in range");
            move |n| exhausted(n, || &ids, |ids| ids.next_id().expect("waits"))
        })
        .unit(TICK)
        .ceiling(4_096, 1),
        Case::new(GROUP, "sync::Generator", peer("snowflaked"), {
            let ids = snowflaked::sync::Generator::new(42);
            move |n| exhausted(n, || &ids, |ids| ids.generate::<u64>())
        })
        .unit(TICK)
        .ceiling(4_096, 1),
        Case::new(GROUP, "generate", peer("typedflake"), {
            let ids = TypedId::generator(42).expect("the node is in range");
            let call = |ids: &mut typedflake::Generator<TypedId>| {
                loop {
                    if let Ok(id) = ids.generate() {
                        break id.get();
                    }
                }
            };
            move |n| exhausted(n, || ids.clone(), call)
        })
        .unit(TICK)
        .ceiling(4_096, 1),
    ]
}

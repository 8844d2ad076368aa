//! Cost of an id on one thread, one at a time.

use std::cell::RefCell;
use std::hint::{black_box, spin_loop};
use std::rc::Rc;

use ferroid::generator::{AtomicSnowflakeGenerator, BasicSnowflakeGenerator};
use ferroid::id::SnowflakeTwitterId;
use ferroid::time::{MonotonicClock, TWITTER_EPOCH};
use randflake_std::{ExactSystemClock, SystemClock};
use sparx64::Backend;
use typedflake::typedflake;

use super::peer;
use crate::measure::{Case, time, time_bursts, time_fresh};
use crate::ours::{
    FirstOfTick, FixedClock, Forced, IDS_PER_TICK, SteppedClock, WHO, WithBackend, handle,
    randflake,
};

const GROUP: &str = "one_thread";
/// So few that no 12-bit sequence is exhausted.
const BURST: u64 = 1_024;
const BURSTS: u64 = 8 * BURST;
/// Fewer than a lease has.
const TICKS: u64 = 100_000;
/// Node ids for as many ids as a measurement takes, at once.
const NODE_IDS: u32 = 32;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = ours();
    cases.extend(random());
    cases.extend(borrowing());
    cases.extend(exhausted());
    cases
}

fn ours() -> Vec<Case> {
    let mut cases = vec![
        Case::new(GROUP, "generate, fixed clock", WHO, |n| {
            let fresh = || randflake(FixedClock::now());
            time_fresh(n, u64::MAX, fresh, |ids| ids.generate().expect("borrows"))
        }),
        Case::new(GROUP, "generate, coarse clock", WHO, |n| {
            let fresh = || randflake(SystemClock);
            time_fresh(n, u64::MAX, fresh, |ids| ids.generate().expect("borrows"))
        }),
        Case::new(GROUP, "generate, exact clock", WHO, |n| {
            let fresh = || randflake(ExactSystemClock);
            time_fresh(n, u64::MAX, fresh, |ids| ids.generate().expect("borrows"))
        }),
    ];
    cases.extend([
        Case::new(GROUP, "generate, first id of a tick", WHO, |n| {
            let fresh = || randflake(SteppedClock::now());
            time_fresh(n, TICKS, fresh, |ids| ids.generate().expect("borrows"))
        }),
        Case::new(GROUP, "Block, first id of a tick", WHO, |n| {
            time_fresh(n, TICKS, FirstOfTick::new, FirstOfTick::generate)
        }),
    ]);
    for backend in Backend::available().filter(|backend| backend.name() != "portable") {
        let name = format!("Handle::generate, {backend}");
        cases.push(
            Case::new(GROUP, name, WHO, move |n| {
                let fresh = || handle::<Forced>(WithBackend::new(backend), NODE_IDS);
                time_fresh(n, u64::MAX, fresh, |ids| ids.generate().expect("is fresh"))
            })
            .most(u64::from(NODE_IDS) * IDS_PER_TICK),
        );
    }
    cases
}

/// Random numbers, and ids that are mostly random.
fn random() -> Vec<Case> {
    vec![
        Case::new(GROUP, "random::<u64>", peer("rand"), |n| {
            time(n, rand::random::<u64>)
        }),
        Case::new(GROUP, "u64, of the system", peer("getrandom"), |n| {
            time(n, || getrandom::u64().expect("Linux has one"))
        }),
        Case::new(GROUP, "v4, fast-rng", peer("uuid"), |n| {
            time(n, uuid::Uuid::new_v4)
        }),
        Case::new(GROUP, "v7, fast-rng", peer("uuid"), |n| {
            time(n, uuid::Uuid::now_v7)
        }),
        Case::new(GROUP, "generate", peer("ulid"), |n| {
            time(n, ulid::Ulid::generate)
        }),
        Case::new(GROUP, "Generator", peer("ulid"), |n| {
            let mut generator = ulid::Generator::new();
            time(n, || {
                generator.generate().map(u128::from).unwrap_or_default()
            })
        }),
    ]
}

/// Those that take their time from the future rather than wait.
fn borrowing() -> Vec<Case> {
    vec![
        Case::new(GROUP, "generate (borrows)", peer("snowid"), {
            let generator = snowid::SnowID::new(42).expect("the node is in range");
            move |n| time(n, || generator.generate())
        }),
        Case::new(GROUP, "lazy_generate (no clock)", peer("rs-snowflake"), {
            let mut generator = snowflake::SnowflakeIdGenerator::new(1, 10);
            move |n| time(n, || generator.lazy_generate())
        }),
        Case::new(GROUP, "generate (borrows)", peer("scru64"), |n| {
            let node = "42/8".parse().expect("it is a node spec");
            let mut generator = scru64::generator::Scru64Generator::new(node);
            time(n, || generator.generate().expect("not 10 s ahead"))
        })
        // Its sequences of 10 s.
        .most(39 * 65_536),
        Case::new(GROUP, "create (borrows)", peer("tsid"), {
            let mut factory = tsid::TsidFactory::with_node_bits(10, 42);
            move |n| time(n, || factory.create().number())
        }),
    ]
}

#[typedflake(epoch = "2025-01-01")]
struct TypedId(i64);

/// A generator's sustained rate, and what an id of it costs as long as its tick has some.
fn both<T: 'static>(
    name: &str,
    who: String,
    (ids_per_tick, tick_ms): (u32, u32),
    next: impl FnMut() -> T + 'static,
) -> [Case; 2] {
    let next = Rc::new(RefCell::new(next));
    let again = Rc::clone(&next);
    let burst = BURST.min(u64::from(ids_per_tick) / 4);
    [
        Case::new(GROUP, format!("{name}, in bursts"), who.clone(), move |n| {
            let next = &mut *again.borrow_mut();
            time_bursts(n, burst, tick_ms.into(), next)
        })
        .unit(burst)
        .most(BURSTS.min(8 * burst)),
        Case::new(GROUP, name, who, move |n| {
            let next = &mut *next.borrow_mut();
            // To begin with a tick.
            (0..=ids_per_tick).for_each(|_| _ = black_box(next()));
            time(n, next)
        })
        .unit(ids_per_tick.into())
        .ceiling(ids_per_tick, tick_ms),
    ]
}

/// Those that wait for the next tick when one is exhausted.
fn exhausted() -> Vec<Case> {
    const SNOWFLAKE: (u32, u32) = (4_096, 1);
    let mut cases = Vec::new();

    let clock = MonotonicClock::<1>::with_epoch(TWITTER_EPOCH);
    let basic = BasicSnowflakeGenerator::<SnowflakeTwitterId, _>::new(42, clock.clone());
    let next = move || basic.next_id(|_| spin_loop());
    cases.extend(both("Basic, its ticker", peer("ferroid"), SNOWFLAKE, next));
    let atomic = AtomicSnowflakeGenerator::<SnowflakeTwitterId, _>::new(42, clock);
    let next = move || atomic.next_id(|_| spin_loop());
    cases.extend(both("Atomic, its ticker", peer("ferroid"), SNOWFLAKE, next));

    let generator = snowflake_me::Snowflake::builder()
        .machine_id(&|| Ok(1))
        .data_center_id(&|| Ok(1))
        .finalize()
        .expect("the ids are in range");
    let next = move || generator.next_id().expect("waits");
    cases.extend(both("next_id", peer("snowflake_me"), SNOWFLAKE, next));

    let generator = snowid::SnowID::new(42).expect("the node is in range");
    let next = move || {
        loop {
            if let Ok(id) = generator.try_generate() {
                break id;
            }
        }
    };
    cases.extend(both("try_generate", peer("snowid"), SNOWFLAKE, next));

    let mut generator = snowflaked::Generator::new(42);
    let next = move || generator.generate::<u64>();
    cases.extend(both("Generator", peer("snowflaked"), SNOWFLAKE, next));
    let generator = snowflaked::sync::Generator::new(42);
    let next = move || generator.generate::<u64>();
    cases.extend(both("sync::Generator", peer("snowflaked"), SNOWFLAKE, next));

    let mut generator = snowflake::SnowflakeIdGenerator::new(1, 10);
    let next = move || generator.real_time_generate();
    cases.extend(both(
        "real_time_generate",
        peer("rs-snowflake"),
        SNOWFLAKE,
        next,
    ));

    let generator = TypedId::generator(42).expect("the node is in range");
    let next = move || {
        loop {
            if let Ok(id) = generator.generate() {
                break id.get();
            }
        }
    };
    cases.extend(both("generate", peer("typedflake"), SNOWFLAKE, next));

    let generator = sonyflake::Sonyflake::builder()
        .machine_id(&|| Ok(42))
        .finalize()
        .expect("the id is in range");
    let next = move || generator.next_id().expect("sleeps").to_u64();
    cases.extend(both("next_id", peer("sonyflake"), (256, 10), next));
    cases
}

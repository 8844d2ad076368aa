//! Cost of an id in batches of 1,024.

use std::hint::black_box;
use std::time::Duration;

use rand::RngExt as _;
use randflake_core::{Id, Randflake, Snowflake};
use randflake_std::{Plain, SystemClock};
use sparx64::Backend;

use super::peer;
use crate::measure::{Case, time, time_bursts};
use crate::ours::{Forced, IDS_PER_TICK, WHO, WithBackend, cipher, generator, handle};

const GROUP: &str = "batch";
const LENGTH: u64 = 1_024;
const NODE_IDS: u32 = 32;

fn case(name: &str, who: String, run: impl FnMut(u64) -> Duration + 'static) -> Case {
    Case::new(GROUP, name, who, run).unit(LENGTH)
}

/// Fills a buffer time and again.
fn fill(n: u64, fill: impl Fn(&mut [Id]) -> usize) -> Duration {
    let mut ids = vec![Id::from_u64(0); 1_024];
    time(n / LENGTH, || {
        let mut filled = 0;
        // A buffer that meets the end of a tick takes two calls.
        while filled < ids.len() {
            filled += fill(black_box(&mut ids[filled..]));
        }
    })
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for backend in Backend::available() {
        let name = format!("Generator::fill, {backend}");
        cases.push(case(&name, WHO.to_owned(), move |n| {
            let permutation = WithBackend::new(backend);
            let ids =
                generator::<Forced, std::sync::atomic::AtomicU64, _>(SystemClock, permutation);
            fill(n, |buffer| ids.fill(buffer).expect("borrows"))
        }));
    }
    cases.extend([
        case("Handle::fill", WHO.to_owned(), |n| {
            let ids = handle::<Randflake>(cipher(), NODE_IDS);
            fill(n, |buffer| ids.fill(buffer).expect("is fresh"))
        })
        .most(u64::from(NODE_IDS) * IDS_PER_TICK),
        case("Generator::fill, Snowflake layout", WHO.to_owned(), |n| {
            let ids = generator::<Snowflake, std::sync::atomic::AtomicU64, _>(SystemClock, Plain);
            fill(n, |buffer| ids.fill(buffer).expect("borrows"))
        }),
    ]);
    cases.extend(peers());
    cases
}

fn peers() -> Vec<Case> {
    let mut buffer = vec![0_u64; 1_024];
    let mut other = buffer.clone();
    let mut bytes = vec![0_u8; 8_192];
    let ids = snowid::SnowID::new(42).expect("the node is in range");
    let me = || {
        snowflake_me::Snowflake::builder()
            .machine_id(&|| Ok(1))
            .data_center_id(&|| Ok(1))
            .finalize()
            .expect("the ids are in range")
    };
    let (sustained, in_bursts) = (me(), me());
    let (mut out, mut out_again) = (Vec::new(), Vec::new());
    vec![
        case("fill, of u64", peer("rand"), move |n| {
            time(n / LENGTH, || rand::rng().fill(black_box(&mut buffer[..])))
        }),
        case("fill, 8 KiB, of the system", peer("getrandom"), move |n| {
            time(n / LENGTH, || getrandom::fill(black_box(&mut bytes)))
        }),
        case("generate_batch (borrows)", peer("snowid"), move |n| {
            time(n / LENGTH, || ids.generate_batch(black_box(&mut other)))
        }),
        case("next_ids_into, in bursts", peer("snowflake_me"), move |n| {
            time_bursts(n / LENGTH, 1, 1, || {
                out.clear();
                in_bursts.next_ids_into(1_024, black_box(&mut out))
            })
        })
        .most(16 * LENGTH),
        case("next_ids_into", peer("snowflake_me"), move |n| {
            let mut batch = || {
                out_again.clear();
                sustained.next_ids_into(1_024, black_box(&mut out_again))
            };
            // To begin with a tick.
            (0..=4).for_each(|_| _ = batch());
            time(n / LENGTH, batch)
        })
        .ceiling(4_096, 1),
    ]
}

//! Any clock, demand and extension: no id twice, none outside the lease or ahead of the clock.
#![no_main]

use core::sync::atomic::{AtomicU32, AtomicU64};
use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use randflake_core::{AtomicWord, Generator, Id, Layout, Lease, ManualClock, Plain, Sonyflake};

/// The lease's ticks, the tolerance, and steps of a tick of the clock, a demand and a new end.
type Input = (u16, u8, Vec<(u16, u16, u16)>);

const START: u64 = 1_000;
const NODE_ID: u32 = 7;
/// Ids are followed one by one, so histories must not get long.
const LARGEST_DEMAND: usize = 600;
const MOST_STEPS: usize = 64;

fuzz_target!(|input: Input| {
    replay::<AtomicU64>(&input);
    replay::<AtomicU32>(&input);
});

fn replay<W: AtomicWord>((length, tolerance, steps): &Input) {
    let spec = Sonyflake::SPEC;
    let tolerance = u32::from(*tolerance);
    let clock = ManualClock::at_unix_ms(spec.unix_ms(START));
    let until = |ticks: u16| Lease::new(Sonyflake, NODE_ID, START, START + u64::from(ticks));
    let Ok(lease) = until(*length) else {
        return;
    };
    let Ok(generator) = Generator::<_, W, _>::new(lease, &clock, Plain) else {
        return;
    };
    let generator = generator.with_tolerance(tolerance);
    let mut buffer = [Id::from_u64(0); LARGEST_DEMAND];
    let mut issued = HashSet::new();
    for &(tick, demand, end) in steps.iter().take(MOST_STEPS) {
        let now = START + u64::from(tick);
        clock.set_unix_ms(spec.unix_ms(now));
        let demanded = &mut buffer[..usize::from(demand) % LARGEST_DEMAND];
        let filled = generator.fill(demanded).unwrap_or(0);
        for &id in &demanded[..filled] {
            let parts = generator.inspect(id);
            assert!(issued.insert(id), "{parts:?} twice");
            assert_eq!(parts.node_id, NODE_ID);
            assert!(
                parts.tick <= now + u64::from(tolerance),
                "{parts:?} at {now}"
            );
            let lease = generator.lease();
            assert!(
                (lease.start()..lease.end()).contains(&parts.tick),
                "{parts:?}, {lease:?}"
            );
        }
        let before = generator.lease().end();
        if let Ok(extended) = until(end) {
            let taken = generator.extend(extended).is_ok();
            assert!(!taken || now < before, "an expired lease was extended");
        }
        assert!(generator.lease().end() >= before, "the lease got shorter");
    }
}

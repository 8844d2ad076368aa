//! Every word under threads that fight for it: each position comes out exactly once.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use core::sync::atomic::AtomicU32;
use core::time::Duration;
use std::thread;

use randflake_core::{
    AtomicWord, Clock, GenerateError, Lease, ManualClock, Sequencer, Snowflake, UnixClock, Uptime,
};
use randflake_embedded::{CriticalSectionWord, PortableWord};

fn issues_each_position_once<W: AtomicWord + Sync>() {
    const TICKS: u64 = 50;
    let clock = ManualClock::at_unix_ms(1_288_834_974_657);
    let lease = Lease::new(Snowflake, 1, 0, TICKS).unwrap();
    let sequencer = Sequencer::<Snowflake, W>::new(lease).unwrap();
    let take_all = || {
        let mut raws = Vec::new();
        loop {
            match sequencer.take(&clock, 0) {
                Ok(raw) => raws.push(raw),
                Err(GenerateError::SequenceExhausted { .. }) => clock.advance_ms(1),
                Err(GenerateError::LeaseOver { .. }) => return raws,
                Err(other) => panic!("{other}"),
            }
        }
    };
    let mut raws: Vec<u64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(take_all)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let issued = raws.len();
    raws.sort_unstable();
    raws.dedup();
    assert_eq!(raws.len(), issued, "no position was issued twice");
    assert!(issued >= 4096, "at least one tick was used up");
}

#[test]
fn critical_section_word_issues_each_position_once() {
    issues_each_position_once::<CriticalSectionWord>();
}

#[test]
fn portable_word_issues_each_position_once() {
    issues_each_position_once::<PortableWord>();
}

#[test]
fn native_word_issues_each_position_once() {
    issues_each_position_once::<AtomicU32>();
}

/// A clock that main code and interrupts share needs no cell that is filled at run time.
#[test]
fn a_clock_of_any_word_can_be_a_static() {
    type Time<W> = UnixClock<Uptime<1_000, fn() -> u32, W>, W>;

    static CRITICAL_SECTION: Time<CriticalSectionWord> = UnixClock::new(Uptime::since_zero(|| 500));
    static PORTABLE: Time<PortableWord> = UnixClock::new(Uptime::since_zero(|| 500));
    static NATIVE: Time<AtomicU32> = UnixClock::new(Uptime::since_zero(|| 500));
    static WORD: CriticalSectionWord = CriticalSectionWord::new(7);

    let now = Duration::from_secs(1_733_706_297);
    let clocks: [&dyn Clock; 3] = [&CRITICAL_SECTION, &PORTABLE, &NATIVE];
    assert!(clocks.iter().all(|clock| clock.now().is_none()));
    CRITICAL_SECTION.set(now).unwrap();
    PORTABLE.set(now).unwrap();
    NATIVE.set(now).unwrap();
    assert!(clocks.iter().all(|clock| clock.now() == Some(now)));
    assert!(WORD.compare_exchange(7, 8) && WORD.load() == 8);
}

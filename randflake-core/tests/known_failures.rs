//! Failures of the 1.x packages, each replayed step by step with words of either width. Where
//! ids repeated, a model of their algorithm repeats them too, so that the scenario is known to
//! bite.
//!
//! Two more, a restart in the same second and a forked child, need a process that takes leases; the
//! tests of `randflake-std` have them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicU32, AtomicU64};
use core::time::Duration;
use std::collections::HashSet;
use std::rc::Rc;

use randflake_core::{
    AtomicWord, Clock, Codec, ExtendError, GenerateError, Generator, Id, Lease, ManualClock, Parts,
    Randflake, Sequencer, Sparx64,
};

const NODE_ID: u32 = 42;
/// The scenarios' first tick; the lease is long enough for all of them.
const START: u64 = 1_000;
const PER_TICK: usize = 131_072;

fn unix_ms(tick: u64) -> u64 {
    (1_730_000_000 + tick) * 1_000
}

fn sequencer<W: AtomicWord>() -> Sequencer<Randflake, W> {
    Sequencer::new(Lease::new(Randflake, NODE_ID, START, START + 60).unwrap()).unwrap()
}

fn raw(tick: u64, sequence: u64) -> u64 {
    tick << 34 | u64::from(NODE_ID) << 17 | sequence
}

fn all_differ(raws: &[u64]) -> bool {
    raws.iter().collect::<HashSet<_>>().len() == raws.len()
}

/// The generator of the 1.x packages: a counter, which is set back where a second comes after the
/// one in which it was set back last. Their atomic operations are its single steps.
struct Old {
    sequence: Cell<u64>,
    rollover: Cell<u64>,
}

impl Old {
    fn new() -> Self {
        Self {
            sequence: Cell::new(0),
            rollover: Cell::new(START),
        }
    }

    fn take(&self, now: u64) -> Option<u64> {
        self.take_and_sleep(now, || ())
    }

    /// As `take`; when it sets the counter back, `sleep` is what others do in between.
    fn take_and_sleep(&self, now: u64, sleep: impl FnOnce()) -> Option<u64> {
        let mut sequence = self.sequence.get() + 1;
        self.sequence.set(sequence);
        if sequence >= PER_TICK as u64 {
            if now <= self.rollover.get() {
                return None;
            }
            self.rollover.set(now);
            sleep();
            self.sequence.set(0);
            sequence = 0;
        }
        Some(raw(now, sequence))
    }
}

/// A clock that, when told to, is read by one who then sleeps, while others go on.
struct SleepyClock<'a> {
    time: &'a ManualClock,
    sleep: Cell<Option<Box<dyn FnOnce() + 'a>>>,
}

impl Clock for SleepyClock<'_> {
    fn now(&self) -> Option<Duration> {
        let now = self.time.now();
        if let Some(others_go_on) = self.sleep.take() {
            others_go_on();
        }
        now
    }
}

thread_local! {
    static BEFORE_EXCHANGE: RefCell<Option<Box<dyn FnOnce()>>> = RefCell::default();
}

/// A word that, when told to, lets others go on between its owner's decision to write and the
/// write.
struct SleepyWord<W>(W);

impl<W: AtomicWord> AtomicWord for SleepyWord<W> {
    type Value = W::Value;

    fn new(value: W::Value) -> Self {
        Self(W::new(value))
    }

    fn load(&self) -> W::Value {
        self.0.load()
    }

    fn compare_exchange(&self, current: W::Value, new: W::Value) -> bool {
        if let Some(others_go_on) = BEFORE_EXCHANGE.take() {
            others_go_on();
        }
        self.0.compare_exchange(current, new)
    }
}

/// Runs a scenario with both widths of word.
macro_rules! with_both_words {
    ($($name:ident: $scenario:ident;)*) => {$(
        #[test]
        #[cfg_attr(miri, ignore = "uses up whole ticks of 131,072 ids")]
        fn $name() {
            $scenario::<AtomicU64>();
            $scenario::<AtomicU32>();
        }
    )*};
}

with_both_words! {
    a_one_thread_under_a_steady_clock: one_thread_under_a_steady_clock;
    b_clock_one_second_back_after_a_rollover: clock_one_second_back_after_a_rollover;
    c_asleep_over_a_rollover_with_the_time_in_hand: asleep_over_a_rollover;
    d_delayed_reset_of_the_counter: delayed_reset_of_the_counter;
    g_expired_lease_extended: expired_lease_extended;
    h_inspection_after_2041: inspection_after_2041;
}

/// A whole second, one id of the next, then 131,073 calls in the third.
fn one_thread_under_a_steady_clock<W: AtomicWord>() {
    let calls = [(START, PER_TICK), (START + 1, 1), (START + 2, PER_TICK + 1)];
    let old = Old::new();
    let mut raws = Vec::new();
    for (tick, count) in calls {
        raws.extend((0..count).filter_map(|_| old.take(tick)));
    }
    assert!(!all_differ(&raws), "the old generator repeats");
    assert_eq!(raws.last(), Some(&raw(START + 2, 1)));

    let sequencer = sequencer::<W>();
    let mut raws = Vec::new();
    for (tick, count) in calls {
        let clock = ManualClock::at_unix_ms(unix_ms(tick));
        raws.extend((0..count).filter_map(|_| sequencer.take(&clock, 0).ok()));
    }
    assert!(all_differ(&raws));
    assert_eq!(
        raws.len(),
        PER_TICK + 1 + PER_TICK,
        "the last call was refused"
    );
}

fn clock_one_second_back_after_a_rollover<W: AtomicWord>() {
    let old = Old::new();
    let mut raws: Vec<u64> = (0..PER_TICK).filter_map(|_| old.take(START)).collect();
    raws.extend(old.take(START + 1));
    raws.extend(old.take(START));
    assert!(!all_differ(&raws), "the old generator repeats");

    let sequencer = sequencer::<W>();
    let clock = ManualClock::at_unix_ms(unix_ms(START));
    let mut raws: Vec<u64> = (0..PER_TICK)
        .map(|_| sequencer.take(&clock, 0).unwrap())
        .collect();
    clock.advance_ms(1_000);
    raws.push(sequencer.take(&clock, 0).unwrap());
    clock.step_ms(-1_000);
    let behind = GenerateError::ClockBehind { behind_ms: 1_000 };
    assert_eq!(sequencer.take(&clock, 0), Err(behind));
    clock.advance_ms(1_000);
    raws.push(sequencer.take(&clock, 0).unwrap());
    assert!(all_differ(&raws));
    assert_eq!(raws.last(), Some(&raw(START + 1, 1)), "nothing was lost");
}

fn asleep_over_a_rollover<W: AtomicWord>() {
    let old = Old::new();
    let mut raws: Vec<u64> = (0..PER_TICK).filter_map(|_| old.take(START)).collect();
    raws.extend((0..3).filter_map(|_| old.take(START + 1)));
    raws.extend(old.take(START)); // the sleeper, with the time it had read
    assert!(!all_differ(&raws), "the old generator repeats");

    let sequencer = sequencer::<W>();
    let time = ManualClock::at_unix_ms(unix_ms(START));
    let raws = RefCell::new(vec![sequencer.take(&time, 0).unwrap()]);
    let issue = || raws.borrow_mut().push(sequencer.take(&time, 0).unwrap());
    let sleeper = SleepyClock {
        time: &time,
        sleep: Cell::new(Some(Box::new(|| {
            (1..PER_TICK).for_each(|_| issue());
            time.advance_ms(1_000);
            (0..3).for_each(|_| issue());
        }))),
    };
    let late = sequencer.take(&sleeper, 0).unwrap();
    assert_eq!(late, raw(START + 1, 3), "the time was read again");
    drop(sleeper);
    let mut raws = raws.into_inner();
    raws.push(late);
    assert!(all_differ(&raws));
}

/// One thread begins to roll over and sleeps before it writes; meanwhile another second begins.
fn delayed_reset_of_the_counter<W: AtomicWord + 'static>() {
    let old = Old::new();
    let mut raws: Vec<u64> = (0..PER_TICK).filter_map(|_| old.take(START)).collect();
    let mut meanwhile = Vec::new();
    let late = old.take_and_sleep(START + 1, || {
        meanwhile.extend((0..2).filter_map(|_| old.take(START + 2)));
    });
    raws.extend(meanwhile.into_iter().chain(late));
    raws.extend(old.take(START + 2));
    assert!(!all_differ(&raws), "the old generator repeats");

    let sequencer = Rc::new(sequencer::<SleepyWord<W>>());
    let time = Rc::new(ManualClock::at_unix_ms(unix_ms(START)));
    let mut raws: Vec<u64> = (0..PER_TICK)
        .map(|_| sequencer.take(&*time, 0).unwrap())
        .collect();
    time.advance_ms(1_000);
    let meanwhile = Rc::new(RefCell::new(Vec::new()));
    BEFORE_EXCHANGE.set(Some(Box::new({
        let (sequencer, time, meanwhile) = (sequencer.clone(), time.clone(), meanwhile.clone());
        move || {
            time.advance_ms(1_000);
            let issued = (0..2).map(|_| sequencer.take(&*time, 0).unwrap());
            meanwhile.borrow_mut().extend(issued);
        }
    })));
    raws.push(sequencer.take(&*time, 0).unwrap());
    raws.push(sequencer.take(&*time, 0).unwrap());
    assert_eq!(*meanwhile.borrow(), [raw(START + 2, 0), raw(START + 2, 1)]);
    assert_eq!(raws[PER_TICK..], [raw(START + 2, 2), raw(START + 2, 3)]);
}

fn expired_lease_extended<W: AtomicWord>() {
    let clock = ManualClock::at_unix_ms(unix_ms(START + 60));
    let sequencer = sequencer::<W>();
    let extended = Lease::new(Randflake, NODE_ID, START, START + 120).unwrap();
    let expired = ExtendError::Expired { since_ms: 0 };
    assert_eq!(sequencer.extend(extended, &clock), Err(expired));
    clock.advance_ms(10_000);
    let expired = ExtendError::Expired { since_ms: 10_000 };
    assert_eq!(sequencer.extend(extended, &clock), Err(expired));
    let over = GenerateError::LeaseOver { since_ms: 10_000 };
    assert_eq!(sequencer.take(&clock, 0), Err(over));
    assert_eq!(sequencer.lease().end(), START + 60);
}

/// The first id with the top bit set, from the reference vectors; the old packages refused it.
fn inspection_after_2041<W: AtomicWord>() {
    let (tick, node_id) = (1 << 29, 0);
    let lease = Lease::new(Randflake, node_id, tick, tick + 1).unwrap();
    let clock = ManualClock::at_unix_ms(unix_ms(tick));
    let generator =
        Generator::<Randflake, W, _>::new(lease, &clock, Sparx64::new(&[0; 16])).unwrap();
    let id = generator.generate().unwrap();
    assert_eq!(id, Id::from_i64(-3_982_597_608_054_324_766));
    let codec: &Codec<Randflake> = generator.codec();
    assert!(
        codec.raw(id).cast_signed() < 0,
        "what the old packages looked at"
    );
    let parts = Parts {
        tick,
        node_id,
        sequence: 0,
    };
    assert_eq!(generator.inspect(id), parts);
    assert_eq!(codec.unix_ms(id), unix_ms(tick));
}

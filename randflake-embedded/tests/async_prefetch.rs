//! The channel of ids: tasks wait for it, and get none that is stale.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::future::Future;
use core::pin::pin;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::{Context, Poll};
use std::sync::Arc;
use std::task::Wake;

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use randflake_core::{GenerateError, Generator, Layout, Lease, ManualClock, Randflake, Sparx64};
use randflake_embedded::AsyncPrefetch;

type Ids = AsyncPrefetch<Randflake, CriticalSectionRawMutex, 3>;

/// How often a task was woken.
#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn clock() -> ManualClock {
    ManualClock::at_unix_ms(Randflake::SPEC.unix_ms(100))
}

fn generator(clock: &ManualClock) -> Generator<Randflake, AtomicU32, &ManualClock> {
    let lease = Lease::new(Randflake, 1, 100, 120).unwrap();
    Generator::new(lease, clock, Sparx64::new(&[7; 16])).unwrap()
}

#[test]
fn a_task_waits_for_an_id_that_is_fresh() {
    let (clock, ids) = (clock(), Ids::new(5));
    let generator = generator(&clock);
    let fill = || ids.fill(&generator.lease(), &clock, || generator.generate());
    assert_eq!(fill(), Ok(3));
    assert_eq!(fill(), Ok(0), "it is full");
    clock.advance_ms(6_000);

    let woken = Arc::new(Woken::default());
    let waker = woken.clone().into();
    let mut context = Context::from_waker(&waker);
    let mut taking = pin!(ids.take(&clock));
    assert_eq!(taking.as_mut().poll(&mut context), Poll::Pending, "stale");
    assert_eq!(fill(), Ok(3));
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    let Poll::Ready(id) = taking.as_mut().poll(&mut context) else {
        panic!("the channel was filled");
    };
    let parts = generator.inspect(id);
    assert_eq!((parts.tick, parts.sequence), (106, 0));
}

#[test]
fn who_fills_waits_for_room() {
    let (clock, ids) = (clock(), Ids::new(5));
    let generator = generator(&clock);
    let woken = Arc::new(Woken::default());
    let waker = woken.clone().into();
    let mut context = Context::from_waker(&waker);
    let poll = |context: &mut Context<'_>| pin!(ids.has_room()).poll(context);
    assert_eq!(poll(&mut context), Poll::Ready(()));
    ids.fill(&generator.lease(), &clock, || generator.generate())
        .unwrap();
    assert_eq!(poll(&mut context), Poll::Pending);
    assert!(ids.try_take(&clock).is_some());
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert_eq!(poll(&mut context), Poll::Ready(()));
}

#[test]
fn an_interrupt_gets_what_is_fresh_or_nothing() {
    let (clock, ids) = (clock(), Ids::new(0));
    let generator = generator(&clock);
    let fill = || ids.fill(&generator.lease(), &clock, || generator.generate());
    fill().unwrap();
    assert!(ids.try_take(&clock).is_some());
    clock.advance_ms(1_000);
    assert_eq!(ids.try_take(&clock), None);
    clock.advance_ms(19_000);
    assert_eq!(fill(), Err(GenerateError::LeaseOver { since_ms: 0 }));
}

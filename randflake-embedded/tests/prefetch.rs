//! The queue and the channel of ids: in order, of a bounded age, empty when the lease is over;
//! tasks wait for the channel.

#![cfg(any(feature = "embassy-sync", feature = "heapless"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::AtomicU32;

use randflake_core::{Generator, Layout as _, Lease, ManualClock, Randflake, Sparx64};

fn clock() -> ManualClock {
    ManualClock::at_unix_ms(Randflake::SPEC.unix_ms(100))
}

fn generator(clock: &ManualClock) -> Generator<Randflake, AtomicU32, &ManualClock> {
    let lease = Lease::new(Randflake, 1, 100, 120).unwrap();
    Generator::new(lease, clock, Sparx64::new(&[7; 16])).unwrap()
}

#[cfg(feature = "heapless")]
mod queue {
    use core::sync::atomic::AtomicU32;
    use std::collections::HashSet;
    use std::thread;

    use randflake_core::{
        Clock, Codec, GenerateError, Generator, Lane, Layout, Lease, ManualClock, Plain, Randflake,
        Snowflake, Sparx64,
    };
    use randflake_embedded::Prefetch;

    use super::{clock, generator};

    #[test]
    fn ids_are_at_most_so_old() {
        let (clock, mut queue) = (clock(), Prefetch::<4>::new());
        let generator = generator(&clock);
        let (mut filler, mut taker) = queue.split(5);
        let mut fill = || filler.fill(&generator.lease(), &clock, || generator.generate());
        assert_eq!(fill(), Ok(3));
        assert_eq!(fill(), Ok(0), "it is full");
        clock.advance_ms(5_000);
        let id = taker.take(&clock).unwrap();
        assert_eq!(generator.inspect(id).sequence, 0);
        assert_eq!(fill(), Ok(1));
        clock.advance_ms(1_000);
        let id = taker.take(&clock).unwrap();
        assert_eq!(
            generator.inspect(id).tick,
            105,
            "the two older ones are dropped"
        );
        assert_eq!(taker.take(&clock), None);
    }

    /// As a block of `randflake-std`: an id has the current tick, or it is dropped.
    #[test]
    fn without_an_age_an_id_is_of_the_current_tick() {
        let (clock, mut queue) = (clock(), Prefetch::<4>::new());
        let generator = generator(&clock);
        let (mut filler, mut taker) = queue.split(0);
        let mut fill = || filler.fill(&generator.lease(), &clock, || generator.generate());
        fill().unwrap();
        clock.advance_ms(999);
        assert!(taker.take(&clock).is_some());
        clock.advance_ms(1);
        assert_eq!(taker.take(&clock), None);
    }

    #[test]
    fn ids_ahead_are_dropped_after_a_step_back() {
        for max_age in [0, 5] {
            let (clock, mut queue) = (clock(), Prefetch::<4>::new());
            clock.advance_ms(10_000);
            let generator = generator(&clock);
            let (mut filler, mut taker) = queue.split(max_age);
            filler
                .fill(&generator.lease(), &clock, || generator.generate())
                .unwrap();
            clock.set_unix_ms(Randflake::SPEC.unix_ms(109));
            assert_eq!(taker.take(&clock), None);
        }
    }

    /// The lease ends before the ids are too old.
    #[test]
    fn ids_ahead_are_dropped_at_the_end_of_a_lease() {
        let (clock, mut queue) = (clock(), Prefetch::<4>::new());
        let generator = generator(&clock);
        let (mut filler, mut taker) = queue.split(10);
        clock.advance_ms(18_000);
        filler
            .fill(&generator.lease(), &clock, || generator.generate())
            .unwrap();
        clock.set_unix_ms(Randflake::SPEC.unix_ms(112));
        assert_eq!(taker.take(&clock), None);
    }

    #[test]
    fn nothing_is_left_when_the_lease_is_over() {
        let (clock, mut queue) = (clock(), Prefetch::<4>::new());
        let generator = generator(&clock);
        let (mut filler, mut taker) = queue.split(1_000);
        let lease = generator.lease();
        filler
            .fill(&lease, &clock, || generator.generate())
            .unwrap();
        clock.advance_ms(19_000);
        assert!(taker.take(&clock).is_some());
        clock.advance_ms(1_000);
        assert_eq!(taker.take(&clock), None);
        let refused = filler.fill(&lease, &clock, || generator.generate());
        assert_eq!(refused, Err(GenerateError::LeaseOver { since_ms: 0 }));
    }

    #[test]
    fn first_id_after_a_pause_is_of_the_takers_lane() {
        let (clock, mut queue) = (clock(), Prefetch::<4>::new());
        let lease = Lease::new(Randflake, 1, 100, 120).unwrap();
        let key = Sparx64::new(&[7; 16]);
        let [mut main_code, mut interrupt] = Lane::split(lease, &clock, &key).unwrap();
        let (mut filler, mut taker) = queue.split(5);
        let codec = Codec::new(Randflake, Sparx64::new(&[7; 16]));
        let mut ids = HashSet::new();
        for pause_ms in [0, 6_000, 6_000] {
            clock.advance_ms(pause_ms);
            for n in 0..5 {
                let id = taker.take_or(&clock, || interrupt.generate()).unwrap();
                let parts = codec.inspect(id);
                let now = Randflake::SPEC.tick_at(clock.now().unwrap()).unwrap();
                assert_eq!(parts.tick, now, "of before the pause");
                let is_queued = parts.sequence < 65_536;
                assert_eq!(is_queued, (1..=3).contains(&n), "{n}");
                assert!(ids.insert(id));
                if n == 0 {
                    let put = filler.fill(&lease, &clock, || main_code.generate());
                    assert_eq!(put, Ok(3));
                }
            }
            let put = filler.fill(&lease, &clock, || main_code.generate());
            assert_eq!(put, Ok(3), "which are too old after the pause");
        }
        clock.advance_ms(10_000);
        let refused = taker.take_or(&clock, || interrupt.generate());
        assert_eq!(refused, Err(GenerateError::LeaseOver { since_ms: 2_000 }));
    }

    #[test]
    fn without_a_time_there_are_none() {
        let (clock, mut queue) = (ManualClock::unknown(), Prefetch::<4>::new());
        let generator = generator(&clock);
        let (mut filler, mut taker) = queue.split(1_000);
        let refused = filler.fill(&generator.lease(), &clock, || generator.generate());
        assert_eq!(refused, Err(GenerateError::ClockUnknown));
        assert_eq!(taker.take(&clock), None);
    }

    /// One fills while the other takes, as main code and interrupt do.
    #[test]
    fn both_ends_work_at_once() {
        const IDS: usize = 2_000;
        let clock = ManualClock::at_unix_ms(Snowflake::SPEC.unix_ms(100));
        let lease = Lease::new(Snowflake, 1, 100, 1_000).unwrap();
        let generator = Generator::<Snowflake, AtomicU32, _>::new(lease, &clock, Plain).unwrap();
        let mut queue = Prefetch::<32>::new();
        let (mut filler, mut taker) = queue.split(1_000);
        let mut ids = HashSet::new();
        thread::scope(|scope| {
            let filling = scope.spawn(|| {
                let mut added = 0;
                while added < IDS {
                    match filler.fill(&lease, &clock, || generator.generate()) {
                        Ok(0) => thread::yield_now(),
                        Ok(n) => added += n,
                        Err(_) => clock.advance_ms(1),
                    }
                }
                added
            });
            loop {
                let is_done = filling.is_finished();
                while let Some(id) = taker.take(&clock) {
                    assert!(ids.insert(id), "{id} twice");
                }
                if is_done {
                    break;
                }
                thread::yield_now();
            }
            assert_eq!(filling.join().unwrap(), ids.len());
        });
    }
}

#[cfg(feature = "embassy-sync")]
mod channel {
    use core::future::Future;
    use core::pin::pin;
    use core::sync::atomic::{AtomicU32, Ordering};
    use core::task::{Context, Poll};
    use std::sync::Arc;
    use std::task::Wake;

    use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
    use randflake_core::{GenerateError, Randflake};
    use randflake_embedded::AsyncPrefetch;

    use super::{clock, generator};

    type Ids = AsyncPrefetch<Randflake, CriticalSectionRawMutex, 3>;

    /// How often a task was woken.
    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
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
}

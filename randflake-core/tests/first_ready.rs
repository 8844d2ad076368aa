//! Several leases, each of its own node id: who issues, who is passed over, and what is said when
//! none can.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, AtomicU64};

use randflake_core::internal::{Word as _, first_ready_within};
use randflake_core::{
    AtomicWord, Codec, Field, GenerateError, Layout, LayoutFields, LayoutSpec, Lease, LocalWord,
    ManualClock, Plain, Sequencer,
};

/// Two ids a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slow;

impl Layout for Slow {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field {
            bits: 40,
            shift: 10,
        },
        node_id: Field { bits: 8, shift: 0 },
        sequence: Field { bits: 1, shift: 8 },
        epoch_unix_ms: 0,
        tick_ms: 1_000,
    });
}

struct Pool<'a, W> {
    members: Vec<Sequencer<Slow, W>>,
    cursor: W,
    clock: &'a ManualClock,
    tolerance: u32,
}

impl<W: AtomicWord> Pool<'_, W> {
    /// The node id and tick of the next id.
    fn generate(&self) -> Result<(u32, u64), GenerateError> {
        let take = |member: &Sequencer<Slow, W>, ticks| member.take(self.clock, ticks);
        let raw = first_ready_within(&self.members, &self.cursor, self.tolerance, take)?;
        let codec = Codec::new(Slow, Plain);
        let parts = codec.inspect(codec.id(raw));
        Ok((parts.node_id, parts.tick))
    }
}

/// Members of the node ids 1, 2, .. with leases of the given ticks.
fn pool<'a, W: AtomicWord>(clock: &'a ManualClock, leases: &[(u64, u64)]) -> Pool<'a, W> {
    let members = (1..).zip(leases).map(|(node_id, &(start, end))| {
        Sequencer::new(Lease::new(Slow, node_id, start, end).unwrap()).unwrap()
    });
    Pool {
        members: members.collect(),
        cursor: W::new(W::Value::ZERO),
        clock,
        tolerance: 0,
    }
}

/// The node ids and ticks of the next ids, until an error.
fn drain<W: AtomicWord>(pool: &Pool<'_, W>) -> (Vec<(u32, u64)>, GenerateError) {
    let mut issued = Vec::new();
    loop {
        match pool.generate() {
            Ok(id) => issued.push(id),
            Err(error) => return (issued, error),
        }
    }
}

fn node_ids<W: AtomicWord>(pool: &Pool<'_, W>) -> Vec<u32> {
    drain(pool)
        .0
        .into_iter()
        .map(|(node_id, _)| node_id)
        .collect()
}

#[test]
fn it_stays_with_a_member_until_it_is_exhausted() {
    let clock = ManualClock::at_unix_ms(100_000);
    let pool = pool::<AtomicU64>(&clock, &[(100, 200); 3]);
    assert_eq!(node_ids(&pool), [1, 1, 2, 2, 3, 3]);
    clock.advance_ms(1_250);
    let (issued, error) = drain(&pool);
    assert_eq!(
        issued,
        [(3, 101), (3, 101), (1, 101), (1, 101), (2, 101), (2, 101)]
    );
    assert_eq!(error, GenerateError::SequenceExhausted { retry_in_ms: 750 });
}

#[test]
fn a_member_ahead_of_the_clock_is_passed_over() {
    let clock = ManualClock::at_unix_ms(150_000);
    let pool = pool::<AtomicU32>(&clock, &[(100, 200), (100, 200)]);
    pool.generate().unwrap();
    clock.step_ms(-10_000);
    let (issued, error) = drain(&pool);
    assert_eq!(issued, [(2, 140), (2, 140)], "the clock step was survived");
    assert_eq!(
        error,
        GenerateError::SequenceExhausted { retry_in_ms: 1_000 },
        "not in 10 s"
    );
    clock.advance_ms(10_000);
    assert_eq!(node_ids(&pool), [2, 2, 1]);
}

#[test]
fn tolerance_prefers_a_member_in_time() {
    let clock = ManualClock::at_unix_ms(100_000);
    let mut pool = pool::<LocalWord<u32>>(&clock, &[(100, 200), (100, 200)]);
    pool.tolerance = 1;
    let (issued, error) = drain(&pool);
    let in_time = [(1, 100), (1, 100), (2, 100), (2, 100)];
    let ahead = [(2, 101), (2, 101), (1, 101), (1, 101)];
    assert_eq!(issued, [in_time, ahead].concat());
    assert_eq!(
        error,
        GenerateError::SequenceExhausted { retry_in_ms: 1_000 }
    );
}

#[test]
fn members_outside_their_lease_are_passed_over() {
    let clock = ManualClock::at_unix_ms(110_000);
    let pool = pool::<AtomicU64>(&clock, &[(100, 110), (110, 120), (120, 130)]);
    assert_eq!(node_ids(&pool), [2, 2]);
    clock.set_unix_ms(100_000);
    assert_eq!(node_ids(&pool), [1, 1]);
    clock.set_unix_ms(125_000);
    assert_eq!(node_ids(&pool), [3, 3]);
    assert_eq!(pool.members[2].close(), Some(126));
    clock.set_unix_ms(126_000);
    let (issued, error) = drain(&pool);
    assert_eq!(issued, []);
    assert_eq!(
        error,
        GenerateError::LeaseOver { since_ms: 16_000 },
        "rather than closed"
    );
}

#[test]
fn a_pool_knows_no_more_than_its_clock_and_members() {
    let clock = ManualClock::unknown();
    let two = pool::<AtomicU64>(&clock, &[(0, 10), (0, 10)]);
    assert_eq!(two.generate(), Err(GenerateError::ClockUnknown));
    clock.set_unix_ms(0);
    let none = pool::<AtomicU64>(&clock, &[]);
    assert_eq!(
        none.generate(),
        Err(GenerateError::LeaseOver { since_ms: 0 })
    );
    for sequencer in &two.members {
        assert_eq!(sequencer.close(), Some(0));
    }
    assert_eq!(two.generate(), Err(GenerateError::Closed));
}

/// Of the members' errors the pool gives the one that passes soonest, else the least final.
#[test]
fn errors_are_combined() {
    use GenerateError::{ClockBehind, ClockUnknown, Closed, LeaseOver, SequenceExhausted};
    let exhausted = |retry_in_ms| SequenceExhausted { retry_in_ms };
    let behind = |behind_ms| ClockBehind { behind_ms };
    let over = |since_ms| LeaseOver { since_ms };
    for (errors, expected) in [
        ([exhausted(5), behind(3), exhausted(4)], behind(3)),
        ([behind(5), over(0), exhausted(5)], behind(5)),
        ([over(1), Closed, exhausted(900)], exhausted(900)),
        ([Closed, over(1), over(2)], over(1)),
        ([Closed, Closed, over(2)], over(2)),
        ([Closed, ClockUnknown, Closed], ClockUnknown),
        ([Closed, Closed, Closed], Closed),
    ] {
        // Also with a cursor that is no member's.
        for cursor in [0, 9].map(AtomicU64::new) {
            let combined = first_ready_within(&errors, &cursor, 0, |&error, _| Err::<(), _>(error));
            assert_eq!(combined, Err(expected), "{errors:?} {cursor:?}");
        }
    }
}

#[test]
fn members_are_asked_from_the_last_one_on() {
    let members = [0, 1, 2, 3];
    // A cursor beyond the members, as after a pool that shrank, begins at the first.
    for (cursor_at, ready, expected) in [
        (0, 0, vec![0]),
        (0, 2, vec![0, 1, 2]),
        (2, 1, vec![2, 3, 0, 1]),
        (9, 1, vec![0, 1]),
        (3, 9, vec![3, 0, 1, 2]),
    ] {
        let cursor = AtomicU32::new(cursor_at);
        let asked = RefCell::new(Vec::new());
        let answer = first_ready_within(&members, &cursor, 0, |&member, _| {
            asked.borrow_mut().push(member);
            if member == ready {
                Ok(member)
            } else {
                Err(GenerateError::Closed)
            }
        });
        assert_eq!(*asked.borrow(), expected);
        assert_eq!(answer.is_ok(), ready < 4);
        let moved_to = if ready < 4 { ready } else { cursor_at };
        assert_eq!(AtomicWord::load(&cursor), moved_to);
    }
}

#[test]
fn members_are_asked_again_only_with_tolerance() {
    for (tolerance, expected) in [(0, vec![0, 0]), (3, vec![0, 0, 3, 3])] {
        let asked = RefCell::new(Vec::new());
        let answer = first_ready_within(&[(); 2], &AtomicU32::new(0), tolerance, |(), ahead| {
            asked.borrow_mut().push(ahead);
            Err::<(), _>(GenerateError::Closed)
        });
        assert_eq!(answer, Err(GenerateError::Closed));
        assert_eq!(*asked.borrow(), expected);
    }
}

#[test]
fn position_is_that_of_the_next_id() {
    let clock = ManualClock::at_unix_ms(5_000);
    let pool = pool::<AtomicU64>(&clock, &[(3, 9)]);
    let member = &pool.members[0];
    // What a lease had before its first id was skipped.
    assert_eq!(member.position(), Some((3, 0)));
    for next in [(5, 1), (6, 0)] {
        pool.generate().unwrap();
        assert_eq!(member.position(), Some(next));
    }
    assert!(pool.generate().is_err());
    assert_eq!(member.position(), Some((6, 0)));
    assert_eq!(member.close(), Some(6));
    assert_eq!(member.position(), None);
}

mod waiting {
    //! Waiting times in errors: exact milliseconds, rounded up so that waiting them is enough.

    use core::cell::Cell;
    use core::sync::atomic::AtomicU64;
    use core::time::Duration;

    use randflake_core::{
        Clock, ExtendError, GenerateError, Layout, Lease, Randflake, Sequencer, Snowflake,
        Sonyflake,
    };

    /// A clock that shows more than milliseconds.
    struct FineClock(Cell<Duration>);

    impl Clock for FineClock {
        fn now(&self) -> Option<Duration> {
            Some(self.0.get())
        }
    }

    const LAST_TICK: u64 = 109;

    /// A sequencer of ticks 100 to 109, and a clock at an offset from the beginning of a tick.
    fn at<L: Layout>(tick: u64, offset: Duration) -> (Sequencer<L, AtomicU64>, FineClock) {
        let lease = Lease::new(L::default(), 1, 100, LAST_TICK + 1).unwrap();
        let clock = FineClock(Cell::new(
            Duration::from_millis(L::SPEC.unix_ms(tick)) + offset,
        ));
        (Sequencer::new(lease).unwrap(), clock)
    }

    const EXACT: Duration = Duration::ZERO;
    const SLIGHTLY: Duration = Duration::from_nanos(1);

    fn just_before_ms(ms: u64) -> Duration {
        Duration::from_nanos(ms * 1_000_000 - 1)
    }

    /// Waiting as long as the error says is enough, and a millisecond less is not.
    fn check_wait<L: Layout>(
        sequencer: &Sequencer<L, AtomicU64>,
        clock: &FineClock,
        tolerance: u32,
    ) {
        let error = sequencer.take(clock, tolerance).unwrap_err();
        let wait_ms = error.retry_in_ms().unwrap();
        let now = clock.0.get();
        clock.0.set(now + Duration::from_millis(wait_ms - 1));
        assert!(sequencer.take(clock, tolerance).is_err());
        clock.0.set(now + Duration::from_millis(wait_ms));
        assert!(sequencer.take(clock, tolerance).is_ok());
    }

    fn exhausted<L: Layout>(offset: Duration) -> GenerateError {
        let (sequencer, clock) = at::<L>(105, offset);
        for _ in 0..=L::SPEC.max_sequence() {
            sequencer.take(&clock, 0).unwrap();
        }
        let error = sequencer.take(&clock, 0).unwrap_err();
        check_wait(&sequencer, &clock, 0);
        error
    }

    #[test]
    fn an_exhausted_tick_says_when_the_next_begins() {
        let retry = |retry_in_ms| GenerateError::SequenceExhausted { retry_in_ms };
        let ms = Duration::from_millis;
        if !cfg!(miri) {
            assert_eq!(exhausted::<Randflake>(EXACT), retry(1_000));
            assert_eq!(exhausted::<Randflake>(just_before_ms(1)), retry(1_000));
            assert_eq!(exhausted::<Randflake>(ms(1)), retry(999));
            assert_eq!(exhausted::<Randflake>(ms(999) + SLIGHTLY), retry(1));
            assert_eq!(exhausted::<Snowflake>(EXACT), retry(1));
            assert_eq!(exhausted::<Snowflake>(just_before_ms(1)), retry(1));
        }
        assert_eq!(exhausted::<Sonyflake>(EXACT), retry(10));
        assert_eq!(exhausted::<Sonyflake>(SLIGHTLY), retry(10));
        assert_eq!(exhausted::<Sonyflake>(ms(3)), retry(7));
        assert_eq!(exhausted::<Sonyflake>(just_before_ms(10)), retry(1));
    }

    /// The error after an id at tick 105, the clock going back to another moment.
    fn behind<L: Layout>(tick: u64, offset: Duration, tolerance: u32) -> GenerateError {
        let (sequencer, clock) = at::<L>(105, EXACT);
        sequencer.take(&clock, 0).unwrap();
        clock.0.set(at::<L>(tick, offset).1.0.get());
        let error = sequencer.take(&clock, tolerance).unwrap_err();
        check_wait(&sequencer, &clock, tolerance);
        error
    }

    #[test]
    fn a_clock_behind_says_until_when() {
        let behind_by = |behind_ms| GenerateError::ClockBehind { behind_ms };
        let ms = Duration::from_millis;
        assert_eq!(behind::<Randflake>(104, ms(999), 0), behind_by(1));
        assert_eq!(behind::<Randflake>(104, EXACT, 0), behind_by(1_000));
        assert_eq!(
            behind::<Randflake>(102, ms(1) + SLIGHTLY, 0),
            behind_by(2_999)
        );
        assert_eq!(behind::<Randflake>(102, EXACT, 2), behind_by(1_000));
        assert_eq!(behind::<Randflake>(0, EXACT, 0), behind_by(105_000));
        assert_eq!(behind::<Snowflake>(103, EXACT, 0), behind_by(2));
        assert_eq!(behind::<Snowflake>(103, SLIGHTLY, 1), behind_by(1));
        assert_eq!(behind::<Sonyflake>(103, ms(4), 0), behind_by(16));
        assert_eq!(behind::<Sonyflake>(103, ms(9) + SLIGHTLY, 1), behind_by(1));
    }

    /// Before the epoch there is no tick, so no tolerance helps.
    #[test]
    fn a_clock_before_the_lease_or_the_epoch_is_behind() {
        let (sequencer, clock) = at::<Randflake>(99, Duration::from_millis(1));
        let behind_ms = 999;
        let error = GenerateError::ClockBehind { behind_ms };
        assert_eq!(sequencer.take(&clock, 0), Err(error));
        check_wait(&sequencer, &clock, 0);

        let lease = Lease::new(Randflake, 1, 0, 10).unwrap();
        let sequencer = Sequencer::<Randflake, AtomicU64>::new(lease).unwrap();
        clock.0.set(Duration::from_millis(1_729_999_998_500));
        for tolerance in [0, 1, u32::MAX] {
            let error = GenerateError::ClockBehind { behind_ms: 1_500 };
            assert_eq!(sequencer.take(&clock, tolerance), Err(error));
        }
        check_wait(&sequencer, &clock, u32::MAX);
    }

    fn over<L: Layout>(offset: Duration) -> u64 {
        let (sequencer, clock) = at::<L>(LAST_TICK + 1, offset);
        let Err(GenerateError::LeaseOver { since_ms }) = sequencer.take(&clock, 5) else {
            return u64::MAX;
        };
        let extended = sequencer.extend(Lease::new(L::default(), 1, 100, 200).unwrap(), &clock);
        assert_eq!(extended, Err(ExtendError::Expired { since_ms }));
        since_ms
    }

    #[test]
    fn a_lease_that_is_over_says_since_when() {
        for (offset, since_ms) in [
            (EXACT, 0),
            (SLIGHTLY, 0),
            (just_before_ms(1), 0),
            (Duration::from_millis(1), 1),
            (Duration::from_millis(61_999) + SLIGHTLY, 61_999),
        ] {
            assert_eq!(over::<Randflake>(offset), since_ms);
            assert_eq!(over::<Snowflake>(offset), since_ms);
            assert_eq!(over::<Sonyflake>(offset), since_ms);
        }
    }
}

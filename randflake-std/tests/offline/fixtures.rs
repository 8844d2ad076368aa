//! Fixtures: layouts whose bounds a test reaches, and a clock that hangs, with all calls of its
//! store.

use core::time::Duration;
use std::sync::{Condvar, Mutex};

use randflake_core::{Clock, Layout, LayoutFields, LayoutSpec, Plain, Randflake};
use randflake_std::ExactSystemClock;

/// Randflake's layout with narrower fields: so few ids a second that the slowest machine takes them
/// all, or so few node ids that handles meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Narrow<const NODE_ID_BITS: u32, const SEQUENCE_BITS: u32>;

impl<const NODE_ID_BITS: u32, const SEQUENCE_BITS: u32> Layout
    for Narrow<NODE_ID_BITS, SEQUENCE_BITS>
{
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order(
        [30, NODE_ID_BITS, SEQUENCE_BITS],
        Randflake::SPEC.epoch_unix_ms(),
        Randflake::SPEC.tick_ms(),
    ));
}

const SLOW_TICK: Duration = Duration::from_secs(40 * 365 * 24 * 3_600);

/// A TTL of [`Slow`], far longer than any test takes.
pub(crate) const SLOW_TTL: Duration = SLOW_TICK.saturating_mul(3);

/// Four ids in a tick of 40 years, from 2009 to 2049: no test meets the turn of a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slow;

impl Layout for Slow {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order(
        [16, 17, 2],
        0,
        1_000 * SLOW_TICK.as_secs(),
    ));
}

/// Far longer than a test takes.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    is_broken: bool,
    waiting: u32,
}

impl Gate {
    pub(crate) fn close(&self) {
        self.state.lock().unwrap().is_closed = true;
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().is_closed = false;
        self.changed.notify_all();
    }

    /// Every call of the store fails, also those that hang.
    pub(crate) fn break_down(&self) {
        self.state.lock().unwrap().is_broken = true;
        self.open();
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.state.lock().unwrap().is_closed
    }

    /// Whether a call of the store hangs.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.state.lock().unwrap().waiting > 0
    }
}

impl Clock for Gate {
    fn now(&self) -> Option<Duration> {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        let waited = self
            .changed
            .wait_timeout_while(state, PATIENCE, |state| state.is_closed);
        let (mut state, end) = waited.unwrap();
        state.waiting -= 1;
        // A test that nobody opens the gate for fails.
        if end.timed_out() || state.is_broken {
            None
        } else {
            ExactSystemClock.now()
        }
    }
}

//! Clock that hangs, and with it every call of its store.

use core::time::Duration;
use std::sync::{Condvar, Mutex};

use randflake_core::Clock;
use randflake_std::ExactSystemClock;

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

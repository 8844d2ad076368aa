//! Answers that clients of a store were given.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};

use randflake_std::lease::{Grant, Record};

use crate::referee::Referee;

const PATIENCE: Duration = Duration::from_secs(60);

/// The ledger of clients that work at once.
#[derive(Debug, Default)]
pub(crate) struct SharedLedger {
    ledger: Mutex<Ledger>,
    changed: Condvar,
}

impl SharedLedger {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    /// Notes an answer, unless it came after the power was cut. The client goes on when the pause
    /// that this answer may begin is over.
    pub(crate) fn answer(&self, note: impl FnOnce(&mut Ledger)) {
        let mut ledger = self.lock();
        if ledger.is_cut {
            return;
        }
        note(&mut ledger);
        self.changed.notify_all();
        let paused = self.changed.wait_while(ledger, |ledger| ledger.is_paused());
        drop(paused.unwrap());
    }

    /// Waits for some more answers. Does something before the client that has got the last of them
    /// goes on.
    pub(crate) fn after(&self, answers: usize, act: impl FnOnce(&mut Ledger)) {
        let mut ledger = self.lock();
        ledger.pause_at = Some(ledger.answers + answers);
        let waited = self
            .changed
            .wait_timeout_while(ledger, PATIENCE, |ledger| !ledger.is_paused());
        let (mut ledger, waited) = waited.unwrap();
        if !waited.timed_out() {
            act(&mut ledger);
        }
        ledger.pause_at = None;
        drop(ledger);
        self.changed.notify_all();
        assert!(
            !waited.timed_out(),
            "fewer than {answers} answers in {PATIENCE:?}"
        );
    }
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    referee: Referee,
    /// The last grant of each node id, as the last answer about it had it.
    answered: BTreeMap<u32, Answered>,
    answers: usize,
    /// After so many, clients wait.
    pause_at: Option<usize>,
    /// Nobody is answered any more: what still comes was sent by a machine without power.
    is_cut: bool,
}

#[derive(Debug)]
struct Answered {
    grant: Grant,
    is_released: bool,
}

impl Ledger {
    pub(crate) fn granted(&mut self, grants: &[Grant]) {
        self.referee.granted(grants);
        for &grant in grants {
            self.note(grant, false);
        }
    }

    pub(crate) fn renewed(&mut self, grant: &Grant, end: u64) {
        self.referee.renewed(grant, end);
        self.note(Grant { end, ..*grant }, false);
    }

    /// A holder asks for it, and uses nothing from `end` on. Until that is answered, its end is
    /// either.
    pub(crate) fn releases(&mut self, grant: &Grant) {
        self.referee.released(grant);
        self.answered.remove(&grant.node_id);
    }

    pub(crate) fn released(&mut self, grant: &Grant) {
        self.note(*grant, true);
    }

    fn note(&mut self, grant: Grant, is_released: bool) {
        self.answers += 1;
        let answered = Answered { grant, is_released };
        let known = self.answered.get(&grant.node_id);
        if known.is_none_or(|known| known.grant.fencing_token <= grant.fencing_token) {
            self.answered.insert(grant.node_id, answered);
        }
    }

    pub(crate) fn cut(&mut self) {
        self.is_cut = true;
    }

    fn is_paused(&self) -> bool {
        self.pause_at
            .is_some_and(|pause_at| self.answers >= pause_at)
    }

    pub(crate) fn restore(&mut self) {
        self.is_cut = false;
    }

    /// The grants that were answered and are not among the records of the store.
    pub(crate) fn lost(&self, kept: &[Record]) -> Vec<Grant> {
        let is_kept = |answered: &&Answered| {
            let kept = kept.iter().map(|record| &record.grant);
            kept.into_iter().any(|kept| answered.is_kept_as(kept))
        };
        let lost = self.answered.values().filter(|it| !is_kept(it));
        lost.map(|answered| answered.grant).collect()
    }
}

impl Answered {
    /// A change that was not answered may have been made all the same.
    fn is_kept_as(&self, kept: &Grant) -> bool {
        let Grant {
            end, fencing_token, ..
        } = self.grant;
        if kept.node_id != self.grant.node_id {
            return false;
        }
        if kept.fencing_token != fencing_token {
            return kept.fencing_token > fencing_token && kept.start >= end;
        }
        kept.token == self.grant.token
            && if self.is_released {
                kept.end == end
            } else {
                kept.end >= end
            }
    }
}

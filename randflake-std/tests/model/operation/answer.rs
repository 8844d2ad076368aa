//! What a process does with an answer, and what it remembers of it.

use super::{Answer, Asked, Flight};
use crate::holder::{Grant, Holding, Process, SeenName};
use crate::records::{Lease, Name};

impl Process {
    /// The store has done what was sent, and the answer is here when the holder's clock shows a tick.
    pub(crate) fn receive(&mut self, now: u8, terms: u8) {
        if let Some(flight) = self.flight.take_if(|flight| flight.done) {
            let change = &flight.change;
            self.answered(change.name_after.or(change.name_before), &flight);
            self.take(flight.answer, now, terms);
            if flight.copied
                && let Some(holding) = &mut self.holding
            {
                holding.copied = true;
            }
        }
    }

    pub(super) fn answered(&mut self, name: Option<Name>, flight: &Flight) {
        let seen = |name: Name| SeenName {
            version: name.version(),
            at: flight.read_at,
            mark: name.mark(),
        };
        self.seen = name.map(seen).or(self.seen);
        self.offset = name.and(flight.offset);
    }

    /// Whether this process has seen that a store's record is an earlier one: it has seen the same one after later writes, or
    /// another one that is younger. Who has only seen what came before it cannot know that its leases are not all there.
    pub(crate) fn is_witness(&self, name: Option<Name>) -> bool {
        let Some(SeenName { version, at, mark }) = self.seen else {
            return false;
        };
        let was_there = mark.map_or(at, |(since, _)| since);
        name.is_none_or(|name| {
            let (origin, writes) = name.version();
            if origin == version.0 {
                writes < version.1
            } else {
                name.since <= was_there
            }
        })
    }

    pub(super) fn take(&mut self, answer: Answer, now: u8, terms: u8) {
        match answer {
            Answer::Granted(node_id, lease) => {
                self.holding = Some(Holding::new(Grant::of(node_id, lease), terms));
                self.wrote(node_id, lease);
                self.asked = None;
            }
            Answer::Renewed(lease) => {
                if let Some(holding) = &mut self.holding {
                    holding.extend(lease.end, now);
                    holding.copied = false;
                    let node_id = holding.grant.node_id;
                    self.wrote(node_id, lease);
                }
                self.asked = None;
            }
            // The keeper seals it, and acquires another.
            Answer::Lost(_) => (self.holding, self.asked) = (None, None),
            Answer::Released(record) => {
                if let Some((node_id, lease)) = record {
                    self.wrote(node_id, lease);
                }
                self.asked = None;
            }
            // It renews later, and goes on to ask for the rest.
            Answer::Refused if self.asked == Some(Asked::Renew) => self.asked = None,
            Answer::Refused => {}
        }
    }

    fn wrote(&mut self, node_id: u8, lease: Lease) {
        self.seen_ends[usize::from(node_id)] = lease.end;
        (self.written, self.tried) = (Some((lease.serial, lease.nonce)), 0);
    }
}

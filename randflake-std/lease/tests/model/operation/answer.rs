//! A process that gets an answer, and its memory of it.

use super::{Answer, Asked, Flight};
use crate::holder::{Grant, Holding, ObservedName, Process};
use crate::records::Name;

impl Process {
    /// The store has done what was sent, and the answer is here when the holder's clock shows a
    /// tick.
    pub(crate) fn receive(&mut self, now: u8, terms: u8) {
        if let Some(flight) = self.flight.take_if(|flight| flight.done) {
            let change = &flight.change;
            self.answered(change.name_after.or(change.name_before), &flight);
            self.take(flight.answer, now, terms);
            for holding in self.holdings.iter_mut().flatten() {
                holding.copied |= flight.copied;
            }
        }
    }

    pub(super) fn answered(&mut self, name: Option<Name>, flight: &Flight) {
        self.seen = name
            .map(|name: Name| ObservedName {
                version: name.version(),
                at: flight.read_at,
                mark: name.mark(),
            })
            .or(self.seen);
        self.offset = name.and(flight.offset);
    }

    /// Whether this process has seen that a store's record is an earlier one: it has seen the same
    /// one after later writes, or another one that is younger. Who has only seen what came before
    /// it cannot know that its leases are not all there.
    pub(crate) fn is_witness(&self, name: Option<Name>) -> bool {
        let Some(ObservedName { version, at, mark }) = self.seen else {
            return false;
        };
        let was_there = mark.map_or(at, |(since, _)| since);
        name.is_none_or(|name| {
            let (namespace_nonce, writes) = name.version();
            if namespace_nonce == version.0 {
                writes < version.1
            } else {
                name.since <= was_there
            }
        })
    }

    pub(super) fn take(&mut self, answer: Answer, now: u8, terms: u8) {
        match answer {
            Answer::Granted(leases) => {
                for (node_id, lease) in leases.into_iter().flatten() {
                    let mut holding = Holding::new(Grant::of(node_id, lease), terms);
                    holding.held.wrote(lease);
                    self.seen_ends[usize::from(node_id)] = lease.end;
                    let free = self.holdings.iter_mut().find(|slot| slot.is_none());
                    *free.unwrap() = Some(holding);
                }
                self.pending = None;
            }
            Answer::Renewed(outcomes) => {
                for (slot, outcome) in self.holdings.iter_mut().zip(outcomes) {
                    match (&mut *slot, outcome) {
                        (Some(holding), Some(Ok(lease))) => {
                            holding.extend(lease.end, now);
                            holding.copied = false;
                            holding.held.wrote(lease);
                            let node_id = holding.held.grant.node_id;
                            self.seen_ends[usize::from(node_id)] = lease.end;
                        }
                        // The keeper closes it, and acquires another.
                        (_, Some(Err(_))) => *slot = None,
                        (None, _) | (_, None) => {}
                    }
                }
            }
            Answer::Released(record) => {
                if let Some((node_id, lease)) = record {
                    self.seen_ends[usize::from(node_id)] = lease.end;
                }
            }
            // It renews later, and goes on to ask for the rest.
            Answer::Refused => {
                if matches!(self.asked, Some(Asked::Release(_))) {
                    return;
                }
            }
        }
        self.asked = None;
    }
}

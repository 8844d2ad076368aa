//! A process that holds a lease. What it issues comes from the code itself: core's `Sequencer`.

use core::sync::atomic::AtomicU64;
use core::time::Duration;

use randflake_core::{AnyLayout, Clock, ExtendError, LayoutSpec, Lease as Interval, Sequencer};

use crate::operation::{Asked, Flight, Pending};
use crate::records::{Change, Lease, NameVersion, layout_of, small, time};

/// A clock at the beginning of a tick.
struct At(u8);

impl Clock for At {
    fn now(&self) -> Option<Duration> {
        Some(time(self.0))
    }
}

/// What a holder knows of its grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Grant {
    pub(crate) node_id: u8,
    pub(crate) start: u8,
    pub(crate) end: u8,
    pub(crate) fencing_token: u8,
    pub(crate) token: u8,
}

impl Grant {
    pub(crate) fn of(node_id: u8, lease: Lease) -> Self {
        Self {
            node_id,
            start: lease.start,
            end: lease.end,
            fencing_token: lease.fencing_token,
            token: lease.token,
        }
    }
}

/// A grant, and what a `LeaseStore` remembers of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Held {
    pub(crate) grant: Grant,
    /// Serial and nonce of the last write of the lease, and the nonces of later ones of unknown
    /// outcome.
    pub(crate) written: Option<(u8, u8)>,
    pub(crate) tried: u32,
}

impl Held {
    pub(crate) fn wrote(&mut self, lease: Lease) {
        (self.written, self.tried) = (Some((lease.serial, lease.nonce)), 0);
    }
}

/// A grant at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Holding {
    pub(crate) held: Held,
    /// The tick issued last: there is one id a tick.
    last: Option<u8>,
    terms: u8,
    /// A copy has it too, and no renewal was answered since.
    pub(crate) copied: bool,
}

impl Holding {
    pub(crate) fn new(grant: Grant, terms: u8) -> Self {
        Self {
            held: Held {
                grant,
                written: None,
                tried: 0,
            },
            last: None,
            terms,
            copied: false,
        }
    }

    fn interval(&self, end: u8) -> Interval<LayoutSpec> {
        let Grant { node_id, start, .. } = self.held.grant;
        let layout = layout_of(self.terms);
        Interval::new(layout, node_id.into(), start.into(), end.into()).unwrap()
    }

    /// The sequencer as it was left. Issuing all of a tick up to the last id brings a new one
    /// there.
    fn sequencer(&self) -> Sequencer<LayoutSpec, AtomicU64> {
        let sequencer = Sequencer::new(self.interval(self.held.grant.end)).unwrap();
        if let Some(last) = self.last {
            sequencer.take(&At(last), 0).unwrap();
        }
        sequencer
    }

    /// A raw id, when the holder's clock shows this tick.
    pub(crate) fn take(&mut self, now: u8) -> Option<u8> {
        // A tolerance gives nothing that some clock does not.
        let id = self.sequencer().take(&At(now), 0).ok()?;
        self.last = Some(small(layout_of(self.terms).spec().unpack(id).tick));
        Some(small(id))
    }

    /// The store has moved the end.
    pub(crate) fn extend(&mut self, end: u8, now: u8) {
        let sequencer = self.sequencer();
        match sequencer.extend(self.interval(end.max(self.held.grant.end)), &At(now)) {
            Ok(()) => self.held.grant.end = small(sequencer.lease().end()),
            Err(ExtendError::Expired { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// The grant cut to what was used.
    pub(crate) fn closed(&self) -> Held {
        let mut held = self.held;
        held.grant.end = small(self.sequencer().close().unwrap());
        held
    }
}

/// Record of the namespace as a process has seen it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ObservedName {
    pub(crate) version: NameVersion,
    /// The store's clock then; 0 in worlds where no rule looks at it.
    pub(crate) at: u8,
    /// If it is the mark of a drop: when that was made, and until when it says that leases may
    /// live.
    pub(crate) mark: Option<(u8, u8)>,
}

/// A process: what it holds, and what its `LeaseStore` remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    /// In no order; the second one of a handle that grows.
    pub(crate) holdings: [Option<Holding>; 2],
    /// Acquire that is not answered yet. Leases are renewed and released meanwhile.
    pub(crate) pending: Option<Pending>,
    /// Request that is not answered yet.
    pub(crate) asked: Option<Asked>,
    /// On its way to the store, or back.
    pub(crate) flight: Option<Flight>,
    /// Given up by the process, or by one that has crashed, and on its way all the same.
    pub(crate) late: Option<Change>,
    pub(crate) seen: Option<ObservedName>,
    pub(crate) seen_ends: [u8; 2],
    /// The store's clock minus the time, as last answered.
    pub(crate) offset: Option<i8>,
    /// The next random number, if a copy draws the same.
    pub(crate) next_token: Option<u8>,
}

impl Process {
    /// Whether it holds and wants nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.holdings == [None; 2] && self.pending.is_none() && self.asked.is_none()
    }

    /// The outcome of what is on its way will not be known.
    pub(crate) fn give_up(&mut self) {
        let Some(flight) = self.flight.take() else {
            return;
        };
        if !flight.done {
            self.late = Some(flight.change);
        }
        let nonce = 1 << flight.nonce;
        match &mut self.asked {
            Some(Asked::Acquire) => {
                if let Some(pending) = &mut self.pending {
                    pending.tried |= nonce;
                    let places = flight.change.leases.iter().flatten();
                    pending.nodes |= places.fold(0, |bits, lease| bits | 1 << lease.place);
                }
                self.asked = None;
            }
            Some(Asked::Renew) => {
                for holding in self.holdings.iter_mut().flatten() {
                    holding.held.tried |= nonce;
                }
                self.asked = None;
            }
            Some(Asked::Release(held)) => held.tried |= nonce,
            None => {}
        }
    }

    /// Killed, and started again. What it had sent may still arrive.
    pub(crate) fn crash(&mut self) {
        self.give_up();
        *self = Self {
            late: self.late,
            ..Self::default()
        };
    }

    /// Goes on after a restart as if nothing had been.
    pub(crate) fn crash_and_go_on(&mut self) {
        let holdings = self.holdings.map(|holding| {
            holding.map(|holding: Holding| Holding::new(holding.held.grant, holding.terms))
        });
        self.crash();
        self.holdings = holdings;
    }
}

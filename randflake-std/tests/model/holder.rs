//! A process that holds a lease. What it issues comes from the code itself: core's `Sequencer`.

use core::sync::atomic::AtomicU64;
use core::time::Duration;

use randflake_core::{Clock, ExtendError, Field, Fields, Lease, Plain, Sequencer, Spec};
use randflake_std::Layout;

use crate::store::{Grant, Reply, Request};

/// One node id, two ids a tick, and ticks as long as the skew that is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tiny;

impl Layout for Tiny {
    type Permutation = Plain;
    const SPEC: Spec = Spec::declare(Fields {
        timestamp: Field { bits: 20, shift: 0 },
        node_id: Field { bits: 0, shift: 0 },
        sequence: Field { bits: 0, shift: 0 },
        epoch_unix_ms: 1_700_000_000_000,
        tick_ms: 10_000,
    });
}

/// A clock at the beginning of a tick.
pub(crate) struct At(pub(crate) u8);

impl Clock for At {
    fn now(&self) -> Option<Duration> {
        Some(Duration::from_millis(Tiny::SPEC.unix_ms(self.0.into())))
    }
}

/// A grant at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Holding {
    pub(crate) grant: Grant,
    /// The raw id issued last, which is (tick, sequence) as there is one node id.
    last: Option<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Holder {
    pub(crate) holding: Option<Holding>,
    /// Sent, and not answered as far as the holder knows.
    pub(crate) request: Option<Request>,
    /// The store's answer to it, on its way.
    pub(crate) reply: Option<Reply>,
    /// Sent by a process that crashed since, and on its way all the same.
    pub(crate) late: Option<Request>,
}

impl Holding {
    fn new(grant: Grant) -> Self {
        Self { grant, last: None }
    }

    /// The sequencer as it was left. Issuing all of a tick up to the last id brings a new one there.
    fn sequencer(self) -> Sequencer<Tiny, AtomicU64> {
        let Grant { start, end, .. } = self.grant;
        let lease = Lease::new(0, start.into(), end.into()).unwrap();
        let sequencer = Sequencer::new(lease).unwrap();
        if let Some(last) = self.last {
            assert_eq!(sequencer.take(&At(last), 0), Ok(last.into()));
        }
        sequencer
    }

    /// An id, when the holder's clock shows this tick.
    pub(crate) fn take(&mut self, now: u8) -> Option<u8> {
        // A tolerance gives nothing that some clock does not.
        let id = self.sequencer().take(&At(now), 0).ok()?;
        let id = u8::try_from(id).unwrap();
        self.last = Some(id);
        Some(id)
    }

    /// The store has moved the end.
    fn extend(&mut self, end: u8, now: u8) {
        let sequencer = self.sequencer();
        let Grant { start, .. } = self.grant;
        let longer = Lease::new(0, start.into(), end.max(self.grant.end).into()).unwrap();
        match sequencer.extend(longer, &At(now)) {
            Ok(()) => self.grant.end = u8::try_from(sequencer.lease().end()).unwrap(),
            Err(ExtendError::Expired { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// The grant cut to what was used.
    pub(crate) fn sealed(self) -> Grant {
        let unused_from = self.sequencer().seal().unwrap();
        Grant {
            end: u8::try_from(unused_from).unwrap(),
            ..self.grant
        }
    }
}

impl Holder {
    /// Takes the reply, when the holder's clock shows this tick.
    pub(crate) fn receive(&mut self, now: u8) {
        match self.reply.take() {
            Some(Reply::Granted(grant)) => {
                self.holding = Some(Holding::new(grant));
                self.request = None;
            }
            Some(Reply::Renewed(Some(end))) => {
                if let Some(holding) = &mut self.holding {
                    holding.extend(end, now);
                }
                self.request = None;
            }
            // It is lost: the keeper seals it, and acquires another.
            Some(Reply::Renewed(None)) => (self.holding, self.request) = (None, None),
            Some(Reply::Released) => self.request = None,
            // It asks again.
            Some(Reply::Refused) | None => {}
        }
    }

    /// The process is killed and started again. What it had sent may still arrive.
    pub(crate) fn crash(&mut self) {
        self.late = self.request.or(self.late);
        (self.holding, self.request, self.reply) = (None, None, None);
    }

    /// Goes on after a restart as if nothing had been.
    pub(crate) fn crash_and_go_on(&mut self) {
        let holding = self.holding.map(|holding| Holding::new(holding.grant));
        self.crash();
        self.holding = holding;
    }
}

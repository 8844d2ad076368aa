//! A namespace all of whose node ids are leased.

use core::time::Duration;
use std::time::Instant;

use randflake_std::lease::{Grant, LeaseStore};

use super::clients;
use super::engine::{Engine, Space, TTL};
use super::figures::Figures;
use super::leases::{fill, refusal};

/// Leased for as long as filling took, and then renewed for the longest TTL.
pub(crate) struct Full<'e> {
    pub(crate) space: Space<'e>,
    pub(crate) store: LeaseStore,
    pub(crate) held: Vec<Grant>,
    /// From then on no lease is there but by its renewal.
    pub(crate) first_over: Instant,
}

impl<'e> Full<'e> {
    pub(crate) fn measured(engine: &'e Engine, figures: &mut Figures) -> Self {
        let mut span = engine.filling();
        loop {
            if let Some(full) = Self::within(span, engine, figures) {
                return full;
            }
            // A machine may be busy with something else: as a test, this runs beside others.
            span *= 2;
        }
    }

    /// `None` if the first leases may have been over before all were there and renewed: there is
    /// nothing to measure then.
    fn within(span: Duration, engine: &'e Engine, figures: &mut Figures) -> Option<Self> {
        let ttl = u64::try_from(span.as_millis()).unwrap();
        assert!(ttl <= TTL, "the machine is too slow");
        let space = engine.space(&format!("full-{ttl}"));
        let mut store = space.open();
        let empty = engine.bytes();
        let begin = Instant::now();
        let held = fill(&mut store, engine.kind.at_once(), ttl);
        let filled = begin.elapsed();
        let refused = refusal(&mut store, TTL)?;
        // What the engine throws away meanwhile makes it smaller.
        let leased = engine.bytes();
        let of_leases = leased.saturating_sub(empty);
        if !clients::renew_all(&space, &held) || begin.elapsed() >= span {
            return None;
        }
        let of_renewals = engine.bytes().saturating_sub(leased);

        let name = engine.kind.name();
        figures.times(name, "all node ids", &[filled]);
        figures.times(name, "refusal/first", &[refused]);
        for (case, bytes) in [
            ("size of a lease", of_leases),
            ("growth by a renewal", of_renewals),
        ] {
            let each = u32::try_from(bytes / u64::from(space.node_ids())).unwrap();
            figures.add(name, case, "bytes", vec![f64::from(each)]);
        }
        Some(Self {
            space,
            store,
            held,
            // The last was leased when all were; the engine's clock is another.
            first_over: begin + filled + span + Duration::from_secs(1),
        })
    }
}

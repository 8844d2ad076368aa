//! Handles that benches measure.

use core::sync::atomic::AtomicU64;
use std::sync::Arc;

use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::randflake_core::Sparx64;
use randflake_std::{Builder, ExactSystemClock, Handle, Randflake};

/// What the layout has in a tick for a node id.
pub(crate) const IDS_PER_TICK: u64 = 131_072;

pub(crate) fn cipher() -> Sparx64 {
    Sparx64::new(b"sixteen byte key")
}

/// A handle whose leases have just begun, so that it has a tick's ids for each node id.
pub(crate) fn handle(node_ids: u32) -> Handle {
    builder(node_ids).build().expect("the store is empty")
}

/// One that looks at a generation number, too.
#[allow(
    clippy::allow_attributes,
    dead_code,
    reason = "not every benchmark asks for it"
)]
pub(crate) fn handle_of_generation(node_ids: u32) -> Handle {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let builder = builder(node_ids).generation(&NUMBER);
    builder.build().expect("the store is empty")
}

fn builder(node_ids: u32) -> Builder {
    let namespace = Namespace::new("bench", Randflake).expect("the name is valid");
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    Builder::new(Randflake, cipher(), store).node_ids(node_ids)
}

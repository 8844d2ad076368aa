//! Helpers for engines on servers and in files: stores by URL, and how much the contract asks of
//! them.
//!
//! A request takes up to a thousand times as long as in memory, and the rules that decide are the
//! same. So a [`Backend`](super::leases::Backend) there takes [`filled`] and [`history_steps`] of
//! this module.

use randflake_core::{Field, Layout, LayoutFields, LayoutSpec, Plain, Randflake};

use crate::store::url::Registration;
use crate::store::{LeaseStore, catalog};
use crate::types::{Namespace, NamespaceList, StoreError};

/// Opens the store that a URL of an engine names.
pub fn open(
    engine: &'static Registration,
    url: &str,
    namespace: &Namespace,
) -> Result<LeaseStore, StoreError> {
    (engine.open)(&engine.location(url)?, namespace)
}

/// Namespaces of the store that a URL names; `None` if there is no store yet.
pub fn namespaces(
    engine: &'static Registration,
    url: &str,
) -> Result<Option<NamespaceList>, StoreError> {
    // A name that is allowed and not used.
    let engine = (engine.open_existing)(&engine.location(url)?, &catalog::any("-")?)?;
    engine.map_or(Ok(None), |mut engine| catalog::names(&mut *engine))
}

/// Names of all namespaces in the store that a URL names.
pub fn names(engine: &'static Registration, url: &str) -> Vec<String> {
    namespaces(engine, url).unwrap().unwrap_or_default().names
}

/// The namespace of a name, as the store that a URL names has it.
pub fn find(engine: &'static Registration, url: &str, name: &str) -> Option<Namespace> {
    let location = engine.location(url).unwrap();
    let mut engine = (engine.open_existing)(&location, &catalog::any(name).unwrap()).unwrap()?;
    catalog::find(&mut *engine, name).unwrap()
}

/// More node ids than are listed, read or written at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Thousands;

impl Layout for Thousands {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field {
            bits: 40,
            shift: 18,
        },
        node_id: Field { bits: 13, shift: 5 },
        sequence: Field { bits: 5, shift: 0 },
        epoch_unix_ms: 1_700_000_000_000,
        tick_ms: 1_000,
    });
}

/// Whether as much is asked as in memory, which takes minutes.
fn is_long() -> bool {
    std::env::var_os("RANDFLAKE_CONTRACT_LONG").is_some()
}

/// The namespace that is filled with leases.
pub fn filled() -> Namespace {
    if is_long() {
        Namespace::new("orders", Randflake).unwrap()
    } else {
        Namespace::new("orders", Thousands).unwrap()
    }
}

/// Steps of a random history.
pub fn history_steps() -> usize {
    if is_long() { 10_000 } else { 3_000 }
}

//! Facet of a store: the list of its namespaces. Nothing is created.

use core::fmt::Display;

use randflake_core::{Field, LayoutFields, LayoutSpec};

use super::{Engine, LeaseStore};
use crate::rules::{NamespaceRecord, VERSION};
use crate::types::{Namespace, NamespaceList, StoreError, Terms};

/// How many namespaces an engine lists at most: others may write to a store, and a list must end.
pub const NAMES_LISTED: usize = 10_000;

/// The names of all namespaces; `None` if there is no store yet.
///
/// # Errors
///
/// The engine's.
pub fn names(engine: &mut dyn Engine) -> Result<Option<NamespaceList>, StoreError> {
    let is_open = |text: &str| {
        let record = NamespaceRecord::from_text(text, VERSION);
        // Why one cannot be read, `find` says.
        record.map_or(true, |record| !record.reason.is_dropped)
    };
    Ok(engine.namespaces(None)?.map(|texts| {
        let mut list = NamespaceList {
            // Engines list no more than this. A list of exactly as many may have been cut.
            is_complete: texts.len() < NAMES_LISTED,
            ..NamespaceList::default()
        };
        for (name, text) in texts {
            // Anybody with the right to write may plant a row: its name is shown, never used.
            match Namespace::check_name(&name) {
                Err(_) => list.damaged.push(name),
                Ok(()) if is_open(&text) => list.names.push(name),
                Ok(()) => {}
            }
        }
        list
    }))
}

/// All namespaces that can be read, as they are stored; `None` if there is no store yet.
///
/// # Errors
///
/// The engine's.
pub fn all(engine: &mut dyn Engine) -> Result<Option<Vec<Namespace>>, StoreError> {
    let stored = |(name, text): (String, String)| {
        // One that cannot be read is left out: `find` says what is wrong with it.
        let record = NamespaceRecord::from_text(&text, VERSION).ok();
        let record = record.filter(|record| !record.reason.is_dropped)?;
        Namespace::stored(&name, record.terms).ok()
    };
    let texts = engine.namespaces(None)?;
    Ok(texts.map(|texts| texts.into_iter().filter_map(stored).collect()))
}

/// The namespace of a name, as it is stored.
///
/// # Errors
///
/// The engine's, and [`StoreError::FailedPrecondition`] when its record cannot be read.
pub fn find(engine: &mut dyn Engine, name: &str) -> Result<Option<Namespace>, StoreError> {
    let texts = engine.namespaces(Some(name))?;
    let Some(text) = texts.and_then(|mut texts| texts.remove(name)) else {
        return Ok(None);
    };
    let refused = |why: &dyn Display| {
        let place = engine.profile().place;
        StoreError::failed_precondition(format!("{place}: the namespace {name:?}: {why}"))
    };
    let record = NamespaceRecord::from_text(&text, VERSION).map_err(|why| refused(&why))?;
    if record.reason.is_dropped {
        return Ok(None);
    }
    let stored = Namespace::stored(name, record.terms);
    stored.map(Some).map_err(|error| refused(&error))
}

impl LeaseStore {
    /// The namespaces of this store.
    pub fn catalog(&mut self) -> Catalog<'_> {
        Catalog { store: self }
    }
}

/// The namespaces of a store, as [`LeaseStore::catalog`] returns them.
#[derive(Debug)]
pub struct Catalog<'a> {
    store: &'a mut LeaseStore,
}

impl Catalog<'_> {
    /// The names of all namespaces, as `lease::namespaces` of the crate `randflake-std` returns
    /// them; `None` if there is no store yet.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub fn names(&mut self) -> Result<Option<NamespaceList>, StoreError> {
        names(self.store.ready()?.engine())
    }

    /// A namespace as it is stored, as `lease::find` of the crate `randflake-std` returns it;
    /// `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Those of the engine, and [`StoreError::FailedPrecondition`] when its record cannot be read.
    pub fn find(&mut self, name: &str) -> Result<Option<Namespace>, StoreError> {
        find(self.store.ready()?.engine(), name)
    }
}

/// A placeholder for a namespace of unknown layout, with all node ids that there may be.
///
/// # Errors
///
/// [`StoreError::Invalid`] for a name that no namespace may have.
pub fn any(name: &str) -> Result<Namespace, StoreError> {
    // A listing reads no record by the layout, but an engine needs one.
    let field = |bits, shift| Field { bits, shift };
    let spec = LayoutSpec::new(LayoutFields {
        timestamp: field(32, 32),
        // The most bits that a node id can have.
        node_id: field(32, 0),
        sequence: field(0, 0),
        epoch_unix_ms: 0,
        tick_ms: 1_000,
    });
    let terms = Terms {
        spec: spec.map_err(|error| StoreError::Invalid(error.to_string()))?,
        key_check: None,
        max_ttl_ms: None,
    };
    Namespace::stored(name, terms).map_err(|error| StoreError::Invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use randflake_core::{Layout, Randflake, Snowflake};

    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn all_open_namespaces_are_listed_as_stored() {
        let mut orders =
            MemoryStore::with_system_clock(Namespace::new("orders", Randflake).unwrap());
        let mut events = orders
            .open(Namespace::new("events", Snowflake).unwrap())
            .unwrap();
        let mut dropped = orders
            .open(Namespace::new("dropped", Snowflake).unwrap())
            .unwrap();
        for store in [&mut orders, &mut events, &mut dropped] {
            store.administration().create_namespace().unwrap();
        }
        dropped.administration().drop_namespace().unwrap();
        let mut stored = all(orders.ready().unwrap().engine()).unwrap().unwrap();
        stored.sort_by(|one, other| one.name().cmp(other.name()));
        let layouts: Vec<_> = stored
            .iter()
            .map(|one| (one.name(), one.spec().fields()))
            .collect();
        let specs = [Snowflake::SPEC.fields(), Randflake::SPEC.fields()];
        assert_eq!(layouts, [("events", specs[0]), ("orders", specs[1])]);
    }
}

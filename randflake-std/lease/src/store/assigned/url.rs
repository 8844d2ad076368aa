//! What a URL says of an assigned node id.

use std::sync::Arc;

use super::{NodeIdSource, StaticFile, StaticStore};
use crate::clock::SteadyClock;

use crate::store::url::{Location, Registration, Scheme};
use crate::types::StoreError;

const FORM: &str = "static:PATH?node=N";

/// The static file as URLs lead to it.
pub static ENGINE: Registration = Registration {
    name: "static",
    schemes: &[Scheme::of_file("static", &["node"], FORM)],
    has_counters: false,
    check: |location| source(location).map(drop),
    open: |location, namespace| StaticStore::open(location.path(), source(location)?, namespace),
    open_existing: |location, namespace| {
        let clock = Arc::new(SteadyClock::new());
        let (path, source) = (location.path(), source(location)?);
        Ok(Some(Box::new(StaticFile::at(
            path, source, namespace, clock,
        )?)))
    },
};

fn source(location: &Location) -> Result<NodeIdSource, StoreError> {
    let node = location.option("node");
    let node = node.ok_or_else(|| location.refused("has no `node`"))?;
    node.parse()
}

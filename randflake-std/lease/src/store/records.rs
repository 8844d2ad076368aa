//! An engine's texts as records.

use core::fmt::{self, Debug, Formatter};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::{Engine, Profile};
use crate::rules::search::Search;
use crate::rules::{NamespaceRecord, Node, NodeRecord, VERSION};
use crate::types::{EngineError, Namespace};

/// The records of one namespace in an engine.
pub(super) struct Records {
    /// Only ever reached by who has all of this: the lock makes a store one that threads may share, whatever its engine is.
    engine: Mutex<Box<dyn Engine>>,
    pub(super) profile: Profile,
    pub(super) namespace: Namespace,
    /// The highest version of records that this program knows.
    pub(super) knows: u8,
    /// Fingerprint of the engine when it was read last.
    pub(super) fingerprint: String,
    /// The search of the last read, for the hints of its commit.
    pub(super) search: Option<Search>,
    /// Node ids that hints called free, where the write found otherwise.
    pub(super) doubted: BTreeSet<u32>,
}

impl Records {
    /// The records of a namespace, of which nothing was read yet.
    pub(super) fn new(engine: Box<dyn Engine>, namespace: &Namespace) -> Self {
        Self {
            profile: engine.profile(),
            engine: Mutex::new(engine),
            namespace: namespace.clone(),
            knows: VERSION,
            fingerprint: String::new(),
            search: None,
            doubted: BTreeSet::new(),
        }
    }

    pub(super) fn engine(&mut self) -> &mut dyn Engine {
        let engine = self.engine.get_mut();
        &mut **engine.unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine, and the version of records that this program knows.
    pub(super) fn internals(&mut self) -> Option<(&mut dyn Engine, &mut u8)> {
        let engine = self.engine.get_mut().ok()?;
        Some((&mut **engine, &mut self.knows))
    }

    /// The same with its engine inside of another.
    pub(super) fn wrapped<E: Engine + 'static>(
        self,
        wrap: impl FnOnce(Box<dyn Engine>) -> E,
    ) -> Self {
        let engine = self.engine.into_inner();
        let engine: Box<dyn Engine> =
            Box::new(wrap(engine.unwrap_or_else(PoisonError::into_inner)));
        Self {
            profile: engine.profile(),
            engine: Mutex::new(engine),
            ..self
        }
    }

    /// All that it remembers, over the same engine.
    pub(super) fn copied(&self, engine: Box<dyn Engine>) -> Self {
        Self {
            profile: self.profile.clone(),
            engine: Mutex::new(engine),
            namespace: self.namespace.clone(),
            knows: self.knows,
            fingerprint: self.fingerprint.clone(),
            search: self.search.clone(),
            doubted: self.doubted.clone(),
        }
    }

    pub(super) fn node(&self, node_id: u32, text: Option<&str>) -> Result<Node, EngineError> {
        let record = text.map(|text| self.node_of(node_id, text)).transpose()?;
        Ok(Node { node_id, record })
    }

    pub(super) fn namespace_of(&self, text: &str) -> Result<NamespaceRecord, EngineError> {
        NamespaceRecord::from_text(text, self.knows).map_err(|why| {
            let what = format!("the namespace {:?}", self.namespace.name());
            self.refused(&what, &why)
        })
    }

    pub(super) fn node_of(&self, node_id: u32, text: &str) -> Result<NodeRecord, EngineError> {
        NodeRecord::from_text(node_id, text, self.knows).map_err(|why| {
            let what = format!("node id {node_id} of {:?}", self.namespace.name());
            self.refused(&what, &why)
        })
    }

    pub(super) fn refused(&self, what: &str, why: &str) -> EngineError {
        let place = &self.profile.place;
        EngineError::failed_precondition(format!("{place}: {what}: {why}"))
    }
}

/// Shows the engine, or only its place while a call uses it.
impl Debug for Records {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // A log line must not wait for a store that is at work.
        match self.engine.try_lock() {
            Ok(engine) => Debug::fmt(&**engine, f),
            Err(_) => f.write_str(&self.profile.place),
        }
    }
}

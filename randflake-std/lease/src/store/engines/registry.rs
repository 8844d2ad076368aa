//! What an engine's folder says of it: which URLs lead to it, and how a store is opened there.

use crate::store::url::{Location, Scheme};
use crate::store::{Engine, LeaseStore};
use crate::vocabulary::{Namespace, StoreError};

/// An engine that URLs lead to. It is there whether or not this build has the engine: a URL means the same in every
/// build.
#[derive(Debug)]
pub(in crate::store) struct Registration {
    /// Name of the engine in messages.
    pub(in crate::store) name: &'static str,
    /// The cargo feature that brings it; empty if every build has it.
    pub(in crate::store) feature: &'static str,
    /// Its URL in short, where all forms are listed.
    pub(in crate::store) short_form: &'static str,
    pub(in crate::store) schemes: &'static [Scheme],
    /// Whether it has room for counters.
    pub(in crate::store) has_counters: bool,
    /// Refuses a URL that it cannot take although its scheme allows all parts of it.
    pub(in crate::store) check: fn(&Location) -> Result<(), StoreError>,
    /// None where this build leaves it out.
    pub(in crate::store) opening: Option<Opening>,
}

/// How a store is opened where a URL leads.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Opening {
    /// Opens the store of a namespace, and makes what is missing.
    pub(in crate::store) open: fn(&Location, &Namespace) -> Result<LeaseStore, StoreError>,
    /// Makes the engine alone, which asks and makes nothing yet; none where its file is not there.
    pub(in crate::store) existing: fn(&Location, &Namespace) -> ExistingEngine,
}

pub(in crate::store) type ExistingEngine = Result<Option<Box<dyn Engine>>, StoreError>;

impl Registration {
    /// How it is opened, or which feature this build lacks for it.
    pub(in crate::store) fn opening(&self) -> Result<Opening, StoreError> {
        self.opening.ok_or_else(|| {
            let Self { name, feature, .. } = self;
            StoreError::unusable(format!(
                "this build has no {name} store: build it with the cargo feature `{feature}`"
            ))
        })
    }
}

//! Settings of a tagged handle.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;

use randflake_core::{AnyLayout, KeyNumber, Randflake, Sparx64};
use randflake_lease::{LeaseStore, StoreError};

use super::error::TaggedBuildError;
use super::handle::{Epoch, TaggedHandle};
use super::secrets::TagSecrets;
use crate::generation::Generation;
use crate::handle::{Builder, DEFAULT_TTL, Handle, NodeIdCount};

/// Opens a client of the store: one for each key.
type Open = Box<dyn Fn() -> Result<LeaseStore, StoreError> + Send>;

/// Configures and builds a [`TaggedHandle`]: see [`TaggedHandle::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct TaggedBuilder<L: AnyLayout = Randflake> {
    layout: L,
    pub(super) secrets: TagSecrets,
    open: Open,
    node_ids: NodeIdCount,
    pub(super) ttl: Duration,
    tolerance: u32,
    holder: Option<String>,
    generation: Generation,
    pub(super) wait: Duration,
}

impl TaggedHandle<Randflake> {
    /// Returns a builder of a handle for tagged UUIDs of Randflake ids. `open` opens a client of
    /// the store, once for each key.
    pub fn builder<S: Into<LeaseStore>>(
        secrets: &TagSecrets,
        open: impl Fn() -> Result<S, StoreError> + Send + 'static,
    ) -> TaggedBuilder {
        TaggedBuilder::new(Randflake, secrets, open)
    }
}

impl<L: AnyLayout> TaggedBuilder<L> {
    /// Returns a builder for any layout, as [`TaggedHandle::builder`] does for Randflake.
    pub fn new<S: Into<LeaseStore>>(
        layout: L,
        secrets: &TagSecrets,
        open: impl Fn() -> Result<S, StoreError> + Send + 'static,
    ) -> Self {
        Self {
            layout,
            secrets: secrets.clone(),
            open: Box::new(move || Ok(open()?.into())),
            node_ids: 1.into(),
            ttl: DEFAULT_TTL,
            tolerance: 0,
            holder: None,
            generation: Generation::constant(),
            wait: Duration::ZERO,
        }
    }

    /// The number of node ids to lease, as for [`Builder::node_ids`]. Default: 1.
    pub fn node_ids(mut self, count: impl Into<NodeIdCount>) -> Self {
        self.node_ids = count.into();
        self
    }

    /// How long a lease lasts unless it is renewed, as for [`Builder::ttl`]. Default: 60 s. It is
    /// also how long after a next key the handle may issue under the one before.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// How many ticks an id may be ahead of the clock, as for [`Builder::tolerance`]. Default: 0.
    pub fn tolerance(mut self, ticks: u32) -> Self {
        self.tolerance = ticks;
        self
    }

    /// The name of this process in the store's records, as for [`Builder::holder`].
    pub fn holder(mut self, name: impl Into<String>) -> Self {
        self.holder = Some(name.into());
        self
    }

    /// Watches a number that changes when a copy of this machine is resumed, as for
    /// [`Builder::generation`].
    pub fn generation(mut self, number: impl Into<Generation>) -> Self {
        self.generation = number.into();
        self
    }

    /// How long [`build`](TaggedBuilder::build) waits for a store that grants nothing, as for
    /// [`Builder::wait`]. Default: zero.
    pub fn wait(mut self, limit: Duration) -> Self {
        self.wait = limit;
        self
    }

    /// Acquires leases under a key.
    pub(super) fn epoch(&self, number: KeyNumber) -> Result<Epoch<L>, TaggedBuildError> {
        let Ok(key) = self.secrets.key(number) else {
            return Err(TaggedBuildError::KeyFile {
                number,
                file: self.secrets.file(number),
            });
        };
        let store = (self.open)().map_err(TaggedBuildError::Open)?;
        if store.namespace().name() != self.secrets.namespace() {
            return Err(TaggedBuildError::Namespace {
                store: store.namespace().name().to_owned(),
                secrets: self.secrets.namespace().to_owned(),
            });
        }
        let builder = Builder::encrypted(self.layout, &key.secret, store)
            .tagged(number)
            .node_ids(self.node_ids)
            .ttl(self.ttl)
            .tolerance(self.tolerance)
            .generation(self.generation)
            .wait(self.wait);
        let builder = match &self.holder {
            Some(name) => builder.holder(name),
            None => builder,
        };
        let handle: Handle<L, Sparx64> = builder.build().map_err(TaggedBuildError::Handle)?;
        Ok(Epoch {
            number,
            handle,
            tag: key.tag.clone(),
        })
    }
}

/// Shows the settings, and no secret.
impl<L: AnyLayout> Debug for TaggedBuilder<L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaggedBuilder")
            .field("secrets", &self.secrets)
            .field("ttl", &self.ttl)
            .field("node_ids", &self.node_ids)
            .finish_non_exhaustive()
    }
}

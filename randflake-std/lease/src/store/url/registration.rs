//! Description of an engine: the URLs that lead to it, and how its store is opened.

use super::text::refused;
use super::{Location, Scheme};
use crate::store::{Engine, LeaseStore};
use crate::types::{Namespace, StoreError};

/// An engine that URLs lead to.
#[derive(Debug)]
pub struct Registration {
    /// Name of the engine in messages.
    pub name: &'static str,
    /// Schemes of its URLs; the first one is the usual one.
    pub schemes: &'static [Scheme],
    /// Whether it has room for counters.
    pub has_counters: bool,
    /// Refuses a URL that it cannot take although its scheme allows all parts of it.
    pub check: fn(&Location) -> Result<(), StoreError>,
    /// Opens the store of a namespace, and makes what is missing.
    pub open: fn(&Location, &Namespace) -> Result<LeaseStore, StoreError>,
    /// Makes the engine alone, which asks and makes nothing yet; `None` if its file is not there.
    pub open_existing: fn(&Location, &Namespace) -> ExistingEngine,
}

/// An engine for a look at what is there; `None` if its file is not there.
pub type ExistingEngine = Result<Option<Box<dyn Engine>>, StoreError>;

impl Registration {
    /// Parses a URL, which must have a scheme of this engine.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] says what is wrong, and which form the URL must have. It shows no password.
    pub fn location(&'static self, url: &str) -> Result<Location, StoreError> {
        // Errors and logs show hosts and paths: a line break would look like another entry there.
        if url.contains(char::is_control) {
            return Err(refused("has control characters", self.schemes[0].form));
        }
        let Some((name, rest)) = url.split_once(':') else {
            return Err(refused("has no scheme", self.schemes[0].form));
        };
        match self.scheme(name) {
            Some(scheme) => Location::parsed(self, scheme, rest),
            None => Err(self.refused_other()),
        }
    }

    /// Refuses the location of another engine.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`].
    pub fn expect(&self, location: &Location) -> Result<(), StoreError> {
        if location.engine().name == self.name {
            Ok(())
        } else {
            Err(self.refused_other())
        }
    }

    /// The scheme of a name.
    #[must_use]
    pub fn scheme(&self, name: &str) -> Option<&'static Scheme> {
        self.schemes.iter().find(|scheme| scheme.name == name)
    }

    fn refused_other(&self) -> StoreError {
        refused("is for another store", self.schemes[0].form)
    }
}

//! What an engine takes of its URL.

use super::rules::{Engine, SCHEMES};
use super::server::{Address, Host, Server};
use super::text::refused;
use super::{Form, StoreUrl};
use crate::vocabulary::StoreError;

impl Server {
    /// The one that a URL names, which is for this engine.
    pub(crate) fn at(url: &str, engine: Engine) -> Result<Self, StoreError> {
        let StoreUrl { form, max_ttl } = url.parse()?;
        if max_ttl.is_some() {
            // Here it would not come to the namespace.
            return Err(StoreError::Invalid(
                "the lease store's URL has max_ttl, which only `lease::open` takes: use Namespace::with_max_ttl".to_owned(),
            ));
        }
        match form {
            Form::Server(server) if server.scheme.engine == engine => Ok(server),
            _ => {
                let own = SCHEMES.iter().find(|scheme| scheme.engine == engine);
                let form = own.map_or("another", |scheme| scheme.form);
                Err(refused("is for another store", form))
            }
        }
    }

    /// None where it is a socket.
    pub(crate) fn hosts(&self) -> &[Host] {
        match &self.address {
            Address::Hosts(hosts) => hosts,
            Address::Socket(_) => &[],
        }
    }

    /// An error that says what is wrong with the URL, and which form it must have.
    pub(crate) fn refused(&self, why: &str) -> StoreError {
        self.scheme.refused(why)
    }
}

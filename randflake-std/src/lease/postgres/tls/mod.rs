//! Connections, encrypted if the URL says so.

#[cfg(not(feature = "postgres-tls"))]
mod disabled;
#[cfg(feature = "postgres-tls")]
mod enabled;

use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config, NoTls};

#[cfg(not(feature = "postgres-tls"))]
use self::disabled::connect_encrypted;
#[cfg(not(feature = "postgres-tls"))]
pub(super) use self::disabled::refusal;
#[cfg(feature = "postgres-tls")]
use self::enabled::connect_encrypted;
#[cfg(feature = "postgres-tls")]
pub(super) use self::enabled::refusal;
use super::failure::Failure;
use crate::lease::encryption::Files;

/// Where the servers are, the files for an encrypted connection, and who made the schema if it was another
/// role.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) config: Config,
    pub(super) files: Option<Files>,
    pub(super) owner: Option<String>,
}

impl Target {
    /// A client, and the task that moves its bytes.
    pub(super) async fn connect(&self) -> Result<(Client, JoinHandle<()>), Failure> {
        if let Some(files) = &self.files {
            return connect_encrypted(&self.config, files).await;
        }
        let (client, connection) = self.config.connect(NoTls).await?;
        Ok((client, tokio::spawn(async move { _ = connection.await })))
    }
}

//! Connections, encrypted if the URL says so.

#[cfg(not(feature = "postgres-tls"))]
mod disabled;
#[cfg(feature = "postgres-tls")]
mod enabled;

use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config, NoTls};

#[cfg(not(feature = "postgres-tls"))]
use self::disabled::connect_encrypted;
#[cfg(feature = "postgres-tls")]
use self::enabled::connect_encrypted;
use crate::lease::database::Failure;
use crate::lease::encryption::Files;

/// Where the servers are, and what sessions with them have in common.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) config: Config,
    /// For an encrypted connection.
    pub(super) files: Option<Files>,
    /// Who made the schema, if it was another role.
    pub(super) owner: Option<String>,
    /// The random number of the store that this process has used first: its connections say so.
    pub(super) first: Option<i64>,
}

impl Target {
    /// A client, and the task that moves its bytes.
    pub(super) async fn connect(&self) -> Result<(Client, JoinHandle<()>), Failure> {
        let mut config = self.config.clone();
        if let Some(first) = self.first {
            config.application_name(format!("randflake {first}"));
        }
        if let Some(files) = &self.files {
            return connect_encrypted(&config, files).await;
        }
        let (client, connection) = config.connect(NoTls).await?;
        Ok((client, tokio::spawn(async move { _ = connection.await })))
    }
}

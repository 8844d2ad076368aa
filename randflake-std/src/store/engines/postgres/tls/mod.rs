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
use crate::store::encryption::Files;
use crate::store::engines::database::DatabaseFailure;

/// A client, and the task that moves its bytes.
pub(super) async fn connect(
    config: &Config,
    files: Option<&Files>,
) -> Result<(Client, JoinHandle<()>), DatabaseFailure> {
    if let Some(files) = files {
        return connect_encrypted(config, files).await;
    }
    let (client, connection) = config.connect(NoTls).await?;
    Ok((client, tokio::spawn(async move { _ = connection.await })))
}

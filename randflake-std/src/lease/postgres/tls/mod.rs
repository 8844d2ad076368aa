//! Connections, encrypted if the URL says so.

#[cfg(not(feature = "postgres-tls"))]
mod disabled;
#[cfg(feature = "postgres-tls")]
mod enabled;

use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};

#[cfg(not(feature = "postgres-tls"))]
use self::disabled::connect_encrypted;
#[cfg(feature = "postgres-tls")]
use self::enabled::connect_encrypted;
use super::failure::Failure;

/// A client, and the task that moves its bytes.
pub(super) async fn connect(config: &Config) -> Result<(Client, JoinHandle<()>), Failure> {
    // What is preferred, and not checked, protects from nobody: it is all or nothing.
    if config.get_ssl_mode() == SslMode::Require {
        return connect_encrypted(config).await;
    }
    let (client, connection) = config.connect(NoTls).await?;
    Ok((client, tokio::spawn(async move { _ = connection.await })))
}

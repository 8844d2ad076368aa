//! A build without encryption.

use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config};

use crate::store::encryption::{Files, without_tls};
use crate::store::engines::database::DatabaseFailure;

#[expect(
    clippy::unused_async,
    reason = "the encrypted twin waits for a handshake"
)]
pub(in super::super) async fn connect(
    _: &Config,
    _: &Files,
) -> Result<(Client, JoinHandle<()>), DatabaseFailure> {
    Err(without_tls().into())
}

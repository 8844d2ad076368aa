//! A build without encryption.

use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config};

use crate::store::encryption::Files;
use crate::store::engines::database::DatabaseFailure;
use crate::vocabulary::EngineError;

pub(super) async fn connect_encrypted(
    _: &Config,
    _: &Files,
) -> Result<(Client, JoinHandle<()>), DatabaseFailure> {
    let sentence = "this build cannot encrypt connections to PostgreSQL: build it with the cargo \
                    feature `postgres-tls`, or take sslmode=disable";
    Err(EngineError::unusable(sentence).into())
}

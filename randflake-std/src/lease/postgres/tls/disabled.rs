//! A build without encryption.

use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config};

use crate::lease::EngineError;
use crate::lease::database::Failure;
use crate::lease::encryption::Files;

pub(super) async fn connect_encrypted(
    _: &Config,
    _: &Files,
) -> Result<(Client, JoinHandle<()>), Failure> {
    let sentence = "this build cannot encrypt connections to PostgreSQL: build it with the cargo \
                    feature `postgres-tls`, or take sslmode=disable";
    Err(EngineError::unusable(sentence).into())
}

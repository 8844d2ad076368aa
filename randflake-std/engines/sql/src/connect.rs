//! Connections to the addresses of a server, one after the other.

use core::time::Duration;

use tokio::time::timeout;

use crate::DatabaseFailure;
use randflake_lease::EngineError;
use randflake_lease::unstable::net::{Addresses, Attempt};

/// Connects to the first address that takes a session. What a session needs before its first answer
/// is part of the time of its address, so one that is silent does not hide the next one.
pub(crate) async fn first_that_answers<T>(
    addresses: &mut Addresses,
    limit: Duration,
    connect: impl AsyncFn(&Attempt) -> Result<T, DatabaseFailure>,
) -> Result<T, DatabaseFailure> {
    let mut failures = Vec::new();
    let mut attempts = addresses.attempts(limit);
    while let Some(next) = attempts.next() {
        match next {
            Ok(attempt) => match timeout(attempt.limit, connect(&attempt)).await {
                Ok(Ok(connected)) => {
                    attempts.answered(&attempt);
                    return Ok(connected);
                }
                Ok(Err(failure)) => failures.push((attempt.to_string(), failure)),
                Err(elapsed) => failures.push((attempt.to_string(), elapsed.into())),
            },
            Err((host, why)) => {
                let failure = EngineError::unavailable(why).into();
                failures.push((host.to_string(), failure));
            }
        }
    }
    Err(DatabaseFailure::of_all(failures))
}

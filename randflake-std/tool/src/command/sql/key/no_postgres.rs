//! A build without PostgreSQL.

use super::{DatabaseKey, Outcome, Target};
use crate::failure::Failure;

pub(super) fn bring(_: &Target<'_>, _: &DatabaseKey) -> Result<Outcome, Failure> {
    Err(Failure::failed(
        "this build cannot connect to PostgreSQL: build it with the cargo feature `postgres`",
    ))
}

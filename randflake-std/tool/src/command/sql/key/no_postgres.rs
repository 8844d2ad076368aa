//! A build without PostgreSQL.

use super::checks::DatabaseKeys;
use super::{Outcome, Target};
use crate::failure::Failure;

pub(super) fn bring<'a>(_: &Target<'_>, _: &'a DatabaseKeys) -> Result<Outcome<'a>, Failure> {
    Err(Failure::failed(
        "this build cannot connect to PostgreSQL: build it with the cargo feature `postgres`",
    ))
}

//! A build without MySQL.

use super::{DatabaseKey, Outcome, Target};
use crate::failure::Failure;

pub(super) fn bring(_: &Target<'_>, _: &DatabaseKey) -> Result<Outcome, Failure> {
    Err(Failure::failed(
        "this build cannot connect to MySQL: build it with the cargo feature `mysql`",
    ))
}

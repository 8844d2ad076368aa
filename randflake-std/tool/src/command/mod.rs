//! The subcommands of the command line: a file or folder for each, and what only they share.

mod bits;
pub(crate) mod compose;
pub(crate) mod convert;
pub(crate) mod doctor;
mod equal_ids;
pub(crate) mod explain;
mod format;
pub(crate) mod generate;
pub(crate) mod histogram;
mod input;
pub(crate) mod inspect;
mod interrupt;
pub(crate) mod keygen;
pub(crate) mod lease;
mod progress;
mod record;
pub(crate) mod segment;
mod utc;

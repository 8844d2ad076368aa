//! The subcommands of the command line: a file or folder for each, and what only they share.
//!
//! Each has `Args`, whose doc comments are the help texts, and `run`. It prints through `crate::output` and fails with a
//! `Failure`; only `generate` and `segment` watch for signals, as only they hold something for longer than a call.

mod bits;
pub(crate) mod compose;
pub(crate) mod convert;
pub(crate) mod doctor;
mod equal_ids;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod histogram;
mod input;
pub(crate) mod inspect;
mod interrupt;
pub(crate) mod keygen;
pub(crate) mod lease;
mod rounded;
pub(crate) mod segment;
#[cfg(feature = "serve")]
pub(crate) mod serve;
#[cfg(not(feature = "serve"))]
#[path = "no_serve.rs"]
pub(crate) mod serve;
pub(crate) mod sql;
mod table;
#[cfg(feature = "serve")]
mod token;
pub(crate) mod uuid;

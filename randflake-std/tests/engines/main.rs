//! All tests of the library on engines' servers, as one program: an engine is started once for the
//! tests that share it, and most of them wait.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(unix)]

mod encryption;
mod hostile;
mod idle;
mod lasting;
mod looks;
mod segment_faults;
mod servers;
#[path = "../watched/mod.rs"]
mod watched;

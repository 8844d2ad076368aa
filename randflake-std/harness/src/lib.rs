//! Real servers and disks to test against: each in a temporary folder, on free ports of the loopback interface,
//! and gone with the test, however that ends.
//!
//! Where their programs are is told by environment variables, which `cargo xtask` sets.

#![cfg(unix)]
#![expect(
    missing_docs,
    missing_debug_implementations,
    clippy::missing_panics_doc,
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    clippy::new_without_default,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests call it, and a test fails by panicking"
)]

pub mod certificates;
pub mod clock;
#[cfg(target_os = "linux")]
pub mod disk;
mod encrypted;
pub mod engine;
mod environment;
pub mod etcd;
#[cfg(target_os = "linux")]
pub mod isolation;
pub mod mariadb;
pub mod postgres;
#[cfg(target_os = "linux")]
pub mod preloaded_clock;
pub mod proxy;
pub mod redis;
pub mod server;
pub mod template;
pub mod unprivileged;

pub use environment::*;

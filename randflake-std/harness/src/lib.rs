//! Real servers and disks to test against: each in a temporary folder, on free ports of the
//! loopback interface, and gone with the test, however that ends.
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
pub mod engine;
mod environment;
#[path = "../../engines/etcd/server.rs"]
pub mod etcd;
#[cfg(target_os = "linux")]
pub mod isolation;
#[path = "../../engines/mysql/server.rs"]
pub mod mariadb;
#[path = "../../engines/postgres/server.rs"]
pub mod postgres;
#[cfg(target_os = "linux")]
pub mod preloaded_clock;
pub mod proxy;
#[path = "../../engines/redis/server.rs"]
pub mod redis;
pub mod server;
pub mod template;
pub mod unprivileged;

pub use environment::*;

//! Real servers to test against: each in a temporary folder, on free ports of the loopback interface,
//! and gone with the test, however that ends.
//!
//! Where their programs are is told by environment variables, which `cargo xtask` sets.

pub(crate) mod certificates;
pub(crate) mod clock;
mod encrypted;
mod environment;
pub(crate) mod etcd;
#[cfg(target_os = "linux")]
pub(crate) mod isolation;
#[cfg(feature = "mysql")]
pub(crate) mod mariadb;
pub(crate) mod namespaces;
pub(crate) mod postgres;
#[cfg(target_os = "linux")]
pub(crate) mod preloaded_clock;
pub(crate) mod redis;
pub(crate) mod server;
pub(crate) mod template;
pub(crate) mod unprivileged;

pub(crate) use environment::*;

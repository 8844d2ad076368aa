#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! A request comes through `listen` (sockets, TLS, limits of connections) to one of the protocols,
//! `resp` or `http`. Both ask `service` for ids and leases, which asks `access` first who may have
//! them. `budget` limits the bytes that all connections hold, `places` their number. `run` is the
//! life of the process: start, reloads, end.

#![expect(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "it is for one program, and errors are the messages that it prints"
)]
// It panics where standard error is a full disk: `say` does not.
#![deny(clippy::print_stderr)]

mod access;
mod budget;
mod counters;
mod http;
mod incidents;
mod listen;
mod lock;
mod log;
mod places;
mod refusal;
mod resp;
mod run;
mod service;
mod system;
mod watched;

pub use self::budget::MemoryLimits;
pub use self::listen::address::ListenAddress;
pub use self::listen::tls::TlsFiles;
pub use self::places::ConnectionLimits;
pub use self::run::{Options, ServedStore, Server};
pub use self::service::served_namespace::{Leasing, ServedNamespace, StoreOpener};

/// Tokens of clients, and the file that has them.
pub mod tokens {
    pub use crate::access::{
        Hash, Pattern, PerQuota, QuotaKind, Scope, TokenLine, TokenSecret, TokensFile, name,
        node_ids,
    };
}

/// The HTTP server in process, for the fuzzer.
#[cfg(fuzzing)]
pub fn fuzz_http(input: &[u8]) -> bool {
    http::fuzz::run(input)
}

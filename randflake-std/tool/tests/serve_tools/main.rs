//! `randflake serve` under tools from elsewhere: a browser, a maker of requests from an `OpenAPI`
//! description, Prometheus' rules, and suites that others published. Environment variables say
//! where they are: see `xtask/src/parts/serve.rs`, `xtask/src/parts/deploy` and
//! `xtask/src/parts/deep/checkers`.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../aged_store/mod.rs"]
mod aged_store;
mod alerts;
mod checkers;
mod page;
mod schema;
#[expect(dead_code, reason = "other tests do more to servers")]
#[path = "../serve_http/server.rs"]
mod server;

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// What a variable says.
fn told(variable: &str) -> PathBuf {
    let found = env::var_os(variable);
    found
        .unwrap_or_else(|| panic!("{variable} is not set: `cargo xtask serve` sets it"))
        .into()
}

impl server::Server {
    /// The tool, with the server's store and the secret of `default`.
    fn tool(&self) -> Command {
        let mut command = server::tool(self.path("state").parent().unwrap());
        command.env("RANDFLAKE_KEY", server::KEY);
        command
    }
}

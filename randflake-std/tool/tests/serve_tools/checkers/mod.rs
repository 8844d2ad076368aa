//! Suites and tools that others published, on a server: `cargo xtask deep checkers` brings them. What is left out of each stands in a
//! list beside its module, with the reason.

#![expect(
    clippy::print_stdout,
    reason = "what was checked is a result, with numbers"
)]

mod abuse;
mod dieharder;
mod nist;
mod redis_py;
mod redis_tcl;
mod stream;

use std::net::TcpListener;

/// Lines of a list: a kind, a name and the reason, with two spaces or more between.
fn list(text: &'static str) -> impl Iterator<Item = [&'static str; 3]> {
    let lines = text.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let mut fields = line.splitn(3, "  ").map(str::trim);
        [(); 3].map(|()| {
            fields
                .next()
                .unwrap_or_else(|| panic!("{line:?} has no reason"))
        })
    })
}

/// For the server's RESP: a suite must know it before the server says it.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A number that a variable says.
fn number(variable: &str) -> u64 {
    let found = crate::told(variable);
    found.to_str().and_then(|text| text.parse().ok()).unwrap()
}

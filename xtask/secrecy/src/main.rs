//! Program that uses secrets under observation, run by `cargo xtask secrecy` in two forms:
//!
//! - `valgrind secrecy time`: no jump and no address depends on a secret, but for those that are
//!   listed with a reason.
//! - `secrecy memory`: after its owner was dropped, a process has no copy of a key or of its round
//!   keys.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it looked at"
)]

mod memcheck;
mod remains;
mod timing;

#[path = "../../../randflake-std/serve/src/access/secret.rs"]
#[expect(unreachable_pub, reason = "of the library that it is a part of")]
#[cfg_attr(not(test), expect(dead_code, reason = "the server uses more of it"))]
mod token;

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    let passed = match words[..] {
        ["time"] => timing::run(),
        ["memory"] => remains::run(),
        ["hold", scenario] => remains::hold(scenario),
        _ => {
            println!("usage: valgrind secrecy time\n       secrecy memory");
            return ExitCode::from(2);
        }
    };
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

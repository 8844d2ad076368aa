//! The fuzz target `resp` on commands that are changed at random: it compiles with this compiler,
//! and holds. `cargo xtask deep fuzz` searches by coverage. The target `http` is tested inside of
//! the server.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

// What the target compares with.
use redis as _;

// The target takes the macro from the crate of the fuzzer: here that is this program.
extern crate self as libfuzzer_sys;

#[expect(unused_attributes, reason = "a target has no `main` of its own")]
#[path = "../fuzz/fuzz_targets/resp.rs"]
mod resp;

/// Makes the target a function of its input.
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: $kind:ty| $body:block) => {
        pub(crate) fn run($input: $kind) $body
    };
}

const COMMANDS: [&str; 7] = [
    "*2\r\n$4\r\nINCR\r\n$1\r\na\r\n",
    "*0\r\n",
    "*-1\r\n",
    "PING  x\r\n",
    "\r\n",
    "*1\r\n$0\r\n\r\n",
    "GET a\n",
];

#[test]
fn resp_holds() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..2_000 {
        let mut input = Vec::new();
        for _ in 0..random.usize(1..6) {
            let command = COMMANDS[random.usize(..COMMANDS.len())];
            input.extend(command.as_bytes());
        }
        for _ in 0..random.usize(0..3) {
            let place = random.usize(..input.len());
            match random.u8(..3) {
                0 => input[place] = random.u8(..),
                1 => input.insert(place, random.u8(b'$'..b':')),
                _ => drop(input.drain(place..)),
            }
            if input.is_empty() {
                input.push(b'*');
            }
        }
        let pieces = (0..random.usize(..8)).map(|_| random.u8(..16)).collect();
        resp::run((input, pieces));
    }
}

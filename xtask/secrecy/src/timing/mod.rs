//! Search for jumps and addresses that depend on a secret.
//!
//! Each case hides a secret from memcheck, computes with it, checks that the result is hidden too
//! (else nothing was looked at), and shows the result before it compares it.

mod cipher;
mod ids;
mod keys;
mod planted;

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use crate::memcheck;

pub(crate) const KEY: [u8; 16] = *b"sixteen byte key";

struct Case {
    name: String,
    allowed: Allowed,
    run: Box<dyn Fn()>,
}

enum Allowed {
    /// No report.
    Nothing,
    /// One jump whose outcome is public.
    Verdict(&'static str),
    /// Planted: what finds nothing here finds nothing elsewhere.
    Leak,
}

impl Case {
    fn new(name: impl Into<String>, allowed: Allowed, run: impl Fn() + 'static) -> Self {
        Self {
            name: name.into(),
            allowed,
            run: Box::new(run),
        }
    }

    /// Whether as much was reported as is allowed.
    fn passes(&self) -> bool {
        let before = memcheck::reports();
        // What a jump has decided depends on nothing any more, so with a leak results may look as
        // if nothing had been hidden.
        let result = catch_unwind(AssertUnwindSafe(&self.run));
        let reports = memcheck::reports() - before;
        let (passes, allowed) = match self.allowed {
            Allowed::Nothing => (reports == 0, ""),
            Allowed::Verdict(what) => (reports == 1, what),
            Allowed::Leak => (reports > 0, "planted"),
        };
        let passes = passes && result.is_ok();
        let verdict = if passes { "" } else { " FAILED" };
        println!("{:44} {reports:5} {allowed}{verdict}", self.name);
        passes
    }
}

/// Whether all cases pass.
pub(crate) fn run() -> bool {
    if !memcheck::is_there() {
        println!("run it under valgrind: nobody looks at jumps and addresses");
        return false;
    }
    println!("{:44} jumps and addresses that depend on a secret", "");
    let cases = [
        cipher::cases(),
        keys::cases(),
        ids::cases(),
        planted::cases(),
    ];
    let mut all_pass = true;
    for case in cases.iter().flatten() {
        all_pass &= case.passes();
    }
    all_pass
}

/// A value that depends on a secret, made public.
fn shown<W: memcheck::Words + ?Sized>(value: &mut W) -> &W {
    assert!(memcheck::is_hidden(value), "the secret did not reach it");
    memcheck::show(value);
    value
}

/// A key that is secret.
fn hidden_key() -> [u8; 16] {
    let mut key = KEY;
    memcheck::hide(&mut key);
    key
}

//! Search of a process's memory for copies of a key after the key's owner was dropped.
//!
//! The process that uses the key is a child of the one that looks: so nothing here is a copy that
//! is found. It looks twice. While the owner lives, it must find the key, else it would find
//! nothing later either.

mod held;
mod memory;
mod patterns;

use std::env;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

pub(crate) use held::hold;
use held::{Scenario, scenarios};
use patterns::{Found, Patterns};

/// Whether nothing remains in any scenario.
pub(crate) fn run() -> bool {
    println!(
        "{:24} while it is used, and after its end: copies of parts of the key",
        ""
    );
    let mut all_pass = true;
    for scenario in scenarios() {
        all_pass &= look(&scenario);
    }
    all_pass
}

fn look(scenario: &Scenario) -> bool {
    let mut key = [0; 16];
    getrandom::fill(&mut key).expect("the system has random numbers");
    let patterns = Patterns::of(&key);
    let mut holder = Holder::start(&scenario.name, &key).expect("this program can run itself");
    let living = holder
        .next(&patterns)
        .expect("the holder's memory can be read");
    let after = holder
        .next(&patterns)
        .expect("the holder's memory can be read");
    let has_ended = holder.end();
    let passes = living.is_any() && after.is_any() == scenario.leaves_copy && has_ended;
    let planted = if scenario.leaves_copy {
        ", planted"
    } else {
        ""
    };
    let verdict = if passes { "" } else { "  FAILED" };
    println!("{:24} {living}; {after}{planted}{verdict}", scenario.name);
    if !passes {
        print!("{}", after.places());
    }
    passes
}

struct Holder {
    process: Child,
    lines: BufReader<ChildStdout>,
}

impl Holder {
    fn start(scenario: &str, key: &[u8; 16]) -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.args(["hold", scenario]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let lines = process
            .stdout
            .take()
            .map(BufReader::new)
            .ok_or_else(|| io::Error::other("no pipe"))?;
        let mut holder = Self { process, lines };
        holder.tell(key)?;
        Ok(holder)
    }

    /// What is found at the next stop.
    fn next(&mut self, patterns: &Patterns) -> io::Result<Found> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        if line.is_empty() {
            return Err(io::Error::other("the holder has ended"));
        }
        let found = memory::search(self.process.id(), patterns)?;
        self.tell(b"\n")?;
        Ok(found)
    }

    fn tell(&mut self, what: &[u8]) -> io::Result<()> {
        let mut pipe = self
            .process
            .stdin
            .as_ref()
            .ok_or_else(|| io::Error::other("no pipe"))?;
        pipe.write_all(what)
    }

    fn end(mut self) -> bool {
        self.process.wait().is_ok_and(|status| status.success())
    }
}

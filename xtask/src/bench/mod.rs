//! `bench`: what things cost. No part of `test`: figures are for people.

mod criterion;
mod index;
mod instructions;
mod leases;
mod peers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cargo::{output_of, program, root};
use crate::report::Report;
use crate::setup::{self, Need};

const USAGE: &str = "usage: cargo xtask bench [--full]
       cargo xtask bench peers [--rounds N] [--json FILE] [--svg FILE]
       cargo xtask bench load
       cargo xtask bench cli [--old PROGRAM]
       cargo xtask bench instructions
       cargo xtask bench index [--rows N]
       cargo xtask bench leases [--rounds N] [--engine NAME] [--folder DIR] [--json FILE]

  (nothing)     every benchmark of the workspace, a second each; --full takes criterion's own time
  peers         ids of other crates beside ours, in one process
  load          the real clock for some seconds: whether the rate is kept, how waiting ends, and how an elastic handle
                follows a load that comes and goes
  cli           user time of the command line tool for an id, and of another build beside it
  instructions  how many instructions an id takes, counted by valgrind, into the record
  index         kinds of ids as primary keys of ten million rows in PostgreSQL, into the record (ten minutes)
  leases        leases on SQLite, Redis, PostgreSQL, MariaDB and etcd, started in --folder or where temporary
                folders are; unless --engine or --folder is given into the record and DESIGN.md (eight minutes)

flags:
  --host-only   leave out what needs tools other than Rust's, and say what was left out
";

/// A benchmark, and what must be on the machine for it.
struct Bench {
    name: &'static str,
    needs: fn() -> Vec<Need>,
    run: fn(&mut Report, &[String]) -> Result<(), String>,
}

const BENCHES: [Bench; 7] = [
    Bench {
        name: "",
        needs: Vec::new,
        run: criterion::run,
    },
    Bench {
        name: "peers",
        needs: peers::needs,
        run: peers::run,
    },
    Bench {
        name: "load",
        needs: Vec::new,
        run: criterion::load,
    },
    Bench {
        name: "cli",
        needs: Vec::new,
        run: criterion::cli,
    },
    Bench {
        name: "instructions",
        needs: instructions::needs,
        run: instructions::run,
    },
    Bench {
        name: "index",
        needs: index::needs,
        run: index::run,
    },
    Bench {
        name: "leases",
        needs: leases::needs,
        run: leases::run,
    },
];

/// The subcommand, with what was typed behind it.
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let mut arguments = arguments.to_vec();
    let typed = arguments.len();
    arguments.retain(|argument| argument != "--host-only");
    let host_only = arguments.len() < typed;
    if arguments.iter().any(|a| a == "--help" || a == "-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) if !name.starts_with('-') => (name.as_str(), rest),
        _ => ("", arguments.as_slice()),
    };
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        return usage_error(&format!("no benchmark {name}"));
    };
    let mut report = Report::new(host_only);
    report.begin("setup");
    setup::prepare(&(bench.needs)(), &mut report);
    report.begin("bench");
    if let Err(message) = (bench.run)(&mut report, rest) {
        return usage_error(&message);
    }
    if report.finish() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[expect(clippy::print_stderr, reason = "usage errors belong on standard error")]
fn usage_error(message: &str) -> ExitCode {
    eprint!("error: {message}\n\n{USAGE}");
    ExitCode::from(2)
}

/// A workspace beside the project's own.
fn workspace(name: &str) -> PathBuf {
    root().join("randflake-std/benches").join(name)
}

/// Where such a workspace is built.
fn target(name: &str) -> PathBuf {
    crate::cargo::target().join(name)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// When, on what, and how it was measured.
fn caption(command: &str) -> String {
    let date = output_of(&mut program("date", &["-u", "+%F"])).unwrap_or_default();
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info
            .lines()
            .find(|line| line.split(':').next().unwrap_or("").trim() == name);
        line.and_then(|line| line.split_once(": "))
            .map_or("?", |(_, value)| value.trim())
    };
    let rustc = output_of(&mut program("rustc", &["--version"])).unwrap_or_default();
    let rustc = rustc.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let cores = info
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let machine = if field("flags").split(' ').any(|flag| flag == "hypervisor") {
        " of a virtual machine"
    } else {
        ""
    };
    format!(
        "{date}; {} (family {}, model {}), {cores} cores{machine}; {rustc}; cargo xtask {command}",
        field("model name"),
        field("cpu family"),
        field("model"),
    )
}

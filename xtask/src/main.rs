//! The project's own tasks: `cargo xtask test` is the whole of what must pass, and each part of it runs alone.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool speaks on its standard output"
)]

mod apart;
mod avr;
mod bench;
mod boards;
mod c_library;
mod cargo;
mod chaos;
mod check;
mod copies;
mod counts;
mod cpu;
mod deny;
mod deploy;
mod doc;
mod emulated;
mod engines;
mod faults;
mod features;
mod fuzz;
mod guide;
mod horizon;
mod image;
mod integrations;
mod interop;
mod lanes;
mod lint;
mod loom;
mod matrix;
mod miri;
mod model;
mod msrv;
mod neighbours;
mod no_std;
mod output;
mod power_cuts;
mod public_api;
mod qemu;
mod report;
mod scratch;
mod serve;
mod setup;
mod size;
mod soak;
mod test_counts;
mod tidy;
mod tools;
mod unit;
mod venv;

use std::env;
use std::process::ExitCode;

use apart::APART;
use report::Report;
use setup::Need;

/// One part of `cargo xtask test`, which is also a subcommand.
struct Part {
    name: &'static str,
    about: &'static str,
    /// What must be on the machine before the part can run.
    needs: fn() -> Vec<Need>,
    run: fn(&mut Report),
}

/// Quick parts first: a slip is seen before the long ones begin.
const PARTS: &[Part] = &[
    Part {
        name: "tidy",
        about: "rules no linter knows: arrows between crates, unused dependencies, feature rows, cfg places",
        needs: Vec::new,
        run: tidy::run,
    },
    Part {
        name: "lint",
        about: "rustfmt and clippy, warnings are errors",
        needs: lint::needs,
        run: lint::run,
    },
    Part {
        name: "deny",
        about: "licences, sources and duplicates of all dependencies (cargo-deny)",
        needs: deny::needs,
        run: deny::run,
    },
    Part {
        name: "doc",
        about: "rustdoc as a user and as docs.rs run it, warnings are errors; what front pages name and lead to",
        needs: Vec::new,
        run: doc::run,
    },
    Part {
        name: "features",
        about: "each library with no feature, tests and benchmarks too, and with each one alone",
        needs: lint::needs,
        run: features::run,
    },
    Part {
        name: "unit",
        about: "the tests of each crate, with all features",
        needs: Vec::new,
        run: unit::run,
    },
    Part {
        name: "neighbours",
        about: "the feature `sqlite` beside other crates that link SQLite: cargo finds a version for all",
        needs: Vec::new,
        run: neighbours::run,
    },
    Part {
        name: "no-std",
        about: "builds for microcontrollers and wasm; the tests as a 32-bit program",
        needs: no_std::needs,
        run: no_std::run,
    },
    Part {
        name: "emulated",
        about: "NEON, a big-endian machine and WebAssembly's vectors (qemu-user, cross compilers, node)",
        needs: emulated::needs,
        run: emulated::run,
    },
    Part {
        name: "loom",
        about: "all interleavings of the generator's atomics",
        needs: Vec::new,
        run: loom::run,
    },
    Part {
        name: "model",
        about: "the lease protocol under all orders of events, and each rule left out",
        needs: Vec::new,
        run: model::run,
    },
    Part {
        name: "miri",
        about: "undefined behaviour, seen by an interpreter (nightly)",
        needs: miri::needs,
        run: miri::run,
    },
    Part {
        name: "qemu",
        about: "firmware on emulated Cortex-M0, M3, M4 and RISC-V, interrupted at every instruction; what images may hold",
        needs: qemu::needs,
        run: qemu::run,
    },
    Part {
        name: "c",
        about: "the C library: its header in C and C++, a C program on this machine and on those of `qemu` (clang)",
        needs: c_library::needs,
        run: c_library::run,
    },
    Part {
        name: "avr",
        about: "the cipher and ids on an emulated AVR, interrupted at every cycle (nightly, avr-gcc, simavr)",
        needs: avr::needs,
        run: avr::run,
    },
    Part {
        name: "boards",
        about: "examples for nRF52840, STM32F411, RP2040 and ESP32-C3 compile; those for any board are tested",
        needs: boards::needs,
        run: boards::run,
    },
    Part {
        name: "integrations",
        about: "ids in other crates' traits and the examples for servers, on real databases (postgresql, mariadb, redis)",
        needs: integrations::needs,
        run: integrations::run,
    },
    Part {
        name: "interop",
        about: "ids exchanged with the published Python package (python3)",
        needs: interop::needs,
        run: interop::run,
    },
    Part {
        name: "serve",
        about: "the tool's server, with clients, a browser and requests from its description (redis-tools, chromium, python3, node, npm)",
        needs: serve::needs,
        run: serve::run,
    },
    Part {
        name: "deploy",
        about: "alert rules, dashboard, systemd units, Dockerfile and Kubernetes manifests, by the tools that they are for, and the guide's commands (promtool, systemd-analyze, python3, postgresql, kubectl, openssl, redis-tools)",
        needs: deploy::needs,
        run: deploy::run,
    },
    Part {
        name: "engines",
        about: "lease stores on real servers and file systems, in temporary folders (redis, etcd, postgresql, mariadb, libfaketime, mkfs.ext4)",
        needs: engines::needs,
        run: engines::run,
    },
    Part {
        name: "faults",
        about: "processes and engines killed, suspended, cut off, without power, under clocks that jump (libfaketime, redis; three minutes)",
        needs: faults::needs,
        run: faults::run,
    },
];

const SETUP: &str = "setup";

/// Subcommands for several parts.
const ALL: [(&str, &str); 2] = [
    (
        "test",
        "all of the below, with a summary: the whole of what must pass",
    ),
    (
        SETUP,
        "what comes first: brings the tools that the parts need, and says what is missing",
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let Some((name, rest)) = arguments.split_first()
        && let Some(apart) = APART.iter().find(|apart| apart.name == name)
    {
        return apart.main(rest);
    }
    let mut name = None;
    let mut host_only = false;
    for argument in arguments {
        match argument.as_str() {
            "--help" | "-h" | "help" => {
                print!("{}", usage());
                return ExitCode::SUCCESS;
            }
            "--host-only" => host_only = true,
            flag if flag.starts_with('-') => return usage_error(&format!("unknown flag `{flag}`")),
            _ if name.is_some() => return usage_error("one subcommand at a time"),
            _ => name = Some(argument),
        }
    }
    let Some(name) = name else {
        if host_only {
            return usage_error("`--host-only` needs a subcommand");
        }
        print!("{}", usage());
        return ExitCode::SUCCESS;
    };
    let is_all = ALL.iter().any(|(all, _)| *all == name);
    let is_chosen = |part: &&Part| is_all || name == part.name;
    let parts: Vec<&Part> = PARTS.iter().filter(is_chosen).collect();
    if parts.is_empty() {
        return usage_error(&format!("unknown subcommand `{name}`"));
    }
    run(&parts, name == SETUP, Report::new(host_only))
}

fn run(parts: &[&Part], only_setup: bool, mut report: Report) -> ExitCode {
    let needs: Vec<Need> = parts.iter().flat_map(|part| (part.needs)()).collect();
    if !needs.is_empty() {
        report.begin(SETUP);
        setup::prepare(&needs, &mut report);
    }
    match parts {
        _ if only_setup => {}
        [part] => lanes::run_part(part, &mut report),
        parts => lanes::run(parts, &mut report),
    }
    report.exit_code()
}

fn usage() -> String {
    use core::fmt::Write as _;

    let mut text = String::from("usage: cargo xtask <subcommand> [--host-only]\n\nsubcommands:\n");
    let parts = PARTS.iter().map(|part| (part.name, part.about));
    for (name, about) in ALL.iter().copied().chain(parts) {
        _ = writeln!(text, "  {name:10} {about}");
    }
    text.push_str("\napart:\n");
    for apart in APART {
        _ = writeln!(text, "  {:10} {}", apart.name, apart.about);
    }
    text.push_str("\nflags:\n  --host-only  leave out what needs tools other than Rust's, and say what was left out\n");
    text
}

#[expect(clippy::print_stderr, reason = "usage errors belong on standard error")]
fn usage_error(message: &str) -> ExitCode {
    eprint!("error: {message}\n\n{}", usage());
    ExitCode::from(2)
}

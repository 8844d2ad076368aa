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
mod clippy;
mod copies;
mod counts;
mod coverage;
mod cpu;
mod deny;
mod deploy;
mod doc;
mod emulated;
mod engines;
mod faults;
mod features;
mod files;
mod forgeries;
mod fuzz;
mod guide;
mod histories;
mod horizon;
mod image;
mod integrations;
mod interop;
mod judges;
mod lanes;
mod lint;
mod loom;
mod matrix;
mod miri;
mod model;
mod msrv;
mod mutants;
mod neighbours;
mod no_std;
mod npm;
mod output;
mod power_cuts;
mod proof;
mod public_api;
mod qemu;
mod report;
mod scratch;
mod secrecy;
mod serve;
mod setup;
mod size;
mod soak;
mod sql;
mod test_counts;
mod tidy;
mod timebombs;
mod tools;
mod unit;
mod venv;

use std::process::ExitCode;

use apart::{APART, Arguments};
use report::Report;
use setup::Need;

/// One part of `cargo xtask test`, which is also a subcommand.
struct Part {
    name: &'static str,
    /// What must be on the machine before the part can run.
    needs: fn() -> Vec<Need>,
    run: fn(&mut Report),
    about: &'static str,
}

const fn part(
    name: &'static str,
    needs: fn() -> Vec<Need>,
    run: fn(&mut Report),
    about: &'static str,
) -> Part {
    Part {
        name,
        needs,
        run,
        about,
    }
}

/// Quick parts first: a slip is seen before the long ones begin. What a part does in detail stands at the top of its file.
#[rustfmt::skip]
const PARTS: &[Part] = &[
    part("tidy", Vec::new, tidy::run, "rules that no linter knows: arrows between crates, floors, features, documents"),
    part("lint", lint::needs, lint::run, "rustfmt and clippy, warnings are errors"),
    part("deny", deny::needs, deny::run, "licences, sources and duplicates of all dependencies (cargo-deny), and which is unused (cargo-shear)"),
    part("doc", doc::needs, doc::run, "rustdoc as a user and as docs.rs run it; where front pages and links lead (lychee)"),
    part("features", lint::needs, features::run, "each library with no feature, and with each one alone"),
    part("unit", Vec::new, unit::run, "the tests of each crate, with all features, and each case of the benchmarks"),
    part("sample", Vec::new, mutants::sample::run, "a fixed sample of `mutants`: which change does no quick test notice?"),
    part("neighbours", Vec::new, neighbours::run, "the feature `sqlite` beside other crates that link SQLite"),
    part("no-std", no_std::needs, no_std::run, "compiles for microcontrollers and wasm; the tests as a 32-bit program"),
    part("emulated", emulated::needs, emulated::run, "NEON, a big-endian machine and WebAssembly's vectors"),
    part("loom", Vec::new, loom::run, "all interleavings of the generator's atomics"),
    part("model", Vec::new, model::run, "the lease protocol under all orders of events, and each rule left out"),
    part("proof", proof::needs, proof::run, "the rules of leases proved for all numbers, and compared with what ships (z3)"),
    part("secrecy", secrecy::needs, secrecy::run, "what time and freed memory tell of a secret (valgrind)"),
    part("miri", miri::needs, miri::run, "undefined behaviour, seen by an interpreter (nightly)"),
    part("qemu", qemu::needs, qemu::run, "firmware on emulated Cortex-M and RISC-V; what images may hold"),
    part("c", c_library::needs, c_library::run, "the C library, on this machine and on those of `qemu` (clang)"),
    part("avr", avr::needs, avr::run, "the cipher and ids on an emulated AVR (nightly, simavr)"),
    part("boards", boards::needs, boards::run, "examples for boards compile; those for any board are tested"),
    part("integrations", integrations::needs, integrations::run, "ids in other crates' traits, the examples for servers"),
    part("sql", sql::needs, sql::run, "SQL functions over ids in the databases themselves"),
    part("interop", interop::needs, interop::run, "ids exchanged with the published Python package"),
    part("serve", serve::needs, serve::run, "the server, with clients, a browser and requests from its description"),
    part("deploy", deploy::needs, deploy::run, "what docs/deploy and docs/operations show: units, manifests, image, alerts"),
    part("engines", engines::needs, engines::run, "lease stores on real servers and file systems"),
    part("faults", faults::needs, faults::run, "processes and engines killed, suspended, cut off, without power"),
];

const SETUP: &str = "setup";

/// Subcommands for several parts.
const ALL: [(&str, &str); 2] = [
    ("test", "all of the below: the whole of what must pass"),
    (SETUP, "only brings the tools that the parts need"),
];

fn main() -> ExitCode {
    let mut typed = Arguments::from_env();
    let name = typed.subcommand().ok().flatten().unwrap_or_default();
    if let Some(apart) = APART.iter().find(|apart| apart.name == name) {
        return apart.main(typed);
    }
    if name.is_empty() || typed.contains(["-h", "--help"]) {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let report = Report::new(typed.contains("--host-only"));
    if let Err(message) = apart::nothing_else(typed) {
        return usage_error(&message);
    }
    let is_all = ALL.iter().any(|(all, _)| *all == name);
    let is_chosen = |part: &&Part| is_all || name == part.name;
    let parts: Vec<&Part> = PARTS.iter().filter(is_chosen).collect();
    if parts.is_empty() {
        return usage_error(&format!("unknown subcommand `{name}`"));
    }
    run(&parts, name == SETUP, report)
}

fn run(parts: &[&Part], only_setup: bool, mut report: Report) -> ExitCode {
    let needs: Vec<Need> = parts.iter().flat_map(|part| (part.needs)()).collect();
    report.begin(SETUP);
    setup::prepare(&needs, &mut report);
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
    let mut list = |subcommands: &mut dyn Iterator<Item = (&str, &str)>| {
        for (name, about) in subcommands {
            // A string takes all that is written.
            _ = writeln!(text, "  {name:12} {about}");
        }
    };
    let parts = PARTS.iter().map(|part| (part.name, part.about));
    list(&mut ALL.into_iter().chain(parts));
    list(&mut [("\napart:", "")].into_iter());
    list(&mut APART.iter().map(|apart| (apart.name, apart.about())));
    text.push_str(
        "\nflags:\n  --host-only    leave out what needs tools other than Rust's, and name it\n",
    );
    text
}

#[expect(clippy::print_stderr, reason = "usage errors belong on standard error")]
fn usage_error(message: &str) -> ExitCode {
    eprint!("error: {message}\n\n{}", usage());
    ExitCode::from(2)
}

//! The project's own tasks: `cargo xtask test` is the whole of what must pass, and each part of it
//! runs alone.
//!
//! Three floors: `helpers`, which know no part; `parts`; and the tables here.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool speaks on its standard output"
)]

mod helpers;
mod parts;

use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use helpers::arguments::{self, Arguments, Part, Subcommand};
use helpers::jobs;
use helpers::report::Report;
use helpers::scratch::Scratch;
use helpers::setup::{self, Need};
use parts::{
    bench, boards, c_library, check, deep, deploy, doc, emulated, engines, faults, features,
    integrations, interop, lint, miri, model, proof, public_api, qemu, secrecy, serve, sql, tidy,
    unit,
};

/// In the order in which a whole run begins them: what sees a slip within seconds, then what takes
/// minutes. Builds in one target directory wait for each other: beside `lint`, which builds what
/// most parts run, runs what builds in directories of its own; and what mostly builds comes before
/// what mostly runs. What is short comes last, so that all end together. What a part does in detail
/// stands at the top of its file.
#[rustfmt::skip]
const PARTS: &[Part] = &[
    ("tidy", Vec::new, tidy::run, "rules that no linter knows: arrows between crates, floors, features, documents"),
    ("lint", lint::needs, lint::run, "rustfmt and clippy; licences, sources and use of dependencies (cargo-deny, cargo-shear)"),
    ("miri", miri::needs, miri::run, "undefined behaviour, seen by an interpreter (nightly)"),
    ("c", c_library::needs, c_library::run, "the C library, on this machine and on those of `qemu` (clang)"),
    ("boards", boards::needs, boards::run, "examples for boards compile; those for any board are tested"),
    ("faults", faults::needs, faults::run, "processes and engines killed, suspended, cut off, without power"),
    ("unit", Vec::new, unit::run, "the tests of each crate, with all features, and each case of the benchmarks"),
    ("qemu", qemu::needs, qemu::run, "firmware on emulated Cortex-M, RISC-V and AVR; what images may hold (nightly)"),
    ("integrations", integrations::needs, integrations::run, "ids in other crates' traits, the examples for servers"),
    ("serve", serve::needs, serve::run, "the server, with clients, a browser and requests from its description"),
    ("sql", sql::needs, sql::run, "SQL functions over ids in the databases themselves"),
    ("engines", engines::needs, engines::run, "lease stores on real servers and file systems"),
    ("emulated", emulated::needs, emulated::run, "32 bits, NEON, a big-endian machine, WebAssembly; compiles for microcontrollers"),
    ("mutants", Vec::new, deep::mutants::sample::run, "a fixed sample of `deep mutants`: which change does no quick test notice?"),
    ("proof", proof::needs, proof::run, "the rules of leases proved for all numbers, and compared with what ships (z3)"),
    ("features", lint::format_needs, features::run, "each library with no feature, and with each one alone; `sqlite` beside other crates"),
    ("model", Vec::new, model::run, "leases under all orders of events, and all interleavings of the generator's atomics"),
    ("doc", doc::needs, doc::run, "rustdoc as a user and as docs.rs run it; where front pages and links lead (lychee)"),
    ("deploy", deploy::needs, deploy::run, "what docs/deploy and docs/operations show: units, manifests, image, alerts"),
    ("secrecy", secrecy::needs, secrecy::run, "what time and freed memory tell of a secret (valgrind)"),
    ("interop", interop::needs, interop::run, "ids exchanged with the published Python package"),
];

/// Parts at once: some compute on one core, some build, some mostly wait. With four, a run takes as
/// long, and tests that wait for leases of seconds are late more often.
const AT_ONCE: usize = 3;

#[rustfmt::skip]
const OTHERS: &[Subcommand] = &[
    Subcommand { name: "check", usage: &["[-p CRATE]"], help: check::HELP,
        in_test: &[("the same checks of all crates", "unit")], plan: check::plan },
    Subcommand { name: "bench", usage: &["[NAME]"], help: bench::HELP, in_test: bench::IN_TEST, plan: bench::plan },
    Subcommand { name: "deep", usage: &["[--record]", "NAME [...]"], help: deep::HELP,
        in_test: &[("forms of seconds, as `cargo xtask deep NAME --help` says", "unit")], plan: deep::plan },
    Subcommand { name: "public-api", usage: &["[--write]"], help: "what others may call of each library, beside its public-api.txt (nightly)\n\n\
        It builds cargo-public-api first, in three minutes.",
        in_test: &[("whether types in the lists are there", "tidy")], plan: public_api::plan },
    Subcommand { name: "package", usage: &["", "c [--out FOLDER] [zephyr] [esp-idf] [platformio]"], help: public_api::PACKAGE_HELP,
        in_test: &[("what is in each package", "tidy"), ("each C package, and programs built with it", "c")], plan: public_api::package },
];

const SETUP: &str = "setup";
const TOOLS: &str = "tools";

/// Subcommands for several parts.
const ALL: [(&str, &str); 2] = [
    ("test", "all of the below: the whole of what must pass"),
    (SETUP, "only brings the tools that the parts need"),
];

fn main() -> ExitCode {
    let mut typed = Arguments::from_env();
    let name = typed.subcommand().ok().flatten().unwrap_or_default();
    if let Some(other) = OTHERS.iter().find(|other| other.name == name) {
        return run_other(other, typed);
    }
    if name.is_empty() || typed.contains(["-h", "--help"]) {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let report = Report::new(typed.contains("--host-only"));
    if let Err(message) = arguments::nothing_else(typed) {
        return usage_error(&message, &usage());
    }
    let is_all = ALL.iter().any(|(all, _)| *all == name);
    let chosen: Vec<_> = PARTS
        .iter()
        .filter(|(own, ..)| is_all || name == *own)
        .collect();
    if chosen.is_empty() {
        return usage_error(&format!("unknown subcommand `{name}`"), &usage());
    }
    run(&chosen, name == SETUP, report)
}

fn run(parts: &[&Part], only_setup: bool, mut report: Report) -> ExitCode {
    let needs: Vec<Need> = parts.iter().flat_map(|(_, needs, ..)| needs()).collect();
    report.begin(SETUP);
    if let ([_, _, ..], false) = (parts, only_setup) {
        setup::prepare_rust(&needs, &mut report);
        run_all(parts, &needs, &mut report);
        return report.exit_code();
    }
    setup::prepare(&needs, &mut report);
    for part in parts.iter().filter(|_| !only_setup) {
        run_part(part, &mut report);
    }
    report.exit_code()
}

/// Runs parts side by side, and shows the output of each when it has ended. Outside tools are
/// brought meanwhile: the first parts build for minutes before they ask for one, and wait then.
fn run_all(parts: &[&Part], needs: &[Need], report: &mut Report) {
    let Some(scratch) = report.scratch("output") else {
        return;
    };
    // A hundred servers have a thousand files each. As soon as they are removed, a disk may take
    // longer to make others: ext4 looks at each one that was removed within minutes.
    let memory = Scratch::in_memory("servers");
    report.server_data = memory.as_ref().map(|memory| memory.path().to_owned());
    let tools = Arc::new(OnceLock::new());
    report.tools = Some(Arc::clone(&tools));
    let shared = report.beside(&scratch.path().join("settings"));
    let all = Mutex::new(report);
    let add = |own| {
        if let Ok(mut all) = all.lock() {
            all.add(own);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut own = shared.beside(&scratch.path().join(TOOLS));
            own.begin(TOOLS);
            let ended = catch_unwind(AssertUnwindSafe(|| {
                setup::prepare_tools(needs, &mut own);
            }));
            // Also after a panic, or parts would wait for ever.
            tools.get_or_init(|| ());
            ended.unwrap_or_else(|panic| resume_unwind(panic));
            own.end_and_say();
            add(own);
        });
        jobs::each(AT_ONCE, parts, |part| {
            let mut own = shared.beside(&scratch.path().join(part.0));
            run_part(part, &mut own);
            add(own);
        });
    });
}

fn run_part((name, _, run, _): &Part, report: &mut Report) {
    report.begin(name);
    run(report);
    report.end_and_say();
}

fn run_other(subcommand: &Subcommand, mut typed: Arguments) -> ExitCode {
    if typed.contains(["-h", "--help"]) {
        let name = typed.subcommand().ok().flatten().unwrap_or_default();
        let search = deep::list().find(|search| subcommand.name == "deep" && search.name == name);
        print!(
            "{}",
            search.map_or_else(|| subcommand.help(""), |search| search.help("deep "))
        );
        return ExitCode::SUCCESS;
    }
    match (subcommand.plan)(typed) {
        Ok(plan) => {
            let mut report = Report::new(false);
            report.begin(SETUP);
            setup::prepare(&plan.needs, &mut report);
            report.begin(subcommand.name);
            (plan.run)(&mut report);
            report.exit_code()
        }
        Err(message) => usage_error(&message, &subcommand.help("")),
    }
}

fn usage() -> String {
    let rows = |rows: &mut dyn Iterator<Item = (&str, &str)>| -> String {
        let rows: Vec<_> = rows
            .map(|(name, about)| format!("  {name:12} {about}\n"))
            .collect();
        rows.concat()
    };
    let parts = PARTS.iter().map(|(name, .., about)| (*name, *about));
    format!(
        "usage: cargo xtask <subcommand> [--host-only]\n\nsubcommands:\n{}\napart:\n{}\ndeep:\n{}\n\
         flags:\n  --host-only    leave out what needs tools other than Rust's, and name it\n",
        rows(&mut ALL.into_iter().chain(parts)),
        rows(&mut OTHERS.iter().map(|other| (other.name, other.about()))),
        rows(&mut deep::list().map(|search| (search.name, search.about()))),
    )
}

#[expect(clippy::print_stderr, reason = "usage errors belong on standard error")]
fn usage_error(message: &str, usage: &str) -> ExitCode {
    eprint!("error: {message}\n\n{usage}");
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_has_a_short_form_in_a_part() {
        for subcommand in OTHERS.iter().chain(deep::list()) {
            assert!(!subcommand.in_test.is_empty(), "{}", subcommand.name);
            for (what, part) in subcommand.in_test {
                assert!(PARTS.iter().any(|(own, ..)| own == part), "{what}: {part}");
            }
        }
    }
}

//! `emulated`: the tests of what depends on the machine, run as programs of others: NEON, a
//! big-endian machine under QEMU's user mode, and WebAssembly's simd128 under Node.js; a module
//! that has no system at all; and what a fork does where QEMU's user mode stands for the kernel.

use std::path::Path;

use crate::helpers::prelude::*;
use crate::parts::size;

struct Emulated {
    what: &'static str,
    target: &'static str,
    /// What the compiler is told beyond the target's name.
    flags: &'static str,
    emulator: &'static Tool,
    /// What the emulator is told before the program.
    arguments: &'static [&'static str],
    linker: Option<&'static Tool>,
}

const MACHINES: &[Emulated] = &[
    Emulated {
        what: "NEON",
        // Rust brings all that is needed to link for musl.
        target: "aarch64-unknown-linux-musl",
        flags: "-Clinker=rust-lld",
        emulator: &QEMU_AARCH64,
        arguments: &[],
        linker: None,
    },
    Emulated {
        what: "a big-endian machine",
        target: "s390x-unknown-linux-gnu",
        flags: "",
        emulator: &QEMU_S390X,
        arguments: &["-L", "/usr/s390x-linux-gnu"],
        linker: Some(&S390X_LINKER),
    },
    Emulated {
        what: "simd128",
        target: "wasm32-wasip1",
        flags: "-Ctarget-feature=+simd128",
        emulator: &NODE,
        arguments: &["--no-warnings", NODE_WASI, "xtask/wasi.mjs"],
        linker: None,
    },
];

/// The light tests that have to do with byte order, vectors or wiping; the others are the same on
/// any machine. They have the fewest features here: on this machine they are built with all.
const TESTS: &[&str] = &[
    "bulk",
    "layouts",
    "properties",
    "secrecy",
    "text",
    "vectors",
];

/// The light tests about atomic words and threads, for machines with words of 32 bits.
const OF_WORDS: &[&str] = &["blocks", "generator", "lanes", "threads"];

/// No compare-and-swap. A program there tells `portable-atomic` how to exchange a word, as the flag
/// does.
const WITHOUT_CAS: &[&str] = &["thumbv6m-none-eabi", "riscv32imc-unknown-none-elf"];
const ONE_CORE: &str = "--cfg=portable_atomic_unsafe_assume_single_core";

const TARGETS: &[&str] = &[
    // No 64-bit atomics.
    "thumbv7em-none-eabi",
    "riscv32imac-unknown-none-elf",
    // NEON.
    "aarch64-unknown-none",
    WASM,
    HOST_32_BIT,
];

const WASM: &str = "wasm32-unknown-unknown";

/// Rust brings all that is needed to link for musl, so no 32-bit C library is asked for.
pub(crate) const HOST_32_BIT: &str = "i686-unknown-linux-musl";

pub(crate) fn needs() -> Vec<Need> {
    let targets = WITHOUT_CAS.iter().chain(TARGETS);
    let mut needs: Vec<Need> = targets.copied().map(Need::Target).collect();
    needs.extend([Need::Target(size::WASM), Need::Tool(&QEMU_OWN)]);
    for machine in MACHINES {
        needs.push(Need::Target(machine.target));
        needs.push(Need::Tool(machine.emulator));
        needs.extend(machine.linker.map(Need::Tool));
    }
    needs
}

pub(crate) fn run(report: &mut Report) {
    compile(report);
    size::run_wasm(report);
    forks(report);
    for machine in MACHINES {
        if let Some(settings) = settings(report, machine) {
            let mut command = light_tests(machine.target, "");
            command
                .args(TESTS.iter().flat_map(|test| ["--test", test]))
                .envs(settings);
            report.tests(machine.what, &mut command);
        }
    }
}

/// The libraries compile for machines without an operating system, and their tests run as a 32-bit
/// program. Machine code is made for images that run: by the parts `qemu` and `c`, and below.
fn compile(report: &mut Report) {
    let libraries = LIBRARIES.iter().filter(|library| library.no_std);
    let names: Vec<&str> = libraries.map(|library| library.name).collect();
    let simd = "-Ctarget-feature=+simd128";
    for (targets, flags) in [(WITHOUT_CAS, ONE_CORE), (TARGETS, ""), (&[WASM], simd)] {
        check(report, &names, "", targets, flags);
    }
    // The crates behind features are most of what is compiled: one target with each kind of atomics
    // is enough, since the parts `boards` and `qemu` have programs for others.
    let features = features_of(&names);
    check(report, &names, &features, &WITHOUT_CAS[..1], ONE_CORE);
    check(
        report,
        &names,
        &features,
        &["riscv32imac-unknown-none-elf", WASM],
        "",
    );
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        test_32_bit(report);
    } else {
        report.leave_out("the tests as 32-bit programs (they need Linux on x86-64)");
    }
}

fn check(report: &mut Report, names: &[&str], features: &str, targets: &[&str], flags: &str) {
    let what = format!("[{features}] for {} {flags}", targets.join(", "));
    let mut command = cargo("check --lib --features");
    command
        .arg(features)
        .args(names.iter().flat_map(|name| ["--package", name]))
        .args(targets.iter().flat_map(|target| ["--target", target]))
        // Nothing else is built for these targets, so the flags cost no second build.
        .env("RUSTFLAGS", format!("-Dwarnings {flags}").trim_end());
    report.check(what.trim_end(), &mut command);
}

/// The unit tests, and the programs of [`TESTS`] and [`OF_WORDS`].
fn test_32_bit(report: &mut Report) {
    let mut command = light_tests(HOST_32_BIT, "");
    command.env("RUSTFLAGS", "-Dwarnings").arg("--lib");
    let names = TESTS
        .iter()
        .chain(OF_WORDS)
        .flat_map(|name| ["--test", name]);
    report.tests("32-bit", command.args(names));
}

/// A part of `deep targets`: all of them, with all features.
pub(crate) fn test_all_32_bit(report: &mut Report) {
    let mut command = light_tests(HOST_32_BIT, &features_of(&LIGHT));
    command.env("RUSTFLAGS", "-Dwarnings");
    report.tests("32-bit", &mut command);
}

/// The tests of forks as they are built for this machine, under the emulator of its own processor:
/// containers of another processor's images run so.
fn forks(report: &mut Report) {
    let what = "forks under QEMU's user mode";
    if let Some(emulator) = report.tool(&QEMU_OWN, what) {
        let mut command = separate_test("fork");
        // It may hang in a lock of its own, which another of its threads had when it was forked.
        let runner = ["timeout", "--signal=KILL", "120", &text(&emulator)];
        let own = format!("target.'cfg(all())'.runner={runner:?}");
        // It runs one thread at a time, and forks best where there is but one.
        command.args(["--config", &own, "--", "--test-threads=1"]);
        // Those that hold locks for seconds, ten times as long in an emulator, have no other guard
        // than these.
        command.args(["--skip", "does_not_wait", "--skip", "tagged_uuid"]);
        report.tests(what, &mut command);
    }
}

/// What tells cargo how to build for a machine, and how to run that; `None` if a tool is missing.
fn settings(report: &mut Report, machine: &Emulated) -> Option<Vec<(String, String)>> {
    let what = format!("tests on {}", machine.what);
    let emulator = report.tool(machine.emulator, &what)?;
    let mut runner = vec![text(&emulator)];
    for argument in machine.arguments {
        // Tests run in the folders of their packages.
        let file = root().join(argument);
        runner.push(if file.is_file() {
            text(&file)
        } else {
            (*argument).to_owned()
        });
    }
    let name = machine.target.to_uppercase().replace('-', "_");
    let mut settings = vec![("RUNNER", runner.join(" "))];
    if let Some(linker) = machine.linker {
        settings.push(("LINKER", text(&report.tool(linker, &what)?)));
    }
    if !machine.flags.is_empty() {
        settings.push(("RUSTFLAGS", machine.flags.to_owned()));
    }
    Some(
        settings
            .into_iter()
            .map(|(setting, value)| (format!("CARGO_TARGET_{name}_{setting}"), value))
            .collect(),
    )
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

//! `emulated`: the tests of what depends on the machine, run as programs of others: NEON, a big-endian machine under
//! QEMU's user mode, and WebAssembly's simd128 under Node.js; a module that has no system at all; and what a fork does
//! where QEMU's user mode stands for the kernel.

use std::path::Path;

use crate::helpers::cargo::root;
use crate::helpers::matrix::{light_tests, separate_test};
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::{
    NODE, NODE_WASI, QEMU_AARCH64, QEMU_OWN, QEMU_S390X, S390X_LINKER, Tool,
};
use crate::parts::no_std;
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

/// The light tests that have to do with byte order, vectors or wiping; the others are the same on any machine.
/// They have the fewest features here: on this machine they are built with all.
const TESTS: &[&str] = &[
    "bulk",
    "layouts",
    "properties",
    "secrecy",
    "text",
    "vectors",
];

pub(crate) fn needs() -> Vec<Need> {
    let mut needs = no_std::needs();
    needs.extend([Need::Target(size::WASM), Need::Tool(&QEMU_OWN)]);
    for machine in MACHINES {
        needs.push(Need::Target(machine.target));
        needs.push(Need::Tool(machine.emulator));
        needs.extend(machine.linker.map(Need::Tool));
    }
    needs
}

pub(crate) fn run(report: &mut Report) {
    no_std::run(report);
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

/// The tests of forks as they are built for this machine, under the emulator of its own processor: containers of
/// another processor's images run so.
fn forks(report: &mut Report) {
    let what = "forks under QEMU's user mode";
    if let Some(emulator) = report.tool(&QEMU_OWN, what) {
        let mut command = separate_test("fork");
        // It may hang in a lock of its own, which another of its threads had when it was forked.
        let runner = ["timeout", "--signal=KILL", "120", &text(&emulator)];
        let own = format!("target.'cfg(all())'.runner={runner:?}");
        // It runs one thread at a time, and forks best where there is but one.
        command.args(["--config", &own, "--", "--test-threads=1"]);
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
    let prefix = format!(
        "CARGO_TARGET_{}",
        machine.target.to_uppercase().replace('-', "_")
    );
    let mut settings = vec![(format!("{prefix}_RUNNER"), runner.join(" "))];
    if let Some(linker) = machine.linker {
        let linker = report.tool(linker, &what)?;
        settings.push((format!("{prefix}_LINKER"), text(&linker)));
    }
    if !machine.flags.is_empty() {
        settings.push((format!("{prefix}_RUSTFLAGS"), machine.flags.to_owned()));
    }
    Some(settings)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

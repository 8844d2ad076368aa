//! A part of `emulated`: the libraries compile for machines without an operating system, and their tests run as a 32-bit program.
//! Machine code is made for images that run: by the parts `qemu`, `c` and `emulated`.

use crate::helpers::cargo::cargo;
use crate::helpers::matrix::{LIBRARIES, LIGHT, features_of, light_tests};
use crate::helpers::report::Report;
use crate::helpers::setup::Need;

/// No compare-and-swap. A program there tells `portable-atomic` how to exchange a word, as the flag does.
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
const HOST_32_BIT: &str = "i686-unknown-linux-musl";

pub(crate) fn needs() -> Vec<Need> {
    let targets = WITHOUT_CAS.iter().chain(TARGETS);
    targets.copied().map(Need::Target).collect()
}

pub(crate) fn run(report: &mut Report) {
    let libraries = LIBRARIES.iter().filter(|library| library.no_std);
    let names: Vec<&str> = libraries.map(|library| library.name).collect();
    for (targets, flags) in [
        (WITHOUT_CAS, ONE_CORE),
        (TARGETS, ""),
        (&[WASM], "-Ctarget-feature=+simd128"),
    ] {
        check(report, &names, "", targets, flags);
    }
    // The crates behind features are most of what is compiled: one target with each kind of atomics is enough, since the
    // parts `boards` and `qemu` have programs for others.
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
    let mut command = cargo(&["check", "--lib", "--features", features]);
    command
        .args(names.iter().flat_map(|name| ["--package", name]))
        .args(targets.iter().flat_map(|target| ["--target", target]))
        // Nothing else is built for these targets, so the flags cost no second build.
        .env("RUSTFLAGS", format!("-Dwarnings {flags}").trim_end());
    report.check(what.trim_end(), &mut command);
}

fn test_32_bit(report: &mut Report) {
    let mut command = light_tests(HOST_32_BIT, &features_of(&LIGHT));
    command.env("RUSTFLAGS", "-Dwarnings");
    report.tests("32-bit", &mut command);
}

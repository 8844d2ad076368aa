//! `no-std`: builds for machines without an operating system, and the tests as a 32-bit program.

use crate::cargo::cargo;
use crate::matrix::LIBRARIES;
use crate::report::Report;
use crate::setup::Need;

/// The first has no compare-and-swap, the next two no 64-bit atomics, `riscv32imc` none but loads and stores.
const TARGETS: &[&str] = &[
    "thumbv6m-none-eabi",
    "thumbv7em-none-eabi",
    "riscv32imac-unknown-none-elf",
    "riscv32imc-unknown-none-elf",
    "wasm32-unknown-unknown",
    HOST_32_BIT,
];

/// Rust brings all that is needed to link for musl, so no 32-bit C library is asked for.
const HOST_32_BIT: &str = "i686-unknown-linux-musl";

/// A development dependency compiles a little C, which needs no C library either.
const HOST_32_BIT_C: [(&str, &str); 2] = [
    ("CC_i686_unknown_linux_musl", "cc"),
    ("CFLAGS_i686_unknown_linux_musl", "-ffreestanding"),
];

/// Their tests also run as 32-bit programs.
const TESTED: &[&str] = &["sparx64", "randflake-core"];

pub(crate) fn needs() -> Vec<Need> {
    TARGETS.iter().map(|target| Need::Target(target)).collect()
}

pub(crate) fn run(report: &mut Report) {
    for target in TARGETS {
        for library in LIBRARIES.iter().filter(|library| library.no_std) {
            let feature_sets: &[&str] = if library.features.is_empty() {
                &["--no-default-features"]
            } else {
                &["--no-default-features", "--all-features"]
            };
            for features in feature_sets {
                let arguments = [
                    "build",
                    "--package",
                    library.name,
                    "--lib",
                    "--target",
                    target,
                    features,
                ];
                // Nothing else is built for these targets, so the flags cost no second build.
                let mut command = cargo(&arguments);
                report.check(
                    &format!("{} {features} for {target}", library.name),
                    command.env("RUSTFLAGS", "-Dwarnings"),
                );
            }
        }
    }
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        for package in TESTED {
            let arguments = [
                "test",
                "--no-fail-fast",
                "--package",
                package,
                "--all-features",
                "--target",
                HOST_32_BIT,
            ];
            let mut command = cargo(&arguments);
            command.env("RUSTFLAGS", "-Dwarnings").envs(HOST_32_BIT_C);
            report.tests(&format!("{package}, 32-bit"), &mut command);
        }
    } else {
        report.leave_out("the tests as 32-bit programs (they need Linux on x86-64)");
    }
}

//! `no-std`: builds for machines without an operating system, and the tests as a 32-bit program.

use crate::cargo::cargo;
use crate::matrix::{LIBRARIES, light_features, light_tests};
use crate::report::Report;
use crate::setup::Need;

/// A machine, and what the compiler is told beyond its name.
struct Machine {
    target: &'static str,
    flags: &'static str,
}

const fn machine(target: &'static str, flags: &'static str) -> Machine {
    Machine { target, flags }
}

const MACHINES: &[Machine] = &[
    // No compare-and-swap.
    machine("thumbv6m-none-eabi", ""),
    machine("riscv32imc-unknown-none-elf", ""),
    // No 64-bit atomics.
    machine("thumbv7em-none-eabi", ""),
    machine("riscv32imac-unknown-none-elf", ""),
    // NEON.
    machine("aarch64-unknown-none", ""),
    machine("wasm32-unknown-unknown", ""),
    machine("wasm32-unknown-unknown", "-Ctarget-feature=+simd128"),
    machine(HOST_32_BIT, ""),
];

/// Rust brings all that is needed to link for musl, so no 32-bit C library is asked for.
const HOST_32_BIT: &str = "i686-unknown-linux-musl";

/// A development dependency compiles a little C, which needs no C library either.
const HOST_32_BIT_C: [(&str, &str); 2] = [
    ("CC_i686_unknown_linux_musl", "cc"),
    ("CFLAGS_i686_unknown_linux_musl", "-ffreestanding"),
];

pub(crate) fn needs() -> Vec<Need> {
    let targets = MACHINES.iter().map(|machine| machine.target);
    targets.map(Need::Target).collect()
}

pub(crate) fn run(report: &mut Report) {
    for Machine { target, flags } in MACHINES {
        for library in LIBRARIES.iter().filter(|library| library.no_std) {
            build(report, library.name, "", target, flags);
            if !library.features.is_empty() {
                build(report, library.name, &library.all_features(), target, flags);
            }
            for exclusive in library.exclusive {
                if exclusive.targets.contains(target) {
                    build(report, library.name, exclusive.feature, target, flags);
                }
            }
        }
    }
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        test_32_bit(report);
    } else {
        report.leave_out("the tests as 32-bit programs (they need Linux on x86-64)");
    }
}

fn build(report: &mut Report, package: &str, features: &str, target: &str, flags: &str) {
    let what = format!("{package} [{features}] for {target} {flags}");
    let arguments = [
        "build",
        "--package",
        package,
        "--lib",
        "--target",
        target,
        "--features",
        features,
    ];
    // Nothing else is built for these targets, so the flags cost no second build.
    let flags = format!("-Dwarnings {flags}");
    report.check(
        what.trim_end(),
        cargo(&arguments).env("RUSTFLAGS", flags.trim_end()),
    );
}

fn test_32_bit(report: &mut Report) {
    let mut command = light_tests(HOST_32_BIT, &light_features());
    command.env("RUSTFLAGS", "-Dwarnings").envs(HOST_32_BIT_C);
    report.tests("32-bit", &mut command);
}

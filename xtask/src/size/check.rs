//! A part of `qemu`: what the libraries' calls bring into a linked image is theirs alone. No panic, with its messages
//! and formatting, and no function of the compiler's own library: no `memcpy`, no 64-bit division.

use super::brought;
use super::elf::Elf;
use super::images::{self, EMPTY, LEVELS};
use crate::qemu::Target;
use crate::report::Report;

/// Images that must be caught, and by what.
const PLANTED: [(&str, &str); 2] = [
    ("planted_panic", "core::panicking::"),
    ("planted_copy", "memcpy"),
];

/// What is known and allowed until it is gone.
struct Exception {
    images: &'static [&'static str],
    functions: &'static [&'static str],
}

const EXCEPTIONS: &[Exception] = &[
    // The string of `heapless` is made on the stack and copied, 20 bytes: on RISC-V that is a call.
    Exception {
        images: &["text"],
        functions: &["memcpy", "compiler_builtins::mem::memcpy"],
    },
    // Slots longer than a record are compared and filled by calls.
    Exception {
        images: &["horizon_16", "horizon_32"],
        functions: &[
            "memcmp",
            "memset",
            "__aeabi_memclr8",
            "__aeabi_memset8",
            "compiler_builtins::mem::memcmp",
            "compiler_builtins::mem::memset",
        ],
    },
];

/// One target is enough: the images are the same for all.
const LINTED: &str = "thumbv6m-none-eabi";

pub(crate) fn run(report: &mut Report, target: &Target) {
    let level = &LEVELS[0];
    let images: Vec<&str> = images::of_target(target.name)
        .map(|image| image.name)
        .collect();
    let planted = PLANTED.map(|(name, _)| name);
    let all = [&images[..], &planted, &[EMPTY]].concat();
    let what = format!("images of one call, {}", target.name);
    if target.name == LINTED {
        let mut lint = images::command("clippy", target.name, level, &all);
        report.check(&format!("clippy, {what}"), lint.args(crate::lint::DENY));
    }
    let mut build = images::command("build", target.name, level, &all);
    if !report.check(&what, &mut build) {
        return;
    }
    let read = |name: &str| Elf::read(&images::file(target.name, level, name));
    let verdict = read(EMPTY).and_then(|empty| {
        let foreign = |name| Ok::<_, String>(foreign(name, &read(name)?, &empty));
        for (name, expected) in PLANTED {
            let found = foreign(name)?;
            if !found.iter().any(|found| found.contains(expected)) {
                return Err(format!("{name} was not caught, only {found:?}"));
            }
        }
        let mut faults = Vec::new();
        for name in images {
            let found = foreign(name)?;
            if !found.is_empty() {
                faults.push(format!("{name}: {}", found.join(", ")));
            }
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(format!("\n    {}", faults.join("\n    ")))
        }
    });
    report.verdict(&format!("nothing foreign, {}", target.name), verdict);
}

/// What an image brings that is not the libraries' own.
fn foreign(name: &str, image: &Elf, empty: &Elf) -> Vec<String> {
    let mut found: Vec<String> = brought(image, empty)
        .into_iter()
        .map(|function| function.name)
        .filter(|function| is_foreign(function) && !is_allowed(name, function))
        .collect();
    // Where a panic happened: `src/lib.rs`.
    if image.contains(".rs") && !empty.contains(".rs") {
        found.push("the name of a source file".to_owned());
    }
    found
}

fn is_allowed(image: &str, function: &str) -> bool {
    EXCEPTIONS.iter().any(|exception| {
        exception.images.contains(&image) && exception.functions.contains(&function)
    })
}

/// What panics or formats, and what the compiler's own library has.
pub(super) fn is_foreign(function: &str) -> bool {
    panics(function) || is_of_the_compiler(function)
}

pub(super) fn panics(function: &str) -> bool {
    let parts = [
        "panic",
        "core::fmt",
        "::fmt",
        "unwrap_failed",
        "expect_failed",
    ];
    parts.iter().any(|part| function.contains(part))
}

/// Functions of C's names are, unless an image has given them.
fn is_of_the_compiler(function: &str) -> bool {
    let is_ours = function.starts_with("probe") || function.starts_with("_critical_section");
    function.starts_with("compiler_builtins::") || !(is_ours || function.contains("::"))
}

#[cfg(test)]
mod tests {
    use super::is_foreign;

    #[test]
    fn panics_formatting_and_the_compilers_library_are_foreign() {
        for function in [
            "memcpy",
            "__aeabi_lmul",
            "compiler_builtins::mem::memcpy",
            "core::panicking::panic_fmt",
            "core::option::unwrap_failed",
            "<u32 as core::fmt::Display>::fmt",
        ] {
            assert!(is_foreign(function), "{function}");
        }
    }

    #[test]
    fn what_the_libraries_call_is_theirs() {
        for function in [
            "probe",
            "_critical_section_1_0_acquire",
            "sparx64::on_the_fly::splat",
            "core::str::converts::from_utf8",
        ] {
            assert!(!is_foreign(function), "{function}");
        }
    }
}

//! Places the linker scripts, and says what the linker must keep.

use std::path::PathBuf;
use std::{env, fs};

/// What is measured, in images that do not call it; and what all images have, so that it is not.
const KEPT: [&str; 8] = [
    "probe",
    "probe_open",
    "STATE",
    "UNIX_S",
    "COUNT",
    "flash_read",
    "flash_write",
    "flash_erase",
];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let riscv = env::var("CARGO_CFG_TARGET_ARCH").unwrap() == "riscv32";
    let memory = if riscv {
        "../memory/riscv.x"
    } else {
        "../memory/arm.x"
    };
    fs::copy(memory, out.join("memory.x")).unwrap();
    println!("cargo:rerun-if-changed={memory}");
    println!("cargo:rustc-link-search={}", out.display());
    if riscv {
        println!("cargo:rustc-link-arg=-Tmemory.x");
    }
    for argument in ["-Tlink.x", "--nmagic"] {
        println!("cargo:rustc-link-arg={argument}");
    }
    for symbol in KEPT {
        println!("cargo:rustc-link-arg=-u{symbol}");
    }
}

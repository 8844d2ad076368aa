//! Tells Armv6-M apart: no stable `cfg` of the compiler's parts it from other ARM without
//! compare-and-swap.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(armv6m, fast_multiplier, sparx64_small_multiplier)");
    if env::var("TARGET").is_ok_and(|target| target.starts_with("thumbv6m")) {
        println!("cargo::rustc-cfg=armv6m");
        // The user's choice: `RUSTFLAGS="--cfg sparx64_small_multiplier"`.
        if env::var_os("CARGO_CFG_SPARX64_SMALL_MULTIPLIER").is_none() {
            println!("cargo::rustc-cfg=fast_multiplier");
        }
    }
}

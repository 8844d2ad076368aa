//! The fuzz targets on random inputs: they compile with this compiler, and hold for some hundred
//! inputs. `cargo xtask deep fuzz` searches by coverage. On emulated machines and in the
//! interpreter they would take minutes.
#![cfg(all(target_arch = "x86_64", not(miri)))]

// See `fuzz_input`.
extern crate self as libfuzzer_sys;

use fuzz_input::bytes;
use proptest::prelude::*;

#[expect(unused_attributes, reason = "a target has no `main` of its own")]
#[path = "../fuzz/fuzz_targets/blocks.rs"]
mod blocks;
mod fuzz_input;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn blocks_holds(bytes in bytes()) {
        blocks::run(&bytes);
    }
}

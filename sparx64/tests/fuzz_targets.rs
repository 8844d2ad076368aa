//! The fuzz targets on random inputs: they compile with this compiler, and hold for some hundred inputs.
//! `cargo xtask fuzz` searches by coverage. On emulated machines and in the interpreter they would take minutes.
#![cfg(all(target_arch = "x86_64", not(miri)))]

// The targets take the macro from the crate of the fuzzer: here that is this program.
extern crate self as libfuzzer_sys;

use proptest::collection::vec;
use proptest::prelude::*;

#[expect(unused_attributes, reason = "a target has no `main` of its own")]
#[path = "../fuzz/fuzz_targets/blocks.rs"]
mod blocks;

/// Makes the target a function of bytes.
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: $kind:ty| $body:block) => {
        pub(crate) fn run(bytes: &[u8]) {
            let mut bytes = arbitrary::Unstructured::new(bytes);
            let $input: $kind = bytes.arbitrary().unwrap();
            $body
        }
    };
}

/// Half of the inputs have few different bytes, so that lengths and repetitions are found.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..256),
        vec(any::<u8>().prop_map(|byte| byte & 0x83), 0..256),
    ]
}

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

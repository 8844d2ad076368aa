//! Random inputs of fuzz targets, here and in `randflake-core`.

use proptest::collection::vec;
use proptest::prelude::*;

/// Makes the target a function of bytes. Targets take the macro from the crate of the fuzzer: here
/// that is this program.
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
pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..256),
        vec(any::<u8>().prop_map(|byte| byte & 0x83), 0..256),
    ]
}

//! The fuzz targets on random inputs: they compile with this compiler, and hold for some thousand
//! inputs. `cargo xtask deep fuzz` searches by coverage. On emulated machines and in the
//! interpreter they would take minutes.
#![cfg(all(target_arch = "x86_64", not(miri)))]

// See `fuzz_input`.
extern crate self as libfuzzer_sys;

use fuzz_input::bytes;
use proptest::prelude::*;

#[expect(unused_attributes, reason = "a target has no `main` of its own")]
#[path = "../fuzz/fuzz_targets/bases.rs"]
mod bases;
#[expect(unused_attributes, reason = "a target has no `main` of its own")]
#[path = "../fuzz/fuzz_targets/fields.rs"]
mod fields;
#[path = "../../sparx64/tests/fuzz_input/mod.rs"]
mod fuzz_input;
#[expect(unused_attributes, reason = "a target has no `main` of its own")]
#[path = "../fuzz/fuzz_targets/sequencer.rs"]
mod sequencer;
#[expect(unused_attributes, reason = "a target has no `main` of its own")]
#[path = "../fuzz/fuzz_targets/text.rs"]
mod text;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn bases_holds(bytes in bytes()) {
        bases::run(&bytes);
    }

    #[test]
    fn fields_holds(bytes in bytes()) {
        fields::run(&bytes);
    }

    #[test]
    fn sequencer_holds(bytes in bytes()) {
        sequencer::run(&bytes);
    }

    #[test]
    fn text_holds(bytes in bytes()) {
        text::run(&bytes);
    }
}

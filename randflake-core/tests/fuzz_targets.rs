//! The fuzz targets on inputs made here: they compile with this compiler, and hold for some thousand inputs. Those that
//! coverage finds are `cargo xtask fuzz`'s. On emulated machines and in the interpreter they would take minutes.
#![cfg(all(target_arch = "x86_64", not(miri)))]

// The targets take the macro from the crate of the fuzzer: here that is this program.
extern crate self as libfuzzer_sys;

#[expect(unused_attributes, reason = "a target has no `main` of its own")]
#[path = "../fuzz/fuzz_targets/bases.rs"]
mod bases;
#[expect(unused_attributes, reason = "a target has no `main` of its own")]
#[path = "../fuzz/fuzz_targets/fields.rs"]
mod fields;
#[expect(unused_attributes, reason = "a target has no `main` of its own")]
#[path = "../fuzz/fuzz_targets/sequencer.rs"]
mod sequencer;
#[expect(unused_attributes, reason = "a target has no `main` of its own")]
#[path = "../fuzz/fuzz_targets/text.rs"]
mod text;

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

const INPUTS: u64 = 2_000;
const LONGEST: u64 = 256;

/// Inputs of all lengths; most bytes are random, and every other input has few different ones.
fn for_each_input(mut run: impl FnMut(&[u8])) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for input in 0..INPUTS {
        let mask = if input % 2 == 0 { 0xff } else { 0x83 };
        let bytes: Vec<u8> = (0..next() % LONGEST)
            .map(|_| next().to_le_bytes()[3] & mask)
            .collect();
        run(&bytes);
    }
}

#[test]
fn bases_holds() {
    for_each_input(bases::run);
}

#[test]
fn fields_holds() {
    for_each_input(fields::run);
}

#[test]
fn sequencer_holds() {
    for_each_input(sequencer::run);
}

#[test]
fn text_holds() {
    for_each_input(text::run);
}

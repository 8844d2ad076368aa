//! Backends for x86-64: AVX-512, AVX2 and SSE2, chosen at run time.

mod avx2;
mod avx512;
mod detect;
mod sse2;
#[path = "../vector_words.rs"]
mod vector_words;

use super::{Implementation, portable::PORTABLE};
use crate::round::{Decrypt, Encrypt};
use detect::InstructionSet;

pub(super) fn available() -> &'static [Implementation] {
    match InstructionSet::detected() {
        InstructionSet::Avx512 => &[AVX512, AVX2, SSE2, PORTABLE],
        InstructionSet::Avx2 => &[AVX2, SSE2, PORTABLE],
        InstructionSet::Sse2 => &[SSE2, PORTABLE],
    }
}

const AVX512: Implementation = Implementation {
    name: "avx512",
    min_blocks: 3,
    encrypt: avx512::run::<Encrypt>,
    decrypt: avx512::run::<Decrypt>,
};

const AVX2: Implementation = Implementation {
    name: "avx2",
    min_blocks: 3,
    encrypt: avx2::run::<Encrypt>,
    decrypt: avx2::run::<Decrypt>,
};

const SSE2: Implementation = Implementation {
    name: "sse2",
    // Every call first broadcasts the keys, which takes as long as five blocks one by one.
    min_blocks: 8,
    encrypt: sse2::run::<Encrypt>,
    decrypt: sse2::run::<Decrypt>,
};

//! A hasher for millions of small keys, of which none is chosen to collide.

use core::hash::{BuildHasherDefault, Hasher};

/// For maps whose keys are trusted.
pub(crate) type BuildMixer = BuildHasherDefault<Mixer>;

#[derive(Debug, Default)]
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            // Texts come in short pieces: a copy of some bytes by a call takes longer than this.
            let shifted = |word, byte: &u8| word << 8 | u64::from(*byte);
            self.write_u64(rest.iter().rfold(0, shifted));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.cast_unsigned() as u64);
    }

    /// A step of `MurmurHash3`'s finalizer, so that each bit reaches all others.
    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0.rotate_left(5) ^ number).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.0 = mixed ^ (mixed >> 33);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

//! From raw ids to public ids and back.

use sparx64::Sparx64;

/// A keyed permutation of the 64-bit numbers, which makes a raw id public.
///
/// Its contract:
///
/// - `invert(permute(x)) == x` and `permute(invert(x)) == x` for every `x`: two raw ids never become
///   one public id.
/// - It is a function of its argument and the key alone, and never fails.
pub trait Permutation {
    /// The public form of a raw id.
    fn permute(&self, raw: u64) -> u64;

    /// Replaces raw ids by their public forms. Override it where many at once are cheaper.
    #[inline]
    fn permute_all(&self, ids: &mut [u64]) {
        for id in ids {
            *id = self.permute(*id);
        }
    }

    /// The raw id of a public form.
    fn invert(&self, public: u64) -> u64;
}

/// No permutation: the raw id is the public id, as in the classic layouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plain;

impl Permutation for Plain {
    #[inline]
    fn permute(&self, raw: u64) -> u64 {
        raw
    }

    #[inline]
    fn invert(&self, public: u64) -> u64 {
        public
    }
}

/// The raw id's little-endian bytes are one block.
impl Permutation for Sparx64 {
    #[inline]
    fn permute(&self, raw: u64) -> u64 {
        self.encrypt_u64(raw)
    }

    #[inline]
    fn permute_all(&self, ids: &mut [u64]) {
        self.encrypt_blocks(ids);
    }

    #[inline]
    fn invert(&self, public: u64) -> u64 {
        self.decrypt_u64(public)
    }
}

impl<P: Permutation> Permutation for &P {
    #[inline]
    fn permute(&self, raw: u64) -> u64 {
        (**self).permute(raw)
    }

    #[inline]
    fn permute_all(&self, ids: &mut [u64]) {
        (**self).permute_all(ids);
    }

    #[inline]
    fn invert(&self, public: u64) -> u64 {
        (**self).invert(public)
    }
}

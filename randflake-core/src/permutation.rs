//! Permutations between raw and public ids.

use sparx64::{Sparx64, Sparx64OnTheFly};

use crate::{AnyLayout, Feistel53, Id, LeaseError};

/// A keyed permutation of the 64-bit numbers, which makes a raw id public.
///
/// Its contract:
///
/// - `invert(permute(x)) == x` and `permute(invert(x)) == x` for every `x`: two raw ids never
///   become one public id.
/// - It is a function of its argument and the key alone, and never fails.
pub trait Permutation {
    /// Whether `permute` may change a number. If not, bulk calls are skipped.
    const PERMUTES: bool = true;

    /// Number of bits, from the lowest, that are permuted: those above stay as they are. A
    /// generator refuses layouts that use more.
    #[inline]
    fn bits(&self) -> u32 {
        u64::BITS
    }

    /// Converts a raw id to a public id.
    fn permute(&self, raw: u64) -> u64;

    /// Converts raw ids in place. Override it if bulk conversion is faster.
    #[inline]
    fn permute_all(&self, ids: &mut [u64]) {
        for id in ids {
            *id = self.permute(*id);
        }
    }

    /// Converts a public id to a raw id.
    fn invert(&self, public: u64) -> u64;

    /// Converts public ids in place. Override it if bulk conversion is faster.
    #[inline]
    fn invert_all(&self, ids: &mut [u64]) {
        for id in ids {
            *id = self.invert(*id);
        }
    }
}

/// No permutation: the raw id is the public id, as in the classic layouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plain;

impl Permutation for Plain {
    const PERMUTES: bool = false;

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

    #[inline]
    fn invert_all(&self, ids: &mut [u64]) {
        self.decrypt_blocks(ids);
    }
}

/// The same ids as under [`Sparx64`].
impl Permutation for Sparx64OnTheFly {
    #[inline]
    fn permute(&self, raw: u64) -> u64 {
        self.encrypt_u64(raw)
    }

    #[inline]
    fn invert(&self, public: u64) -> u64 {
        self.decrypt_u64(public)
    }
}

/// A permutation that is chosen at run time: `None` is [`Plain`].
impl<P: Permutation> Permutation for Option<P> {
    #[inline]
    fn bits(&self) -> u32 {
        self.as_ref().map_or(u64::BITS, P::bits)
    }

    #[inline]
    fn permute(&self, raw: u64) -> u64 {
        // `PERMUTES` stays `true`: whether there is a cipher is known at run time only.
        self.as_ref().map_or(raw, |by| by.permute(raw))
    }

    fn permute_all(&self, ids: &mut [u64]) {
        if let Some(by) = self {
            by.permute_all(ids);
        }
    }

    #[inline]
    fn invert(&self, public: u64) -> u64 {
        self.as_ref().map_or(public, |by| by.invert(public))
    }

    fn invert_all(&self, ids: &mut [u64]) {
        if let Some(by) = self {
            by.invert_all(ids);
        }
    }
}

impl<P: Permutation> Permutation for &P {
    const PERMUTES: bool = P::PERMUTES;

    #[inline]
    fn bits(&self) -> u32 {
        (**self).bits()
    }

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

    #[inline]
    fn invert_all(&self, ids: &mut [u64]) {
        (**self).invert_all(ids);
    }
}

/// Refuses a layout of which some bits would not be permuted. Its ids would be unique, and would
/// show them.
#[inline]
pub(crate) fn check_width(
    layout: impl AnyLayout,
    permutation: &impl Permutation,
) -> Result<(), LeaseError> {
    let (bits, max) = (layout.spec().bits(), permutation.bits());
    if bits > max {
        return Err(LeaseError::TooWide { bits, max });
    }
    Ok(())
}

/// Fills a buffer with the public forms of `first`, `first + step` and so on.
pub(crate) fn fill_ids(permutation: &impl Permutation, first: u64, step: u64, ids: &mut [Id]) {
    /// Ids per step: enough to keep the vector units busy, and few enough for the stack, which is
    /// small on a microcontroller.
    const AT_ONCE: usize = if usize::BITS < 64 { 128 } else { 512 };
    // Through a buffer: ids are `i64` and the cipher takes `u64`, and a view of one as the other
    // would need `unsafe`.
    let mut buffer = [0; AT_ONCE];
    let mut next = first;
    for ids in ids.chunks_mut(AT_ONCE) {
        let raws = buffer.get_mut(..ids.len()).unwrap_or_default();
        for raw in &mut *raws {
            *raw = next;
            next = next.wrapping_add(step);
        }
        permutation.permute_all(raws);
        for (id, public) in ids.iter_mut().zip(raws) {
            *id = Id::from_u64(*public);
        }
    }
}

/// A cipher of ids that is chosen at run time, for programs that read the layout from a setting.
///
/// An `Option<Cipher>` may also be none: then ids are plain.
///
/// ```
/// use randflake_core::{Cipher, Codec, Feistel53, Permutation, Randflake53, Sparx64};
///
/// let cipher: Cipher = Feistel53::new(Sparx64::new(&[7; 16])).into();
/// assert_eq!(cipher.bits(), 53);
/// let ids = Codec::new(Randflake53, Some(cipher));
/// assert!(ids.id(42).to_u64() < 1 << 53);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cipher {
    /// Ids of 64 bits.
    Sparx64(Sparx64),
    /// Ids of 53 bits.
    Feistel53(Feistel53),
}

impl From<Sparx64> for Cipher {
    fn from(cipher: Sparx64) -> Self {
        Self::Sparx64(cipher)
    }
}

impl From<Feistel53> for Cipher {
    fn from(cipher: Feistel53) -> Self {
        Self::Feistel53(cipher)
    }
}

impl Permutation for Cipher {
    fn bits(&self) -> u32 {
        match self {
            Self::Sparx64(cipher) => cipher.bits(),
            Self::Feistel53(cipher) => cipher.bits(),
        }
    }

    #[inline]
    fn permute(&self, raw: u64) -> u64 {
        match self {
            Self::Sparx64(cipher) => cipher.permute(raw),
            Self::Feistel53(cipher) => cipher.permute(raw),
        }
    }

    fn permute_all(&self, ids: &mut [u64]) {
        match self {
            Self::Sparx64(cipher) => cipher.permute_all(ids),
            Self::Feistel53(cipher) => cipher.permute_all(ids),
        }
    }

    #[inline]
    fn invert(&self, public: u64) -> u64 {
        match self {
            Self::Sparx64(cipher) => cipher.invert(public),
            Self::Feistel53(cipher) => cipher.invert(public),
        }
    }

    fn invert_all(&self, ids: &mut [u64]) {
        match self {
            Self::Sparx64(cipher) => cipher.invert_all(ids),
            Self::Feistel53(cipher) => cipher.invert_all(ids),
        }
    }
}

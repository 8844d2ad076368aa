//! A cipher that is chosen at run time.

use crate::{Feistel53, Permutation, Sparx64};

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

//! The form of the ids: of 64 bits, or with the feature `bits53` of 53. A program has one of them.

#[cfg(feature = "bits53")]
pub(crate) use bits53::{Cipher, Ids, cipher};
#[cfg(not(feature = "bits53"))]
pub(crate) use bits64::{Cipher, Ids, cipher};

#[cfg(not(feature = "bits53"))]
mod bits64 {
    pub(crate) use randflake_core::{Randflake as Ids, Sparx64OnTheFly as Cipher};

    pub(crate) fn cipher(key: &[u8; 16]) -> Cipher {
        Cipher::new(key)
    }
}

#[cfg(feature = "bits53")]
mod bits53 {
    use randflake_core::{Feistel53, Sparx64OnTheFly};

    pub(crate) use randflake_core::Randflake53 as Ids;

    pub(crate) type Cipher = Feistel53<Sparx64OnTheFly>;

    pub(crate) fn cipher(key: &[u8; 16]) -> Cipher {
        Feistel53::new(Sparx64OnTheFly::new(key))
    }
}

//! The form of the ids: of 64 bits, or with the feature `bits53` of 53. A program has one of them.
//! And the conversion between ids and text.

use core::mem::MaybeUninit;
use core::slice;

use randflake_core::Id;

use crate::status::{self, Status};

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

/// Size of a text: 13 digits and the zero that ends it.
const SIZE: usize = 14;

#[unsafe(no_mangle)]
extern "C" fn rf_text(id: u64, text: Option<&mut [u8; SIZE]>) -> usize {
    let Some(text) = text else {
        return 0;
    };
    let shown = Id::from_u64(id).to_text();
    let digits = shown.as_bytes();
    let zeros = core::iter::repeat(&0);
    for (to, from) in text.iter_mut().zip(digits.iter().chain(zeros)) {
        *to = *from;
    }
    digits.len()
}

/// # Safety
///
/// `text` points to `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn rf_parse(
    text: *const u8,
    len: usize,
    id: Option<&mut MaybeUninit<u64>>,
) -> Status {
    let (false, Some(id)) = (text.is_null(), id) else {
        return status::NULL;
    };
    // SAFETY: the caller's.
    let text = unsafe { slice::from_raw_parts(text, len) };
    match Id::from_text(text) {
        Ok(read) => {
            id.write(read.to_u64());
            status::OK
        }
        Err(_) => status::TEXT,
    }
}

/// Panics when asked for a byte behind the text.
#[cfg(feature = "planted-panic")]
#[unsafe(no_mangle)]
extern "C" fn rf_text_at(text: &[u8; 14], at: usize) -> u8 {
    text[at]
}

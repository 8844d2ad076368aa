//! Pieces of a URL's text. No error shows any of it.

use core::str::FromStr;

use percent_encoding::percent_decode_str;

use super::Scheme;
use crate::types::StoreError;

/// What is wrong with a URL, and which form it must have.
#[must_use]
pub fn refused(why: &str, form: &str) -> StoreError {
    StoreError::Invalid(format!("the lease store's URL {why}: take {form}"))
}

/// Parses a number of digits alone, without a sign.
#[must_use]
pub fn number<N: FromStr>(text: &str) -> Option<N> {
    // `parse` alone would take a plus sign.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

impl Scheme {
    /// Replaces each `%XX` by its byte.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for a `%` without two digits behind it, or bytes that are not UTF-8.
    pub fn decoded(&self, text: &str) -> Result<String, StoreError> {
        let is_encoded = |rest: &str| {
            let digits = rest.as_bytes().get(..2);
            digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        };
        // Left alone, such a % would be kept as it is, and a mistake would pass as a part of a
        // password.
        if !text.split('%').skip(1).all(is_encoded) {
            let why = "has a % without two hexadecimal digits behind it: write %25";
            return Err(self.refused(why));
        }
        match percent_decode_str(text).decode_utf8() {
            Err(_) => Err(self.refused("is not in UTF-8 where its %XX are decoded")),
            // Once more: `%0A` hides one from the look at the URL.
            Ok(text) if text.contains(char::is_control) => {
                Err(self.refused("has control characters"))
            }
            Ok(text) => Ok(text.into_owned()),
        }
    }
}

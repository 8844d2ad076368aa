//! Pieces of a URL's text. No error shows any of it.

use core::str::FromStr;

use percent_encoding::percent_decode_str;

use crate::lease::StoreError;

/// What is wrong with a URL, and which form it must have.
pub(super) fn refused(why: &str, form: &str) -> StoreError {
    StoreError::Invalid(format!("the lease store's URL {why}: take {form}"))
}

/// Digits alone.
pub(crate) fn number<N: FromStr>(text: &str) -> Option<N> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

/// Replaces each `%XX` by its byte.
pub(super) fn decoded(text: &str, form: &str) -> Result<String, StoreError> {
    let is_encoded = |rest: &str| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_encoded) {
        return Err(refused(
            "has a % without two hexadecimal digits behind it: write %25",
            form,
        ));
    }
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded =
        decoded.map_err(|_| refused("is not in UTF-8 where its %XX are decoded", form))?;
    if decoded.contains(char::is_control) {
        return Err(refused("has control characters", form));
    }
    Ok(decoded.into_owned())
}

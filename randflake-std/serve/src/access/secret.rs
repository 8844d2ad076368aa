//! Token secrets and their hashes.

use core::fmt::{self, Debug, Display, Formatter};

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Prefix of tokens, for people and for scanners of leaked secrets.
const PREFIX: &str = "rft_";
const BYTES: usize = 32;

/// A new token: 256 random bits. It is shown once.
pub struct TokenSecret(Zeroizing<String>);

impl TokenSecret {
    /// Makes a token of random bits of the operating system.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = Zeroizing::new([0; BYTES]);
        getrandom::fill(&mut *bytes)?;
        let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + 2 * BYTES));
        text.push_str(PREFIX);
        for byte in *bytes {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
            }
        }
        Ok(Self(text))
    }

    /// The token itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Hash of the token, which the file has.
    pub fn hash(&self) -> Hash {
        Hash::of(self.0.as_bytes())
    }
}

impl Debug for TokenSecret {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret")
    }
}

/// Whether a text is a token, in the place of something that is not secret. One that was not copied
/// to its end is one, too; a file may have a name with the prefix.
pub(super) fn is_token(text: &str) -> bool {
    let digits = text.strip_prefix(PREFIX).unwrap_or_default();
    digits.len() >= BYTES && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// The SHA-256 of a token. A slow hash protects passwords, which are guessed; of 256 random bits
/// nobody guesses one, and each request would pay for it.
#[derive(Clone, Copy, PartialEq, Eq, core::hash::Hash)]
pub struct Hash([u8; BYTES]);

impl Hash {
    /// Hash of a token.
    pub fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Reads a hash of 64 hex digits.
    // Its own, not the tool's digits: `parse` there takes `0x` and fewer digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 2 * BYTES || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let mut bytes = [0; BYTES];
        for (place, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let pair = str::from_utf8(pair).ok()?;
            *place = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl Display for Hash {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Debug for Hash {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Hash")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_told_from_a_name() {
        let token = TokenSecret::new().unwrap();
        assert!(is_token(token.as_str()) && is_token(&token.as_str()[..60]));
        for name in ["tokens", "rft_tokens", "rft_2026", "./rft_tokens"] {
            assert!(!is_token(name), "{name}");
        }
    }

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        let token = TokenSecret::new().unwrap();
        assert_eq!(token.as_str().len(), PREFIX.len() + 64);
        let read = Hash::from_hex(&token.hash().to_string()).unwrap();
        assert_eq!(read, token.hash());
        assert_ne!(read, Hash::of(b""));
        for wrong in ["", "00", &"+1".repeat(32), &"g".repeat(64)] {
            assert!(Hash::from_hex(wrong).is_none(), "{wrong}");
        }
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Hash::of(b"abc").to_string(), abc);
    }
}
